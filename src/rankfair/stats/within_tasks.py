"""The AUC within each task, counted for all tasks at once, and pooled over tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.input.errors import counted
from rankfair.stats.auc import GroupSpread, ScoreModel, apart_interval, on_logit
from rankfair.stats.estimate import (
    ENOUGH_TASKS,
    NO_SPREAD,
    NOTHING,
    Clusters,
    Estimate,
    student_p,
    student_quantile,
)
from rankfair.stats.ordered import Ordered, is_whole, snapped
from rankfair.stats.permutation import (
    MOST_COUNTED,
    SMALL,
    mann_whitney,
    normal_p,
    untied_p,
)

Record = TypeVar("Record", "WithinTasks", GroupSpread)
METHOD = "DeLong's variance, score interval; Mann and Whitney's test"


@dataclass(frozen=True)
class WithinTasks:
    """The AUC of each task that has rows of both groups.

    Attributes
    ----------
    tasks : integer ndarray of shape (k,)
        Which tasks they are.
    n_a, n_b : integer ndarrays of shape (k,)
        Rows of either group.
    mass_a, mass_b : ndarrays of shape (k,)
        Their weights.
    auc : ndarray of shape (k,)
        AUC of each task.
    a, b : GroupSpread of arrays of shape (k,)
        What either group says about its variance; NaN where a group has one row.
    ties : ndarray of shape (k,)
        ``Σ (t³ − t)`` over runs of t equal predictions.
    starts : integer ndarray of shape (k,)
        The place of the first row of each task.
    ranked : Ordered and boolean ndarray of shape (N,), or None
        Rows by task and prediction, and which are in group A; None with weights.
    """

    tasks: Codes
    n_a: Codes
    n_b: Codes
    mass_a: Floats
    mass_b: Floats
    auc: Floats
    a: GroupSpread
    b: GroupSpread
    ties: Floats
    starts: Codes
    ranked: tuple[Ordered, Bools] | None

    @classmethod
    def of(
        cls, ordered: Ordered, tasks: Codes, in_a: Bools, weights: Floats | None
    ) -> WithinTasks:
        """Count all tasks at once.

        Parameters
        ----------
        ordered : Ordered
            Rows of both groups by task and prediction: places in the arrays below.
        tasks : integer ndarray
            The task of each row.
        in_a : boolean ndarray
            Which rows are in group A.
        weights : ndarray or None
            The weight of each row.
        """
        at, of_a = ordered.segments, in_a[ordered.order]
        codes = tasks[ordered.order[at]]
        mass = np.ones(len(of_a)) if weights is None else weights[ordered.order]
        mass_a, mass_b = mass * of_a, mass * ~of_a
        sizes = np.diff(at, append=len(mass_a))
        all_a, all_b = np.add.reduceat(mass_a, at), np.add.reduceat(mass_b, at)
        both = (all_a > 0) & (all_b > 0)
        safe_a, safe_b = np.where(both, all_a, 1.0), np.where(both, all_b, 1.0)
        above = ordered.below(mass_b) / np.repeat(safe_b, sizes)
        auc = np.add.reduceat(mass_a * above, at) / safe_a
        if not (is_whole(mass_a) and is_whole(mass_b)):
            auc = snapped(auc)
        above -= np.repeat(auc, sizes)
        below = ordered.below(mass_a) / np.repeat(safe_a, sizes)
        below -= np.repeat(1.0 - auc, sizes)
        n_a, a = _spread(mass_a, above, at)
        n_b, b = _spread(mass_b, below, at)
        ties = _ties(ordered, mass_a + mass_b > 0)
        ranked = (ordered, of_a) if weights is None else None
        counts = n_a, n_b, all_a, all_b
        return cls(codes, *counts, auc, a, b, ties, at, ranked).at(both)

    @classmethod
    def of_rows(
        cls, predicted: Floats, tasks: Codes, in_a: Bools, weights: Floats | None
    ) -> WithinTasks:
        """Count all tasks of rows that are not in order."""
        return cls.of(Ordered.of(predicted).by_task(tasks), tasks, in_a, weights)

    def at(self, chosen: Bools) -> WithinTasks:
        """Return the chosen tasks only."""
        a, b = _chosen(self.a, chosen), _chosen(self.b, chosen)
        return replace(_chosen(self, chosen), a=a, b=b)

    @property
    def variance(self) -> Floats:
        """DeLong's variance of each AUC."""
        return np.asarray(self.a.variance + self.b.variance)


