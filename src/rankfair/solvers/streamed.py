"""The line of rows that are not in memory: histograms of what is kept beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from rankfair.constraints import Rank
from rankfair.core.blocks import Floats, power_of_two
from rankfair.core.linear import rounded
from rankfair.core.problem import Groups, Part, Problem, whole_if_so
from rankfair.core.ranks import Bins, Edges, Grid, binned_twice_u
from rankfair.engines import Engine
from rankfair.engines.chunk import Held, Look, look_at
from rankfair.engines.chunked import ChunkedEngine, Kept
from rankfair.solvers.base import Fitter
from rankfair.solvers.line import (
    CLOSE,
    CLOSEST,
    MOST_LEVERAGE,
    TIED,
    Along,
    Counted,
    Demand,
    Landing,
    Line,
    Units,
    line_of,
    nearest,
    probes,
)

BINS = 1 << 16  # of counts on the way
FINE = 1 << 18  # of the last one, and rows that say where bins lie
LEVELS = 3  # of bins: these two, and such as follow the rows
SURE = 1e-5  # of an AUC: how far off the last count may be
EXACT_ROWS = 1 << 20  # so many predictions are brought together and counted exactly
CHORD = 0.01  # of a bracket: how far a chord may lead astray


@dataclass(frozen=True)
class Streamed(Along):
    """Predictions ``q − x e`` that are kept beside the chunks of an engine."""

    kept: Kept
    demands: tuple[Demand, ...]
    rows: int  # how many there are
    some: Counted  # some of the rows, in memory
    means: Counted  # two rows, as heavy as the groups and at their means
    resolution: float  # predictions this close are ties

    @property
    def n_rows(self) -> int:
        """How many rows are counted."""
        return self.rows

    @cached_property
    def pairs(self) -> bool:
        """Whether the value counts pairs; that of others follows from means."""
        return self.demands[0].constraint.pairs

    def value(self, x: float) -> float:
        """The value at ``x``, sure to 1e-5 of an AUC."""
        if not self.pairs:
            return self.means.value(x)
        return self.counts([x], SURE)[0]

    def nearest(self, cap: tuple[float, float]) -> Landing:
        """The ``λ`` nearest to 0 whose count is in the band, or the closest to it."""
        if not self.pairs:
            return nearest(self.means, cap)
        return Search(self, cap).landing()

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
            tables = self.kept.histograms(left, bins, self.resolution)
            for x, own, table in zip(left, bins, tables, strict=True):
                value, off = binned_twice_u(*table, own.ties)
                if level == LEVELS - 1 or self._enough(off, sure):
                    found[x] = value
        return [found[x] for x in xs]

    def _bins(self, x: float, sure: float, level: int) -> Bins:
        """Equal bins where some rows say that they suffice, else as these rows lie."""
        m, groups = self.some.standard(np.array([x])), self.some.demands[0].groups
        pairs = 2 * groups.total_a * groups.total_b
        for bins in (BINS, FINE)[level:]:
            grid = Grid.around(m, bins)
            off = binned_twice_u(*grid.count_both(m, groups.in_a, groups.weights))[1]
            if self._enough(2 * off * self.unit / pairs, sure):
                return grid
        return Edges.through(rounded(m, self.resolution), FINE)

    def _enough(self, off: float, sure: float) -> bool:
        """Whether so many pairs in one bin are few, and their sum by chance is less."""
        pair = self.demands[0].groups.pair
        by_chance = np.sqrt(off * pair)
        return bool(off <= sure * self.unit and by_chance <= CLOSE * self.unit / 4)

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of the only demand."""
        (demand,) = self.demands
        ranks = replace(self, demands=(Demand(Rank(), demand.groups),))
        return [Rank().show(ranks.value(float(lam[0])), demand.groups)]

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups, in some of the rows."""
        return self.some.proxies()


@dataclass(frozen=True)
class Search:
    """Counts along a line, several in each pass, until one ends at the band's edge."""

    line: Streamed
    cap: tuple[float, float]
    known: dict[float, float] = field(default_factory=dict)  # counts by their place

    def landing(self) -> Landing:
        """The place nearest to 0 in the band, or the closest to it."""
        guess = nearest(self.line.some, self.cap).x
        self.count([0.0, *self.window(guess)])
        if self.line.band.miss(self.known[0.0]) == 0:
            found = self.at(0.0)
            if found.inside:
                return found
        if self.bracket() is None:
            self.count(probes(self.cap).tolist())
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
        return CLOSE * self.line.unit

    def beyond(self, x: float) -> float:
        """How far the count has to go on to the band; 0 or less beyond its edge."""
        band = self.line.band
        if band.miss(self.known[0.0]) > 0:
            return self.known[x] - band.high
        return band.low - self.known[x]

    def count(self, places: Iterable[float]) -> None:
        """Count at places that are not known yet, all in one pass."""
        width = (self.line.band.high - self.line.band.low) / self.line.unit
        new = [x for x in dict.fromkeys(places) if x not in self.known]
        counts = self.line.counts(new, max(width / 4, SURE))
        self.known.update(zip(new, counts, strict=True))

    def at(self, x: float) -> Landing:
        """The place with its last count, sure to 1e-5 of an AUC."""
        self.known[x] = value = self.line.value(x)
        return Landing(x, value, self.line.band.miss(value) == 0)

    def window(self, x: float) -> Iterator[float]:
        """Places around one, as far off as some of the rows may have it."""
        some = self.line.some
        groups, step = some.demands[0].groups, max(np.abs(self.cap)) / 64
        doubt = 4 * np.sqrt((1 / groups.total_a + 1 / groups.total_b) / 12)
        low, high = (some.quick_value(x + side) / some.unit for side in (-step, step))
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

    def closest(self) -> Landing:
        """The smallest ``|λ|`` whose gap is within 0.001 of the least that is met."""
        band, unit = self.line.band, self.line.unit
        self.count(probes(self.cap).tolist())
        gaps = {x: abs(band.miss(value)) / unit for x, value in self.known.items()}
        least = min(gaps.values())
        good = [x for x, gap in gaps.items() if gap <= least + CLOSEST]
        return self.at(min(good, key=abs))


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
    K = []
    if count == "loo" and fitter.penalty.leverages:
        K = [fitter.inverse_blocks(W0 if at is None else at)]
        if of_g is not fitter:
            K.append(of_g.inverse_blocks(D[0]))
    ((a, b),) = directions
    W = [each[: engine.n_tasks] for each in (W0, *D)]
    kept = engine.kept_line(W, K, np.array([b, a]), MOST_LEVERAGE)
    trained, *others = (_along(engine, each, demands) for each in kept)
    assert trained is not None
    alone = int(np.count_nonzero(engine.row_counts <= 1.0))
    left_out = others[0] if others else None
    return Line(engine, fitter, W0, D, left_out, trained, None, alone)


