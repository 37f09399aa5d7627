"""Which tasks are clusters: whether rows or tasks were sampled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["ENOUGH_TASKS", "clusters_of"]

Codes = NDArray[np.intp]
Bools = NDArray[np.bool_]

# Tasks that mix the groups count as a sample of tasks from so many on.
ENOUGH_TASKS = 10


def clusters_of(
    codes: Codes | None, in_a: Bools
) -> tuple[Codes | None, Codes | None, str]:
    """Say which tasks are clusters: what is needed, what may be, and why.

    Where most rows are in tasks of one group only, the groups differ between tasks and
    tasks are what was sampled: clusters are needed.  Where tasks mix the groups, rows
    are compared within them as well and tasks may be taken as given; if there are
    enough of them they are tried as clusters too, and the wider answer counts.

    Parameters
    ----------
    codes : integer ndarray of shape (N,) or None
        The task of each row.
    in_a : boolean ndarray of shape (N,)
        The rows of group A.

    Returns
    -------
    needed, possible : codes or None
        At most one of them is not None.
    reason : str
        A sentence.

    Examples
    --------
    >>> import numpy as np
    >>> needed, _, why = clusters_of(np.array([0, 0, 1]), np.array([True, True, False]))
    >>> needed.tolist(), why
    ([0, 0, 1], 'Most rows are in tasks of one group only: tasks are clusters.')
    """
    if codes is None:
        return None, None, "No tasks: rows are taken as independent."
    of_a, of_b = np.bincount(codes, in_a), np.bincount(codes, ~in_a)
    alone = (of_a == 0) | (of_b == 0)
    if 2 * (of_a + of_b)[alone].sum() >= len(codes):
        why = "Most rows are in tasks of one group only: tasks are clusters."
        return codes, None, why
    if min((of_a > 0).sum(), (of_b > 0).sum()) < ENOUGH_TASKS:
        return None, None, "Few tasks, which mix the groups: they are taken as given."
    return None, codes, "Tasks mix the groups: rows or tasks, whichever is less sure."
