"""A number with its confidence interval; means of two groups and their variance.

Rows are independent, or tasks are clusters.  An AUC is a mean too.  The *placement* of
a row is the share of the other group below it, ties half.  The difference of the mean
placements of the groups is ``2 AUC − 1``; the sum of their variances is DeLong's
variance of AUC, over tasks Obuchowski's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.input.errors import InputError, check_number

ROUNDING = 1e-12
NOTHING = 1e-8  # the share of all other clusters, if one has all weight but rounding
NO_SPREAD = 1e-24  # a variance of numbers from 0 to 1 that is only rounding
ENOUGH_TASKS = 10  # from so many on, tasks that mix the groups may be clusters


def check_confidence(confidence: float) -> float:
    """Return a confidence level from 0.5 to below 1, or refuse it."""
    found = check_number("confidence", confidence, 0.5, 1.0)
    if found == 1.0:
        raise InputError("confidence", "must be below 1", "1", "Use 0.99, say.")
    return found


@dataclass(frozen=True)
class Estimate:
    """A number measured on a sample, with a confidence interval for the population.

    Attributes
    ----------
    value : float
        The number; NaN if it does not exist.
    ci_low, ci_high : float
        Ends of the confidence interval; NaN if there is none.
    p_value : float or None
        p-value of "the groups do not differ", if there is a test for it.
    method : str
        How the interval and the p-value were computed.
    note : str
        Why there is no interval, or a caution.

    Examples
    --------
    >>> print(Estimate(0.62, 0.51, 0.72, 0.03))
    0.620 (0.510 to 0.720)
    >>> print(Estimate(0.62, note="group M has one row only"))
    0.620 (not estimable)
    """

    value: float
    ci_low: float = math.nan
    ci_high: float = math.nan
    p_value: float | None = None
    method: str = ""
    note: str = ""

    @property
    def estimable(self) -> bool:
        """Whether there is a confidence interval."""
        return not (math.isnan(self.ci_low) or math.isnan(self.ci_high))

    def covers(self, value: float) -> bool:
        """Tell whether ``value`` is in the interval; False if there is none.

        Examples
        --------
        >>> Estimate(0.62, 0.51, 0.72).covers(0.5)
        False
        """
        return self.ci_low <= value <= self.ci_high

    def significant(self, confidence: float) -> bool:
        """Whether a test says that it differs from none by more than chance."""
        return self.p_value is not None and self.p_value <= 1.0 - confidence

    def mapped(self, to: Callable[[float], float]) -> Estimate:
        """Return the estimate of an increasing function of the number.

        Examples
        --------
        >>> print(Estimate(4.0, 1.0, 9.0).mapped(math.sqrt))
        2.000 (1.000 to 3.000)
        """
        value, low, high = map(to, (self.value, self.ci_low, self.ci_high))
        return replace(self, value=value, ci_low=low, ci_high=high)

    def relative(self) -> Estimate:
        """Return the relative difference of a difference of logarithms.

        Examples
        --------
        >>> print(Estimate(math.log(1.2), 0.0, math.log(1.5)).relative())
        0.200 (0.000 to 0.500)
        >>> print(Estimate(0.0, -800.0, 800.0).relative())
        0.000 (not estimable)
        """
        with np.errstate(over="ignore"):
            return self.mapped(lambda log: float(np.expm1(log))).finite()

    def detectable(self, confidence: float, power: float = 0.8) -> float:
        """Return the smallest difference that such samples find as often as ``power``.

        From half the interval, ``half (1 + z_power / z)``; NaN without an interval.

        Examples
        --------
        >>> round(Estimate(0.0, -1.96, 1.96).detectable(0.95), 2)
        2.8
        """
        z = ndtri((1.0 + confidence) / 2.0)
        half = (self.ci_high - self.ci_low) / 2.0
        return float(half * (1.0 + ndtri(power) / z))

    def finite(self) -> Estimate:
        """Return the estimate without an interval if a number of it is infinite.

        Examples
        --------
        >>> print(Estimate(1e308, 5e307, math.inf).finite())
        1e+308 (not estimable)
        """
        if not any(map(math.isinf, (self.value, self.ci_low, self.ci_high))):
            return self
        value = math.nan if math.isinf(self.value) else self.value
        return Estimate(value, note="too large for a number of double precision")

    def __str__(self) -> str:
        value, low, high = map(_shown, (self.value, self.ci_low, self.ci_high))
        return f"{value} ({f'{low} to {high}' if self.estimable else 'not estimable'})"


def _shown(value: float) -> str:
    """Three decimals for shares and the like, four digits for other quantities."""
    plain = value == 0.0 or 1e-3 <= abs(value) < 1e6 or value != value
    return format(value, ".3f" if plain else ".4g")


def clusters_of(codes: Codes | None, in_a: Bools) -> tuple[bool, bool, str]:
    """Decide whether tasks are clusters, the independent units of a sample.

    If most rows are in tasks with one group only, tasks must be clusters: the groups
    differ between tasks.  If tasks mix the groups and there are enough of them, they
    may be clusters: intervals are computed both ways and the wider one counts.
    Otherwise rows are independent.

    Parameters
    ----------
    codes : integer ndarray of shape (N,) or None
        The task of each row.
    in_a : boolean ndarray of shape (N,)
        The rows of group A.

    Returns
    -------
    needed, possible : bool
        Whether tasks must be clusters, and whether they may be; at most one holds.
    reason : str
        A sentence.

    Examples
    --------
    >>> import numpy as np
    >>> needed, _, why = clusters_of(np.array([0, 0, 1]), np.array([True, True, False]))
    >>> needed, why
    (True, 'Most rows are in tasks of one group only: tasks are clusters.')
    """
    if codes is None:
        return False, False, "No tasks: rows are taken as independent."
    of_a, of_b = np.bincount(codes, in_a), np.bincount(codes, ~in_a)
    alone = (of_a == 0) | (of_b == 0)
    if 2 * (of_a + of_b)[alone].sum() >= len(codes):
        why = "Most rows are in tasks of one group only: tasks are clusters."
        return True, False, why
    if min((of_a > 0).sum(), (of_b > 0).sum()) < ENOUGH_TASKS:
        return False, False, "Few tasks, which mix the groups: they are taken as given."
    return False, True, "Tasks mix the groups: rows or tasks, whichever is less sure."


@dataclass(frozen=True)
class GroupRows:
    """The rows of one group: their places, tasks and weights."""

    rows: Codes
    tasks: Codes | None = None
    weights: Floats | None = None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def mass(self) -> float:
        """Their total weight."""
        return float(self.n if self.weights is None else self.weights.sum())

    def kish(self, by_task: bool = False) -> float:
        """Return Kish's effective number of rows, or of tasks."""
        masses = self.weights
        if by_task and self.tasks is not None:
            masses = np.bincount(self.tasks, self.weights).astype(np.float64)
        return float(
            self.n if masses is None else masses.sum() ** 2 / (masses @ masses)
        )


