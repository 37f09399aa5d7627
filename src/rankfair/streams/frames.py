"""Dask frames: their labels, and their partitions as chunks on the workers."""

from __future__ import annotations

from functools import partial
from typing import Any

from rankfair._frames import shown
from rankfair._validation import nearest
from rankfair.engines.cluster import Cluster, DaskRows, arrow, said
from rankfair.engines.coding import Roles
from rankfair.engines.tally import Tally, coded, tally
from rankfair.streams.opened import Opened
from rankfair.streams.roles import column_names, one_column, roles_of, two_groups

__all__ = ["cluster_here", "open_frame"]

TARGET = "rankfair target"  # no column of a user's is likely to be called that


def open_frame(X: Any, y: Any, weight: str | None, named: Any) -> Opened:
    """Return the partitions of a Dask frame as rows for an engine.

    Parameters
    ----------
    X : dask.dataframe.DataFrame
        Rows with task and protected columns.
    y : str or dask Series
        The target, or its column of X.
    weight : str or None
        The column of X with weights.
    named : Columns
        What the constructor of the estimator names.
    """
    cluster = cluster_here()
    target, frame = _with_target(X, y)
    names = tuple(name for name in X.columns if name not in (target, weight))
    tasks = column_names("tasks", named.tasks)
    sensitive = one_column(named.sensitive_features)
    labelled = [*tasks, *((sensitive,) if sensitive else ())]
    _check(X, [*labelled, *((weight,) if weight else ())])
    roles = roles_of(names, target, tasks, sensitive, weight, named.blind)
    _check_numbers(frame, [name for name in roles.columns if name not in labelled])
    partitions = cluster.client.compute(frame.to_delayed())
    numbers = list(range(len(partitions)))
    tallies = said(cluster, partial(_tally, roles=roles), partitions, numbers)
    coding = coded(tallies, roles)
    two_groups(coding.groups.known, roles.group)
    return Opened(DaskRows.of(cluster, partitions, coding), coding, names)


def cluster_here() -> Cluster:
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
