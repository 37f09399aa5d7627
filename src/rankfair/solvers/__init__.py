"""Solvers: loops around one exact fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rankfair.core.problem import Problem
from rankfair.solvers.admm import ADM, NCADMM, only_rank
from rankfair.solvers.base import OnStep, Request, Solution, Status, Step
from rankfair.solvers.counted import Counted, Demand
from rankfair.solvers.line import Line
from rankfair.solvers.paper import Paper
from rankfair.solvers.tilt import Tilt, solve_linear, unconstrained

__all__ = [
    "ADM",
    "NCADMM",
    "SOLVERS",
    "Counted",
    "Demand",
    "Line",
    "OnStep",
    "Paper",
    "Request",
    "Solution",
    "Solver",
    "Status",
    "Step",
    "Tilt",
    "make_solver",
    "only_rank",
    "solve_linear",
    "unconstrained",
]

SOLVERS = ("tilt", "ncadmm", "paper")


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


def make_solver(
    solver: str | Solver,
    *,
    count: str = "loo",
    direction: str = "mean",
    max_iter: int = 50,
    tol: float = 1e-4,
    random_state: int | None = None,
) -> Solver:
    """The solver of that name; an object is returned as it is.

    Examples
    --------
    >>> make_solver("tilt", count="train")
    Tilt(count='train', direction='mean', max_iter=50, tol=0.0001)
    """
    if not isinstance(solver, str):
        return solver
    if solver == "tilt":
        return Tilt(count, direction, max_iter, tol)
    if solver == "ncadmm":
        return NCADMM(max_iter=max_iter)
    return Paper(max_iter, random_state=random_state)
