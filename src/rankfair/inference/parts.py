"""What each group adds to the variance of AUC, or of a difference of means."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "NOTHING",
    "NO_SPREAD",
    "Clusters",
    "Part",
    "placements",
    "welch_degrees",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# A variance of placements (numbers from 0 to 1) that is nothing but rounding.
NO_SPREAD = 1e-24
ROUNDING = 1e-12
# What all other clusters weigh, if one has all the weight but for rounding.
NOTHING = 1e-8


class Clusters(NamedTuple):
    """What clusters add to a mean, or to a difference of two; an entry each."""

    share: Floats  # in the weight
    sums: Floats  # what its rows add
    squares: Floats  # the sum of the squares of what they add
    alone: Floats  # the variance of its sum if rows were independent
    alike: Floats  # the standard deviation of its sum if its rows were all alike

    def joined(self, other: Clusters, sign: float) -> Clusters:
        """Return the same clusters with what two groups add, or one less the other."""
        return Clusters(
            (self.share + other.share) / 2.0,
            self.sums + sign * other.sums,
            self.squares + other.squares,
            self.alone + other.alone,
            self.alike + other.alike,
        )

    @property
    def rho(self) -> float:
        """How alike rows of a cluster are: 0 not at all, 1 all, by chance below 0.

        It is 1 if that cannot be seen.  Each cluster says so by its size, not by the
        square of it, so that a large one does not decide alone what it is worth.
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
        """Return how many degrees of freedom the variance of the sum has, at least 1.

        Clusters of variances v are worth ``(Σv)² / Σv²`` of one variance, less one for
        the mean.
        """
        v = self.variances()
        v = v / v.max()
        return max(float(v.sum() ** 2 / (v @ v)) - 1.0, 1.0)


@dataclass(frozen=True)
class Part:
    """What one group adds to the variance of a difference of two means."""

    pulls: Floats  # of each cluster; its square sum is the variance
    share: Floats  # of each cluster in the weight of the group
    variance: float
    df: float  # 0 if one cluster has all the weight, and the variance is not known
    units: float  # one over the largest share
    worth: float  # how many independent rows would be as sure; Kish's, of weights
    clusters: Clusters | None = None

    @classmethod
    def of_rows(cls, placements: Floats) -> Part:
        """Every row is independent of the others."""
        n = len(placements)
        variance = float(placements.var(ddof=1)) / n if n > 1 else math.nan
        return cls(
            placements[:0], placements[:0], variance, n - 1.0, float(n), float(n)
        )

    @classmethod
    def of_weighted(cls, excess: Floats, weights: Floats) -> Part:
        """Every row is independent of the others, and counts by its weight."""
        n = len(excess)
        return replace(cls.of_clusters(excess, np.arange(n), n, weights), clusters=None)

    @classmethod
    def of_clusters(
        cls, excess: Floats, codes: Codes, n_labels: int, weights: Floats | None
    ) -> Part:
        """Rows are summed by cluster; ``excess`` is what they are above the mean."""
        weights = np.ones(len(codes)) if weights is None else weights
        weights = weights / weights.sum()
        pull = weights * excess
        share, sums, squares, row_squares = (
            np.bincount(codes, each, minlength=n_labels).astype(np.float64)
            for each in (weights, pull, pull**2, weights**2)
        )
        present = int(np.count_nonzero(share))
        if present < 2 or share.max() > 1.0 - NOTHING:
            return cls(sums, share, math.nan, 0.0, 1.0, 1.0)
        pulls = sums / (1.0 - share) * math.sqrt((present - 1) / present)
        rows = 1.0 / float(weights @ weights)
        more = rows / (rows - 1.0)  # squares are of distances from the sample's mean
        spread = math.sqrt(more * float(pull @ excess))
        alone, alike = spread**2 * row_squares, spread * share
        found = Clusters(share, sums, more * squares, alone, alike)
        # The largest share limits how many disjoint pairs of clusters there can be.
        variance, units = float(pulls @ pulls), 1.0 / float(share.max())
        worth = (spread**2 or 1.0) / float(found.variances().sum())
        return cls(pulls, share, variance, found.degrees(), units, worth, found)


def welch_degrees(a: Part, b: Part, sign: float = 1.0) -> float:
    """Return the degrees of freedom of a sum of parts, or of a difference (−1).

    They are Welch's; clusters that hold rows of both groups are taken as one.
    """
    if a.clusters and b.clusters and (a.share * b.share).any():
        return a.clusters.joined(b.clusters, sign).degrees()
    total = a.variance + b.variance
    if not total > 0.0:
        return min(a.df, b.df)
    # Shares of the total: its square may overflow, or vanish.
    of_a, of_b = a.variance / total, b.variance / total
    return float(1.0 / (of_a**2 / a.df + of_b**2 / b.df))


def placements(these: Floats, others: Floats, weights: Floats | None = None) -> Floats:
    """The share of ``others`` below each of ``these``, ties half."""
    order, order_of_others = np.argsort(these), np.argsort(others)
    # Searching in order stays in the processor's cache.
    ascending, ordered = these[order], others[order_of_others]
    below = np.searchsorted(ordered, ascending, "left")
    up_to = np.searchsorted(ordered, ascending, "right")
    share = np.empty(len(these))
    if weights is None:
        share[order] = (below + up_to) / (2.0 * len(others))
        return share
    so_far = np.concatenate(([0.0], np.cumsum(weights[order_of_others])))
    share[order] = (so_far[below] + so_far[up_to]) / (2.0 * so_far[-1])
    return share
