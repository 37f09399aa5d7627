"""The difference and the ratio of two medians, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfair.input.arrays import Floats
from rankfair.stats.estimate import (
    Difference,
    Estimate,
    MeanVariance,
    TwoGroups,
    differences,
    student_quantile,
    widest,
)
from rankfair.stats.means import NOT_ABOVE_0

NEAR_0 = "the interval of a median reaches 0, where a ratio has no meaning"


@dataclass(frozen=True)
class Quantiles:
    """Numbers in order, and the weight up to each.

    Examples
    --------
    >>> import numpy as np
    >>> Quantiles.of(np.array([4.0, 1.0, 3.0, 2.0])).at()
    2.5
    """

    values: Floats
    up_to: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats | None = None) -> Quantiles:
        """Sort numbers; a whole weight is a repeated number."""
        if weights is None:
            return cls(np.sort(values), np.arange(1.0, len(values) + 1.0))
        order = np.argsort(values, kind="stable")
        return cls(values[order], np.cumsum(weights[order]))

    def at(self, share: float = 0.5) -> float:
        """Return the number with that share of weight below: the median, for instance.

        It is halfway between the two middle numbers if there are two.
        """
        goal = share * self.up_to[-1]
        least = int(np.searchsorted(self.up_to, goal * (1.0 - 1e-12), side="left"))
        most = int(np.searchsorted(self.up_to, goal * (1.0 + 1e-12), side="right"))
        most = min(most, len(self.values) - 1)
        first = self.values[min(least, most)]
        return float(first / 2.0 + self.values[most] / 2.0)


def median_gaps(
    values_a: Floats, values_b: Floats, groups: TwoGroups, confidence: float
) -> tuple[float, float, Estimate, Estimate]:
    """Return both medians, ``median(A) − median(B)``, ``median(A) / median(B) − 1``.

    The interval of each median is Woodruff's: the values at the ends of the interval of
    the share of rows below it, over rows or tasks.  Both are joined as the squares of
    their half widths add up (MOVER, Zou and Donner 2008), so no density is estimated;
    for the ratio on the logarithmic scale.

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
    median_a, median_b : float
    gap, share : Estimate
        Without intervals where a group has one unit; the last is NaN where a median
        is not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(40) < 20
    >>> groups, pay = TwoGroups.of(in_a), np.linspace(80, 120, 20)
    >>> *_, gap, share = median_gaps(0.9 * pay, pay, groups, 0.95)
    >>> print(f"{gap}; {share}")
    -10.000 (-22.746 to 2.746); -0.100 (-0.213 to 0.030)
    """
    a = Quantiles.of(values_a, groups.a.weights)
    b = Quantiles.of(values_b, groups.b.weights)
    both = a.at(), b.at()
    below = (values_a < both[0]).astype(float), (values_b < both[1]).astype(float)
    ways = [
        (way, _ends(a, way.a, confidence), _ends(b, way.b, confidence))
        for way in differences(*below, groups)
    ]
    gap = widest([_joined(*way) for way in ways])
    if not min(both) > 0.0:
        return *both, gap, Estimate(math.nan, note=NOT_ABOVE_0)
    logs = widest([_joined(way, _logs(of_a), _logs(of_b)) for way, of_a, of_b in ways])
    return *both, gap, logs.relative()


def _ends(of: Quantiles, part: MeanVariance, confidence: float) -> list[float]:
    """A median and the ends of its interval."""
    half = student_quantile(confidence, part.df) * math.sqrt(part.variance)
    half = 0.0 if math.isnan(half) else half
    return [of.at(share) for share in (0.5, max(0.5 - half, 0.0), min(0.5 + half, 1.0))]


def _logs(values: list[float]) -> list[float]:
    return [math.log(value) if value > 0.0 else -math.inf for value in values]


def _joined(way: Difference, of_a: list[float], of_b: list[float]) -> Estimate:
    """The difference of two medians, with their intervals joined."""
    (a, low_a, high_a), (b, low_b, high_b) = of_a, of_b
    if math.isnan(way.se):
        return Estimate(a - b, note=way.alone)
    if not math.isfinite(low_a + low_b):
        return Estimate(a - b, note=NEAR_0)
    total = math.sqrt(way.a.variance * way.b.variance)
    rho = way.covariance / total if total > 0.0 else 0.0

    def joined(of_a: float, of_b: float) -> float:
        # sqrt(of_a² + of_b² − 2 rho of_a of_b), whose squares may overflow
        rest = math.sqrt(max(1.0 - rho * rho, 0.0))
        return math.hypot(of_a - rho * of_b, rest * of_b)

    low, high = joined(a - low_a, high_b - b), joined(high_a - a, b - low_b)
    method = f"Woodruff's intervals of medians, joined, {way.units}"
    return Estimate(a - b, a - b - low, a - b + high, None, method)
