"""AUC within each task, for all tasks at once, and pooled over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student

from rankfair.inference.estimate import Estimate
from rankfair.inference.limits import GroupSpread, score_limits, score_p_value
from rankfair.inference.ordered import Ordered
from rankfair.inference.permutation import SMALL, mann_whitney
from rankfair.inference.spread import ENOUGH_TASKS

__all__ = ["WithinTasks", "adjusted", "few_rows", "pooled", "task_estimates"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

METHOD = "DeLong's variance, score limits"
TEST = "Mann and Whitney's test"
MOST_IN_ALL = 2e9  # additions to count permutations of all tasks of a comparison


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
    variance_a, variance_b : ndarrays of shape (k,)
        DeLong's parts of its variance; NaN where a group has one row.
    df_a, df_b : ndarrays of shape (k,)
        Their degrees of freedom.
    size_a, size_b : ndarrays of shape (k,)
        Independent rows; Kish's effective size with weights.
    ties : ndarray of shape (k,)
        ``Σ (t³ − t)`` over runs of t equal predictions.
    n_tasks : int
        Tasks in all, those with one group included.
    """

    tasks: Codes
    n_a: Codes
    n_b: Codes
    mass_a: Floats
    mass_b: Floats
    auc: Floats
    variance_a: Floats
    variance_b: Floats
    df_a: Floats
    df_b: Floats
    size_a: Floats
    size_b: Floats
    ties: Floats
    n_tasks: int

    @classmethod
    def of(
        cls, ordered: Ordered, codes: Codes, mass_a: Floats, mass_b: Floats
    ) -> WithinTasks:
        """Count all tasks at once.

        Parameters
        ----------
        ordered : Ordered
            Rows by task and prediction.
        codes : integer ndarray
            The task of each segment.
        mass_a, mass_b : ndarrays of shape (N,)
            Weights of the rows in that order, 0 for rows of the other group.
        """
        at = ordered.segments
        sizes = np.diff(at, append=len(mass_a))

        def total(values: Floats) -> Floats:
            found: Floats = np.add.reduceat(values, at)
            return found

        all_a, all_b = total(mass_a), total(mass_b)
        both = (all_a > 0) & (all_b > 0)
        safe_a, safe_b = np.where(both, all_a, 1.0), np.where(both, all_b, 1.0)
        above = ordered.below(mass_b) / np.repeat(safe_b, sizes)
        auc = total(mass_a * above) / safe_a
        above -= np.repeat(auc, sizes)
        variance_a, df_a = _parts(mass_a, above, all_a, sizes, total)
        below = ordered.below(mass_a) / np.repeat(safe_a, sizes)
        below -= np.repeat(1.0 - auc, sizes)
        variance_b, df_b = _parts(mass_b, below, all_b, sizes, total)
        ties = _ties(ordered, (mass_a + mass_b) > 0)
        counts = [total((mass > 0).astype(np.float64)) for mass in (mass_a, mass_b)]
        whole = cls(
            codes,
            counts[0].astype(np.intp),
            counts[1].astype(np.intp),
            all_a,
            all_b,
            auc,
            variance_a,
            variance_b,
            df_a,
            df_b,
            all_a**2 / np.maximum(total(mass_a**2), 1e-300),
            all_b**2 / np.maximum(total(mass_b**2), 1e-300),
            ties,
            int(((all_a > 0) | (all_b > 0)).sum()),
        )
        return whole.at(both)

    def at(self, chosen: NDArray[np.bool_]) -> WithinTasks:
        """Return the chosen tasks only."""
        arrays = {
            f.name: getattr(self, f.name)[chosen]
            for f in fields(self)
            if f.name != "n_tasks"
        }
        return WithinTasks(n_tasks=self.n_tasks, **arrays)

    def normal_p(self) -> Floats:
        """Mann and Whitney's p-value by the normal law, as scipy's ``asymptotic``."""
        n_a, n_b = self.n_a.astype(np.float64), self.n_b.astype(np.float64)
        n = n_a + n_b
        spread = n_a * n_b / 12.0 * (n + 1.0 - self.ties / (n * (n - 1.0)))
        distance = np.abs(self.auc - 0.5) * n_a * n_b - 0.5
        z = np.where(spread > 0, distance / np.sqrt(np.maximum(spread, 1e-300)), 0.0)
        found: Floats = np.minimum(2.0 * norm.sf(z), 1.0)
        return found

    def spreads(self) -> tuple[GroupSpread, GroupSpread]:
        """What either group says about the variance of each task's AUC."""
        return (
            GroupSpread(self.variance_a, self.df_a, self.size_a, self.df_a + 1.0),
            GroupSpread(self.variance_b, self.df_b, self.size_b, self.df_b + 1.0),
        )


