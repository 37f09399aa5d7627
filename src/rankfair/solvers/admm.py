"""Alternating directions: three lines around one fit and a projection.

W = fit((y + ρ(S − V)) / (1 + ρ)) with β/(1 + ρ)
M = XW;   S = project(M + V);   V += M − S

And the algorithm of the paper to the letter, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from rankfair import projections
from rankfair.constraints.base import KEPT, Constraint
from rankfair.constraints.linear import Linear
from rankfair.core.blocks import Floats
from rankfair.core.problem import Groups, Problem
from rankfair.input.errors import Argument, InputError, listed, shown
from rankfair.penalties.base import Penalty, out_of
from rankfair.penalties.task import Task
from rankfair.projections.paper import Search
from rankfair.solvers.base import (
    Fitter,
    Line,
    OnStep,
    Request,
    Solution,
    Status,
    Step,
    bent,
    noted_in,
    package,
    relative,
    training_rows,
)
from rankfair.solvers.counted import Demand
from rankfair.solvers.line import nearest

PROJECTIONS = ("shift", "paper", "greedy")
USE_TILT = ("Use ", Argument("solver", "tilt"), ".")


def alternations(
    problem: Problem,
    penalty: Penalty,
    rho: float,
    project: Callable[[Floats], Floats],
    V: Floats,
    B: Floats,
    moments: Callable[[Floats], Floats],
) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
    """The three lines, over and over: ``W``, ``M``, ``S`` and ``V``.

    ``B = Xᵀ(S − V)`` at the start, and ``moments(V) = XᵀV``.  As ``V`` is what the last
    projection took away, ``S − V = M + V_before − 2V``: rows are not asked for more.
    """
    proximal, W = Fitter.of(problem, penalty.scaled(1 / (1 + rho))), None
    own, after = slice(problem.n_tasks), moments(V)
    while True:
        W = proximal.solve((problem.target_moments + rho * B) / (1 + rho), W)
        M = problem.predict(W)
        S = project(M + V)
        V = V + M - S
        before, after = after, moments(V)
        B = bent(problem, W[own]) + before - 2 * after
        yield W, M, S, V


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
    tol: float = 1e-6
    given: ClassVar = ("max_iter", "tol")

    def __post_init__(self) -> None:
        """Refuse settings that no step could use."""
        if self.projection not in PROJECTIONS:
            valid = listed(PROJECTIONS)
            raise InputError(
                "projection", f"must be one of {valid}", shown(self.projection)
            )
        if not self.rho > 0:
            raise InputError("rho", "must be a number above 0", str(self.rho))

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
        shifts = self.projection == "shift"
        if not shifts:
            _check_unweighted(demand.groups, Argument("projection", self.projection))
        penalty = request.of_targets(problem, *problem.sums(()))[0]
        best, trace = Best(Fitter.of(problem, penalty), demand), list[Step]()
        W = best.fitter.solve(problem.target_moments)
        best.offer(W)
        if best.miss == 0:
            return best.solution(Status.INACTIVE)

        def project(m: Floats) -> Floats:
            in_a, band = demand.groups.in_a, demand.band
            if shifts:
                return projections.shift(m, in_a, band, demand.groups.weights)
            search: Search = "index" if self.projection == "paper" else "ratio"
            return projections.paper(m, in_a, band, search=search)

        a, b = np.argmax(demand.groups.in_a), np.argmin(demand.groups.in_a)

        def levels(V: Floats) -> Floats:
            """``XᵀV`` where all of A, and all of B, are moved alike."""
            found: Floats = problem.sums([(float(V[a]), float(V[b]))])[0][:, :, 1]
            return found

        moments = levels if shifts else problem.moments
        note, V = noted_in(trace, on_step), np.zeros(len(problem.y))
        B = bent(problem, W[: problem.n_tasks])
        steps = alternations(problem, penalty, self.rho, project, V, B, moments)
        for W, M, S, taken in islice(steps, self.max_iter):
            V, residual = taken, relative(M - S, M)
            note(best.offer(W, S, residual))
            if residual <= self.tol:
                break
        if shifts:
            # W = fit(y − ρV) at the full β, so the last digits are those of a line.
            best.offer_along(levels(self.rho * V))
        settled = shifts and residual <= self.tol
        return best.solution(Status.SATISFIED if settled else Status.MAX_ITER, trace)


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
            problem,
            penalty,
            self.rho,
            lambda m: m - g * (value(m) / size),
            V,
            -problem.moments(V),
            problem.moments,
        )
        for W, M, S, _ in islice(steps, self.max_iter):
            residual = max(relative(M - S, M), relative(S - last, M))
            step = Step(len(trace) + 1, fitter.objective(W), value(M), residual)
            trace.append(step)
            if residual <= self.tol:
                break
            last = S
        settled = residual <= self.tol and posed.gap(value(M)) <= KEPT
        status = Status.SATISFIED if settled else Status.MAX_ITER
        return package(fitter, W, status, trace, values=(value(M),))


@dataclass(frozen=True)
class Paper:
    """The published algorithm with its published settings.

    An outer loop of ``max_iter`` steps of ``M``, ``M_S = project(M + V)`` and ``V``,
    each with ``inner`` steps of ADM: the pseudo-inverse and group soft threshold for
    ``W``, a closed form for ``M``, and a multiplier moved by ``theta``.  ``M``, ``M_S``
    and ``V`` start at random in [0, 1).  It has no intercepts: targets and features are
    standardised over all rows.  Only ``penalty="task"`` has its closed form.

    Examples
    --------
    >>> Paper(max_iter=5).rho
    0.001
    """

    max_iter: int = 50
    rho: float = 0.001
    gamma: float = 1.0
    theta: float = 0.01
    inner: int = 20
    window: int = 10_000_000
    random_state: int | np.random.Generator | None = None
    given: ClassVar = ("max_iter", "random_state")

    def solve(
        self,
        problem: Problem,
        request: Request,
        demands: Sequence[Demand],
        on_step: OnStep | None = None,
    ) -> Solution:
        """A fixed number of steps; the best ``XW`` is returned."""
        only_rank([each.constraint for each in demands], "paper")
        (demand,) = demands
        _check_unweighted(demand.groups, Argument("solver", "paper"))
        if not isinstance(request.penalty, Task):
            closed = "has a closed form for ", Argument("penalty", "task"), " only"
            given = type(request.penalty).__name__
            raise InputError("solver", ('"paper" ', *closed), given, USE_TILT)
        penalty = request.of_targets(problem, *problem.sums(()))[0]
        shrink = shrinking(problem)
        best, trace = Best(Fitter.of(problem, penalty), demand), list[Step]()
        y, in_a, note = problem.y, demand.groups.in_a, noted_in(trace, on_step)
        M, S, V = np.random.default_rng(self.random_state).random((3, len(y)))
        rho, gamma, L = self.rho, self.gamma, 0 * y
        for _ in range(self.max_iter):
            for _ in range(self.inner):
                target = (y + gamma * M + L) / (1 + gamma)
                W = shrink(target, penalty.beta / (1 + gamma))
                XW = problem.predict(W)
                M = (rho * (S - V) + gamma * XW - L) / (rho + gamma)
                L = L - self.theta * (XW - M)
            S = projections.paper(M + V, in_a, demand.band, window=self.window)
            V = V + M - S
            note(best.offer(W, S, relative(M - S, M)))
        return best.solution(Status.MAX_ITER, trace)


def shrinking(problem: Problem) -> Callable[[Floats, float], Floats]:
    """The paper's W-step, with rows standardised over all tasks and no intercepts.

    ``max(||c|| − t, 0) c/||c||``, ``c = X⁺ target``, and 0 where ``c = 0``, with
    ``X⁺ = (XᵀX)⁺Xᵀ`` of every task.  The last column are the intercepts at the task
    centres that make up for none.
    """
    G, centre = problem.whole_gram[:, :-1, :-1], problem.centre
    inverse = np.linalg.pinv(G, hermitian=True).astype(float, copy=False)

    def shrink(target: Floats, threshold: float) -> Floats:
        B = problem.moments(target)
        C: Floats = out_of(inverse, B[:, :-1] + centre * B[:, -1:])
        norm = np.linalg.norm(C, axis=1, keepdims=True)
        C *= np.maximum(norm - threshold, 0.0)
        np.divide(C, norm, out=C, where=norm > 0)
        return np.column_stack((C, (centre * C).sum(axis=1)))

    return shrink


def only_rank(constraints: Sequence[Constraint], solver: str) -> None:
    """Refuse what a solver that projects ranks does not know."""
    if len(constraints) > 1 or not constraints[0].pairs:
        names = ", ".join(type(each).__name__ for each in constraints)
        knows = "projects ranks of two groups and knows only "
        raise InputError(
            "solver",
            (f'"{solver}" {knows}', Argument("constraints", "rank")),
            names,
            USE_TILT,
        )


def _check_unweighted(groups: Groups, what: Argument) -> None:
    """The paper's projection counts rows, not weights."""
    if groups.weights is not None:
        raise InputError(
            "sample_weight",
            ("cannot be used with ", what, ", which counts every row once"),
            cure=("Repeat the rows, or use ", Argument("solver", "tilt"), "."),
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
        objective = self.fitter.objective(W)
        if (miss, objective) < (self.miss, self.objective):
            self.miss, self.objective, self.W, self.shown = miss, objective, W, shown
        return Step(0, objective, shown, residual, projected)

    def offer_along(self, B: Floats) -> None:
        """Offer the nearest in the band of the line through the fits to y and y − g.

        ``B`` are the moments of ``g``.
        """
        fitter, problem = self.fitter, self.fitter.rows
        B0 = problem.target_moments
        W0 = fitter.solve(B0)
        D = (W0 - fitter.solve(B0 - B))[None]
        M = np.stack([problem.predict(W) for W in (W0, *D)])
        trained = training_rows(problem, W0, D, M, [self.demand])
        line = Line(fitter, W0, D, trained, None, None)
        self.offer(line.coefficients(nearest(trained, line.curve.cap).lam))

    def solution(self, status: Status, trace: Sequence[Step] = ()) -> Solution:
        """What was kept."""
        assert self.W is not None
        reached = status if self.miss == 0 else Status.INFEASIBLE
        return package(self.fitter, self.W, reached, trace, values=(self.shown,))
