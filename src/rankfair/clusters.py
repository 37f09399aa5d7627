"""Dask frames: their labels, and their partitions as chunks on the workers."""

from __future__ import annotations

from functools import partial
from typing import Any

from rankfair._frames import shown
from rankfair._validation import nearest
from rankfair.engines.cluster import DaskRows, arrow, said
from rankfair.engines.coding import Roles
from rankfair.engines.tally import Tally, coded, tally
from rankfair.streams import Opened, one_column, roles_of, two_groups

__all__ = ["client_here", "open_frame"]

TARGET = "rankfair target"  # no column of a user's is likely to be called that


def open_frame(X: Any, y: Any, named: Any) -> Opened:
    """Return the partitions of a Dask frame as rows for an engine.

    Parameters
    ----------
    X : dask.dataframe.DataFrame
        Rows with task and protected columns.
    y : str or dask Series
        The target, or its column of X.
    named : Columns
        What the constructor of the estimator names.
    """
    client = client_here()
    if y is None:
        raise ValueError("fit needs the target: y as a Dask series, or its column.")
    if isinstance(y, str):
        _check(X, [y])
        target, frame = y, X
    else:
        target, frame = TARGET, X.assign(**{TARGET: y})
    names = tuple(name for name in map(str, X.columns) if name != target)
    tasks = _listed(named.tasks)
    sensitive = one_column(named.sensitive_features)
    _check(X, [*tasks, *((sensitive,) if sensitive else ())])
    roles = roles_of(names, target, tasks, sensitive, None, named.blind)
    partitions = client.compute(frame.to_delayed())
    numbers = list(range(len(partitions)))
    tallies = said(client, partial(_tally, roles=roles), partitions, numbers)
    coding = coded(tallies, roles)
    two_groups(coding.groups.known, roles.group)
    return Opened(DaskRows.of(client, partitions, coding), coding, names)


def client_here() -> Any:
    """Return the client of the cluster at work, or say how to start one."""
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        raise ValueError(
            "a Dask frame is fitted where its partitions are: start a cluster first, "
            "client = dask.distributed.Client(…)."
        ) from None


def _tally(partition: Any, number: int, roles: Roles) -> Tally:
    columns = roles.counted or [roles.target]
    return tally(arrow(partition, columns), roles, f"partition {number}")


def _listed(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _check(X: Any, names: list[str]) -> None:
    known = list(map(str, X.columns))
    for name in names:
        if name not in known:
            hint = nearest(name, known)
            raise ValueError(f"{shown(name)} is no column of the frame.{hint}")
