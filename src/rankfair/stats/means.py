"""Differences of means, mean errors and shares of two groups, with intervals."""

from __future__ import annotations

import math

import numpy as np

from rankfair.core.blocks import CONSTANT, power_of_two
from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.stats.estimate import (
    ENOUGH_TASKS,
    NO_SPREAD,
    Difference,
    Estimate,
    GroupRows,
    MeanVariance,
    TwoGroups,
    differences,
    student_p,
    student_quantile,
    widest,
    wilson,
)

NOT_ABOVE_0 = "the reference group's value is not above 0"
ROUNDING = 1e-14  # of the largest value: a smaller spread is no spread


def mean_gap(
    values_a: Floats,
    values_b: Floats,
    groups: TwoGroups,
    confidence: float,
    size: float = 0.0,
) -> Estimate:
    """Return ``mean(A) − mean(B)`` with Welch's interval, over rows or tasks.

    Parameters
    ----------
    values_a, values_b : ndarrays of shape (n_A,) and (n_B,)
        The values of the groups.
    groups : TwoGroups
        The groups.
    confidence : float
        Between 0 and 1.
    size : float
        The largest number that the values were computed from, if it is larger than
        they are.  A spread below a trillionth of it is rounding.

    Returns
    -------
    Estimate
        Without an interval where a group has one unit, or values differ by rounding.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.array([True, True, True, False, False, False])
    >>> groups = TwoGroups.of(in_a)
    >>> found = mean_gap(np.array([2.0, 3, 4]), np.array([1.0, 2, 3]), groups, 0.95)
    >>> print(found)
    1.000 (-1.267 to 3.267)
    """
    scale = power_of_two(max(float(np.abs(v).max()) for v in (values_a, values_b)))
    # Squares of scaled values neither overflow nor vanish.
    ways = differences(values_a / scale, values_b / scale, groups)
    found = max(ways, key=lambda way: way.half(confidence))
    value, se = found.mean_a - found.mean_b, found.se
    if math.isnan(se):
        return Estimate(scale * value, note=found.alone)
    # Rounding is a property of single rows, not of their mean.
    apart = se * math.sqrt(min(len(values_a), len(values_b)))
    if apart <= ROUNDING * max(1.0, size / scale):
        return Estimate(scale * value, note=f"no two {found.unit}s of a group differ")
    half = found.half(confidence)
    p = student_p(value / se, found.df)
    over = "" if found.n_clusters is None else f" over {found.units}"
    ends = scale * (value - half), scale * (value + half)
    return Estimate(scale * value, *ends, p, f"Welch's t{over}")


def average(values: Floats, weights: Floats | None = None) -> float:
    """Return a mean whose sum does not overflow."""
    size = float(np.abs(values).max()) or 1.0
    return size * float(np.average(values / size, weights=weights))


def relative_gap(
    values_a: Floats, values_b: Floats, groups: TwoGroups, confidence: float
) -> Estimate:
    """Return ``mean(A) / mean(B) − 1`` with an interval; NaN unless B's is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(40) < 20
    >>> pay = np.linspace(80, 120, 20)
    >>> print(relative_gap(0.9 * pay, pay, TwoGroups.of(in_a), 0.95))
    -0.100 (-0.172 to -0.028)
    """
    mean_b = float(np.average(values_b, weights=groups.b.weights))
    if not mean_b > 0.0:
        return Estimate(math.nan, note=NOT_ABOVE_0)
    # To first order the ratio varies as a difference of these means does.
    ratio = float(np.average(values_a, weights=groups.a.weights)) / mean_b
    a, b = values_a / mean_b, ratio * values_b / mean_b - (ratio - 1.0)
    return mean_gap(a, b, groups, confidence)


