"""Parquet in, through pyarrow or else polars, and out, through polars."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.cells import EXACT, LOST, as_text
from rankfair.files.table import Reading, Table, check_header, check_names
from rankfair.input.errors import TableError, quoted


@dataclass(frozen=True)
class ParquetContent:
    """What a file says of itself, and what reads some of its columns."""

    names: list[str]
    n_rows: int
    read: Callable[[list[str]], Any]

    @classmethod
    def by_polars(cls, raw: bytes) -> ParquetContent:
        """Open a file with polars."""
        import polars as pl

        lazy = pl.scan_parquet(io.BytesIO(raw))
        names = lazy.collect_schema().names()
        n_rows = int(lazy.select(pl.len()).collect().item())
        return cls(
            names, n_rows, lambda kept: pl.read_parquet(io.BytesIO(raw), columns=kept)
        )

    @classmethod
    def by_pyarrow(cls, raw: bytes) -> ParquetContent:
        """Open a file with pyarrow.

        Damaged files make polars end the process now and then, pyarrow not: see
        docs/reading-files.md.
        """
        import polars as pl
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        file = ParquetFile(pa.BufferReader(raw))

        def read(kept: list[str]) -> Any:
            # A name may be a prefix of others ("a" of "a.b"), which are read with it.
            table = file.read(columns=kept).select(kept)
            table.validate(full=True)  # polars trusts what it is given
            return pl.from_arrow(table)

        return cls(file.schema_arrow.names, file.metadata.num_rows, read)


def read_parquet(raw: bytes, reading: Reading) -> Table:
    """Return the table of a Parquet file; numbers as floats, all else as text."""
    frame = _open(raw, reading)
    check_names([*reading.text, *reading.numbers], frame.columns)
    if not frame.height:
        raise TableError("has columns, but no rows")
    found, why = {}, {}
    for name in frame.columns:
        values, reason = _column(frame[name], reading)
        found[name] = values
        if reason:
            why[name] = reason
    return Table(found, notes=tuple(why.values()), why_text=why)


def _open(raw: bytes, reading: Reading) -> Any:
    """Return a polars frame of the columns that are to be read."""
    pl = _polars()
    # Panics of polars are no `Exception`.
    failures = (Exception, pl.exceptions.PanicException)
    try:
        content = _content(raw)
    except pl.exceptions.DuplicateError as error:
        reason = f"cannot be read: {error}"
        raise TableError(reason, "Rename one of them.") from None
    except failures as error:
        raise _broken(error) from error
    check_names(reading.columns or (), content.names)
    check_header(content.names, reading)
    kept = [name for name in content.names if reading.reads(name)]
    if content.n_rows * len(kept) > reading.max_cells:
        size = f"{content.n_rows:,} rows of {len(kept)} columns"
        reason = f"has {size}, more than fit in memory"
        raise TableError(reason, "Take fewer rows or columns.")
    try:
        return content.read(kept)
    except failures as error:
        raise _broken(error) from error


def _content(raw: bytes) -> ParquetContent:
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return ParquetContent.by_polars(raw)
    return ParquetContent.by_pyarrow(raw)


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        reason = "is a Parquet file, which needs polars"
        raise TableError(reason, 'pip install "rankfair[cli]"') from error
    return polars


def _broken(error: BaseException) -> TableError:
    said = (str(error).splitlines() or [type(error).__name__])[0][:100]
    return TableError(f"is a damaged Parquet file ({said})", "Write it again.")


def _column(series: Any, reading: Reading) -> tuple[NDArray[Any], str]:
    """Return the values of a column, and why whole numbers are read as text."""
    import polars as pl

    kind, name = series.dtype, series.name
    asked = name in reading.numbers
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
        reason = f"holds {kind}, which is neither numbers nor text"
        raise TableError(reason, "Leave the column out.", name)
    number = kind.is_numeric() or kind in (pl.Boolean, pl.Null)
    if name in reading.text or not number:
        if asked:
            raise TableError(f"holds {kind}, not numbers", column=name)
        return _texts(series, reading.missing), ""
    lost = _loses_digits(series) if kind.is_integer() else None
    if lost is None:
        return _floats(series), ""
    if asked:
        cure = f"A label? Read it as text: --text {shlex.quote(name)}"
        raise TableError(f"{lost} {LOST}", cure, name)
    why = f"Read column {quoted(name)} as text: {lost} {LOST}."
    return _texts(series, reading.missing), why


def _floats(series: Any) -> NDArray[np.float64]:
    import polars as pl

    values = np.array(series.cast(pl.Float64).to_numpy(), dtype=np.float64)
    for i in np.flatnonzero(np.isinf(values)).tolist():
        raise TableError(
            f"row {i + 1} is infinite", "Mend or drop the row.", series.name
        )
    return values


def _loses_digits(series: Any) -> int | None:
    """Return a whole number that a float cannot hold, if there is one."""
    low, high = series.min(), series.max()
    if low is None or (low > -EXACT and high < EXACT):
        return None
    for value in series.drop_nulls().unique().to_list():
        if int(float(value)) != value:
            return int(value)
    return None


def _texts(series: Any, missing: Sequence[str]) -> NDArray[Any]:
    """Return a column as text; empty text counts as missing, as it does in CSV."""
    import polars as pl

    return as_text(series.cast(pl.String).to_list(), missing)


def to_parquet(table: Table) -> bytes:
    """Return the bytes of a Parquet file."""
    _polars()
    stream = io.BytesIO()
    table.to_frame().write_parquet(stream)
    return stream.getvalue()
