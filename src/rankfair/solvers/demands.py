"""Demands on groups of their own, and the fits that tilts for all of them make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankfair.balances import Balance, Band
from rankfair.balances.base import Field
from rankfair.problem import Groups, Problem
from rankfair.solvers.base import Fitter, Floats
from rankfair.solvers.pinned import KEPT, Pinned

DEAR = 10.0  # times what a fit without ranks costs: a price that is never paid
WAVES = 2  # further directions for each demand along which fits are nudged


@dataclass(frozen=True)
class Demand:
    """A balance, and the groups it is asked of, in both orders of the rows."""

    balance: Balance
    groups: Groups  # rows sorted by task
    user_groups: Groups  # the user's rows

    def band(self, groups: Groups) -> Band:
        """The band and half a pair more, as several counts have to fall in place."""
        low, high = self.balance.band(groups)
        return Band(low - groups.pair, high + groups.pair)

    @property
    def pair(self) -> float:
        """What one pair is worth, as people read it."""
        own, show = self.user_groups, self.balance.show
        return show(2.0 * own.pair, own) - show(0.0, own)

    @property
    def edges(self) -> tuple[float, float]:
        """The band as people read it."""
        low, high = self.band(self.user_groups)
        show = self.balance.show
        return show(low, self.user_groups), show(high, self.user_groups)


@dataclass(frozen=True)
class Point:
    """Multipliers, the fit they make, the values there and how far off they are."""

    x: Floats
    W: Floats
    shown: Floats
    off: Floats  # outside the band: positive above, negative below, else 0

    @property
    def miss(self) -> float:
        """How far the worst value is outside its band."""
        return float(np.abs(self.off).max())

    @property
    def short(self) -> float:
        """How far all values together are outside their bands."""
        return float(np.linalg.norm(self.off))


@dataclass(frozen=True)
class Tilts:
    """``W(x) = fit(y − Σ_s x_s g_s)`` from the moments ``b`` (r, k, n + 1) of the g."""

    fitter: Fitter
    demands: tuple[Demand, ...]
    B0: Floats
    W0: Floats
    b: Floats

    @property
    def problem(self) -> Problem:
        """The rows, which these counts look at group by group."""
        return self.fitter.rows

    @property
    def balance(self) -> Balance:
        """What is demanded of all groups alike."""
        return self.demands[0].balance

    @classmethod
    def of(cls, fitter: Fitter, demands: tuple[Demand, ...]) -> Tilts:
        """Start at the fit without the demands, along the differences of means.

        Where means are pinned these make no difference: the gradients met there do.
        """
        problem = fitter.rows
        B0 = problem.target_moments
        W0 = fitter.solve(B0)
        m = problem.predict(W0)
        pinned_means = isinstance(fitter, Pinned)
        fields = [
            each.balance.field(m, each.groups)
            if pinned_means
            else each.balance.start(each.groups)
            for each in demands
        ]
        start = cls(fitter, demands, B0, W0, np.zeros((0, *B0.shape)))
        return replace(start, b=start.moments_of(fields, m))

    @cached_property
    def ceiling(self) -> float:
        """The objective of equal predictions for all, which keep ranks level.

        Whatever costs more is no way to a solution.  Where other demands would not be
        kept by that, it is a multiple of what these cost alone: ranks depend on the
        order only, and are as level where predictions are beyond all measure.
        """
        level = np.zeros_like(self.W0)
        cost = self.fitter.objective(level, self.B0)
        if not self.kept(level):
            return DEAR * max(cost, self.fitter.objective(self.W0, self.B0))
        return cost * (1 + 1e-9)

    def nears(self, tried: Point, point: Point) -> bool:
        """Whether a point is nearer to the bands than another, at a sensible price."""
        if not tried.short < point.short or not self.kept(tried.W):
            return False
        return self.fitter.objective(tried.W, self.B0) <= self.ceiling

    def kept(self, W: Floats) -> bool:
        """Whether a fit keeps the linear demands beside these."""
        return self.fitter.miss(self.fitter.values(W)) <= KEPT

    def bends(self, W: Floats) -> Floats:
        """The moments of the gradient of each balance at a fit."""
        m = self.problem.predict(W)
        fields = [each.balance.field(m, each.groups) for each in self.demands]
        return self.moments_of(fields, m)

    def moments_of(self, fields: list[Field], m: Floats) -> Floats:
        """The moments of a direction for each demand, of the rows that take part."""
        found = []
        for each, direction in zip(self.demands, fields, strict=True):
            g = each.groups.of_known(direction(m, each.groups))
            found.append(self.problem.moments(g))
        return np.array(found)

    def fit(self, x: Floats, start: Floats | None = None) -> Floats:
        """The fit to the tilted target."""
        tilted = self.B0 - np.tensordot(x, self.b, 1)
        return self.fitter.solve(tilted, self.W0 if start is None else start)

    def quickly(self, x: Floats) -> Point:
        """The point at ``x`` by quick counts in standard units."""
        W = self.fit(x)
        m = self.problem.predict(W)
        values = [d.balance.estimate(m, d.groups)[0] for d in self.demands]
        return self._point(x, W, values, exact=False)

    def exactly(self, x: Floats) -> Point:
        """The point at ``x`` by counts of the user's own predictions."""
        return self.counted(x, self.fit(x))

    def counted(self, x: Floats, W: Floats) -> Point:
        """The fit ``W`` by counts of the user's own predictions."""
        problem = self.fitter.rows
        m = problem.user_predict(W)
        several = [each.user_groups for each in self.demands]
        values = self.balance.values(m, several, problem.y_unit)
        return self._point(x, W, values, exact=True)

    def _point(self, x: Floats, W: Floats, values: list[float], exact: bool) -> Point:
        shown, off = np.empty(len(x)), np.empty(len(x))
        for s, (d, value) in enumerate(zip(self.demands, values, strict=True)):
            groups = d.user_groups if exact else d.groups
            shown[s] = d.balance.show(value, groups)
            miss = d.band(groups).miss(value)
            off[s] = shown[s] - d.balance.show(value - miss, groups)
        return Point(x, W, shown, off)

    def response(self, at: Point) -> Floats:
        """``K``: how much a unit of each multiplier takes off each value."""
        own = self.answers(at, self.b)[:, : self.B0.shape[0]]
        K = np.einsum("skf,tkf->st", self.bends(at.W), own)
        symmetric: Floats = (K + K.T) / 2
        return symmetric

    def answers(self, at: Point, directions: Floats) -> Floats:
        """How much a unit of tilt along each of the moments takes off the fit."""
        if self.fitter.linear:
            return np.array([self.fitter.slope(b) for b in directions])
        size = 1e-3 * max(float(np.abs(at.x).max()), 1.0)
        tilted = self.B0 - np.tensordot(at.x, self.b, 1)
        found = np.array(
            [at.W - self.fitter.solve(tilted - size * b, at.W) for b in directions]
        )
        return found / size

    def waves(self, at: Point, rng: np.random.Generator) -> Floats:
        """Moments of the gradients where waves along the predictions are high.

        What a row weighs depends on its prediction alone, and not on its place.
        """
        m = self.fitter.rows.predict(at.W)
        fields = [each.balance.field(m, each.groups) for each in self.demands]
        found = []
        for _ in range(WAVES):
            wave = 1 + np.cos(rng.uniform(1, 6) * m + rng.uniform(0, 2 * np.pi))
            found.append(self.moments_of([_times(wave, it) for it in fields], m))
        return np.concatenate(found)


def _times(wave: Floats, direction: Field) -> Field:
    return lambda m, groups: direction(m, groups) * wave
