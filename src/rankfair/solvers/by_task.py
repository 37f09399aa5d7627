"""A band in every task, alone or together with the band over all rows.

One λ a task.  All tasks tilted alike are a line of fits, and each task has its own
place on it:

    W_j = row j of fit(y − λ_j h),    h = ±n_j/n_group within every task

Bands are met on training predictions.  A task's value depends on its own coefficients
alone, so all tasks are searched at once: a probe is one count of the tasks that are
still open, each at its own place.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints.base import ROUNDING, Constraint
from rankfair.constraints.by_task import ByTask, in_every_task
from rankfair.constraints.rank import Rank
from rankfair.core.blocks import Floats, Ints, linear_predict, rounded
from rankfair.core.by_task import Segments
from rankfair.core.problem import Problem
from rankfair.penalties.base import Penalty
from rankfair.solvers.base import (
    Fitter,
    OnStep,
    Solution,
    Status,
    Step,
    bent,
    noted_in,
    package,
)
from rankfair.solvers.counted import Counted, Demand, Units, quadratic_roots
from rankfair.solvers.line import nearest
from rankfair.solvers.roots import Bracket, close_in, first_beyond

Bools = NDArray[np.bool_]

# Shares of the way to the cap; the side below 0 is that which as a rule leads away.
SHARES = (0.04, 0.16, -0.25, 0.36, 0.64, 1.0, -1.0)
ROUNDED = 1e-12  # a correlation, or a share of all pairs, that is rounding


class TaskStatus(Enum):
    """How one task ended; the value is the sentence shown."""

    SATISFIED = "Its band is met."
    INACTIVE = "The fit that is free of it already lies in its band."
    CONSTANT = "One value for all its rows is the best fit found in its band."
    INFEASIBLE = "No fit reached its band; the one closest to it was kept."
    ONE_GROUP_ONLY = "It does not have rows of both groups."

    def __str__(self) -> str:
        """The short words: satisfied, one group only and so on."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, kw_only=True)
class TaskSolution(Solution):
    """A solution with what became of each task, in the user's order of tasks."""

    task_values: Floats  # (k,) as people read them, NaN without both groups
    task_aucs: Floats  # (k,) the AUC in each task, whatever constraint was asked for
    task_status: tuple[TaskStatus, ...]
    task_totals: Floats  # (k, 2), the weight of groups B and A
    task_multipliers: Floats  # (k,) λ, 0 where a task is not tilted


def solve_tasks(
    problem: Problem,
    penalty: Penalty,
    constraint: Constraint,
    on_step: OnStep | None = None,
    overall: bool = False,
) -> TaskSolution:
    """Every task in its band, each at the ``λ`` nearest to 0 that puts it there.

    A task that is tilted never errs more than with one constant.  Where no ``λ`` puts
    it in its band, it is given that constant, which is in every band of ranks and of
    means; for residuals it is infeasible.

    With ``overall`` all rows together are in the band as well.  For that tasks are
    moved against each other as wholes, by their means of the direction of all rows,
    which leaves ranks and mean gaps within them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Rank
    >>> from rankfair.penalties import Ridge
    >>> X, in_a = np.array([[0.0], [1], [2], [0], [1], [2]]), np.arange(6) % 3 > 0
    >>> y, codes = np.array([0.0, 1, 5, 3, 0, 2]), np.array([0, 0, 0, 1, 1, 1])
    >>> problem = Problem.from_rows(X, y, codes, 2, in_a=in_a)
    >>> found = solve_tasks(problem, Ridge(), Rank(0.0), overall=True)
    >>> found.task_values.tolist(), str(found.status)
    ([0.5, 0.5], 'satisfied')
    """
    tilted = Tilted.of(TaskLines.of(problem, penalty, constraint))
    W, inside = tilted.W, True
    if overall:
        assert problem.groups is not None
        demand = Demand(constraint, problem.groups)
        g, slope = demand.direction(), demand.steepest(problem.predict(tilted.W))
        # Where tasks have the groups in equal shares, densities may tell them apart.
        for way in (g, slope, g + slope):
            W, inside = tilted.moved(demand, way)
            if inside:
                break
    return tilted.solution(W, inside, on_step)


