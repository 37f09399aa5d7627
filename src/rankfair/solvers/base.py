"""What goes into and comes out of every solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rankfair.core.blocks import Floats, Ints
from rankfair.core.problem import Problem
from rankfair.engines.base import Engine
from rankfair.input.errors import InputError
from rankfair.penalties.auto import Moments, automatic, some_tasks
from rankfair.penalties.base import Factor, Penalty
from rankfair.solvers.counted import Counted, Curve, Demand, Units


class Status(Enum):
    """How a fit ended; the value is the sentence shown."""

    SATISFIED = "The band is met."
    INACTIVE = "The unconstrained fit already lies in the band."
    INFEASIBLE = "No fit reached the band; the one closest to it was kept."
    MAX_ITER = "The steps ran out before the fit settled; the best one was kept."

    def __str__(self) -> str:
        """The short word: satisfied, inactive, infeasible or max_iter."""
        return self.name.lower()


class Step(NamedTuple):
    """One step of a solver: the objective, the AUC and how far from settled.

    ``projected_auc`` is the AUC of the projected predictions, where a solver has some.
    """

    iteration: int
    objective: float
    auc: float
    residual: float
    projected_auc: float = float("nan")


OnStep = Callable[[Step], None]


def noted_in(trace: list[Step], on_step: OnStep | None) -> OnStep:
    """A report of each step that writes it down as well, by its number."""

    def note(step: Step) -> None:
        trace.append(step._replace(iteration=len(trace) + 1))
        if on_step is not None:
            on_step(trace[-1])

    return note


@dataclass(frozen=True)
class Fitter:
    """``fit(target) → W`` for one problem and penalty, factorised once."""

    problem: Engine
    asked: Penalty  # in the user's units
    penalty: Penalty  # the same in standard units
    factor: Factor

    @classmethod
    def of(cls, problem: Engine, penalty: Penalty) -> Fitter:
        """Bring ``β`` to standard units and factorise."""
        unit = _unit(problem, penalty)
        # Less than this is beyond all digits of a fit.
        own = penalty.scaled(unit if penalty.beta * unit > 1e-100 else 0.0)
        # About the mean of each task, or of all rows.
        gram = problem.whole_gram if own.intercepts else problem.gram
        return cls(problem, penalty, own, own.factorise(gram))

    @property
    def rows(self) -> Problem:
        """The rows themselves, which are in memory."""
        assert isinstance(self.problem, Problem)
        return self.problem

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """``W`` (k, n + 1) from the moments ``B = Xᵀ t`` (k, n + 1) of a target.

        Intercepts are at the centre of their task; that of a common model is at the
        centre of all rows.
        """
        if self.penalty.intercepts:
            moments = B.copy()
            moments[:, :-1] += self.problem.centre * B[:, -1:]
            return self._shifted(self.factor.solve(moments, start), 1.0)
        C = self.factor.solve(B[:, :-1], None if start is None else start[:, :-1])
        W = np.zeros((len(C), C.shape[1] + 1))
        W[:, :-1] = C
        counts = self.problem.counts
        np.divide(B[:, -1], counts, out=W[: len(B), -1], where=counts > 0)
        if len(W) > len(B):  # a common model: the mean of all rows
            W[-1, -1] = B[:, -1].sum() / counts.sum()
        return W

    def objective(self, W: Floats) -> float:
        """``½ Σ (m − y)² + β R(W)`` in standard units, from the moments of ``y``.

        The squares are ``½ yᵀy − ΣW∘B0 + ½ Σ_j wᵀG_j w``: no pass over the rows.
        """
        problem, own = self.problem, W[: self.problem.n_tasks]
        squares = problem.y_squares + float((own * bent(problem, own)).sum())
        loss = 0.5 * squares - float((own * problem.target_moments).sum())
        whole = self.penalty.intercepts
        own = self._shifted(W.copy(), -1.0) if whole else W[:, :-1]
        return max(loss, 0.0) + self.penalty.value(own)

    def _shifted(self, W: Floats, sign: float) -> Floats:
        """Intercepts moved from the centre of all rows to those of tasks, or back."""
        own = W[: self.problem.n_tasks]
        own[:, -1] += sign * (own[:, :-1] * self.problem.centre).sum(axis=1)
        return W

    def blocks_at(self, W: Floats) -> Callable[[slice], Floats]:
        """Blocks of the inverse Hessian at ``W``, of some tasks: (t, n + 1, n + 1).

        They are at the centre of each task, the intercept last: the leverage of a row
        is ``z̃ᵀ K_j z̃``.
        """
        problem, n = self.problem, self.problem.n_features
        if not self.penalty.intercepts:
            slopes = self.factor.blocks_at(W[:, :-1])

            def apart(at: slice) -> Floats:
                counts = problem.counts[at]
                K = np.zeros((len(counts), n + 1, n + 1))
                K[:, :n, :n] = slopes(at)
                np.divide(1.0, counts, out=K[:, n, n], where=counts > 0)
                return K

            return apart
        blocks = self.factor.blocks_at(W)

        def moved(at: slice) -> Floats:
            K, centre = blocks(at), problem.centre[at, :, None]
            # x̃ = (z + c, 1), so that x̃ᵀKx̃ = z̃ᵀ(TᵀKT)z̃ with T = (I c; 0 1).
            K[:, :, n:] += np.matmul(K[:, :, :n], centre)
            K[:, n:] += np.matmul(centre.swapaxes(1, 2), K[:, :n])
            return K

        return moved


def _unit(problem: Engine, penalty: Penalty) -> float:
    """What the user's ``β`` is multiplied by in standard units."""
    return float(problem.beta_unit ** (penalty.degree - 2) / problem.weight_unit)


