"""Several balances that are counted, each between groups of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankfair.balances import Among, Balance, Linear, Rank
from rankfair.blocks import sorted_by_task
from rankfair.penalties import Penalty
from rankfair.problem import Groups, Problem, counted_weights
from rankfair.solvers.base import (
    Fitter,
    Floats,
    OnStep,
    Solution,
    Status,
    Step,
    noted_in,
    package,
)
from rankfair.solvers.demands import Demand, Point, Tilts
from rankfair.solvers.pinned import (
    pinned,
    solve_all_linear,
    status_at_rest,
    to_bands,
)
from rankfair.solvers.polish import Search, Sieve, is_small
from rankfair.solvers.ray import relative
from rankfair.solvers.tilt import Tilt

DAMPING = 0.7
NEWTON = 12  # steps on the multipliers in a round
PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)  # of a Newton step that are tried
PATIENCE = 4  # rounds without a lower objective
NEAR = 1e-3  # quick counts this far off are as good as inside
TRIES = 4  # rounds that are landed exactly until one is inside
NUDGES = 200  # tries in vain to bring the last pairs into their bands
STIR = (-1.0, 1.5)  # powers of ten: how many pairs nudges go astray


@dataclass(frozen=True)
class Round:
    """A landing of all demands in some directions, and how settled these are."""

    tilts: Tilts
    point: Point
    objective: float
    bends: Floats
    multipliers: Floats  # λ̂, with Σ λ̂_s ∇_s nearest to the force
    stationarity: float

    @property
    def kept(self) -> bool:
        """Whether the linear demands are kept there."""
        return self.tilts.kept(self.point.W)

    @classmethod
    def at(cls, tilts: Tilts, point: Point) -> Round:
        """What is met where the multipliers have landed."""
        fitter = tilts.fitter
        bends = np.array([fitter.without_pins(b) for b in tilts.bends(point.W)])
        force = fitter.without_pins(np.tensordot(point.x, tilts.b, 1))
        flat = bends.reshape(len(bends), -1)
        multipliers = np.linalg.lstsq(flat.T, force.ravel(), 1e-9)[0]
        gap = np.tensordot(multipliers, bends, 1) - force
        objective = fitter.objective(point.W, tilts.B0)
        stationarity = relative(gap, force)
        return cls(tilts, point, objective, bends, multipliers, stationarity)


def solve_groups(
    problem: Problem,
    penalty: Penalty,
    balances: tuple[Balance, ...],
    masks: NDArray[np.bool_],
    settings: Tilt,
    on_step: OnStep | None = None,
    known: NDArray[np.bool_] | None = None,
) -> Solution:
    """Every group against the rest, in the bands of all balances.

    ``masks`` (G, N) are the rows of each group, in the user's order; where ``known``
    (G, N) is False a row is neither in the group nor in the rest.  At most the first
    balance is not linear.  Values come balance by balance, a group at a time.
    """
    first, *others = balances
    counted = not isinstance(first, Linear)
    order = sorted_by_task(problem.codes, problem.n_tasks)[0]
    assert problem.user_groups is not None
    weights = problem.user_groups.weights
    parts = [None] * len(masks) if known is None else known
    mine = [
        Groups(mask, counted_weights(weights, part))
        for mask, part in zip(masks, parts, strict=True)
    ]
    theirs = [each.take(order) for each in mine]
    linear = tuple(
        Among(each.epsilon, each.side, whole=each, own=own)
        for each in (others if counted else balances)
        if isinstance(each, Linear)
        for own in theirs
    )
    if not counted:
        return solve_all_linear(problem, penalty, linear)
    pins = tuple(each.on(problem.y, theirs[0]) for each in linear)
    fitter = pinned(Fitter.of(problem, penalty), pins)
    demands = (Demand(first, *pair) for pair in zip(theirs, mine, strict=True))
    return solve_several(
        fitter, tuple(demands), settings.max_iter, settings.tol, on_step
    )


def solve_several(
    fitter: Fitter,
    demands: tuple[Demand, ...],
    max_iter: int = 50,
    tol: float = 1e-4,
    on_step: OnStep | None = None,
) -> Solution:
    """Newton steps on all multipliers at once, then directions bent, and again.

        repeat: x with every balance of fit(y − Σ x_s g_s) in its band
                g_s ← mix of g_s and the gradient of balance s there
        until Σ x_s g_s is a combination of the gradients

    The best round is then landed on exact counts, with small nudges for the last pairs.
    """
    tilts = Tilts.of(fitter, demands)
    start = tilts.exactly(np.zeros(len(demands)))
    if start.miss == 0 or not tilts.kept(start.W):
        status = status_at_rest(fitter, tilts.B0, start.W)
        return _packaged(Round.at(tilts, start), start, status, ())
    rounds: list[Round] = []
    trace: list[Step] = []
    note = noted_in(trace, on_step)
    for i, found in enumerate(_rounds(tilts, start, max_iter, tol), start=1):
        rounds.append(found)
        worst = float(found.point.shown[np.abs(found.point.off).argmax()])
        note(Step(i, found.objective, worst, found.stationarity))
    # Quick counts may miss a little; among those alike the lower objective is better.
    rounds.sort(key=lambda it: (not it.kept, it.point.miss > NEAR, it.objective))
    best, point = _first_inside(rounds[:TRIES])
    status = Status.SATISFIED if len(trace) < max_iter else Status.MAX_ITER
    inside = point.miss == 0 and tilts.kept(point.W)
    return _packaged(best, point, status if inside else Status.INFEASIBLE, tuple(trace))


def _first_inside(rounds: list[Round]) -> tuple[Round, Point]:
    """The first round that exact counts confirm, or the one that came closest."""
    landed: list[tuple[Round, Point]] = []
    for found in rounds:
        landed.append((found, _landed(found)))
        if _distance(*landed[-1]) == (False, 0.0):
            break
    return min(landed, key=lambda each: _distance(*each))


def _distance(found: Round, point: Point) -> tuple[bool, float]:
    """How far off a landing is: without the linear demands, then in counts."""
    return not found.tilts.kept(point.W), point.miss


def _rounds(tilts: Tilts, start: Point, max_iter: int, tol: float) -> Iterator[Round]:
    """One landing a round, until the directions are the gradients met there."""
    x, lowest, calm = start.x, np.inf, 0
    for _ in range(max_iter):
        point = _newton(tilts, tilts.quickly(x))
        found = Round.at(tilts, point)
        yield found
        calm = 0 if found.objective < lowest * (1 - tol) else calm + 1
        lowest = min(lowest, found.objective) if point.miss <= NEAR else lowest
        if found.stationarity <= 10 * tol or calm >= PATIENCE:
            return
        # A target so far out of reach that the mean is a better fit starts anew.
        near = found.kept and found.objective <= tilts.ceiling
        x = point.x if near else start.x
        tilts = replace(tilts, b=(1 - DAMPING) * tilts.b + DAMPING * found.bends)


def _newton(tilts: Tilts, point: Point, exact: bool = False) -> Point:
    """Newton steps on the multipliers, shortened where they overshoot."""
    count = tilts.exactly if exact else tilts.quickly
    edges = np.array([each.edges for each in tilts.demands])
    for _ in range(NEWTON):
        if point.miss == 0:
            break
        K = tilts.response(point)
        aim = to_bands(K, point.shown + K @ point.x, edges[:, 0], edges[:, 1])
        tried = (count(point.x + part * (aim - point.x)) for part in PARTS)
        better = next((it for it in tried if tilts.nears(it, point)), None)
        if better is None:
            break
        point = better
    return point


def _landed(found: Round) -> Point:
    """The multipliers at which exact counts are in all bands, or nearest to them."""
    tilts = found.tilts
    best = _newton(tilts, tilts.exactly(found.point.x), exact=True)
    best = best if best.miss == 0 else _nudged(tilts, best)
    return _tightened(tilts, best) if best.miss == 0 else best


def _tightened(tilts: Tilts, point: Point) -> Point:
    """Back towards the fit without demands as far as the bands allow.

    All the way there the objective falls and linear demands are kept.
    """
    for part in PARTS:
        W = point.W + part * (tilts.W0 - point.W)
        tried = tilts.counted((1 - part) * point.x, W)
        point = tried if tried.miss == 0 else point
    counted = all(isinstance(each.balance, Rank) for each in tilts.demands)
    small = counted and is_small(tilts.fitter, len(tilts.demands))
    return _searched(tilts, point) if small else point


def _searched(tilts: Tilts, point: Point) -> Point:
    """A lower objective, at random: with few rows there is no slope to follow."""
    force = np.tensordot(point.x, tilts.b, 1)
    search = Search.around(tilts.fitter, tilts.B0, tilts.W0, force)
    W = search.lower(
        point.W,
        lambda V: tilts.counted(point.x, V).miss == 0,
        Sieve(
            tuple(
                (slice(None), each.groups, each.band(each.groups))
                for each in tilts.demands
            )
        ),
    )
    return tilts.counted(point.x, W)


def _nudged(tilts: Tilts, best: Point) -> Point:
    """Move the fit itself by pairs, until those missing fall into their bands.

    Multipliers are as few as demands, and counts are steps: they need not have a point
    in all bands.  So the fit is moved along its answers to the gradients and to parts
    of them; linear demands stay as they are.
    """
    rng, idle = np.random.default_rng(0), 0
    D = tilts.answers(best, np.concatenate((tilts.b, tilts.waves(best, rng))))
    K = np.einsum("skf,tkf->st", tilts.bends(best.W), D[:, : tilts.B0.shape[0]])
    pair = np.array([each.pair for each in tilts.demands])
    while best.miss > 0 and idle < NUDGES:
        # What is missing, by the slopes, and some pairs at random, by some of the ways.
        astray = pair * 10 ** rng.uniform(*STIR) * rng.standard_normal(len(K))
        wish = rng.choice([0.0, 0.5, 1.0]) * best.off + astray
        ways = rng.random(K.shape[1])
        c = ways * np.linalg.lstsq(K * ways, wish, 1e-9)[0]
        tried = tilts.counted(best.x, best.W - np.tensordot(c, D, 1))
        best, idle = (tried, 0) if tilts.nears(tried, best) else (best, idle + 1)
    return best


def _packaged(
    found: Round, point: Point, status: Status, trace: tuple[Step, ...]
) -> Solution:
    """The solution; its value is that of the first demand, the others stand beside."""
    tilts = found.tilts
    solution = package(
        tilts.fitter,
        None,
        point.W,
        status,
        B0=tilts.B0,
        value=float(point.shown[0]),
        multiplier=float(found.multipliers[np.abs(found.multipliers).argmax()]),
        stationarity=found.stationarity,
        trace=trace,
    )
    beside = (*point.shown[1:].tolist(), *solution.beside)
    return replace(solution, auc=float(point.shown[0]), beside=beside)
