"""Parquet in, through pyarrow or else polars, and out, through polars."""

from __future__ import annotations

import io
import shlex
from typing import Any

import numpy as np

from rankfair.files.table import (
    LOST,
    ReadColumn,
    Reading,
    as_text,
    check_header,
    library,
)
from rankfair.input.errors import TableError, quoted
from rankfair.input.frames import EXACT


def read_parquet(raw: bytes, reading: Reading) -> dict[str, ReadColumn]:
    """Return the columns of a Parquet file; numbers as floats, all else as text."""
    pl = library("polars", "is a Parquet file")
    try:
        frame = _frame(raw, reading)
    except TableError:
        raise
    except pl.exceptions.DuplicateError as error:
        reason = f"cannot be read: {error}"
        raise TableError(reason, "Rename one of them.") from None
    except (Exception, pl.exceptions.PanicException) as error:  # no `Exception`
        said = (str(error).splitlines() or [type(error).__name__])[0][:100]
        reason = f"is a damaged Parquet file ({said})"
        raise TableError(reason, "Write it again.") from error
    if not frame.height:
        raise TableError("has columns, but no rows")
    return {name: _column(frame[name], reading) for name in frame.columns}


def _frame(raw: bytes, reading: Reading) -> Any:
    """Return a polars frame of the columns that are to be read.

    Damaged files make polars end the process now and then, pyarrow not: see
    docs/reading-files.md.
    """
    import polars as pl

    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        lazy = pl.scan_parquet(io.BytesIO(raw))
        n_rows = int(lazy.select(pl.len()).collect().item())
        kept = _kept(lazy.collect_schema().names(), n_rows, reading)
        return pl.read_parquet(io.BytesIO(raw), columns=kept)
    file = ParquetFile(pa.BufferReader(raw))
    kept = _kept(file.schema_arrow.names, file.metadata.num_rows, reading)
    # A name may be a prefix of others ("a" of "a.b"), which are read with it.
    table = file.read(columns=kept).select(kept)
    table.validate(full=True)  # polars trusts what it is given
    return pl.from_arrow(table)


def _kept(names: list[str], n_rows: int, reading: Reading) -> list[str]:
    """Return the columns to read; refuse names without sense, and too many cells."""
    reading.check_names(names)
    check_header(names, reading)
    kept = [name for name in names if reading.reads(name)]
    if n_rows * len(kept) > reading.max_cells:
        size = f"{n_rows:,} rows of {len(kept)} columns"
        reason = f"has {size}, more than fit in memory"
        raise TableError(reason, "Take fewer rows or columns.")
    return kept


def _column(series: Any, reading: Reading) -> ReadColumn:
    """Return the values of a column, and why whole numbers are read as text."""
    import polars as pl

    kind, name = series.dtype, series.name
    asked, number = name in reading.numbers, kind in (pl.Boolean, pl.Null)
    number |= kind.is_numeric()
    lost = _loses_digits(series) if kind.is_integer() else None

    def wrong(what: str, cure: str = "") -> ReadColumn:
        return ReadColumn(None, problems=[TableError(what, cure, name)])

    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
        neither = "which is neither numbers nor text"
        return wrong(f"holds {kind}, {neither}", "Leave the column out.")
    if asked and not number:
        return wrong(f"holds {kind}, not numbers")
    if asked and lost is not None:
        text = f"A label? Read it as text: --text {shlex.quote(name)}"
        return wrong(f"{lost} {LOST}", text)
    if number and lost is None and name not in reading.text:
        values = np.array(series.cast(pl.Float64).to_numpy(), dtype=np.float64)
        for i in np.flatnonzero(np.isinf(values)).tolist():
            return wrong(f"is infinite in row {i + 1}", "Mend or drop the row.")
        return ReadColumn(values)
    why = ""
    if lost is not None and name not in reading.text:
        why = f"Read column {quoted(name)} as text: {lost} {LOST}."
    # Empty text counts as missing, as it does in CSV.
    cells = series.cast(pl.String).fill_null("")
    return ReadColumn(as_text(cells, reading.missing, reading.trim), why)


def _loses_digits(series: Any) -> int | None:
    """Return a whole number that a float cannot hold, if there is one."""
    low, high = series.min(), series.max()
    if low is None or (low > -EXACT and high < EXACT):
        return None
    for value in series.drop_nulls().unique().to_list():
        if int(float(value)) != value:
            return int(value)
    return None
