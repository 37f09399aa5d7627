"""A fair fit is an ordinary fit to tilted targets: ``W = fit(y − λ g)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rankfair.balances import Balance, Distribution, Linear, Rank
from rankfair.balances.base import Field
from rankfair.engines import Engine
from rankfair.penalties import Penalty
from rankfair.solvers.all_rows import on_all_rows
from rankfair.solvers.base import (
    Fitter,
    Floats,
    OnStep,
    Solution,
    Status,
    Step,
    in_memory,
    noted_in,
    package,
)
from rankfair.solvers.candidates import Candidate, ranked
from rankfair.solvers.landing import Landing
from rankfair.solvers.levelled import solve_levelled
from rankfair.solvers.mixing import Mixer
from rankfair.solvers.pinned import (
    KEPT,
    Pinned,
    pinned,
    solve_all_linear,
    status_at_rest,
)
from rankfair.solvers.polish import Search, Sieve, is_small, slope_of, stirred
from rankfair.solvers.ray import Origin, Ray, nearest_multiple, relative

TRIES = 12  # directions tried before the band is called out of reach
NUDGE = 0.01  # how much of a nudge does for exact counts
PATIENCE = 15  # rounds without a lower objective before the search ends


@dataclass(frozen=True)
class Tilt:
    """Solve for ``λ`` on the counts, bend ``g`` towards ``∇AUC(m)``, and repeat.

        g ← ±1/n_group                              the classic mean constraint
        repeat: λ with AUC(predict(fit(y − λ g))) in the band
                g ← mix of λ g and λ̂ ∇AUC(m)
        until the two agree

    and return the least error whose exact count is in the band.

    Examples
    --------
    >>> Tilt(max_iter=10)
    Tilt(max_iter=10, tol=0.0001, damping=0.8)
    """

    max_iter: int = 50
    tol: float = 1e-4
    damping: float = 0.8

    def solve(
        self,
        problem: Engine,
        penalty: Penalty,
        balance: Balance,
        on_step: OnStep | None = None,
        also: tuple[Linear, ...] = (),
        start: Floats | None = None,
    ) -> Solution:
        """Rounds on a thinned problem if there are many rows, then exact counts.

        ``start`` is the force of a fit nearby, whose direction is taken first.
        """
        if isinstance(balance, Linear):
            return solve_all_linear(problem, penalty, (balance, *also))
        if isinstance(balance, Distribution):
            rows = in_memory(problem)
            return solve_levelled(rows, penalty, balance, also, self.max_iter, on_step)
        balance, fitter = _prepared(problem, penalty, balance, also)
        origin = Origin.of(fitter, balance)
        at_rest = origin.exactly()
        if at_rest.inside or fitter.miss(fitter.values(origin.W0)) > KEPT:
            return _at_rest(origin, at_rest)
        origin = replace(origin, value=at_rest.value)
        small = origin.thinned()
        candidates: list[Candidate] = []
        trace: list[Step] = []
        note = noted_in(trace, on_step)
        coarse = 1.0 if small is origin else 10.0
        rounds = self._rounds(small, coarse, start)
        for i, candidate in enumerate(rounds, start=1):
            candidates.append(candidate)
            shown = balance.show(candidate.landing.value, small.groups)
            note(Step(i, candidate.objective, shown, candidate.stationarity))
        settled = len(trace) < self.max_iter or trace[-1].residual <= 10 * self.tol
        candidates = ranked(candidates, 10 * self.tol)
        if small is not origin:
            found = list(on_all_rows(origin, small, candidates[0]))
            candidates = ranked(found, 10 * self.tol)
        # Exact counts need no predictions of the start, and memory is short by now.
        lean = replace(origin, rest=origin.rest.released())
        del origin, small
        return _confirmed(lean, candidates[:TRIES], settled, tuple(trace))

    def _rounds(
        self, origin: Origin, coarse: float = 1.0, start: Floats | None = None
    ) -> Iterator[Candidate]:
        """One candidate a round, until ``λ g`` and ``λ̂ ∇AUC(m)`` agree."""
        enough = 10 * self.tol * coarse
        if start is not None and start.shape == origin.B0.shape:
            b, x = start, 1.0
        else:
            b = origin.rest.moments(_first_field(origin), 0.0)
            x = _first_guess(origin, b)
        W = origin.W0
        mixer = Mixer(self.damping)
        lowest, calm, reached = np.inf, 0, False
        for i in range(self.max_iter):
            ray = Ray.along(origin, b, W)
            # After the first round the landing is near 1, where a fit is nearly linear.
            chord = 1.0 if i and origin.fitter.factor.costly else 0.0
            landing, line = ray.land(x, coarse, chord)
            W = ray.fit(landing.x)
            found = Candidate.at(ray, landing, line, W)
            yield found
            reached = reached or landing.inside
            calm = 0 if found.objective < lowest * (1 - self.tol) else calm + 1
            lowest = min(lowest, found.objective) if landing.inside else lowest
            if reached and (found.stationarity <= enough or calm >= PATIENCE):
                return
            if not reached and i + 1 >= TRIES:
                return
            b, x = mixer.next(found.force, found.gap), 1.0
            if not landing.inside:
                b = b + _nudge(origin.fitter, found, seed=i)


def _prepared(
    problem: Engine, penalty: Penalty, balance: Balance, also: tuple[Linear, ...]
) -> tuple[Balance, Fitter]:
    """The balance to search for, and a fit that keeps the linear ones beside it."""
    fitter = pinned(Fitter.of(problem, penalty), tuple(map(problem.posed, also)))
    return problem.posed(balance), fitter


def _at_rest(origin: Origin, start: Landing) -> Solution:
    """The fit that needs no tilt, or has no use for one."""
    fitter, B0, W = origin.fitter, origin.B0, origin.W0
    status = status_at_rest(fitter, B0, W)
    return package(fitter, origin.balance, W, status, B0=B0, value=start.value)


def _first_field(origin: Origin) -> Field:
    """The mean direction, or ``∇AUC`` where demands on means leave that no effect."""
    if isinstance(origin.fitter, Pinned):
        return origin.rest.bend(origin.balance, 0.0)[0]
    return origin.balance.start(origin.groups)


def _first_guess(origin: Origin, b: Floats) -> float:
    """The multiplier that would level the group means, with the sign that helps."""
    fitter, W0 = origin.fitter, origin.W0
    answer = abs(_product(b, W0 - fitter.solve(origin.B0 - b, W0)))
    miss = origin.band.miss(origin.value)
    level = abs(_product(b, W0))
    if isinstance(fitter, Pinned):
        level = abs(origin.balance.show(miss, origin.groups))
    sign = 1.0 if miss > 0 else -1.0
    return sign * level / answer if level > 0 and answer > 0 else sign


def _product(b: Floats, W: Floats) -> float:
    """``Σ_i g_i m_i`` from the moments of ``g`` and the fit that predicts ``m``."""
    return float((b * W[: len(b)]).sum())


def _nudge(fitter: Fitter, found: Candidate, seed: int) -> Floats:
    """A little of each row's own: pairs then change places in another order."""
    line = fitter.problem.line(found.W)
    if is_small(fitter):
        return found.multiplier * line.moments(stirred(found.field, seed), 0.0)
    return found.multiplier * line.moments(found.field, 0.0, seed)


