"""What each group adds to the variance of AUC, or of a difference of means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEAST_DF", "NO_SPREAD", "Part", "placements", "welch_degrees"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

# Below so many degrees of freedom one unit outweighs all others of its group.
LEAST_DF = 0.25
# A variance of placements (numbers from 0 to 1) that is nothing but rounding.
NO_SPREAD = 1e-24


@dataclass(frozen=True)
class Part:
    """What one group adds to the variance of a difference of two means."""

    pulls: Floats  # of each cluster; its square sum is the variance
    share: Floats  # of each cluster in the weight of the group
    variance: float
    df: float
    units: float

    @classmethod
    def of_rows(cls, placements: Floats) -> Part:
        """Every row is independent of the others."""
        n = len(placements)
        variance = float(placements.var(ddof=1)) / n if n > 1 else math.nan
        return cls(placements[:0], placements[:0], variance, n - 1.0, float(n))

    @classmethod
    def of_clusters(
        cls, excess: Floats, codes: Codes, n_labels: int, weights: Floats | None
    ) -> Part:
        """Rows are summed by cluster; ``excess`` is what they are above the mean."""
        weights = np.ones(len(codes)) if weights is None else weights
        total = weights.sum()
        share = np.bincount(codes, weights, minlength=n_labels) / total
        sums = np.bincount(codes, weights * excess, minlength=n_labels) / total
        present = int(np.count_nonzero(share))
        squares = share**2
        even = float(squares.sum() ** 2 / (squares @ squares))
        if present < 2 or even <= 1.0:  # one has all the weight, but for rounding
            return cls(sums, share, math.nan, 0.0, 1.0)
        pulls = sums / (1.0 - share) * math.sqrt((present - 1) / present)
        # The largest share limits how many disjoint pairs of clusters there can be.
        variance, units = float(pulls @ pulls), 1.0 / float(share.max())
        return cls(pulls, share, variance, even - 1.0, units)


def welch_degrees(a: Part, b: Part, covariance: float) -> float:
    """Return Welch's degrees of freedom; the fewer of the two where they are tied."""
    total = a.variance + b.variance
    if covariance or not total > 0.0 or min(a.df, b.df) < LEAST_DF:
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
