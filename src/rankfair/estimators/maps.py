"""Maps of predictions by group: ways from free to fair, and how far to go."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rankfair.core.ranks import Duels
from rankfair.projections import least_movement, shift
from rankfair.projections.least_movement import ROUNDING, Sample
from rankfair.projections.shift import Floats
from rankfair.solvers.base import Status
from rankfair.solvers.roots import close_in, first_beyond


def compare(
    a: Floats, b: Floats, first: Sample, second: Sample
) -> tuple[int | float, float, float]:
    """Compare two samples with values ``a`` and ``b``, both ascending.

    Returns 2U of the first over the second (a whole number if the weights are), KS, and
    the Wasserstein distance.

    Examples
    --------
    >>> import numpy as np
    >>> one, two = Sample.of(np.array([1.0, 2.0])), Sample.of(np.array([2.0, 3.0]))
    >>> compare(one.values, two.values, one, two)
    (1, 0.5, 1.0)
    """
    x = np.concatenate((a, b))
    order = np.argsort(x, kind="stable")  # of two sorted runs it is a linear merge
    x, in_a = x[order], order < len(a)
    w = np.concatenate((first.weights, second.weights))[order]
    last = np.flatnonzero(np.append(x[1:] != x[:-1], True))
    up_to_a, up_to_b = (np.cumsum(np.where(own, w, 0))[last] for own in (in_a, ~in_a))
    own = np.diff(up_to_a, prepend=0)
    twice_u = own @ (up_to_b + np.append(0, up_to_b[:-1]))
    apart = np.abs(up_to_a * second.total - up_to_b * first.total)
    pairs = first.total * second.total
    moved = float(apart[:-1] @ np.diff(x[last])) / pairs
    return twice_u.item(), float(apart.max() / pairs), moved


@dataclass(frozen=True)
class Standing:
    """How the groups of moved samples stand to each other.

    Attributes
    ----------
    aucs : ndarray of shape (g,)
        The chance of each group to stand above all others, ties half.
    means : ndarray of shape (g,)
    gaps : dict of str to ndarray
        What each constraint is about: for "rank" the distances of `aucs` from 1/2, for
        others those of every two groups, of shape (g (g − 1) / 2,).

    Examples
    --------
    >>> import numpy as np
    >>> samples = [Sample.of(np.array([0.0, 2.0])), Sample.of(np.array([1.0, 2.0]))]
    >>> standing = Standing.of([sample.values for sample in samples], samples)
    >>> standing.aucs.tolist(), standing.means.tolist()
    ([0.375, 0.625], [1.0, 1.5])
    >>> standing.gaps["distribution"].tolist(), standing.gaps["mean"].tolist()
    ([0.5], [0.5])
    """

    aucs: Floats
    means: Floats
    gaps: dict[str, Floats]

    @classmethod
    def of(cls, values: Sequence[Floats], samples: Sequence[Sample]) -> Standing:
        """Compare every two groups whose steps stand at these values."""
        groups = list(zip(values, samples, strict=True))
        totals = np.array([sample.total for sample in samples])
        twice, distances = np.zeros((len(totals), len(totals)), totals.dtype), []
        for g, h in combinations(range(len(groups)), 2):
            (a, first), (b, second) = groups[g], groups[h]
            twice[g, h], *both = compare(a, b, first, second)
            twice[h, g] = 2 * totals[g] * totals[h] - twice[g, h]
            distances.append(both)
        means = np.array([np.average(m, weights=own.weights) for m, own in groups])
        apart = np.array([abs(a - b) for a, b in combinations(means.tolist(), 2)])
        aucs = Duels(twice, totals).of_rest()
        ks, wasserstein = np.array(distances).reshape(-1, 2).T
        gaps = {
            "rank": np.abs(aucs - 0.5),
            "distribution": ks,
            "mean": apart,
            "wasserstein": wasserstein,
        }
        return cls(aucs, means, gaps)


@dataclass(frozen=True)
class Limit:
    """How large the gaps of a constraint may be, group by group or pair by pair."""

    constraint: str
    widths: Floats

    @classmethod
    def of(
        cls, constraint: str, samples: Sequence[Sample], epsilon: float, spread: float
    ) -> Limit:
        """ε, or what rows make of it: one pair of rows, or a row of each group.

        ``spread`` is the standard deviation of the target, the unit of ε for means and
        Wasserstein distances.
        """
        rows = np.array([sample.row for sample in samples])
        pairs = list(combinations(range(len(samples)), 2))
        if constraint == "rank":
            totals = np.array([sample.total for sample in samples])
            heaviest = rows * totals
            others = [np.delete(heaviest, g).max() for g in range(len(samples))]
            pair = heaviest * others / (2 * totals * (totals.sum() - totals))
            return cls(constraint, np.maximum(epsilon, pair))
        if constraint == "distribution":
            own = np.maximum(epsilon, rows) / 2
            return cls(constraint, np.array([own[g] + own[h] for g, h in pairs]))
        return cls(constraint, np.full(len(pairs), epsilon * spread))

    def excess(self, standing: Standing) -> float:
        """How far the worst gap is above its width; at most 0 in the band."""
        gaps = standing.gaps[self.constraint]
        return float(np.max(gaps - self.widths * (1 + ROUNDING)))

    def allowing(
        self, samples: Sequence[Sample], fairest: Callable[[], Standing]
    ) -> Limit:
        """The limit for means and distances that rows can meet at all.

        Samples of different size have no equal quantiles.  What is left between the
        groups of the fairest map is allowed, up to a row of each group moved across
        their middle range.
        """
        if self.constraint in ("rank", "distribution"):
            return self
        row = np.array([a.row + b.row for a, b in combinations(samples, 2)]) / 2
        left = np.minimum(fairest().gaps[self.constraint], row * middle_range(samples))
        return Limit(self.constraint, np.maximum(self.widths, left))


def middle_range(samples: Sequence[Sample]) -> float:
    """From the 10 % to the 90 % quantile, the mean of the groups."""
    ranges = [np.ptp(sample.quantiles(np.array([0.1, 0.9]))) for sample in samples]
    return float(np.average(ranges, weights=[sample.total for sample in samples]))


CELLS = 16  # of the path, of which the first with an end in the band is searched
GUESSED = 30  # times as far may be what quantiles say
NEAR = 1e-3  # of the width: so near to the edge of the band is at its edge
LEVELS = 20  # at least, between the 10 % and the 90 % quantile
SWEEPS = 50  # over three or more groups that move as wholes

Values = list[Floats]
Path = Callable[[float], Values]


# Where a map sends predictions, seen and unseen.  A map is a table of two rows, its
# knots: predictions in ascending order and where they move to.


def nearest(knots: Floats, m: Floats) -> Floats:
    """Move predictions as little as the order with the knots allows.

    Between two knots that move to ``low`` and ``high`` a prediction goes to the nearest
    value in [low, high], beyond the first and the last one side is open.  Where a whole
    stretch moves up that is ``low``, where it moves down ``high``: the least movement
    of the rows that were seen goes on between them.

    Examples
    --------
    >>> import numpy as np
    >>> knots = np.array([[0.0, 2.0, 4.0], [1.0, 2.0, 2.0]])
    >>> nearest(knots, np.array([-1.0, 0.5, 1.0, 1.5, 3.0, 5.0])).tolist()
    [-1.0, 1.0, 1.0, 1.5, 2.0, 5.0]
    """
    start, end = knots
    low = np.concatenate(([-np.inf], end))[np.searchsorted(start, m, "right")]
    high = np.concatenate((end, [np.inf]))[np.searchsorted(start, m, "left")]
    moved: Floats = np.clip(m, low, high)
    return moved


def between(knots: Floats, m: Floats) -> Floats:
    """Move predictions along straight lines between knots, as the ends do beyond them.

    Examples
    --------
    >>> import numpy as np
    >>> knots = np.array([[0.0, 1.0], [0.5, 1.0]])
    >>> between(knots, np.array([-1.0, 0.0, 0.5, 3.0])).tolist()
    [-0.5, 0.5, 0.75, 3.0]
    """
    start, end = knots
    if np.array_equal(start, end):
        return m  # every bit of it; a sum might not
    inside: Floats = np.interp(m, start, end)
    beyond = m - np.clip(m, start[0], start[-1])
    return np.where(beyond == 0, inside, inside + beyond)


def knots(start: Floats, end: Floats) -> Floats:
    """Return the table of a map, without steps that lie between two of the same end.

    Examples
    --------
    >>> import numpy as np
    >>> knots(np.arange(5.0), np.array([1.0, 1.0, 1.0, 3.0, 4.0])).tolist()
    [[0.0, 2.0, 3.0, 4.0], [1.0, 1.0, 3.0, 4.0]]
    """
    new = end[1:] != end[:-1]
    kept = np.concatenate(([True], new)) | np.concatenate((new, [True]))
    return np.stack((start[kept], end[kept]))


# Three paths


def towards(samples: Sequence[Sample], ends: Sequence[Floats]) -> Path:
    """Straight from where the steps are to ``ends``."""

    def path(x: float) -> Values:
        both = zip(samples, ends, strict=True)
        # Rounding must not put a step below the one before it.
        return [
            np.maximum.accumulate((1 - x) * own.values + x * end) for own, end in both
        ]

    return path


def common_quantiles(samples: Sequence[Sample]) -> Values:
    """The mean of the groups' quantiles at the level of each step, by their weights.

    This is their Wasserstein barycentre.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = Sample.of(np.array([4.0, 6.0])), Sample.of(np.array([0.0, 1.0]))
    >>> [values.tolist() for values in common_quantiles([a, b])]
    [[2.0, 3.5], [2.0, 3.5]]
    """
    shares = np.array([sample.total for sample in samples], np.float64)
    shares /= shares.sum()
    return [
        (shares[:, None] * [h.quantiles(own.middles) for h in samples]).sum(axis=0)
        for own in samples
    ]


def line(samples: Sequence[Sample], limit: Limit) -> Path:
    """To the common quantiles: m₀ − θ (m₀ − m_common)."""
    return towards(samples, common_quantiles(samples))


def least(samples: Sequence[Sample], limit: Limit, levels: bool = True) -> Path:
    """The least movement with a KS of at most (1 − x) that of the free predictions.

    On common levels, if asked for.  Every value that a map can give is a threshold at
    which the groups may differ in rows that it was not learnt on, and KS is the largest
    of these differences.  Values closer than the rows can tell apart are made one: KS
    never rises by it, on any rows.
    """
    standing = Standing.of([own.values for own in samples], samples)
    free = float(standing.gaps["distribution"].max())

    def path(x: float) -> Values:
        moved = least_movement(samples, (1 - x) * free)
        return on_levels(samples, moved) if levels else moved

    return path


def on_levels(samples: Sequence[Sample], moved: Values) -> Values:
    """Put moved steps on common levels, each the mean of what comes there.

    What levels save in KS goes with √(h/n) for n rows and a spacing h, what they cost
    in squared error with h²: so h falls with the cube root of n, here nearly the rows
    of the smaller group.  Levels count from the middle of the groups: where zero is has
    no say.
    """
    rows = 1 / sum(sample.row for sample in samples)
    space = middle_range(samples) / max(LEVELS, 1.25 * math.cbrt(rows))
    if not space > 0:
        return moved
    total = [sample.total for sample in samples]
    medians = [float(sample.quantiles(np.array(0.5))) for sample in samples]
    middle = float(np.average(medians, weights=total))
    q = np.concatenate(moved)
    w = np.concatenate([sample.weights for sample in samples])
    _, place = np.unique(np.floor((q - middle) / space + 0.5), return_inverse=True)
    # Rounding must not put a mean below the one before it.
    level = np.maximum.accumulate(np.bincount(place, w * q) / np.bincount(place, w))
    return np.split(level[place], np.cumsum([len(each) for each in moved])[:-1])


def wholes(samples: Sequence[Sample], limit: Limit) -> Path:
    """Every group moves as a whole, to equal means or to equal ranks."""
    values = [sample.values for sample in samples]
    if limit.constraint == "mean":
        means = Standing.of(values, samples).means
        centre = np.average(means, weights=[sample.total for sample in samples])
        ends = [m - (own - centre) for m, own in zip(values, means, strict=True)]
        return towards(samples, ends)
    codes = np.repeat(np.arange(len(samples)), [len(own) for own in values])
    w = np.concatenate([sample.weights for sample in samples])
    m = np.concatenate(values)
    order = np.argsort(Standing.of(values, samples).aucs)  # it owes nothing to names
    for _ in range(SWEEPS):
        for g in order:
            in_a = codes == g
            pairs = w[in_a].sum() * w[~in_a].sum()
            m = shift(m, in_a, (pairs, pairs), w)
        ends = np.split(m, np.flatnonzero(np.diff(codes)) + 1)
        if limit.excess(Standing.of(ends, samples)) <= 0:
            break
    return towards(samples, ends)


class Way(NamedTuple):
    """A path, and where the maps along it send predictions between their knots."""

    path: Callable[[Sequence[Sample], Limit], Path]
    follow: Callable[[Floats, Floats], Floats]


# A band too narrow for common levels, or for steps, is met by the next way.
METHODS: dict[str, tuple[Way, ...]] = {
    "line": (Way(line, between),),
    "least": (
        Way(least, nearest),
        Way(partial(least, levels=False), nearest),
        Way(line, between),
    ),
    "shift": (Way(wholes, between),),
}
CONSTRAINTS_OF = {
    "line": ("rank", "distribution", "mean", "wasserstein"),
    "least": ("rank", "distribution"),
    "shift": ("rank", "mean"),
}


@dataclass(frozen=True)
class Moved:
    """A map for each group, and how the groups stand there."""

    maps: list[Floats]
    follow: Callable[[Floats, Floats], Floats]
    standing: Standing
    status: Status
    theta: float = math.nan  # the share of the line that was gone


def move(
    samples: Sequence[Sample],
    method: str,
    constraint: str,
    epsilon: float,
    spread: float = 1.0,
    quantiles: int = 1 << 12,
) -> Moved:
    """Leave what is in the band; move the rest by the first way that reaches it.

    Maps of groups of more steps are learnt on about so many ``quantiles``.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = Sample.of(np.array([4.0, 6.0])), Sample.of(np.array([0.0, 1.0]))
    >>> found = move([a, b], "line", "wasserstein", 2.25)
    >>> found.theta, [table[1].tolist() for table in found.maps]
    (0.5, [[3.0, 4.75], [1.0, 2.25]])
    """
    limit = Limit.of(constraint, samples, epsilon, spread)
    values = [sample.values for sample in samples]
    start = Standing.of(values, samples)
    if limit.excess(start) <= 0:
        still = [knots(own[[0, -1]], own[[0, -1]]) for own in values]
        return Moved(still, between, start, Status.INACTIVE, theta=0.0)
    few, tried = [sample.thinned(quantiles) for sample in samples], []
    for way in METHODS[method]:
        tried.append(_along(way, samples, few, limit))
        if tried[-1].status is Status.SATISFIED:
            return tried[-1]
    return min(tried, key=lambda moved: limit.excess(moved.standing))


def _along(
    way: Way, samples: Sequence[Sample], few: Sequence[Sample], limit: Limit
) -> Moved:
    """The first place on a path that is in the band, counted on all rows.

    The path is that of the ``few`` quantiles, whose counts say where to look.
    """
    path = way.path(few, limit)

    def maps(x: float) -> list[Floats]:
        return [knots(own.values, q) for own, q in zip(few, path(x), strict=True)]

    def standing(x: float) -> Standing:
        both = zip(maps(x), samples, strict=True)
        return Standing.of([way.follow(k, own.values) for k, own in both], samples)

    limit = limit.allowing(samples, lambda: standing(1.0))
    width = float(limit.widths.min())
    free = limit.excess(Standing.of(path(0.0), few))
    finest = NEAR * width / (width + max(free, 0.0))
    places = np.linspace(0.0, 1.0, CELLS + 1)
    x = _first(lambda x: limit.excess(Standing.of(path(x), few)), places, finest)
    if any(own is not all_ for own, all_ in zip(few, samples, strict=True)):
        off = GUESSED * finest
        places = np.clip(x + off * np.append([-1.0, 0.0], 4.0 ** np.arange(12)), 0, 1)
        places = np.append(places, 1.0)
        x = _first(lambda x: limit.excess(standing(x)), places, off / 4)
    found = standing(x)
    status = Status.SATISFIED if limit.excess(found) <= 0 else Status.INFEASIBLE
    theta = x if way.path is line else math.nan
    return Moved(maps(x), way.follow, found, status, theta)


def _first(excess: Callable[[float], float], places: Floats, finest: float) -> float:
    """The first of some places in the band, moved on to its edge; else the closest."""
    counted = cache(excess)

    def beyond(x: float, _: bool) -> float:
        return counted(float(x))

    at = first_beyond(beyond, places.tolist(), counted(0.0))
    if at.fb <= 0:
        at = close_in(beyond, at, lambda it: it.b - it.a <= finest)
    return float(at.b)
