"""Solvers: loops around one exact fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rankfair.core.problem import Problem
from rankfair.solvers.admm import NCADMM, Paper
from rankfair.solvers.base import OnStep, Request, Solution
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import Tilt

__all__ = ["NCADMM", "Paper", "Tilt"]

SOLVERS = {"tilt": Tilt, "ncadmm": NCADMM, "paper": Paper}


class Solver(Protocol):
    """Settings with one method; it remembers no fit."""

    def solve(
        self,
        problem: Problem,
        request: Request,
        demands: Sequence[Demand],
        on_step: OnStep | None = None,
    ) -> Solution:
        """Fit ``problem`` with the penalty requested, every demand in its band."""


def make_solver(solver: str | Solver, **settings: Any) -> Solver:
    """The solver of that name with those settings that it is ``given``.

    An object is returned as it is.

    Examples
    --------
    >>> make_solver("tilt", count="train", random_state=0)
    Tilt(count='train', direction='mean', max_iter=50, tol=0.0001)
    """
    if not isinstance(solver, str):
        return solver
    kind: Any = SOLVERS[solver]
    found: Solver = kind(
        **{name: settings[name] for name in kind.given if name in settings}
    )
    return found