def _along(
    engine: ChunkedEngine, kept: Kept, demands: Sequence[Demand]
) -> Along | None:
    """What is kept, in memory where it is little; None if a group has no row there."""
    units = Units(engine.y_unit, engine.y_centre, engine.resolution)
    few = engine.rows.n_rows <= EXACT_ROWS
    step = 1 if few else max(1, engine.rows.n_rows // FINE)
    looks: list[Look] = list(kept.each(partial(look_at, step=step)))
    rows, weight, squares, q, e = np.sum([each.sums for each in looks], axis=0)
    if not rows.all():
        return None
    some = _counted([each.some for each in looks], demands, units)
    if few:
        return some
    a, b = weight
    groups = Part(np.zeros(0, bool), None, a, b, squares[0] / a * squares[1] / b)
    if engine.total.whole:
        groups = Part(np.zeros(0, bool), None, round(a), round(b), 1)
    both = Part(np.array([True, False]), weight, a, b, 1)
    own = [tuple(Demand(it.constraint, of) for it in demands) for of in (groups, both)]
    means = Counted(q / weight, (e / weight)[None], own[1], units)
    resolution = max(TIED, power_of_two(engine.resolution / engine.y_unit))
    return Streamed(kept, own[0], int(rows.sum()), some, means, resolution)


def _counted(held: list[Held], demands: Sequence[Demand], units: Units) -> Counted:
    """Rows of several chunks, in memory."""
    q, e, in_a = (
        np.concatenate([getattr(each, name) for each in held])
        for name in ("m", "d", "in_a")
    )
    weights = None
    if held[0].weights is not None:
        weights = whole_if_so(np.concatenate([each.weights for each in held]))
    groups = Groups(in_a, weights)
    own = tuple(Demand(each.constraint, groups) for each in demands)
    return Counted(q, e[None], own, units)
