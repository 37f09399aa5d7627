"""The AUC of each task with limits, and pooled over tasks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import false_discovery_control
from scipy.stats import t as student

from rankfair.inference.clusters import ENOUGH_TASKS
from rankfair.inference.estimate import Estimate
from rankfair.inference.limits import apart_limits, score_limits, score_p_value
from rankfair.inference.parts import NO_SPREAD, NOTHING, Clusters
from rankfair.inference.permutation import SMALL, mann_whitney
from rankfair.inference.within import WithinTasks

__all__ = ["adjusted", "few_rows", "pooled", "task_estimates"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

METHOD = "DeLong's variance, score limits"
TEST = "Mann and Whitney's test"
MOST_IN_ALL = 2e9  # additions to count permutations of all tasks of a comparison


def task_estimates(
    found: WithinTasks,
    confidence: float,
    min_group: int,
    labels: tuple[str, str],
    twice_ranks: Callable[[int], tuple[Codes, int]] | None,
    seed: int | None = 0,
) -> list[Estimate]:
    """Return the AUC of each task with limits and p-value, rows being independent.

    Parameters
    ----------
    found : WithinTasks
        What was counted.
    confidence : float
        Between 0 and 1.
    min_group : int
        Tasks with fewer rows of a group get no limits and no p-value.
    labels : pair of str
        The groups, for notes.
    twice_ranks : callable or None
        Gives, for the i-th task found, twice the mid-ranks of its rows and twice the
        rank sum of group A, for permutations of small tasks.  None with weights: the
        p-value is then that of the limits.
    seed : int or None
        Of permutations, where not all can be counted.

    Returns
    -------
    list of Estimate
        One for each task found.
    """
    notes = _notes(found, min_group, labels)
    judged = np.array([not note for note in notes], bool)
    low, high, p = (np.full(len(notes), np.nan) for _ in range(3))
    if judged.any():
        some = found.at(judged)
        a, b = some.spreads()
        low[judged], high[judged] = score_limits(some.auc, a, b, confidence)
        p[judged] = score_p_value(some.auc, a, b)
    tests = ["that of the limits"] * len(notes)
    if twice_ranks is not None:
        p = np.where(judged, found.normal_p(), np.nan)
        tests = ["normal law"] * len(notes)
        budget = MOST_IN_ALL
        for i in np.flatnonzero(judged & (np.minimum(found.n_a, found.n_b) < SMALL)):
            if budget <= 0.0:
                tests[i] = "normal law, for want of time"
                continue
            ranks, rank_sum = twice_ranks(int(i))
            few, n = int(min(found.n_a[i], found.n_b[i])), len(ranks)
            budget -= 2.0 * n * few * few * n if found.ties[i] else 1e4
            p[i], tests[i] = mann_whitney(rank_sum, ranks, int(found.n_a[i]), seed)
            tests[i] = tests[i].partition(", ")[2]
    columns = (found.auc, low, high, p)
    return [
        Estimate(auc, note=note)
        if note
        else Estimate(auc, lo, hi, chance, f"{METHOD}; {TEST}, {test}")
        for auc, lo, hi, chance, note, test in zip(
            *(column.tolist() for column in columns), notes, tests, strict=True
        )
    ]


def _notes(found: WithinTasks, min_group: int, labels: tuple[str, str]) -> list[str]:
    """Why a task has no limits; empty where it has."""
    notes = []
    counts = zip(found.n_a.tolist(), found.n_b.tolist(), strict=True)
    flat = (found.variance_a + found.variance_b <= NO_SPREAD) & (found.auc > 0)
    flat &= found.auc < 1
    flat |= np.isnan(found.variance_a + found.variance_b)
    for (n_a, n_b), still in zip(counts, flat.tolist(), strict=True):
        note = ""
        for label, n in zip(labels, (n_a, n_b), strict=True):
            if n < max(min_group, 2):
                note = note or few_rows(label, n, max(min_group, 2))
        notes.append(note or ("rows of a group show no spread" if still else ""))
    return notes


def few_rows(label: str, n: int, least: int) -> str:
    """Say that a group is too small.

    Examples
    --------
    >>> few_rows("M", 1, 5)
    'group M has 1 row, fewer than 5'
    """
    return f"group {label} has {n:,} {'row' if n == 1 else 'rows'}, fewer than {least}"


def pooled(found: WithinTasks, confidence: float) -> Estimate:
    """Return the AUC within tasks, pooled with van Elteren's weights.

    ``Σ w_t AUC_t / Σ w_t`` with ``w_t = n_A n_B / (n_A + n_B + 1)``: the weights that
    find a shift common to all tasks best.  From ten tasks on the tasks are the sample,
    and limits come from how their AUCs differ; with fewer, tasks are taken as given and
    limits come from the rows within them; tasks with one row of a group show no spread
    and are left out then.

    Parameters
    ----------
    found : WithinTasks
        What was counted.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    Estimate
        NaN where no task has rows of both groups.
    """
    if not len(found.auc):
        return Estimate(math.nan, note="no task has rows of both groups")
    found, note = _with_spread(found)
    k = len(found.auc)
    w = found.mass_a * found.mass_b / (found.mass_a + found.mass_b + 1.0)
    share = w / w.sum()
    value = float(share @ found.auc)
    if k >= ENOUGH_TASKS:
        se, df = _over_tasks(share, found.auc - value, float(w.sum()))
        method = f"how {k:,} tasks differ"
    else:
        se, df = _over_rows(share, found)
        method = f"rows within {k} tasks, taken as given"
    if not se**2 > NO_SPREAD:
        first = float(found.auc[0])
        apart = first in (0.0, 1.0) and bool((found.auc == first).all())
        if k < ENOUGH_TASKS or not df or not apart:
            return Estimate(value, note="rows within tasks show no spread")
        value = first  # without the rounding of its weights
        limits, p = apart_limits(value, 1.0 / float(share @ share), confidence)
        how = f"limits that hold for any distributions ({k:,} tasks do not overlap)"
        return Estimate(value, *limits, p, how)
    slope = value * (1.0 - value)
    half = float(student.isf((1.0 - confidence) / 2, df)) * se / slope
    middle = float(logit(value))
    low, high = float(expit(middle - half)), float(expit(middle + half))
    p = 2.0 * float(student.sf(abs(middle) * slope / se, df))
    how = f"{method}; logit scale, van Elteren's weights"
    return Estimate(value, low, high, p, how, note)


def _with_spread(found: WithinTasks) -> tuple[WithinTasks, str]:
    """Leave out tasks that show no spread, where there are few; and say so."""
    spread = np.isfinite(found.variance_a + found.variance_b)
    if len(spread) >= ENOUGH_TASKS or spread.all() or not spread.any():
        return found, ""
    lost = int((~spread).sum())
    return found.at(spread), f"{lost} tasks with one row of a group are left out"


def _over_tasks(share: Floats, excess: Floats, whole: float) -> tuple[float, float]:
    """The spread of a mean of AUCs of tasks with these shares of the ``whole`` weight.

    Rows that do not tell the groups apart give an AUC the variance 1 / 12w, and no AUC
    has more than 1/4.
    """
    k = len(share)
    if share.max() > 1.0 - NOTHING:
        return math.nan, 0.0
    sums, alone = share * excess, share / (12.0 * whole)
    pulls = sums / (1.0 - share)
    df = Clusters(share, sums, alone, alone, share / 2.0).degrees()
    return math.sqrt((k - 1) / k * float(pulls @ pulls)), df


def _over_rows(share: Floats, found: WithinTasks) -> tuple[float, float]:
    part_a, part_b = share**2 * found.variance_a, share**2 * found.variance_b
    total = float((part_a + part_b).sum())
    if not total > 0.0:
        return math.nan, math.nan
    spread = float((part_a**2 / found.df_a + part_b**2 / found.df_b).sum())
    return math.sqrt(total), total**2 / spread


def adjusted(p_values: list[float | None]) -> list[float | None]:
    """Return p-values corrected for their number (Benjamini and Hochberg)."""
    known = [p for p in p_values if p is not None]
    if not known:
        return list(p_values)
    corrected = iter(false_discovery_control(known).tolist())
    return [None if p is None else next(corrected) for p in p_values]
