"""The AUC of two groups: one variance, and two ways to invert it.

The variance is that of the mean placements of the groups (see `estimate`).

`auc_estimate` gives a two-sided *score interval*: all values θ for which ``|AUC − θ|``
is at most Student's quantile times the standard error *at θ*.  Two normal distributions
of equal spread say how the variance changes with θ; the placements of each group say
how large it is.  With few rows the variance is averaged with that of the normal model;
the weight of the model vanishes as rows grow.  ``docs/intervals.md`` has the coverage.

`auc_spread` gives one-sided *safe bounds* on the logit scale, for certificates; see
``docs/certificate.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import (
    expit,
    logit,
    ndtr,
    ndtri,
    owens_t,
    rel_entr,
    stdtr,
    stdtrit,
)

from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.stats.estimate import (
    NO_SPREAD,
    ROUNDING,
    Difference,
    Estimate,
    MeanVariance,
    TwoGroups,
    welch_degrees,
    wilson,
)
from rankfair.stats.ordered import placements, snapped
from rankfair.stats.permutation import mann_whitney

# Two normal variables that share one comparison have the correlation 1/2.
SLOPE = float(np.sqrt((1.0 - 0.5) / (1.0 + 0.5)))


def auc_estimate(
    placed_a: Floats,
    placed_b: Floats,
    groups: TwoGroups,
    confidence: float,
    twice_ranks: tuple[Codes, Codes] | None = None,
    seed: int | None = 0,
) -> Estimate:
    """Return the AUC with an interval, and the p-value of "AUC = 1/2".

    Rows are independent, or tasks are clusters (see `clusters_of`); if both are
    possible, the wider interval counts.  The p-value of independent rows is Mann and
    Whitney's, by permutations below 30 rows in a group; with clusters or weights it is
    that of the interval.

    Parameters
    ----------
    placed_a : ndarray of shape (n_A,)
        The share of group B below each row of A.
    placed_b : ndarray of shape (n_B,)
        The share of group A below each row of B.
    groups : TwoGroups
        The groups.
    confidence : float
        Between 0 and 1.
    twice_ranks : pair of integer ndarrays, optional
        Twice the mid-ranks of the rows of A and of B among both.
    seed : int or None
        Seed of random permutations.

    Returns
    -------
    Estimate
        Without an interval if a group has one row (or task), or all placements are
        equal.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(20) % 2 == 0
    >>> groups = TwoGroups.of(in_a)
    >>> print(auc_estimate(np.arange(10) / 10, np.arange(10, 0, -1) / 10, groups, 0.95))
    0.450 (0.235 to 0.690)
    """
    placed = placed_a, placed_b
    rows = ScoreModel.of_rows(Difference.of(*placed, groups, False), groups)
    ways = [rows]
    if groups.needed or groups.possible:
        tasks = ScoreModel.of_tasks(Difference.of(*placed, groups, True), rows)
        ways = [tasks] if groups.needed else [rows, tasks]
    if ways[0].doubt:
        return Estimate(ways[0].value, note=ways[0].doubt)
    known = [(*way.interval(confidence), way) for way in ways if not way.doubt]
    low, high, model = max(known, key=lambda each: float(each[1] - each[0]))
    p, method = float(model.p_value()), model.method
    if model is rows and twice_ranks is not None and groups.a.weights is None:
        rank_sum, n_a = int(twice_ranks[0].sum()), len(twice_ranks[0])
        p, test = mann_whitney(rank_sum, np.concatenate(twice_ranks), n_a, seed)
        method = f"{method}; Mann and Whitney's test, {test}"
    return Estimate(model.value, float(low), float(high), p, method)


def auc_of_rows(
    predicted: Floats,
    in_a: Bools,
    tasks: Codes | None,
    weights: Floats | None,
    confidence: float,
) -> Estimate:
    """Return the AUC of group A against all other rows, as an audit has it."""
    placed = placements(predicted, in_a, weights)
    return auc_estimate(*placed, TwoGroups.of(in_a, tasks, weights), confidence)


class Prior(NamedTuple):
    """The weight of the normal model, in units, at ``units × θ(1 − θ) = 1``.

    ``variance`` is its weight in an average of variances, ``df`` the degrees of freedom
    that it adds.
    """

    variance: float
    df: float


# Chosen among a few round numbers by the coverage in simulations.
ROWS = Prior(10.0, 100.0)
TASKS = Prior(40.0, 100.0)


@dataclass(frozen=True)
class GroupSpread:
    """The part of one group in the variance of AUC; numbers, or arrays for many AUCs.

    Attributes
    ----------
    variance : float or ndarray
        Variance of the mean placement.
    df : float or ndarray
        Its degrees of freedom.
    size : float or ndarray
        The effective number of independent rows, or of tasks.
    alike : float or ndarray
        The correlation ρ of placements within a task, if tasks are clusters.
    n_tasks : int
        The number of tasks, if they are.
    """

    variance: Floats | float
    df: Floats | float
    size: Floats | float
    alike: Floats | float = 0.0
    n_tasks: int = 0

    @property
    def units(self) -> Floats | float:
        """The number of independent units: rows, or tasks."""
        return self.df + 1.0


def over_tasks(
    rows: tuple[GroupSpread, GroupSpread],
    tasks: tuple[GroupSpread, GroupSpread],
    doubt: float = 0.5,
) -> tuple[GroupSpread, GroupSpread]:
    """Return the parts of both groups if tasks are clusters, sizes being of rows.

    Tasks of s rows make the variance ``1 + (s − 1) ρ`` times that of independent rows,
    and the effective number of rows smaller by that factor.  The correlation ρ is
    estimated from both groups together.  Few tasks hardly show it: ``doubt`` over the
    degrees of freedom is added to it.
    """
    seen, weight = np.zeros(()), np.zeros(())
    rows_a_task = [
        np.maximum(own.size / part.size, 1.0)
        for own, part in zip(rows, tasks, strict=True)
    ]
    for part, s in zip(tasks, rows_a_task, strict=True):
        share = (part.n_tasks - 1) * (1.0 - 1.0 / s)  # tasks of one row show no ρ
        seen, weight = seen + share * part.alike, weight + share
    more = doubt / max(tasks[0].n_tasks + tasks[1].n_tasks - 2, 1)
    alike = np.clip(seen / np.where(weight > 0.0, weight, 1.0) + more, 0.0, 1.0)
    a, b = (
        replace(part, size=own.size / (1.0 + (s - 1.0) * alike))
        for own, part, s in zip(rows, tasks, rows_a_task, strict=True)
    )
    return a, b


@dataclass(frozen=True)
class ScoreModel:
    """The variance of AUC as a function of θ, scaled to the observed variance.

    Attributes
    ----------
    auc : float or ndarray
        The AUC counted, or many of them.
    a, b : GroupSpread
        The parts of the groups.
    prior : Prior
        The weight of the normal model.
    factor : float
        The ratio by which tasks that hold both groups change the variance.
    n_tasks : int or None
        The number of clusters; None if rows are independent.

    Examples
    --------
    >>> group = GroupSpread(variance=0.002, df=49.0, size=50.0)
    >>> model = ScoreModel(0.7, group, group)
    >>> [round(float(end), 3) for end in model.interval(0.95)]
    [0.563, 0.804]
    >>> round(float(model.p_value()), 4)
    0.0051
    """

    auc: Floats | float
    a: GroupSpread
    b: GroupSpread
    prior: Prior = ROWS
    factor: float = 1.0
    n_tasks: int | None = None

    @classmethod
    def of_rows(cls, way: Difference, groups: TwoGroups) -> ScoreModel:
        """Rows are independent."""
        auc = np.asarray(way.mean_a)
        if groups.a.weights is not None:  # whose sums are rounded; counts are not
            auc = snapped(auc)
        a, b = (GroupSpread(p.variance, p.df, p.worth) for p in (way.a, way.b))
        return cls(float(auc), a, b)

    @classmethod
    def of_tasks(cls, way: Difference, rows: ScoreModel) -> ScoreModel:
        """Tasks are clusters."""
        both, factor = _together(rows.value, way)
        a, b = (
            GroupSpread(
                part.variance,
                both or part.df,
                1.0 / float(part.share @ part.share),
                part.clusters.rho if part.clusters else 1.0,
                int(np.count_nonzero(part.share)),
            )
            for part in (way.a, way.b)
        )
        parts = over_tasks((rows.a, rows.b), (a, b))
        return cls(rows.auc, *parts, TASKS, factor, way.n_clusters)

    @property
    def value(self) -> float:
        """The AUC, if it is one."""
        return float(self.auc)

    @property
    def doubt(self) -> str:
        """Why there is no interval; empty if there is one."""
        unit = "row" if self.n_tasks is None else "task"
        total = float(self.a.variance + self.b.variance)
        if math.isnan(total):
            return f"a group rests on one {unit} only, which shows no spread"
        flat = total <= NO_SPREAD or self.factor <= ROUNDING
        if flat and self.auc not in (0.0, 1.0):
            return f"no {unit} is placed differently from another"
        return ""

    @property
    def method(self) -> str:
        """How the interval is computed."""
        if self.auc in (0.0, 1.0):
            return "an interval for any distributions (groups do not overlap)"
        if self.n_tasks is None:
            return "DeLong's variance, score interval"
        return f"variance over {self.n_tasks:,} tasks (Obuchowski), score interval"

    @cached_property
    def _scaled(self) -> tuple[Floats, Floats, Floats]:
        """Observed over modelled variance of each group, and degrees of freedom."""
        a, b, units = self.a, self.b, np.minimum(self.a.units, self.b.units)
        known = information(self.auc, units)
        weight, more = self.prior.variance / known, self.prior.df / known
        of_a, of_b, _ = _parts(_off_the_edge(self.auc, units), a.size, b.size)
        ratio_a = (a.df * (a.variance / of_a) + weight) / (a.df + weight)
        ratio_b = (b.df * (b.variance / of_b) + weight) / (b.df + weight)
        all_a, all_b = ratio_a * of_a, ratio_b * of_b
        spread = all_a**2 / (a.df + more) + all_b**2 / (b.df + more)
        return ratio_a, ratio_b, (all_a + all_b) ** 2 / spread

    def variance(self, theta: Floats) -> Floats:
        """Return the variance of AUC if the population's is θ."""
        ratio_a, ratio_b, _ = self._scaled
        of_a, of_b, both = _parts(theta, self.a.size, self.b.size)
        whole = ratio_a * of_a + ratio_b * of_b - np.minimum(ratio_a, ratio_b) * both
        found: Floats = self.factor * np.maximum(whole, 0.0)
        return found

    def interval(self, confidence: float) -> tuple[Floats, Floats]:
        """Return the ends of the score interval; either fails in half of the cases."""
        counted = np.asarray(self.auc, np.float64)
        square = stdtrit(self._scaled[2], (1.0 - confidence) / 2) ** 2
        inner = np.stack((counted, counted))
        outer = np.stack((np.zeros_like(counted), np.ones_like(counted)))
        for _ in range(34):  # bisections, far below any digit shown
            middle = (inner + outer) / 2
            fits = (counted - middle) ** 2 <= square * self.variance(middle)
            inner, outer = np.where(fits, middle, inner), np.where(fits, outer, middle)
        # If groups do not overlap: Clopper and Pearson's for the smaller group.
        reach = _reach(np.minimum(self.a.units, self.b.units), confidence)
        low = np.where(counted == 1.0, np.minimum(inner[0], 1.0 - reach), inner[0])
        high = np.where(counted == 0.0, np.maximum(inner[1], reach), inner[1])
        return low, high

    def p_value(self) -> Floats:
        """Return the p-value of AUC = 1/2, below α if the interval leaves out 1/2."""
        counted = np.asarray(self.auc, np.float64)
        error = np.sqrt(self.variance(np.full_like(counted, 0.5)))
        p: Floats = 2.0 * stdtr(self._scaled[2], -np.abs(counted - 0.5) / error)
        # If groups do not overlap, the interval is wider than the model's: so is p.
        least = _apart_p(np.minimum(self.a.units, self.b.units))
        apart = (counted == 0.0) | (counted == 1.0)
        return np.where(apart, np.maximum(p, least), p)


