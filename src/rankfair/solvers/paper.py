"""The letter of the paper: NC-ADMM with its inner ADM, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankfair import projections
from rankfair.core.problem import Problem
from rankfair.penalties import Task
from rankfair.penalties.auto import with_intercepts
from rankfair.solvers.admm import Best, check_unweighted, only_rank
from rankfair.solvers.base import (
    Fitter,
    Floats,
    OnStep,
    Request,
    Solution,
    Status,
    Step,
    noted_in,
    relative,
)
from rankfair.solvers.counted import Demand


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
        check_unweighted(demand.groups, 'solver="paper"')
        if not isinstance(request.penalty, Task):
            raise ValueError(
                'solver="paper" has a closed form for penalty="task" only, got '
                f'{type(request.penalty).__name__}; use solver="tilt"'
            )
        penalty = request.of_targets(problem, *problem.sums(()))[0]
        design, best = (
            PaperDesign.of(problem),
            Best(Fitter.of(problem, penalty), demand),
        )
        y, in_a, trace = problem.y, demand.groups.in_a, list[Step]()
        M, S, V = np.random.default_rng(self.random_state).random((3, len(y)))
        rho, gamma, L, note = self.rho, self.gamma, 0 * y, noted_in(trace, on_step)
        for _ in range(self.max_iter):
            for _ in range(self.inner):
                target = (y + gamma * M + L) / (1 + gamma)
                W = design.shrink(target, penalty.beta / (1 + gamma))
                XW = design.predict(W)
                M = (rho * (S - V) + gamma * XW - L) / (rho + gamma)
                L = L - self.theta * (XW - M)
            S = projections.paper(M + V, in_a, demand.band, window=self.window)
            V = V + M - S
            note(best.offer(design.standard(W), S, relative(M - S, M)))
        return best.solution(penalty, Status.MAX_ITER, trace)


class PaperDesign(NamedTuple):
    """Rows standardised over all tasks, as the paper has them, without intercepts."""

    problem: Problem
    inverse: Floats  # (k, n, n), (XᵀX)⁺ of every task

    @classmethod
    def of(cls, problem: Problem) -> PaperDesign:
        """``X⁺ = (XᵀX)⁺Xᵀ`` of every task."""
        none = np.zeros((problem.n_tasks, problem.n_features + 1, 0))
        sums = problem.gram, problem.centre, problem.counts
        G = with_intercepts(*sums, none)[0][:, :-1, :-1]
        inverse = np.linalg.pinv(G, hermitian=True).astype(float, copy=False)
        return cls(problem, inverse)

    def shrink(self, target: Floats, threshold: float) -> Floats:
        """``max(||c|| − t, 0) c/||c||``, ``c = X⁺ target``, and 0 where ``c = 0``."""
        B = self.problem.moments(target)
        moments = B[:, :-1] + self.problem.centre * B[:, -1:]
        C: Floats = np.matmul(self.inverse, moments[:, :, None])[:, :, 0]
        norm = np.linalg.norm(C, axis=1, keepdims=True)
        C *= np.maximum(norm - threshold, 0.0)
        np.divide(C, norm, out=C, where=norm > 0)
        return C

    def standard(self, W: Floats) -> Floats:
        """``W`` with the intercepts at the task centres that make up for none."""
        return np.column_stack((W, (self.problem.centre * W).sum(axis=1)))

    def predict(self, W: Floats) -> Floats:
        """``XW`` of the sorted rows."""
        return self.problem.predict(self.standard(W))
