"""AUC within each task, for all tasks at once, and pooled over them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student

from rankfair.inference.estimate import Estimate
from rankfair.inference.ordered import Ordered
from rankfair.inference.spread import ENOUGH_TASKS

__all__ = ["WithinTasks", "adjusted", "pooled", "task_estimates"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


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
    auc, variance, df : ndarrays of shape (k,)
        AUC, DeLong's variance (NaN where a group has one row) and its degrees of
        freedom.
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
    variance: Floats
    df: Floats
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
        variance = variance_a + variance_b
        with np.errstate(invalid="ignore", divide="ignore"):
            df = variance**2 / (variance_a**2 / df_a + variance_b**2 / df_b)
        df = np.where(variance > 0, df, np.minimum(df_a, df_b))
        counts = (total((mass > 0).astype(float)) for mass in (mass_a, mass_b))
        n_a, n_b = (count.astype(np.intp)[both] for count in counts)
        ties = _ties(ordered, (mass_a + mass_b) > 0)[both]
        return cls(
            codes[both],
            n_a,
            n_b,
            all_a[both],
            all_b[both],
            auc[both],
            variance[both],
            df[both],
            ties,
            int(((all_a > 0) | (all_b > 0)).sum()),
        )

    def p_normal(self) -> Floats:
        """Mann and Whitney's p-value by the normal law, corrected for ties."""
        n = self.n_a + self.n_b
        spread = n + 1 - self.ties / (n * (n - 1.0))
        z = np.abs(self.auc - 0.5) * np.sqrt(12.0 * self.n_a * self.n_b / spread)
        found: Floats = 2.0 * norm.sf(z)
        return found


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


def task_estimates(found: WithinTasks, confidence: float) -> list[Estimate]:
    """Return the AUC of each task with limits and p-value."""
    with np.errstate(all="ignore"):
        half = student.isf((1 - confidence) / 2, found.df) * np.sqrt(found.variance)
        half /= found.auc * (1 - found.auc)
        middle = logit(found.auc)
        low, high = expit(middle - half), expit(middle + half)
        z = found.p_normal()
    known = np.isfinite(half)
    method = "DeLong's variance on the logit scale"
    return [
        Estimate(v, lo, hi, p, method) if ok else Estimate(v, note="no spread")
        for v, lo, hi, p, ok in zip(
            found.auc.tolist(),
            low.tolist(),
            high.tolist(),
            z.tolist(),
            known.tolist(),
            strict=True,
        )
    ]


def pooled(found: WithinTasks, confidence: float) -> Estimate:
    """Return the AUC within tasks, pooled with van Elteren's weights.

    ``Σ w_t AUC_t / Σ w_t`` with ``w_t = n_A n_B / (n_A + n_B + 1)``.  From ten tasks on
    the tasks are the sample, and limits come from how their AUCs differ; with fewer,
    tasks are taken as given and limits come from the rows within them.
    """
    if not len(found.auc):
        return Estimate(math.nan, note="no task has rows of both groups")
    w = found.mass_a * found.mass_b / (found.mass_a + found.mass_b + 1.0)
    share = w / w.sum()
    value = float(share @ found.auc)
    k = len(share)
    if k >= ENOUGH_TASKS:
        pulls = share * (found.auc - value) / (1.0 - share)
        se = math.sqrt((k - 1) / k * float(pulls @ pulls))
        squares = share**2
        df = float(squares.sum() ** 2 / (squares @ squares)) - 1.0
        method = f"how {k:,} tasks differ"
    else:
        part = share**2 * found.variance
        se = math.sqrt(float(part.sum())) if np.isfinite(part).all() else math.nan
        with np.errstate(all="ignore"):
            df = float(part.sum() ** 2 / (part**2 / found.df).sum())
        method = f"rows within {k} tasks taken as given"
    if not se > 0:
        return Estimate(value, note="too few rows within tasks to show a spread")
    if value in (0.0, 1.0):
        return Estimate(value, note="groups do not overlap within any task")
    half = float(student.isf((1.0 - confidence) / 2, df)) * se / (value * (1 - value))
    middle = float(logit(value))
    p = 2.0 * float(student.sf(abs(middle) * value * (1 - value) / se, df))
    low, high = float(expit(middle - half)), float(expit(middle + half))
    return Estimate(
        value, low, high, p, f"{method}; logit scale, van Elteren's weights"
    )


def adjusted(p_values: list[float | None]) -> list[float | None]:
    """Return p-values corrected for their number (Benjamini and Hochberg)."""
    known = [p for p in p_values if p is not None]
    if not known:
        return list(p_values)
    corrected = iter(false_discovery_control(known).tolist())
    return [None if p is None else next(corrected) for p in p_values]
