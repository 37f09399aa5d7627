"""Bands in every task and one over all rows, kept together.

Intercepts are free, and moving a task as a whole leaves its own ranks as they are: so
tasks are brought into their bands first, and moved against each other for the band over
all rows.  What that push would do to the slopes is then part of the next fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rankfair.balances import Balance
from rankfair.balances.by_task import RankByTask
from rankfair.penalties import Penalty
from rankfair.problem import Problem
from rankfair.solvers.base import Floats, OnStep, Status, Step, noted_in
from rankfair.solvers.few import searched
from rankfair.solvers.landing import Landing
from rankfair.solvers.pushes import gradient, land_tasks, moved, settled, task_values
from rankfair.solvers.ray import nearest_multiple
from rankfair.solvers.scope import (
    Iterate,
    TaskSolution,
    TaskStatus,
    best_fit,
    task_solution,
)
from rankfair.solvers.separate import Found, confirmed
from rankfair.solvers.shifts import (
    FEW_ROWS,
    FEW_TASKS,
    MOST_ROWS,
    MOST_TASKS,
    Places,
    brought_in,
)
from rankfair.solvers.tilt import Tilt
from rankfair.solvers.whole import Whole

ROUNDS = 6  # directions of the band over all rows
CALM = 2  # rounds before one without a lower objective ends the search
NARROWER = (1.0, 0.5, 0.0)  # shares of ε for the tasks, where all rows ask for it


@dataclass(frozen=True)
class Level:
    """Tasks in their bands, moved against each other by ``landing.x`` times ``c``."""

    iterate: Iterate
    c: Floats  # (k, n + 1), moments of a tilt over all rows
    landing: Landing
    objective: float
    dear: bool  # whether one value for all rows is a better fit

    @property
    def rank(self) -> tuple[bool, int, float, float]:
        """Not dear, fewer tasks outside, a smaller miss over all rows, less error."""
        outside, miss = self.iterate.outside, abs(self.landing.miss)
        return self.dear, outside, miss, self.objective


def solve_both(
    problem: Problem,
    penalty: Penalty,
    balance: Balance,
    settings: Tilt,
    on_step: OnStep | None = None,
) -> TaskSolution:
    """The least error with every task, and all rows together, in their bands.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.balances import Rank
    >>> from rankfair.penalties import Ridge
    >>> X, in_a = np.array([[0.0], [1], [2], [0], [1], [2]]), np.arange(6) % 3 > 0
    >>> y, codes = np.array([0.0, 1, 5, 3, 0, 2]), np.array([0, 0, 0, 1, 1, 1])
    >>> problem = Problem.from_rows(X, y, codes, 2, in_a=in_a)
    >>> found = solve_both(problem, Ridge(), Rank(0.0), Tilt())
    >>> found.task_values.tolist(), str(found.status)
    ([0.5, 0.5], 'satisfied')
    """
    whole = Whole.of(problem, penalty, balance)
    trace: list[Step] = []
    on_step = noted_in(trace, on_step)
    one_value = whole.ceiling * problem.loss_unit
    best: tuple[tuple[int, float, float], TaskSolution] | None = None
    for levels, alone in _levels(whole, settings, on_step):
        for level in levels:
            in_vain = best is None or best[0] >= (0, 0.0, one_value)
            one_by_one = alone and (in_vain or not level.iterate.part.push.any())
            for found in _solutions(whole, level, trace, one_by_one):
                rank = *_outside(found, whole), found.objective
                best = (rank, found) if best is None or rank < best[0] else best
        if best is not None and best[0] < (0, 0.0, one_value):
            return best[1]
    assert best is not None
    return _one_value(whole, trace) or best[1]


def _levels(
    whole: Whole, settings: Tilt, on_step: OnStep
) -> Iterator[tuple[list[Level], bool]]:
    """What may be landed on exact counts, the likeliest first.

    At each share of ε the best round; then, as ties may keep that from landing, the
    other rounds at the whole of ε.  Where rows are few all rounds are looked at: which
    of them lands best is a matter of luck.  With each goes whether tasks are to be
    moved one by one, too.
    """
    few = _is_small(whole, FEW_ROWS, FEW_TASKS)
    seen, others = list[Level](), list[Level]()
    for share in NARROWER if whole.balance.epsilon > 0 else NARROWER[:1]:
        best, *rest = _levelled(whole.narrowed(share), settings, on_step)
        yield ([best, *rest] if few else [best]), few
        seen, others = [*seen, best], others or rest
    if few:
        return
    yield from (([other], False) for other in others)
    if _is_small(whole, MOST_ROWS, MOST_TASKS):
        yield from (([level], True) for level in (*seen, *others))


def _one_value(whole: Whole, trace: list[Step]) -> TaskSolution | None:
    """The fit of one value for all rows, if that is in all bands."""
    W = whole.level
    part = whole.part(W, np.zeros_like(whole.target))
    own = W[: len(whole.target)]
    values = part.values(own, exact=True).astype(float)
    if whole.miss(whole.value(W, exact=True)) or not part.demands.kept(values).all():
        return None
    found = Found.free_of(part, own, values)
    found.free[:] = False
    return task_solution(whole, W, found, values, Status.SATISFIED, trace)


def _outside(found: TaskSolution, whole: Whole) -> tuple[int, float]:
    """How many tasks are outside their band, and how far all rows are."""
    count = found.task_status.count(TaskStatus.INFEASIBLE)
    return count, abs(whole.miss(found.value))


def _levelled(whole: Whole, settings: Tilt, on_step: OnStep) -> list[Level]:
    """Some rounds, each with more of the push that all rows ask for, the best first.

    A fit under a push of ``λ`` has intercepts that ask for ``δ(λ)``; where the two are
    equal the push is that of the optimum.  ``δ`` falls with ``λ``, so that the next
    ``λ`` lies between them, where a secant through the last two rounds leads.
    """
    push, force = np.zeros_like(whole.target), None
    found: list[Level] = []
    dearest = whole.ceiling
    rounds: list[tuple[float, float]] = []
    for _ in range(min(ROUNDS, settings.max_iter)):
        iterate = best_fit(whole, settings, on_step, push, force)
        # From where intercepts are not pushed, so that it lands on the facing edge.
        start = moved(whole, iterate.W, -push)
        c = push if push.any() else gradient(whole, start)
        landing = land_tasks(
            whole, start, c, dearest, False, 1.0 if push.any() else None
        )
        W = moved(whole, start, landing.x * c)
        objective = whole.fitter.objective(W, whole.target)
        here = Level(iterate, c, landing, objective, objective > dearest)
        calm = bool(found) and not _clearly_lower(here, found[0], settings.tol)
        found = sorted((*found, here), key=lambda it: it.rank)
        if not (rounds or landing.x) or (calm and len(rounds) > CALM):
            break
        bend, force = gradient(whole, W), iterate.found.force
        along = nearest_multiple(bend, c)
        rounds.append((along if push.any() else 0.0, landing.x * along))
        push = _between(rounds) * bend
    return found


def _between(rounds: list[tuple[float, float]]) -> float:
    """The next ``λ`` after some rounds with their ``λ`` and ``δ(λ)``."""
    x, y = rounds[-1]
    aim = (x + y) / 2
    if len(rounds) > 1:
        u, v = rounds[-2]
        if x != u and (y - v) / (x - u) != 1:
            slope = (y - v) / (x - u)
            aim = (y - slope * x) / (1 - slope)
    low, high = min(x, y), max(x, y)
    room = 0.1 * (high - low)
    return min(max(aim, low + room), high - room)


def _clearly_lower(new: Level, old: Level, tol: float) -> bool:
    if new.rank[:-1] != old.rank[:-1]:
        return new.rank < old.rank
    return new.objective < old.objective * (1 - tol)


def _is_small(whole: Whole, rows: int, tasks: int) -> bool:
    """Whether there are ranks of few enough rows to move tasks one by one."""
    problem = whole.fitter.rows
    few = len(problem.y) <= rows and 1 < problem.n_tasks <= tasks
    ranks = isinstance(whole.demands, RankByTask)
    return few and ranks and bool((problem.counts > 0).all())


def _solutions(
    whole: Whole, level: Level, trace: list[Step], alone: bool
) -> Iterator[TaskSolution]:
    """The level confirmed by exact counts: tasks first, then all rows.

    All tasks are moved along one direction and, if asked for, one by one too.
    """
    first = level.landing.x or None
    for W, iterate in _in_their_bands(whole, level.iterate):
        landing = land_tasks(whole, W, level.c, whole.ceiling, True, first)
        push = landing.x * level.c
        yield _finished(whole, iterate, settled(whole, W, push), push, trace)
        one_by_one = _one_by_one(whole, W) if alone else None
        if one_by_one is not None:
            yield _finished(whole, iterate, *one_by_one, trace)


def _in_their_bands(whole: Whole, iterate: Iterate) -> Iterator[tuple[Floats, Iterate]]:
    """Tasks on exact counts, none moved yet; also with less error, if rows are few."""
    part, found = iterate.part, iterate.found
    own, _ = confirmed(part, found)
    W = moved(whole, whole.full(own, iterate.W), -part.push)
    yield W, iterate
    if iterate.at_rest or part.push.any():
        return
    lower = searched(whole, part, found, whole.centred(W))
    if lower is not None:
        yield lower[0], replace(iterate, found=lower[1])


def _one_by_one(whole: Whole, W: Floats) -> tuple[Floats, Floats] | None:
    """Tasks of few rows moved one by one, and the push that would move them so."""
    problem = whole.fitter.rows
    groups, m = problem.groups, problem.predict(W)
    assert groups is not None
    tasks = np.repeat(np.arange(problem.n_tasks), problem.blocks.sizes)
    value = whole.balance.value(m, groups)
    start = Places.at_rest(m, tasks, groups, problem.counts, value)
    found = brought_in(start, whole.balance.band(groups))
    if found is None:
        return None
    push = np.zeros_like(whole.target)
    push[:, -1] = -problem.counts * found.e
    new = moved(whole, W, push)
    # Tasks put level have one value to the last bit.
    new[: problem.n_tasks, -1] = new[found.leader, -1]
    return new, push


def _finished(
    whole: Whole, iterate: Iterate, W: Floats, push: Floats, trace: list[Step]
) -> TaskSolution:
    """What became of tasks that were moved by a push."""
    values = task_values(whole, W)
    kept = bool(whole.demands.kept(values).all())
    inside = whole.miss(whole.value(W, exact=True)) == 0
    status = Status.SATISFIED if iterate.found.settled else Status.MAX_ITER
    if iterate.at_rest and not push.any():
        status = Status.INACTIVE
    multiplier = nearest_multiple(gradient(whole, W), push)
    return task_solution(
        whole,
        W,
        iterate.found,
        values,
        status if kept and inside else Status.INFEASIBLE,
        trace,
        multiplier,
    )
