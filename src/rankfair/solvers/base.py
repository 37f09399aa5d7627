"""What goes into and comes out of every solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.balances import Balance
from rankfair.engines import Engine
from rankfair.penalties import Factor, Penalty
from rankfair.problem import Problem

Floats = NDArray[np.float64]

NIL = 1e-100  # a weight of the penalty that is beyond all digits of a fit


class Status(Enum):
    """How a fit ended; the value is the sentence shown."""

    SATISFIED = "The band is met at the least error found."
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
    """A report of each step that writes it down as well, by its number.

    Examples
    --------
    >>> trace = []
    >>> note = noted_in(trace, None)
    >>> for objective in (9.0, 8.0):
    ...     note(Step(1, objective, auc=0.5, residual=0.1))
    >>> [step.iteration for step in trace]
    [1, 2]
    """

    def note(step: Step) -> None:
        trace.append(step._replace(iteration=len(trace) + 1))
        if on_step is not None:
            on_step(trace[-1])

    return note


@dataclass(frozen=True)
class Solution:
    """A fitted model in the user's units, and how it came about."""

    coef: Floats  # (k, n)
    intercept: Floats  # (k,)
    shared_coef: Floats | None
    shared_intercept: float | None
    status: Status
    value: float  # the balance's exact value on the training rows, 2U for ranks
    auc: float  # the same as people read it
    beside: tuple[float, ...]  # the values of the linear balances kept beside it
    multiplier: float
    objective: float
    n_iter: int
    stationarity: float
    trace: tuple[Step, ...]
    # The moments of λ g in standard units, from which a fit nearby can start.
    force: Floats | None = field(default=None, kw_only=True, repr=False)


@dataclass(frozen=True)
class Fitter:
    """``fit(target) → W`` for one problem and penalty, factorised once."""

    problem: Engine
    penalty: Penalty
    factor: Factor

    @classmethod
    def of(cls, problem: Engine, penalty: Penalty) -> Fitter:
        """Bring ``β`` to standard units and factorise."""
        unit = problem.beta_unit ** (penalty.degree - 2) / problem.weight_unit
        own = penalty.scaled(unit if penalty.beta * unit > NIL else 0.0)
        return cls(problem, own, own.factorise(problem.gram))

    def on(self, problem: Engine) -> Fitter:
        """The same penalty on another problem in the same units."""
        return Fitter(problem, self.penalty, self.penalty.factorise(problem.gram))

    @property
    def rows(self) -> Problem:
        """The rows themselves, for solvers that look at them one by one."""
        return in_memory(self.problem)

    @property
    def linear(self) -> bool:
        """Whether ``W`` is a line where the target is one."""
        return self.factor.linear

    def slope(self, b: Floats) -> Floats:
        """How a linear fit answers to the moments ``b``."""
        return self.solve(b)

    def without_pins(self, b: Floats) -> Floats:
        """``b`` less what makes no difference to the fit."""
        return b

    def values(self, W: Floats) -> Floats:
        """The values of further demands; there are none."""
        return np.zeros(0)

    def miss(self, values: Floats) -> float:
        """How far the worst of them is outside its band."""
        return 0.0

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """``W`` (k, n + 1) from the moments ``B = Xᵀ t`` (k, n + 1) of a target."""
        C = self.factor.solve(B[:, :-1], None if start is None else start[:, :-1])
        W = np.zeros((len(C), C.shape[1] + 1))
        W[:, :-1] = C
        counts = self.problem.counts
        np.divide(B[:, -1], counts, out=W[: len(B), -1], where=counts > 0)
        return W

    def objective(self, W: Floats, B0: Floats) -> float:
        """``½ Σ (m − y)² + β R(W)`` in standard units, from the moments of ``y``.

        The squares are ``½ yᵀy − ΣW∘B0 + ½ Σ_j wᵀG_j w``: no pass over the rows.
        """
        problem = self.problem
        own = W[: problem.n_tasks]
        C, a = own[:, :-1], own[:, -1]
        bent = np.matmul(problem.gram, C[:, :, None])[:, :, 0]
        squares = float((C * bent).sum()) + float((problem.counts * a * a).sum())
        loss = 0.5 * (problem.y_squares + squares) - float((own * B0).sum())
        return max(loss, 0.0) + self.penalty.value(W[:, :-1])


def in_memory(problem: Engine) -> Problem:
    """The rows themselves, for solvers that look at them one by one."""
    if not isinstance(problem, Problem):
        raise TypeError(
            f"rows are in a {type(problem).__name__}, not in memory: "
            'use solver="tilt" with two groups'
        )
    return problem


def package(
    fitter: Fitter,
    balance: Balance | None,
    W: Floats,
    status: Status,
    *,
    B0: Floats,
    value: float = np.nan,
    multiplier: float = 0.0,
    stationarity: float = 0.0,
    trace: tuple[Step, ...] = (),
    force: Floats | None = None,
) -> Solution:
    """The solution of standard units ``W`` in the user's units."""
    problem = fitter.problem
    scale = problem.loss_unit
    coef, intercept = problem.user_coef(W)
    shared = problem.user_shared(W)
    groups = problem.user_groups
    shown = np.nan
    if balance is not None and groups is not None:
        shown = balance.show(value, groups)
    return Solution(
        coef=coef,
        intercept=intercept,
        shared_coef=None if shared is None else shared[0],
        shared_intercept=None if shared is None else shared[1],
        status=status,
        value=value,
        auc=shown,
        beside=tuple(fitter.values(W).tolist()),
        multiplier=multiplier * problem.weight_unit,
        objective=fitter.objective(W, B0) * scale,
        n_iter=len(trace),
        stationarity=stationarity,
        trace=tuple(step._replace(objective=step.objective * scale) for step in trace),
        force=force,
    )


def unconstrained(problem: Engine, penalty: Penalty) -> Solution:
    """The fit with no balance asked for."""
    fitter = Fitter.of(problem, penalty)
    B0 = problem.target_moments
    return package(fitter, None, fitter.solve(B0), Status.INACTIVE, B0=B0)