@dataclass(frozen=True)
class Request:
    """The penalty asked for; ``beta`` is None where cross-validation chooses it.

    A ``fixed`` one is used as it is.  A ``β`` that is given serves y and every
    direction.
    """

    penalty: Penalty
    beta: float | None = None
    fixed: bool = False

    def __post_init__(self) -> None:
        """Refuse a β that cannot be chosen."""
        if self.beta is None and not (self.fixed or self.penalty.leverages):
            raise InputError(
                "beta",
                '"auto" needs a penalty with leverages',
                type(self.penalty).__name__,
                "Give a number.",
            )

    def of_targets(
        self, problem: Engine, B: Floats, squares: Floats
    ) -> tuple[Penalty, Penalty]:
        """The penalties of y, the first target, and of the directions after it."""
        if self.fixed:
            return self.penalty, self.penalty
        unit = _unit(problem, self.penalty)
        by_label = np.argsort(problem.blocks.tasks)
        some = by_label[some_tasks(problem.n_tasks, problem.n_features)]
        sums = Moments(
            problem.gram[some],
            problem.centre[some],
            problem.counts[some],
            B[some],
            squares[some].sum(axis=0),
            float(problem.row_counts[some].sum()),
            slice(1),
        )
        given = None if self.beta is None else self.beta * unit
        of_y = automatic(self.penalty, sums, given).scaled(1.0 / unit)
        if self.beta is not None or not of_y.quadratic or B.shape[2] == 1:
            return of_y, of_y
        of_g = automatic(self.penalty, replace(sums, targets=slice(1, None)))
        return of_y, of_g.scaled(1.0 / unit)


def bent(problem: Engine, W: Floats) -> Floats:
    """``XᵀX w`` of every task: (k, n + 1)."""
    out = np.empty_like(W)
    out[:, :-1] = np.matmul(problem.gram, W[:, :-1, None])[:, :, 0]
    out[:, -1] = problem.counts * W[:, -1]
    return out


