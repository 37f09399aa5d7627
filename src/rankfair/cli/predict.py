"""`rankfair predict`: rows of files or of a folder with one column more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankfair.cli.data import with_predictions
from rankfair.cli.errors import echo, tell
from rankfair.cli.options import PredictCommand
from rankfair.files.encoding import ModelColumns
from rankfair.files.read import files_of, load
from rankfair.files.write import write_table
from rankfair.input.disk import sync, working_folder
from rankfair.input.errors import InputError, counted

OTHER_NAME = "Give the new one another name with --name."


def predict_files(asked: PredictCommand) -> None:
    """Predict files into one, or a folder into another; say what was written where."""
    folder = asked.files[0]
    if len(asked.files) == 1 and Path(folder).is_dir():
        n_rows, notes = _folder(asked, folder)
    else:
        model = ModelColumns.of_file(asked.model)
        n_rows, notes = _files(asked, model, asked.files, asked.out)
    tell(notes, asked.quiet)
    if asked.out != "-" and not asked.quiet:
        # Standard output may be the table.
        echo(f"wrote {counted(n_rows, 'row')} to {asked.out}", err=True)


def _files(
    asked: PredictCommand, model: tuple[ModelColumns, Any], files: list[str], out: str
) -> tuple[int, tuple[str, ...]]:
    """Predict some files into one; return how many rows, and what is to be known."""
    columns, estimator = model
    found = load(files, *columns.reading(asked.reading(), estimator))
    table = with_predictions(columns, estimator, found, asked.name, OTHER_NAME)
    kept = table if asked.keep is None else table.select([*asked.keep, asked.name])
    write_table(kept, out)
    return table.n_rows, table.notes


def _folder(asked: PredictCommand, folder: str) -> tuple[int, tuple[str, ...]]:
    """Predict a folder file by file into a new one, under the same names.

    The new one appears with all of them in one step: after an error there is none.
    """
    out = Path(asked.out)
    if asked.out == "-" or out.exists() or out.is_symlink():
        expected = "must be a new folder, for predictions of a folder"
        raise InputError("out", expected, asked.out)
    with working_folder(out.parent) as made:
        part = made / "part"
        part.mkdir()
        model = ModelColumns.of_file(asked.model)  # once: all are of one model
        done = [
            _files(asked, model, [file], str(part / Path(file).name))
            for file in files_of(folder)
        ]
        for path in (*part.iterdir(), part):
            sync(path)
        part.rename(out)
        sync(out.parent)
    notes = dict.fromkeys(note for _, said in done for note in said)
    return sum(n_rows for n_rows, _ in done), tuple(notes)
