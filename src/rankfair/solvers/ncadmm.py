"""Non-convex ADMM: three lines around one fit and one projection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rankfair import projections
from rankfair.balances import Balance, Band, Rank
from rankfair.penalties import Penalty
from rankfair.problem import Groups, Problem
from rankfair.solvers.base import (
    Fitter,
    Floats,
    OnStep,
    Solution,
    Status,
    Step,
    noted_in,
    package,
)
from rankfair.solvers.ray import Origin, Ray, nearest_multiple, relative

Projection = Callable[[Floats, Groups, Band], Floats]


def _shift(m: Floats, groups: Groups, band: Band) -> Floats:
    return projections.shift(m, groups.in_a, band, groups.weights)


def _paper(m: Floats, groups: Groups, band: Band) -> Floats:
    return projections.paper(m, groups.in_a, band)


def _greedy(m: Floats, groups: Groups, band: Band) -> Floats:
    return projections.paper(m, groups.in_a, band, search="ratio")


PROJECTIONS: dict[str, Projection] = {
    "shift": _shift,
    "paper": _paper,
    "greedy": _greedy,
}


@dataclass(frozen=True)
class NCADMM:
    """``M = XW`` and its projection ``S`` into the band, pulled together.

        W = fit((y + ρ(S − V)) / (1 + ρ)) with β/(1 + ρ)
        M = XW;   S = project(M + V);   V += M − S

    ``projection`` is ``"shift"`` (the groups move as wholes; settles in some 20 steps),
    ``"paper"`` (predictions are set to 0 as in the paper) or ``"greedy"`` (the same by
    the cheapest rows).  The last two do not settle: ``S`` meets the band, not ``XW``.

    Examples
    --------
    >>> NCADMM(rho=0.5).projection
    'shift'
    """

    rho: float = 1.0
    projection: str = "shift"
    max_iter: int = 50
    tol: float = 1e-8

    def __post_init__(self) -> None:
        """Refuse settings that no step could use."""
        if self.projection not in PROJECTIONS:
            valid = ", ".join(f'"{name}"' for name in PROJECTIONS)
            raise ValueError(
                f'projection must be one of {valid}; got "{self.projection}"'
            )
        if not self.rho > 0:
            raise ValueError(f"rho must be a number above 0; got {self.rho}")

    def solve(
        self,
        problem: Problem,
        penalty: Penalty,
        balance: Balance,
        on_step: OnStep | None = None,
    ) -> Solution:
        """Iterate; return the best iterate in the band, by exact counts."""
        groups = check_rank(problem, balance, "ncadmm")
        if self.projection != "shift":
            check_unweighted(groups, f'projection="{self.projection}"')
        project, band = PROJECTIONS[self.projection], balance.band(groups)
        fitter = Fitter.of(problem, penalty)
        proximal = Fitter.of(problem, penalty.scaled(1 / (1 + self.rho)))
        origin = Origin.of(fitter, balance)
        start = origin.exactly()
        if start.inside:
            return package(
                fitter,
                balance,
                origin.W0,
                Status.INACTIVE,
                B0=origin.B0,
                value=start.value,
            )
        W, S, V = origin.W0, problem.predict(origin.W0), np.zeros(len(problem.y))
        best = Best(fitter, balance, origin.B0)
        trace: list[Step] = []
        note = noted_in(trace, on_step)
        for i in range(1, self.max_iter + 1):
            target = (problem.y + self.rho * (S - V)) / (1 + self.rho)
            W = proximal.solve(problem.moments(target), W)
            M = problem.predict(W)
            S = project(M + V, groups, band)
            V = V + M - S
            residual = relative(M - S, M)
            auc = best.offer(W)
            shown = balance.show(balance.value(S, groups), groups)
            note(Step(i, origin.objective(W), auc, residual, shown))
            if residual <= self.tol:
                break
        kept = best.solution(tuple(trace))
        if self.projection != "shift":
            return kept
        force = origin.B0 - _moments_behind(problem, target, M, self.rho)
        settled = residual <= self.tol
        landed = _landed(Ray.along(origin, force), settled, tuple(trace))
        usable = landed.status is not Status.INFEASIBLE
        better = kept.status is Status.INFEASIBLE or landed.objective <= kept.objective
        return landed if settled or (usable and better) else kept


def _landed(ray: Ray, settled: bool, trace: tuple[Step, ...]) -> Solution:
    """The last step, with its last digits put where the exact count is in the band."""
    landing = ray.land_exactly(1.0)
    origin, W = ray.origin, ray.fit(landing.x)
    _, bend = origin.fitter.problem.line(W).bend(origin.balance, 0.0)
    force = landing.x * ray.b
    multiplier = nearest_multiple(bend, force)
    reached = Status.SATISFIED if settled else Status.MAX_ITER
    return package(
        origin.fitter,
        origin.balance,
        W,
        reached if landing.inside else Status.INFEASIBLE,
        B0=origin.B0,
        value=landing.value,
        multiplier=multiplier,
        stationarity=relative(multiplier * bend - force, force),
        trace=trace,
    )


def check_rank(problem: Problem, balance: Balance, solver: str) -> Groups:
    """These solvers project ranks: any other balance needs ``tilt``."""
    if not isinstance(balance, Rank):
        raise ValueError(
            f'solver="{solver}" projects ranks and knows only balance="rank", '
            f'got {type(balance).__name__}; use solver="tilt"'
        )
    assert problem.groups is not None
    return problem.groups


def check_unweighted(groups: Groups, what: str) -> None:
    """The paper's projection counts rows, not weights."""
    if groups.weights is not None:
        raise ValueError(
            f"{what} counts every row once and cannot use sample_weight; "
            'repeat the rows, or use solver="tilt"'
        )


def _moments_behind(problem: Problem, target: Floats, M: Floats, rho: float) -> Floats:
    """The ``B`` with ``W = solve(B)`` at the full ``β``: ``Xᵀ((1 + ρ) t − ρ M)``."""
    return problem.moments((1 + rho) * target - rho * M)


class Best:
    """Keeps the iterate with the least error in the band, or else the closest one."""

    def __init__(self, fitter: Fitter, balance: Balance, B0: Floats) -> None:
        self.fitter, self.balance, self.B0 = fitter, balance, B0
        self.key: tuple[float, float] = (np.inf, np.inf)
        self.W: Floats | None = None
        self.value = np.nan

    def offer(self, W: Floats) -> float:
        """Count this iterate exactly, keep it if it is the best; returns its AUC."""
        problem = self.fitter.problem
        assert problem.user_groups is not None
        value = problem.count(self.balance, W)
        miss = abs(self.balance.band(problem.user_groups).miss(value))
        key = (miss, self.fitter.objective(W, self.B0))
        if key < self.key:
            self.key, self.W, self.value = key, W, value
        return self.balance.show(value, problem.user_groups)

    def solution(self, trace: tuple[Step, ...]) -> Solution:
        """What was kept, once the steps have run out."""
        assert self.W is not None
        return package(
            self.fitter,
            self.balance,
            self.W,
            Status.MAX_ITER if self.key[0] == 0 else Status.INFEASIBLE,
            B0=self.B0,
            value=self.value,
            multiplier=np.nan,
            stationarity=np.nan,
            trace=trace,
        )
