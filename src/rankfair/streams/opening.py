"""Streams and Dask frames opened for a fit: rows that an engine reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.engines.chunked import Rows
from rankfair.engines.cluster import Cluster, DaskRows, arrow, said
from rankfair.engines.files import Unchanged
from rankfair.engines.labels import Coding, Roles, Tally, coded, tally
from rankfair.engines.parquet import OnRows, ParquetRows, read_coding
from rankfair.input.columns import GroupEncoder, Layout
from rankfair.input.disk import working_folder
from rankfair.input.errors import listed, shown
from rankfair.input.labels import label_array
from rankfair.input.settings import nearest
from rankfair.streams.files import Stream, check_columns, check_kinds, one_column

__all__ = ["Opened", "layout_of", "open_rows"]

TARGET = "rankfair target"  # no column of a user's is likely to be called that


@dataclass(frozen=True)
class Opened:
    """Rows ready for an engine, how their labels are coded, and the columns of X."""

    rows: Rows
    coding: Coding
    names: tuple[str, ...]


def layout_of(names: Sequence[str], coding: Coding, share: float) -> Layout:
    """Return the layout that a frame with these columns would have."""
    roles, place = coding.roles, {name: j for j, name in enumerate(names)}
    groups = _two_groups(coding.groups.known, roles.group)
    protected: tuple[GroupEncoder, ...] = ()
    unused: tuple[int, ...] = ()
    if roles.group is not None and roles.group in roles.predictors:
        fill = np.array([share])
        protected = (GroupEncoder(place[roles.group], roles.group, groups, fill),)
    elif roles.group is not None and roles.group != roles.task:
        unused = (place[roles.group],)
    return Layout(
        predictors=tuple(place[name] for name in roles.predictors),
        names=roles.predictors,
        task_columns=None if roles.task is None else (place[roles.task],),
        tasks=np.array([0]) if roles.task is None else label_array(coding.tasks.known),
        protected=protected,
        groups=groups,
        unused=unused,
    )


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
        yield _open_frame(X, y, weight, named)
        return
    files = Unchanged.of(X.files)
    found = _with_names(replace(X, on_rows=X.on_rows or on_rows), y, weight, named)
    assert found.target is not None
    roles = _roles(
        found.names,
        Roles((), found.target, found.task, found.sensitive, found.weight),
        named.blind,
    )
    try:
        coding = read_coding(files, roles, found.on_rows)
        _two_groups(coding.groups.known, roles.group)
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
    task = one_column("tasks", named.tasks)
    sensitive = one_column("sensitive_features", named.sensitive_features)
    found = replace(
        X,
        target=target,
        weight=_agreed("sample_weight", X.weight, weight, "fit"),
        task=_agreed("tasks", X.task, task, "the constructor"),
        sensitive=_agreed(
            "sensitive_features", X.sensitive, sensitive, "the constructor"
        ),
    )
    check_kinds(found, check_columns(found))
    return found


def _agreed(
    argument: str, own: str | None, other: str | None, where: str
) -> str | None:
    """Return what the stream names, or somebody else; both must not name two things."""
    if own and other and own != other:
        raise ValueError(
            f"{argument} was given twice: {shown(own)} in stream(…), {shown(other)} in "
            f"{where}. Give one of them."
        )
    return own or other


def _roles(names: Sequence[str], roles: Roles, blind: bool) -> Roles:
    """Return the roles with predictors, or raise if a column is for two things."""
    places = [("target", roles.target), ("sample_weight", roles.weight)]
    places += [("tasks", roles.task), ("sensitive_features", roles.group)]
    seen: dict[str, str] = {}
    for role, name in places:
        if name is None:
            continue
        other = seen.get(name)
        # A column of groups may also say which task a row is of.
        if other is not None and (other, role) != ("tasks", "sensitive_features"):
            raise ValueError(
                f"column {shown(name)} is named as {other} and as {role}: name "
                "another one."
            )
        seen[name] = role
    apart = {roles.task, roles.group if blind else None}
    predictors = tuple(name for name in names if name not in apart)
    if not predictors:
        raise ValueError("no column is left to predict from.")
    return replace(roles, predictors=predictors)


def _two_groups(labels: list[Any], name: str | None) -> NDArray[Any] | None:
    """Return the labels of B and A, or raise if there are not two."""
    if name is None:
        return None
    if len(labels) == 1:
        raise ValueError(
            f"sensitive_features ({shown(name)}) has one group only "
            f"({shown(labels[0])}): there is nothing to balance."
        )
    if len(labels) != 2:
        raise ValueError(
            f"sensitive_features ({shown(name)}) has {len(labels)} groups "
            f"({listed(labels)}): rows in files or on a cluster are balanced between "
            "two. Join groups, or fit in memory."
        )
    return label_array(labels)


def _open_frame(X: Any, y: Any, weight: str | None, named: Any) -> Opened:
    """Return the partitions of a Dask frame as rows for an engine."""
    cluster = _cluster_here()
    target, frame = _with_target(X, y)
    names = tuple(name for name in X.columns if name not in (target, weight))
    task = one_column("tasks", named.tasks)
    sensitive = one_column("sensitive_features", named.sensitive_features)
    plain = Roles((), target, task, sensitive, weight)
    _check(X, plain.counted)
    roles = _roles(names, plain, named.blind)
    labelled = (task, sensitive)
    _check_numbers(frame, [name for name in roles.columns if name not in labelled])
    partitions = cluster.client.compute(frame.to_delayed())
    numbers = list(range(len(partitions)))
    tallies = said(cluster, partial(_tally, roles=roles), partitions, numbers)
    coding = coded(tallies, roles)
    _two_groups(coding.groups.known, roles.group)
    return Opened(DaskRows.of(cluster, partitions, coding), coding, names)


def _cluster_here() -> Cluster:
    """Return the cluster at work, or say how to start one."""
    from distributed import get_client

    try:
        return Cluster.of(get_client())
    except ValueError:
        raise ValueError(
            "a Dask frame is fitted where its partitions are: start a cluster first, "
            "client = dask.distributed.Client(…)."
        ) from None


def _tally(partition: Any, number: int, roles: Roles) -> Tally:
    columns = roles.counted or [roles.target]
    return tally(arrow(partition, columns), roles, f"partition {number}")


def _with_target(X: Any, y: Any) -> tuple[str, Any]:
    """Return the name of the target, and the frame that has it."""
    others = [name for name in X.columns if not isinstance(name, str)]
    if others:
        raise ValueError(
            f"column {shown(others[0])} of the frame has no name in text: rename it, "
            "frame.rename(columns=str)."
        )
    names = list(X.columns)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"the frame has several columns called {shown(twice[0])}: give each a name "
            "of its own."
        )
    if y is None:
        raise ValueError(
            'fit needs the target: name its column, fit(frame, "pay"), or pass a Dask '
            "series."
        )
    if isinstance(y, str):
        _check(X, [y])
        return y, X
    if not hasattr(y, "to_delayed"):
        raise ValueError(
            f"y is a {type(y).__name__}, but the rows are in a Dask frame: name its "
            'column, fit(frame, "pay"), or pass a Dask series.'
        )
    return TARGET, X.assign(**{TARGET: y})


def _check(X: Any, names: list[str]) -> None:
    known = list(X.columns)
    for name in names:
        if name not in known:
            hint = nearest(name, known)
            raise ValueError(f"{shown(name)} is no column of the frame.{hint}")


def _check_numbers(frame: Any, names: list[str]) -> None:
    from pandas.api.types import is_numeric_dtype

    for name in names:
        kind = frame.dtypes[name]
        if not is_numeric_dtype(kind):
            raise ValueError(
                f"column {shown(name)} holds {kind}: predictors, target and weights "
                "are numbers. Leave it out, encode it as numbers, or name it in tasks= "
                "or sensitive_features=."
            )
