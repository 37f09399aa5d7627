"""Rows that are counted: what is asked of them, and its value along a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from rankfair.constraints.base import ROUNDING, Band, Constraint
from rankfair.constraints.rank import BINS, EXACT_ROWS, Rank
from rankfair.core.blocks import Floats, Ints, blocks_of, power_of_two, rounded
from rankfair.core.problem import Groups, Part
from rankfair.core.ranks import (
    Bins,
    Edges,
    Grid,
    binned_twice_u,
    whole_if_so,
)
from rankfair.engines.base import Engine
from rankfair.engines.chunked import (
    ChunkedEngine,
    Kept,
    histogram,
    sample_of,
)

TIED = 2.0**-40  # of a standard deviation of y: predictions this close are ties
CLOSE = 1e-7  # of a shown value, or a share of λ: how near to the edge a search ends
CLOSEST = 1e-3  # of a shown value: gaps this much above the least count as least
COARSE = 1e-4  # of a shown value: quick counts that are further off are not used
FINE = 8 * BINS  # of the last count on streams, and rows that say where bins lie
SURE = 1e-5  # of an AUC: how far off that count may be
LOOKED_AT = 1 << 12  # rows of a rough look


@dataclass(frozen=True)
class Demand:
    """A constraint between two groups of the sorted rows.

    Rows of neither group weigh nothing in ``groups``.
    """

    constraint: Constraint
    groups: Groups

    def direction(self) -> Floats:
        """``g`` of every row, per unit of weight, in units of the mean direction."""
        total = self.groups.total_a + self.groups.total_b
        return self.groups.of_known(self.constraint.direction(self.groups)) * total

    def levels(self) -> tuple[float, float]:
        """The direction of every row of A, and of B, where that is all there is."""
        total = self.groups.total_a + self.groups.total_b
        of_a, of_b = self.constraint.levels(self.groups)
        return float(of_a * total), float(of_b * total)

    def steepest(self, m: Floats) -> Floats:
        """The derivative of the shown value, in the units of ``direction``."""
        total = self.groups.total_a + self.groups.total_b
        return self.groups.of_known(self.constraint.slope(m, self.groups)) * total

    def weighted(self, g: Floats) -> Floats:
        """A direction times what rows weigh."""
        return g if self.groups.weights is None else g * self.groups.weights

    def of_rows(self, rows: Ints | None, y: Floats) -> Demand:
        """The same between some rows, and what is due to them."""
        groups = self.groups if rows is None else self.groups.take(rows)
        return Demand(
            self.constraint.on(y if rows is None else y[rows], groups), groups
        )

    @cached_property
    def band(self) -> Band:
        """The values allowed."""
        return self.constraint.band(self.groups)

    @cached_property
    def unit(self) -> float:
        """How much of the value is one unit as people read it."""
        return 1.0 / abs(self.show(1.0) - self.show(0.0))

    @cached_property
    def slack(self) -> float:
        """How far outside its band, as people read it, one of several may end."""
        return self.constraint.slack(self.groups) / self.unit * (1 + ROUNDING)

    def show(self, value: float) -> float:
        """The value as people read it."""
        return self.constraint.show(value, self.groups)

    def gap(self, value: float) -> float:
        """How far the value is outside its band, as people read it."""
        return abs(self.band.miss(value)) / self.unit

    def negligible(self, off: float, sure: float) -> bool:
        """Whether so many pairs in one bin are few, and their sum by chance is less."""
        by_chance = np.sqrt(off * self.groups.pair)
        return bool(off <= sure * self.unit and by_chance <= CLOSE * self.unit / 4)


@dataclass(frozen=True)
class Curve:
    """The squared error ``c + 2 bᵀλ + λᵀAλ`` of the training rows along a line."""

    c: float
    b: Floats  # (r,)
    A: Floats  # (r, r)
    constant: float  # the squared error of one constant: no fit should err more

    def error(self, lam: Floats) -> float:
        """The squared error at ``λ``."""
        return float(self.c + 2 * self.b @ lam + lam @ self.A @ lam)

    @property
    def cap(self) -> tuple[float, float]:
        """The ends of the only ``λ`` that errs no more than one constant."""
        ((a,),), (half,) = self.A, self.b
        low, high = quadratic_roots(a, half, self.c - self.constant)
        return float(low), float(high)


def quadratic_roots(a: Any, half: Any, c: Any) -> tuple[Floats, Floats]:
    """Where ``a x² + 2 half x + c = 0`` below and above 0; 0 if there is no such place.

    Examples
    --------
    >>> [float(x) for x in quadratic_roots(1.0, -1.0, -3.0)]
    [-1.0, 3.0]
    """
    root = np.sqrt(np.maximum(half * half - a * c, 0.0))
    size = np.where(a > 0, a, np.inf)
    low, high = (-half - root) / size, (-half + root) / size
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


@dataclass(frozen=True)
class Units:
    """What predictions in standard units are to the user."""

    unit: float = 1.0
    centre: float = 0.0
    resolution: float = TIED

    @classmethod
    def of(cls, engine: Engine) -> Units:
        """Those of the rows of an engine."""
        return cls(engine.y_unit, engine.y_centre, engine.resolution)

    def of_user(self, m: Floats) -> Floats:
        """Predictions as the user sees them, ties decided."""
        seen = m + self.centre
        seen *= self.unit
        return rounded(seen, self.resolution)


class Place(NamedTuple):
    """A place on the line, the exact value of every demand, and whether all are met."""

    lam: Floats  # (r,)
    values: list[float]
    inside: bool


@dataclass(frozen=True)
class Counted:
    """Predictions ``q − E λ`` of the rows that are counted, in standard units.

    ``seen`` gives those that the user will see, where they are made in another way.
    """

    q: Floats  # (M,)
    E: Floats  # (r, M)
    demands: tuple[Demand, ...]  # of these rows
    units: Units
    seen: Callable[[Floats], Floats] | None = None

    @property
    def n_rows(self) -> int:
        """How many rows are counted."""
        return len(self.q)

    def at(self, lam: Floats) -> Floats:
        """The predictions at ``λ`` in the user's units, ties decided."""
        if self.seen is not None:
            return self.seen(lam)
        out = np.empty(len(self.q))
        for rows in blocks_of(len(out)):
            out[rows] = self.units.of_user(self.standard(lam, rows))
        return out

    def standard(self, lam: Floats, rows: slice = slice(None)) -> Floats:
        """The predictions at ``λ`` in standard units, of some rows."""
        found: Floats = lam @ self.E[:, rows]
        return np.subtract(self.q[rows], found, out=found)

    def values(self, lam: Floats) -> list[float]:
        """The exact value of every demand, those of one constraint together.

        Ties are no matter to linear ones: they keep all digits.
        """
        linear = self._linear
        exact = self.standard(lam) if any(linear) else self.q
        seen = exact if all(linear) else self.at(lam)

        def values(constraint: Constraint, several: list[Groups]) -> list[float]:
            m, unit = (exact, 1.0) if constraint.linear else (seen, self.units.unit)
            return constraint.values(m, several, unit)

        return self._of_constraints(values)

    def slopes(self, lam: Floats) -> list[Floats]:
        """The derivative of every shown value by every prediction."""
        m = self.standard(lam)
        found = self._of_constraints(lambda asked, several: asked.slopes(m, several))
        pairs = zip(self.demands, found, strict=True)
        return [it.weighted(it.groups.of_known(slope)) for it, slope in pairs]

    def _of_constraints(
        self, ask: Callable[[Constraint, list[Groups]], list[Any]]
    ) -> list[Any]:
        """What constraints say of the groups of every demand, each asked once."""
        found = list[Any]()
        for _, same in groupby(self.demands, lambda it: id(it.constraint)):
            demands = list(same)
            found += ask(demands[0].constraint, [it.groups for it in demands])
        return found

    @property
    def linear(self) -> bool:
        """Whether all demands are."""
        return all(self._linear)

    @property
    def _linear(self) -> list[bool]:
        return [each.constraint.linear for each in self.demands]

    def place(self, lam: Floats) -> Place:
        """What exact counts say of ``λ``."""
        values = self.values(lam)
        return Place(lam, values, self.met(values))

    def met(self, values: Sequence[float]) -> bool:
        """Whether all values are in their bands; linear and several ones, nearly so."""
        strict = len(self.demands) == 1 and not self.linear
        gaps = zip(self.demands, self.gaps(values), strict=True)
        return all(gap <= (0.0 if strict else it.slack) for it, gap in gaps)

    def gaps(self, values: Sequence[float]) -> list[float]:
        """How far each value is outside its band, as people read it."""
        pairs = zip(self.demands, values, strict=True)
        return [demand.gap(value) for demand, value in pairs]

    def shown(self, values: Sequence[float]) -> list[float]:
        """The values as people read them."""
        pairs = zip(self.demands, values, strict=True)
        return [demand.show(value) for demand, value in pairs]

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of every demand, whatever its constraint."""
        rank = Rank()
        asked = tuple(Demand(rank, it.groups) for it in self.demands)
        every = replace(self, demands=asked)
        return every.shown(every.values(lam))

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups of every demand."""
        rank, pairs = Rank(), zip(self.demands, self.E, strict=True)
        return [rank.show(rank.estimate(e, it.groups)[0], it.groups) for it, e in pairs]

    def looks(self) -> tuple[Counted, ...]:
        """Rows that say where to look: some of them first, then all."""
        some = self.fewer()
        return (self,) if some is self else (some, self)

    def fewer(self, wanted: int = LOOKED_AT) -> Counted:
        """Some of the rows, for a rough look."""
        many = len(self.q) >= 2 * EXACT_ROWS
        step = len(self.q) // wanted if many else 1
        rows = np.arange(step // 2, len(self.q), max(step, 1))
        demands = tuple(
            Demand(each.constraint, each.groups.take(rows)) for each in self.demands
        )
        if step < 2 or not all(each.groups.both for each in demands):
            return self
        return Counted(self.q[rows], self.E[:, rows], demands, Units())

    # Of one demand:

    @property
    def demand(self) -> Demand:
        """The only one."""
        (demand,) = self.demands
        return demand

    def value(self, x: float) -> float:
        """The exact value at one ``λ``."""
        return self.values(np.array([x]))[0]

    @property
    def exact_only(self) -> bool:
        """Whether there is no quicker way to a value than the exact one."""
        return len(self.q) <= EXACT_ROWS or not self.demand.constraint.pairs

    def estimate(self, x: float) -> tuple[float, float]:
        """The value from histograms, and the most that it is off; of few rows exact."""
        if self.exact_only:
            return self.value(x), 0.0
        return Rank().estimate(self.standard(np.array([x])), self.demand.groups)

    def quick_value(self, x: float) -> float:
        """The value from histograms, or the exact one where these cannot tell."""
        (value, off), demand = self.estimate(x), self.demand
        sure = off < min(abs(value - end) for end in demand.band)
        return value if sure or demand.negligible(off, COARSE) else self.value(x)


@dataclass(frozen=True)
class Streamed(Counted):
    """Predictions ``q − λ e`` kept beside the chunks of an engine.

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
    def exact_only(self) -> bool:
        """Other values than counts follow from means."""
        return not self.demand.constraint.pairs

    def estimate(self, x: float) -> tuple[float, float]:
        """The value from a histogram, and the most that it is off."""
        if self.exact_only:
            return self.value(x), 0.0
        return self._binned(x, Grid.around(self.some.standard(np.array([x])), BINS))

    def _binned(self, x: float, bins: Bins) -> tuple[float, float]:
        """``2U`` of all rows, and the most that it is off."""
        count = partial(histogram, x=x, bins=bins, resolution=self._tied)
        of_a, of_b = self.kept.total(count)
        return binned_twice_u(of_a, of_b, bins.ties)

    @property
    def _tied(self) -> float:
        return max(TIED, power_of_two(self.units.resolution / self.units.unit))

    def values(self, lam: Floats) -> list[float]:
        """The value of the only demand; one that counts pairs, sure to 1e-5 of an AUC.

        Any other follows from means.
        """
        if self.exact_only:
            return self.means.values(lam)
        (x,), m, groups = lam.tolist(), self.some.standard(lam), self.some.demand.groups
        share = self.demand.unit / (2 * groups.total_a * groups.total_b)
        grid = Grid.around(m, FINE)
        # Some rows say whether equal bins will do.
        some = grid.count_both(m, groups.in_a, groups.weights)
        if self.demand.negligible(2 * share * binned_twice_u(*some)[1], SURE):
            value, off = self._binned(x, grid)
            if self.demand.negligible(off, SURE):
                return [value]
        return [self._binned(x, Edges.through(rounded(m, self._tied), FINE))[0]]

    def looks(self) -> tuple[Counted, ...]:
        """What is in memory."""
        return (self.fewer(),)

    def fewer(self, wanted: int = LOOKED_AT) -> Counted:
        """A sample in memory that stands for all rows."""
        return self.some.fewer(wanted) if self.demand.constraint.pairs else self.means

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups, in some of the rows."""
        return self.some.proxies()


def counted_elsewhere(
    engine: ChunkedEngine, kept: Kept, demands: Sequence[Demand]
) -> Counted | None:
    """What is kept, in memory where it is little; None if a group has no row there."""
    units, n_rows = Units.of(engine), engine.rows.n_rows
    few = n_rows <= engine.rows.sizes.exact_rows
    step = 1 if few else max(1, n_rows // FINE)
    looks = list(kept.each(partial(sample_of, step=step)))
    rows, weight, squares, q, e = np.sum([sums for _, sums in looks], axis=0)
    if not rows.all():
        return None

    def between(groups: Groups) -> tuple[Demand, ...]:
        return tuple(Demand(each.constraint, groups) for each in demands)

    held = [some_rows for some_rows, _ in looks]
    weights = [each.weights for each in held if each.weights is not None]
    own = whole_if_so(np.concatenate(weights)) if weights else None
    m, d, in_a = (
        np.concatenate([getattr(each, name) for each in held])
        for name in ("m", "d", "in_a")
    )
    some = Counted(m, d[None], between(Groups(in_a, own)), units)
    if few:
        return some
    (a, b), groups = weight, Part.elsewhere(weight, squares, engine.total.whole)
    both = Part(np.array([True, False]), weight, a, b, 1)
    means = Counted(q / weight, (e / weight)[None], between(both), units)
    return Streamed(
        some.q,
        some.E,
        between(groups),
        units,
        kept=kept,
        rows=int(rows.sum()),
        some=some,
        means=means,
    )
