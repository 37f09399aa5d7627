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
from rankfair.input.frames import EXACT

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
            if len(odd):
                cells = cells.scatter(odd, list(map(neutral, cells.gather(odd))))
        elif column.dtype.kind == "f":
            cells = _numbers(column)
        else:
            cells = pl.Series([*map(str, column.tolist())])
        columns.append(cells.alias(neutral(name)))
    # A row of one empty cell would be a blank line.
    empty = '""' if len(columns) == 1 else None
    return pl.DataFrame(columns).write_csv(
        separator=table.dialect.delimiter,
        null_value=empty,
        decimal_comma=table.dialect.decimal == ",",
    )


def _numbers(column: NDArray[Any]) -> Any:
    """Return numbers, missing ones as null, without a point if nothing is lost so."""
    import polars as pl

    known = column[~np.isnan(column)]
    whole = (np.abs(known) < EXACT) & (known == np.trunc(known))
    whole &= ~(np.signbit(known) & (known == 0))
    numbers = pl.Series(column.astype(np.float64)).fill_nan(None)
    return numbers.cast(pl.Int64) if whole.all() else numbers


# What a table becomes, by the ending of the file; all else is CSV.
MAKERS: dict[str, Callable[[Table], bytes | str]] = {
    ".parquet": _to_parquet,
    ".pq": _to_parquet,
    ".xlsx": to_workbook,
}
