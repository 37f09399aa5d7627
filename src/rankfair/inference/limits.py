"""Limits of an AUC that hold in small groups too.

The limits are those values θ that the count does not contradict: ``|AUC − θ|`` is at
most Student's quantile times the standard error *at θ* (a score interval).  How the
variance changes with θ is taken from two normal distributions of equal spread; how
large it is comes from the placements (DeLong; over tasks Obuchowski), each group on its
own.  A variance seen on few rows, or on few pairs won or lost, is steadied by that of
the normal model; the weight of the model falls as rows grow and soon vanishes.
``docs/intervals.md`` shows what that is worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, owens_t
from scipy.stats import t as student

__all__ = [
    "ROWS",
    "TASKS",
    "GroupSpread",
    "Prior",
    "TaskPart",
    "apart_limits",
    "information",
    "over_tasks",
    "score_limits",
    "score_p_value",
]

Floats = NDArray[np.float64]
STEPS = 34  # of a bisection: far below any digit shown
# Two normal variables that share one comparison have the correlation 1/2.
SLOPE = float(np.sqrt((1.0 - 0.5) / (1.0 + 0.5)))


class Prior(NamedTuple):
    """What the normal model is worth, for ``units × θ(1 − θ) = 1``, in units.

    ``variance`` counts where variances are averaged, ``df`` where their degrees of
    freedom are added up.
    """

    variance: float
    df: float


# Chosen in simulations among a few round numbers, for coverage in all their cells.
ROWS = Prior(10.0, 100.0)
TASKS = Prior(40.0, 100.0)
# Few tasks hardly show how alike their rows are: so much over their degrees of freedom
# is added to the correlation, and vanishes with many.
DOUBT = 0.5


@dataclass(frozen=True)
class GroupSpread:
    """What one group says about the variance of AUC; numbers, or arrays of many AUCs.

    Attributes
    ----------
    variance : float or ndarray
        Of the mean placement.
    df : float or ndarray
        Its degrees of freedom.
    size : float or ndarray
        How many independent rows the group is worth.
    units : float or ndarray
        How many independent units it has: rows, or tasks.
    """

    variance: Floats | float
    df: Floats | float
    size: Floats | float
    units: Floats | float


@dataclass(frozen=True)
class TaskPart:
    """What one group says where tasks are the units; numbers, or arrays of many AUCs.

    Attributes
    ----------
    variance : float or ndarray
        Of the mean placement.
    df : float or ndarray
        Its degrees of freedom.
    rows_a_task : float or ndarray
        How many rows a task has, large ones counting more.
    alike : float or ndarray
        How alike rows of a task are, ρ.
    n_tasks : int
        How many tasks say so.
    """

    variance: Floats | float
    df: Floats | float
    rows_a_task: Floats | float
    alike: Floats | float
    n_tasks: int


def over_tasks(
    rows: tuple[GroupSpread, GroupSpread], tasks: tuple[TaskPart, TaskPart]
) -> tuple[GroupSpread, GroupSpread]:
    """Return what the groups say where tasks are the units.

    Tasks of s rows make the variance ``1 + (s − 1) ρ`` times that of independent rows.
    How alike rows of a task are, ρ, is found from both groups together; by that factor
    the groups are worth fewer rows.

    Parameters
    ----------
    rows : pair of GroupSpread
        The groups if rows were independent.
    tasks : pair of TaskPart
        The groups over tasks.

    Returns
    -------
    pair of GroupSpread
        With the variances over tasks.

    Examples
    --------
    >>> row = GroupSpread(variance=0.002, df=99.0, size=100.0, units=100.0)
    >>> task = TaskPart(0.004, df=9.0, rows_a_task=10.0, alike=0.1, n_tasks=10)
    >>> round(float(over_tasks((row, row), (task, task))[0].size), 1)
    46.5
    """
    seen, weight = np.zeros(()), np.zeros(())
    for part in tasks:
        # A group whose tasks have one row each says nothing about it.
        share = (part.n_tasks - 1) * (1.0 - 1.0 / np.maximum(part.rows_a_task, 1.0))
        seen, weight = seen + share * part.alike, weight + share
    doubt = DOUBT / max(tasks[0].n_tasks + tasks[1].n_tasks - 2, 1)
    alike = np.clip(seen / np.where(weight > 0.0, weight, 1.0) + doubt, 0.0, 1.0)
    a, b = (
        GroupSpread(
            part.variance,
            part.df,
            own.size / (1.0 + np.maximum(part.rows_a_task - 1.0, 0.0) * alike),
            part.df + 1.0,
        )
        for own, part in zip(rows, tasks, strict=True)
    )
    return a, b


def score_limits(
    auc: Floats | float,
    a: GroupSpread,
    b: GroupSpread,
    confidence: float,
    prior: Prior = ROWS,
    factor: Floats | float = 1.0,
) -> tuple[Floats, Floats]:
    """Return lower and upper limits of AUC, one pair for each AUC.

    Parameters
    ----------
    auc : float or ndarray
        What was counted.
    a, b : GroupSpread
        The groups.
    confidence : float
        Between 0 and 1, half of the doubt at either end.
    prior : Prior
        What the normal model is worth.
    factor : float or ndarray, default=1
        What tasks with both groups add to the variance, as a ratio.

    Returns
    -------
    low, high : ndarrays
        In [0, 1].

    Examples
    --------
    >>> group = GroupSpread(variance=0.002, df=49.0, size=50.0, units=50.0)
    >>> low, high = score_limits(0.7, group, group, 0.95)
    >>> round(float(low), 3), round(float(high), 3)
    (0.563, 0.804)
    """
    counted = np.asarray(auc, np.float64)
    model = _Model.of(counted, a, b, prior, factor)
    quantile = student.isf((1.0 - confidence) / 2, model.df)
    inner = [counted.copy(), counted.copy()]
    for side, outermost in enumerate((0.0, 1.0)):
        outer = np.full_like(counted, outermost)
        for _ in range(STEPS):
            middle = (inner[side] + outer) / 2
            fits = (counted - middle) ** 2 <= quantile**2 * model.variance(middle)
            inner[side] = np.where(fits, middle, inner[side])
            outer = np.where(fits, outer, middle)
    # Where groups do not overlap: Clopper and Pearson's limits for the smaller group.
    reach = _reach(np.minimum(a.units, b.units), confidence)
    low = np.where(counted == 1.0, np.minimum(inner[0], 1.0 - reach), inner[0])
    high = np.where(counted == 0.0, np.maximum(inner[1], reach), inner[1])
    return low, high


def score_p_value(
    auc: Floats | float,
    a: GroupSpread,
    b: GroupSpread,
    prior: Prior = ROWS,
    factor: Floats | float = 1.0,
) -> Floats:
    """Return the p-value of AUC = 1/2; it is below α where 1/2 is outside the limits.

    Examples
    --------
    >>> group = GroupSpread(variance=0.002, df=49.0, size=50.0, units=50.0)
    >>> round(float(score_p_value(0.7, group, group)), 4)
    0.0051
    """
    counted = np.asarray(auc, np.float64)
    model = _Model.of(counted, a, b, prior, factor)
    error = np.sqrt(model.variance(np.full_like(counted, 0.5)))
    p: Floats = 2.0 * student.sf(np.abs(counted - 0.5) / error, model.df)
    # Where groups do not overlap the limits are wider than the model's, and so is p.
    apart = (counted == 0.0) | (counted == 1.0)
    p = np.where(apart, np.maximum(p, _apart_p(np.minimum(a.units, b.units))), p)
    return p


def apart_limits(
    auc: float, units: float, confidence: float
) -> tuple[tuple[float, float], float]:
    """Return limits of an AUC of 0 or 1 by Clopper and Pearson, and their p-value.

    Examples
    --------
    >>> limits, p = apart_limits(1.0, 12.0, 0.95)
    >>> [round(end, 3) for end in limits], round(p, 5)
    ([0.735, 1.0], 0.00049)
    """
    reach = float(_reach(units, confidence))
    limits = (1.0 - reach, 1.0) if auc == 1.0 else (0.0, reach)
    return limits, float(_apart_p(units))


def information(auc: Floats | float, units: Floats | float) -> Floats:
    """Return ``units × θ(1 − θ)``, what a prior is worth the less of."""
    share = _off_the_edge(auc, units)
    return np.asarray(units * share * (1.0 - share))


def _off_the_edge(auc: Floats | float, units: Floats | float) -> Floats:
    """A share of 0 or 1 is no estimate of the share: half a row in either group."""
    edge = 0.25 / np.asarray(units)
    return np.clip(auc, edge, 1.0 - edge)


def _reach(units: Floats | float, confidence: float) -> Floats:
    """How far from 0 or 1 Clopper and Pearson's limit is."""
    return np.asarray(1.0 - ((1.0 - confidence) / 2) ** (1.0 / np.asarray(units)))


