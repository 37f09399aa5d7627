"""What is asked of predictions: a balance in its band, and little error."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rankfair._frames import Floats
from rankfair.balances import Balance, Band, Linear
from rankfair.problem import Groups
from rankfair.solvers.landing import Landing, land
from rankfair.solvers.ray import nearest_multiple

REACH = 1e3  # multiples of the first step after which a direction is given up


@dataclass(frozen=True)
class Fit:
    """One refit, judged: where it is, and where a shift of the groups would bring it.

    Without a shift the last three are those of the refit itself.
    """

    tilt: Floats
    m: Floats
    at: Landing
    shift: tuple[float, float]  # of groups B and A
    shifted: Landing
    objective: float
    models: Any = field(default=None, repr=False)
    maps: Any = None  # of the predictions of each group, after which m is
    aim: Floats | None = None  # the tilt of the target that the maps were fitted to


@dataclass(frozen=True)
class Demand:
    """A balance of two groups on the rows that are counted, and their targets."""

    y: Floats
    groups: Groups
    balance: Balance  # that knows its target
    unit: float  # a standard deviation of y
    shifts: bool  # whether predictions may be moved by group

    @classmethod
    def of(cls, balance: Balance, y: Floats, groups: Groups, shifts: bool) -> Demand:
        """Take targets in standard deviations."""
        centre = np.average(y, weights=groups.weights)
        unit = float(np.sqrt(np.average((y - centre) ** 2, weights=groups.weights)))
        unit = unit if unit > 0 else 1.0
        return cls(y, groups, balance.on(y / unit, groups), unit, shifts)

    @cached_property
    def band(self) -> Band:
        """Where the balance has to be."""
        return self.balance.band(self.groups)

    @cached_property
    def root(self) -> Floats | float:
        """The roots of the weights: sums of squares of rows are taken in these."""
        weights = self.groups.weights
        return 1.0 if weights is None else np.sqrt(weights)

    def count(self, m: Floats, x: float = 0.0) -> Landing:
        """The exact balance of ``m``, as found at ``x``."""
        value = self.balance.value(m, self.groups, self.unit)
        return Landing(x, value, self.band.miss(value))

    def shown(self, at: Landing) -> float:
        """The balance as people read it."""
        return self.balance.show(at.value, self.groups)

    def objective(self, m: Floats) -> float:
        """Half the (weighted) sum of squared errors in standard deviations of y."""
        error = self.root * ((m - self.y) / self.unit)
        return 0.5 * float((error * error).sum())

    def judged(self, tilt: Floats, m: Floats, models: Any = None) -> Fit:
        """A refit with its exact count, and the shift that would close the gap."""
        at = self.count(m)
        shift, shifted = (0.0, 0.0), at
        if self.shifts and not at.inside:
            shift, shifted = self.closing_shift(m)
        objective = self.objective(m + self.by_group(shift))
        return Fit(tilt, m, at, shift, shifted, objective, models)

    def first_tilt(self, free: Fit) -> Floats:
        """The direction of the means, so far that a fit that follows levels them."""
        g = self.balance.start(self.groups)(free.m, self.groups)
        if isinstance(self.balance, Linear):
            gap = abs(free.at.miss) * self.unit
        else:
            gap = abs(float((self.root * g) @ (self.root * free.m)))
        gap = gap if gap > 0 else 0.1 * self.unit
        size = float((self.root * g) @ (self.root * g))
        return math.copysign(gap / size, free.at.miss) * g

    def multiplier(self, tilt: Floats, m: Floats) -> float:
        """``λ`` with ``λ ∇AUC(m)`` nearest to the tilt, in standard units."""
        g = self.balance.gradient(m, self.groups)
        return nearest_multiple(self.root * g, self.root * tilt) / self.unit**2

    def bent(self, tilt: Floats, m: Floats) -> Floats:
        """``λ ∇AUC(m)``, with the ``λ`` that brings it nearest to the tilt."""
        g = self.balance.gradient(m, self.groups)
        return nearest_multiple(self.root * g, self.root * tilt) * g

    def on_chord(self, near: Floats, far: Floats) -> float:
        """``x`` where the balance of ``near + x (far − near)`` enters its band."""
        way = far - near
        found = self._land(lambda x: near + x * way, 1.0)
        return found.x if found.inside else 1.0

    def by_group(self, shift: tuple[float, float]) -> Floats:
        """What a shift adds to each row."""
        return np.where(self.groups.in_a, shift[1], shift[0])

    def closing_shift(self, m: Floats) -> tuple[tuple[float, float], Landing]:
        """What to add to groups B and A, the least that closes the gap; the count."""
        a, b = self.groups.total_a, self.groups.total_b

        def shift(x: float) -> tuple[float, float]:
            return x * a / (a + b), -x * b / (a + b)

        g = self.balance.start(self.groups)(m, self.groups)
        down = -float(g @ self.by_group(shift(1.0)))
        first = (float(np.ptp(m)) or self.unit) / 8
        found = self._land(
            lambda x: m + self.by_group(shift(x)),
            math.copysign(first, down * self.count(m).miss),
        )
        return shift(found.x), found

    def _land(self, predictions: Any, first: float) -> Landing:
        return land(
            lambda x: self.count(predictions(x)).value,
            self.band,
            min(self.balance.resolution(self.groups), self.band.high - self.band.low),
            self.count(predictions(0.0)),
            first,
            REACH * first,
        )
