"""Every task's own line ``W_t(x_t) = fit(y − x_t g)``, all walked at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankfair.balances.by_task import ByTask
from rankfair.blocks import Ints
from rankfair.segments import Segments
from rankfair.solvers.base import Fitter, Floats
from rankfair.solvers.landings import Walks

Bools = NDArray[np.bool_]
STILL = 1e-9  # of what an ordinary fit answers to a force: no more than rounding
LEAST = 1e-3  # of a standard deviation: the least difference of means a walk starts at


@dataclass(frozen=True)
class Part:
    """Some tasks, a fit that treats each alone, and what is asked of them."""

    fitter: Fitter
    demands: ByTask
    target: Floats  # (k, n + 1), the moments of y
    push: Floats  # (k, n + 1), the moments of a tilt that is not theirs to choose
    order: Ints | None  # the user's row behind each sorted one, where they differ
    first: Floats  # (k, n + 1), the moments of the first direction
    squares: Floats  # (k,), Σ s_i y_i²

    def take(self, places: Ints, exact: bool) -> Part:
        """Some of these tasks; ``exact`` where the user's predictions will be asked."""
        problem, rows = self.fitter.rows.of_tasks(places, self.order, exact)
        assert problem.groups is not None
        segments = Segments.of_blocks(problem.blocks, problem.groups)
        demands = self.demands.of_tasks(places, segments, rows)
        factor = self.fitter.factor.take(places)
        fitter = (
            self.fitter.on(problem)
            if factor is None
            else Fitter(problem, self.fitter.penalty, factor)
        )
        return Part(
            fitter,
            demands,
            self.target[places],
            self.push[places],
            None,
            self.first[places],
            self.squares[places],
        )

    def predict(self, W: Floats, exact: bool) -> Floats:
        """Predictions of the sorted rows, or what the user will see of them."""
        problem = self.fitter.rows
        if not exact:
            return problem.predict(W)
        m = problem.user_predict(W)
        return m if self.order is None else m[self.order]

    def values(self, W: Floats, exact: bool = False) -> Floats:
        """The imbalance of each task: (k,)."""
        unit = self.fitter.rows.y_unit if exact else 1.0
        return self.demands.values(self.predict(W, exact), unit)

    def fit(self, force: Floats | float, start: Floats | None = None) -> Floats:
        """``W`` (k, n + 1) under a force on each task."""
        return self.fitter.solve(self.target - self.push - force, start)

    @cached_property
    def constant(self) -> Floats:
        """The mean of each task and nothing else: any ranks are level then."""
        W = np.zeros(self.target.shape)
        mean = self.target[:, -1] - self.push[:, -1]
        np.divide(mean, self.counts, out=W[:, -1], where=self.counts > 0)
        return W

    @property
    def counts(self) -> Floats:
        """Rows or weight of each task: (k,)."""
        return self.fitter.rows.counts

    def objective(self, W: Floats) -> Floats:
        """``½ Σ (m − y)² + β R(w^j)`` of each task, and what the push costs: (k,)."""
        problem = self.fitter.rows
        C, a = W[:, :-1], W[:, -1]
        bent = np.matmul(problem.gram, C[:, :, None])[:, :, 0]
        squares = (C * bent).sum(axis=1) + self.counts * a * a
        loss = 0.5 * (self.squares + squares) - (W * (self.target - self.push)).sum(
            axis=1
        )
        penalty = self.fitter.penalty.held(C).by_task(C)
        total: Floats = loss + penalty
        return total


