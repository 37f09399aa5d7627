"""A band in every task, alone or together with the band over all rows.

One λ a task.  All tasks tilted alike are a line of fits, and each task has its own
place on it:

    W_j = row j of fit(y − λ_j h),    h = ±n_j/n_group within every task

Bands are met on training predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import Enum

import numpy as np

from rankfair.constraints import Constraint, Rank
from rankfair.constraints.by_task import RankByTask
from rankfair.core.blocks import Floats
from rankfair.core.linear import rounded
from rankfair.core.problem import Problem
from rankfair.penalties import Penalty
from rankfair.solvers.base import OnStep, Solution, Status, Step, noted_in, package
from rankfair.solvers.line import Counted, Demand, Units, nearest
from rankfair.solvers.task_lines import Bools, TaskLines, seen

REAL = 1e-12  # of all pairs: what rounding leaves of real weights
NONE = 1e-9  # a squared error of so little a row, or a part of g so small, is none


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


@dataclass(frozen=True)
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
) -> TaskSolution:
    """Every task in its band, each at the ``λ`` nearest to 0 that puts it there.

    A task that is tilted never errs more than with one constant.  Where no ``λ`` puts
    it in its band, it is given that constant, which is in every band of ranks and of
    means; for residuals it is infeasible.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Rank
    >>> from rankfair.penalties import Ridge
    >>> X, in_a = np.array([[0.0], [1], [2], [0], [1], [2]]), np.arange(6) % 3 > 0
    >>> y, codes = np.array([0.0, 1, 5, 3, 0, 2]), np.array([0, 0, 0, 1, 1, 1])
    >>> problem = Problem.from_rows(X, y, codes, 2, in_a=in_a)
    >>> solve_tasks(problem, Ridge(), Rank(0.0)).task_values.tolist()
    [0.5, 0.5]
    """
    tilted = _tilted(TaskLines.of(problem, penalty, constraint))
    return _solution(tilted, penalty, constraint, tilted.W, on_step)


def solve_both(
    problem: Problem,
    penalty: Penalty,
    constraint: Constraint,
    on_step: OnStep | None = None,
) -> TaskSolution:
    """Every task, and all rows together, in their bands.

    Tasks are moved against each other as wholes, by their means of the direction of
    all rows: that leaves ranks and mean gaps within them as they are.  What is left of
    that direction within a task is the direction of the task itself.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Rank
    >>> from rankfair.penalties import Ridge
    >>> X, in_a = np.array([[0.0], [1], [2], [0], [1], [2]]), np.arange(6) % 3 > 0
    >>> y, codes = np.array([0.0, 1, 5, 3, 0, 2]), np.array([0, 0, 0, 1, 1, 1])
    >>> problem = Problem.from_rows(X, y, codes, 2, in_a=in_a)
    >>> found = solve_both(problem, Ridge(), Rank(0.0))
    >>> found.task_values.tolist(), str(found.status)
    ([0.5, 0.5], 'satisfied')
    """
    tilted = _tilted(TaskLines.of(problem, penalty, constraint))
    groups = problem.groups
    assert groups is not None
    demand, m = Demand(constraint, groups), problem.predict(tilted.W)
    W, inside = _moved(tilted, demand, m, demand.direction())
    if not inside:
        # Where tasks have the groups in equal shares, densities may tell them apart.
        g = groups.of_known(constraint.gradient(m, groups))
        W, inside = _moved(tilted, demand, m, g)
    return _solution(tilted, penalty, constraint, W, on_step, inside)


@dataclass(frozen=True)
class Tilted:
    """All tasks in their bands, or as close as they came."""

    lines: TaskLines
    W: Floats  # (k or k + 1, n + 1)
    lam: Floats  # (k,)
    flat: Bools  # which tasks are given their constants


def _tilted(lines: TaskLines) -> Tilted:
    """Each task at its own place on its line, or at its constant."""
    demands, problem = lines.demands, lines.fitter.problem
    found, every = lines.search(), demands.segments.both
    more = lines.excess(lines.at(found.x, every)) > NONE * problem.counts
    lam = np.where(more, 0.0, found.x)
    flat = ~found.inside | (more & (found.x != 0))
    flat &= demands.kept(demands.level.astype(float))
    lam[flat] = 0.0
    W = lines.at(lam, every & ~flat)
    W[: len(flat)][flat] = lines.constants[flat]
    return Tilted(lines, W, lam, flat)


@dataclass(frozen=True)
class Shifted(Counted):
    """Tasks moved as wholes, by ``λ c``, and counted as the user will see them."""

    problem: Problem = field(kw_only=True)
    W: Floats = field(kw_only=True)
    c: Floats = field(kw_only=True)  # (k,)

    @property
    def ties_hold(self) -> bool:
        """Training predictions: rows that tie are rows that tie for the user."""
        return True

    def coefficients(self, lam: float) -> Floats:
        """Moved by steps of the grid on which ties are decided: those in tasks stay."""
        W = self.W.copy()
        unit = self.problem.y_unit
        moved = rounded(lam * self.c * unit, self.problem.resolution)
        W[: len(self.c), -1] -= moved / unit
        return W

    def at(self, lam: Floats) -> Floats:
        """The predictions at ``λ``."""
        return seen(self.problem, self.coefficients(float(lam[0])))


def _moved(tilted: Tilted, demand: Demand, m: Floats, g: Floats) -> tuple[Floats, bool]:
    """Tasks moved by their means of ``g``, and whether that meets the band of all rows.

    All rows together never err more for it than with one constant.
    """
    lines, problem = tilted.lines, tilted.lines.fitter.rows
    counts = problem.counts
    c = problem.moments(g)[:, -1] / np.maximum(counts, 1e-300)
    c[np.abs(c) <= NONE * np.abs(g).max()] = 0.0
    a = float(counts @ c**2)
    half = float(counts @ (c * (tilted.W[: len(c)] - lines.constants)[:, -1]))
    spare = problem.y_squares - float((lines.excess(tilted.W) + lines.spread).sum())
    root, size = float(np.sqrt(max(half * half + a * spare, 0.0))), a or np.inf
    shifted = Shifted(
        m,
        lines.demands.segments.each_row(c)[None],
        (demand.of_rows(None, problem.y),),
        Units(),
        problem=problem,
        W=tilted.W,
        c=c,
    )
    cap = min((half - root) / size, 0.0), max((half + root) / size, 0.0)
    found = nearest(shifted, cap)
    # Sums of real weights are rounded, here as within tasks.
    room = 0.0 if lines.demands.segments.whole else REAL * shifted.unit
    miss = abs(shifted.band.miss(found.value))
    return shifted.coefficients(found.x), miss <= max(room, lines.demands.forgiven)


def _solution(
    tilted: Tilted,
    penalty: Penalty,
    constraint: Constraint,
    W: Floats,
    on_step: OnStep | None,
    inside: bool = True,
) -> TaskSolution:
    """The solution in the user's units, with the state of every task."""
    lines, lam = tilted.lines, tilted.lam
    problem, demands, fitter = lines.fitter.rows, lines.demands, lines.fitter
    assert problem.groups is not None
    m = seen(problem, W)
    values = demands.values(m)
    kept, s = demands.kept(values), demands.segments
    status = Status.SATISFIED if inside and kept.all() else Status.INFEASIBLE
    if status is Status.SATISFIED and (W == lines.W).all():
        status = Status.INACTIVE
    shown = demands.show(values)
    off = np.where(s.both, np.abs(values - demands.level), -1.0)
    trace = list[Step]()
    step = Step(1, fitter.objective(W, lines.B0), float(shown[off.argmax()]), 0.0)
    noted_in(trace, on_step)(step)
    posed = constraint.on(problem.y, problem.groups)
    value = posed.show(posed.value(m, problem.groups), problem.groups)
    solution = package(
        fitter,
        W,
        status,
        penalty=penalty,
        values=(value,),
        multipliers=(float(lam[np.abs(lam).argmax()]),),
        trace=trace,
    )
    states = np.full(len(lam), TaskStatus.SATISFIED, dtype=object)
    states[lam == 0] = TaskStatus.INACTIVE
    states[tilted.flat] = TaskStatus.CONSTANT
    states[~kept] = TaskStatus.INFEASIBLE
    states[~s.both] = TaskStatus.ONE_GROUP_ONLY
    back = np.argsort(problem.blocks.tasks)  # places to the user's tasks
    return TaskSolution(
        **{each.name: getattr(solution, each.name) for each in fields(Solution)},
        task_values=shown[back],
        task_aucs=RankByTask(s, Rank()).show(s.twice_u(m))[back],
        task_status=tuple(states[back].tolist()),
        task_totals=np.column_stack((s.total_b, s.total_a)).astype(float)[back],
        task_multipliers=lam[back],
    )
