"""`write_table`: whole or not at all, and nothing that a spreadsheet would run."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.table import PLAIN, Table
from rankfair.files.workbook import to_workbook
from rankfair.input.disk import write_whole
from rankfair.input.errors import TableError, printable

# Spreadsheets take these for the start of a formula; the last four are full-width.
_STARTS = tuple("=+-@\t\r\n＝＋－＠")
_MAY_BE_RUN = "^'*[-=+@\t\r\n＝＋－＠]"


def neutral(cell: str) -> str:
    """Return text that no spreadsheet runs: an apostrophe before a formula.

    A plain number is none, whatever its sign.  A formula that has apostrophes before it
    gets one more: different texts stay different.

    Examples
    --------
    >>> neutral("=1+1"), neutral("'=1+1"), neutral("-3.5"), neutral("a=b")
    ("'=1+1", "''=1+1", '-3.5', 'a=b')
    """
    bare = cell.lstrip("'")
    if bare.startswith(_STARTS) and not PLAIN.fullmatch(bare):
        return "'" + cell
    return cell


def write_table(table: Table, target: str | os.PathLike[str]) -> None:
    """Write a table: Parquet or a workbook if the name ends so, else CSV.

    The file is whole or not there; one that was there before is kept if anything goes
    wrong.  CSV has the signs of the file that the table was read from (``dialect``);
    text in it that a spreadsheet would run as a formula gets an apostrophe in front,
    and missing cells are empty.  Numbers are written so that reading gives the same
    ones.

    Parameters
    ----------
    table : Table
        What to write.
    target : str or path
        Where to; ``"-"`` is CSV on standard output.

    Raises
    ------
    TableError
        If it could not be written; nothing was changed.

    Examples
    --------
    >>> import numpy as np
    >>> who = np.array(["=a()", "b"], object)
    >>> table = Table({"x": np.array([0.1, -2.0]), "who": who})
    >>> write_table(table, "-")
    x,who
    0.1,'=a()
    -2.0,b
    """
    try:
        if os.fspath(target) == "-":
            _to_stdout(to_csv(table))
            return
        path = Path(target)
        make = MAKERS.get(path.suffix.lower(), to_csv)
        write_whole(path, make(table))
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or error
        what, cure = f"could not be written: {reason}", "Nothing was changed."
        raise TableError(what, cure, source=os.fspath(target)) from error


def _to_stdout(content: str) -> None:
    """Write UTF-8 whatever the terminal speaks, as to a file.

    Cells are commands to no terminal: there, unlike in a pipe, they are for the eye.
    """
    if sys.stdout.isatty():
        content = printable(content, keep="\n")
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a stand-in, as in notebooks
        sys.stdout.write(content)
        return
    binary.write(content.encode())
    binary.flush()


def _to_parquet(table: Table) -> bytes:
    stream = io.BytesIO()
    table.to_frame().write_parquet(stream)
    return stream.getvalue()


def to_csv(table: Table) -> str:
    """Return a table as CSV text, made column by column."""
    import polars as pl

    columns = []
    for name, column in table.columns.items():
        if column.dtype.kind == "O":
            cells = pl.Series(column.tolist(), dtype=pl.String).replace("", None)
            odd = cells.str.contains(_MAY_BE_RUN).fill_null(False).arg_true()
            cells = _with(cells, odd, [neutral(cell) for cell in cells.gather(odd)])
        elif column.dtype.kind == "f":
            cells = _numbers(column)
            if table.dialect.decimal != ".":
                cells = cells.str.replace(".", table.dialect.decimal, literal=True)
        else:
            cells = pl.Series([*map(str, column.tolist())])
        columns.append(cells.alias(neutral(name)))
    # A row of one empty cell would be a blank line.
    empty = '""' if len(columns) == 1 else None
    frame = pl.DataFrame(columns)
    return frame.write_csv(separator=table.dialect.delimiter, null_value=empty)


def _with(cells: Any, at: Any, values: list[str]) -> Any:
    return cells.scatter(at, values) if values else cells


def _numbers(column: NDArray[Any]) -> Any:
    """Return numbers as Python writes them, missing ones as null."""
    import polars as pl

    whole = _as_whole(column)
    if whole is not None:
        cells = pl.Series(whole).cast(pl.String)
    else:
        cells = pl.Series(column.astype(np.float64)).cast(pl.String)
        size = np.abs(column)
        # Elsewhere Python and polars have other exponents.
        odd = np.flatnonzero((column != 0) & ~((size > 1e-3) & (size < 1e15)))
        cells = _with(cells, odd, [repr(value) for value in column[odd].tolist()])
    gone = np.flatnonzero(np.isnan(column))
    return cells.scatter(gone, None) if len(gone) else cells


def _as_whole(column: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return numbers as integers, 0 for missing ones, if nothing is lost by it."""
    known = column[~np.isnan(column)]
    plain = (np.abs(known) < 2.0**53) & ~(np.signbit(known) & (known == 0))
    if not (plain.all() and (known == np.trunc(known)).all()):
        return None
    return np.where(np.isnan(column), 0.0, column).astype(np.int64)


# What a table becomes, by the ending of the file; all else is CSV.
MAKERS: dict[str, Callable[[Table], bytes | str]] = {
    ".parquet": _to_parquet,
    ".pq": _to_parquet,
    ".xlsx": to_workbook,
}