def _together(auc: float, way: Difference) -> tuple[float | None, float]:
    """Degrees of freedom if tasks hold both groups, and the ratio of the variances.

    The observed ratio is averaged with the one that the sizes of tasks predict.
    """
    a, b, total = way.a, way.b, way.a.variance + way.b.variance
    if not (abs(way.covariance) > ROUNDING * total and a.clusters and b.clusters):
        return None, 1.0
    both = float(a.clusters.less(b.clusters).variances.sum())
    apart = float(a.clusters.variances.sum() + b.clusters.variances.sum())
    weight = TASKS.variance / information(auc, way.df + 1.0)
    seen, expected = 1.0 - 2.0 * way.covariance / total, both / apart
    return way.df, float((way.df * seen + weight * expected) / (way.df + weight))


def apart_interval(
    auc: float, units: float, confidence: float
) -> tuple[tuple[float, float], float]:
    """Return Clopper and Pearson's interval of an AUC of 0 or 1, and its p-value."""
    reach = float(_reach(units, confidence))
    ends = (1.0 - reach, 1.0) if auc == 1.0 else (0.0, reach)
    return ends, float(_apart_p(units))


def information(auc: Floats | float, units: Floats | float) -> Floats:
    """Return ``units × θ(1 − θ)``; the larger it is, the less a prior weighs."""
    share = _off_the_edge(auc, units)
    return np.asarray(units * share * (1.0 - share))


