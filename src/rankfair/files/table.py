"""A table read from a file, and how it is to be read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfair.input.errors import InputError, TableError, listed, nearest, quoted, shown
from rankfair.input.frames import distinct

Lines: TypeAlias = NDArray[np.int64]
LOST = "has more digits than a number keeps (above 2^53)"
SPACES = " \t"
THOUSANDS = (*",.'’ \u00a0\u202f_",)


@dataclass(frozen=True)
class Reading:
    """How files are written and what their columns have to be; see `read_table`."""

    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = ()
    trim: bool = False
    sheet: str | None = None  # of a workbook
    max_bytes: int = 4 << 30
    # A few bytes of Parquet can stand for any number of equal rows.
    max_cells: int = 1 << 31
    small: int = 4096  # a CSV of fewer characters is not worth a second library
    # For several files as one table: a column more, with the name of the file.
    file_column: str | None = None
    drop_missing: bool = False

    needed: tuple[str, ...] = ()  # columns that have to be there
    spare: tuple[str, ...] = ()  # columns that may be absent whatever they are for

    def reads(self, name: str) -> bool:
        """Tell whether a column is to be returned."""
        return self.columns is None or name in self.columns

    def check_names(self, names: Sequence[str]) -> None:
        """Raise if a column that is asked for is not among those of a file."""
        asked = (*self.text, *self.numbers, *(self.columns or ()), *self.needed)
        check_names([name for name in asked if name not in self.spare], names)

    def check(self) -> None:
        """Raise if signs cannot be used, or contradict each other."""
        both = listed([name for name in self.text if name in self.numbers])
        if both:
            known = "Tasks, groups and --text are text; all that is counted is numbers."
            raise TableError(f"{both} cannot be text and numbers at once", known)
        sign, decimal, thousands = self.delimiter, self.decimal, self.thousands
        if decimal not in (".", ","):
            raise InputError("decimal", "must be a point or a comma", quoted(decimal))
        if thousands is not None and thousands not in THOUSANDS:
            kinds = "must be a comma, point, apostrophe, space or underscore"
            raise InputError("thousands", kinds, quoted(thousands))
        if thousands == decimal:
            said = "must differ from the decimal sign"
            raise InputError("thousands", said, quoted(decimal))
        if sign is not None and (len(sign) != 1 or sign in '"\r\n\0'):
            said = "must be one character, and neither a quote nor a line end"
            cure = "A tab is $'\\t' in a shell."
            raise InputError("delimiter", said, quoted(sign), cure)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What a number looks like."""
        point, sign = re.escape(self.decimal), re.escape(self.thousands or "")
        grouped = f"[0-9]{{1,3}}(?:{sign}[0-9]{{3}})+|" if sign else ""
        whole = rf"(?:{grouped}[0-9]+)"
        return re.compile(
            rf"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        )


PLAIN = Reading().pattern  # 12, -3.5, .5, 1e-7


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written: the signs between cells and in numbers."""

    delimiter: str = ","
    decimal: str = "."


@dataclass(frozen=True)
class ReadColumn:
    """A column of a file as it was read.

    Attributes
    ----------
    values : ndarray of shape (n_rows,) or None
        Numbers, NaN where cells are empty, or text, None where they are; None if it
        cannot be read.
    note : str
        How numbers were read, or why what looks like numbers is text.
    problems : sequence of TableError
        What is wrong with it.
    """

    values: NDArray[Any] | None
    note: str = ""
    problems: Sequence[TableError] = ()


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
    dialect : Dialect
        How the file was written, and so how what is made of it is written.

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
    lines: Lines | None = None
    dialect: Dialect = Dialect()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the order of the file."""
        return tuple(self.columns)

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> NDArray[Any]:
        check_names([name], self.names, self.source or "the table")
        return self.columns[name]

    def is_text(self, name: str) -> bool:
        """Tell whether a column holds text."""
        return self[name].dtype.kind == "O"

    def text(self, name: str) -> NDArray[Any]:
        """Return a column as text, whole numbers without a point."""
        if self.is_text(name):
            return self[name]
        found = np.empty(self.n_rows, object)
        cells = self[name].tolist()
        found[:] = [None if v != v else repr(v).removesuffix(".0") for v in cells]
        return found

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Return which cells of a column are empty."""
        column = self[name]
        gone: NDArray[np.bool_]
        gone = column == np.array(None) if self.is_text(name) else column != column
        return gone

    def line(self, row: int) -> int | None:
        """Return the line of the file at which a row starts."""
        return None if self.lines is None else int(self.lines[row])

    def take(self, rows: NDArray[Any]) -> Table:
        """Return some rows, by a mask or by positions."""
        return replace(
            self,
            columns={name: column[rows] for name, column in self.columns.items()},
            lines=None if self.lines is None else self.lines[rows],
        )

    def with_column(self, name: str, values: Any) -> Table:
        """Return the table with one column more, or another in its place."""
        return replace(self, columns={**self.columns, name: np.asarray(values)})

    def select(self, names: Sequence[str]) -> Table:
        """Return some columns, in the order given."""
        return replace(self, columns={name: self[name] for name in names})

    def to_frame(self) -> Any:
        """Return a polars frame, text as String."""
        import polars as pl

        columns: dict[str, Any] = dict(self.columns)
        for name in filter(self.is_text, self.names):
            columns[name] = pl.Series(name, columns[name].tolist(), pl.String)
        return pl.DataFrame(columns)


def as_text(
    cells: Any, missing: Sequence[str] = (), trim: bool = False
) -> NDArray[Any]:
    """Return cells as text, None where they are empty or among ``missing``.

    Spaces around a cell do not matter there, as they do not for numbers; elsewhere they
    stay unless ``trim`` takes them away.
    """
    kinds, codes = distinct(cells)
    kinds = [cell.strip() for cell in kinds] if trim else kinds
    known: NDArray[Any] = np.empty(len(kinds), dtype=object)
    for place, cell in enumerate(kinds):
        unknown = not cell or cell in missing or cell.strip(SPACES) in missing
        known[place] = None if unknown else cell
    return np.asarray(known[codes])


def check_names(wanted: Sequence[str], names: Sequence[str], source: str = "") -> None:
    """Raise if one of the names is no column, and say which is near."""
    for name in wanted:
        if name not in names:
            hint = nearest(name, list(names)) or f"It has {listed(names, 8)}."
            raise TableError(
                f"has no column {shown(name)}", hint.strip(), source=source
            )


def check_header(
    names: Sequence[str], reading: Reading | None = None, line: int | None = None
) -> None:
    """Raise if columns, or those that are read, have no name or the same one."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        if reading is not None and not reading.reads(name):
            continue
        if not name.strip():
            cure = "Give it a name."
            if place == 0:
                cure += " An index written by pandas? Write with index=False."
            reason = f"column {place + 1} of {len(names)} has no name"
            raise TableError(reason, cure, line=line)
        first = seen.setdefault(name, place)
        if first < place:
            reason = f"columns {first + 1} and {place + 1} have the same name"
            raise TableError(reason, "Rename one of them.", name, line)


def library(name: str, what: str) -> Any:
    """Return a library, or say what needs it."""
    try:
        return import_module(name)
    except ImportError as error:
        reason = f"{what}, which needs {name}"
        raise TableError(reason, 'pip install "rankfair[cli]"') from error
