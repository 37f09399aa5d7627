"""Differences of means between two groups, with limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankfair.blocks import power_of_two
from rankfair.inference.estimate import Estimate
from rankfair.inference.parts import LEAST_DF, Part, welch_degrees
from rankfair.inference.sides import Sides

__all__ = ["Difference", "difference", "mean_gap"]

Floats = NDArray[np.float64]
ROUNDING = 1e-14  # of the largest value: a spread below it is none


@dataclass(frozen=True)
class Difference:
    """Means of two groups and the standard error of their difference."""

    mean_a: float
    mean_b: float
    variance_a: float
    variance_b: float
    covariance: float
    df: float
    n_clusters: int | None

    @property
    def se(self) -> float:
        """Standard error of ``mean_a − mean_b``; NaN if a group has one unit."""
        total = self.variance_a + self.variance_b - 2.0 * self.covariance
        return math.sqrt(max(total, 0.0)) if total == total else math.nan


def difference(values_a: Floats, values_b: Floats, sides: Sides) -> Difference:
    """Return both means and the spread of their difference, wider of rows and tasks.

    Rows are independent, or summed by task first where tasks are clusters (with the
    jackknife's factor for large ones); degrees of freedom are Satterthwaite's.

    Parameters
    ----------
    values_a, values_b : ndarrays of shape (n_A,) and (n_B,)
        What is averaged.
    sides : Sides
        The groups.

    Returns
    -------
    Difference
        With NaN variances where a group has one row, or one task.
    """
    found = _difference(values_a, values_b, sides, clustered=sides.needed)
    if sides.possible:
        other = _difference(values_a, values_b, sides, clustered=True)
        found = max(found, other, key=lambda d: d.se if d.se == d.se else -1.0)
    return found


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
        a = Part.of_clusters(values_a - mean_a, np.arange(len(w_a)), len(w_a), w_a)
        b = Part.of_clusters(values_b - mean_b, np.arange(len(w_b)), len(w_b), w_b)
    else:
        a, b = Part.of_rows(values_a), Part.of_rows(values_b)
    df = welch_degrees(a, b, covariance)
    if min(a.df, b.df) < LEAST_DF:
        a, b = replace(a, variance=math.nan), replace(b, variance=math.nan)
    return Difference(
        mean_a, mean_b, a.variance, b.variance, covariance, df, n_clusters
    )


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
    found = difference(values_a / scale, values_b / scale, sides)
    value, se = found.mean_a - found.mean_b, found.se
    unit = "row" if found.n_clusters is None else "task"
    if math.isnan(se):
        note = f"a group rests on one {unit} only, which shows no spread"
        return Estimate(scale * value, note=note)
    # What one row differs by, not its mean over many rows, is compared with rounding.
    apart = se * math.sqrt(min(len(values_a), len(values_b)))
    if apart <= ROUNDING * max(1.0, size / scale):
        return Estimate(scale * value, note=f"no two {unit}s of a group differ")
    half = float(student.isf((1.0 - confidence) / 2, found.df)) * se
    p = 2.0 * float(student.sf(abs(value) / se, found.df))
    method = "Welch's t"
    if found.n_clusters is not None:
        method = f"Welch's t over {found.n_clusters:,} tasks"
    limits = scale * (value - half), scale * (value + half)
    return Estimate(scale * value, *limits, p, method)
