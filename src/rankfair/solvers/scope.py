"""Bands in every task, alone or together with the band over all rows."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum

import numpy as np

from rankfair.balances import Balance, Rank
from rankfair.balances.by_task import ByTask, RankByTask
from rankfair.penalties import Penalty
from rankfair.problem import Problem
from rankfair.solvers.base import (
    Floats,
    OnStep,
    Solution,
    Status,
    Step,
    noted_in,
    package,
)
from rankfair.solvers.few import searched
from rankfair.solvers.lines import Part
from rankfair.solvers.pushes import task_values
from rankfair.solvers.separate import (
    ROUNDS,
    Found,
    confirmed,
    levelled,
    search,
)
from rankfair.solvers.tilt import Tilt
from rankfair.solvers.whole import Whole

TOGETHER = 7  # times that what tasks share is fitted again
ROUNDS_EACH = 3  # rounds of each task in between


class TaskStatus(Enum):
    """How one task ended; the value is the sentence shown."""

    SATISFIED = "Its band is met at the least error found."
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
    task_aucs: Floats  # (k,) the AUC in each task, whatever balance was asked for
    task_status: tuple[TaskStatus, ...]
    task_totals: Floats  # (k, 2), the weight of groups B and A


@dataclass(frozen=True)
class Iterate:
    """Coefficients with the parts that made them.

    ``W`` has one value for all rows of a task where ``found`` has nothing better.
    """

    W: Floats  # (k or k + 1, n + 1)
    part: Part
    found: Found
    outside: int  # tasks that are not in their band
    objective: float
    at_rest: bool  # whether this is the fit without any band

    @property
    def rank(self) -> tuple[int, float]:
        """Fewer tasks outside, then less error."""
        return self.outside, self.objective


def solve_tasks(
    problem: Problem,
    penalty: Penalty,
    balance: Balance,
    settings: Tilt,
    on_step: OnStep | None = None,
) -> TaskSolution:
    """The least error with every task in its band.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.balances import Rank
    >>> from rankfair.penalties import Ridge
    >>> X, in_a = np.array([[0.0], [1], [2], [0], [1], [2]]), np.arange(6) % 3 > 0
    >>> y, codes = np.array([0.0, 1, 5, 3, 0, 2]), np.array([0, 0, 0, 1, 1, 1])
    >>> problem = Problem.from_rows(X, y, codes, 2, in_a=in_a)
    >>> solve_tasks(problem, Ridge(), Rank(0.0), Tilt()).task_values.tolist()
    [0.5, 0.5]
    """
    whole = Whole.of(problem, penalty, balance)
    trace: list[Step] = []
    last = best_fit(whole, settings, noted_in(trace, on_step))
    own, values = confirmed(last.part, last.found)
    W, values = _or_means(whole, last.part, whole.full(own, last.W), values)
    kept, found = bool(whole.demands.kept(values).all()), last.found
    lower = None if last.at_rest else searched(whole, last.part, found, W)
    if lower is not None:
        W, found = lower
        values = task_values(whole, W)
    status = Status.SATISFIED if last.found.settled else Status.MAX_ITER
    if last.at_rest and kept:
        status = Status.INACTIVE
    return task_solution(
        whole, W, found, values, status if kept else Status.INFEASIBLE, trace
    )


def _or_means(
    whole: Whole, part: Part, W: Floats, values: Floats
) -> tuple[Floats, Floats]:
    """The mean of each task where that is in all bands and costs less.

    A task alone was given its mean already where that is better for it; but where tasks
    share something, all of them at their means may share nothing.
    """
    W = whole.centred(W)
    means = np.zeros_like(W)
    means[: len(part.constant)] = part.constant
    cost = whole.fitter.objective
    if not cost(means, whole.target) < cost(W, whole.target):
        return W, values
    level = part.demands.level.astype(float)
    return (means, level) if part.demands.kept(level).all() else (W, values)


def best_fit(
    whole: Whole,
    settings: Tilt,
    on_step: OnStep | None = None,
    push: Floats | None = None,
    force: Floats | None = None,
) -> Iterate:
    """All tasks in their bands; where they share something, the best of some rounds.

    What tasks share is held while each is searched for, then fitted again to the
    tilted target that came out.  A task that did not land, or at a price at which its
    mean is better, tilts nothing: how far it went says nothing to the others.  Before
    anything is known of the tilts one round is enough to fit what is shared anew.
    """
    push = np.zeros_like(whole.target) if push is None else push
    tilt = np.zeros_like(whole.target) if force is None else force
    pushed, along = whole.target - push, force
    W = whole.fitter.solve(pushed - tilt)
    best: Iterate | None = None
    costs: list[float] = []
    for _ in range(TOGETHER):
        part = whole.part(W, push)
        rounds = ROUNDS_EACH if along is not None else ROUNDS if whole.apart else 1
        found = search(part, settings, on_step, along, rounds)
        level = levelled(part, found)
        landed = level.misses <= part.demands.forgiven
        full = whole.centred(whole.full(level.W, W))
        here = Iterate(
            full,
            part,
            found,
            outside=int(np.count_nonzero(~landed)),
            objective=whole.fitter.objective(full, whole.target),
            at_rest=bool(found.free.all()) and not (push.any() or tilt.any()),
        )
        if whole.apart or here.at_rest:
            return here
        best = here if best is None or here.rank < best.rank else best
        costs.append(here.objective)
        if _settled(costs, settings.tol):
            break
        tilt = np.where(landed[:, None], level.force, 0.0)
        ahead = np.where(landed[:, None], found.ahead, 0.0)
        along = ahead if along is None else tilt
        W = whole.fitter.solve(pushed - tilt, W)
    assert best is not None
    return best


def _settled(costs: list[float], tol: float) -> bool:
    """Whether the next change, if it is to the last as that to the one before, is nil.

    Examples
    --------
    >>> [_settled(costs, 0.01) for costs in ([9.0], [9.0, 8.9], [9.0, 8.0, 7.8])]
    [False, False, True]
    """
    changes = np.abs(np.diff(costs)).tolist()
    if not changes:
        return False
    before, change = [0.0, *changes][-2:]
    coming = change * change / before if change < before else change
    return bool(coming <= tol * costs[-1])


def task_solution(
    whole: Whole,
    W: Floats,
    found: Found,
    values: Floats,
    status: Status,
    trace: list[Step],
    multiplier: float | None = None,
) -> TaskSolution:
    """The solution in the user's units, with the state of every task."""
    problem, demands = whole.fitter.rows, whole.demands
    solution = package(
        whole.fitter,
        whole.balance,
        W,
        status,
        B0=whole.target,
        value=whole.value(W, exact=True),
        multiplier=(
            float(found.multipliers[np.abs(found.multipliers).argmax()])
            if multiplier is None
            else multiplier
        ),
        stationarity=found.stationarity,
        trace=tuple(trace),
    )
    back = np.argsort(problem.blocks.tasks)  # places to the user's tasks
    s = demands.segments
    aucs = values
    if not isinstance(demands, RankByTask):
        aucs = s.twice_u(problem.user_predict(W)[whole.order])
    states = _states(W[: problem.n_tasks], found, demands, values)
    return TaskSolution(
        **{each.name: getattr(solution, each.name) for each in fields(Solution)},
        task_values=demands.show(values)[back],
        task_aucs=RankByTask(s, Rank()).show(aucs)[back],
        task_status=tuple(states[place] for place in back.tolist()),
        task_totals=np.column_stack((s.total_b, s.total_a)).astype(float)[back],
    )


def _states(
    W: Floats, found: Found, demands: ByTask, values: Floats
) -> list[TaskStatus]:
    """How each task ended, by place."""
    at_rest = found.free & (W == found.W)[:, :-1].all(axis=1)
    flat = ~W[:, :-1].any(axis=1)
    states = np.full(len(W), TaskStatus.SATISFIED, dtype=object)
    states[at_rest] = TaskStatus.INACTIVE
    states[flat & ~at_rest] = TaskStatus.CONSTANT
    states[~demands.kept(values)] = TaskStatus.INFEASIBLE
    states[~demands.segments.both] = TaskStatus.ONE_GROUP_ONLY
    listed: list[TaskStatus] = states.tolist()
    return listed
