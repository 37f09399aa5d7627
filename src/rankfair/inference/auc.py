"""AUC with limits and a p-value, by the method that fits the rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfair.inference.estimate import Estimate
from rankfair.inference.limits import (
    ROWS,
    TASKS,
    GroupSpread,
    Prior,
    TaskPart,
    information,
    over_tasks,
    score_limits,
    score_p_value,
)
from rankfair.inference.ordered import snapped
from rankfair.inference.parts import NO_SPREAD, Part, welch_degrees
from rankfair.inference.permutation import mann_whitney
from rankfair.inference.sides import Side, Sides

__all__ = ["auc_estimate"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
ROUNDING = 1e-12


def auc_estimate(
    above: Floats,
    below: Floats,
    sides: Sides,
    confidence: float,
    twice_ranks: tuple[Codes, Codes] | None = None,
    seed: int | None = 0,
) -> Estimate:
    """Return AUC with limits, and the p-value of "ranks do not tell the groups apart".

    Rows are independent, or tasks are clusters (see `clusters_of`); where both may be,
    the wider limits count.  The p-value of independent rows is Mann and Whitney's, by
    permutations below 30 rows in a group; with clusters or weights it is that of the
    limits.

    Parameters
    ----------
    above : ndarray of shape (n_A,)
        The share of group B below each row of A.
    below : ndarray of shape (n_B,)
        The share of group A above each row of B.
    sides : Sides
        The groups.
    confidence : float
        Between 0 and 1.
    twice_ranks : pair of integer ndarrays, optional
        Twice the mid-ranks of the rows of A and of B among both.
    seed : int or None
        Of permutations, where not all can be counted.

    Returns
    -------
    Estimate
        Without limits where a group has one row (or task), or no placement differs.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.arange(20) % 2 == 0
    >>> sides = Sides.of(in_a, ~in_a, ("A", "B"))
    >>> print(auc_estimate(np.arange(10) / 10, np.arange(10) / 10, sides, 0.95))
    0.450 (0.235 to 0.690)
    """
    rows = _View.of_rows(above, below, sides)
    view = rows
    if sides.needed or sides.possible:
        tasks = _View.of_tasks(above, below, sides, rows)
        view = tasks if sides.needed else _wider(rows, tasks, confidence)
    if view.doubt:
        return Estimate(view.auc, note=view.doubt)
    low, high = view.limits(confidence)
    p = float(score_p_value(view.auc, view.a, view.b, view.prior, view.factor))
    method = view.method
    if view is rows and twice_ranks is not None and sides.a.weights is None:
        both = np.concatenate(twice_ranks)
        n_a = len(twice_ranks[0])
        p, test = mann_whitney(int(twice_ranks[0].sum()), both, n_a, seed)
        method = f"{method}; {test}"
    return Estimate(view.auc, low, high, p, method)


@dataclass(frozen=True)
class _View:
    """One way to see what is independent: the rows, or the tasks."""

    auc: float
    a: GroupSpread
    b: GroupSpread
    prior: Prior
    factor: float
    n_tasks: int | None

    @classmethod
    def of_rows(cls, above: Floats, below: Floats, sides: Sides) -> _View:
        auc = float(np.average(above, weights=sides.a.weights))
        if sides.a.weights is not None:  # whose sums are rounded; counts are not
            auc = float(snapped(np.asarray(auc)))
        a, b = (
            _row_spread(placements - auc, side)
            for placements, side in ((above, sides.a), (below, sides.b))
        )
        return cls(auc, a, b, ROWS, 1.0, None)

    @classmethod
    def of_tasks(cls, above: Floats, below: Floats, sides: Sides, rows: _View) -> _View:
        (code_a, code_b), (w_a, w_b) = sides.tasks, sides.weights
        a = Part.of_clusters(above - rows.auc, code_a, sides.n_tasks, w_a)
        b = Part.of_clusters(below - rows.auc, code_b, sides.n_tasks, w_b)
        both, factor = _together(rows.auc, a, b)
        parts = (
            TaskPart(
                part.variance,
                both or part.df,
                float(own.size * (part.share @ part.share)),
                part.clusters.rho if part.clusters else 1.0,
                int(np.count_nonzero(part.share)),
            )
            for part, own in ((a, rows.a), (b, rows.b))
        )
        spread_a, spread_b = over_tasks((rows.a, rows.b), (next(parts), next(parts)))
        present = int(np.count_nonzero((a.share > 0) | (b.share > 0)))
        return cls(rows.auc, spread_a, spread_b, TASKS, factor, present)

    @property
    def doubt(self) -> str:
        """Why nothing is known about the population, if so."""
        unit = "row" if self.n_tasks is None else "task"
        total = float(self.a.variance + self.b.variance)
        if math.isnan(total):
            return f"a group rests on one {unit} only, which shows no spread"
        if self.auc in (0.0, 1.0):
            return ""
        if total <= NO_SPREAD or self.factor <= ROUNDING:
            return (
                f"no {unit} is placed differently from another: nothing to learn from"
            )
        return ""

    @property
    def method(self) -> str:
        """How limits are made, in words."""
        if self.auc in (0.0, 1.0):
            return "limits that hold for any distributions (groups do not overlap)"
        if self.n_tasks is None:
            return "DeLong's variance, score limits"
        return f"variance over {self.n_tasks:,} tasks (Obuchowski), score limits"

    def limits(self, confidence: float) -> tuple[float, float]:
        """Return limits of AUC."""
        low, high = score_limits(
            self.auc, self.a, self.b, confidence, self.prior, self.factor
        )
        return float(low), float(high)


def _together(auc: float, a: Part, b: Part) -> tuple[float | None, float]:
    """Degrees of freedom of tasks with both groups, and what these add to the variance.

    That is a ratio, averaged with the one that sizes of tasks let expect.
    """
    total, shared = a.variance + b.variance, 2.0 * float(a.pulls @ b.pulls)
    if not shared or not total > 0.0 or not a.clusters or not b.clusters:
        return None, 1.0
    df = welch_degrees(a, b)
    both = float(a.clusters.joined(b.clusters, 1.0).variances().sum())
    apart = float(a.clusters.variances().sum() + b.clusters.variances().sum())
    weight = TASKS.variance / information(auc, df + 1.0)
    seen, expected = 1.0 + shared / total, both / apart
    return df, float((df * seen + weight * expected) / (df + weight))


def _wider(rows: _View, tasks: _View, confidence: float) -> _View:
    if rows.doubt or tasks.doubt:
        return rows
    widths = [high - low for low, high in (v.limits(confidence) for v in (rows, tasks))]
    return tasks if widths[1] > widths[0] else rows


def _row_spread(excess: Floats, side: Side) -> GroupSpread:
    if side.weights is None:
        part = Part.of_rows(excess)
        return GroupSpread(part.variance, part.df, float(side.n), float(side.n))
    part = Part.of_weighted(excess, side.weights)
    return GroupSpread(part.variance, part.df, part.worth, part.df + 1.0)
