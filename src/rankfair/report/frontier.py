"""Error against rank gap: points, their intervals, and labels that keep apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rankfair.report.scales import Scale, covering, ticks
from rankfair.report.text import clipped, round_number

__all__ = ["Dot", "Picture", "Spot", "draw"]

WIDTH, HEIGHT = 440, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 18, 28, 46
LETTER, LINE = 6.6, 13.0
LONGEST = 26


@dataclass(frozen=True)
class Dot:
    """A point to draw: rank gap and error with their limits (NaN where unknown)."""

    gap: float
    error: float
    gap_low: float = math.nan
    gap_high: float = math.nan
    error_low: float = math.nan
    error_high: float = math.nan
    label: str = ""
    chosen: bool = False


@dataclass(frozen=True)
class Spot:
    """A point on the paper; bars are lines ``x1, y1, x2, y2``, a label has a place."""

    x: float
    y: float
    chosen: bool
    bars: tuple[tuple[float, float, float, float], ...]
    label: str
    whole: str
    label_x: float
    label_y: float
    anchor: str


@dataclass(frozen=True)
class Picture:
    """The frontier on paper."""

    spots: tuple[Spot, ...]
    curve: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    base: float = HEIGHT - BOTTOM


def draw(dots: Sequence[Dot], path: Sequence[Dot] = ()) -> Picture | None:
    """Return error (up) against rank gap (right), or None without a finite point.

    Parameters
    ----------
    dots : sequence of Dot
        Points that stand alone.
    path : sequence of Dot
        Points that a curve joins, in its order.

    Returns
    -------
    Picture or None

    Examples
    --------
    >>> picture = draw([Dot(0.2, 2.0, label="shift")], [Dot(0.0, 2.0), Dot(0.3, 1.0)])
    >>> len(picture.spots), picture.curve.count("L")
    (3, 1)
    """
    path = [dot for dot in path if _known(dot)]
    dots = [*path, *(dot for dot in dots if _known(dot))]
    if not dots:
        return None
    gaps = [v for dot in dots for v in (0.0, dot.gap, dot.gap_low, dot.gap_high)]
    errors = [v for dot in dots for v in (dot.error, dot.error_low, dot.error_high)]
    # The axis of gaps starts at no gap: that is what the reader looks for.
    x = Scale(0.0, max(covering(gaps)[1], 0.01), LEFT, WIDTH - RIGHT)
    y = Scale(*covering(errors, 0.1), HEIGHT - BOTTOM, TOP)
    at = [(x(dot.gap), y(dot.error)) for dot in dots]
    spots = tuple(
        Spot(u, v, dot.chosen, _bars(dot, x, y), *label)
        for dot, (u, v), label in zip(dots, at, _labels(dots, at, x, y), strict=True)
    )
    curve = "M" + "L".join(f"{u:g} {v:g}" for u, v in at[: len(path)])
    return Picture(
        spots,
        curve if len(path) > 1 else "",
        tuple((x(v), round_number(v)) for v in ticks(x.low, x.high, 5)),
        tuple((y(v), round_number(v)) for v in ticks(y.low, y.high, 5)),
    )


def _known(dot: Dot) -> bool:
    return math.isfinite(dot.gap) and math.isfinite(dot.error)


Box = tuple[float, float, float, float]


def _bars(dot: Dot, x: Scale, y: Scale) -> tuple[Box, ...]:
    u, v = x(dot.gap), y(dot.error)
    across = (x.clipped(dot.gap_low), v, x.clipped(dot.gap_high), v)
    upright = (u, y.clipped(dot.error_low), u, y.clipped(dot.error_high))
    return tuple(bar for bar in (across, upright) if all(map(math.isfinite, bar)))


def _labels(
    dots: Sequence[Dot], at: Sequence[tuple[float, float]], x: Scale, y: Scale
) -> list[tuple[str, str, float, float, str]]:
    """Each label where it meets least of what is there, the chosen point's first."""
    taken: list[Box] = [(u - 6, v - 6, u + 6, v + 6) for u, v in at]
    taken += [_around(bar) for dot in dots for bar in _bars(dot, x, y)]
    placed = [("", "", 0.0, 0.0, "start")] * len(dots)
    for i in sorted(range(len(dots)), key=lambda i: not dots[i].chosen):
        if not dots[i].label:
            continue
        text = clipped(dots[i].label, LONGEST)
        best = min(_places(at[i], text), key=lambda it: _cost(it[0], taken))
        taken.append(best[0])
        placed[i] = (text, dots[i].label, *best[1:])
    return placed


def _around(bar: Box) -> Box:
    u, v = sorted((bar[0], bar[2])), sorted((bar[1], bar[3]))
    return u[0] - 1, v[0] - 1, u[1] + 1, v[1] + 1


def _places(
    at: tuple[float, float], text: str
) -> Iterable[tuple[Box, float, float, str]]:
    (u, v), wide = at, LETTER * len(text)
    for dx, dy in ((9, 4), (9, -9), (9, 17), (9, -22), (9, 30)):
        yield (u + dx, v + dy - LINE, u + dx + wide, v + dy), u + dx, v + dy, "start"
        yield (u - dx - wide, v + dy - LINE, u - dx, v + dy), u - dx, v + dy, "end"
    for dy in (-10, 20):
        box = (u - wide / 2, v + dy - LINE, u + wide / 2, v + dy)
        yield box, u, v + dy, "middle"


def _cost(box: Box, taken: Sequence[Box]) -> float:
    """How much of a label lies on others, or outside the frame, which is worse."""
    outside = max(0, LEFT + 2 - box[0]) + max(0, box[2] - WIDTH + 2)
    outside += max(0, TOP - box[1]) + max(0, box[3] - (HEIGHT - BOTTOM))
    return 100 * outside + sum(_shared(box, other) for other in taken)


def _shared(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