def _apart_p(units: Floats | float) -> Floats:
    """The doubt with which that limit is 1/2."""
    return np.minimum(2.0 * 0.5 ** np.asarray(units), 1.0)


@dataclass(frozen=True)
class _Model:
    """The variance of AUC as a function of θ, scaled to what was seen."""

    size_a: Floats | float
    size_b: Floats | float
    ratio_a: Floats
    ratio_b: Floats
    df: Floats
    factor: Floats | float

    @classmethod
    def of(
        cls,
        auc: Floats,
        a: GroupSpread,
        b: GroupSpread,
        prior: Prior,
        factor: Floats | float,
    ) -> _Model:
        units = np.minimum(a.units, b.units)
        known = information(auc, units)
        weight, more = prior.variance / known, prior.df / known
        of_a, of_b, _ = _parts(_off_the_edge(auc, units), a.size, b.size)
        ratio_a = (a.df * (a.variance / of_a) + weight) / (a.df + weight)
        ratio_b = (b.df * (b.variance / of_b) + weight) / (b.df + weight)
        all_a, all_b = ratio_a * of_a, ratio_b * of_b
        spread = all_a**2 / (a.df + more) + all_b**2 / (b.df + more)
        df = (all_a + all_b) ** 2 / spread
        return cls(a.size, b.size, ratio_a, ratio_b, df, factor)

    def variance(self, theta: Floats) -> Floats:
        of_a, of_b, both = _parts(theta, self.size_a, self.size_b)
        whole = self.ratio_a * of_a + self.ratio_b * of_b
        whole -= np.minimum(self.ratio_a, self.ratio_b) * both
        found: Floats = self.factor * np.maximum(whole, 0.0)
        return found


def _parts(
    theta: Floats, size_a: Floats | float, size_b: Floats | float
) -> tuple[Floats, Floats, Floats]:
    """What DeLong's parts are for two normal groups, and what both of them count.

    With ``ξ = P(two rows of one group win against one of the other) − θ²`` the variance
    of AUC is ``ξ/n_A + ξ/n_B + (θ(1 − θ) − 2ξ)/(n_A n_B)``; either part counts the last
    term.
    """
    normal = ndtri(theta)
    xi = ndtr(normal) - 2.0 * owens_t(normal, SLOPE) - theta**2
    both = np.maximum(theta * (1.0 - theta) - 2.0 * xi, 0.0) / (size_a * size_b)
    return xi / size_a + both, xi / size_b + both, both
