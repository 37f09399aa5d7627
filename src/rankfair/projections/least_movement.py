"""The least movement that brings the distributions of groups within a slack.

With steps k of group g at ``v_gk``, weighing ``w_gk``, and ``q_gk`` where they move to,

    minimise   Σ w_gk (q_gk − v_gk)²   subject to   F_g(x) − F_h(x) ≤ slack

for all x and all pairs of groups, F being the distribution functions of the moved
steps, and q monotone in each group.  A step spans the levels from ``start`` to ``end``
of its group, and the constraint is nothing but an order:

    q_hj ≤ q_gk   wherever   end_gk − start_hj > slack.

So it is an isotonic regression on interleaved chains, and it is solved exactly.  Steps
wider than the slack would pull all others into one; they are taken as if they were
as narrow as the slack, in the middle of their levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from rankfair.projections.shift import Floats

Array = NDArray[Any]

ROUNDING = 1e-12  # two levels closer than this are one


@dataclass(frozen=True)
class Sample:
    """Distinct predictions of a group, ascending, and what each of these steps weighs.

    Rows that tie can only move together, because a map is a function of prediction and
    group.  ``row`` is the share of the group that its heaviest row has: no map can move
    less.

    Examples
    --------
    >>> import numpy as np
    >>> sample = Sample.of(np.array([3.0, 1.0, 3.0, 2.0]))
    >>> sample.values.tolist(), sample.weights.tolist(), sample.row
    ([1.0, 2.0, 3.0], [1, 1, 2], 0.25)
    """

    values: Floats
    weights: Array
    row: float

    @classmethod
    def of(cls, predictions: Floats, weights: Array | None = None) -> Sample:
        """Sort the predictions of a group and join equal ones."""
        if weights is None:
            values, counts = np.unique(predictions, return_counts=True)
            return cls(values, counts, 1.0 / len(predictions))
        values, place = np.unique(predictions, return_inverse=True)
        sums = np.bincount(place, weights).astype(weights.dtype)
        # Whole weights are repeated rows, of one each.
        heaviest = 1 if sums.dtype.kind == "i" else weights.max()
        return cls(values, sums, float(heaviest / sums.sum()))

    @cached_property
    def total(self) -> int | float:
        """The weight of the group."""
        total: int | float = self.weights.sum().item()
        return total

    @cached_property
    def ends(self) -> Floats:
        """The share of the group up to each step, the step included."""
        ends: Floats = np.cumsum(self.weights) / self.total
        return ends

    @cached_property
    def starts(self) -> Floats:
        """The share of the group below each step."""
        return np.concatenate(([0.0], self.ends[:-1]))

    @cached_property
    def middles(self) -> Floats:
        """The level in the middle of each step."""
        return (self.starts + self.ends) / 2

    def quantiles(self, levels: Floats) -> Floats:
        """Where the group stands at some levels, by straight lines between steps."""
        return np.interp(levels, self.middles, self.values)

    def thinned(self, steps: int) -> Sample:
        """About so many steps at most, bundles of neighbours at their means.

        The steps at both ends stay alone, so that far values are not taken for nearer
        ones.
        """
        n = len(self.values)
        if n <= steps:
            return self
        inner = np.searchsorted(self.ends, np.arange(1, steps // 2) / (steps // 2))
        tail = steps // 4
        at = np.unique(np.r_[: tail + 1, inner, n - tail : n])
        weights = np.add.reduceat(self.weights, at)
        means = np.add.reduceat(self.weights * self.values, at) / weights
        alone = np.diff(at, append=n) == 1  # no rounding there
        return Sample(np.where(alone, self.values[at], means), weights, self.row)


def least_movement(samples: Sequence[Sample], slack: float) -> list[Floats]:
    """Return where the steps of each group move to.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = Sample.of(np.array([4.0, 6.0])), Sample.of(np.array([0.0, 1.0]))
    >>> [moved.tolist() for moved in least_movement([a, b], slack=0.5)]
    [[2.5, 6.0], [0.0, 2.5]]
    """
    if len(samples) == 2:
        return list(pair(samples[0], samples[1], slack))
    return ladder(samples, slack)


def bounds(sample: Sample, slack: float) -> tuple[Floats, Floats]:
    """Levels ``low ≤ high`` of each step: h_j must not exceed g_k if high_j < low_k."""
    middle = sample.middles - slack / 2
    return np.minimum(sample.ends - slack, middle), np.maximum(sample.starts, middle)


def pair(first: Sample, second: Sample, slack: float) -> tuple[Floats, Floats]:
    """Two groups: one isotonic regression for each order that is violated.

    Along the border of ``q_A ≤ q_B`` (each A just before the first B that must not be
    below it) the steps of both groups form one chain.  Where a group is above its place
    in that chain's regression it goes there; where it is not, the order holds by
    itself.  The same for ``q_B ≤ q_A``, and no step is pulled both ways.
    """
    low_a, high_a = bounds(first, slack)
    low_b, high_b = bounds(second, slack)
    a, b = first.values, second.values
    most_a, least_b = _ordered(first, second, high_a, low_b)
    most_b, least_a = _ordered(second, first, high_b, low_a)
    # Nothing is pulled both ways: the second order has no say where the first has.
    return (
        np.where(a > most_a, most_a, np.maximum(a, least_a)),
        np.where(b < least_b, least_b, np.minimum(b, most_b)),
    )


def _ordered(
    under: Sample, over: Sample, high: Floats, low: Floats
) -> tuple[Floats, Floats]:
    """The most that ``under`` and the least that ``over`` may be."""
    before = np.searchsorted(low, high + ROUNDING, "right")
    bound = int(np.searchsorted(before, len(low)))  # steps that must not exceed another
    if not (over.values[before[:bound]] < under.values[:bound]).any():
        return np.full(len(high), np.inf), np.full(len(low), -np.inf)
    place = before + np.arange(len(high))
    others = np.ones(len(high) + len(low), bool)
    others[place] = False
    chain, weights = np.empty((2, len(others)))
    chain[place], chain[others] = under.values, over.values
    weights[place], weights[others] = under.weights, over.weights
    fitted = isotonic_regression(chain, weights=weights).x
    return fitted[place], fitted[others]


def ladder(samples: Sequence[Sample], slack: float) -> list[Floats]:
    """Any number of groups: every step between two rungs of one common ladder.

    All pairs are within the slack if and only if there are rungs ``r_1 ≤ r_2 ≤ …``, one
    for each level, such that a step is at most the rung of its ``high`` and at least
    the last rung before its ``low``.  Given the rungs a step is clipped to its two, so
    what is left to minimise is

        Σ w [(v − r_high)₊² + (r_low − v)₊²]   over   r_1 ≤ r_2 ≤ …

    a convex function, quadratic as long as no step starts or stops being clipped:
    Newton's method is one isotonic regression a step.
    """
    rungs = _rungs(samples, slack)
    moved = rungs.clip(rungs.lowest_cost(rungs.all_pulled()))
    return np.split(moved, np.cumsum([len(s.values) for s in samples])[:-1])


def _rungs(samples: Sequence[Sample], slack: float) -> _Rungs:
    """The ladder of some groups: a rung for each level."""
    v = np.concatenate([sample.values for sample in samples])
    w = np.concatenate([sample.weights for sample in samples]).astype(np.float64)
    lows, highs = zip(*(bounds(sample, slack) for sample in samples), strict=True)
    # Levels that differ by rounding are one rung.
    levels = np.sort(np.concatenate(highs))
    levels = levels[np.diff(levels, prepend=-np.inf) > ROUNDING]
    above = np.searchsorted(levels, np.concatenate(highs) + ROUNDING, "right") - 1
    below = np.searchsorted(levels, np.concatenate(lows) - ROUNDING, "left") - 1
    return _Rungs(v, w, above, below, len(levels))


class _Rungs:
    """The cost of a ladder; ``below`` is -1 for steps without a rung below them."""

    def __init__(self, v: Floats, w: Floats, above: Array, below: Array, size: int):
        self.v, self.w, self.above, self.size = v, w, above, size
        self.bound = below >= 0
        self.below = np.maximum(below, 0)

    def clip(self, r: Floats) -> Floats:
        """Every step between its two rungs."""
        least = np.where(self.bound, r[self.below], -np.inf)
        return np.minimum(np.maximum(self.v, least), r[self.above])

    def cost(self, r: Floats) -> float:
        """Half the weighted sum of squared movements."""
        moved = self.clip(r) - self.v
        return float(self.w @ (moved * moved)) / 2

    def all_pulled(self) -> Floats:
        """The ladder that every step pulls at, clipped or not."""
        every = np.ones(len(self.v), bool)
        return self._newton(np.zeros(self.size), every, self.bound)

    def lowest_cost(self, r: Floats) -> Floats:
        """Newton's method from a ladder, with shorter steps where it overshoots."""
        cost = self.cost(r)
        for _ in range(100):  # Newton steps; it takes some ten
            pulled = self.v > r[self.above]
            pushed = self.bound & (self.v < r[self.below])
            target = self._newton(r, pulled, pushed)
            share, tried, lower = 1.0, target, self.cost(target)
            while share > 1e-3 and lower >= cost * (1 - 1e-13):
                share /= 2
                # Rounding must not put a rung below the one before it.
                tried = np.maximum.accumulate((1 - share) * r + share * target)
                lower = self.cost(tried)
            if share <= 1e-3:
                break
            r, cost = tried, lower
        return r

    def _newton(self, r: Floats, pulled: Array, pushed: Array) -> Floats:
        """The ladder that is best for the steps which are clipped now."""
        at = np.concatenate((self.above[pulled], self.below[pushed]))
        w = np.concatenate((self.w[pulled], self.w[pushed]))
        v = np.concatenate((self.v[pulled], self.v[pushed]))
        pull = np.bincount(at, w, self.size)
        moment = np.bincount(at, w * v, self.size)
        held = pull > 0
        if not held.any():
            return r
        goal = moment[held] / pull[held]
        fitted = isotonic_regression(goal, weights=pull[held]).x
        # Rungs that nothing clips at stay where they are, if their neighbours allow.
        up_to = np.cumsum(held)
        low = np.append(-np.inf, fitted)[up_to]
        high = np.append(fitted, np.inf)[up_to - held]
        rungs: Floats = np.clip(r, low, high)
        return rungs
