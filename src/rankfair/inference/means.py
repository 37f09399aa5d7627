"""Differences of means between two groups, with limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankfair.core.blocks import power_of_two
from rankfair.inference.clusters import ENOUGH_TASKS
from rankfair.inference.estimate import Estimate
from rankfair.inference.parts import Part, welch_degrees
from rankfair.inference.sides import Sides

__all__ = ["Difference", "differences", "mean_error", "mean_gap", "quantile"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
ROUNDING = 1e-14  # of the largest value: a spread below it is none
MOST = 100.0  # logarithms: limits wider than that say nothing


@dataclass(frozen=True)
class Difference:
    """Means of two groups and the standard error of their difference."""

    mean_a: float
    mean_b: float
    a: Part
    b: Part
    covariance: float
    df: float
    n_clusters: int | None

    @property
    def se(self) -> float:
        """Standard error of ``mean_a − mean_b``; NaN if a group has one unit."""
        total = self.a.variance + self.b.variance - 2.0 * self.covariance
        return math.sqrt(max(total, 0.0)) if total == total else math.nan

    def half(self, confidence: float) -> float:
        """Half the width of the interval of ``mean_a − mean_b``."""
        return quantile(confidence, self.df) * self.se


def quantile(confidence: float, df: float) -> float:
    """Student's quantile of an interval with half of the doubt at either end."""
    return float(student.isf((1.0 - confidence) / 2, df))


def differences(values_a: Floats, values_b: Floats, sides: Sides) -> list[Difference]:
    """Return both means and the spread of their difference, by rows, tasks or both.

    Rows are independent, or summed by task first where tasks are clusters (with the
    jackknife's factor for large ones); degrees of freedom are Satterthwaite's.  Of two
    ways to see it, the wider limits count.

    Parameters
    ----------
    values_a, values_b : ndarrays of shape (n_A,) and (n_B,)
        What is averaged.
    sides : Sides
        The groups.

    Returns
    -------
    list of Difference
        One, with NaN variances where a group has one row, or one task; or two without.
    """
    found = [_difference(values_a, values_b, sides, clustered=sides.needed)]
    if sides.possible:
        found.append(_difference(values_a, values_b, sides, clustered=True))
    return [each for each in found if each.se == each.se] or found[:1]


def _difference(
    values_a: Floats, values_b: Floats, sides: Sides, clustered: bool
) -> Difference:
    w_a, w_b = sides.weights
    mean_a = float(np.average(values_a, weights=w_a))
    mean_b = float(np.average(values_b, weights=w_b))
    covariance, n_clusters = 0.0, None
    if clustered:
        code_a, code_b = sides.tasks
        a = Part.of_clusters(values_a - mean_a, code_a, sides.n_tasks, w_a)
        b = Part.of_clusters(values_b - mean_b, code_b, sides.n_tasks, w_b)
        covariance = float(a.pulls @ b.pulls)
        n_clusters = int(np.count_nonzero((a.share > 0) | (b.share > 0)))
    elif w_a is not None and w_b is not None:
        a = Part.of_weighted(values_a - mean_a, w_a)
        b = Part.of_weighted(values_b - mean_b, w_b)
    else:
        a, b = Part.of_rows(values_a), Part.of_rows(values_b)
    df = welch_degrees(a, b, -1.0)
    return Difference(mean_a, mean_b, a, b, covariance, df, n_clusters)


def mean_gap(
    values_a: Floats,
    values_b: Floats,
    sides: Sides,
    confidence: float,
    size: float = 0.0,
) -> Estimate:
    """Return ``mean(A) − mean(B)`` with Welch's limits, over tasks where they matter.

    Parameters
    ----------
    values_a, values_b : ndarrays of shape (n_A,) and (n_B,)
        What is averaged.
    sides : Sides
        The groups.
    confidence : float
        Between 0 and 1.
    size : float
        The largest number that the values were computed from, if larger than they are:
        a spread of a trillionth of it is rounding.

    Returns
    -------
    Estimate
        Without limits where a group has one unit, or its values differ by rounding.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.array([True, True, True, False, False, False])
    >>> sides = Sides.of(in_a, ~in_a, ("M", "F"))
    >>> found = mean_gap(np.array([2.0, 3, 4]), np.array([1.0, 2, 3]), sides, 0.95)
    >>> print(found)
    1.000 (-1.267 to 3.267)
    """
    scale = power_of_two(max(float(np.abs(v).max()) for v in (values_a, values_b)))
    # Squares of scaled values neither overflow nor vanish.
    ways = differences(values_a / scale, values_b / scale, sides)
    found = max(ways, key=lambda way: way.half(confidence))
    value, se = found.mean_a - found.mean_b, found.se
    unit = "row" if found.n_clusters is None else "task"
    if math.isnan(se):
        note = f"a group rests on one {unit} only, which shows no spread"
        return Estimate(scale * value, note=note)
    # What one row differs by, not its mean over many rows, is compared with rounding.
    apart = se * math.sqrt(min(len(values_a), len(values_b)))
    if apart <= ROUNDING * max(1.0, size / scale):
        return Estimate(scale * value, note=f"no two {unit}s of a group differ")
    half = found.half(confidence)
    p = 2.0 * float(student.sf(abs(value) / se, found.df))
    method = "Welch's t"
    if found.n_clusters is not None:
        method = f"Welch's t over {found.n_clusters:,} tasks"
    limits = scale * (value - half), scale * (value + half)
    return Estimate(scale * value, *limits, p, method)


def mean_error(
    values: Floats,
    tasks: Codes | None,
    weights: Floats | None,
    confidence: float,
    rounding: float = 0.0,
) -> Estimate:
    """Return the mean of positive numbers, errors or their squares, with limits.

    From ten tasks on, tasks are the sample; else rows are.  Such numbers are skew:
    their mean is too small more often than too large, and its limits hold better on the
    scale of logarithms, there with Student's t.

    Parameters
    ----------
    values : ndarray of shape (N,)
        None below 0.
    tasks : integer ndarray of shape (N,) or None
        The task of each row.
    weights : ndarray of shape (N,) or None
        Weights of the rows.
    confidence : float
        Between 0 and 1.
    rounding : float
        Values that differ by no more show no spread.

    Returns
    -------
    Estimate
        Without limits where one unit has all the weight, or values do not differ.

    Examples
    --------
    >>> import numpy as np
    >>> print(mean_error(np.array([1.0, 2.0, 3.0, 4.0]), None, None, 0.95))
    2.500 (1.099 to 5.686)
    """
    value = float(np.average(values, weights=weights))
    units, method = np.arange(len(values)), "Student's t on logarithms"
    n_tasks = 0 if tasks is None else len(np.unique(tasks))
    if tasks is not None and n_tasks >= ENOUGH_TASKS:
        units, method = tasks, f"{method}, over {n_tasks:,} tasks"
    part = Part.of_clusters(values - value, units, int(units.max()) + 1, weights)
    se = math.sqrt(part.variance)
    if not se * math.sqrt(len(values)) > rounding:  # NaN for one task
        return Estimate(value, note="errors show no spread")
    half = quantile(confidence, part.df) * se / value
    if half > MOST:
        return Estimate(value, note="a few errors outweigh all others")
    times = math.exp(half)
    return Estimate(value, value / times, value * times, None, method)
