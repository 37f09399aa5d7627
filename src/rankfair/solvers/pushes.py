"""Tasks moved against each other along one direction, for the band over all rows.

A push is the moments ``c`` of a tilt over all rows.  What it does to the slopes is part
of a fit; here it moves the intercept of task ``j`` by ``−c_j / n_j``, and nothing else.
"""

from __future__ import annotations

import numpy as np

from rankfair.solvers.base import Floats
from rankfair.solvers.landing import Landing, land
from rankfair.solvers.whole import Whole

FAR = 100.0  # multiples of a first step after which moving tasks is given up
ROUNDING = 1e-9  # of what rows of a task ask for: so little is nothing
STEPS = (0.0, 1e-9, -1e-9, 1e-7, -1e-7, 1e-5, -1e-5)  # around the last landing


def gradient(whole: Whole, W: Floats) -> Floats:
    """Moments of the derivative of the value over all rows.

    Where what the rows of A and of B in a task ask for cancels, as it always does where
    there is but one task, only rounding is left for its intercept: that is taken for 0.
    """
    problem, s = whole.fitter.rows, whole.demands.segments
    assert problem.groups is not None
    g = whole.balance.gradient(problem.predict(W), problem.groups)
    b = problem.moments(g)
    b[np.abs(b[:, -1]) <= ROUNDING * s.total(np.abs(g) * s.weights), -1] = 0.0
    return b


def moved(whole: Whole, W: Floats, push: Floats) -> Floats:
    """The same slopes with intercepts as a push would move them."""
    counts = whole.fitter.rows.counts
    out = W.copy()
    step = np.divide(push[:, -1], counts, out=np.zeros(len(counts)), where=counts > 0)
    out[: len(counts), -1] -= step
    return out


def land_tasks(
    whole: Whole,
    W: Floats,
    c: Floats,
    dearest: float,
    exact: bool,
    first: float | None = None,
) -> Landing:
    """How far to move tasks along ``c`` for the band over all rows.

    Where ``c`` has little effect its slope may lead astray: the other way is tried too.
    No way goes further than to where the objective is ``dearest``.
    """
    problem, balance = whole.fitter.rows, whole.balance
    groups = problem.user_groups if exact else problem.groups
    assert groups is not None
    value = whole.value(W, exact)
    start = Landing(0.0, value, whole.miss(value))
    reach = _reach(whole, W, c, dearest)
    if start.inside or not reach > 0:
        return start
    if first is None:
        first = _first(whole, W, c, start.miss)
    reach = min(reach, FAR * abs(first))
    band, resolution = balance.band(groups), balance.resolution(groups)
    best = start
    for step in (first, -first):
        found = land(
            lambda x: whole.value(moved(whole, W, _within(x, reach) * c), exact),
            band,
            min(resolution, band.high - band.low),
            start,
            _within(step, reach),
            reach,
        )
        found = found._replace(x=_within(found.x, reach))
        best = found if abs(found.miss) < abs(best.miss) else best
        if best.inside:
            break
    return best


def _within(x: float, reach: float) -> float:
    return min(max(x, -reach), reach)


def _reach(whole: Whole, W: Floats, c: Floats, dearest: float) -> float:
    """The most of ``c`` that is worth its price ``½ x² Σ c²/n``, 0 if it moves nothing.

    Intercepts of ``W`` are those of least error.
    """
    counts = whole.fitter.rows.counts
    some = counts > 0
    price = float((c[some, -1] ** 2 / counts[some]).sum())
    room = dearest - whole.fitter.objective(W, whole.target)
    return float(np.sqrt(2 * max(room, 0.0) / price)) if price > 0 else 0.0


def _first(whole: Whole, W: Floats, c: Floats, miss: float) -> float:
    """The step that would level the group means, with the sign that helps."""
    problem = whole.fitter.rows
    assert problem.groups is not None
    m = problem.predict(W)
    g = whole.balance.start(problem.groups)(m, problem.groups)
    b = problem.moments(g)
    own = W[: len(b)]
    fall = abs(float((b * (own - moved(whole, own, c))).sum()))
    level = abs(float((b * own).sum()))
    sign = 1.0 if miss > 0 else -1.0
    return sign * level / fall if level > 0 and fall > ROUNDING * level else sign


def settled(whole: Whole, W: Floats, push: Floats) -> Floats:
    """The tasks moved, a little off the landing where rounding broke a tie in one."""
    best: tuple[tuple[int, float], Floats] | None = None
    for step in STEPS if push.any() else STEPS[:1]:
        new = moved(whole, W, (1 + step) * push)
        kept = whole.demands.kept(task_values(whole, new))
        miss = abs(whole.miss(whole.value(new, exact=True)))
        rank = int(np.count_nonzero(~kept)), miss
        if best is None or rank < best[0]:
            best = rank, new
        if rank == (0, 0.0):
            break
    assert best is not None
    return best[1]


def task_values(whole: Whole, W: Floats) -> Floats:
    """The exact imbalance of each task."""
    problem = whole.fitter.rows
    m = problem.user_predict(W)[whole.order]
    return whole.demands.values(m, problem.y_unit).astype(float)
