"""The alternating direction method for one linear demand, as it was first solved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfair.constraints import Linear
from rankfair.core.problem import Problem
from rankfair.penalties import Penalty
from rankfair.solvers.base import (
    Fitter,
    Floats,
    Solution,
    Status,
    Step,
    package,
    relative,
)
from rankfair.solvers.pinned import KEPT


@dataclass(frozen=True)
class ADM:
    """``M = XW`` and its projection ``S`` onto the demand's plane, pulled together.

        W = fit((y + ρ(S − V)) / (1 + ρ)) with β/(1 + ρ)
        M = XW;   S = M + V − g (gᵀ(M + V) − due) / gᵀg;   V += M − S

    ``S`` meets the demand at every step and ``XW`` in the limit, the sooner the larger
    ``ρ`` is.  ``V`` starts at random in [0, 1).  `pinned` gets there in one step.

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
        groups = problem.groups
        assert groups is not None
        demand = demand.on(problem.y, groups)
        fitter = Fitter.of(problem, penalty)
        proximal = Fitter.of(problem, penalty.scaled(1 / (1 + self.rho)))
        g = demand.direction(groups)
        weighted = g if problem.weights is None else g * problem.weights
        B0 = problem.target_moments
        W: Floats | None = None
        S = np.zeros(len(problem.y))
        V = np.random.default_rng(self.random_state).random(len(problem.y))
        trace: list[Step] = []
        for i in range(self.max_iter):
            target = (problem.y + self.rho * (S - V)) / (1 + self.rho)
            W = proximal.solve(problem.moments(target), W)
            M = problem.predict(W)
            last, S = S, M + V
            S = S - g * ((weighted @ S - demand.due) / (weighted @ g))
            V = V + M - S
            value = float(weighted @ M) - demand.due
            residual = max(relative(M - S, M), relative(S - last, M))
            trace.append(Step(i + 1, fitter.objective(W, B0), value, residual))
            if residual <= self.tol:
                break
        assert W is not None
        settled = residual <= self.tol and abs(demand.allowed().miss(value)) <= KEPT
        status = Status.SATISFIED if settled else Status.MAX_ITER
        return package(fitter, W, status, penalty=penalty, values=(value,), trace=trace)
