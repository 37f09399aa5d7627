"""Alternating directions: three lines around one fit and a projection.

W = fit((y + ρ(S − V)) / (1 + ρ)) with β/(1 + ρ)
M = XW;   S = project(M + V);   V += M − S
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from rankfair import projections
from rankfair.constraints import Constraint, Linear
from rankfair.constraints.base import KEPT
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
from rankfair.solvers.counted import Demand
from rankfair.solvers.line import TiltedFits
from rankfair.solvers.refits import search_along

PROJECTIONS = ("shift", "paper", "greedy")


def alternations(
    problem: Problem,
    penalty: Penalty,
    rho: float,
    project: Callable[[Floats], Floats],
    S: Floats,
    V: Floats,
) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
    """The three lines, over and over: ``W``, ``M``, ``S`` and what was fitted."""
    proximal, W = Fitter.of(problem, penalty.scaled(1 / (1 + rho))), None
    while True:
        target = (problem.y + rho * (S - V)) / (1 + rho)
        W = proximal.solve(problem.moments(target), W)
        M = problem.predict(W)
        S = project(M + V)
        V = V + M - S
        yield W, M, S, target


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
        only_rank([each.constraint for each in demands], "ncadmm")
        (demand,) = demands
        if self.projection != "shift":
            check_unweighted(demand.groups, f'projection="{self.projection}"')
        penalty = request.of_targets(problem, *problem.sums(()))[0]
        fitter = Fitter.of(problem, penalty)
        best, trace = Best(fitter, demand), list[Step]()
        W = fitter.solve(problem.target_moments)
        best.offer(W)
        if best.miss == 0:
            return best.solution(penalty, Status.INACTIVE)

        def project(m: Floats) -> Floats:
            in_a, band = demand.groups.in_a, demand.band
            if self.projection == "shift":
                return projections.shift(m, in_a, band, demand.groups.weights)
            if self.projection == "greedy":
                return projections.paper(m, in_a, band, search="ratio")
            return projections.paper(m, in_a, band)

        note, V = noted_in(trace, on_step), np.zeros(len(problem.y))
        steps = alternations(problem, penalty, self.rho, project, problem.predict(W), V)
        for here in islice(steps, self.max_iter):
            W, M, S, fitted = here
            residual = relative(M - S, M)
            note(best.offer(W, S, residual))
            if residual <= self.tol:
                break
        kept = best.solution(penalty, Status.MAX_ITER, trace)
        if self.projection != "shift":
            return kept
        # W = fit(y − g) at the full β, so the last digits are those of a line.
        g = problem.y - (1 + self.rho) * fitted + self.rho * M
        settled = residual <= self.tol
        along = search_along(TiltedFits(fitter, fitter, demands, "train"), [g])
        along = replace(along, settled=settled, trace=tuple(trace))
        found = along.solution(penalty)
        usable = found.status is not Status.INFEASIBLE
        better = kept.status is Status.INFEASIBLE or found.objective <= kept.objective
        return found if settled or (usable and better) else kept


@dataclass(frozen=True)
class ADM:
    """``S`` is the projection onto the plane of one linear demand, as first published.

        S = M + V − g (gᵀ(M + V) − due) / gᵀg

    ``S`` meets the demand at every step and ``XW`` in the limit, the sooner the larger
    ``ρ`` is.  ``V`` starts at random in [0, 1).  `Tilt` gets there in one step.

    Examples
    --------
    >>> ADM(rho=0.5).max_iter
    50
    """

    rho: float = 1.0
    max_iter: int = 50
    tol: float = 1e-9
    random_state: int | np.random.Generator | None = None

    def solve(self, problem: Problem, penalty: Penalty, demand: Linear) -> Solution:
        """At most ``max_iter`` steps; the last one is returned."""
        assert problem.groups is not None
        posed = Demand(demand, problem.groups).of_rows(None, problem.y)
        g = posed.constraint.direction(problem.groups)
        size = float(posed.weighted(g) @ g)

        def value(m: Floats) -> float:
            return posed.constraint.value(m, posed.groups)

        V = np.random.default_rng(self.random_state).random(len(problem.y))
        fitter, last, trace = Fitter.of(problem, penalty), 0 * V, list[Step]()
        steps = alternations(
            problem, penalty, self.rho, lambda m: m - g * (value(m) / size), last, V
        )
        for W, M, S, _ in islice(steps, self.max_iter):
            objective = fitter.objective(W, problem.target_moments)
            residual = max(relative(M - S, M), relative(S - last, M))
            trace.append(Step(len(trace) + 1, objective, value(M), residual))
            if residual <= self.tol:
                break
            last = S
        settled = residual <= self.tol and posed.gap(value(M)) <= KEPT
        status = Status.SATISFIED if settled else Status.MAX_ITER
        values = (value(M),)
        return package(fitter, W, status, penalty=penalty, values=values, trace=trace)


def only_rank(constraints: Sequence[Constraint], solver: str) -> None:
    """Refuse what a solver that projects ranks does not know."""
    if len(constraints) > 1 or not constraints[0].pairs:
        names = ", ".join(type(each).__name__ for each in constraints)
        raise ValueError(
            f'solver="{solver}" projects ranks of two groups and knows only '
            f'constraints="rank", got {names}; use solver="tilt"'
        )


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
        self.miss = self.objective = self.shown = np.inf
        self.W: Floats | None = None

    def offer(self, W: Floats, S: Floats | None = None, residual: float = 0.0) -> Step:
        """Count this iterate exactly, keep it if it is the best; returns the step."""
        problem, demand = self.fitter.rows, self.demand
        count = demand.constraint.value
        m = problem.user_predict(W)[problem.order]
        value = count(m, demand.groups, problem.y_unit)
        projected = np.nan if S is None else demand.show(count(S, demand.groups))
        miss, shown = abs(demand.band.miss(value)), demand.show(value)
        objective = self.fitter.objective(W, problem.target_moments)
        if (miss, objective) < (self.miss, self.objective):
            self.miss, self.objective, self.W, self.shown = miss, objective, W, shown
        return Step(0, objective, shown, residual, projected)

    def solution(
        self, penalty: Penalty, status: Status, trace: Sequence[Step] = ()
    ) -> Solution:
        """What was kept."""
        assert self.W is not None
        reached = status if self.miss == 0 else Status.INFEASIBLE
        values = (self.shown,)
        return package(self.fitter, self.W, reached, penalty, trace, values=values)
