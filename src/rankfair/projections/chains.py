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

import numpy as np
from scipy.optimize import isotonic_regression

from rankfair.projections.samples import ROUNDING, Array, Floats, Sample

STEPS = 100  # the most Newton steps of `ladder`; it takes some ten
MANY, THINNING = 1 << 13, 8  # groups of more steps start from an eighth of them


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
    if sample.row <= slack and sample.counts is None:
        return sample.ends - slack, sample.starts
    middle = sample.middles - slack / 2
    return np.minimum(sample.ends - slack, middle), np.maximum(sample.starts, middle)


def pair(first: Sample, second: Sample, slack: float) -> tuple[Floats, Floats]:
    """Two groups: one isotonic regression for each order that is violated.

    Along the border of ``q_A ≤ q_B`` (each A just before the first B that must not be
    below it) the steps of both groups form one chain.  Where a group is above its place
    in that chain's regression it goes there; where it is not, the order holds by
    itself.  The same for ``q_B ≤ q_A``, and no step is pulled both ways.

    A negative slack asks for more: the first group not above the second even where it
    is ahead by that much in the levels of their steps' middles.
    """
    if slack < 0:
        (low_a, low_b) = (first.middles, second.middles)
        (high_a, high_b) = (low_a + slack, low_b - slack)
    else:
        low_a, high_a = bounds(first, slack)
        low_b, high_b = bounds(second, slack)
    a, b = first.values, second.values
    down = _ordered(first, second, high_a, low_b)
    up = _ordered(second, first, high_b, low_a)
    if down is not None and up is not None:
        # Nothing is pulled both ways: `up` has no say where `down` has.
        a, b = (
            np.where(a > down[0], down[0], np.maximum(a, up[1])),
            np.where(b < down[1], down[1], np.minimum(b, up[0])),
        )
    elif down is not None:
        a, b = np.minimum(a, down[0]), np.maximum(b, down[1])
    elif up is not None:
        a, b = np.maximum(a, up[1]), np.minimum(b, up[0])
    return a, b


def _ordered(
    under: Sample, over: Sample, high: Floats, low: Floats
) -> tuple[Floats, Floats] | None:
    """The most that ``under`` and the least that ``over`` may be; None if all may."""
    before = _count_up_to(low, high + ROUNDING)
    bound = int(np.searchsorted(before, len(low)))  # steps that must not exceed another
    if not (over.values[before[:bound]] < under.values[:bound]).any():
        return None
    place = before + np.arange(len(high))
    others = np.ones(len(high) + len(low), bool)
    others[place] = False
    rest = np.flatnonzero(others)
    chain = np.empty(len(others))
    chain[place], chain[rest] = under.values, over.values
    weights = None
    if under.counts is not None or over.counts is not None:
        weights = np.empty(len(others))
        weights[place], weights[rest] = under.weights, over.weights
    fitted = isotonic_regression(chain, weights=weights).x
    return fitted[place], fitted[rest]


def _count_up_to(low: Floats, levels: Floats) -> Array:
    """How many of ``low`` are up to each level; both ascend.

    Evenly spaced ones (a row each, no ties) are counted without a search.
    """
    step = (low[-1] - low[0]) / max(len(low) - 1, 1)
    even = low[0] + step * np.arange(len(low)) if step > 0 else low
    if not step > 0 or np.abs(even - low).max() > ROUNDING / 4:
        return np.searchsorted(low, levels, "right")
    found = np.floor((levels - low[0]) / step + 1).astype(np.intp)
    clipped: Array = np.clip(found, 0, len(low), out=found)
    return clipped


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
    levels, rungs = _rungs(samples, slack)
    moved = rungs.clip(_best_ladder(samples, slack, levels, rungs))
    return np.split(moved, np.cumsum([len(s.values) for s in samples])[:-1])


def _rungs(samples: Sequence[Sample], slack: float) -> tuple[Floats, _Rungs]:
    v = np.concatenate([sample.values for sample in samples])
    w = np.concatenate([sample.weights for sample in samples]).astype(np.float64)
    lows, highs = zip(*(bounds(sample, slack) for sample in samples), strict=True)
    # Levels that differ by rounding are one rung.
    levels = np.sort(np.concatenate(highs))
    levels = levels[np.diff(levels, prepend=-np.inf) > ROUNDING]
    above = np.searchsorted(levels, np.concatenate(highs) + ROUNDING, "right") - 1
    below = np.searchsorted(levels, np.concatenate(lows) - ROUNDING, "left") - 1
    return levels, _Rungs(v, w, above, below, len(levels))


def _best_ladder(
    samples: Sequence[Sample], slack: float, levels: Floats, rungs: _Rungs
) -> Floats:
    """Start from the ladder of fewer steps where there are many."""
    most = max(len(sample.values) for sample in samples)
    if most <= MANY:
        return rungs.lowest_cost(rungs.all_pulled())
    thin = [sample.thinned(most // THINNING) for sample in samples]
    few, thin_rungs = _rungs(thin, slack)
    coarse = _best_ladder(thin, slack, few, thin_rungs)
    return rungs.lowest_cost(np.interp(levels, few, coarse))


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
        for _ in range(STEPS):
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
