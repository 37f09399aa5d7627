"""NC-ADMM: three lines around one fit and a projection onto the band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankfair import projections
from rankfair.constraints import Band, Rank
from rankfair.core.blocks import Floats
from rankfair.core.problem import Groups, Problem
from rankfair.penalties import Penalty
from rankfair.solvers.base import (
    Fitter,
    OnStep,
    Request,
    Solution,
    Status,
    Step,
    noted_in,
    package,
    relative,
)
from rankfair.solvers.joint import land
from rankfair.solvers.line import Demand, Landed
from rankfair.solvers.refits import search_refits
from rankfair.solvers.streamed import make_line

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
        request: Request,
        demands: Sequence[Demand],
        on_step: OnStep | None = None,
    ) -> Solution:
        """Iterate; return the best iterate in the band, by counts of training rows."""
        demand = only_rank(demands, "ncadmm")
        groups = demand.groups
        if self.projection != "shift":
            check_unweighted(groups, f'projection="{self.projection}"')
        project, band = PROJECTIONS[self.projection], demand.constraint.band(groups)
        penalty = request.of_targets(problem, *problem.sums(()))[0]
        fitter = Fitter.of(problem, penalty)
        proximal = Fitter.of(problem, penalty.scaled(1 / (1 + self.rho)))
        best = Best(fitter, demand)
        W = fitter.solve(problem.target_moments)
        best.offer(W)
        if best.miss == 0:
            return best.solution(penalty, Status.INACTIVE)
        S, V = problem.predict(W), np.zeros(len(problem.y))
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
            shown = demand.constraint.show(demand.constraint.value(S, groups), groups)
            note(
                Step(
                    i, fitter.objective(W, problem.target_moments), auc, residual, shown
                )
            )
            if residual <= self.tol:
                break
        kept = best.solution(penalty, Status.MAX_ITER, trace)
        if self.projection != "shift":
            return kept
        # W = fit(y − g) at the full β, so the last digits are those of a line.
        g = problem.y - (1 + self.rho) * target + self.rho * M
        settled = residual <= self.tol
        landed = _landed(fitter, demands, g)
        found = replace(landed, settled=settled, trace=tuple(trace)).solution(penalty)
        usable = found.status is not Status.INFEASIBLE
        better = kept.status is Status.INFEASIBLE or found.objective <= kept.objective
        return found if settled or (usable and better) else kept


def _landed(fitter: Fitter, demands: Sequence[Demand], g: Floats) -> Landed:
    """The fit along ``g`` whose count of training rows is exactly in the band."""
    if not fitter.penalty.quadratic:
        return search_refits(fitter, demands, [g], "train")
    problem = fitter.rows
    sums = problem.sums([g])[0]
    return land(make_line(fitter, fitter, demands, [g], sums), "train")


def only_rank(demands: Sequence[Demand], solver: str) -> Demand:
    """The one demand of a solver that projects ranks."""
    if len(demands) > 1 or not isinstance(demands[0].constraint, Rank):
        names = ", ".join(type(each.constraint).__name__ for each in demands)
        raise ValueError(
            f'solver="{solver}" projects ranks of two groups and knows only '
            f'constraints="rank", got {names}; use solver="tilt"'
        )
    return demands[0]


def check_unweighted(groups: Groups, what: str) -> None:
    """The paper's projection counts rows, not weights."""
    if groups.weights is not None:
        raise ValueError(
            f"{what} counts every row once and cannot use sample_weight; "
            'repeat the rows, or use solver="tilt"'
        )


class Best:
    """Keeps the iterate with the least error in the band, or else the closest one."""

    def __init__(self, fitter: Fitter, demand: Demand) -> None:
        self.fitter, self.demand = fitter, demand
        self.miss = self.objective = np.inf
        self.W: Floats | None = None
        self.shown = np.nan

    def offer(self, W: Floats) -> float:
        """Count this iterate exactly, keep it if it is the best; returns its AUC."""
        problem, constraint = self.fitter.rows, self.demand.constraint
        m = problem.user_predict(W)[problem.order]
        value = constraint.value(m, self.demand.groups, problem.y_unit)
        miss = abs(constraint.band(self.demand.groups).miss(value))
        objective = self.fitter.objective(W, problem.target_moments)
        shown = constraint.show(value, self.demand.groups)
        if (miss, objective) < (self.miss, self.objective):
            self.miss, self.objective, self.W, self.shown = miss, objective, W, shown
        return shown

    def solution(
        self, penalty: Penalty, status: Status, trace: Sequence[Step] = ()
    ) -> Solution:
        """What was kept."""
        assert self.W is not None
        return package(
            self.fitter,
            self.W,
            status if self.miss == 0 else Status.INFEASIBLE,
            penalty=penalty,
            values=(self.shown,),
            trace=trace,
        )
