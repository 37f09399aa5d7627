"""One problem, its fit, and what is asked of its tasks and of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankfair.balances import Balance
from rankfair.balances.by_task import ByTask, in_every_task
from rankfair.blocks import Ints, sorted_by_task
from rankfair.penalties import Penalty, Separable
from rankfair.problem import Problem
from rankfair.segments import Segments
from rankfair.solvers.base import Fitter, Floats
from rankfair.solvers.lines import Part


@dataclass(frozen=True)
class Whole:
    """One problem, its fit, and the demands on its tasks and on all rows."""

    fitter: Fitter
    balance: Balance  # over all rows
    demands: ByTask
    order: Ints  # the user's row behind each sorted one
    target: Floats

    @classmethod
    def of(cls, problem: Problem, penalty: Penalty, balance: Balance) -> Whole:
        """Sort out rows and demands."""
        assert problem.groups is not None
        segments = Segments.of_blocks(problem.blocks, problem.groups)
        return cls(
            Fitter.of(problem, penalty),
            balance.on(problem.y, problem.groups),
            in_every_task(balance, segments, problem.y),
            sorted_by_task(problem.codes, problem.n_tasks)[0],
            problem.target_moments,
        )

    def narrowed(self, share: float) -> Whole:
        """The tasks' bands at a share of their width."""
        balance = replace(self.balance, epsilon=share * self.balance.epsilon)
        problem = self.fitter.rows
        return replace(
            self, demands=in_every_task(balance, self.demands.segments, problem.y)
        )

    @property
    def apart(self) -> bool:
        """Whether tasks share nothing, so that each is fitted alone."""
        return isinstance(self.fitter.penalty, Separable)

    def part(self, W: Floats, push: Floats) -> Part:
        """All tasks, with what they share held as in ``W``."""
        problem = self.fitter.rows
        fitter = self.fitter
        if not self.apart:
            held = fitter.penalty.held(W[:, :-1])
            factor = fitter.factor.held(held, problem.gram)
            fitter = Fitter(problem, held, factor)
        return Part(
            fitter,
            self.demands,
            self.target,
            push,
            self.order,
            self.first,
            self.squares,
        )

    @cached_property
    def first(self) -> Floats:
        """The moments of the tasks' first directions: (k, n + 1)."""
        return self.fitter.rows.moments(self.demands.start)

    @cached_property
    def squares(self) -> Floats:
        """``Σ s_i y_i²`` of each task: (k,)."""
        problem = self.fitter.rows
        y = problem.y * problem.y
        weighted = y if problem.weights is None else y * problem.weights
        total: Floats = self.demands.segments.total(weighted)
        return total

    @cached_property
    def level(self) -> Floats:
        """Coefficients that predict one value for all rows: as many as a fit has."""
        return np.zeros_like(self.fitter.solve(self.target))

    @cached_property
    def ceiling(self) -> float:
        """The objective of one value for all rows, infinite if a band excludes that.

        Whatever costs more is no way to a solution.
        """
        own = self.demands.values(self.fitter.rows.predict(self.level))
        if self.miss(self.value(self.level)) or not self.demands.kept(own).all():
            return np.inf
        return self.fitter.objective(self.level, self.target) * (1 + 1e-9)

    def full(self, own: Floats, W: Floats) -> Floats:
        """The tasks' rows and, where there is one, the row that they share."""
        return np.vstack((own, W[len(own) :]))

    def centred(self, W: Floats) -> Floats:
        """What tasks share, at its best for their own rows."""
        C = self.fitter.penalty.centred(W[:, :-1])
        return np.column_stack((C, W[:, -1]))

    def value(self, W: Floats, exact: bool = False) -> float:
        """The imbalance over all rows."""
        problem = self.fitter.rows
        assert problem.groups is not None and problem.user_groups is not None
        if exact:
            m = problem.user_predict(W)
            return self.balance.value(m, problem.user_groups, problem.y_unit)
        return self.balance.estimate(problem.predict(W), problem.groups)[0]

    def miss(self, value: float) -> float:
        """How far outside the band over all rows a value is, rounding forgiven."""
        assert self.fitter.rows.groups is not None
        miss = self.balance.band(self.fitter.rows.groups).miss(value)
        return miss if abs(miss) > self.demands.forgiven else 0.0