Total = Callable[[Floats], Floats]


def _parts(
    mass: Floats, excess: Floats, whole: Floats, sizes: Codes, total: Total
) -> tuple[Floats, Floats]:
    """Variance of the mean of ``excess`` in each task, and its degrees of freedom.

    As `Part`: rows of uneven weight pull on their own mean.
    """
    n = total((mass > 0).astype(np.float64))
    several = n > 1
    share = mass / np.repeat(np.where(whole > 0, whole, 1.0), sizes)
    left = np.where(share < 1.0, 1.0 - share, 1.0)
    variance = total((share * excess / left) ** 2)
    variance = np.where(several, variance * (n - 1) / np.maximum(n, 1.0), np.nan)
    squares = total(share**2)
    fourth = np.where(squares > 0, total(share**4), 1.0)
    df = np.where(several, squares**2 / fourth - 1.0, np.nan)
    return variance, df


def _ties(ordered: Ordered, counted: NDArray[np.bool_]) -> Floats:
    """``Σ (t³ − t)`` of each task over runs of t equal predictions of counted rows."""
    if ordered.starts is None:
        return np.zeros(len(ordered.segments))
    run = np.add.reduceat(counted.astype(np.float64), ordered.starts)
    first = np.searchsorted(ordered.starts, ordered.segments)
    found: Floats = np.add.reduceat(run**3 - run, first)
    return found


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
    flat = (found.variance_a + found.variance_b == 0.0) & (found.auc > 0)
    flat &= found.auc < 1
    for (n_a, n_b), still in zip(counts, flat.tolist(), strict=True):
        note = ""
        for label, n in zip(labels, (n_a, n_b), strict=True):
            if n < max(min_group, 2):
                note = note or few_rows(label, n, max(min_group, 2))
        notes.append(note or ("no two rows are placed differently" if still else ""))
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
    limits come from the rows within them.

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
    k = len(found.auc)
    if not k:
        return Estimate(math.nan, note="no task has rows of both groups")
    w = found.mass_a * found.mass_b / (found.mass_a + found.mass_b + 1.0)
    share = w / w.sum()
    value = float(share @ found.auc)
    if k >= ENOUGH_TASKS:
        se, df = _over_tasks(share, found.auc - value)
        method = f"how {k:,} tasks differ"
    else:
        se, df = _over_rows(share, found)
        method = f"rows within {k} tasks, taken as given"
    if not se > 0.0:
        return Estimate(value, note="rows within tasks show no spread")
    if value in (0.0, 1.0):
        return Estimate(value, note="groups do not overlap within any task")
    slope = value * (1.0 - value)
    half = float(student.isf((1.0 - confidence) / 2, df)) * se / slope
    middle = float(logit(value))
    low, high = float(expit(middle - half)), float(expit(middle + half))
    p = 2.0 * float(student.sf(abs(middle) * slope / se, df))
    return Estimate(
        value, low, high, p, f"{method}; logit scale, van Elteren's weights"
    )


def _over_tasks(share: Floats, excess: Floats) -> tuple[float, float]:
    k = len(share)
    pulls = share * excess / np.where(share < 1.0, 1.0 - share, 1.0)
    squares = share**2
    df = float(squares.sum() ** 2 / (squares @ squares)) - 1.0
    return math.sqrt((k - 1) / k * float(pulls @ pulls)), max(df, 1.0)


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
