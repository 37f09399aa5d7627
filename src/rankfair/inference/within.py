"""The AUC within each task, counted for all tasks at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from rankfair.inference.limits import GroupSpread
from rankfair.inference.ordered import Ordered, is_whole, snapped
from rankfair.inference.parts import NOTHING

__all__ = ["WithinTasks"]

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
        if not (is_whole(mass_a) and is_whole(mass_b)):
            auc = snapped(auc)
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
    squares = total(share**2)
    fourth = np.where(squares > 0, total(share**4), 1.0)
    # Where one row has all the weight, but for rounding, nothing is known.
    several &= squares < 1.0 - 2.0 * NOTHING
    variance = np.where(several, variance * (n - 1) / np.maximum(n, 1.0), np.nan)
    df = np.where(several, np.maximum(squares**2 / fourth - 1.0, 1.0), np.nan)
    return variance, df


def _ties(ordered: Ordered, counted: NDArray[np.bool_]) -> Floats:
    """``Σ (t³ − t)`` of each task over runs of t equal predictions of counted rows."""
    if ordered.starts is None:
        return np.zeros(len(ordered.segments))
    run = np.add.reduceat(counted.astype(np.float64), ordered.starts)
    first = np.searchsorted(ordered.starts, ordered.segments)
    found: Floats = np.add.reduceat(run**3 - run, first)
    return found
