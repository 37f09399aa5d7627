"""Counts of rows that are not in memory: histograms of what is kept beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from rankfair.constraints import Rank
from rankfair.core.blocks import Floats
from rankfair.core.problem import Groups, Part, whole_if_so
from rankfair.core.ranks import binned_twice_u
from rankfair.engines.chunk import Held
from rankfair.engines.chunked import ChunkedEngine
from rankfair.engines.rows import Kept
from rankfair.solvers.counted import Counted, Demand, Units

BINS = 1 << 13  # of quick counts
FINE = 1 << 19  # of the last one
EXACT_ROWS = 1 << 20  # so many predictions are brought together and counted exactly
SOME_ROWS = 1 << 16  # rows of a rough look


@dataclass(frozen=True)
class Streamed(Counted):
    """Predictions ``q − x e`` kept beside the chunks of an engine.

    ``q`` and ``E`` are those of ``some`` rows, ``sums`` are of all.
    """

    engine: ChunkedEngine = field(kw_only=True)
    kept: Kept = field(kw_only=True)
    some: tuple[Demand, ...] = field(kw_only=True)
    sums: Floats = field(kw_only=True)  # (5, 2), as `_sums` has them

    @property
    def n_rows(self) -> int:
        """How many rows are counted."""
        return int(self.sums[2].sum())

    def values(self, lam: Floats) -> list[float]:
        """The value of the only demand, sure to 1e-5 of an AUC."""
        return [self._binned(float(lam[0]), FINE)[0]]

    def estimate(self, x: float) -> tuple[float, float]:
        """The value from fewer bins, and the most that it is off."""
        return self._binned(x, BINS)

    def _binned(self, x: float, bins: int) -> tuple[float, float]:
        if self.demand.constraint.pairs:
            return binned_twice_u(*self.engine.histograms(self.kept, x, bins))
        # Two rows, as heavy as the groups and at their means, stand for all.
        weight, _, _, q, e = self.sums
        a, b = weight.tolist()
        both = Part(np.array([True, False]), weight, a, b, 1)
        return self.demand.constraint.value((q - x * e) / weight, both), 0.0

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of the only demand."""
        counts = self.engine.histograms(self.kept, float(lam[0]), FINE)
        return [Rank().show(binned_twice_u(*counts)[0], self.demand.groups)]

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups, in some of the rows."""
        return self.fewer().proxies()

    def fewer(self) -> Counted:
        """Some of the rows in memory."""
        return Counted(self.q, self.E, self.some, Units())


def counted_elsewhere(
    engine: ChunkedEngine, kept: Kept, demands: Sequence[Demand]
) -> Counted:
    """What is kept, brought into memory where it is little."""
    units = Units(engine.y_unit, engine.y_centre, engine.resolution)
    if engine.rows.n_rows <= EXACT_ROWS:
        return _collected(kept, demands, 1, units)
    sums = kept.total(_sums)
    (a, b), (a2, b2) = sums[:2].tolist()
    groups = Part(np.zeros(0, bool), None, a, b, a2 / a * b2 / b)
    if engine.total.whole:
        groups = Part(np.zeros(0, bool), None, round(a), round(b), 1)
    few = _collected(kept, demands, max(1, int(sums[2].sum()) // SOME_ROWS), units)
    posed = tuple(Demand(each.constraint, groups) for each in demands)
    return Streamed(
        few.q,
        few.E,
        posed,
        units,
        engine=engine,
        kept=kept,
        some=few.demands,
        sums=sums,
    )


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
    p = None if held.p is None else held.p[rows]
    weights = None if held.weights is None else held.weights[rows]
    return Held(held.m[rows], p, held.in_a[rows], weights)


def _sums(held: Held) -> Floats:
    """Weight, squared weight, rows, and the sums of ``q`` and ``e``, of A and of B."""
    assert held.p is not None
    w = np.ones(len(held.m)) if held.weights is None else held.weights
    parts = w, w * w, np.ones(len(w)), w * held.m, w * held.p
    return np.array([[it[held.in_a].sum(), it[~held.in_a].sum()] for it in parts])