@dataclass(frozen=True)
class TwoGroups:
    """The rows of group A and group B, and whether tasks are clusters.

    ``needed``: tasks must be clusters; ``possible``: they may be (see `clusters_of`).
    """

    a: GroupRows
    b: GroupRows
    n_tasks: int
    needed: bool
    possible: bool

    @classmethod
    def of(
        cls, in_a: Bools, tasks: Codes | None = None, weights: Floats | None = None
    ) -> TwoGroups:
        """Return the groups of a mask, as places among its rows."""
        a, b = (
            GroupRows(
                np.flatnonzero(mask),
                None if tasks is None else tasks[mask],
                None if weights is None else weights[mask],
            )
            for mask in (in_a, ~in_a)
        )
        needed, possible, _ = clusters_of(tasks, in_a)
        n_tasks = 1 if tasks is None else int(tasks.max(initial=-1)) + 1
        return cls(a, b, n_tasks, needed, possible)

    @property
    def tasks(self) -> tuple[Codes, Codes]:
        """The tasks of both groups; there must be tasks."""
        assert self.a.tasks is not None and self.b.tasks is not None
        return self.a.tasks, self.b.tasks

    @property
    def weights(self) -> tuple[Floats | None, Floats | None]:
        """The weights of both groups."""
        return self.a.weights, self.b.weights


