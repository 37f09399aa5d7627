"""Predictions that move along a line: what the solvers ask of the rows in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfair.blocks import Floats
from rankfair.engines.base import Asked, Field

if TYPE_CHECKING:
    from rankfair.problem import Groups, Problem

__all__ = ["Line"]

DOUBLE_ROWS = 1 << 17
STIR = 0.05  # how much of its own a row gets where pairs have to change places


@dataclass(frozen=True)
class Line:
    """``m(x) = m − (x − start) p`` of all rows of a problem, ``p`` nil at rest.

    With a slope and many rows it is in single precision: counts are then binned, far
    coarser than that, and memory is time.
    """

    problem: Problem
    groups: Groups
    m: Floats
    p: Floats | None = None
    start: float = 0.0

    def along(self, slope: Floats) -> Line:
        """The line from here whose predictions fall by those of ``slope``."""
        p = self.problem.predict(slope)
        if len(p) <= DOUBLE_ROWS:
            return replace(self, p=p)
        short: Any = p.astype(np.float32)
        del p  # before the next array is made
        return replace(self, m=self.m.astype(np.float32), p=short)

    def at(self, x: float) -> Floats:
        """The predictions at ``x``."""
        if self.p is None:
            return self.m
        step = (x - self.start) * self.p
        return np.subtract(self.m, step, out=step)

    def estimate(self, balance: Asked, x: float) -> tuple[float, float]:
        """The balance's value at ``x``, quickly, and the most it can be off."""
        return balance.estimate(self.at(x), self.groups)

    def bend(self, balance: Asked, x: float) -> tuple[Field, Floats]:
        """The balance's direction at ``x``, and its moments there."""
        m = self.at(x)
        field = balance.field(m, self.groups)
        return field, self.problem.moments(field(m, self.groups))

    def moments(self, field: Field, x: float, stir: int | None = None) -> Floats:
        """The moments of a direction at ``x``; with ``stir`` a little of each row's.

        Pairs then change places in another order for every seed.
        """
        g = field(self.at(x), self.groups)
        if stir is not None:
            g = g * np.random.default_rng(stir).uniform(-STIR, STIR, len(g))
        return self.problem.moments(g)

    def released(self) -> Line:
        """The same with nothing in it, where memory is short."""
        return replace(self, m=self.m[:0].copy(), p=None)
