"""Work of `rankfair predict`: rows of a file or a folder with one column more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankfair.cli.errors import echo
from rankfair.cli.screen import tell
from rankfair.files.columns import Reading, files_of, load, refuse_taken
from rankfair.files.encoding import ModelColumns
from rankfair.files.table import Table
from rankfair.files.write import write_table
from rankfair.input.disk import real, sync, visible, working_folder
from rankfair.input.errors import counted, listed

OTHER_NAME = "Give the new one another name with --name."


def predict_rows(
    model: str, files: Sequence[str], reading: Reading, **how: Any
) -> Predicted:
    """Predict files into one, or a folder into another."""
    if len(files) == 1 and Path(files[0]).is_dir():
        return predict_folder(model, files[0], reading, **how)
    return Predictor.of_file(model).predict(files, reading, **how)


@dataclass(frozen=True)
class Predicted:
    """Rows with predictions, and what a person should know of them."""

    table: Table
    n_rows: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Predictor:
    """A model file, read once: all that it predicts is of one model."""

    file: str
    design: ModelColumns
    estimator: Any

    @classmethod
    def of_file(cls, file: str) -> Predictor:
        """Read a model file that `rankfair fit` wrote."""
        return cls(file, *ModelColumns.of_file(file))

    def predict(
        self,
        files: Sequence[str],
        reading: Reading,
        *,
        out: str = "-",
        name: str = "prediction",
        keep: Sequence[str] | None = None,
    ) -> Predicted:
        """Predict the rows of some files and write them with a column more."""
        roles, how = self.design.reading(reading)
        table = load(files, roles, how)
        refuse_taken(name, table.names, table.source, OTHER_NAME)
        values, message = self.design.predict(self.estimator, table, self.file)
        shown = table if keep is None else table.select(list(keep))
        written = shown.with_column(name, values)
        write_table(written, out)
        notes = tuple(filter(None, (*table.notes, message)))
        return Predicted(written, table.n_rows, notes)


def predict_folder(
    model: str,
    folder: str,
    reading: Reading,
    *,
    out: str,
    name: str = "prediction",
    keep: Sequence[str] | None = None,
) -> Predicted:
    """Predict a folder file by file into another, under the same names.

    See `_together` for what is there if it is stopped.
    """
    if out == "-" or real(out) == real(folder):
        raise ValueError("name another folder for the predictions of a folder: --out.")
    files = files_of(folder)
    with _together(Path(out)) as part:
        predictor = Predictor.of_file(model)
        n_rows, table = 0, Table({})
        notes: list[str] = []
        for file in files:
            to = str(part / Path(file).name)
            done = predictor.predict([file], reading, out=to, name=name, keep=keep)
            n_rows, table = n_rows + done.n_rows, done.table
            notes += done.notes
        return Predicted(table, n_rows, tuple(dict.fromkeys(notes)))


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
        raise ValueError(f"{out} is no folder, as predictions of a folder need: --out.")
    names = (Path(each.name) for each in out.glob("*.parquet"))
    others = sorted(str(name) for name in names if visible(name))
    if others:
        raise ValueError(
            f"{out} already holds {listed(others, 2)}, which would be read with the "
            "predictions: name another folder with --out, or empty it."
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


def show_predicted(done: Predicted, out: str, quiet: bool) -> None:
    """Say how many rows were written where, on stderr: stdout may be the table."""
    tell(done.notes, quiet)
    if out != "-" and not quiet:
        echo(f"wrote {counted(done.n_rows, 'row')} to {out}", err=True)
