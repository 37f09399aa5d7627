"""Seeded ways to deal rows to tasks and to put a bias into a target."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rankfair.datasets.base import Dataset
from rankfair.input.arrays import Floats
from rankfair.input.errors import (
    InputError,
    as_given,
    check_count,
    check_number,
    check_seed,
)

RandomState = int | np.random.Generator | None


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator that `random_state` stands for."""
    check_seed("random_state", random_state)
    return np.random.default_rng(random_state)


def task_labels(sizes: NDArray[np.int64]) -> NDArray[np.str_]:
    """Label rows `01, 01, …, 02, …`: task j has `sizes[j]` rows."""
    width = len(str(sizes.size))
    names = np.array([f"{j:0{width}}" for j in range(1, sizes.size + 1)])
    return np.repeat(names, sizes)


def dealt(
    y: Floats,
    in_a: NDArray[np.bool_],
    tasks: tuple[int, int],
    bias: tuple[float, float] | None,
    random_state: RandomState,
) -> tuple[Floats, NDArray[np.str_]]:
    """Return the target and the tasks of rows that are dealt to equal tasks at random.

    ``tasks`` is how many there are and the rows of each; ``bias`` a factor and the
    share of group A whose target is multiplied by it.
    """
    deal_rng, bias_rng = generator(random_state).spawn(2)
    labels = deal_rng.permutation(task_labels(np.full(*tasks)))
    if bias is None:
        return y, labels
    (factor, share), rows, raised = bias, np.flatnonzero(in_a), y.copy()
    chosen = bias_rng.choice(rows, size=round(share * rows.size), replace=False)
    raised[chosen] *= factor
    return raised, labels


def raise_lowest(
    y: Floats, in_a: NDArray[np.bool_], factor: float, auc: float
) -> Floats:
    """Multiply A's targets by `factor`, lowest first, until P(A above B) is `auc`.

    The count of raised rows is found by bisection: each raised row only adds to AUC.
    """
    from sklearn.metrics import roc_auc_score  # a second to import

    order = np.flatnonzero(in_a)[np.argsort(y[in_a], kind="stable")]

    def raised(count: int) -> Floats:
        moved = y.copy()
        moved[order[:count]] *= factor
        return moved

    def auc_of(count: int) -> float:
        return float(roc_auc_score(in_a, raised(count)))

    return raised(bisect_left(range(order.size), auc, key=auc_of))


FEATURES = ("x1", "x2", "x3", "x4")
PROXY_STRENGTHS = (1.0, 0.5)
DESCRIPTION = (
    "Synthetic rows. The group z is a coin; the target is Gaussian in each group, with "
    "one standard deviation and means set so that P(A above B) is the asked AUC. x1 "
    "and x2 carry signal of the target beyond z, x3 and x4 are noisy copies of z. "
    "Features and target are standardised."
)


def make_biased_tasks(
    n_tasks: int = 40,
    n_per_task: int | Sequence[int] = 25,
    auc: float = 0.9,
    *,
    signal: float = 0.67,
    task_spread: float = 0.2,
    random_state: RandomState = None,
) -> Dataset:
    """Draw rows whose target ranks group A above group B with a given AUC.

    With u standard normal within each group,

        y = ±gap/2 + u,    gap = √2 Φ⁻¹(auc),
        u = √signal (x1 cos θ_j + x2 sin θ_j) + √(1 − signal) noise,

    so that P(y_A > y_B) = auc whatever the angle θ_j of task j is. Both groups are
    present whenever there are two rows or more. What x1 and x2 say of u is the
    `fair_score`: of all predictions that do not depend on the group it errs least.

    Parameters
    ----------
    n_tasks : int
    n_per_task : int or sequence of int
        Rows of every task, or of each one.
    auc : float
        P(target of A above target of B) in the population, strictly between 0 and 1.
    signal : float
        Share of the variance within a group that x1 and x2 explain, in [0, 1].
    task_spread : float
        Standard deviation, in radians, of the angle θ_j: how much tasks differ.
    random_state : int, numpy Generator or None

    Returns
    -------
    Dataset
        With `fair_score`, in the units of the target.

    Examples
    --------
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(40, 25, auc=0.9, random_state=0)
    >>> data.X.shape
    (1000, 4)
    >>> y_a = data.target[data.sensitive == "1"]
    >>> y_b = data.target[data.sensitive == "0"]
    >>> print((y_a[:, None] > y_b).mean().round(1))
    0.9
    """
    sizes = _task_sizes(n_tasks, n_per_task)
    if check_number("auc", auc, 0.0, 1.0) in (0.0, 1.0):
        raise InputError("auc", "must be strictly between 0 and 1", as_given(auc))
    check_number("signal", signal, 0.0, 1.0)
    check_number("task_spread", task_spread, 0.0)
    rng = generator(random_state)
    in_a = rng.random(sizes.sum()) < 0.5
    if in_a.size > 1 and in_a.all() == in_a.any():  # one group only
        in_a[0] = not in_a[0]
    X = rng.standard_normal((in_a.size, len(FEATURES)))
    angles = np.pi / 6 + task_spread * rng.standard_normal(sizes.size)
    theta = np.repeat(angles, sizes)
    seen = np.sqrt(signal) * (X[:, 0] * np.cos(theta) + X[:, 1] * np.sin(theta))
    unseen = np.sqrt(1.0 - signal) * rng.standard_normal(in_a.size)
    X[:, 2:] += np.outer(np.where(in_a, 1.0, -1.0), PROXY_STRENGTHS)
    gap = np.sqrt(2.0) * NormalDist().inv_cdf(auc)
    y = seen + unseen + gap * (in_a - 0.5)
    return Dataset(
        name="synthetic",
        X=_standardise(X),
        target=_standardise(y),
        tasks=task_labels(sizes),
        sensitive=np.where(in_a, "1", "0"),
        feature_names=FEATURES,
        target_name="y",
        task_name="task",
        sensitive_name="z",
        group_a="1",
        description=DESCRIPTION,
        licence="none: made on the spot",
        biased=auc != 0.5,
        fair_score=_standardise(seen, like=y),
    )


def _task_sizes(n_tasks: int, n_per_task: int | Sequence[int]) -> NDArray[np.int64]:
    check_count("n_tasks", n_tasks)
    if not isinstance(n_per_task, Iterable):
        return np.full(n_tasks, check_count("n_per_task", n_per_task))
    sizes = [check_count("n_per_task", size) for size in n_per_task]
    if len(sizes) != n_tasks:
        said = f"must be an int or hold one size for each of the {n_tasks} tasks"
        raise InputError("n_per_task", said, f"{len(sizes)} sizes")
    return np.array(sizes)


def _standardise(values: Floats, like: Floats | None = None) -> Floats:
    """Put values at mean 0 and deviation 1, their own or those of others."""
    like = values if like is None else like
    spread = like.std(axis=0)
    # One row alone has no spread: it becomes 0.
    scaled: Floats = values - like.mean(axis=0)
    scaled /= np.where(spread > 0, spread, 1.0)
    return scaled
