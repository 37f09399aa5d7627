"""Shares above the median, and their ratio: the score rule of Local Law 144."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankfair.inference.estimate import Estimate
from rankfair.inference.means import difference
from rankfair.inference.parts import NO_SPREAD
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
    0.600 (0.380 to 0.786)
    0.450 (0.303 to 0.606)
    1.333 (0.791 to 2.246)
    """
    found = difference(chosen_a.astype(np.float64), chosen_b.astype(np.float64), sides)
    shares = ((found.mean_a, found.variance_a), (found.mean_b, found.variance_b))
    if math.isnan(found.se):
        unit = "row" if found.n_clusters is None else "task"
        note = f"a group rests on one {unit} only, which shows no spread"
        lost = [Estimate(share, note=note) for share, _ in shares]
        return lost[0], lost[1], Estimate(_ratio(*(s for s, _ in shares)), note=note)
    quantile = float(student.isf((1.0 - confidence) / 2, max(found.df, 1.0)))
    units = "rows" if found.n_clusters is None else f"{found.n_clusters:,} tasks"
    of_a, of_b = (
        _share(share, variance, _units(side, sides), quantile, units)
        for (share, variance), side in zip(shares, (sides.a, sides.b), strict=True)
    )
    value = _ratio(found.mean_a, found.mean_b)
    if not value > 0.0 or math.isinf(value):
        note = "a share is 0: the ratio has no limits"
        return of_a, of_b, Estimate(value if value == 0.0 else math.nan, note=note)
    relative = (
        found.variance_a / found.mean_a**2
        + found.variance_b / found.mean_b**2
        - 2.0 * found.covariance / (found.mean_a * found.mean_b)
    )
    if not relative > NO_SPREAD:
        return of_a, of_b, Estimate(value, note=f"no two {units} of a group differ")
    half = min(quantile * math.sqrt(relative), 500.0)  # e^500 is wide enough
    # The same test as that of the interval, so that the two never disagree.
    p = 2.0 * float(student.sf(abs(math.log(value)) / math.sqrt(relative), found.df))
    low, high = value * math.exp(-half), value * math.exp(half)
    return of_a, of_b, Estimate(value, low, high, p, f"logarithm of the ratio, {units}")


def _ratio(a: float, b: float) -> float:
    if b > 0.0:
        return a / b
    return math.inf if a > 0.0 else math.nan


def _units(side: Side, sides: Sides) -> tuple[float, float]:
    """Rows of a group, and how many units it is worth that do not differ at all."""
    masses = side.weights
    if side.tasks is not None and (sides.needed or sides.possible):
        masses = np.bincount(side.tasks, side.weights).astype(np.float64)
    if masses is None:
        return float(side.n), float(side.n)
    return float(side.n), float(masses.sum() ** 2 / (masses @ masses))  # Kish's


def _share(
    share: float,
    variance: float,
    sizes: tuple[float, float],
    quantile: float,
    units: str,
) -> Estimate:
    """Wilson's limits, for the number of rows that would have this variance."""
    share = min(max(share, 0.0), 1.0)
    worth, still = sizes
    if variance > NO_SPREAD:
        worth = min(worth, share * (1.0 - share) / variance + 1.0)
    else:
        worth = min(worth, still)
    square = quantile**2 / worth
    middle = (share + square / 2.0) / (1.0 + square)
    half = quantile * math.sqrt(share * (1.0 - share) / worth + square / (4.0 * worth))
    half /= 1.0 + square
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    method = f"Wilson's limits, worth {worth:,.0f} rows ({units})"
    return Estimate(share, low, high, None, method)