@dataclass(frozen=True)
class Lines:
    """``W_t(x_t) = fit(y − x_t g)`` of every task from the moments ``b`` of ``g``."""

    part: Part
    b: Floats
    W0: Floats
    exact: bool

    @property
    def demands(self) -> ByTask:
        """What is asked of the tasks."""
        return self.part.demands

    @cached_property
    def slope(self) -> Floats | None:
        """How a linear fit answers to ``b``."""
        return self.part.fitter.slope(self.b) if self.part.fitter.linear else None

    def straight(self) -> Lines | Straight:
        """The same from predictions alone, where that is all a probe needs."""
        if self.slope is None or self.exact:
            return self
        predict = self.part.fitter.rows.predict
        m, p = predict(self.W0), predict(self.slope)
        return Straight(self.demands, self.W0, self.slope, m, p)

    def at(self, x: Floats, start: Floats) -> tuple[Floats, Floats]:
        """The values and coefficients at ``x`` (k,)."""
        if self.slope is None:
            W = self.part.fit(x[:, None] * self.b, start)
        else:
            W = self.W0 - x[:, None] * self.slope
        return self.part.values(W, self.exact), W

    def first(self, values: Floats) -> Floats:
        """The multipliers that would level the group means, with signs that help."""
        part = self.part
        answer = part.fit(self.b, self.W0) if self.slope is None else None
        p = self.slope if answer is None else self.W0 - answer
        assert p is not None
        # In moments of the first direction a difference of means is a product.
        level = np.abs((part.first * self.W0).sum(axis=1))
        fall = np.abs((part.first * p).sum(axis=1))
        # A fit that does not stir, but for rounding, needs about its weight in force.
        weight = 1.0 / np.maximum(part.counts, 1e-9)
        fall = np.where(fall > STILL * weight, fall, weight)
        sign = np.where(part.demands.misses(values) > 0, 1.0, -1.0)
        out: Floats = sign * np.maximum(level, LEAST) / fall
        return out

    def take(self, places: Ints) -> Lines:
        """Some of the lines."""
        part = self.part.take(places, self.exact)
        return Lines(part, self.b[places], self.W0[places], self.exact)


@dataclass(frozen=True)
class Straight:
    """Lines of predictions ``m − x_t p``: a probe needs no fit and no features."""

    demands: ByTask
    W0: Floats
    slope: Floats
    m: Floats
    p: Floats

    def at(self, x: Floats, start: Floats) -> tuple[Floats, Floats]:
        """The values and coefficients at ``x`` (k,)."""
        along = self.m - self.demands.segments.each_row(x) * self.p
        return self.demands.values(along), self.W0 - x[:, None] * self.slope

    def take(self, places: Ints) -> Straight:
        """Some of the lines."""
        segments, rows = self.demands.segments.take(places)
        demands = self.demands.of_tasks(places, segments, rows)
        W0, slope = self.W0[places], self.slope[places]
        return Straight(demands, W0, slope, self.m[rows], self.p[rows])


@dataclass(frozen=True)
class Landed:
    """Where each walk came closest: multiplier, coefficients, value and miss."""

    x: Floats
    W: Floats
    values: Floats
    misses: Floats

    @property
    def inside(self) -> Bools:
        """Which tasks are in their band."""
        found: Bools = self.misses == 0
        return found


def land_all(
    lines: Lines | Straight, values: Floats, first: Floats, counts: int, enough: float
) -> Landed:
    """Every task's first place along its line that is just inside its band.

    ``values`` are those at 0.  Tasks that have arrived leave the search: where half
    are gone, the rest go on as a problem of their own.
    """
    demands = lines.demands
    walks = Walks(*demands.band, demands.resolution(), values, first, enough=enough)
    everywhere = Landed(
        walks.best_x, lines.W0.copy(), walks.best_value, walks.best_miss
    )
    places, warm = np.arange(len(values)), lines.W0
    for _ in range(counts):
        still = np.flatnonzero(walks.open)
        if not len(still):
            break
        if 2 * len(still) <= len(walks.x):
            _keep(everywhere, places, walks)
            lines, walks = lines.take(still), walks.take(still)
            places, warm = places[still], warm[still]
        found, warm = lines.at(walks.x, warm)
        better = walks.learn(found)
        everywhere.W[places[better]] = warm[better]
    _keep(everywhere, places, walks)
    return everywhere


def _keep(landed: Landed, places: Ints, walks: Walks) -> None:
    """Write down what the walks at these places have found."""
    landed.x[places] = walks.best_x
    landed.values[places] = walks.best_value
    landed.misses[places] = walks.best_miss
