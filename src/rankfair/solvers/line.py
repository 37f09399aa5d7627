"""One demand: the ``λ`` nearest to 0, of either sign, whose count is in the band."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np

from rankfair.constraints.base import ROUNDING
from rankfair.core.blocks import Floats
from rankfair.solvers.counted import CLOSE, CLOSEST, Counted, Place
from rankfair.solvers.roots import Bracket, close_in, first_beyond

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
    # Counts from histograms lead to the edge; where they do not, exact ones may.
    quick = () if counted.exact_only else (counted.quick_value,)
    for value in (*quick, counted.value):
        for found in _crossings(counted, cap, sign, start, value):
            if found.inside:
                return found
    return _closest(counted, cap)


def _crossings(
    counted: Counted,
    cap: tuple[float, float],
    sign: float,
    start: float,
    value: Callable[[float], float],
) -> Iterator[Place]:
    """Places where a value that comes from above, or below, enters the band."""
    demand = counted.demand
    edge = demand.band.high if sign > 0 else demand.band.low

    @cache
    def miss(x: float) -> float:
        return sign * (value(x) - edge)

    def beyond(x: float, _: bool) -> float:
        """How far the value has to go on to the band; 0 or less beyond its edge."""
        return miss(float(x))

    for places in _windows(counted, cap, sign):
        bracket = first_beyond(beyond, places, sign * (start - edge))
        if bracket.fb > 0:
            continue
        at = close_in(beyond, bracket, partial(_enough, counted))
        yield counted.place(np.array([at.b]))
        if value != counted.value:  # a little deeper, where histograms were off
            step = CLOSE * demand.unit * (at.b - at.a) / (at.fa - at.fb)
            yield counted.place(np.array([at.b + step]))


def _enough(counted: Counted, at: Bracket) -> bool:
    """Whether the end beyond the edge is near to it, or nothing more can be had."""
    demand = counted.demand
    narrow = abs(at.b - at.a) <= CLOSE * abs(at.b)
    if narrow and counted.seen is None:  # left-out rows that tie do so by chance
        return True
    inside = at.fb >= demand.band.low - demand.band.high
    return bool(inside and (narrow or at.fb >= -2 * CLOSE * demand.unit))


def _windows(
    counted: Counted, cap: tuple[float, float], sign: float
) -> Iterator[list[float]]:
    """Places between which few rows have the edge of the band, or nearly so.

    Those nearest to 0 come first, on either side.
    """
    rough = counted.fewer()
    demand = rough.demand
    edge = demand.band.high if sign > 0 else demand.band.low
    doubt = 0.0 if rough is counted else 2 * demand.unit / np.sqrt(len(rough.q))
    last = dict.fromkeys((True, False), (0.0, sign * (rough.value(0.0) - edge)))
    for x in _probes(cap):
        (a, fa), f = last[x > 0], sign * (rough.value(x) - edge)
        if f <= doubt and fa >= -doubt:
            chord = a + (x - a) * (fa + np.array([-doubt, doubt])) / max(fa - f, doubt)
            window = np.clip(chord, min(a, x), max(a, x)) if doubt else np.array([a])
            yield sorted({*window.tolist(), x} - {0.0}, key=abs)
        last[x > 0] = x, f


def _probes(cap: tuple[float, float]) -> list[float]:
    """Places on both sides of 0, those nearest to it first."""
    shares = np.arange(1, PROBES + 1)[:, None] / PROBES
    both = (shares * np.array(cap)).ravel()
    return sorted(both[both != 0].tolist(), key=abs)


def _closest(counted: Counted, cap: tuple[float, float]) -> Place:
    """The smallest ``|λ|`` whose gap is within 0.001 of the least that is met."""
    rough = counted.fewer()

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
