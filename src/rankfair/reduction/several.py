"""What is asked of three or more groups: each level with the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rankfair._frames import Floats
from rankfair._groups import Groups as Labelled
from rankfair.balances import Balance, Band, Rank
from rankfair.balances.base import ROUNDING
from rankfair.problem import Groups, counted_weights
from rankfair.ranks import twice_u_of_rest
from rankfair.reduction.asked import Asked, Reached, unit_of
from rankfair.reduction.steer import Way, steered


class Landings(NamedTuple):
    """What was counted for each group against the rest, as people read it.

    ``off`` is how far outside its band each is: positive above, negative below.
    """

    shown: Floats
    off: Floats

    @property
    def miss(self) -> float:
        """How far outside its band the worst is, at least 0."""
        return float(np.abs(self.off).max())

    @property
    def inside(self) -> bool:
        """Whether all are in their bands."""
        return not self.off.any()


@dataclass(frozen=True)
class Demands(Asked):
    """A balance of each of several groups against the rest.

    Bands are wider by half a pair at either side than that of two groups, as several
    counts have to fall in place at once: in all ε and one pair.

    Attributes
    ----------
    each : tuple of Groups, a group as A and the rest as B; rows of unknown group weigh
        nothing there
    balances : tuple of Balance, that of each group, which knows its target
    """

    each: tuple[Groups, ...]
    balances: tuple[Balance, ...]

    @classmethod
    def of(
        cls,
        balance: Balance,
        y: Floats,
        groups: Labelled,
        shifts: bool,
        weights: Floats | None = None,
    ) -> Demands:
        """Take targets in standard deviations.

        Examples
        --------
        >>> import numpy as np
        >>> z = Labelled(np.array([0, 1, 2, -1]), np.array([*"abc"]))
        >>> asked = Demands.of(Rank(0.0), np.arange(4.0), z, shifts=True)
        >>> asked.count(np.array([1.0, 2.0, 3.0, 9.0])).shown.tolist()
        [0.0, 0.5, 1.0]
        """
        counted = counted_weights(weights, groups.known)
        each = tuple(Groups(mask, counted) for mask in groups.masks())
        unit = unit_of(y, weights)
        on = tuple(balance.on(y / unit, own) for own in each)
        return cls(y, unit, weights, shifts, groups.codes, each, on)

    @cached_property
    def shares(self) -> Floats:
        """The share of each group in the weight of those that are known."""
        sizes = np.array([own.total_a for own in self.each], np.float64)
        shares: Floats = sizes / sizes.sum()
        return shares

    @property
    def kind(self) -> Balance:
        """That of the first group; all are alike."""
        return self.balances[0]

    @cached_property
    def bands(self) -> tuple[Floats, Floats]:
        """The least and the largest shown value allowed to each group."""
        found = [
            [balance.show(edge, own) for edge in _widened(balance, own)]
            for balance, own in zip(self.balances, self.each, strict=True)
        ]
        low, high = np.transpose(found)
        return low, high

    @cached_property
    def pairs(self) -> Floats:
        """What a pair of rows is worth of each shown value; of means, rounding."""
        return np.array(
            [
                it.show(2.0 * own.pair, own) if isinstance(it, Rank) else ROUNDING
                for it, own in zip(self.balances, self.each, strict=True)
            ]
        )

    def count(self, m: Floats) -> Landings:
        """The exact balance of each group against the rest."""
        values = list(zip(self.balances, self.each, self._values(m), strict=True))
        shown = np.array([it.show(value, own) for it, own, value in values])
        # Judged before it is shown: counts are whole numbers there.
        off = [
            it.show(value, own) - it.show(value - _widened(it, own).miss(value), own)
            for it, own, value in values
        ]
        return Landings(shown, np.array(off))

    def _values(self, m: Floats) -> list[float]:
        if self._ranks:
            totals = [own.total_a for own in self.each]
            return twice_u_of_rest(m, self.codes, totals, self.each[0].weights)
        return [
            balance.value(m, own, self.unit)
            for balance, own in zip(self.balances, self.each, strict=True)
        ]

    @property
    def _ranks(self) -> bool:
        """Whether pairs of all rows are counted, and nothing else."""
        return all(type(balance) is Rank for balance in self.balances)

    def shown(self, at: Landings) -> float:
        """The value farthest off."""
        level = 0.5 if isinstance(self.kind, Rank) else 0.0
        return float(at.shown[np.abs(at.shown - level).argmax()])

    def reached(self, at: Landings) -> Reached:
        """The balance farthest outside its band."""
        worst = int(np.abs(at.off).argmax())
        value, low, high = (float(own[worst]) for own in (at.shown, *self.bands))
        return Reached(value, low, high, worst)

    def gradients(self, m: Floats) -> Floats:
        """The derivative of each shown value by each ``m_i``, per unit of weight."""
        both = zip(self.balances, self.each, strict=True)
        return np.array([own.of_known(it.gradient(m, own)) for it, own in both])

    def slopes(self, m: Floats, ways: Floats) -> Floats:
        """How much each shown value grows along each of the ways (N, r): (G, r)."""
        found: Floats = (self.gradients(m) * self._slope_weights) @ ways
        return found

    def along(self, m: Floats, ways: Floats) -> Way:
        """The least move of ``m`` along the ways (N, r) that brings all to bands."""
        return steered(self, m, ways)

    def closing_shift(self, m: Floats) -> tuple[tuple[float, ...], Landings]:
        """What to add to each group, the least that closes the gap; the count."""
        members = (self.codes[:, None] == np.arange(len(self.each))).astype(float)
        shift = tuple(self.along(m, members).x.tolist())
        # Counted where `predict` will be, to the last bit.
        at = self.count(m + self.by_group(shift))
        if at.inside or not self._ranks:
            return shift, at
        return self._or_swept(m, (shift, at), self.each[0].weights, self.bands)

    def bent(self, tilt: Floats, m: Floats) -> Floats:
        """``Σ λ_g ∇_g(m)``, with the ``λ`` that bring it nearest to the tilt."""
        g = self.gradients(m)
        return self._multipliers(tilt, g) @ g

    def multiplier(self, tilt: Floats, m: Floats) -> float:
        """The largest ``λ`` of ``Σ λ_g ∇_g(m)`` nearest to the tilt, standard units."""
        found = self._multipliers(tilt, self.gradients(m)) / self.unit**2
        return float(found[np.abs(found).argmax()])

    def _multipliers(self, tilt: Floats, g: Floats) -> Floats:
        found = np.linalg.lstsq((self.root * g).T, self.root * tilt, 1e-9)[0]
        return found.astype(np.float64, copy=False)

    @cached_property
    def _slope_weights(self) -> Any:
        """What a shown value makes of a direction: weights, and units for means."""
        own = self.each[0].weights
        scale = 1.0 if isinstance(self.kind, Rank) else 1.0 / self.unit
        return scale if own is None else scale * own


def _widened(balance: Balance, own: Groups) -> Band:
    """The band of one group; of ranks with room for half a pair more."""
    low, high = balance.band(own)
    more = own.pair if isinstance(balance, Rank) else 0
    return Band(low - more, high + more)
