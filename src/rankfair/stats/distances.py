"""Distances between the predictions of two groups: Kolmogorov-Smirnov, Wasserstein.

Intervals come from a bootstrap of rows, or of tasks where these are clusters, on a grid
of quantiles: their cost does not grow with the rows.  By the triangle inequality the
error of a distance is at most the distance between the drawn and the observed
difference of distribution functions.  So the intervals are conservative, and somewhat
wide.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp, kstwo, kstwobign

from rankfair.input.arrays import Codes, Floats
from rankfair.stats.estimate import ROUNDING, Estimate, GroupRows, TwoGroups
from rankfair.stats.ordered import Ordered

CELLS = 256  # of the grid of quantiles


def distances(
    ordered: Ordered,
    groups: TwoGroups,
    masses: tuple[Floats, Floats],
    confidence: float,
    seed: int | None = 0,
    most_units: int = 4_096,
) -> tuple[Estimate, Estimate]:
    """Return the Kolmogorov-Smirnov and the Wasserstein distance with intervals.

    Parameters
    ----------
    ordered : Ordered
        Rows by prediction.
    groups : TwoGroups
        The groups, as places in that order.
    masses : pair of ndarrays of shape (N,)
        Weights in that order, 0 for rows of the other group.
    confidence : float
        Between 0 and 1.
    seed : int or None
        Seed of the bootstrap.
    most_units : int
        Tasks that mix the groups are drawn in so many bundles at most.

    Returns
    -------
    ks, wasserstein : Estimate
        The first with a p-value.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(40) % 2 == 0
    >>> rows = Ordered.of(np.arange(40.0))
    >>> groups = TwoGroups.of(in_a, ~in_a)
    >>> masses = in_a.astype(float), (~in_a).astype(float)
    >>> ks, moved = distances(rows, groups, masses, 0.95)
    >>> round(ks.value, 6), round(moved.value, 6), ks.covers(0.1)
    (0.05, 1.0, True)
    """
    gap, values = _gap(ordered, *masses)
    ks = min(float(np.abs(gap).max()), 1.0)  # sums of weights are rounded
    # Halves, so that the widest range does not overflow.
    moved = 2.0 * float(np.abs(gap[:-1]) @ np.diff(values / 2.0))
    unit = "task" if groups.needed else "row"
    rng = np.random.default_rng(seed)
    cells, widths = _cells(ordered, masses)
    draws = _Draws.of(cells, groups)
    p, test, note = _p_value(ks, groups, ordered, draws, rng)
    exact = (ordered.exact[group.rows] for group in (groups.a, groups.b))
    lost = ""
    if draws.n_units < 2:
        lost = f"a group rests on one {unit} only, which shows no spread"
    elif all(values[0] == values[-1] for values in exact):  # they are in order
        lost = "no two rows of a group differ"
    if lost:
        return Estimate(ks, note=lost), Estimate(moved, note=lost)
    far, what = draws.farthest(rng, widths, confidence), f"{unit}s"
    if groups.possible:
        mixed = _Draws.of_mixed(cells, groups, most_units)
        far = np.maximum(far, mixed.farthest(rng, widths, confidence))
        what = "rows and of tasks (the wider)"
    far_ks, far_moved = float(far[0]), 2.0 * float(far[1])
    if far_ks <= ROUNDING:
        lost = f"no draw of {what} differs from another"
        return Estimate(ks, note=lost), Estimate(moved, note=lost)
    how = f"{draws.n_draws} draws of {what}, safe interval"
    method = f"{how}; {test}" if test else how
    return (
        Estimate(ks, max(ks - far_ks, 0.0), min(ks + far_ks, 1.0), p, method, note),
        Estimate(moved, max(moved - far_moved, 0.0), moved + far_moved, None, how),
    )


def _gap(ordered: Ordered, mass_a: Floats, mass_b: Floats) -> tuple[Floats, Floats]:
    """``F_A − F_B`` at each distinct prediction, and the predictions."""
    gap = np.cumsum(mass_a) / mass_a.sum() - np.cumsum(mass_b) / mass_b.sum()
    ends = ordered.ends()
    return (gap, ordered.values) if ends is None else (gap[ends], ordered.values[ends])


def _cells(ordered: Ordered, masses: tuple[Floats, Floats]) -> tuple[Codes, Floats]:
    """The cell of each row, cells being of equal mass, and half the width of each."""
    both = masses[0] / masses[0].sum() + masses[1] / masses[1].sum()
    cell = np.minimum(np.cumsum(both) * (CELLS / 2), CELLS - 1).astype(np.intp)
    if ordered.starts is not None:  # ties stay together
        runs = np.diff(ordered.starts, append=len(cell))
        cell = np.repeat(cell[ordered.starts], runs)
    firsts = np.flatnonzero(np.diff(cell, prepend=-1))
    tops = np.maximum.reduceat(ordered.values, firsts)
    widths = np.zeros(CELLS)
    widths[np.unique(cell)[:-1]] = np.diff(tops / 2.0)
    return cell, widths


@dataclass(frozen=True)
class _Draws:
    """How much of each group, or of each of its tasks, lies in each cell."""

    a: Floats  # (units, cells); one unit with independent rows
    b: Floats
    sizes: tuple[int, int] = (0, 0)  # rows that a draw has; 0 where tasks are drawn
    mixed: bool = False  # whether the groups share their units, drawn together
    n_draws: int = 399

    @classmethod
    def of(cls, cells: Codes, groups: TwoGroups) -> _Draws:
        """Groups are drawn separately: their rows, or their tasks if these must be."""
        tables = []
        for group in (groups.a, groups.b):
            units = np.zeros(group.n, np.intp)
            if groups.needed and group.tasks is not None:
                units = np.unique(group.tasks, return_inverse=True)[1]
            tables.append(_table(cells, group, units, int(units.max(initial=0)) + 1))
        sizes = (0, 0) if groups.needed else (_size(groups.a), _size(groups.b))
        return cls(tables[0], tables[1], sizes)

    @classmethod
    def of_mixed(cls, cells: Codes, groups: TwoGroups, most_units: int) -> _Draws:
        """Tasks are drawn, each with its rows of both groups."""
        both = np.concatenate(groups.tasks)
        present, codes = np.unique(both, return_inverse=True)
        # Bundles of whole tasks are independent of each other as tasks are.
        codes, n = codes % most_units, min(len(present), most_units)
        of_a, of_b = np.split(codes, [groups.a.n])
        tables = _table(cells, groups.a, of_a, n), _table(cells, groups.b, of_b, n)
        return cls(*tables, mixed=True)

    @property
    def n_units(self) -> int:
        """Independent units of the smaller group."""
        return min(self.sizes if any(self.sizes) else (len(self.a), len(self.b)))

    def farthest(
        self, rng: np.random.Generator, widths: Floats, confidence: float
    ) -> Floats:
        """Quantiles of both distances between drawn and observed differences."""
        off = np.abs(np.cumsum(self._off(rng), axis=1))
        ks, half = off.max(axis=1), off @ widths
        return np.asarray(np.quantile((ks, half), confidence, axis=1))

    def _off(self, rng: np.random.Generator) -> Floats:
        """Drawn shares of A less those of B in each cell, less the observed ones."""
        if self.mixed:
            times = self._times(len(self.a), rng).astype(np.float64)
            drawn = [times @ self.a, times @ self.b]
        else:
            drawn = [
                self._drawn(table, size, rng)
                for size, table in zip(self.sizes, (self.a, self.b), strict=True)
            ]
        masses = [each.sum(axis=1, keepdims=True) for each in drawn]
        known = (masses[0][:, 0] > 0.0) & (masses[1][:, 0] > 0.0)  # has both groups
        a, b = (
            each[known] / mass[known] - table.sum(axis=0) / table.sum()
            for each, mass, table in zip(drawn, masses, (self.a, self.b), strict=True)
        )
        return np.asarray(a - b)

    def _drawn(self, table: Floats, size: int, rng: np.random.Generator) -> Floats:
        """The mass of one group in each cell, in each draw of its rows or tasks."""
        if not size:
            return self._times(len(table), rng) @ table
        shares = table[0] / table.sum()
        return rng.multinomial(size, shares, self.n_draws).astype(np.float64)

    def _times(self, n: int, rng: np.random.Generator) -> Codes:
        """How often each of n units is drawn, in each of the draws."""
        return rng.multinomial(n, np.full(n, 1.0 / n), self.n_draws)


def _table(cells: Codes, group: GroupRows, units: Codes, n: int) -> Floats:
    """The mass of a group in each cell, by unit."""
    flat = np.bincount(units * CELLS + cells[group.rows], group.weights, n * CELLS)
    return flat.reshape(n, CELLS).astype(np.float64)


def _size(group: GroupRows) -> int:
    """The effective number of rows, a whole number."""
    return max(int(group.kish()), 1)


def _p_value(
    ks: float,
    groups: TwoGroups,
    ordered: Ordered,
    draws: _Draws,
    rng: np.random.Generator,
    deals: int = 999,
    most_exact: int = 1_000,
    most_finite: int = 20_000,
) -> tuple[float | None, str, str]:
    """The p-value of "both groups have one distribution", its method, and a note.

    Up to ``most_exact`` rows of a group scipy counts all paths; up to ``most_finite``
    the law of finite samples is used, and beyond it that of the limit.
    """
    if groups.needed:
        if np.intersect1d(*groups.tasks).size:
            return None, "", "no p-value: some tasks that are clusters mix the groups"
        return _permuted(draws, rng, deals), f"{deals} deals of the tasks", ""
    if groups.possible:
        return None, "", "no p-value: tasks, which may be clusters, mix the groups"
    n_a, n_b = _size(groups.a), _size(groups.b)
    if groups.a.weights is None and max(n_a, n_b) <= most_exact:
        a, b = ordered.exact[groups.a.rows], ordered.exact[groups.b.rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy says where it falls back
            return float(ks_2samp(a, b).pvalue), "scipy's ks_2samp", ""
    worth = max(round(n_a * n_b / (n_a + n_b)), 1)
    many = worth > most_finite
    p = float(kstwobign.sf(math.sqrt(worth) * ks) if many else kstwo.sf(ks, worth))
    return min(max(p, 0.0), 1.0), "Kolmogorov's law", ""


def _permuted(draws: _Draws, rng: np.random.Generator, deals: int) -> float:
    """The p-value of a permutation test that deals whole tasks to the groups."""
    table = np.concatenate((draws.a, draws.b))
    n_a, n = len(draws.a), len(table)
    dealt = np.argsort(rng.random((deals + 1, n)), axis=1) < n_a
    dealt[0] = np.arange(n) < n_a
    in_a = dealt.astype(np.float64) @ table
    in_b = table.sum(axis=0) - in_a
    shares = [each / each.sum(axis=1, keepdims=True) for each in (in_a, in_b)]
    found = np.abs(np.cumsum(shares[0] - shares[1], axis=1)).max(axis=1)
    return float((found >= found[0] - 1e-12).mean())
