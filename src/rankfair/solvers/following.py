"""Fits one after another, each from where the last one ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rankfair.balances import Balance, Linear
from rankfair.engines import Engine
from rankfair.penalties import Penalty
from rankfair.solvers.base import Floats, OnStep, Solution
from rankfair.solvers.tilt import Tilt


def _forget(force: Floats) -> None:
    """Let the direction go."""


@dataclass(frozen=True)
class Following(Tilt):
    """``tilt`` from the direction in which a fit to the same rows ended.

    It remembers nothing: whoever makes fits one after another is told where each ended,
    and says so to the next.
    """

    first: Floats | None = field(default=None, repr=False, compare=False)
    ended: Callable[[Floats], None] = field(default=_forget, repr=False, compare=False)

    def solve(
        self,
        problem: Engine,
        penalty: Penalty,
        balance: Balance,
        on_step: OnStep | None = None,
        also: tuple[Linear, ...] = (),
        start: Floats | None = None,
    ) -> Solution:
        """Solve from the first direction, and tell the last one."""
        known = start if self.first is None else self.first
        found = super().solve(problem, penalty, balance, on_step, also, known)
        if found.force is not None:
            self.ended(found.force)
        return found
