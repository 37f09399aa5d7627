"""Streams and Dask frames opened for a fit: rows that an engine reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from rankfair._disk import working_folder
from rankfair._frames import listed, shown
from rankfair.engines.files import Unchanged
from rankfair.engines.parquet import OnRows, ParquetRows, read_coding
from rankfair.streams.files import Stream, check_columns, check_kinds
from rankfair.streams.frames import open_frame
from rankfair.streams.opened import Opened
from rankfair.streams.roles import column_names, one_column, roles_of, two_groups

__all__ = ["open_rows"]

T = TypeVar("T", str | None, tuple[str, ...])


@contextmanager
def open_rows(
    X: Any, y: Any, weight: str | None, named: Any, on_rows: OnRows | None = None
) -> Iterator[Opened]:
    """Open a `Stream` or a Dask frame with the columns that an estimator names.

    Parameters
    ----------
    X : Stream or dask.dataframe.DataFrame
        The rows.
    y : str, dask Series or None
        The target, or its column.
    weight : str or None
        The column with weights.
    named : Columns
        What the constructor of the estimator names.
    on_rows : callable, optional
        Told how reading goes on where the stream names nobody else.

    Yields
    ------
    Opened
        What is kept on disk goes when the block ends.
    """
    if not isinstance(X, Stream):
        yield open_frame(X, y, weight, named)
        return
    files = Unchanged.of(X.files)
    found = _with_names(replace(X, on_rows=X.on_rows or on_rows), y, weight, named)
    assert found.target is not None
    roles = roles_of(
        found.names,
        found.target,
        found.tasks,
        found.sensitive,
        found.weight,
        named.blind,
    )
    try:
        coding = read_coding(files, roles, found.on_rows)
        two_groups(coding.groups.known, roles.group)
        with working_folder() as folder:
            rows = ParquetRows(files, coding, folder, found.on_rows)
            yield Opened(rows, coding, found.names)
    except Exception:
        files.check()  # what went wrong may come of that
        raise


def _with_names(X: Stream, y: Any, weight: str | None, named: Any) -> Stream:
    """Return the stream with what `fit` and the constructor name beside its own."""
    if y is not None and not isinstance(y, str):
        raise ValueError(
            f"y is a {type(y).__name__}, but the rows are in files: name its column, "
            'stream(…, target="pay").'
        )
    target = _agreed("the target", X.target, y, "fit")
    if target is None:
        raise ValueError('name the column to predict: stream(…, target="pay").')
    tasks = column_names("tasks", named.tasks)
    sensitive = one_column(named.sensitive_features)
    found = replace(
        X,
        target=target,
        weight=_agreed("sample_weight", X.weight, weight, "fit"),
        tasks=_agreed("tasks", X.tasks, tasks, "the constructor"),
        sensitive=_agreed(
            "sensitive_features", X.sensitive, sensitive, "the constructor"
        ),
    )
    check_kinds(found, check_columns(found))
    return found


def _agreed(argument: str, own: T, other: T, where: str) -> T:
    """Return what the stream names, or somebody else; both must not name two things."""
    if own and other and own != other:
        here, there = (
            shown(each) if isinstance(each, str) else listed(each)
            for each in (own, other)
        )
        raise ValueError(
            f"{argument} was given twice: {here} in stream(…), {there} in {where}. "
            "Give one of them."
        )
    return own or other
