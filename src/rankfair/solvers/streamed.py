"""Counts of rows that are not in memory: histograms of what is kept beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rankfair.constraints import Rank
from rankfair.constraints.rank import BINS
from rankfair.core.blocks import Floats, power_of_two, rounded
from rankfair.core.problem import Groups, Part
from rankfair.core.ranks import Bins, Edges, Grid, binned_twice_u, whole_if_so
from rankfair.engines.chunk import Held, LineSample, sample_of
from rankfair.engines.chunked import ChunkedEngine, Kept
from rankfair.solvers.counted import TIED, Counted, Demand, Units

FINE = 4 * BINS  # of the last count, and rows that say where bins lie
SURE = 1e-5  # of an AUC: how far off the last count may be


@dataclass(frozen=True)
class Streamed(Counted):
    """Predictions ``q − x e`` kept beside the chunks of an engine.

    ``q`` and ``E`` are those of ``some`` rows.
    """

    kept: Kept = field(kw_only=True)
    rows: int = field(kw_only=True)  # how many there are
    some: Counted = field(kw_only=True)  # some of them, in memory
    means: Counted = field(kw_only=True)  # two, as heavy as the groups, at their means

    @property
    def n_rows(self) -> int:
        """How many rows are counted."""
        return self.rows

    @property
    def tied(self) -> float:
        """Predictions this close are ties."""
        return max(TIED, power_of_two(self.units.resolution / self.units.unit))

    @property
    def exact_only(self) -> bool:
        """No other way to a value is quicker."""
        return True

    def values(self, lam: Floats) -> list[float]:
        """The value of the only demand; one that counts pairs, sure to 1e-5 of an AUC.

        Any other follows from means.
        """
        if not self.demand.constraint.pairs:
            return self.means.values(lam)
        m, groups = self.some.standard(lam), self.some.demand.groups
        share = self.demand.unit / (2 * groups.total_a * groups.total_b)
        for grid in (Grid.around(m, BINS), Grid.around(m, FINE)):
            # Some rows say whether equal bins will do.
            some = grid.count_both(m, groups.in_a, groups.weights)
            if self.demand.negligible(2 * share * binned_twice_u(*some)[1], SURE):
                value, off = self._binned(float(lam[0]), grid)
                if self.demand.negligible(off, SURE):
                    return [value]
        edges = Edges.through(rounded(m, self.tied), FINE)
        return [self._binned(float(lam[0]), edges)[0]]

    def _binned(self, x: float, bins: Bins) -> tuple[float, float]:
        """``2U`` of all rows, and the most that it is off."""
        (table,) = self.kept.histograms([x], [bins], self.tied)
        return binned_twice_u(*table, bins.ties)

    def fewer(self) -> Counted:
        """What is in memory and stands for all rows."""
        return self.some.fewer() if self.demand.constraint.pairs else self.means

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of the only demand."""
        asked = Demand(Rank(), self.demand.groups)
        return [asked.show(replace(self, demands=(asked,)).value(float(lam[0])))]

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups, in some of the rows."""
        return self.some.proxies()


def counted_elsewhere(
    engine: ChunkedEngine, kept: Kept, demands: Sequence[Demand]
) -> Counted | None:
    """What is kept, in memory where it is little; None if a group has no row there."""
    units = Units.of(engine)
    few = engine.rows.n_rows <= engine.rows.sizes.exact_rows
    step = 1 if few else max(1, engine.rows.n_rows // FINE)
    looks: list[LineSample] = list(kept.each(partial(sample_of, step=step)))
    rows, weight, squares, q, e = np.sum([each.sums for each in looks], axis=0)
    if not rows.all():
        return None
    some = _collected([each.some for each in looks], demands, units)
    if few:
        return some
    a, b = weight
    groups = Part(np.zeros(0, bool), None, a, b, squares[0] / a * squares[1] / b)
    if engine.total.whole:
        groups = Part(np.zeros(0, bool), None, round(a), round(b), 1)
    both = Part(np.array([True, False]), weight, a, b, 1)
    return Streamed(
        some.q,
        some.E,
        _between(demands, groups),
        units,
        kept=kept,
        rows=int(rows.sum()),
        some=some,
        means=Counted(q / weight, (e / weight)[None], _between(demands, both), units),
    )


def _collected(held: list[Held], demands: Sequence[Demand], units: Units) -> Counted:
    """Rows of several chunks, in memory."""
    q, e, in_a = (
        np.concatenate([getattr(each, name) for each in held])
        for name in ("m", "d", "in_a")
    )
    weights = [each.weights for each in held if each.weights is not None]
    groups = Groups(in_a, whole_if_so(np.concatenate(weights)) if weights else None)
    return Counted(q, e[None], _between(demands, groups), units)


def _between(demands: Sequence[Demand], groups: Groups) -> tuple[Demand, ...]:
    """The same demands between other groups."""
    return tuple(Demand(each.constraint, groups) for each in demands)
