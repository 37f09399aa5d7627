"""Dask frames: their labels, and their partitions as chunks on the workers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rankfair._frames import shown
from rankfair._validation import nearest
from rankfair.engines.cluster import DaskRows, said
from rankfair.engines.coding import Coding, Roles, in_order, labels_of
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
    coding = _coded(client, partitions, roles)
    two_groups(coding.groups, roles.group)
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


def _coded(client: Any, partitions: list[Any], roles: Roles) -> Coding:
    columns = [*roles.tasks, *((roles.group,) if roles.group is not None else ())]
    found: dict[str, set[Any]] = {name: set() for name in columns}
    for part in said(client, partial(_labels, columns=columns), partitions):
        for name, labels in part.items():
            found[name] |= labels
    tasks = tuple(in_order(found[name]) for name in roles.tasks)
    groups = [] if roles.group is None else in_order(found[roles.group])
    coding = Coding(roles, tasks, groups)
    if len(tasks) < 2:
        return coding
    cells: set[int] = set()
    for here in said(client, partial(_cells, coding=coding), partitions):
        cells |= here
    return Coding(roles, tasks, groups, np.array(sorted(cells)))


def _labels(partition: Any, columns: list[str]) -> dict[str, set[Any]]:
    import pyarrow as pa

    table = pa.Table.from_pandas(partition[columns], preserve_index=False)
    return {name: labels_of(table.column(name), name) for name in columns}


def _cells(partition: Any, coding: Coding) -> set[int]:
    import pyarrow as pa

    frame = partition[list(coding.roles.tasks)]
    table = pa.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    return set(np.unique(coding.cells_of(table)).tolist())


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
