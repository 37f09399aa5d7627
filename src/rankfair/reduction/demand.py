"""What is asked of the predictions of two groups: their balance in its band."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Floats
from rankfair.balances import Balance, Band, Linear, Rank
from rankfair.problem import Groups
from rankfair.reduction.asked import Asked, Fit, Reached, unit_of
from rankfair.solvers.landing import Landing, land
from rankfair.solvers.ray import nearest_multiple

REACH = 1e3  # multiples of the first step after which a direction is given up


@dataclass(frozen=True)
class Demand(Asked):
    """A balance of two groups on the rows that are counted, and their targets.

    Rows of unknown group weigh nothing in ``groups``, and something in the loss.
    """

    groups: Groups
    balance: Balance  # that knows its target

    @classmethod
    def of(
        cls,
        balance: Balance,
        y: Floats,
        groups: Groups,
        shifts: bool,
        weights: NDArray[Any] | None = None,
    ) -> Demand:
        """Take targets in standard deviations; by default rows weigh what they count.

        Examples
        --------
        >>> import numpy as np
        >>> from rankfair.balances import Mean
        >>> y, groups = np.array([1.0, 5.0]), Groups(np.array([True, False]))
        >>> Demand.of(Mean(), y, groups, shifts=False).unit
        2.0
        """
        weights = groups.weights if weights is None else weights
        unit = unit_of(y, weights)
        balance = balance.on(y / unit, groups)
        codes = groups.in_a.astype(np.intp)
        if groups.known is not None:
            codes[~groups.known] = -1
        return cls(y, unit, weights, shifts, codes, groups, balance)

    @cached_property
    def shares(self) -> Floats:
        """The shares of B and A."""
        sizes = np.array([self.groups.total_b, self.groups.total_a], np.float64)
        shares: Floats = sizes / sizes.sum()
        return shares

    @property
    def kind(self) -> Balance:
        """The balance of the two."""
        return self.balance

    @cached_property
    def band(self) -> Band:
        """Where the balance has to be."""
        return self.balance.band(self.groups)

    def count(self, m: Floats, x: float = 0.0) -> Landing:
        """The exact balance of ``m``, as found at ``x``."""
        value = self.balance.value(m, self.groups, self.unit)
        return Landing(x, value, self.band.miss(value))

    def shown(self, at: Landing) -> float:
        """The balance as people read it."""
        return self.balance.show(at.value, self.groups)

    def reached(self, at: Landing) -> Reached:
        """The balance and its band."""
        low, high = (self.balance.show(edge, self.groups) for edge in self.band)
        return Reached(self.shown(at), low, high)

    def first_tilt(self, free: Fit) -> Floats:
        """The direction of the means, so far that a fit that follows levels them."""
        g = self.groups.of_known(self.balance.start(self.groups)(free.m, self.groups))
        if isinstance(self.balance, Linear):
            gap = abs(free.at.miss) * self.unit
        else:
            gap = abs(float((self.root * g) @ (self.root * free.m)))
        gap = gap if gap > 0 else 0.1 * self.unit
        size = float((self.root * g) @ (self.root * g))
        return math.copysign(gap / size, free.at.miss) * g

    def multiplier(self, tilt: Floats, m: Floats) -> float:
        """``λ`` with ``λ ∇AUC(m)`` nearest to the tilt, in standard units."""
        g = self.groups.of_known(self.balance.gradient(m, self.groups))
        return nearest_multiple(self.root * g, self.root * tilt) / self.unit**2

    def bent(self, tilt: Floats, m: Floats) -> Floats:
        """``λ ∇AUC(m)``, with the ``λ`` that brings it nearest to the tilt."""
        g = self.groups.of_known(self.balance.gradient(m, self.groups))
        return nearest_multiple(self.root * g, self.root * tilt) * g

    def on_chord(self, near: Floats, far: Floats) -> float:
        """``x`` where the balance of ``near + x (far − near)`` enters its band."""
        way = far - near
        found = self._land(lambda x: near + x * way, 1.0)
        return found.x if found.inside else 1.0

    def closing_shift(self, m: Floats) -> tuple[tuple[float, ...], Landing]:
        """What to add to groups B and A, the least that closes the gap; the count."""
        a, b = self.groups.total_a, self.groups.total_b

        def shift(x: float) -> tuple[float, float]:
            return x * a / (a + b), -x * b / (a + b)

        g = self.groups.of_known(self.balance.start(self.groups)(m, self.groups))
        down = -float(g @ self.by_group(shift(1.0)))
        first = (float(np.ptp(m)) or self.unit) / 8
        found = self._land(
            lambda x: m + self.by_group(shift(x)),
            math.copysign(first, down * self.count(m).miss),
        )
        closing = shift(found.x)
        if found.inside or type(self.balance) is not Rank:
            return closing, found
        low, high = (self.balance.show(edge, self.groups) for edge in self.band)
        bands = np.array([1 - high, low]), np.array([1 - low, high])
        return self._or_swept(m, (closing, found), self.groups.weights, bands)

    def _land(self, predictions: Any, first: float) -> Landing:
        return land(
            lambda x: self.count(predictions(x)).value,
            self.band,
            min(self.balance.resolution(self.groups), self.band.high - self.band.low),
            self.count(predictions(0.0)),
            first,
            REACH * first,
        )
