"""Sums over the tasks that occur among some rows, where there are many more tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Floats, Ints

__all__ = ["Scattered", "added", "own_codes"]


@dataclass(frozen=True)
class Scattered:
    """An array with a row a task, nil but for some tasks.

    Examples
    --------
    >>> import numpy as np
    >>> part = Scattered(np.array([0, 2]), np.array([[1.0], [5.0]]), n_tasks=3)
    >>> added([part, part]).tolist()
    [[2.0], [0.0], [10.0]]
    """

    tasks: Ints  # (t,) each once
    sums: Floats  # (t, n)
    n_tasks: int


def added(parts: Iterable[NDArray[Any] | Scattered]) -> NDArray[Any]:
    """The sum of arrays, taken in one by one."""
    total: NDArray[Any] | None = None
    for part in parts:
        if isinstance(part, Scattered):
            if total is None:
                total = np.zeros((part.n_tasks, part.sums.shape[1]))
            total[part.tasks] += part.sums
        elif total is None:
            total = part
        else:
            total += part
    assert total is not None
    return total


def own_codes(codes: Ints) -> tuple[Ints, Ints]:
    """The tasks that occur, ascending, and the rows' places among them."""
    if not len(codes):
        return np.zeros(0, np.intp), codes
    if codes.max() > 16 * len(codes):
        tasks, own = np.unique(codes, return_inverse=True)
        return tasks, own
    there = np.zeros(int(codes.max()) + 1, bool)
    there[codes] = True
    tasks = np.flatnonzero(there)
    if len(tasks) == len(there):
        return tasks, codes
    place = np.empty(len(there), np.int32)
    place[tasks] = np.arange(len(tasks), dtype=np.int32)
    return tasks, place[codes]
