"""Counts of rows that are not in memory: histograms of what is kept beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from rankfair.constraints import Rank
from rankfair.core.blocks import Floats, power_of_two, rounded
from rankfair.core.problem import Groups, Part
from rankfair.core.ranks import Bins, Edges, Grid, binned_twice_u, whole_if_so
from rankfair.engines.chunk import Held, LineSample, sample_of
from rankfair.engines.chunked import ChunkedEngine, Kept
from rankfair.solvers.counted import TIED, Counted, Demand, Units
from rankfair.solvers.roots import CLOSE, CLOSEST, Root

BINS = 1 << 16  # of counts on the way
FINE = 1 << 18  # of the last one, and rows that say where bins lie
LEVELS = 3  # of bins: these two, and such as follow the rows
SURE = 1e-5  # of an AUC: how far off the last count may be
CHORD = 0.01  # of a bracket: how far a chord may lead astray


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

    def values(self, lam: Floats) -> list[float]:
        """The value of the only demand; one that counts pairs, sure to 1e-5 of an AUC.

        Any other follows from means.
        """
        if not self.demand.constraint.pairs:
            return self.means.values(lam)
        return self.counts(lam.tolist(), SURE)

    def estimate(self, x: float) -> tuple[float, float]:
        """The value, as no other one is cheaper."""
        return self.value(x), 0.0

    def fewer(self) -> Counted:
        """What is in memory and stands for all rows."""
        return self.some if self.demand.constraint.pairs else self.means

    def counts(self, xs: Sequence[float], sure: float) -> list[float]:
        """``2U`` at several ``x`` from one pass, each sure to so much of an AUC.

        Bins are made finer until the bound says so.
        """
        found: dict[float, float] = {}
        for level in range(LEVELS):
            left = [x for x in xs if x not in found]
            if not left:
                break
            bins = [self._bins(x, sure, level) for x in left]
            tables = self.kept.histograms(left, bins, self.tied)
            for x, own, table in zip(left, bins, tables, strict=True):
                value, off = binned_twice_u(*table, own.ties)
                if level == LEVELS - 1 or self._enough(off, sure):
                    found[x] = value
        return [found[x] for x in xs]

    def _bins(self, x: float, sure: float, level: int) -> Bins:
        """Equal bins where some rows say that they suffice, else as these rows lie."""
        m, groups = self.some.standard(np.array([x])), self.some.demand.groups
        pairs = 2 * groups.total_a * groups.total_b
        for bins in (BINS, FINE)[level:]:
            grid = Grid.around(m, bins)
            off = binned_twice_u(*grid.count_both(m, groups.in_a, groups.weights))[1]
            if self._enough(2 * off * self.demand.unit / pairs, sure):
                return grid
        return Edges.through(rounded(m, self.tied), FINE)

    def _enough(self, off: float, sure: float) -> bool:
        """Whether so many pairs in one bin are few, and their sum by chance is less."""
        unit, by_chance = self.demand.unit, np.sqrt(off * self.demand.groups.pair)
        return bool(off <= sure * unit and by_chance <= CLOSE * unit / 4)

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of the only demand."""
        asked = Demand(Rank(), self.demand.groups)
        return [asked.show(replace(self, demands=(asked,)).value(float(lam[0])))]

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups, in some of the rows."""
        return self.some.proxies()


@dataclass(frozen=True)
class FewPasses:
    """Counts along a line, several in each pass, until one ends at the band's edge."""

    line: Streamed
    cap: tuple[float, float]
    probes: Sequence[float]  # places to look at where there is no better guess
    known: dict[float, float] = field(default_factory=dict)  # counts by their place

    def root(self, guess: float) -> Root:
        """The place nearest to 0 in the band, or the closest to it."""
        self.count([0.0, *self.window(guess)])
        if self.line.demand.band.miss(self.known[0.0]) == 0:
            found = self.at(0.0)
            if found.inside:
                return found
        if self.bracket() is None:
            self.count(self.probes)
        width = np.inf
        while (ends := self.bracket()) is not None:
            a, b = ends
            slow, width = 4 * abs(b - a) > width, abs(b - a)
            narrow = width <= CLOSE * abs(b)
            if narrow or self.beyond(b) >= -2 * self.near:
                for found in map(self.at, [b] if narrow else [self.chord(a, b), b]):
                    near = narrow or self.beyond(found.x) >= -2 * self.near
                    if found.inside and near:
                        return found
                if narrow:  # the count jumps over the band
                    break
            self.count(
                np.linspace(a, b, 9)[1:-1].tolist() if slow else self.between(a, b)
            )
        return self.closest()

    @property
    def near(self) -> float:
        """How near to the edge a search ends."""
        return CLOSE * self.line.demand.unit

    def beyond(self, x: float) -> float:
        """How far the count has to go on to the band; 0 or less beyond its edge."""
        band = self.line.demand.band
        if band.miss(self.known[0.0]) > 0:
            return self.known[x] - band.high
        return band.low - self.known[x]

    def count(self, places: Iterable[float]) -> None:
        """Count at places that are not known yet, all in one pass."""
        demand = self.line.demand
        width = (demand.band.high - demand.band.low) / demand.unit
        new = [x for x in dict.fromkeys(places) if x not in self.known]
        counts = self.line.counts(new, max(width / 4, SURE))
        self.known.update(zip(new, counts, strict=True))

    def at(self, x: float) -> Root:
        """The place with its last count, sure to 1e-5 of an AUC."""
        self.known[x] = value = self.line.value(x)
        return Root(x, value, self.line.demand.band.miss(value) == 0)

    def window(self, x: float) -> Iterator[float]:
        """Places around one, as far off as some of the rows may have it."""
        some, step = self.line.some, max(np.abs(self.cap)) / 64
        groups, unit = some.demand.groups, some.demand.unit
        doubt = 4 * np.sqrt((1 / groups.total_a + 1 / groups.total_b) / 12)
        low, high = (some.quick_value(x + side) / unit for side in (-step, step))
        reach = step * min(1.0, 2 * doubt / max(abs(high - low), doubt))
        for part in (-reach, 0.0, reach):
            yield float(np.clip(x + part, *self.cap))

    def bracket(self) -> tuple[float, float] | None:
        """The last place outside and the first one beyond the edge, nearest to 0."""
        found = []
        for side in (1.0, -1.0):
            places = sorted((x for x in self.known if x * side >= 0), key=abs)
            beyond = [i for i, x in enumerate(places) if self.beyond(x) <= 0]
            if beyond and beyond[0]:
                found.append((places[beyond[0] - 1], places[beyond[0]]))
        return min(found, key=lambda ends: abs(ends[1]), default=None)

    def between(self, a: float, b: float) -> Iterator[float]:
        """Places about where the chord meets the edge."""
        x, wide = self.chord(a, b), CHORD * abs(b - a)
        for place in (x - wide, x, x + wide):
            if min(a, b) < place < max(a, b):
                yield place

    def chord(self, a: float, b: float) -> float:
        """Where the chord comes near enough to the edge from beyond."""
        fa, fb = (self.beyond(x) + self.near for x in (a, b))
        return b - fb * (b - a) / (fb - fa)

    def closest(self) -> Root:
        """The smallest ``|λ|`` whose gap is within 0.001 of the least that is met."""
        self.count(self.probes)
        gaps = {x: self.line.demand.gap(value) for x, value in self.known.items()}
        least = min(gaps.values())
        good = [x for x, gap in gaps.items() if gap <= least + CLOSEST]
        return self.at(min(good, key=abs))


def counted_elsewhere(
    engine: ChunkedEngine, kept: Kept, demands: Sequence[Demand]
) -> Counted | None:
    """What is kept, in memory where it is little; None if a group has no row there."""
    units = Units(engine.y_unit, engine.y_centre, engine.resolution)
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
