"""Error against rank gap: points, their intervals, and labels that keep apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankfair.input.errors import clipped
from rankfair.report.labels import Box, Label, along, place
from rankfair.report.scales import Scale, covering, ticks
from rankfair.report.text import round_number

__all__ = ["Dot", "Picture", "Spot", "draw"]

WIDTH, HEIGHT = 440, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 18, 28, 46
LONGEST = 34
# Points as close as this share one label.
NEAR = 6.0
# Room for a number to the left of a point with no gap.
INSET = 18


@dataclass(frozen=True)
class Dot:
    """A point to draw: rank gap and error with their intervals (NaN where unknown).

    A point with a ``number`` shows this on the paper in place of its ``label``.
    """

    gap: float
    error: float
    gap_ci_low: float = math.nan
    gap_ci_high: float = math.nan
    error_ci_low: float = math.nan
    error_ci_high: float = math.nan
    label: str = ""
    chosen: bool = False
    number: int = 0


@dataclass(frozen=True)
class Spot:
    """A point on paper: whiskers (``x1, y1, x2, y2``), name and number (0: none)."""

    x: float
    y: float
    chosen: bool
    bars: tuple[Box, ...]
    name: str
    number: int = 0

    @property
    def text(self) -> str:
        """What is written beside it."""
        return str(self.number) if self.number else self.name


@dataclass(frozen=True)
class Picture:
    """The frontier on paper."""

    spots: tuple[Spot, ...]
    labels: tuple[Label | None, ...]
    curve: str
    band: str
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
        Points that a curve joins, in its order; a band holds the intervals of their
        errors where all are known, in place of whiskers.

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
    gaps = [v for dot in dots for v in (0.0, dot.gap, dot.gap_ci_low, dot.gap_ci_high)]
    errors = [
        v for dot in dots for v in (dot.error, dot.error_ci_low, dot.error_ci_high)
    ]
    # The axis of gaps starts at no gap: that is what the reader looks for.
    x = Scale(0.0, max(covering(gaps)[1], 0.01), LEFT + INSET, WIDTH - RIGHT)
    y = Scale(*covering(errors, 0.1), HEIGHT - BOTTOM, TOP)
    band = _band(path, x, y)
    spots = tuple(
        _spot(d, () if band and i < len(path) else _bars(d, x, y), x, y)
        for i, d in enumerate(dots)
    )
    at = [(spot.x, spot.y) for spot in spots[: len(path)]]
    pieces = [(*one, *two) for one, two in itertools.pairwise(at)]
    return Picture(
        spots,
        tuple(_labels(spots, pieces)),
        "M" + "L".join(f"{u:g} {v:g}" for u, v in at) if pieces else "",
        band,
        tuple((x(v), round_number(v)) for v in ticks(x.low, x.high, 5)),
        tuple((y(v), round_number(v)) for v in ticks(y.low, y.high, 5)),
    )


def _known(dot: Dot) -> bool:
    return math.isfinite(dot.gap) and math.isfinite(dot.error)


def _spot(dot: Dot, bars: tuple[Box, ...], x: Scale, y: Scale) -> Spot:
    return Spot(x(dot.gap), y(dot.error), dot.chosen, bars, dot.label, dot.number)


def _band(path: Sequence[Dot], x: Scale, y: Scale) -> str:
    """The upper ends of the errors from left to right, and the lower ones back.

    A path that turns back would cancel the part of its band that it goes over twice.
    """
    across = sorted(path, key=lambda dot: dot.gap)
    upper = [(x(dot.gap), y(dot.error_ci_high)) for dot in across]
    lower = [(x(dot.gap), y(dot.error_ci_low)) for dot in across]
    around = [*upper, *reversed(lower)]
    if len(path) < 2 or not all(math.isfinite(v) for _, v in around):
        return ""
    return "M" + "L".join(f"{u:g} {v:g}" for u, v in around) + "Z"


def _bars(dot: Dot, x: Scale, y: Scale) -> tuple[Box, ...]:
    u, v = x(dot.gap), y(dot.error)
    across = (x.clipped(dot.gap_ci_low), v, x.clipped(dot.gap_ci_high), v)
    upright = (u, y.clipped(dot.error_ci_low), u, y.clipped(dot.error_ci_high))
    return tuple(bar for bar in (across, upright) if all(map(math.isfinite, bar)))


def _labels(spots: Sequence[Spot], curve: Sequence[Box]) -> list[Label | None]:
    """Labels that keep off points, whiskers and curve, the chosen point's first."""
    order = sorted(range(len(spots)), key=lambda i: not spots[i].chosen)
    obstacles = [(s.x - 7, s.y - 7, s.x + 7, s.y + 7) for s in spots]
    lines = [*curve, *(bar for spot in spots for bar in spot.bars)]
    obstacles += [box for line in lines for box in along(line)]
    texts = _shared_texts(spots, order)
    placed = place(
        [(spots[i].x, spots[i].y) for i in order],
        [clipped(texts[i], LONGEST) for i in order],
        obstacles,
        (LEFT + 2, TOP, WIDTH - 2, HEIGHT - BOTTOM),
    )
    found = dict(zip(order, placed, strict=True))
    return [found[i] for i in range(len(spots))]


def _shared_texts(spots: Sequence[Spot], order: Sequence[int]) -> list[str]:
    """What is written at each spot; of numbers that lie together one holds them all."""
    texts = [spot.text for spot in spots]
    groups = [[spot.number] if spot.number else [] for spot in spots]
    for rank, i in enumerate(order):
        for j in order[rank + 1 :]:
            close = math.dist((spots[i].x, spots[i].y), (spots[j].x, spots[j].y)) < NEAR
            if close and groups[i] and groups[j]:
                groups[i], groups[j] = sorted(groups[i] + groups[j]), []
                texts[i], texts[j] = ", ".join(map(str, groups[i])), ""
    return texts