def _also_nudged(origin: Origin, candidates: list[Candidate]) -> Iterator[Candidate]:
    """The candidates, then the first in other orders, if it came close to the band."""
    yield from candidates
    first = candidates[0]
    if not first.landing.inside:
        return
    for seed in range(len(candidates), TRIES):
        push = _nudge(origin.fitter, first, seed)
        yield replace(first, force=first.force + NUDGE * push)


def _confirmed(
    origin: Origin, candidates: list[Candidate], settled: bool, trace: tuple[Step, ...]
) -> Solution:
    """The first candidate that the user's own predictions confirm, or the closest."""
    best, landing, ray = candidates[0], Landing(0.0, np.nan, np.inf), None
    for candidate in _also_nudged(origin, candidates):
        along = Ray.along(origin, candidate.force, candidate.W)
        found = along.land_exactly(1.0)
        if abs(found.miss) < abs(landing.miss):
            best, landing, ray = candidate, found, along
        if landing.inside:
            break
    assert ray is not None
    status = Status.SATISFIED if settled else Status.MAX_ITER
    W, force = ray.fit(landing.x), landing.x * ray.b
    kept = landing.inside and origin.fitter.miss(origin.fitter.values(W)) <= KEPT
    multiplier, stationarity = best.multiplier * landing.x, best.stationarity
    better = _polished(origin, W, force) if kept else None
    if better is not None:
        W, landing, multiplier, stationarity = better
    return package(
        origin.fitter,
        origin.balance,
        W,
        status if kept else Status.INFEASIBLE,
        B0=origin.B0,
        value=landing.value,
        multiplier=multiplier,
        stationarity=stationarity,
        trace=trace,
        force=force,
    )


def _polished(
    origin: Origin, W: Floats, force: Floats
) -> tuple[Floats, Landing, float, float] | None:
    """A fit inside the band of a lower objective, where there are few rows.

    With its landing, and the multiplier and how settled it is, both found anew.
    """
    fitter, balance, B0 = origin.fitter, origin.balance, origin.B0
    problem = fitter.problem
    if not isinstance(balance, Rank) or not is_small(fitter):
        return None
    groups = problem.user_groups
    assert groups is not None
    band = balance.band(groups)
    search = Search.around(fitter, B0, origin.W0, force)
    found = search.lower(
        W,
        lambda V: band.miss(problem.count(balance, V)) == 0,
        Sieve(((slice(None), origin.groups, origin.band),)),
    )
    if found is W:
        return None
    pull, bend = slope_of(fitter, found, B0), problem.line(found).bend(balance, 0.0)[1]
    multiplier = nearest_multiple(bend, pull)
    landing = Landing(1.0, problem.count(balance, found), 0.0)
    return found, landing, multiplier, relative(multiplier * bend - pull, pull)
