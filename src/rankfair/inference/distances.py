"""Distances between the predictions of two groups: Kolmogorov-Smirnov, Wasserstein.

Limits are made on a grid of quantiles, so that their cost does not grow with the rows.
Groups (or tasks, where they are clusters) are drawn anew; a distance of the population
differs from the one counted by at most the distance between the drawn and the counted
difference of distribution functions.  So the limits are safe, and somewhat wide.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp, kstwo, kstwobign

from rankfair.inference.estimate import Estimate
from rankfair.inference.ordered import Ordered
from rankfair.inference.sides import Side, Sides

__all__ = ["distances"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

CELLS = 256
DRAWS = 399
DEALT = 999
MOST_FINITE = 20_000
MOST_EXACT = 1_000  # rows of a group up to which scipy counts all paths
ROUNDING = 1e-12
MOST_UNITS = 4_096  # mixed tasks that are drawn; of more, several are drawn as one


def distances(
    ordered: Ordered,
    sides: Sides,
    masses: tuple[Floats, Floats],
    confidence: float,
    seed: int | None = 0,
) -> tuple[Estimate, Estimate]:
    """Return the Kolmogorov-Smirnov and the Wasserstein distance with limits.

    Parameters
    ----------
    ordered : Ordered
        Rows by prediction.
    sides : Sides
        The groups, as places in that order.
    masses : pair of ndarrays of shape (N,)
        Weights in that order, 0 for rows of the other group.
    confidence : float
        Between 0 and 1.
    seed : int or None
        Of the draws.

    Returns
    -------
    ks, wasserstein : Estimate
        The first with a p-value.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(40) % 2 == 0
    >>> rows = Ordered.of(np.arange(40.0))
    >>> sides = Sides.of(in_a, ~in_a, ("A", "B"))
    >>> masses = in_a.astype(float), (~in_a).astype(float)
    >>> ks, moved = distances(rows, sides, masses, 0.95)
    >>> round(ks.value, 6), round(moved.value, 6), ks.covers(0.1)
    (0.05, 1.0, True)
    """
    gap, values = _gap(ordered, *masses)
    ks = min(float(np.abs(gap).max()), 1.0)  # sums of weights are rounded
    # Halves, so that the widest range does not overflow.
    moved = 2.0 * float(np.abs(gap[:-1]) @ np.diff(values / 2.0))
    units = "tasks" if sides.needed else "rows"
    rng = np.random.default_rng(seed)
    grid = _Grid.of(ordered, sides, masses)
    p, test, note = _p_value(ks, sides, ordered, grid, rng)
    lost = ""
    if grid.n_units < 2:
        lost = f"a group rests on one {units[:-1]} only, which shows no spread"
    elif all(_is_flat(ordered.told[side.rows]) for side in (sides.a, sides.b)):
        lost = "no two rows of a group differ"
    if lost:
        return Estimate(ks, note=lost), Estimate(moved, note=lost)
    far_ks, far_moved = grid.draw(rng, confidence)
    if sides.possible:
        by_task = _Grid.of(ordered, sides, masses, mixed=True).draw(rng, confidence)
        units = "rows and of tasks (the wider)"
        far_ks, far_moved = max(far_ks, by_task[0]), max(far_moved, by_task[1])
    if far_ks <= ROUNDING:
        lost = f"no draw of {units} differs from another"
        return Estimate(ks, note=lost), Estimate(moved, note=lost)
    how = f"{DRAWS} draws of {units}, safe limits"
    method = f"{how}; {test}" if test else how
    return (
        Estimate(ks, max(ks - far_ks, 0.0), min(ks + far_ks, 1.0), p, method, note),
        Estimate(moved, max(moved - far_moved, 0.0), moved + far_moved, None, how),
    )


def _is_flat(values: Floats) -> bool:
    return bool(values[0] == values[-1])  # they are in order


def _gap(ordered: Ordered, mass_a: Floats, mass_b: Floats) -> tuple[Floats, Floats]:
    """``F_A − F_B`` at each distinct prediction, and the predictions."""
    gap = np.cumsum(mass_a) / mass_a.sum() - np.cumsum(mass_b) / mass_b.sum()
    ends = ordered.ends()
    return (gap, ordered.values) if ends is None else (gap[ends], ordered.values[ends])


@dataclass(frozen=True)
class _Grid:
    """How much of each group, or of each of its tasks, lies in cells of equal mass."""

    a: Floats  # (units, cells); one unit with independent rows
    b: Floats
    rows: tuple[int, int]  # independent rows that a draw has; 0 where tasks are drawn
    widths: Floats
    mixed: bool = False  # whether the groups share their units, drawn together

    @classmethod
    def of(
        cls,
        ordered: Ordered,
        sides: Sides,
        masses: tuple[Floats, Floats],
        mixed: bool = False,
    ) -> _Grid:
        both = masses[0] / masses[0].sum() + masses[1] / masses[1].sum()
        cell = np.minimum(np.cumsum(both) * (CELLS / 2), CELLS - 1).astype(np.intp)
        if ordered.starts is not None:  # ties stay together
            runs = np.diff(ordered.starts, append=len(cell))
            cell = np.repeat(cell[ordered.starts], runs)
        tops = np.maximum.reduceat(
            ordered.values, np.flatnonzero(np.diff(cell, prepend=-1))
        )
        widths = np.zeros(CELLS)
        widths[np.unique(cell)[:-1]] = np.diff(tops / 2.0)  # halves, as above
        if mixed:
            together = _tables_of_mixed(cell, sides)
            return cls(*together, (0, 0), widths, mixed=True)
        tables = [
            _table(cell[side.rows], side, sides.n_tasks if sides.needed else 0)
            for side in (sides.a, sides.b)
        ]
        sizes = (0, 0) if sides.needed else (_size(sides.a), _size(sides.b))
        return cls(tables[0], tables[1], sizes, widths)

    @property
    def n_units(self) -> int:
        """Independent units of the smaller group."""
        if any(self.rows):
            return min(self.rows)
        return min(len(self.a), len(self.b))

    def draw(self, rng: np.random.Generator, confidence: float) -> tuple[float, float]:
        """How far drawn differences of distribution functions are from the counted."""
        if self.mixed:
            off = self._off_together(rng)
        else:
            off = self._off(self.a, self.rows[0], rng) - self._off(
                self.b, self.rows[1], rng
            )
        ks = np.abs(off).max(axis=1)
        half = np.abs(off) @ self.widths
        far = 2.0 * float(np.quantile(half, confidence))
        return float(np.quantile(ks, confidence)), far

    def _off_together(self, rng: np.random.Generator) -> Floats:
        """Draw tasks, each with its rows of both groups."""
        n = len(self.a)
        times = rng.multinomial(n, np.full(n, 1.0 / n), DRAWS).astype(np.float64)
        off = np.zeros((DRAWS, CELLS))
        known = np.ones(DRAWS, bool)
        for sign, table in ((1.0, self.a), (-1.0, self.b)):
            drawn = times @ table
            whole = drawn.sum(axis=1, keepdims=True)
            known &= whole[:, 0] > 0.0
            drawn /= np.where(whole > 0.0, whole, 1.0)
            off += sign * (drawn - table.sum(axis=0) / table.sum())
        found: Floats = np.cumsum(off[known], axis=1)  # draws with both groups
        return found

    @staticmethod
    def _off(table: Floats, size: int, rng: np.random.Generator) -> Floats:
        counted = table.sum(axis=0) / table.sum()
        if size:
            drawn = rng.multinomial(size, counted, DRAWS) / size
        else:
            n = len(table)
            times = rng.multinomial(n, np.full(n, 1.0 / n), DRAWS)
            drawn = times @ table
            drawn = drawn / drawn.sum(axis=1, keepdims=True)
        found: Floats = np.cumsum(drawn - counted, axis=1)
        return found


def _table(cells: Codes, side: Side, n_tasks: int) -> Floats:
    """The mass of a group in each cell, by task where tasks are drawn."""
    if not n_tasks or side.tasks is None:
        return np.bincount(cells, side.weights, CELLS)[None, :].astype(np.float64)
    present, codes = np.unique(side.tasks, return_inverse=True)
    flat = np.bincount(codes * CELLS + cells, side.weights, len(present) * CELLS)
    return flat.reshape(len(present), CELLS).astype(np.float64)


def _tables_of_mixed(cell: Codes, sides: Sides) -> tuple[Floats, Floats]:
    """The mass of either group in each cell, by the same tasks."""
    both = np.concatenate(sides.tasks)
    present, codes = np.unique(both, return_inverse=True)
    # Bundles of whole tasks are independent of each other as tasks are.
    codes, n = codes % MOST_UNITS, min(len(present), MOST_UNITS)
    tables = []
    for side, own in zip((sides.a, sides.b), np.split(codes, [sides.a.n]), strict=True):
        flat = np.bincount(own * CELLS + cell[side.rows], side.weights, n * CELLS)
        tables.append(flat.reshape(n, CELLS).astype(np.float64))
    return tables[0], tables[1]


def _size(side: Side) -> int:
    """Independent rows: Kish's effective size with weights."""
    if side.weights is None:
        return side.n
    return max(int(side.weights.sum() ** 2 / (side.weights @ side.weights)), 1)


