"""Fits one after another, each from where the last one ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankfair.balances import Balance, Linear
from rankfair.engines import Engine
from rankfair.penalties import Penalty
from rankfair.solvers.base import Floats, OnStep, Solution
from rankfair.solvers.tilt import Tilt


@dataclass(frozen=True)
class Following(Tilt):
    """``tilt`` along a path of ε: the direction of one fit is the first of the next.

    It remembers one direction, so it is good for one set of rows and no other.
    """

    last: list[Floats] = field(default_factory=list, repr=False)

    def solve(
        self,
        problem: Engine,
        penalty: Penalty,
        balance: Balance,
        on_step: OnStep | None = None,
        also: tuple[Linear, ...] = (),
        start: Floats | None = None,
    ) -> Solution:
        """Solve from the last direction, and remember the new one."""
        known = self.last[0] if self.last else start
        found = super().solve(problem, penalty, balance, on_step, also, known)
        if found.force is not None:
            self.last[:] = [found.force]
        return found
