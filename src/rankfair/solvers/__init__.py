"""Solvers: loops around one exact fit."""

from __future__ import annotations

from typing import Protocol

from rankfair.balances import Balance
from rankfair.penalties import Penalty
from rankfair.problem import Problem
from rankfair.solvers.adm import ADM
from rankfair.solvers.base import OnStep, Solution, Status, Step, unconstrained
from rankfair.solvers.both import solve_both
from rankfair.solvers.following import Following
from rankfair.solvers.ncadmm import NCADMM
from rankfair.solvers.paper import Paper
from rankfair.solvers.pinned import solve_linear
from rankfair.solvers.scope import TaskSolution, TaskStatus, solve_tasks
from rankfair.solvers.several import solve_groups
from rankfair.solvers.tilt import Tilt

__all__ = [
    "ADM",
    "NCADMM",
    "SOLVERS",
    "Following",
    "OnStep",
    "Paper",
    "Solution",
    "Solver",
    "Status",
    "Step",
    "TaskSolution",
    "TaskStatus",
    "Tilt",
    "make_solver",
    "solve_both",
    "solve_groups",
    "solve_linear",
    "solve_tasks",
    "unconstrained",
]

SOLVERS = ("tilt", "ncadmm", "paper")


class Solver(Protocol):
    """Settings with one method; it remembers no fit."""

    def solve(
        self,
        problem: Problem,
        penalty: Penalty,
        balance: Balance,
        on_step: OnStep | None = None,
    ) -> Solution:
        """Fit ``problem`` under ``penalty`` and ``balance``."""


def make_solver(
    solver: str | Solver,
    *,
    max_iter: int = 50,
    tol: float = 1e-4,
    random_state: int | None = None,
) -> Solver:
    """The solver of that name; an object is returned as it is.

    Examples
    --------
    >>> make_solver("tilt", max_iter=20)
    Tilt(max_iter=20, tol=0.0001, damping=0.8)
    """
    if not isinstance(solver, str):
        return solver
    if solver == "tilt":
        return Tilt(max_iter, tol)
    if solver == "ncadmm":
        return NCADMM(max_iter=max_iter)
    return Paper(max_iter, random_state=random_state)