def _chosen(record: Record, chosen: Bools) -> Record:
    """Return a record with the chosen entries of its arrays."""
    changed: dict[str, Any] = {
        name: v[chosen] for name, v in vars(record).items() if isinstance(v, np.ndarray)
    }
    return replace(record, **changed)


def _spread(mass: Floats, excess: Floats, at: Codes) -> tuple[Codes, GroupSpread]:
    """Count the rows of a group in each task, and find the variance of their mean.

    As `MeanVariance.of` with weights, for all tasks at once.
    """
    n = np.add.reduceat((mass > 0).astype(np.intp), at)
    whole = np.add.reduceat(mass, at)
    sizes = np.diff(at, append=len(mass))
    share = mass / np.repeat(np.where(whole > 0, whole, 1.0), sizes)
    left, square = np.where(share < 1.0, 1.0 - share, 1.0), share**2
    variance = np.add.reduceat((share * excess / left) ** 2, at)
    squares = np.add.reduceat(square, at)
    fourth = np.where(squares > 0, np.add.reduceat(square**2, at), 1.0)
    # Where one row has all the weight, but for rounding, nothing is known.
    several = (n > 1) & (squares < 1.0 - 2.0 * NOTHING)
    variance = np.where(several, variance * (n - 1) / np.maximum(n, 1), np.nan)
    df = np.where(several, np.maximum(squares**2 / fourth - 1.0, 1.0), np.nan)
    kish = 1.0 / np.where(squares > 0, squares, 1.0)
    return n, GroupSpread(variance, df, kish)


def _ties(ordered: Ordered, known: Bools) -> Floats:
    """``Σ (t³ − t)`` of each task over runs of t equal predictions of known rows."""
    if ordered.starts is None:
        return np.zeros(len(ordered.segments))
    run = np.add.reduceat(known.astype(np.float64), ordered.starts)
    first = np.searchsorted(ordered.starts, ordered.segments)
    found: Floats = np.add.reduceat(run**3 - run, first)
    return found


def task_estimates(
    found: WithinTasks,
    confidence: float,
    min_group: int,
    labels: tuple[str, str],
    seed: int | None = 0,
    budget: float = 2e9,
) -> list[Estimate]:
    """Return the AUC of each task with interval and p-value, rows being independent.

    Small tasks get a permutation test.  With weights the p-value is that of the
    interval.

    Parameters
    ----------
    found : WithinTasks
        What was counted.
    confidence : float
        Between 0 and 1.
    min_group : int
        Tasks with fewer rows of a group get no interval and no p-value.
    labels : pair of str
        The names of the groups, for notes.
    seed : int or None
        Seed of random permutations.
    budget : float
        Additions to count permutations; when it is used up, the normal law is used.

    Returns
    -------
    list of Estimate
        One for each task found.
    """
    notes = _notes(found, min_group, labels)
    judged = np.array([not note for note in notes], bool)
    low, high, p = (np.full(len(notes), np.nan) for _ in range(3))
    some = found.at(judged)
    model = ScoreModel(some.auc, some.a, some.b)
    low[judged], high[judged] = model.interval(confidence)
    tests = ["that of the interval"] * len(notes)
    if found.ranked is None:
        p[judged] = model.p_value()
    else:
        p[judged] = normal_p(some.auc, some.n_a, some.n_b, some.ties)
        tests = ["normal law"] * len(notes)
        for i in np.flatnonzero(judged & (np.minimum(found.n_a, found.n_b) < SMALL)):
            n_a, n_b = int(found.n_a[i]), int(found.n_b[i])
            few, n = min(n_a, n_b), n_a + n_b
            if not found.ties[i] and 2 * n * few * n_a * n_b <= MOST_COUNTED:
                p[i] = untied_p(round(found.auc[i] * n_a * n_b), n_a, n_b)
                tests[i] = "all permutations counted"
                continue
            if budget <= 0.0:
                tests[i] = "normal law, for want of time"
                continue
            at = slice(found.starts[i], found.starts[i] + n)
            ordered, in_a = found.ranked
            values = ordered.exact[at]
            up_to = values.searchsorted(values, "right")
            ranks = 1 + values.searchsorted(values) + up_to
            budget -= 2.0 * n * few * few * n
            rank_sum = int(ranks[in_a[at]].sum())
            p[i], tests[i] = mann_whitney(rank_sum, ranks, n_a, seed)
    columns = (column.tolist() for column in (found.auc, low, high, p))
    return [
        Estimate(auc, note=note)
        if note
        else Estimate(auc, low, high, p, f"{METHOD}, {test}")
        for auc, low, high, p, note, test in zip(*columns, notes, tests, strict=True)
    ]