def mean_error(
    values: Floats,
    tasks: Codes | None,
    weights: Floats | None,
    confidence: float,
    rounding: float = 0.0,
) -> Estimate:
    """Return the mean of positive numbers, errors or their squares, with an interval.

    With ten tasks or more, tasks are the independent units; else rows are.  The
    interval is Student's on the logarithmic scale, because errors are skewed.

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
        Values that differ by less count as equal.

    Returns
    -------
    Estimate
        Without an interval where one unit has all the weight, or values do not differ.

    Examples
    --------
    >>> import numpy as np
    >>> print(mean_error(np.array([1.0, 2.0, 3.0, 4.0]), None, None, 0.95))
    2.500 (1.099 to 5.686)
    """
    value = float(np.average(values, weights=weights))
    part, over = _mean_variance(values - value, tasks, weights)
    method = f"Student's t on logarithms{over}"
    se = math.sqrt(part.variance)
    if not se * math.sqrt(len(values)) > rounding:  # NaN for one task
        return Estimate(value, note="errors show no spread")
    half = student_quantile(confidence, part.df) * se / value
    if half > 100.0:  # a factor of e^100 says nothing
        return Estimate(value, note="a few errors outweigh all others")
    times = math.exp(half)
    return Estimate(value, value / times, value * times, None, method)


def _mean_variance(
    excess: Floats, tasks: Codes | None, weights: Floats | None
) -> tuple[MeanVariance, str]:
    """The variance of a mean: over tasks, if they are ten or more, else over rows."""
    units, over = np.arange(len(excess)), ""
    n_tasks = 0 if tasks is None else np.count_nonzero(np.bincount(tasks))
    if tasks is not None and n_tasks >= ENOUGH_TASKS:
        units, over = tasks, f", over {n_tasks:,} tasks"
    found = MeanVariance.of_clusters(excess, units, int(units.max()) + 1, weights)
    return found, over


def paired_cost(
    target: Floats,
    predicted: Floats,
    best: Floats,
    tasks: Codes | None,
    weights: Floats | None,
) -> tuple[float, float]:
    """Return how much more predictions err than the best, and its standard error.

    The mean of ``(y − m)² − (y − m_best)²``, a difference for each row: what is hard to
    predict for both does not blur it.  With ten tasks or more, tasks are the
    independent units; else rows are.

    Parameters
    ----------
    target, predicted, best : ndarrays of shape (N,)
        The target, and two predictions of it.
    tasks : integer ndarray of shape (N,) or None
        The task of each row.
    weights : ndarray of shape (N,) or None
        Weights of the rows.

    Returns
    -------
    cost, se : float
        In the unit of the target, squared; se is NaN where one unit has all the weight,
        and both are where a square has no float.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.zeros(4)
    >>> cost, se = paired_cost(y, np.array([1.0, 1, 2, 2]), np.ones(4), None, None)
    >>> cost, round(se, 3)
    (1.5, 0.866)
    """
    size = power_of_two(float(np.abs([target, predicted, best]).max()))
    # Squares of scaled values neither overflow nor vanish.
    y, m, m_best = target / size, predicted / size, best / size
    more = (y - m) ** 2 - (y - m_best) ** 2
    cost = float(np.average(more, weights=weights))
    part, _ = _mean_variance(more - cost, tasks, weights)
    return cost * size**2, math.sqrt(part.variance) * size**2


def errors(
    target: Floats | None,
    predicted: Floats,
    tasks: Codes | None,
    weights: Floats | None,
    confidence: float,
) -> tuple[Estimate, Estimate, Estimate]:
    """Return RMSE and mean absolute error with intervals, and R²."""
    if target is None:
        lost = Estimate(math.nan, note="y_true was not given")
        return lost, lost, lost
    size = power_of_two(max(float(np.abs(v).max()) for v in (target, predicted)))
    # Squares of scaled values neither overflow nor vanish.
    target = target / size
    error = np.abs(target - predicted / size)
    given = tasks, weights, confidence
    square = mean_error(error**2, *given, 2.0 * float(error.max()) * ROUNDING)
    mae = mean_error(error, *given, ROUNDING)
    mean = np.average(target, weights=weights)
    spread = float(np.average((target - mean) ** 2, weights=weights))
    r2 = Estimate(math.nan, note="y_true is constant")
    if spread > (CONSTANT * np.abs(target).max()) ** 2:
        r2 = Estimate(1.0 - square.value / spread, note="shown without an interval")
    rmse = square.mapped(lambda v: size * math.sqrt(v))
    mae = mae.mapped(lambda v: size * v)
    return rmse.finite(), mae.finite(), r2


