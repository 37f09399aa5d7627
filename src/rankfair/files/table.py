"""A table read from a file: columns as arrays, in the order of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.input.errors import TableError, counted, listed, shown
from rankfair.input.settings import nearest


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, all of one length.

    Attributes
    ----------
    columns : dict of str to ndarray
        Numbers as float64 with NaN where a cell is empty; text as objects (str) with
        None where it is empty.
    source : str
        The name of the file, for messages.
    notes : tuple of str
        What the reader noticed and a person should know, a sentence each.
    why_text : dict of str to str
        For columns of text that hold numbers for the most part: what stopped them.
    lines : ndarray of shape (n_rows,) or None
        The line of the file at which each row starts; None where rows have no lines
        (Parquet).

    Examples
    --------
    >>> import numpy as np
    >>> sex = np.array(["F", "M"], object)
    >>> table = Table({"pay": np.array([1.0, 2.0]), "sex": sex})
    >>> table.names, table.n_rows, table.is_text("sex")
    (('pay', 'sex'), 2, True)
    """

    columns: Mapping[str, NDArray[Any]]
    source: str = ""
    notes: tuple[str, ...] = ()
    why_text: Mapping[str, str] = field(default_factory=dict)
    lines: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns differ in length: {lengths}.")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the order of the file."""
        return tuple(self.columns)

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        self.check_names([name])
        return self.columns[name]

    def is_text(self, name: str) -> bool:
        """Tell whether a column holds text."""
        return self[name].dtype.kind == "O"

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return which cells of a column are empty."""
        column = self[name]
        if column.dtype.kind == "O":
            return np.fromiter((v is None for v in column), bool, len(column))
        return (
            np.isnan(column)
            if column.dtype.kind == "f"
            else np.zeros(len(column), bool)
        )

    def line(self, row: int) -> int | None:
        """Return the line of the file at which a row starts."""
        return None if self.lines is None else int(self.lines[row])

    def check_names(self, wanted: Sequence[str]) -> None:
        """Raise if one of the names is no column."""
        check_names(wanted, self.names, self.source)

    def take(self, rows: NDArray[Any]) -> Table:
        """Return some rows, by a mask or by positions."""
        return replace(
            self,
            columns={name: column[rows] for name, column in self.columns.items()},
            lines=None if self.lines is None else self.lines[rows],
        )

    def with_column(self, name: str, values: Any) -> Table:
        """Return the table with one column more, or another in its place."""
        return replace(self, columns={**self.columns, name: as_column(values)})

    def select(self, names: Sequence[str]) -> Table:
        """Return some columns, in the order given."""
        self.check_names(names)
        return replace(self, columns={name: self.columns[name] for name in names})

    def to_frame(self) -> Any:
        """Return a polars frame, text as String."""
        import polars as pl

        return pl.DataFrame(
            {
                name: pl.Series(name, column.tolist(), pl.String)
                if column.dtype.kind == "O"
                else column
                for name, column in self.columns.items()
            }
        )


def check_names(wanted: Sequence[str], names: Sequence[str], source: str) -> None:
    """Raise if one of the names is no column, and say which is near."""
    for name in wanted:
        if name not in names:
            hint = nearest(name, list(names))
            raise TableError(
                f"has no column {shown(name)}",
                source=source or "the table",
                cure=(hint or f"It has {listed(names, 8)}.").strip(),
            )


def refuse_gaps(
    table: Table,
    name: str,
    cure: str = "or leave such rows out with --drop-missing.",
) -> None:
    """Raise if a cell of a column is empty, and say where the first one is."""
    gone = table.missing(name)
    count = int(gone.sum())
    if count:
        cells = counted(count, "cell is", "cells are")
        rows = counted(table.n_rows, "row")
        which, them = ("it", "it") if count == 1 else ("the first", "them")
        raise TableError(
            f"{cells} empty in {rows}; this line has {which}",
            source=table.source,
            line=table.line(int(gone.argmax())),
            column=name,
            cure=f"Fill {them}, {cure}",
        )


def as_column(values: Any) -> NDArray[Any]:
    """Return values as a column: floats, integers, booleans, or text as objects."""
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return array
    out = np.empty(len(array), dtype=object)
    out[:] = [None if v is None else str(v) for v in array.tolist()]
    return out
