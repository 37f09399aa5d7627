"""Maps of predictions by group: three paths from free to fair, and how far to go.

A *path* says where the steps of each group are at x from 0, where nothing has moved, to
1, where the groups are together.  On the line a share x of the way to the common
quantiles is gone; on the path of least movement the slack in KS shrinks from that of
the free predictions to 0; on the path of shifts the groups move as wholes.  The first
place in the band is taken, by counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from rankfair.postprocess.standing import Limit, Standing, middle_range
from rankfair.projections import Sample, least_movement, shift
from rankfair.projections.shift import Floats
from rankfair.solvers.roots import Bracket, close_in

QUANTILES = 1 << 12  # of a group of more steps stand for it
CELLS = 16  # of the path, of which the first with an end in the band is searched
NEAR = 1e-3  # of the width: so near to the edge of the band is at its edge
LEVELS = 20  # at least, between the 10 % and the 90 % quantile
SWEEPS = 50  # over three or more groups that move as wholes

Values = list[Floats]
Path = Callable[[float], Values]


class Status(Enum):
    """How the maps came out; the value is the sentence shown."""

    SATISFIED = "The band is met."
    INACTIVE = "The predictions lie in the band already."
    INFEASIBLE = (
        "No map of predictions by group was found that reaches the band, which is hard "
        "where many predictions tie or a group has few rows; the closest was kept."
    )

    def __str__(self) -> str:
        """The short word: satisfied, inactive or infeasible."""
        return self.name.lower()


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
        sum(
            (
                p * h.quantiles(own.middles)
                for p, h in zip(shares, samples, strict=True)
            ),
            start=np.zeros(len(own.values)),
        )
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
    free = float(Standing([own.values for own in samples], samples).ks.max())

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
        means = Standing(values, samples).means
        centre = np.average(means, weights=[sample.total for sample in samples])
        ends = [m - (own - centre) for m, own in zip(values, means, strict=True)]
        return towards(samples, ends)
    codes = np.repeat(np.arange(len(samples)), [len(own) for own in values])
    w = np.concatenate([sample.weights for sample in samples])
    m = np.concatenate(values)
    order = np.argsort(Standing(values, samples).aucs)  # it owes nothing to names
    for _ in range(SWEEPS):
        for g in order:
            in_a = codes == g
            pairs = w[in_a].sum() * w[~in_a].sum()
            m = shift(m, in_a, (pairs, pairs), w)
        ends = np.split(m, np.flatnonzero(np.diff(codes)) + 1)
        if limit.excess(Standing(ends, samples)) <= 0:
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
    """A map for each group, the place on the path, and how the groups stand there."""

    maps: list[Floats]
    follow: Callable[[Floats, Floats], Floats]
    x: float
    standing: Standing
    status: Status
    theta: float = math.nan  # x on the line


def move(
    samples: Sequence[Sample],
    method: str,
    constraint: str,
    epsilon: float,
    spread: float = 1.0,
) -> Moved:
    """Leave what is in the band; move the rest by the first way that reaches it.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = Sample.of(np.array([4.0, 6.0])), Sample.of(np.array([0.0, 1.0]))
    >>> found = move([a, b], "line", "wasserstein", 2.25)
    >>> found.x, [table[1].tolist() for table in found.maps]
    (0.5, [[3.0, 4.75], [1.0, 2.25]])
    """
    limit = Limit.of(constraint, samples, epsilon, spread)
    values = [sample.values for sample in samples]
    start = Standing(values, samples)
    if limit.excess(start) <= 0:
        still = [knots(own[[0, -1]], own[[0, -1]]) for own in values]
        return Moved(still, between, 0.0, start, Status.INACTIVE, theta=0.0)
    tried = []
    for way in METHODS[method]:
        tried.append(_along(way, samples, limit))
        if tried[-1].status is Status.SATISFIED:
            return tried[-1]
    return min(tried, key=lambda moved: limit.excess(moved.standing))


def _along(way: Way, samples: Sequence[Sample], limit: Limit) -> Moved:
    """The first place on a path that is in the band, counted on all rows.

    Groups of many steps are stood for by quantiles: the maps are learnt on these.
    """
    few = [sample.thinned(QUANTILES) for sample in samples]
    path = way.path(few, limit)

    def maps(x: float) -> list[Floats]:
        return [knots(own.values, q) for own, q in zip(few, path(x), strict=True)]

    @lru_cache(maxsize=2)
    def standing(x: float) -> Standing:
        both = zip(maps(x), samples, strict=True)
        return Standing([way.follow(k, own.values) for k, own in both], samples)

    limit = limit.allowing(samples, lambda: standing(1.0))

    near = NEAR * float(limit.widths.min())
    thinned = any(own is not all_ for own, all_ in zip(few, samples, strict=True))
    margin = 5 * near if thinned else 0.0  # what quantiles are off by, mostly

    def rough(x: float) -> float:
        return limit.excess(Standing(path(x), few)) + margin

    def exact(x: float) -> float:
        return limit.excess(standing(x))

    cells = np.linspace(0.0, 1.0, CELLS + 1).tolist()
    misses = [rough(x) for x in cells]
    first = next((k for k, miss in enumerate(misses) if miss <= 0), CELLS)
    x, excess = cells[first], misses[first]
    finest = near / (near / NEAR + max(misses[0], 0.0))
    if excess <= 0 < first:
        cell = Bracket(cells[first - 1], misses[first - 1], x, excess)
        x = _edge(rough, cell, near if thinned else 0.0, finest)
    if thinned:
        x, excess = _around(exact, x, 30 * near, 30 * finest)
    if excess > 0:
        x = cells[int(np.argmin(misses))]
    status = Status.SATISFIED if excess <= 0 else Status.INFEASIBLE
    theta = x if way.path is line else math.nan
    return Moved(maps(x), way.follow, x, standing(x), status, theta)


def _edge(
    excess: Callable[[float], float], bracket: Bracket, near: float, finest: float
) -> float:
    """The end of the bracket that is in the band, when it is near its edge or short."""

    def enough(bracket: Bracket) -> bool:
        return bool(bracket.fb >= -near or bracket.b - bracket.a <= finest)

    return float(close_in(excess, bracket, enough).b)


def _around(
    excess: Callable[[float], float], guess: float, near: float, finest: float
) -> tuple[float, float]:
    """The edge of the band next to a guess, and the excess there."""
    a = b = guess
    fa = fb = excess(guess)
    step = finest
    while fa < -near and a > 0:
        b, fb = a, fa
        a = max(a - step, 0.0)
        fa, step = excess(a), 4 * step
    while fb > 0 and b < 1:
        a, fa = b, fb
        b = min(b + step, 1.0)
        fb, step = excess(b), 4 * step
    if fa <= 0:
        return a, fa
    if fb > 0:
        return b, fb
    return _edge(excess, Bracket(a, fa, b, fb), near, finest / 4), 0.0