def shares_and_ratio(
    chosen_a: Bools, chosen_b: Bools, groups: TwoGroups, confidence: float
) -> tuple[Estimate, Estimate, Estimate]:
    """Return the share chosen of each group, and the ratio of the first to the second.

    The interval of a share is Wilson's, with the effective number of rows that tasks
    (or weights) leave; that of the ratio is made on the logarithmic scale.  The cut-off
    (a median, for instance) is taken as fixed.  The ratio is the score rule of New York
    City's Local Law 144.

    Parameters
    ----------
    chosen_a, chosen_b : boolean ndarrays of shape (n_A,) and (n_B,)
        Which rows are above the cut-off.
    groups : TwoGroups
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
    >>> groups = TwoGroups.of(in_a)
    >>> of_a, of_b, ratio = shares_and_ratio(
    ...     np.arange(20) < 12, np.arange(40) < 18, groups, 0.95
    ... )
    >>> print(of_a, of_b, ratio, sep="\\n")
    0.600 (0.374 to 0.790)
    0.450 (0.303 to 0.606)
    1.333 (0.791 to 2.246)
    """
    ways = differences(chosen_a.astype(np.float64), chosen_b.astype(np.float64), groups)
    found = ways[0]
    value = found.mean_a / found.mean_b if found.mean_b > 0.0 else math.nan
    if math.isnan(found.se):
        note = found.alone
        means = Estimate(found.mean_a, note=note), Estimate(found.mean_b, note=note)
        return *means, Estimate(value, note=note)
    of_a = widest([_share(w.mean_a, w.a, groups.a, w, confidence) for w in ways])
    of_b = widest([_share(w.mean_b, w.b, groups.b, w, confidence) for w in ways])
    if not value > 0.0:
        note = "a share is 0: the ratio has no interval"
        return of_a, of_b, Estimate(value, note=note)
    return of_a, of_b, widest([_of_ratio(value, w, confidence) for w in ways])


def _of_ratio(value: float, way: Difference, confidence: float) -> Estimate:
    relative = (
        way.a.variance / way.mean_a**2
        + way.b.variance / way.mean_b**2
        - 2.0 * way.covariance / (way.mean_a * way.mean_b)
    )
    units = way.units
    if not relative > NO_SPREAD:
        return Estimate(value, note=f"no two {units} of a group differ")
    se = math.sqrt(relative)
    half = min(student_quantile(confidence, way.df) * se, 500.0)  # e^500 is wide enough
    # The test of the interval, so that p-value and interval agree.
    p = student_p(math.log(value) / se, way.df)
    low, high = value * math.exp(-half), value * math.exp(half)
    return Estimate(value, low, high, p, f"logarithm of the ratio, {units}")


def _share(
    share: float,
    part: MeanVariance,
    group: GroupRows,
    way: Difference,
    confidence: float,
) -> Estimate:
    """Wilson's interval, for the number of rows that would have this variance."""
    share = min(max(share, 0.0), 1.0)
    if part.variance > NO_SPREAD:
        worth = share * (1.0 - share) / part.variance + 1.0
    else:
        worth = group.kish(by_task=way.n_clusters is not None)
    worth = min(worth, float(group.n))
    low, high = wilson(share, worth, student_quantile(confidence, part.df))
    method = f"Wilson's interval, worth {worth:,.0f} rows ({way.units})"
    return Estimate(share, max(low, 0.0), min(high, 1.0), None, method)
