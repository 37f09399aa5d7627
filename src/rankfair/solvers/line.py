"""One demand: the ``λ`` nearest to 0, of either sign, whose count is in the band.

The line itself, ``m₀ − λ d``, is made in `tilt`.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import partial

import numpy as np

from rankfair.constraints.base import ROUNDING
from rankfair.constraints.rank import EXACT_ROWS
from rankfair.core.blocks import Floats
from rankfair.solvers.counted import CLOSE, CLOSEST, Counted, Place
from rankfair.solvers.roots import Bracket, close_in

MANY_PAIRS = 10.0  # in half pairs: a distance in which counts hardly move in steps
PROBES = 16  # of the first look along the line, on either side of 0


def nearest(counted: Counted, cap: tuple[float, float]) -> Place:
    """The ``λ`` nearest to 0, of either sign, whose exact count is in the band.

    ``cap`` are the ends of the search.  Where no count between them is in the band, the
    smallest ``|λ|`` whose gap is nearly the least is returned.
    """
    band, start = counted.demand.band, counted.quick_value(0.0)
    if band.miss(start) == 0:
        free = counted.place(np.zeros(1))
        if free.inside:
            return free
        (start,) = free.values
    sign, edge = (1.0, band.high) if band.miss(start) > 0 else (-1.0, band.low)
    if counted.linear:
        answer = start - counted.value(1.0)
        x = (start - edge + sign * ROUNDING) / answer if answer else np.inf
        if cap[0] <= x <= cap[1]:
            return counted.place(np.array([x]))
        return _closest(counted, cap)
    for rows in counted.looks():
        tried = False
        for bracket in _brackets(rows, counted, cap, sign):
            tried = True
            # Some rows say where the edge may be crossed, not that it is.  KS, unlike
            # an AUC, may fall below it and rise again before the end.
            if rows is not counted and counted.demand.constraint.pairs:
                end = counted.quick_value(float(bracket.b))
                if sign * (end - edge) > 0:
                    continue
            for found in _crossings(counted, bracket, sign):
                if found.inside:
                    return found
        if not tried:
            break
    return _closest(counted, cap)


def _crossings(counted: Counted, at: Bracket, sign: float) -> Iterator[Place]:
    """Places in a bracket where the value, coming from outside, enters the band."""
    demand, places = counted.demand, dict[float, Place]()
    low, high = demand.band
    edge = high if sign > 0 else low
    enough = partial(_enough, counted)
    # A little deeper than the edge, since histograms are a little off.
    deep = min(CLOSE * demand.unit, high - low) / 2

    def exact(x: float, _: bool) -> float:
        places[x] = counted.place(np.array([x]))
        return sign * (places[x].values[0] - edge)

    def end(bracket: Bracket) -> Place:
        x = close_in(exact, bracket, enough).b
        return places.get(x) or counted.place(np.array([x]))

    wide = copy(at)
    if deep > MANY_PAIRS:

        def beyond(x: float, _: bool) -> float:
            return sign * (counted.quick_value(float(x)) - edge) + deep

        at = close_in(beyond, at, enough)
        slope = (at.fa - at.fb) / (at.b - at.a)
        root, off = at.b + at.fb / slope, 4 * CLOSE * demand.unit
        yield end(Bracket(root - off / slope, off, root + off / slope, -off))
    # Where histograms are further off, as far from zero: by exact counts alone.
    yield end(wide)


def _enough(counted: Counted, at: Bracket) -> bool:
    """Whether the end beyond the edge is near to it, or nothing more can be had."""
    demand = counted.demand
    narrow = abs(at.b - at.a) <= CLOSE * abs(at.b)
    jump = at.fa - at.fb > 10 * CLOSE * demand.unit  # a step, not a slope
    if narrow and jump and counted.seen is None:  # left-out rows tie by chance
        return True
    inside = at.fb >= demand.band.low - demand.band.high
    return bool(inside and (narrow or at.fb >= -2 * CLOSE * demand.unit))


def _brackets(
    rows: Counted, whole: Counted, cap: tuple[float, float], sign: float
) -> Iterator[Bracket]:
    """Brackets in which the edge of the band is crossed, those nearest to 0 first.

    Where ``rows`` are some of the whole, their values are in doubt: a bracket then goes
    from where they come near the edge to where they are surely beyond it.
    """
    demand = rows.demand
    edge = demand.band.high if sign > 0 else demand.band.low
    size = whole.demand.unit / demand.unit
    doubt = 0.0 if rows is whole else 2 * demand.unit / np.sqrt(len(rows.q))
    last = dict.fromkeys((True, False), (0.0, sign * (rows.value(0.0) - edge)))
    opened: dict[bool, float] = {}
    for x in _probes(cap):
        side, (a, fa), f = x > 0, last[x > 0], sign * (rows.quick_value(x) - edge)
        if f <= doubt and (fa > doubt or not a):
            share = (fa - doubt) / (fa - f) if fa > doubt > 0 else 0.0
            opened[side] = a + share * (x - a)
        if f <= -doubt and side in opened:
            share = (fa + doubt) / (fa - f) if fa > -doubt < 0 else 1.0
            ends = (doubt, -doubt) if doubt else (fa, f)
            end = a + share * (x - a)
            yield Bracket(opened.pop(side), ends[0] * size, end, ends[1] * size)
        last[side] = x, f
    for side, start in opened.items():
        yield Bracket(start, doubt * size, last[side][0], -doubt * size)


def _probes(cap: tuple[float, float]) -> list[float]:
    """Places on both sides of 0, those nearest to it first."""
    shares = np.arange(1, PROBES + 1)[:, None] / PROBES
    both = (shares * np.array(cap)).ravel()
    return sorted(both[both != 0].tolist(), key=abs)


def _closest(counted: Counted, cap: tuple[float, float]) -> Place:
    """The smallest ``|λ|`` whose gap is within 0.001 of the least that is met."""
    rough = counted.fewer(EXACT_ROWS)

    def gaps(rows: Counted, places: Floats) -> Floats:
        return np.array([rows.demand.gap(rows.quick_value(x)) for x in places])

    places = np.array([0.0, *_probes(cap)])
    found = gaps(rough, places)
    # The least may lie between two probes.
    wide = np.linspace(-1.0, 1.0, 2 * PROBES + 1) * np.abs(cap).max() / PROBES
    near = np.clip(places[found.argmin()] + wide, *cap)
    places, found = np.append(places, near), np.append(found, gaps(rough, near))
    if rough is not counted:
        places = places[found <= found.min() + 2 / np.sqrt(len(rough.q))]
        found = gaps(counted, places)
    good = places[found <= found.min() + CLOSEST]
    return counted.place(good[[np.abs(good).argmin()]])