def _off_the_edge(auc: Floats | float, units: Floats | float) -> Floats:
    """An AUC moved off 0 and 1 by half a row of either group."""
    edge = 0.25 / np.asarray(units)
    return np.clip(auc, edge, 1.0 - edge)


def _reach(units: Floats | float, confidence: float) -> Floats:
    """How far from 0 or 1 Clopper and Pearson's interval goes."""
    return np.asarray(1.0 - ((1.0 - confidence) / 2) ** (1.0 / np.asarray(units)))


def _apart_p(units: Floats | float) -> Floats:
    """The p-value of groups that do not overlap: that of Clopper and Pearson's."""
    return np.minimum(2.0 * 0.5 ** np.asarray(units), 1.0)


def _parts(
    theta: Floats, size_a: Floats | float, size_b: Floats | float
) -> tuple[Floats, Floats, Floats]:
    """DeLong's parts of the variance for two normal groups, and what both count.

    With ``ξ = P(two rows of one group win against one of the other) − θ²`` the variance
    of AUC is ``ξ/n_A + ξ/n_B + (θ(1 − θ) − 2ξ)/(n_A n_B)``; either part counts the last
    term.
    """
    normal = ndtri(theta)
    xi = ndtr(normal) - 2.0 * owens_t(normal, SLOPE) - theta**2
    both = np.maximum(theta * (1.0 - theta) - 2.0 * xi, 0.0) / (size_a * size_b)
    return xi / size_a + both, xi / size_b + both, both


