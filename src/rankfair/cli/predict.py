"""`rankfair predict`: rows of files or of a folder with one column more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rankfair.cli.errors import echo, tell
from rankfair.cli.options import PredictCommand
from rankfair.files.columns import refuse_taken
from rankfair.files.encoding import ModelColumns
from rankfair.files.read import files_of, load
from rankfair.files.write import write_table
from rankfair.input.disk import real, sync, visible, working_folder
from rankfair.input.errors import InputError, counted, listed

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
) -> tuple[int, list[str]]:
    """Predict some files into one; return how many rows, and what is to be known."""
    design, estimator = model
    roles, reading = design.reading(asked.reading())
    table = load(files, roles, reading)
    refuse_taken(asked.name, table.names, table.source, OTHER_NAME)
    values, message = design.predict(estimator, table)
    kept = table if asked.keep is None else table.select(asked.keep)
    write_table(kept.with_column(asked.name, values), out)
    return table.n_rows, [*table.notes, *filter(None, [message])]


def _folder(asked: PredictCommand, folder: str) -> tuple[int, list[str]]:
    """Predict a folder file by file into another, under the same names.

    See `_together` for what is there if it is stopped.
    """
    if asked.out == "-" or real(asked.out) == real(folder):
        raise InputError("out", "must be another folder, for predictions of a folder")
    with _together(Path(asked.out)) as part:
        model = ModelColumns.of_file(asked.model)  # once: all are of one model
        n_rows, notes = 0, list[str]()
        for file in files_of(folder):
            rows, said = _files(asked, model, [file], str(part / Path(file).name))
            n_rows, notes = n_rows + rows, [*notes, *said]
        return n_rows, list(dict.fromkeys(notes))


@contextmanager
def _together(out: Path) -> Iterator[Path]:
    """Give a folder to write to, whose files go to ``out`` when all are there.

    A folder ``out`` that is not there yet comes with all of them in one step.  Into one
    that is there they go one by one, each whole: a process that is killed meanwhile
    leaves some, and the next one refuses them.  After an error none is left.

    Parquet files in ``out`` are refused: whoever reads the folder would read them as
    well, or could not tell which were new.
    """
    target = real(out)
    # What is a link behind all links leads in a circle.
    if (target.exists() or target.is_symlink()) and not target.is_dir():
        raise InputError("out", f"{out} is no folder, as predictions of a folder need")
    names = (Path(each.name) for each in out.glob("*.parquet"))
    others = sorted(str(name) for name in names if visible(name))
    if others:
        raise InputError(
            "out",
            f"{out} already holds {listed(others, 2)}, which would be read with the "
            "predictions",
            cure="Name another folder, or empty it.",
        )
    there = target.exists()
    where = target if there else target.parent
    where.mkdir(parents=True, exist_ok=True)
    with working_folder(where) as made, ExitStack() as undo:
        part = made / "part"
        part.mkdir()
        yield part
        files = sorted(part.glob("*.parquet"))
        for path in (*files, part):
            sync(path)
        if there:
            for path in files:
                undo.callback(path.rename(target / path.name).unlink)
        else:
            part.rename(target)
        undo.pop_all()
        sync(where)
