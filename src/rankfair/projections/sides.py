"""The group that stands too high, the other one, and the band between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.ranks import twice_u, twice_u_sorted
from rankfair.projections.common import Band, Floats, Mask, outside

Sides = tuple[Floats, Floats]


@dataclass(frozen=True)
class Groups:
    """The group that stands too high and the other one, both sorted, and the band."""

    upper: Floats
    lower: Floats
    weight_upper: NDArray[Any] | None
    weight_lower: NDArray[Any] | None
    share_upper: float
    share_lower: float
    band: Band
    a_is_upper: bool

    @classmethod
    def oriented(
        cls, m: Floats, in_a: Mask, band: Band, weights: NDArray[Any] | None
    ) -> Groups | None:
        """Put the group that wins too often on top; None if the band is met."""
        weight_a, weight_b, sum_a, sum_b = _split_weights(in_a, weights)
        both = 2 * sum_a * sum_b
        # Of a band that no order can reach its nearest end is asked for.
        band = (min(max(band[0], 0), both), min(max(band[1], 0), both))
        count = twice_u(m[in_a], m[~in_a], weight_a, weight_b)
        if band[0] <= count <= band[1]:
            return None
        a_is_upper = count > band[1]
        upper = in_a if a_is_upper else ~in_a
        sums = (sum_a, sum_b) if a_is_upper else (sum_b, sum_a)
        values_upper, weight_upper = _sorted(m, upper, weights)
        values_lower, weight_lower = _sorted(m, ~upper, weights)
        return cls(
            upper=values_upper,
            lower=values_lower,
            weight_upper=weight_upper,
            weight_lower=weight_lower,
            share_upper=float(sums[0] / (sum_a + sum_b)),
            share_lower=float(sums[1] / (sum_a + sum_b)),
            band=band if a_is_upper else (both - band[1], both - band[0]),
            a_is_upper=a_is_upper,
        )

    @property
    def goal(self) -> float:
        """The greatest 2U inside the band."""
        whole = self.weight_upper is None or self.weight_upper.dtype.kind in "iu"
        return math.floor(self.band[1]) if whole else self.band[1]

    @property
    def slack(self) -> float:
        """More than the rounding of moved predictions can change a difference by."""
        ends = (self.upper[0], self.upper[-1], self.lower[0], self.lower[-1])
        return 16 * float(np.spacing(max(abs(end) for end in ends)))

    def moved(self, upper: Floats, lower: Floats, delta: float) -> Sides:
        """Both groups after the shift; monotone in ``delta`` even when rounded."""
        return upper - delta * self.share_lower, lower + delta * self.share_upper

    def at(self, delta: float) -> Sides:
        """Both groups, sorted, after a shift by ``delta``."""
        return self.moved(self.upper, self.lower, delta)

    def miss(self, sides: Sides) -> float:
        """How far 2U is above (positive) or below (negative) the band."""
        if self.weight_upper is None:
            return outside(twice_u_sorted(*sides), self.band)
        return outside(twice_u(*sides, self.weight_upper, self.weight_lower), self.band)


def _split_weights(
    in_a: Mask, weights: NDArray[Any] | None
) -> tuple[NDArray[Any] | None, NDArray[Any] | None, Any, Any]:
    """The weights of both groups and their sums."""
    if weights is None:
        n_a = int(np.count_nonzero(in_a))
        return None, None, n_a, len(in_a) - n_a
    weight_a, weight_b = weights[in_a], weights[~in_a]
    return weight_a, weight_b, weight_a.sum().item(), weight_b.sum().item()


def _sorted(
    m: Floats, rows: Mask, weights: NDArray[Any] | None
) -> tuple[Floats, NDArray[Any] | None]:
    """The values of some rows in ascending order, and their weights."""
    if weights is None:
        return np.sort(m[rows]), None
    order = np.argsort(m[rows], kind="stable")
    return m[rows][order], weights[rows][order]
