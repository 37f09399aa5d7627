"""The line of rows that are not in memory: histograms of what is kept beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints import Rank
from rankfair.core.blocks import Floats
from rankfair.core.problem import Groups, Part, Problem, whole_if_so
from rankfair.core.ranks import binned_twice_u
from rankfair.engines import Engine
from rankfair.engines.chunk import Held
from rankfair.engines.chunked import ChunkedEngine
from rankfair.engines.rows import Kept
from rankfair.solvers.base import Fitter
from rankfair.solvers.line import (
    MOST_LEVERAGE,
    Along,
    Counted,
    Demand,
    Line,
    Units,
    line_of,
)

BINS = 1 << 13  # of quick counts
FINE = 1 << 19  # of the last one
EXACT_ROWS = 1 << 20  # so many predictions are brought together and counted exactly
SOME_ROWS = 1 << 16  # rows of a rough look


@dataclass(frozen=True)
class Streamed(Along):
    """Predictions ``q − x e`` that are kept beside the chunks of an engine."""

    engine: ChunkedEngine
    kept: Kept
    demands: tuple[Demand, ...]
    rows: int

    @property
    def n_rows(self) -> int:
        """How many rows are counted."""
        return self.rows

    @property
    def binned(self) -> bool:
        """Rows are many."""
        return True

    def value(self, x: float) -> float:
        """The value at ``x``, sure to 1e-5 of an AUC."""
        return self._value(x, FINE)

    def quick_value(self, x: float) -> float:
        """The value from fewer bins."""
        return self._value(x, BINS)

    def _value(self, x: float, bins: int) -> float:
        (demand,) = self.demands
        if demand.constraint.pairs:
            return binned_twice_u(*self.engine.histograms(self.kept, x, bins))[0]
        # Two rows, as heavy as the groups and at their means, stand for all.
        q, e = self.means
        a, b = demand.groups.total_a, demand.groups.total_b
        both = Part(np.array([True, False]), np.array([a, b]), a, b, 1)
        return demand.constraint.value(q - x * e, both)

    @cached_property
    def means(self) -> tuple[Floats, Floats]:
        """The means of ``q`` and of ``e`` in groups A and B."""
        total = self.kept.total(_group_sums)
        return total[1] / total[0], total[2] / total[0]

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of the only demand."""
        (demand,) = self.demands
        ranks = replace(self, demands=(Demand(Rank(), demand.groups),))
        return [Rank().show(ranks.value(float(lam[0])), demand.groups)]

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups, in some of the rows."""
        return self.fewer().proxies()

    def fewer(self) -> Counted:
        """Some of the rows in memory."""
        step = max(1, self.rows // SOME_ROWS)
        return _collected(self.kept, self.demands, step, Units())


def directions_of(engine: Engine, demands: Sequence[Demand]) -> list[Any]:
    """The direction of each demand: of every row, or of A and of B."""
    if isinstance(engine, Problem):
        return [each.direction() for each in demands]
    return [each.levels() for each in demands]


def make_line(
    fitter: Fitter,
    of_g: Fitter,
    demands: Sequence[Demand],
    directions: Sequence[Any],
    sums: Floats,
    count: str = "loo",
) -> Line:
    """Fit y and the directions, and predict every row with and without itself.

    ``sums`` (k, n + 1, 1 + r) are the moments of y and of the directions.
    """
    W0 = fitter.solve(sums[:, :, 0])
    D = np.zeros((len(directions), *W0.shape))
    for i in range(len(directions)):
        D[i] = of_g.solve(sums[:, :, i + 1])
    return line_through(fitter, of_g, W0, D, demands, directions, count)


def line_through(
    fitter: Fitter,
    of_g: Fitter,
    W0: Floats,
    D: Floats,
    demands: Sequence[Demand],
    directions: Sequence[Any],
    count: str,
    at: Floats | None = None,
) -> Line:
    """The line of these coefficients, wherever the rows are."""
    if isinstance(fitter.problem, Problem):
        return line_of(fitter, of_g, W0, D, demands, directions, at)
    engine = fitter.problem
    assert isinstance(engine, ChunkedEngine)
    own = slice(engine.n_tasks)
    K = None
    if count == "loo" and fitter.penalty.leverages:
        K_y = fitter.inverse_blocks(W0 if at is None else at)
        K = K_y, K_y if of_g is fitter else of_g.inverse_blocks(D[0])
    levels = np.array([(b, a) for a, b in directions])
    W = np.concatenate((W0[None, own], D[:, own]))
    counted = _along(engine, engine.kept_line(W, K, levels, MOST_LEVERAGE), demands)
    alone = int(np.count_nonzero(engine.row_counts <= 1.0))
    left_out = None if K is None else counted
    return Line(engine, fitter, W0, D, left_out, counted, None, alone)


def _along(engine: ChunkedEngine, kept: Kept, demands: Sequence[Demand]) -> Along:
    """What is kept, brought into memory where it is little."""
    units = Units(engine.y_unit, engine.y_centre, engine.resolution)
    if engine.rows.n_rows <= EXACT_ROWS:
        return _collected(kept, demands, 1, units)
    weight, squares, rows = kept.total(_group_weights)
    a, b = weight
    pair = squares[0] / a * squares[1] / b
    whole = engine.total.whole
    groups = Part(
        np.zeros(0, bool),
        None,
        round(a) if whole else a,
        round(b) if whole else b,
        1 if whole else pair,
    )
    posed = tuple(Demand(each.constraint, groups) for each in demands)
    return Streamed(engine, kept, posed, int(rows.sum()))


def _collected(
    kept: Kept, demands: Sequence[Demand], step: int, units: Units
) -> Counted:
    """Every ``step``-th row of what is kept, in memory."""
    held = list(kept.each(partial(_some, step=step)))
    q = np.concatenate([each.m for each in held])
    e = [each.p for each in held if each.p is not None]
    weights = [each.weights for each in held if each.weights is not None]
    in_a = np.concatenate([each.in_a for each in held])
    groups = Groups(in_a, whole_if_so(np.concatenate(weights)) if weights else None)
    own = tuple(Demand(each.constraint, groups) for each in demands)
    return Counted(q, np.concatenate(e)[None], own, units)


def _some(held: Held, step: int) -> Held:
    rows = slice(step // 2, None, step)
    return Held(
        held.m[rows],
        None if held.p is None else held.p[rows],
        held.in_a[rows],
        None if held.weights is None else held.weights[rows],
    )


def _group_weights(held: Held) -> NDArray[np.float64]:
    """The weight, squared weight and rows of groups A and B: (3, 2)."""
    w = np.ones(len(held.m)) if held.weights is None else held.weights
    sides = held.in_a, ~held.in_a
    return np.array(
        [
            [w[side].sum() for side in sides],
            [(w[side] ** 2).sum() for side in sides],
            [np.count_nonzero(side) for side in sides],
        ]
    )


def _group_sums(held: Held) -> NDArray[np.float64]:
    """The weight of groups A and B, and the sums of ``q`` and ``e``: (3, 2)."""
    assert held.p is not None
    w = np.ones(len(held.m)) if held.weights is None else held.weights
    sides = held.in_a, ~held.in_a
    parts = np.ones(len(w)), held.m, held.p
    return np.array([[(w * part)[side].sum() for side in sides] for part in parts])