@dataclass(frozen=True)
class Clusters:
    """The parts of clusters in a mean, or in a difference of two; an entry each."""

    share: Floats  # of the weight
    sums: Floats  # of the parts of its rows
    squares: Floats  # sum of squares of the parts of its rows
    alone: Floats  # variance of the sum if rows were independent
    alike: Floats  # standard deviation of the sum if its rows were all equal

    def less(self, other: Clusters) -> Clusters:
        """Return the clusters of the difference of two groups."""
        return Clusters(
            (self.share + other.share) / 2.0,
            self.sums - other.sums,
            self.squares + other.squares,
            self.alone + other.alone,
            self.alike + other.alike,
        )

    @cached_property
    def rho(self) -> float:
        """The correlation of rows within a cluster; 1 if it cannot be estimated.

        Clusters count by their size, not by its square, so that a large one does not
        decide alone.
        """
        share = np.where(self.share > 0.0, self.share, 1.0)
        seen = self.sums**2 / np.where(share < 1.0, 1.0 - share, 1.0) - self.squares
        whole = float((self.alike**2 / share).sum())
        most = whole - float((self.alone / share).sum())
        return float((seen / share).sum()) / most if most > ROUNDING * whole else 1.0

    @cached_property
    def variances(self) -> Floats:
        """The variance of each cluster's sum, ``(1 − ρ) alone + ρ alike²``."""
        rho = min(max(self.rho, 0.0), 1.0)
        found: Floats = (1.0 - rho) * self.alone + rho * self.alike**2
        return found if found.any() else self.share**2  # nothing differs

    def degrees(self) -> float:
        """Return the degrees of freedom of the variance of the sum, at least 1.

        Clusters with variances v count as ``(Σv)² / Σv²``, less one for the mean.
        """
        v = self.variances / self.variances.max()
        return max(float(v.sum() ** 2 / (v @ v)) - 1.0, 1.0)


@dataclass(frozen=True)
class MeanVariance:
    """The variance of the mean of one group, from its rows or its clusters."""

    influences: Floats  # of each cluster on the mean; their squares sum to the variance
    share: Floats  # of each cluster in the weight of the group
    variance: float
    df: float  # 0 if one cluster has all the weight: the variance is unknown
    units: float  # one over the largest share
    worth: float  # the effective number of independent rows
    clusters: Clusters | None = None

    @classmethod
    def of(
        cls, values: Floats, mean: float, group: GroupRows, n_tasks: int | None
    ) -> MeanVariance:
        """Rows are independent, or with a number of tasks these are."""
        excess, n = values - mean, group.n
        if n_tasks is not None:
            assert group.tasks is not None
            return cls.of_clusters(excess, group.tasks, n_tasks, group.weights)
        if group.weights is not None:
            found = cls.of_clusters(excess, np.arange(n), n, group.weights)
            return replace(found, clusters=None)
        variance = float(values.var(ddof=1)) / n if n > 1 else math.nan
        return cls(values[:0], values[:0], variance, n - 1.0, n, n)

    @classmethod
    def of_clusters(
        cls, excess: Floats, codes: Codes, n_labels: int, weights: Floats | None
    ) -> MeanVariance:
        """Clusters are independent; ``excess`` is the value of a row less the mean."""
        weights = np.ones(len(codes)) if weights is None else weights
        weights = weights / weights.sum()
        part = weights * excess
        share, sums, squares, row_squares = (
            np.bincount(codes, each, minlength=n_labels).astype(np.float64)
            for each in (weights, part, part**2, weights**2)
        )
        present = int(np.count_nonzero(share))
        if present < 2 or share.max() > 1.0 - NOTHING:
            return cls(sums, share, math.nan, 0.0, 1.0, 1.0)
        influences = sums / (1.0 - share) * math.sqrt((present - 1) / present)
        rows = 1.0 / float(weights @ weights)
        more = rows / (rows - 1.0)  # Bessel's correction
        spread = math.sqrt(more * float(part @ excess))
        alone, alike = spread**2 * row_squares, spread * share
        found = Clusters(share, sums, more * squares, alone, alike)
        # The largest share limits how many disjoint pairs of clusters there can be.
        variance, units = float(influences @ influences), 1.0 / float(share.max())
        worth = (spread**2 or 1.0) / float(found.variances.sum())
        return cls(influences, share, variance, found.degrees(), units, worth, found)


