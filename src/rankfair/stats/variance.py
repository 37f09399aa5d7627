"""Variance of a mean, and of a difference of two means, over rows or tasks.

An AUC is a mean too.  The *placement* of a row is the share of the other group below
it, ties half.  The difference of the groups' mean placements is ``2 AUC − 1``; the sum
of their variances is DeLong's variance of AUC, over tasks Obuchowski's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from rankfair.input.arrays import Codes, Floats
from rankfair.stats.estimate import TwoGroups

__all__ = ["Clusters", "Difference", "MeanVariance", "differences", "welch_degrees"]

ROUNDING = 1e-12
NOTHING = 1e-8  # the share of all other clusters, if one has all weight but rounding
NO_SPREAD = 1e-24  # a variance of numbers from 0 to 1 that is only rounding


class Clusters(NamedTuple):
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

    @property
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

    def variances(self) -> Floats:
        """Return the variance of each cluster's sum, ``(1 − ρ) alone + ρ alike²``."""
        rho = min(max(self.rho, 0.0), 1.0)
        found: Floats = (1.0 - rho) * self.alone + rho * self.alike**2
        return found if found.any() else self.share**2  # nothing differs

    def degrees(self) -> float:
        """Return the degrees of freedom of the variance of the sum, at least 1.

        Clusters with variances v count as ``(Σv)² / Σv²``, less one for the mean.
        """
        v = self.variances()
        v = v / v.max()
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
    def of_rows(cls, values: Floats) -> MeanVariance:
        """Every row is independent of the others."""
        n, none = float(len(values)), values[:0]
        variance = float(values.var(ddof=1)) / n if n > 1 else math.nan
        return cls(none, none, variance, n - 1.0, n, n)

    @classmethod
    def of_weighted(cls, excess: Floats, weights: Floats) -> MeanVariance:
        """Every row is independent of the others, and counts by its weight."""
        n = len(excess)
        return replace(cls.of_clusters(excess, np.arange(n), n, weights), clusters=None)

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
        worth = (spread**2 or 1.0) / float(found.variances().sum())
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
        w_a, w_b = groups.weights
        mean_a = float(np.average(values_a, weights=w_a))
        mean_b = float(np.average(values_b, weights=w_b))
        if not clustered:
            if w_a is None or w_b is None:
                a, b = MeanVariance.of_rows(values_a), MeanVariance.of_rows(values_b)
            else:
                a = MeanVariance.of_weighted(values_a - mean_a, w_a)
                b = MeanVariance.of_weighted(values_b - mean_b, w_b)
            return cls(mean_a, mean_b, a, b, 0.0, welch_degrees(a, b), None)
        (code_a, code_b), n = groups.tasks, groups.n_tasks
        a = MeanVariance.of_clusters(values_a - mean_a, code_a, n, w_a)
        b = MeanVariance.of_clusters(values_b - mean_b, code_b, n, w_b)
        present = int(np.count_nonzero((a.share > 0) | (b.share > 0)))
        covariance, df = float(a.influences @ b.influences), welch_degrees(a, b)
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
    return float(student.isf((1.0 - confidence) / 2, df))


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval of a share of n rows, for a quantile z."""
    square = z * z / n
    half = z * math.sqrt(share * (1.0 - share) / n + square / (4.0 * n))
    middle = share + square / 2.0
    return (middle - half) / (1.0 + square), (middle + half) / (1.0 + square)
