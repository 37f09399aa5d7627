"""Equal distributions: fits pulled towards the nearest predictions that have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankfair.balances import Distribution, Linear
from rankfair.penalties import Penalty
from rankfair.problem import Problem
from rankfair.projections import least_move
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
from rankfair.solvers.pinned import KEPT, pinned, status_at_rest
from rankfair.solvers.ray import relative

PULLS = (10.0, 100.0)  # ρ, and a firmer one where that brings no fit into the band
PROBE = 8  # steps with one slack before it is called too wide
LEAST = 3  # steps with one slack before it is called narrow enough
NARROW = 0.01  # of the band: slacks closer than this are one
SETTLED = 0.02  # and this close, they have settled: six halvings, of PROBE steps each
HALVINGS = 12  # of the way from the best fit to one with less error


class Fit(NamedTuple):
    """A fit, its exact count, how far outside the band that is, and its error."""

    W: Floats
    value: float
    miss: float
    objective: float

    @property
    def order(self) -> tuple[float, float]:
        """In the band before outside, then by error."""
        return self.miss, self.objective


@dataclass(frozen=True)
class Level:
    """What is asked of which rows."""

    fitter: Fitter
    balance: Distribution
    linear: tuple[Linear, ...]
    B0: Floats

    def count(self, W: Floats) -> Fit:
        """Count the user's own predictions."""
        problem, balance = self.fitter.rows, self.balance
        groups = problem.user_groups
        assert groups is not None
        value = balance.value(problem.user_predict(W), groups)
        miss = balance.band(groups).miss(value)
        return Fit(W, value, miss, self.fitter.objective(W, self.B0))

    def shown(self, fit: Fit) -> float:
        """The distance of the distributions."""
        groups = self.fitter.rows.user_groups
        assert groups is not None
        return self.balance.show(fit.value, groups)


def solve_levelled(
    problem: Problem,
    penalty: Penalty,
    balance: Distribution,
    also: tuple[Linear, ...] = (),
    max_iter: int = 50,
    on_step: OnStep | None = None,
) -> Solution:
    """Steps of ADMM with the least movement of predictions as its projection.

        M = XW;   S = least_move(M + V, slack);   V += M − S
        W = fit((y + ρ(S − V)) / (1 + ρ)) with β/(1 + ρ)

    Where ``M`` and ``S`` agree ``W`` is ``fit(y − ρV)``, tilted targets again: ``ρV``
    is what all thresholds together ask of a row.  A linear model takes the shape of
    ``S`` only nearly, so that its own distance exceeds the slack: the slack is halved
    towards the widest one that brings ``XW`` into the band.  The best of all fits met,
    by exact counts, is kept.  Where one pull ``ρ`` brings none of its fits into the
    band a firmer one follows, with ``max_iter`` steps of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.penalties import Ridge
    >>> X, in_a = np.array([[0.0], [1.0], [2.0]]), np.array([True, True, False])
    >>> y, codes = np.array([1.0, 2.0, 6.0]), np.zeros(3, int)
    >>> problem = Problem.from_rows(X, y, codes, 1, in_a=in_a)
    >>> solve_levelled(problem, Ridge(1.0), Distribution(0.0)).status
    <Status.INACTIVE: 'The unconstrained fit already lies in the band.'>
    """
    assert problem.groups is not None
    demands = [each.on(problem.y, problem.groups) for each in also]
    fitter = pinned(Fitter.of(problem, penalty), tuple(demands))
    B0 = problem.target_moments
    level = Level(fitter, balance, tuple(demands), B0)
    start = level.count(fitter.solve(B0))
    if start.miss == 0 or fitter.miss(fitter.values(start.W)) > KEPT:
        return _packaged(level, start, status_at_rest(fitter, B0, start.W), ())
    fits: list[Fit] = [start]
    trace: list[Step] = []
    note = noted_in(trace, on_step)
    room = 1.0
    for rho in PULLS:
        for fit, residual, left in _pulled(level, penalty, start.W, rho, max_iter):
            note(Step(len(fits), fit.objective, level.shown(fit), residual))
            fits.append(fit)
            room = left
        if min(fit.miss for fit in fits) == 0:
            break
    best = _walked(level, fits)
    kept = best.miss == 0 and fitter.miss(fitter.values(best.W)) <= KEPT
    settled = Status.SATISFIED if room < SETTLED else Status.MAX_ITER
    return _packaged(level, best, settled if kept else Status.INFEASIBLE, tuple(trace))


def _pulled(
    level: Level, penalty: Penalty, W: Floats, rho: float, max_iter: int
) -> Iterator[tuple[Fit, float, float]]:
    """A fit a step, how far it is from level predictions, and the room for slack."""
    problem = level.fitter.rows
    groups, y = problem.groups, problem.y
    assert groups is not None
    proximal = Fitter.of(problem, penalty.scaled(1 / (1 + rho)))
    proximal = pinned(proximal, level.linear)
    widest = level.balance.show(level.balance.band(groups).high, groups)
    M, V = problem.predict(W), np.zeros(len(y))
    low, high, tried, reached = 0.0, 1.0, 0, False
    for _ in range(max_iter):
        S = least_move(M + V, groups, (low + high) / 2 * widest)
        V = V + M - S
        W = proximal.solve(problem.moments((y + rho * (S - V)) / (1 + rho)), W)
        M = problem.predict(W)
        fit = level.count(W)
        tried, reached = tried + 1, reached or fit.miss == 0
        if (reached and tried >= LEAST) or tried == PROBE:
            middle = (low + high) / 2
            low, high = (middle, high) if reached else (low, middle)
            tried, reached = 0, False
        room = high - low if low > 0 else 1.0
        yield fit, relative(M - S, M), room
        if room < NARROW:
            return


def _walked(level: Level, fits: list[Fit]) -> Fit:
    """The best fit, or a better one between it and those just outside the band.

    What linear demands ask for holds between two fits that keep it.
    """
    best = min(fits, key=lambda fit: fit.order)
    if best.miss > 0:
        return best
    cheaper = [fit for fit in fits if fit.miss > 0 and fit.objective < best.objective]
    nearest = min(cheaper, key=lambda fit: fit.order, default=best)
    lowest = min(cheaper, key=lambda fit: fit.objective, default=best)
    for aim in (nearest, lowest):
        near, far = 0.0, 1.0
        start = best.W
        for _ in range(HALVINGS if aim.miss > 0 else 0):
            middle = (near + far) / 2
            fit = level.count(start + middle * (aim.W - start))
            near, far = (middle, far) if fit.miss == 0 else (near, middle)
            best = min(best, fit, key=lambda fit: fit.order)
    return best


def _packaged(
    level: Level, fit: Fit, status: Status, trace: tuple[Step, ...]
) -> Solution:
    """The solution; every threshold has a multiplier of its own, so none is shown."""
    moved = bool(trace)
    return package(
        level.fitter,
        level.balance,
        fit.W,
        status,
        B0=level.B0,
        value=fit.value,
        multiplier=np.nan if moved else 0.0,
        stationarity=trace[-1].residual if moved else 0.0,
        trace=trace,
    )