def _notes(found: WithinTasks, min_group: int, labels: tuple[str, str]) -> list[str]:
    """Why a task has no interval; empty where it has."""
    variance, apart = found.variance, (found.auc == 0) | (found.auc == 1)
    flat = np.isnan(variance) | ((variance <= NO_SPREAD) & ~apart)
    columns = (found.n_a.tolist(), found.n_b.tolist(), flat.tolist())
    return [
        few_rows(labels, counts, max(min_group, 2))
        or ("rows of a group show no spread" if still else "")
        for *counts, still in zip(*columns, strict=True)
    ]


def few_rows(labels: Sequence[str], counts: Sequence[int], least: int) -> str:
    """Say which of the groups is too small; empty if none is."""
    for label, n in zip(labels, counts, strict=True):
        if n < least:
            rows = "row" if n == 1 else "rows"
            return f"group {label} has {n:,} {rows}, fewer than {least}"
    return ""


def pooled(found: WithinTasks, confidence: float) -> Estimate:
    """Return the AUC within tasks, pooled with van Elteren's weights.

    ``Σ w_t AUC_t / Σ w_t`` with ``w_t = n_A n_B / (n_A + n_B + 1)``, the best weights
    if all tasks have the same shift.  With ten tasks or more, tasks are the independent
    units, and the interval comes from how their AUCs differ.  With fewer, tasks are
    fixed and the interval comes from the rows within them; tasks with one row of a
    group show no spread and are left out.

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
        # All AUCs are equal: take the first, which weights have not rounded.
        ends, p = apart_interval(first, 1.0 / float(share @ share), confidence)
        how = f"an interval for any distributions ({k:,} tasks do not overlap)"
        return Estimate(first, *ends, p, how)
    half = student_quantile(confidence, df) * se
    low, high = on_logit(value, -half), on_logit(value, half)
    distance = abs(math.log(value / (1.0 - value))) * value * (1.0 - value)
    p = student_p(distance / se, df)
    how = f"{method}; logit scale, van Elteren's weights"
    return Estimate(value, low, high, p, how, note)


def _with_spread(found: WithinTasks) -> tuple[WithinTasks, str]:
    """Of few tasks, leave out those without spread, and say so."""
    spread = np.isfinite(found.variance)
    if len(spread) >= ENOUGH_TASKS or spread.all() or not spread.any():
        return found, ""
    lost = counted(int((~spread).sum()), "task")
    return found.at(spread), f"left out: {lost} with one row of a group"


def _over_tasks(share: Floats, excess: Floats, whole: float) -> tuple[float, float]:
    """Standard error and degrees of freedom of the pooled AUC, over tasks.

    Without any gap the AUC of a task has the variance 1 / 12w; at most it has 1/4.
    """
    k = len(share)
    if share.max() > 1.0 - NOTHING:
        return math.nan, 0.0
    sums, alone = share * excess, share / (12.0 * whole)
    influences = sums / (1.0 - share)
    df = Clusters(share, sums, alone, alone, share / 2.0).degrees()
    return math.sqrt((k - 1) / k * float(influences @ influences)), df


def _over_rows(share: Floats, found: WithinTasks) -> tuple[float, float]:
    """Standard error of the pooled AUC over rows, with Satterthwaite's degrees."""
    parts = [(share**2 * each.variance, each.df) for each in (found.a, found.b)]
    total = float(sum(variance.sum() for variance, _ in parts))
    if not total > 0.0:
        return math.nan, math.nan
    squares = float(sum((variance**2 / df).sum() for variance, df in parts))
    return math.sqrt(total), total**2 / squares


def adjusted(p_values: list[float | None]) -> list[float | None]:
    """Return p-values adjusted for their number (Benjamini and Hochberg)."""
    known = [p for p in p_values if p is not None]
    if not known:
        return list(p_values)
    order = np.argsort(known)[::-1]
    lowered = np.array(known)[order] * (len(known) / np.arange(len(known), 0, -1))
    lowered = np.minimum.accumulate(lowered).clip(0.0, 1.0)
    corrected = iter(lowered[np.argsort(order)].tolist())
    return [None if p is None else next(corrected) for p in p_values]
