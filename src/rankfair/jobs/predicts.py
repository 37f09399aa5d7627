"""`rankfair predict`: the rows of a file with one column more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankfair.files.table import Table
from rankfair.files.write import write_table
from rankfair.jobs.columns import Reading, load, refuse_taken
from rankfair.jobs.design import Design

__all__ = ["OTHER_NAME", "Predicted", "Predictor", "predict_files"]

OTHER_NAME = "Give the new one another name with --name."


@dataclass(frozen=True)
class Predicted:
    """Rows with predictions, and what a person should know of them."""

    table: Table
    n_rows: int
    notes: tuple[str, ...]


def predict_files(
    model: str,
    files: Sequence[str],
    reading: Reading,
    *,
    out: str = "-",
    name: str = "prediction",
    keep: Sequence[str] | None = None,
) -> Predicted:
    """Predict the rows of some files and write them with a column more.

    Parameters
    ----------
    model : str
        A model file that `rankfair fit` wrote.
    files : sequence of str
        CSV or Parquet files with the columns that the model reads.
    reading : Reading
        How the files are written.
    out : str, default="-"
        Where to; CSV or Parquet by its name, ``"-"`` for standard output.
    name : str, default="prediction"
        The name of the new column.
    keep : sequence of str, optional
        Columns to write beside it; by default all.

    Returns
    -------
    Predicted
        What was written.
    """
    predictor = Predictor.of_file(model)
    return predictor.predict(files, reading, out=out, name=name, keep=keep)


@dataclass(frozen=True)
class Predictor:
    """A model file, read once: all that it predicts is of one model."""

    file: str
    design: Design
    estimator: Any

    @classmethod
    def of_file(cls, file: str) -> Predictor:
        """Read a model file that `rankfair fit` wrote."""
        return cls(file, *Design.of_file(file))

    def predict(
        self,
        files: Sequence[str],
        reading: Reading,
        *,
        out: str,
        name: str,
        keep: Sequence[str] | None,
    ) -> Predicted:
        """Predict the rows of some files; see `predict_files`."""
        roles, how = self.design.reading(reading)
        table = load(files, roles, how)
        refuse_taken(name, table.names, table.source, OTHER_NAME)
        values, message = self.design.predict(self.estimator, table, self.file)
        shown = table if keep is None else table.select(list(keep))
        written = shown.with_column(name, values)
        write_table(written, out)
        notes = tuple(filter(None, (*table.notes, message)))
        return Predicted(written, table.n_rows, notes)
