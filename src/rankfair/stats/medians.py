"""The difference of two medians, and relative differences, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rankfair.input.arrays import Floats
from rankfair.stats.estimate import (
    Difference,
    Estimate,
    TwoGroups,
    differences,
    student_quantile,
)
from rankfair.stats.means import mean_gap

NOT_ABOVE_0 = "the reference group's value is not above 0"


def median(values: Floats, weights: Floats | None = None, share: float = 0.5) -> float:
    """Return the median, halfway between the two middle values if there are two.

    Parameters
    ----------
    values : ndarray of shape (N,)
        Numbers in any order.
    weights : ndarray of shape (N,), optional
        Weights; a whole weight is a repeated value.
    share : float
        The share of values below: 0.5 for the median.

    Examples
    --------
    >>> import numpy as np
    >>> median(np.array([4.0, 1.0, 3.0, 2.0])), median(np.array([1.0, 2]), np.ones(2))
    (2.5, 1.5)
    """
    order = np.argsort(values, kind="stable")
    mass = np.ones(len(values)) if weights is None else weights[order]
    up_to = np.cumsum(mass)
    goal = share * up_to[-1]
    least = np.searchsorted(up_to, goal * (1.0 - 1e-12), side="left")
    most = np.searchsorted(up_to, goal * (1.0 + 1e-12), side="right")
    first, last = np.clip((least, most), 0, len(values) - 1)
    return float(values[order[first]] / 2.0 + values[order[last]] / 2.0)


def median_gap(
    values_a: Floats, values_b: Floats, groups: TwoGroups, confidence: float
) -> Estimate:
    """Return ``median(A) − median(B)`` with an interval.

    The interval of each median is Woodruff's: the values at the ends of the interval of
    the share of rows below it, over rows or tasks.  Both are joined as the squares of
    their half widths add up (MOVER, Zou and Donner 2008), so no density is estimated.

    Parameters
    ----------
    values_a, values_b : ndarrays of shape (n_A,) and (n_B,)
        The values of the groups.
    groups : TwoGroups
        The groups.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Estimate
        Without an interval where a group has one unit.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(40) < 20
    >>> groups = TwoGroups.of(in_a, ~in_a)
    >>> print(median_gap(np.arange(20.0) + 3, np.arange(20.0), groups, 0.95))
    3.000 (-3.364 to 9.364)
    """
    return _gap(values_a, values_b, groups, confidence, lambda v: v)


def relative_gaps(
    values_a: Floats, values_b: Floats, groups: TwoGroups, confidence: float
) -> tuple[Estimate, Estimate]:
    """Return the gaps of means and of medians as shares of B's mean and median.

    ``mean(A) / mean(B) − 1`` and the same of medians.

    Returns
    -------
    of_means, of_medians : Estimate
        NaN where B's mean or median is not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(40) < 20
    >>> groups = TwoGroups.of(in_a, ~in_a)
    >>> pay = np.linspace(80, 120, 20)
    >>> print(*relative_gaps(0.9 * pay, pay, groups, 0.95), sep="\\n")
    -0.100 (-0.172 to -0.028)
    -0.100 (-0.213 to 0.030)
    """
    low = Estimate(math.nan, note=NOT_ABOVE_0)
    w_a, w_b = groups.weights
    mean_a = float(np.average(values_a, weights=w_a))
    mean_b = float(np.average(values_b, weights=w_b))
    of_means = of_medians = low
    if mean_b > 0.0:
        # To first order the ratio varies as a difference of these means does.
        ratio = mean_a / mean_b
        a, b = values_a / mean_b, ratio * values_b / mean_b - (ratio - 1.0)
        of_means = mean_gap(a, b, groups, confidence)
    if min(values_a.min(), values_b.min()) > 0.0:
        found = _gap(values_a, values_b, groups, confidence, math.log)
        of_medians = found.mapped(math.expm1)
    return of_means, of_medians


def _gap(
    values_a: Floats,
    values_b: Floats,
    groups: TwoGroups,
    confidence: float,
    scale: Callable[[float], float],
) -> Estimate:
    """The difference of medians on a scale, the wider interval if there are two."""
    w_a, w_b = groups.weights
    below_a = (values_a < median(values_a, w_a)).astype(np.float64)
    below_b = (values_b < median(values_b, w_b)).astype(np.float64)
    ways = [
        _joined(values_a, values_b, groups, way, confidence, scale)
        for way in differences(below_a, below_b, groups)
    ]
    return max(ways, key=lambda e: e.ci_high - e.ci_low if e.estimable else -1.0)


def _joined(
    values_a: Floats,
    values_b: Floats,
    groups: TwoGroups,
    way: Difference,
    confidence: float,
    scale: Callable[[float], float],
) -> Estimate:
    w_a, w_b = groups.weights
    ends = []
    for values, weights, part in ((values_a, w_a, way.a), (values_b, w_b, way.b)):
        half = student_quantile(confidence, part.df) * math.sqrt(part.variance)
        shares = (0.5, max(0.5 - half, 0.0), min(0.5 + half, 1.0))
        if math.isnan(half):
            shares = (0.5, 0.5, 0.5)
        ends.append([scale(median(values, weights, share)) for share in shares])
    (a, low_a, high_a), (b, low_b, high_b) = ends
    if math.isnan(way.se):
        note = f"a group rests on one {way.unit} only, which shows no spread"
        return Estimate(a - b, note=note)
    total = math.sqrt(way.a.variance * way.b.variance)
    rho = way.covariance / total if total > 0.0 else 0.0

    def joined(of_a: float, of_b: float) -> float:
        return math.sqrt(max(of_a**2 + of_b**2 - 2.0 * rho * of_a * of_b, 0.0))

    low, high = joined(a - low_a, high_b - b), joined(high_a - a, b - low_b)
    method = f"Woodruff's intervals of medians, joined, {way.units}"
    return Estimate(a - b, a - b - low, a - b + high, None, method)
