"""Shares above the median, and their ratio: the score rule of Local Law 144."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankfair.inference.estimate import Estimate
from rankfair.inference.means import Difference, differences, quantile
from rankfair.inference.parts import NO_SPREAD, Part
from rankfair.inference.sides import Side, Sides

__all__ = ["shares_and_ratio"]

Bools = NDArray[np.bool_]


def shares_and_ratio(
    chosen_a: Bools, chosen_b: Bools, sides: Sides, confidence: float
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the share chosen of each group, and the ratio of the first to the second.

    Limits of a share are Wilson's, for as many independent rows as the variance over
    tasks (or weights) is worth; those of the ratio are made on its logarithm.  Where
    the line is drawn (a median, say) is taken as given.

    Parameters
    ----------
    chosen_a, chosen_b : boolean ndarrays of shape (n_A,) and (n_B,)
        Which rows are above the line.
    sides : Sides
        The groups.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    share_a, share_b, ratio : Estimate
        The ratio is not estimable where a share is 0.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(60) < 20
    >>> sides = Sides.of(in_a, ~in_a, ("M", "F"))
    >>> of_a, of_b, ratio = shares_and_ratio(
    ...     np.arange(20) < 12, np.arange(40) < 18, sides, 0.95
    ... )
    >>> print(of_a, of_b, ratio, sep="\\n")
    0.600 (0.374 to 0.790)
    0.450 (0.303 to 0.606)
    1.333 (0.791 to 2.246)
    """
    ways = differences(chosen_a.astype(np.float64), chosen_b.astype(np.float64), sides)
    found = ways[0]
    value = _ratio(found.mean_a, found.mean_b)
    if math.isnan(found.se):
        unit = "row" if found.n_clusters is None else "task"
        note = f"a group rests on one {unit} only, which shows no spread"
        lost = (
            Estimate(each, note=note) for each in (found.mean_a, found.mean_b, value)
        )
        return next(lost), next(lost), next(lost)
    of_a = _wider([_share(w.mean_a, w.a, sides.a, w, confidence) for w in ways])
    of_b = _wider([_share(w.mean_b, w.b, sides.b, w, confidence) for w in ways])
    if not value > 0.0 or math.isinf(value):
        note = "a share is 0: the ratio has no limits"
        return of_a, of_b, Estimate(value if value == 0.0 else math.nan, note=note)
    return of_a, of_b, _wider([_of_ratio(value, w, confidence) for w in ways])


def _wider(ways: list[Estimate]) -> Estimate:
    """The widest limits; those that are not known are narrower than any."""
    return max(ways, key=lambda e: e.high - e.low if e.estimable else -1.0)


def _units_of(way: Difference) -> str:
    return "rows" if way.n_clusters is None else f"{way.n_clusters:,} tasks"


def _of_ratio(value: float, way: Difference, confidence: float) -> Estimate:
    relative = (
        way.a.variance / way.mean_a**2
        + way.b.variance / way.mean_b**2
        - 2.0 * way.covariance / (way.mean_a * way.mean_b)
    )
    units = _units_of(way)
    if not relative > NO_SPREAD:
        return Estimate(value, note=f"no two {units} of a group differ")
    se = math.sqrt(relative)
    half = min(quantile(confidence, way.df) * se, 500.0)  # e^500 is wide enough
    # The same test as that of the interval, so that the two never disagree.
    p = 2.0 * float(student.sf(abs(math.log(value)) / se, way.df))
    low, high = value * math.exp(-half), value * math.exp(half)
    return Estimate(value, low, high, p, f"logarithm of the ratio, {units}")


def _ratio(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return math.inf if a > 0.0 else math.nan


def _still(side: Side, clustered: bool) -> float:
    """How many units a group is worth that do not differ at all: Kish's."""
    masses = side.weights
    if clustered and side.tasks is not None:
        masses = np.bincount(side.tasks, side.weights).astype(np.float64)
    return float(side.n if masses is None else masses.sum() ** 2 / (masses @ masses))


def _share(
    share: float, part: Part, side: Side, way: Difference, confidence: float
) -> Estimate:
    """Wilson's limits, for the number of rows that would have this variance."""
    share = min(max(share, 0.0), 1.0)
    worth = float(side.n)
    if part.variance > NO_SPREAD:
        worth = min(worth, share * (1.0 - share) / part.variance + 1.0)
    else:
        worth = min(worth, _still(side, way.n_clusters is not None))
    t = quantile(confidence, part.df)
    square = t**2 / worth
    middle = (share + square / 2.0) / (1.0 + square)
    half = t * math.sqrt(share * (1.0 - share) / worth + square / (4.0 * worth))
    half /= 1.0 + square
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    method = f"Wilson's limits, worth {worth:,.0f} rows ({_units_of(way)})"
    return Estimate(share, low, high, None, method)