# The safe bound, for certificates


@dataclass(frozen=True)
class Spread(Difference):
    """Safe bounds of the AUC of the population.

    Bounds are computed on the logit scale, where they stay inside (0, 1), with
    Student's t.  If rows of a group tie, the bounds allow for one more row far from all
    others.

    ``mean_a`` and ``mean_b`` are the mean placements of the groups; ``ties`` is the
    share of pairs of rows (of different clusters) that tie, in either group.  The
    standard error ``se`` is DeLong's, over clusters Obuchowski's with the jackknife's
    factor ``1 / (1 − w)`` for a cluster with a share w of its group.

    Examples
    --------
    >>> import numpy as np
    >>> m, in_a = np.array([1.0, 3.0, 2.0, 0.0]), np.array([True, True, False, False])
    >>> spread = auc_spread(m, in_a)
    >>> spread.auc, round(spread.se, 4), spread.df
    (0.75, 0.3536, 2.0)
    """

    ties: tuple[float, float] = (0.0, 0.0)

    @property
    def auc(self) -> float:
        """The AUC counted."""
        return self.mean_a

    @property
    def estimable(self) -> bool:
        """Whether there is a bound."""
        return not math.isnan(self.se)

    @property
    def exact(self) -> bool:
        """Whether no two placements differ, so that there is no standard error."""
        return self.se**2 <= NO_SPREAD or self.auc in (0.0, 1.0)

    @property
    def worth(self) -> float:
        """The effective number of rows of the smaller group."""
        return min(self.a.worth, self.b.worth)

    @property
    def few(self) -> bool:
        """Whether fewer than 5 rows were won or lost: too few to trust a variance."""
        return self.worth * min(self.auc, 1.0 - self.auc) < 5

    def bound(self, confidence: float) -> float:
        """Return the upper bound of ``|AUC − 1/2|`` of the population.

        If the population's AUC is above 1/2, the bound can only fail if the upper bound
        of AUC fails; below 1/2, only if the lower one does.  So either of them may fail
        with all of ``1 − confidence``, not half of it.  NaN if there is no bound.
        """
        low, high = self._one_sided(1.0 - confidence)
        return max(high - 0.5, 0.5 - low)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return a two-sided interval of AUC.

        If few pairs were won or lost, the end towards 1/2 also allows for the greatest
        variance that any two distributions with that AUC can have, ``AUC (1 − AUC) /
        n`` with n effective rows in the smaller group (Birnbaum and Klose).
        """
        alpha = (1.0 - confidence) / 2
        low, high = self._one_sided(alpha)
        if self.estimable and self.few and not self.exact:
            widest = wilson(self.auc, self.worth, -float(ndtri(alpha)))
            if self.auc >= 0.5:
                low = min(low, widest[0])
            if self.auc <= 0.5:
                high = max(high, widest[1])
        return low, high

    def _one_sided(self, alpha: float) -> tuple[float, float]:
        """Lower and upper bound; each fails with probability alpha."""
        if not self.estimable:
            return math.nan, math.nan
        if self.exact:
            units = min(self.a.units, self.b.units)
            high = _hoeffding(self.auc, units, alpha)
            return 1.0 - _hoeffding(1.0 - self.auc, units, alpha), high
        low, high = (
            on_logit(start.mean_a, -sign * float(stdtrit(start.df, alpha)) * start.se)
            for sign, start in ((-1.0, self._start(0.0)), (1.0, self._start(1.0)))
        )
        return low, high

    def _start(self, end: float) -> Spread:
        """The spread with one more unit in either group, if rows tie.

        If all rows of a sample tie, their variance is 0, but other values may exist:
        not seeing them in 20 rows still allows 14 % of them, with 95 % confidence.  So
        each group gets one more unit with the placement ``end`` (0 or 1).  Its weight
        is the share of pairs that tie: 1 if all do, 0 if none does.
        """
        if not any(self.ties):
            return self
        off, moved, parts = end - self.auc, self.auc, []
        for part, k in zip((self.a, self.b), self.ties, strict=True):
            share = k / (part.units + k)
            parts.append(_with_more(part, k, share * (1.0 - share) * off**2))
            moved += share * off
        a, b = parts
        return replace(self, mean_a=moved, a=a, b=b, df=welch_degrees(a, b))


def auc_spread(
    predicted: Floats, in_a: Bools, clusters: NDArray[Any] | None = None
) -> Spread:
    """Return the AUC with its spread, for safe bounds of the population's AUC.

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A, neither none nor all.
    clusters : array of shape (N,), optional
        Labels of clusters; rows are independent without them.

    Returns
    -------
    Spread
        ``se`` is NaN if a group has fewer than two rows or clusters.
    """
    codes = None
    if clusters is not None:
        codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    groups = TwoGroups.of(in_a, codes)
    placed = placements(predicted, in_a)
    found = Difference.of(*placed, groups, clustered=codes is not None)
    a, b = predicted[in_a], predicted[~in_a]
    ties = tied_share(a, groups.a.tasks), tied_share(b, groups.b.tasks)
    return Spread(**vars(found), ties=ties)


def tied_share(values: Floats, units: Codes | None = None) -> float:
    """Return the probability that two rows of different units have the same value.

    With shares p of the rows it is ``(Σ_v p_v² − Σ_vu p_vu²) / (1 − Σ_u p_u²)``, over
    values v and units u; without units each row is one.
    """
    levels, codes = np.unique(values, return_inverse=True)
    if len(levels) == len(values):
        return 0.0
    units = np.arange(len(values)) if units is None else units
    both = np.unique(codes * (units.max() + 1) + units, return_inverse=True)[1]
    by_level, by_unit, by_both = (
        float(np.square(np.bincount(each) / len(values)).sum())
        for each in (codes, units, both)
    )
    return max(by_level - by_both, 0.0) / (1.0 - by_unit) if by_unit < 1.0 else 0.0


def _with_more(part: MeanVariance, k: float, between: float) -> MeanVariance:
    """A group with k units more; ``between`` is the variance between old and new."""
    n, more = part.units, part.units + k
    variance = part.variance * (n * (n - 1.0) / (more * (more - 1.0)))
    return replace(part, variance=variance + between / (more - 1.0), df=part.df + k)


def on_logit(auc: float, reach: float) -> float:
    """Return ``auc + reach`` on the logit scale, linearised at ``auc``."""
    return float(expit(logit(auc) + reach / (auc * (1.0 - auc))))


def _hoeffding(auc: float, n: float, alpha: float) -> float:
    """The upper bound that holds for n units whatever the distributions.

    AUC is the mean, over all ways to match n units of A with n of B, of a mean of n
    independent numbers in [0, 1].  So Hoeffding's bound for such a mean holds for it:
    ``P(AUC ≤ x) ≤ exp(−n KL(x, θ))``.  With AUC 0 that is θ = 1 − α^(1/n), the bound of
    Clopper and Pearson.
    """

    def excess(theta: float) -> float:
        divergence = rel_entr(auc, theta) + rel_entr(1.0 - auc, 1.0 - theta)
        return float(n * divergence + math.log(alpha))

    nearly_one = 1.0 - 1e-15
    if auc == 1.0 or excess(nearly_one) <= 0:
        return 1.0
    from scipy.optimize import brentq  # slow to import, and seldom needed

    return float(brentq(excess, auc, nearly_one))
