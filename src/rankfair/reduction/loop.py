"""The search for the tilt: rounds on chords, then a landing on exact counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rankfair._frames import Floats
from rankfair.reduction.asked import Asked, Fit
from rankfair.reduction.demand import Demand
from rankfair.reduction.refits import Refits, levelled
from rankfair.solvers.base import OnStep, Status, Step
from rankfair.solvers.mixing import Mixer
from rankfair.solvers.ray import relative

LANDING = 6  # refits kept for the landing, at most
ENOUGH = 1e-3  # how near the tilt must be to a multiple of ∇AUC, relatively
GAIN = 1e-3  # the least improvement of the objective that counts
PATIENCE = 4  # rounds without one before the search ends
LEAST = 2e-3  # the least part of the last step by which a landing goes on
STRETCH = 4.0  # how much further than the last refit the next may go


@dataclass(frozen=True)
class Found:
    """The best refit, and how it came about."""

    fit: Fit
    status: Status
    trace: tuple[Step, ...]


@dataclass
class Search:
    """Refits within a budget; remembers the best and a line for each."""

    refits: Refits
    demand: Asked
    budget: int
    on_step: OnStep
    judge: Callable[[Floats, Floats, Any], Fit]
    best: Fit | None = None
    trace: list[Step] = field(default_factory=list)

    @property
    def left(self) -> int:
        """How many refits there may still be; the first, untilted, is not counted."""
        return self.budget - max(len(self.trace) - 1, 0)

    def fit(self, tilt: Floats) -> Fit:
        """Refit to the tilted target and count exactly."""
        models, m = self.refits.fit(self.demand.y - tilt)
        level = levelled(m, self.demand.unit)
        if level is not m:  # one value for all: have it exactly
            tilt = self.demand.y - level
            models, m = self.refits.fit(level)
        found = self.judge(tilt, m, models)
        auc, miss = self.demand.shown(found.at), abs(found.at.miss)
        self.trace.append(Step(len(self.trace), found.objective, auc, miss))
        self.on_step(self.trace[-1])
        if self.best is None or self._merit(found) < self._merit(self.best):
            self.best = found
        return replace(found, models=None)

    def run(
        self,
        rounds: Callable[[Fit], Floats],
        land: Callable[[Fit, Floats], None],
        fresh: Refits | None,
    ) -> Found:
        """Fit without a tilt, find one in rounds, and land with it, on fresh folds.

        A tilt that was found on some folds knows them: others count more honestly how
        far to go.
        """
        free = self.fit(np.zeros(len(self.demand.y)))
        if not free.at.inside:
            tilt = rounds(free)
            if fresh is not None and self.left > 1:
                self.refits, self.best = fresh, None
                free = self.fit(free.tilt)
        if not free.at.inside:
            land(free, tilt)
        self._level()
        return self.found

    def _level(self) -> None:
        """Fit one value for all rows, where what is in the band is a worse fit."""
        asked, best = self.demand, self.best
        assert best is not None
        if best.shifted.inside and best.objective > asked.error_of_mean:
            self.fit(asked.y - asked.mean)

    def _merit(self, fit: Fit) -> tuple[bool, float, float]:
        """Nearer to the band is better, then less error; a shift must earn its place.

        Outside, where one value for all rows has less error, a fit is none at all:
        counts get ever nearer the farther predictions are thrown.
        """
        wild = not fit.shifted.inside and fit.objective > self.demand.error_of_mean
        extra = 0.0 if fit.at.inside else GAIN
        return wild, abs(fit.shifted.miss), fit.objective * (1 + extra)

    @property
    def found(self) -> Found:
        """The best so far."""
        assert self.best is not None
        return Found(self.best, _status(self.best, self.left), tuple(self.trace))


def solve(
    refits: Refits,
    demand: Demand,
    max_refits: int,
    on_step: OnStep,
    fresh: Refits | None = None,
) -> Found:
    """Search for the tilt with the least error in the band.

        tilt ← ± along the difference of the group means
        repeat: m ← fit(y − tilt);  x with balance(free + x (m − free)) in the band
                tilt ← mix of x · tilt and λ ∇AUC there
        then refit at multiples of the best tilt until the exact count is in the band

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from rankfair.balances import Mean
    >>> from rankfair.problem import Groups
    >>> X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 2.0, 3.0])
    >>> refits = Refits(LinearRegression(), X, np.zeros(4, np.intp), 1)
    >>> demand = Demand.of(Mean(0.0), y, Groups(X[:, 0] == 1), shifts=False)
    >>> found = solve(refits, demand, 5, lambda step: None)
    >>> found.fit.m.round(6).tolist(), str(found.status)
    ([1.5, 1.5, 1.5, 1.5], 'satisfied')
    """
    search = Search(refits, demand, max_refits, on_step, demand.judged)
    rounds, land = partial(_rounds, search, demand), partial(_land, search, demand)
    return search.run(rounds, land, fresh)


def _status(best: Fit, left: int) -> Status:
    if best.shifted.inside:
        moved = best.tilt.any() or any(best.shift) or best.maps is not None
        return Status.SATISFIED if moved else Status.INACTIVE
    return Status.INFEASIBLE if left else Status.MAX_ITER


def _rounds(search: Search, demand: Demand, free: Fit) -> Floats:
    """The tilt that promises the least error: one refit a round, counted on chords."""
    mixer = Mixer()
    tilt = best = demand.first_tilt(free)
    lowest, calm = np.inf, 0
    while search.left > min(LANDING, search.budget // 2):
        far = search.fit(tilt).m
        x = min(demand.on_chord(free.m, far), STRETCH)
        m, tilt = free.m + x * (far - free.m), x * tilt
        objective = demand.objective(m)
        calm = 0 if objective < lowest * (1 - GAIN) else calm + 1
        if objective < lowest:
            lowest, best = objective, tilt
        gap = demand.bent(tilt, m) - tilt
        if relative(demand.root * gap, demand.root * tilt) <= ENOUGH:
            break
        if calm >= PATIENCE:
            break
        tilt = mixer.next(demand.root * tilt, demand.root * gap) / demand.root
    return best


def _land(search: Search, demand: Demand, free: Fit, tilt: Floats) -> None:
    """Refit at ``x · tilt`` until the count is in the band, by a safeguarded secant.

    Between two refits predictions are taken to lie on the chord, which for a linear
    learner is exact: its first refit lands.
    """
    short, x_short, x = free.m, 0.0, 1.0  # the furthest refit that is short of the band
    past: Floats | None = None  # the nearest refit that is past it
    x_past = np.inf
    for _ in range(min(search.left, LANDING)):
        found = search.fit(x * tilt)
        if found.at.inside:
            return
        if np.sign(found.at.miss) != np.sign(free.at.miss):
            past, x_past = found.m, x
        elif past is None:
            ahead = x_short + _ahead(demand, short, found.m) * (x - x_short)
            short, x_short, x = found.m, x, ahead
            continue
        else:
            short, x_short = found.m, x
        part = demand.on_chord(short, past)
        x = x_short + min(max(part, 0.1), 0.9) * (x_past - x_short)


def _ahead(demand: Demand, near: Floats, far: Floats) -> float:
    """How far to go on, in steps of the last: a little past where the chord leads."""
    return min(1.0 + max(1.25 * (demand.on_chord(near, far) - 1.0), LEAST), STRETCH)
