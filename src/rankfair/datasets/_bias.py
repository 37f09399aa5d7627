"""Seeded ways to deal rows to tasks and to put a bias into a target."""

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RandomState",
    "deal",
    "generator",
    "pairs_auc",
    "raise_lowest",
    "raise_share",
    "task_labels",
]

RandomState = int | np.random.Generator | None
Floats = NDArray[np.float64]


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that `random_state` stands for."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            "random_state must be None, a non-negative int or a numpy Generator, "
            f"got {random_state!r}"
        ) from None


def task_labels(sizes: NDArray[np.int64]) -> NDArray[np.str_]:
    """Label rows `01, 01, …, 02, …`: task j has `sizes[j]` rows."""
    width = len(str(sizes.size))
    names = np.array([f"{j:0{width}}" for j in range(1, sizes.size + 1)])
    return np.repeat(names, sizes)


def deal(n_tasks: int, n_per_task: int, rng: np.random.Generator) -> NDArray[np.str_]:
    """Deal rows to equal tasks at random."""
    return rng.permutation(task_labels(np.full(n_tasks, n_per_task)))


def pairs_auc(a: Floats, b: Floats) -> float:
    """P(a > b) over all pairs, ties counting half."""
    b = np.sort(b)
    below, not_above = np.searchsorted(b, a, "left"), np.searchsorted(b, a, "right")
    return int(below.sum() + not_above.sum()) / (2 * a.size * b.size)


def raise_share(
    y: Floats,
    in_a: NDArray[np.bool_],
    factor: float,
    share: float,
    rng: np.random.Generator,
) -> Floats:
    """Multiply the target by `factor` for a random `share` of group A."""
    rows = np.flatnonzero(in_a)
    chosen = rng.choice(rows, size=round(share * rows.size), replace=False)
    raised = y.copy()
    raised[chosen] *= factor
    return raised


def raise_lowest(
    y: Floats, in_a: NDArray[np.bool_], factor: float, auc: float
) -> Floats:
    """Multiply A's targets by `factor`, lowest first, until P(A above B) is `auc`.

    The count of raised rows is found by bisection: each raised row only adds to AUC.
    """
    order = np.flatnonzero(in_a)[np.argsort(y[in_a], kind="stable")]

    def raised(count: int) -> Floats:
        moved = y.copy()
        moved[order[:count]] *= factor
        return moved

    low, high = 0, order.size
    while low < high:
        middle = (low + high) // 2
        moved = raised(middle)
        if pairs_auc(moved[in_a], moved[~in_a]) < auc:
            low = middle + 1
        else:
            high = middle
    return raised(low)