@dataclass(frozen=True)
class TaskLines:
    """``W_j − x_j D_j`` of every task, and what is asked of it.

    ``W = fit(y)`` and ``D = fit(h)``, ``h = ±n_j/n_group`` within every task: where all
    ``x`` are equal, this is the fit to ``y − x h``.
    """

    fitter: Fitter
    demands: ByTask
    B0: Floats  # (k, n + 1), the moments of y
    spread: Floats  # (k,), the squared error of one constant in each task
    W: Floats  # (k or k + 1, n + 1)
    D: Floats  # (k or k + 1, n + 1)

    @classmethod
    def of(
        cls, problem: Problem, penalty: Penalty, constraint: Constraint
    ) -> TaskLines:
        """Fit y, and how the fit answers where all tasks are tilted alike."""
        assert problem.groups is not None
        segments = Segments(problem.blocks.sizes, problem.groups)
        demands = in_every_task(constraint, segments, problem.y)
        h = demands.direction * segments.each_row(problem.counts)
        B, squares = problem.sums([h])
        mean = B[:, -1, 0] / np.maximum(problem.counts, 1e-300)
        spread = np.maximum(squares[:, 0] - mean * B[:, -1, 0], 0.0)
        # Columns that do not tell the groups apart say nothing: this is rounding.
        inside = np.einsum("kff->kf", problem.gram) * squares[:, 1:]
        b = np.zeros(B.shape[:2])
        b[:, :-1] = np.where(B[:, :-1, 1] ** 2 > ROUNDED**2 * inside, B[:, :-1, 1], 0.0)
        fitter, total = Fitter.of(problem, penalty), squares[:, 1].sum()
        guess = float(np.sqrt(spread.sum() / total)) if total > 0 else 0.0
        W, D = _fitted(fitter, B[:, :, 0], b, guess)
        return cls(fitter, demands, B[:, :, 0], spread, W, D)

    def at(self, x: Floats, on: Bools) -> Floats:
        """The coefficients at ``x``, with what tasks share at the mean of some."""
        counts = self.fitter.problem.counts * on
        mean = float(counts @ x) / max(float(counts.sum()), 1e-300)
        every = np.append(x, np.full(len(self.W) - len(x), mean))
        return self.W - every[:, None] * self.D

    @cached_property
    def constants(self) -> Floats:
        """Coefficients that predict the mean of each task: (k, n + 1)."""
        W = np.zeros_like(self.B0)
        W[:, -1] = self.B0[:, -1] / np.maximum(self.fitter.problem.counts, 1e-300)
        return W

    def excess(self, W: Floats) -> Floats:
        """How much more each task errs, in squares, than with one constant: (k,)."""
        off = W[: len(self.B0)] - self.constants
        moved = bent(self.fitter.problem, off)
        moved[:, :-1] -= 2.0 * self.B0[:, :-1]
        out: Floats = (off * moved).sum(axis=1)
        return out

    def count(self, places: Ints, x: Floats) -> Floats:
        """The values that the user will see of some tasks, each at its own ``x``."""
        some = len(places) < len(self.B0)
        demands, rows = self.demands.of_tasks(places) if some else (self.demands, None)
        W = self.W.copy()
        W[places] -= x[:, None] * self.D[places]
        return demands.values(seen(self.fitter.rows, W, rows))

    @cached_property
    def _cap(self) -> tuple[Floats, Floats]:
        """The ``x`` between which a task errs no more than its constant, and 0."""
        problem, own = self.fitter.problem, slice(len(self.B0))
        W, D = self.W[own], self.D[own]
        a = (D * bent(problem, D)).sum(axis=1)
        half = (D * (self.B0 - bent(problem, W))).sum(axis=1)
        return quadratic_roots(a, half, self.excess(W))

    def search(self) -> tuple[Floats, Bools]:
        """The ``x`` nearest to 0, of either sign, and whether they are in their bands.

        It looks from 0 outwards on both sides, then closes in.
        """
        demands, k = self.demands, len(self.B0)
        low, high = demands.low, demands.high
        values = self.count(np.arange(k), np.zeros(k))
        miss = demands.misses(values)
        sign, edge = np.sign(miss), np.where(miss > 0, high, low)
        start = np.where(demands.kept(values), 0.0, np.abs(miss))
        width = np.where(start > 0, high - low, 0.0) + demands.forgiven

        def beyond(x: Floats, still: Bools) -> Floats:
            """How far values have to go on to their bands; 0 or less beyond an edge."""
            out, which = np.zeros(len(x)), np.flatnonzero(still)
            out[which] = sign[which] * (self.count(which, x[which]) - edge[which])
            # Less than a thousandth of what is forgiven is on the edge.
            return np.where(np.abs(out) <= 1e-3 * demands.forgiven, 0.0, out)

        def enough(at: Bracket) -> Bools:
            near = np.abs(at.b - at.a) <= 1e-2 * np.abs(at.b)
            inside = (at.fb >= -width) & (near | (at.fb >= -demands.fine))
            out: Bools = inside | (at.fb > 0)
            return out

        ends = np.where(sign > 0, self._cap[::-1], self._cap)
        places = [abs(share) * ends[int(share < 0)] for share in SHARES]
        at = close_in(beyond, first_beyond(beyond, places, start), enough)
        return at.b, (at.fb <= 0) & (at.fb >= -width)


def seen(problem: Problem, W: Floats, rows: Ints | None = None) -> Floats:
    """Predictions of sorted rows as the user will see them, in standard deviations."""
    if rows is None:
        return problem.user_predict(W)[problem.order] / problem.y_unit
    own = problem.order[rows]
    X, codes = problem.X[own], problem.codes[own]
    m = linear_predict(X, codes, *problem.user_coef(W), problem.resolution)
    return m / problem.y_unit


