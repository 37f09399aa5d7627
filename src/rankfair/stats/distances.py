"""Distances between the predictions of two groups: Kolmogorov-Smirnov, Wasserstein.

Intervals come from a bootstrap of rows, or of tasks where these are clusters, on a grid
of quantiles: their cost does not grow with the rows.  Each group is drawn once, for all
of its comparisons.  By the triangle inequality the error of a distance is at most the
distance between the drawn and the observed difference of distribution functions.  So
the intervals are conservative, and somewhat wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankfair.input.arrays import Codes, Floats
from rankfair.stats.estimate import ROUNDING, Estimate, TwoGroups
from rankfair.stats.ordered import Ordered

CELLS = 256  # of the grid of quantiles


@dataclass(frozen=True)
class GroupDraws:
    """The mass of every group in each cell of a grid, observed and drawn.

    Attributes
    ----------
    ordered : Ordered
        All rows by prediction.
    codes : integer ndarray of shape (N,)
        The group of each row in that order, −1 where it is not known.
    n_groups : int
        The number of groups.
    mass : ndarray of shape (N,)
        The weight of each row.
    tasks : integer ndarray of shape (N,) or None
        The task of each row.
    seed : int or None
        Seed of the draws.
    n_draws : int
        How many there are.
    most_units : int
        Tasks are drawn in so many bundles at most.
    """

    ordered: Ordered
    codes: Codes
    n_groups: int
    mass: Floats
    tasks: Codes | None = None
    seed: int | None = 0
    n_draws: int = 399
    most_units: int = 4_096

    @cached_property
    def cells(self) -> Codes:
        """The cell of each row: (N,).  All groups together have equal mass in each."""
        known = self.codes >= 0
        whole = np.bincount(self.codes[known], self.mass[known], self.n_groups)
        share = np.where(known, self.mass / whole[self.codes], 0.0)
        cells = np.minimum(np.cumsum(share) * (CELLS / self.n_groups), CELLS - 1)
        cells = cells.astype(np.intp)
        starts = self.ordered.starts
        if starts is None:
            return cells
        return np.repeat(cells[starts], np.diff(starts, append=len(cells)))  # ties

    def _tables(self, units: Codes, n_units: int) -> Floats:
        """The mass in each cell, by group and unit: (n_groups, n_units, CELLS)."""
        at = np.flatnonzero(self.codes >= 0)
        flat = (self.codes[at] * n_units + units[at]) * CELLS + self.cells[at]
        found = np.bincount(flat, self.mass[at], self.n_groups * n_units * CELLS)
        return np.asarray(found.reshape(self.n_groups, n_units, CELLS))

    @cached_property
    def observed(self) -> Floats:
        """The mass of each group up to each cell: (n_groups + 1, 1, CELLS)."""
        whole = self._tables(np.zeros(len(self.codes), np.intp), 1)
        return _with_sum(np.cumsum(whole, axis=2))

    @cached_property
    def of_rows(self) -> Floats:
        """The same of drawn rows, each group apart: (n_groups + 1, n_draws, CELLS)."""
        rng = np.random.default_rng(self.seed)
        sizes = np.array(
            [_size(self.mass[self.codes == g]) for g in range(self.n_groups)]
        )
        # How many rows each group has is drawn too: it matters where groups are joined.
        times = rng.multinomial(sizes.sum(), sizes / sizes.sum(), self.n_draws) / sizes
        drawn = np.empty((self.n_groups, self.n_draws, CELLS))
        for g in range(self.n_groups):
            in_cells = np.diff(self.observed[g, 0], prepend=0.0)
            whole = in_cells.sum()
            counts = rng.multinomial(sizes[g], in_cells / whole, self.n_draws)
            scale = times[:, g, None] * (whole / sizes[g])
            np.cumsum(counts * scale, axis=1, out=drawn[g])
        return _with_sum(drawn)

    @cached_property
    def of_tasks(self) -> Floats:
        """The same of drawn tasks, each with its rows of all groups."""
        assert self.tasks is not None
        present = np.bincount(self.tasks) > 0
        # Bundles of whole tasks are independent of each other as tasks are.
        n = min(int(np.count_nonzero(present)), self.most_units)
        tables = self._tables(((np.cumsum(present) - 1) % n)[self.tasks], n)
        rng = np.random.default_rng(self.seed)
        times = rng.multinomial(n, np.full(n, 1.0 / n), self.n_draws)
        drawn = times.astype(np.float64) @ tables
        return _with_sum(np.cumsum(drawn, axis=2, out=drawn))

    def farthest(
        self,
        drawn: Floats,
        pair: tuple[int, int | None],
        widths: Floats,
        confidence: float,
    ) -> Floats:
        """Quantiles of both distances between drawn and observed differences."""
        (a, b), (seen_a, seen_b) = (_of_pair(it, pair) for it in (drawn, self.observed))
        has_both = np.minimum(a[:, -1], b[:, -1]) > ROUNDING * drawn[-1, :, -1]
        if not has_both.all():
            a, b = a[has_both], b[has_both]
        off = a / a[:, -1:] - b / b[:, -1:]
        off -= seen_a / seen_a[:, -1:] - seen_b / seen_b[:, -1:]
        np.abs(off, out=off)
        far = off.max(axis=1), off @ widths
        return np.asarray(np.quantile(far, confidence, axis=1))


def _of_pair(groups: Floats, pair: tuple[int, int | None]) -> tuple[Floats, Floats]:
    """The masses of two groups, or of one and of all others together."""
    a, b = pair
    return groups[a], groups[-1] - groups[a] if b is None else groups[b]


def _with_sum(groups: Floats) -> Floats:
    """Masses by group, and at last those of all groups together."""
    return np.concatenate((groups, groups.sum(axis=0, keepdims=True)))


def distances(
    draws: GroupDraws,
    pair: tuple[int, int | None],
    at: Codes,
    groups: TwoGroups,
    confidence: float,
) -> tuple[Estimate, Estimate]:
    """Return the Kolmogorov-Smirnov and the Wasserstein distance with intervals.

    Parameters
    ----------
    draws : GroupDraws
        All rows by prediction, and the draws of their groups.
    pair : pair of int
        The groups; the second is None for all others.
    at : integer ndarray of shape (n,)
        The places of the rows of both, in order.
    groups : TwoGroups
        The groups among these rows.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    ks, wasserstein : Estimate

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.arange(40) % 2
    >>> groups = TwoGroups.of(codes == 0)
    >>> draws = GroupDraws(Ordered.of(np.arange(40.0)), codes, 2, np.ones(40))
    >>> ks, moved = distances(draws, (0, 1), np.arange(40), groups, 0.95)
    >>> round(ks.value, 6), round(moved.value, 6), ks.covers(0.1)
    (0.05, 1.0, True)
    """
    ordered, cells = draws.ordered.among(at), draws.cells[at]
    gap, values = _gap(ordered, groups)
    ks = min(float(np.abs(gap).max()), 1.0)  # sums of weights are rounded
    # Halves, so that the widest range does not overflow.
    moved = 2.0 * float(np.abs(gap[:-1]) @ np.diff(values / 2.0))
    exact = ordered.exact[groups.a.rows], ordered.exact[groups.b.rows]
    unit = "task" if groups.needed else "row"
    units = map(np.unique, groups.tasks) if groups.needed else exact
    lost = ""
    if min(map(len, units)) < 2 or min(groups.a.kish(), groups.b.kish()) < 2:
        lost = f"a group rests on one {unit} only, which shows no spread"
    elif all(values[0] == values[-1] for values in exact):  # they are in order
        lost = "no two rows of a group differ"
    if lost:
        return Estimate(ks, note=lost), Estimate(moved, note=lost)
    widths, what = _widths(ordered.values, cells), f"{unit}s"
    drawn = draws.of_tasks if groups.needed else draws.of_rows
    far = draws.farthest(drawn, pair, widths, confidence)
    if groups.possible:
        more = draws.farthest(draws.of_tasks, pair, widths, confidence)
        far, what = np.maximum(far, more), "rows and of tasks (the wider)"
    far_ks, far_moved = float(far[0]), 2.0 * float(far[1])
    if far_ks <= ROUNDING:
        lost = f"no draw of {what} differs from another"
        return Estimate(ks, note=lost), Estimate(moved, note=lost)
    how = f"{draws.n_draws} draws of {what}, safe interval"
    ends = max(ks - far_ks, 0.0), min(ks + far_ks, 1.0)
    return (
        Estimate(ks, *ends, None, how),
        Estimate(moved, max(moved - far_moved, 0.0), moved + far_moved, None, how),
    )


def _gap(ordered: Ordered, groups: TwoGroups) -> tuple[Floats, Floats]:
    """``F_A − F_B`` at each distinct prediction, and the predictions."""
    shares = []
    for group in (groups.a, groups.b):
        mass = np.zeros(len(ordered.values))
        mass[group.rows] = 1.0 if group.weights is None else group.weights
        shares.append(np.cumsum(mass) / group.mass)
    gap, ends = shares[0] - shares[1], ordered.ends()
    return (gap, ordered.values) if ends is None else (gap[ends], ordered.values[ends])


def _widths(values: Floats, cells: Codes) -> Floats:
    """Half the width of each cell that has values, which are in order."""
    firsts = np.flatnonzero(np.diff(cells, prepend=-1))
    widths = np.zeros(CELLS)
    tops = values[np.append(firsts[1:], len(values)) - 1]
    widths[cells[firsts][:-1]] = np.diff(tops / 2.0)
    return widths


def _size(mass: Floats) -> int:
    """The effective number of rows (Kish), a whole number."""
    return max(int(mass.sum() ** 2 / (mass @ mass)), 1)
