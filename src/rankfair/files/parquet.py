"""Parquet in, through pyarrow or else polars, and out, through polars."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankfair.files.cells import as_text
from rankfair.files.table import Table, check_names
from rankfair.input.errors import TableError, quoted

# Names of the columns, number of rows, and what reads some of the columns.
Parts: TypeAlias = tuple[list[str], int, Callable[[list[str]], Any]]

MAX_CELLS = 1 << 31  # a few bytes of Parquet can stand for any number of equal rows
_EXACT = 1 << 53


def is_parquet(raw: bytes) -> bool:
    """Tell whether these are the bytes of a Parquet file.

    Examples
    --------
    >>> is_parquet(b"a,b")
    False
    """
    return raw.startswith(b"PAR1")


def read_parquet(
    raw: bytes,
    source: str,
    text: Sequence[str] = (),
    numbers: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    missing: Sequence[str] = (),
) -> Table:
    """Return the table of a Parquet file; numbers as floats, all else as text.

    Cells of text that are among ``missing`` are not known.
    """
    frame = _open(raw, columns, source)
    check_names([*text, *numbers], frame.columns, source)
    if not frame.height:
        raise TableError("has columns, but no rows", source=source)
    found, why = {}, {}
    for name in frame.columns:
        values, reason = _column(frame[name], name in text, name in numbers, missing)
        found[name] = values
        if reason:
            why[name] = reason
    return Table(found, source, tuple(why.values()), why)


def _open(raw: bytes, columns: Sequence[str] | None, source: str) -> Any:
    pl = _polars(source)
    try:
        names, height, read = _parts(raw, pl)
    except pl.exceptions.DuplicateError as error:
        cure = "Rename one of them."
        raise TableError(f"cannot be read: {error}", source=source, cure=cure) from None
    except _failures(pl) as error:
        raise _broken(source, error) from error
    check_names(columns or (), names, source)
    kept: dict[str, int] = {}
    for place, name in enumerate(names):
        if columns is not None and name not in columns:
            continue
        if not name.strip():
            raise TableError(f"column {place + 1} has no name", source=source)
        first = kept.setdefault(name, place)
        if first < place:
            raise TableError(
                f"columns {first + 1} and {place + 1} have the same name",
                source=source,
                column=name,
                cure="Rename one of them.",
            )
    if height * len(kept) > MAX_CELLS:
        raise TableError(
            f"has {height:,} rows of {len(kept)} columns, more than fit in memory",
            source=source,
            cure="Take fewer rows or columns.",
        )
    try:
        return read([*kept])
    except _failures(pl) as error:
        raise _broken(source, error) from error


def _parts(raw: bytes, pl: Any) -> Parts:
    """Open a file with pyarrow where it is installed.

    Damaged files make polars end the process now and then, pyarrow not: see
    docs/reading-files.md.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return _parts_by_polars(raw, pl)
    return _parts_by_pyarrow(raw, pl)


def _parts_by_polars(raw: bytes, pl: Any) -> Parts:
    lazy = pl.scan_parquet(io.BytesIO(raw))
    names = lazy.collect_schema().names()
    height = int(lazy.select(pl.len()).collect().item())
    return names, height, lambda kept: pl.read_parquet(io.BytesIO(raw), columns=kept)


def _parts_by_pyarrow(raw: bytes, pl: Any) -> Parts:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(pa.BufferReader(raw))

    def read(kept: list[str]) -> Any:
        # A name may be a prefix of others ("a" of "a.b"), which are read with it.
        table = file.read(columns=kept).select(kept)
        table.validate(full=True)  # polars trusts what it is given
        return pl.from_arrow(table)

    return file.schema_arrow.names, file.metadata.num_rows, read


def _polars(source: str) -> Any:
    try:
        import polars
    except ImportError as error:
        raise TableError(
            "is a Parquet file, which needs polars",
            source=source,
            cure='pip install "rankfair[cli]"',
        ) from error
    return polars


def _failures(pl: Any) -> tuple[type[BaseException], ...]:
    """What polars raises for bad bytes; its panics are no `Exception`."""
    return Exception, pl.exceptions.PanicException


def _broken(source: str, error: BaseException) -> TableError:
    said = str(error).splitlines()
    return TableError(
        f"is a damaged Parquet file ({(said or [type(error).__name__])[0][:100]})",
        source=source,
        cure="Write it again.",
    )


def _column(
    series: Any, text: bool, asked: bool, missing: Sequence[str]
) -> tuple[NDArray[Any], str]:
    import polars as pl

    kind = series.dtype
    if kind.is_nested() or kind in (pl.Binary, pl.Object, pl.Duration):
        raise TableError(
            f"holds {kind}, which is neither numbers nor text",
            column=series.name,
            cure="Leave the column out.",
        )
    number = kind.is_numeric() or kind in (pl.Boolean, pl.Null)
    if text or not number:
        if asked:
            raise TableError(f"holds {kind}, not numbers", column=series.name)
        return _objects(series, missing), ""
    lost = _loses_digits(series) if kind.is_integer() else None
    if lost is not None:
        reason = f"{lost} has more digits than a number keeps (above 2^53)"
        if asked:
            raise TableError(
                reason,
                column=series.name,
                cure=f"A label? Read it as text: --text {shlex.quote(series.name)}",
            )
        return _objects(series, missing), (
            f"Read column {quoted(series.name)} as text: {reason}."
        )
    return _floats(series), ""


def _floats(series: Any) -> NDArray[np.float64]:
    import polars as pl

    values = np.array(series.cast(pl.Float64).to_numpy(), dtype=np.float64)
    for i in np.flatnonzero(np.isinf(values)).tolist():
        raise TableError(
            f"row {i + 1} is infinite", column=series.name, cure="Mend or drop the row."
        )
    return values


def _loses_digits(series: Any) -> int | None:
    """Return a whole number that a float cannot hold, if there is one."""
    low, high = series.min(), series.max()
    if low is None or (low > -_EXACT and high < _EXACT):
        return None
    for value in series.drop_nulls().unique().to_list():
        if int(float(value)) != value:
            return int(value)
    return None


def _objects(series: Any, missing: Sequence[str]) -> NDArray[Any]:
    """Return a column as text; empty text counts as missing, as it does in CSV."""
    import polars as pl

    return as_text(series.cast(pl.String).to_list(), missing)


def to_parquet(table: Table) -> bytes:
    """Return the bytes of a Parquet file."""
    _polars(table.source or "the table")
    stream = io.BytesIO()
    table.to_frame().write_parquet(stream)
    return stream.getvalue()
