"""Tasks moved one by one, where so few rows differ that counts jump across a band.

Moving a task as a whole leaves its own ranks as they are; the count over all rows is a
step function of how far it goes, with a step wherever one of its rows meets a row of
the other group in another task.  All steps are looked at.  Tasks of one value each can
also be put level: they are one from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rankfair.balances import Band
from rankfair.blocks import Ints
from rankfair.problem import Groups
from rankfair.solvers.base import Floats

MARGIN = 1e-4  # of a standard deviation: how far past a step to go
LEAST = 1e-8  # steps closer than this are one
DEEP, WIDE = 3, 8  # moves one after another; ways that are followed, of each kind
FOLLOWED = 4  # moves of a task that are followed, of each kind
LOWERED, DESCENT = 4, 60  # ways in that are made cheaper, and moves that do so
FEW_ROWS, FEW_TASKS = 400, 12  # where all ways are tried
MOST_ROWS, MOST_TASKS = 2000, 60  # of more there are too many steps, and other ways


class Moves(NamedTuple):
    """Where one task could go: how far, the values over all rows, the cost."""

    by: Floats
    values: Floats
    cost: Floats
    joins: Ints  # the task it is level with there, or −1


@dataclass(frozen=True)
class Places:
    """Tasks, each at an offset ``e_j`` from its place of least error.

    All tasks together can be moved without any change of ranks, so that
    ``Σ_j n_j e_j = 0``; ``cost`` is ``½ Σ_j n_j e_j²``.
    """

    m: Floats  # (N,) predictions without offsets
    tasks: Ints  # (N,)
    groups: Groups
    counts: Floats  # (k,)
    flat: Floats  # (k,) the value of a task that has but one, or NaN
    e: Floats  # (k,)
    leader: Ints  # (k,) the first of the tasks that are level with it
    value: float

    @classmethod
    def at_rest(
        cls, m: Floats, tasks: Ints, groups: Groups, counts: Floats, value: float
    ) -> Places:
        """All tasks where their error is least; each has a row."""
        k = len(counts)
        high, low = np.full(k, -np.inf), np.full(k, np.inf)
        np.maximum.at(high, tasks, m)
        np.minimum.at(low, tasks, m)
        flat = np.where(high == low, high, np.nan)
        return cls(m, tasks, groups, counts, flat, np.zeros(k), np.arange(k), value)

    @property
    def few(self) -> bool:
        """Whether all ways can be tried."""
        return len(self.m) <= FEW_ROWS and len(self.counts) <= FEW_TASKS

    @property
    def cost(self) -> float:
        """What the offsets add to the objective."""
        return float(0.5 * (self.counts * self.e * self.e).sum())

    def moved(self, j: int, moves: Moves, i: int) -> Places:
        """The ``i``-th move of task ``j``, and all of them back by the mean."""
        e, leader = self.e.copy(), self.leader.copy()
        e[leader == j] += moves.by[i]
        if moves.joins[i] >= 0:
            leader[leader == j] = moves.joins[i]
        e -= (self.counts * e).sum() / self.counts.sum()
        return replace(self, e=e, leader=leader, value=float(moves.values[i]))

    def moves(self, j: int) -> Moves:
        """Every interval between two steps of task ``j``, where it costs least."""
        steps, heights = self._steps(j)
        order = np.argsort(steps)
        steps = steps[order]
        climb = np.concatenate(([0.0], np.cumsum(heights[order])))

        def value(by: Floats | float) -> Floats:
            """Halfway up the steps that are met there."""
            first = climb[np.searchsorted(steps, by - LEAST)]
            out: Floats = (first + climb[np.searchsorted(steps, by + LEAST)]) / 2
            return out

        low = np.concatenate(([-np.inf], steps))
        high = np.concatenate((steps, [np.inf]))
        wide = high - low > 4 * LEAST
        margin = np.minimum(MARGIN, (high[wide] - low[wide]) / 4)
        mine = self.leader == j
        n, pull = self.counts[mine].sum(), (self.counts * self.e)[mine].sum()
        free = 1 - n / self.counts.sum()
        by = np.clip(-pull / n / free, low[wide] + margin, high[wide] - margin)
        others = np.flatnonzero(~mine & (self.leader == np.arange(len(mine))))
        level = (self.flat + self.e)[others] - (self.flat + self.e)[j]
        joins = others[~np.isnan(level)]
        by = np.concatenate((by, level[~np.isnan(level)]))
        cost = self.cost + pull * by + 0.5 * n * free * by * by
        joined = np.concatenate((np.full(len(by) - len(joins), -1), joins))
        return Moves(by, self.value + value(by) - value(0.0), cost, joined)

    def _steps(self, j: int) -> tuple[Floats, Floats]:
        """Where rows of task ``j`` meet others, and what the value gains there."""
        m, in_a = self.m + self.e[self.tasks], self.groups.in_a
        w = np.ones(len(m)) if self.groups.weights is None else self.groups.weights
        own = (self.leader == j)[self.tasks]
        steps, heights = [], []
        for up, rows, rivals in ((2.0, in_a, ~in_a), (-2.0, ~in_a, in_a)):
            mine, others = own & rows, ~own & rivals
            steps.append((m[others][None, :] - m[mine][:, None]).ravel())
            heights.append(up * np.outer(w[mine], w[others]).ravel())
        return np.concatenate(steps), np.concatenate(heights)

    @property
    def movable(self) -> list[int]:
        """The tasks that lead, unless all are level."""
        leaders: list[int] = np.unique(self.leader).tolist()
        return leaders if len(leaders) > 1 else []


def brought_in(start: Places, band: Band) -> Places | None:
    """Offsets that bring the value over all rows into its band at little cost.

    A few of the best moves are followed, and of what they lead to a few again, where
    there are more than few rows only until one is inside; from the best ways in, moves
    that stay inside go on as long as they cost less.

    Examples
    --------
    >>> import numpy as np
    >>> m, in_a = np.array([2.0, 0.0, 1.0]), np.array([True, False, False])
    >>> tasks, counts = np.array([0, 1, 1]), np.array([1.0, 2.0])
    >>> places = Places.at_rest(m, tasks, Groups(in_a), counts, value=4)
    >>> brought_in(places, Band(1, 3)).e.round(2).tolist()
    [-0.67, 0.33]
    """
    if band.miss(start.value) == 0:
        return start
    ways, inside = [start], list[Places]()
    for _ in range(DEEP):
        further: list[Places] = []
        for way in ways:
            for j in way.movable:
                moves = way.moves(j)
                further += (way.moved(j, moves, i) for i in _followed(moves, band))
        inside += [way for way in further if band.miss(way.value) == 0]
        if inside and not start.few:
            break
        ways = _chosen(further, band)
    best = sorted(inside, key=lambda way: way.cost)[:LOWERED]
    lowered = (_lowered(way, band) for way in best)
    return min(lowered, key=lambda way: way.cost, default=None)


def _followed(moves: Moves, band: Band) -> list[int]:
    """The moves that come closest, the cheapest, and those that put tasks level."""
    closest = np.lexsort((moves.cost, _misses(moves, band)))[:FOLLOWED]
    cheapest = np.argsort(moves.cost)[:FOLLOWED]
    level = np.flatnonzero(moves.joins >= 0)
    found: list[int] = np.unique(np.concatenate((closest, cheapest, level))).tolist()
    return found


def _chosen(ways: list[Places], band: Band) -> list[Places]:
    """The ways that came closest, and the cheapest, one for each value."""
    kept: dict[float, Places] = {}
    cheapest = sorted(ways, key=lambda way: way.cost)
    for way in cheapest:
        kept.setdefault(way.value, way)
    closest = sorted(kept.values(), key=lambda way: abs(band.miss(way.value)))
    chosen = {id(way): way for way in (*closest[:WIDE], *[*kept.values()][:WIDE])}
    return list(chosen.values())


def _lowered(way: Places, band: Band) -> Places:
    """Moves of one task that stay inside, as long as one of them costs less."""
    for _ in range(DESCENT):
        ways = [way]
        for j in way.movable:
            moves = way.moves(j)
            cost = np.where(_misses(moves, band) == 0, moves.cost, np.inf)
            i = int(np.argmin(cost))
            if cost[i] < np.inf:
                ways.append(way.moved(j, moves, i))
        lower = min(ways, key=lambda way: way.cost)
        if not lower.cost < way.cost * (1 - 1e-6):
            break
        way = lower
    return way


def _misses(moves: Moves, band: Band) -> Floats:
    """How far each would leave the value outside its band."""
    values = moves.values
    out: Floats = np.abs(values - np.clip(values, band.low, band.high))
    return out