def _p_value(
    ks: float, sides: Sides, ordered: Ordered, grid: _Grid, rng: np.random.Generator
) -> tuple[float | None, str, str]:
    """The chance of such a distance between groups that are alike, how, and a note."""
    if sides.needed:
        if np.intersect1d(*sides.tasks).size:
            return None, "", "no p-value: some tasks that are clusters mix the groups"
        return _dealt(grid, rng), f"{DEALT} deals of the tasks", ""
    if sides.possible:
        return None, "", "no p-value: tasks, which may be clusters, mix the groups"
    n_a, n_b = _size(sides.a), _size(sides.b)
    if sides.a.weights is None and max(n_a, n_b) <= MOST_EXACT:
        a, b = ordered.told[sides.a.rows], ordered.told[sides.b.rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy says where it falls back
            return float(ks_2samp(a, b).pvalue), "scipy's ks_2samp", ""
    worth = max(round(n_a * n_b / (n_a + n_b)), 1)
    # The law of finite samples takes its time where it no longer differs.
    far = worth > MOST_FINITE
    p = float(kstwobign.sf(math.sqrt(worth) * ks) if far else kstwo.sf(ks, worth))
    return min(max(p, 0.0), 1.0), "Kolmogorov's law", ""


def _dealt(grid: _Grid, rng: np.random.Generator) -> float:
    """Deal whole tasks to the groups at random and count distances as large."""
    table = np.concatenate((grid.a, grid.b))
    n_a, n = len(grid.a), len(table)
    deals = np.argsort(rng.random((DEALT + 1, n)), axis=1) < n_a
    deals[0] = np.arange(n) < n_a
    in_a = deals.astype(np.float64) @ table
    in_b = table.sum(axis=0) - in_a
    gaps = in_a / in_a.sum(axis=1, keepdims=True) - in_b / in_b.sum(
        axis=1, keepdims=True
    )
    found = np.abs(np.cumsum(gaps, axis=1)).max(axis=1)
    return float((found >= found[0] - 1e-12).mean())