@dataclass(frozen=True)
class Line:
    """``W(λ) = W₀ − λ D``, and how it is counted."""

    fitter: Fitter  # with the penalties of y
    W0: Floats  # (k or k + 1, n + 1)
    D: Floats  # (r, k or k + 1, n + 1)
    trained: Counted
    left_out: Counted | None  # None where rows cannot be left out
    rows: Ints | None  # the sorted rows that can be left out; None if all can

    @property
    def alone(self) -> int:
        """How many rows are the only one of their task."""
        return int(np.count_nonzero(self.fitter.problem.row_counts <= 1.0))

    def counted(self, count: str) -> Counted:
        """The predictions to count: left out, or of training rows if that is asked for.

        Training rows are counted as well where most rows cannot be left out.
        """
        left_out, trained = self.left_out, self.trained
        if count == "train" or left_out is None:
            return trained
        return trained if 2 * left_out.n_rows < trained.n_rows else left_out

    @property
    def in_memory(self) -> bool:
        """Whether the rows are."""
        return isinstance(self.fitter.problem, Problem)

    def coefficients(self, lam: Floats) -> Floats:
        """The coefficients at ``λ``."""
        found: Floats = self.W0 - np.tensordot(lam, self.D, 1)
        return found

    @cached_property
    def curve(self) -> Curve:
        """The squared error of training rows, and that of one constant."""
        problem = self.fitter.problem
        B0, own = problem.target_moments, slice(problem.n_tasks)
        left = B0 - bent(problem, self.W0[own])  # Xᵀ(y − m₀)
        b = np.array([(D[own] * left).sum() for D in self.D])
        sides = [bent(problem, D[own]) for D in self.D]
        A = np.array([[(D[own] * side).sum() for side in sides] for D in self.D])
        c = problem.y_squares - float((self.W0[own] * (B0 + left)).sum())
        return Curve(max(c, 0.0), b, A, problem.y_squares)


def training_rows(
    problem: Problem, W0: Floats, D: Floats, M: Floats, demands: Sequence[Demand]
) -> Counted:
    """The training predictions, ``M`` in standard units."""

    def seen(lam: Floats) -> Floats:
        return problem.user_predict(W0 - np.tensordot(lam, D, 1))[problem.order]

    asked = tuple(each.of_rows(None, problem.y) for each in demands)
    return Counted(M[0], M[1:], asked, Units.of(problem), seen)


@dataclass(frozen=True)
class Solution:
    """A fitted model in the user's units, and how it came about."""

    coef: Floats  # (k, n)
    intercept: Floats  # (k,)
    shared_coef: Floats | None
    shared_intercept: float | None
    resolution: float  # what predictions are multiples of
    objective: float
    status: Status
    penalty: Penalty  # with the β that was used
    trace: tuple[Step, ...]
    values: tuple[float, ...] = ()  # of the demands, as people read them, where counted
    multipliers: tuple[float, ...] = ()  # λ, one a demand, or none
    line: Line | None = None  # where the fits of all ε lie
    left_out_aucs: tuple[float, ...] = ()  # of the demands, where rows can be left out
    proxy_aucs: tuple[float, ...] = ()  # how well the predictors tell the groups apart

    @property
    def n_iter(self) -> int:
        """How many steps were taken."""
        return max(1, len(self.trace))


Kind = TypeVar("Kind", bound=Solution)


def package(
    fitter: Fitter,
    W: Floats,
    status: Status,
    trace: Sequence[Step] = (),
    kind: type[Kind] = Solution,  # type: ignore[assignment]
    **more: Any,
) -> Kind:
    """The solution in the user's units, from ``W`` in standard units."""
    problem = fitter.problem
    scale = problem.loss_unit
    objective = fitter.objective(W) * scale
    steps = tuple(step._replace(objective=step.objective * scale) for step in trace)
    coef, intercept = problem.user_coef(W)
    shared, at_zero = problem.user_shared(W) or (None, None)
    found = coef, intercept, shared, at_zero, problem.resolution, objective
    return kind(*found, status, fitter.asked, steps, **more)


def relative(gap: Floats, size: Floats) -> float:
    """The size of one array in units of another's."""
    return float(np.linalg.norm(gap) / max(float(np.linalg.norm(size)), 1e-300))