def welch_degrees(a: MeanVariance, b: MeanVariance) -> float:
    """Return Welch's degrees of freedom of a difference of two means.

    Clusters that hold rows of both groups are taken as one.
    """
    if a.clusters and b.clusters and (a.share * b.share).any():
        return a.clusters.less(b.clusters).degrees()
    total = a.variance + b.variance
    if not total > 0.0:
        return min(a.df, b.df)
    # Shares of the total: its square may overflow, or vanish.
    of_a, of_b = a.variance / total, b.variance / total
    return float(1.0 / (of_a**2 / a.df + of_b**2 / b.df))


@dataclass(frozen=True)
class Difference:
    """Means of two groups and the variance of their difference."""

    mean_a: float
    mean_b: float
    a: MeanVariance
    b: MeanVariance
    covariance: float
    df: float
    n_clusters: int | None

    @classmethod
    def of(
        cls, values_a: Floats, values_b: Floats, groups: TwoGroups, clustered: bool
    ) -> Difference:
        """Compare two means, rows being independent or tasks being clusters."""
        mean_a = float(np.average(values_a, weights=groups.a.weights))
        mean_b = float(np.average(values_b, weights=groups.b.weights))
        n_tasks = groups.n_tasks if clustered else None
        a = MeanVariance.of(values_a, mean_a, groups.a, n_tasks)
        b = MeanVariance.of(values_b, mean_b, groups.b, n_tasks)
        df, covariance, present = welch_degrees(a, b), 0.0, None
        if clustered:
            covariance = float(a.influences @ b.influences)
            present = int(np.count_nonzero((a.share > 0) | (b.share > 0)))
        return cls(mean_a, mean_b, a, b, covariance, df, present)

    @property
    def se(self) -> float:
        """Standard error of ``mean_a − mean_b``; NaN if a group has one unit."""
        total = self.a.variance + self.b.variance - 2.0 * self.covariance
        return math.sqrt(max(total, 0.0)) if total == total else math.nan

    @property
    def unit(self) -> str:
        """The independent unit."""
        return "row" if self.n_clusters is None else "task"

    @property
    def alone(self) -> str:
        """Why there is no standard error."""
        return f"a group rests on one {self.unit} only, which shows no spread"

    @property
    def units(self) -> str:
        """The independent units, with the number of tasks."""
        return "rows" if self.n_clusters is None else f"{self.n_clusters:,} tasks"

    def half(self, confidence: float) -> float:
        """Half the width of the interval of ``mean_a − mean_b``."""
        return student_quantile(confidence, self.df) * self.se


def differences(
    values_a: Floats, values_b: Floats, groups: TwoGroups
) -> list[Difference]:
    """Compare two means over rows, over tasks, or both ways if tasks may be clusters.

    The wider interval counts.  A way without a standard error is left out if there is
    another.
    """
    ways = [Difference.of(values_a, values_b, groups, groups.needed)]
    if groups.possible:
        ways.append(Difference.of(values_a, values_b, groups, True))
    return [way for way in ways if way.se == way.se] or ways[:1]


def student_quantile(confidence: float, df: float) -> float:
    """Student's quantile of a two-sided interval."""
    # As scipy.stats.t.isf has it, without its checks, which take most of the time.
    return -float(stdtrit(df, (1.0 - confidence) / 2))


def student_p(t: float, df: float) -> float:
    """The two-sided p-value of Student's t."""
    return 2.0 * float(stdtr(df, -abs(t)))


def widest(ways: list[Estimate]) -> Estimate:
    """Return the estimate with the widest interval; one without any comes last."""
    return max(ways, key=lambda e: e.ci_high - e.ci_low if e.estimable else -1.0)


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share of n rows, for a quantile z."""
    square = z * z / n
    half = z * math.sqrt(share * (1.0 - share) / n + square / (4.0 * n))
    middle = share + square / 2.0
    return (middle - half) / (1.0 + square), (middle + half) / (1.0 + square)
