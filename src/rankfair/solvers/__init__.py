"""Solvers: loops around one exact fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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