def _fitted(
    fitter: Fitter, B0: Floats, b: Floats, guess: float
) -> tuple[Floats, Floats]:
    """``fit(y)``, and ``fit(h)`` or, where fits bend, a chord in its place."""
    W = fitter.solve(B0)
    if fitter.penalty.quadratic or not guess > 0:
        return W, fitter.solve(b)
    step = np.copysign(guess, (b * W[: len(b)]).sum())
    return W, (W - fitter.solve(B0 - step * b, W)) / step


@dataclass(frozen=True)
class Tilted:
    """All tasks in their bands, or as close as they came."""

    lines: TaskLines
    W: Floats  # (k or k + 1, n + 1)
    lam: Floats  # (k,)
    flat: Bools  # which tasks are given their constants

    @classmethod
    def of(cls, lines: TaskLines) -> Tilted:
        """Each task at its own place on its line, or at its constant."""
        demands, every = lines.demands, lines.demands.segments.both
        x, inside = lines.search()
        more = lines.excess(lines.at(x, every)) > ROUNDING * lines.fitter.problem.counts
        flat = ~inside | (more & (x != 0))
        flat &= demands.kept(demands.level)
        lam = np.where(more | flat, 0.0, x)
        W = lines.at(lam, every & ~flat)
        W[: len(flat)][flat] = lines.constants[flat]
        return cls(lines, W, lam, flat)

    def moved(self, demand: Demand, g: Floats) -> tuple[Floats, bool]:
        """Tasks moved by their means of ``g``, and whether all rows are in the band.

        All rows together never err more for it than with one constant.
        """
        lines, problem = self.lines, self.lines.fitter.rows
        counts, segments = problem.counts, lines.demands.segments
        c = problem.moments(g)[:, -1] / np.maximum(counts, 1e-300)
        c[np.abs(c) <= ROUNDING * np.abs(g).max()] = 0.0

        def at(lam: Floats) -> Floats:
            """By steps of the grid on which ties are decided: those in tasks stay."""
            W, unit = self.W.copy(), problem.y_unit
            W[: len(c), -1] -= rounded(lam[0] * c * unit, problem.resolution) / unit
            return W

        counted = Counted(
            problem.predict(self.W),
            segments.each_row(c)[None],
            (demand.of_rows(None, problem.y),),
            Units(),
            lambda lam: seen(problem, at(lam)),
        )
        off = (self.W[: len(c)] - lines.constants)[:, -1]
        excess = (lines.excess(self.W) + lines.spread).sum() - problem.y_squares
        low, high = quadratic_roots(counts @ c**2, -(counts @ (c * off)), excess)
        found = nearest(counted, (float(low), float(high)))
        # Sums of real weights are rounded, here as within tasks.
        room = 0.0 if segments.whole else ROUNDED * counted.demand.unit
        miss = abs(counted.demand.band.miss(found.values[0]))
        return at(found.lam), miss <= max(room, lines.demands.forgiven)

    def solution(self, W: Floats, inside: bool, on_step: OnStep | None) -> TaskSolution:
        """The solution in the user's units, with the state of every task."""
        lines, lam, fitter = self.lines, self.lam, self.lines.fitter
        problem, demands, s = fitter.rows, lines.demands, lines.demands.segments
        m = seen(problem, W)
        values = demands.values(m)
        kept, shown = demands.kept(values), demands.show(values)
        status = Status.SATISFIED if inside and kept.all() else Status.INFEASIBLE
        if status is Status.SATISFIED and (W == lines.W).all():
            status = Status.INACTIVE
        off = np.where(s.both, np.abs(values - demands.level), -1.0)
        trace = list[Step]()
        step = Step(1, fitter.objective(W), float(shown[off.argmax()]), 0.0)
        noted_in(trace, on_step)(step)
        whole = Demand(demands.whole, s.groups).of_rows(None, problem.y)
        value = whole.show(whole.constraint.value(m, s.groups))
        most = float(lam[np.abs(lam).argmax()])
        states = np.full(len(lam), TaskStatus.SATISFIED, dtype=object)
        states[lam == 0] = TaskStatus.INACTIVE
        states[self.flat] = TaskStatus.CONSTANT
        states[~kept] = TaskStatus.INFEASIBLE
        states[~s.both] = TaskStatus.ONE_GROUP_ONLY
        back = np.argsort(problem.blocks.tasks)  # places to the user's tasks
        return package(
            fitter,
            W,
            status,
            trace,
            TaskSolution,
            values=(value,),
            multipliers=(most,),
            task_values=shown[back],
            task_aucs=in_every_task(Rank(), s, problem.y).show(s.twice_u(m))[back],
            task_status=tuple(states[back].tolist()),
            task_totals=np.column_stack((s.total_b, s.total_a)).astype(float)[back],
            task_multipliers=lam[back],
        )
