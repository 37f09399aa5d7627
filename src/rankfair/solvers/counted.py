"""Rows that are counted: what is asked of them, and its value along a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankfair.constraints import Band, Constraint, Rank
from rankfair.constraints.rank import EXACT_ROWS
from rankfair.core.blocks import Floats, Ints, rounded
from rankfair.core.problem import Groups, Part
from rankfair.engines import Engine
from rankfair.solvers.roots import CLOSE

TIED = 2.0**-40  # of a standard deviation of y: predictions this close are ties
COARSE = 1e-4  # of a shown value: quick counts that are further off are not used


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
        a, b = self.groups.total_a, self.groups.total_b
        both = Part(np.array([True, False]), None, a, b, 1)
        of_a, of_b = self.constraint.direction(both) * (a + b)
        return float(of_a), float(of_b)

    def slope(self, m: Floats) -> Floats:
        """The derivative of the shown value, per unit of weight, of rows in a group."""
        return self.groups.of_known(self.constraint.slope(m, self.groups))

    def weighted(self, g: Floats) -> Floats:
        """A direction times what rows weigh."""
        return g if self.groups.weights is None else g * self.groups.weights

    def of_rows(self, rows: Ints | None, y: Floats) -> Demand:
        """The same between some rows, and what is due to them."""
        if rows is None:
            return Demand(self.constraint.on(y, self.groups), self.groups)
        groups = self.groups.take(rows)
        return Demand(self.constraint.on(y[rows], groups), groups)

    @cached_property
    def band(self) -> Band:
        """The values allowed."""
        return self.constraint.band(self.groups)

    @cached_property
    def unit(self) -> float:
        """How much of the value is one unit as people read it."""
        return 1.0 / abs(self.show(1.0) - self.show(0.0))

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

    @property
    def ties_hold(self) -> bool:
        """Whether rows that tie here tie among new rows, too."""
        return self.seen is not None

    def at(self, lam: Floats) -> Floats:
        """The predictions at ``λ`` in the user's units, ties decided."""
        if self.seen is not None:
            return self.seen(lam)
        return self.units.of_user(self.standard(lam))

    def standard(self, lam: Floats) -> Floats:
        """The predictions at ``λ`` in standard units."""
        found: Floats = lam @ self.E
        return np.subtract(self.q, found, out=found)

    def values(self, lam: Floats) -> list[float]:
        """The exact value of every demand, those of one constraint together.

        Ties are no matter to linear ones: they keep all digits.
        """
        found, exact = dict[int, float](), self.q - lam @ self.E
        seen = exact if self.linear else self.at(lam)
        for places in self._by_constraint:
            several = [self.demands[i].groups for i in places]
            constraint = self.demands[places[0]].constraint
            m, unit = (exact, 1.0) if constraint.linear else (seen, self.units.unit)
            counts = (
                constraint.values(m, several, unit)
                if len(several) > 1
                else [constraint.value(m, several[0], unit)]
            )
            found.update(zip(places, counts, strict=True))
        return [found[i] for i in range(len(self.demands))]

    @property
    def linear(self) -> bool:
        """Whether all demands are."""
        return all(each.constraint.linear for each in self.demands)

    @cached_property
    def _by_constraint(self) -> list[list[int]]:
        """The places of the demands of each constraint."""
        places: dict[int, list[int]] = {}
        for i, demand in enumerate(self.demands):
            places.setdefault(id(demand.constraint), []).append(i)
        return list(places.values())

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of every demand, whatever its constraint."""
        m, rank = self.at(lam), Rank()
        return [rank.show(rank.value(m, it.groups), it.groups) for it in self.demands]

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups of every demand."""
        rank = Rank()
        return [
            rank.show(rank.estimate(e, each.groups)[0], each.groups)
            for each, e in zip(self.demands, self.E, strict=True)
        ]

    def fewer(self) -> Counted:
        """Some of the rows, for a rough look."""
        step = len(self.q) // EXACT_ROWS
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

    @property
    def ways(self) -> list[Callable[[float], float]]:
        """How a value may be had, the quickest first."""
        return [self.value] if self.exact_only else [self.quick_value, self.value]

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
