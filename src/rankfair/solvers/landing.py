"""Finding the multiplier at which a count enters its band."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rankfair.balances import Band

MAX_COUNTS = 100
GROWTH = 4.0
SAME = 1e-7  # of a multiplier: places closer than this are one place


class Landing(NamedTuple):
    """A place, what was counted there, and how far outside the band that is."""

    x: float
    value: float
    miss: float

    @property
    def inside(self) -> bool:
        """Whether the value lies in the band."""
        return self.miss == 0


def land(
    count: Callable[[float], float],
    band: Band,
    tolerance: float,
    start: Landing,
    first: float,
    limit: float,
    precision: float | None = None,
) -> Landing:
    """Walk from ``start``, outside the band, until ``count(x)`` is just inside it.

    ``count`` is a step function and need not be monotone.  Steps grow from ``first``
    until the edge facing ``start`` is passed or ``limit`` is reached; the bracket then
    shrinks by regula falsi (Illinois), halved outright whenever that is slow, down to
    neighbouring floats.  Returns the value nearest the edge, or else the closest miss.

    The aim is half a ``tolerance`` inside the band, and any value as near to the aim
    will do; with ``precision`` only one half that near, or a bracket so short that it
    is one place, and the nearest is returned.
    """
    enough = (tolerance if precision is None else precision) / 2
    sign = 1.0 if start.miss > 0 else -1.0
    edge = band.high if start.miss > 0 else band.low
    aim = edge - sign * tolerance / 2
    goal = edge if precision is None else aim
    best = start

    def probe(x: float) -> float:
        nonlocal best
        value = count(x)
        best = _better(best, Landing(x, value, band.miss(value)), goal)
        return sign * (value - aim)

    near, height, step = start.x, sign * (start.value - aim), first
    for i in range(MAX_COUNTS):
        far = near + step
        depth = probe(far)
        if abs(depth) <= enough and best.inside:
            return best
        if depth < 0:
            short = 0.0 if precision is None else SAME * abs(far)
            return _narrow(probe, near, height, far, depth, enough, short, lambda: best)
        if abs(far - start.x) >= abs(limit):
            return best
        fall = height - depth
        # Once, a little past where the slope leads; then in growing steps.
        secant = 1.25 * step * depth / fall if fall > depth / 4 else 0.0
        near, height = far, depth
        step = secant if i == 0 and secant else first * GROWTH**i
    return best


def _narrow(
    probe: Callable[[float], float],
    near: float,
    height: float,
    far: float,
    depth: float,
    enough: float,
    short: float,
    best: Callable[[], Landing],
) -> Landing:
    """Shrink ``[near, far]`` with ``height ≥ 0 > depth`` until a value settles.

    It ends where the bracket is ``short``, too.
    """
    slow = 0
    for i in range(MAX_COUNTS):
        width = abs(far - near)
        if width <= short:
            break
        part = height / (height - depth)
        if i == 0:  # a little past the secant, so that the next bracket is short
            part = min(1.25 * part, 0.5) if part < 0.5 else max(1.25 * part - 0.25, 0.5)
        x = near + (far - near) * (part if slow < 3 else 0.5)
        if x in (near, far):
            x = near + (far - near) / 2
        if x in (near, far):
            break
        h = probe(x)
        if abs(h) <= enough and best().inside:
            break
        if h >= 0:
            near, height, depth = x, h, depth if slow == 0 else depth / 2
        else:
            far, depth, height = x, h, height if slow == 0 else height / 2
        slow = slow + 1 if abs(far - near) > width / 2 else 0
    return best()


def _better(old: Landing, new: Landing, goal: float) -> Landing:
    """The smaller miss; of two inside, the one nearer the goal."""
    if old.inside and new.inside:
        return new if abs(new.value - goal) < abs(old.value - goal) else old
    return new if abs(new.miss) < abs(old.miss) else old
