"""Error against rank gap as a picture, and the placing of its labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankfair.input.errors import clipped
from rankfair.report.text import Scale, covering, round_number, ticks
from rankfair.stats.estimate import Estimate

WIDTH, HEIGHT = 440, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 18, 28, 46
LETTER, LINE, AIR = 7.0, 13.0, 6.0  # width and height of text, space between texts

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Dot:
    """A point to draw: rank gap and error with their intervals.

    A point with a ``number`` shows that instead of its ``label``.
    """

    gap: Estimate
    error: Estimate
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
        """The text beside it."""
        return str(self.number) if self.number else self.name


@dataclass(frozen=True)
class Label:
    """Where a text stands; ``leader`` is a line to its point, if it is far."""

    text: str
    x: float
    y: float
    anchor: str
    box: Box
    leader: Box | None


@dataclass(frozen=True)
class Picture:
    """Error against rank gap on paper."""

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


def draw(dots: Sequence[Dot], curve: bool = False) -> Picture | None:
    """Return error (up) against rank gap (right), or None without a finite point.

    Parameters
    ----------
    dots : sequence of Dot
        The points.
    curve : bool
        Join them, in their order.  If all intervals of their errors are known, a band
        shows them instead of whiskers.

    Returns
    -------
    Picture or None

    Examples
    --------
    >>> dots = [Dot(Estimate(0.0), Estimate(2.0)), Dot(Estimate(0.3), Estimate(1.0))]
    >>> picture = draw(dots, curve=True)
    >>> len(picture.spots), picture.curve.count("L")
    (2, 1)
    """
    dots = [dot for dot in dots if _known(dot)]
    if not dots:
        return None
    gaps = [v for d in dots for v in (0.0, d.gap.value, d.gap.ci_low, d.gap.ci_high)]
    errors = [v for d in dots for v in (d.error.value, d.error.ci_low, d.error.ci_high)]
    # The axis of gaps starts at 0.
    # The inset leaves room for a number to the left of a point with no gap.
    x = Scale(0.0, max(covering(gaps)[1], 0.01), LEFT + 18, WIDTH - RIGHT)
    y = Scale(*covering(errors, 0.1), HEIGHT - BOTTOM, TOP)
    band = _band(dots, x, y) if curve else ""
    spots = tuple(
        Spot(
            x(dot.gap.value),
            y(dot.error.value),
            dot.chosen,
            () if band else _bars(dot, x, y),
            dot.label,
            dot.number,
        )
        for dot in dots
    )
    at = [(spot.x, spot.y) for spot in spots] if curve else []
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
    return math.isfinite(dot.gap.value) and math.isfinite(dot.error.value)


def _band(path: Sequence[Dot], x: Scale, y: Scale) -> str:
    """The upper ends of the errors from left to right, and the lower ones back."""
    across = sorted(path, key=lambda dot: dot.gap.value)
    upper = [(x(dot.gap.value), y(dot.error.ci_high)) for dot in across]
    lower = [(x(dot.gap.value), y(dot.error.ci_low)) for dot in across]
    around = [*upper, *reversed(lower)]
    if len(path) < 2 or not all(math.isfinite(v) for _, v in around):
        return ""
    return "M" + "L".join(f"{u:g} {v:g}" for u, v in around) + "Z"


def _bars(dot: Dot, x: Scale, y: Scale) -> tuple[Box, ...]:
    u, v = x(dot.gap.value), y(dot.error.value)
    across = (x.clipped(dot.gap.ci_low), v, x.clipped(dot.gap.ci_high), v)
    upright = (u, y.clipped(dot.error.ci_low), u, y.clipped(dot.error.ci_high))
    return tuple(bar for bar in (across, upright) if all(map(math.isfinite, bar)))


def _labels(spots: Sequence[Spot], curve: Sequence[Box]) -> list[Label | None]:
    """Place labels away from points, whiskers and curve; the chosen point is first."""
    order = sorted(range(len(spots)), key=lambda i: not spots[i].chosen)
    obstacles = [(s.x - 7, s.y - 7, s.x + 7, s.y + 7) for s in spots]
    lines = [*curve, *(bar for spot in spots for bar in spot.bars)]
    obstacles += [box for line in lines for box in _along(line)]
    texts = _shared_texts(spots, order)
    placed = place(
        [(spots[i].x, spots[i].y) for i in order],
        [clipped(texts[i], 34) for i in order],
        obstacles,
        (LEFT + 2, TOP, WIDTH - 2, HEIGHT - BOTTOM),
    )
    found = dict(zip(order, placed, strict=True))
    return [found[i] for i in range(len(spots))]


def _shared_texts(
    spots: Sequence[Spot], order: Sequence[int], near: float = 6.0
) -> list[str]:
    """The text at each spot; numbers of spots nearer than that share one text."""
    texts = [spot.text for spot in spots]
    groups = [[spot.number] if spot.number else [] for spot in spots]
    for rank, i in enumerate(order):
        for j in order[rank + 1 :]:
            close = math.dist((spots[i].x, spots[i].y), (spots[j].x, spots[j].y)) < near
            if close and groups[i] and groups[j]:
                groups[i], groups[j] = sorted(groups[i] + groups[j]), []
                texts[i], texts[j] = ", ".join(map(str, groups[i])), ""
    return texts


def place(
    points: Sequence[Point], texts: Sequence[str], obstacles: Sequence[Box], frame: Box
) -> list[Label | None]:
    """Return a place for the text of each point; None for an empty text.

    Each label is placed where it covers least of the obstacles and of the labels before
    it, inside the frame and near its point; ``y`` grows downwards.

    Examples
    --------
    >>> one, two = place([(50, 50), (50, 50)], ["a", "b"], [], (0, 0, 100, 100))
    >>> one.box == two.box
    False
    """
    taken = list(obstacles)
    written: list[Box] = []
    placed: list[Label | None] = []
    for point, text in zip(points, texts, strict=True):
        if not text:
            placed.append(None)
            continue
        costs = {
            label: price + _cost(label, taken, written, frame)
            for label, price in _candidates(point, text)
        }
        best = min(costs, key=costs.__getitem__)
        left, top, right, bottom = best.box
        written.append((left - AIR, top - 1, right + AIR, bottom + 1))
        taken += [best.box, *(_along(best.leader) if best.leader else ())]
        placed.append(best)
    return placed


def _along(line: Box, step: float = 6.0) -> list[Box]:
    """Small boxes along a straight line, as obstacles."""
    u, v, right, bottom = line
    n = max(1, math.ceil(math.hypot(right - u, bottom - v) / step))
    places = [(u + (right - u) * i / n, v + (bottom - v) * i / n) for i in range(n + 1)]
    return [(a - 2, b - 2, a + 2, b + 2) for a, b in places]


def _candidates(point: Point, text: str) -> Iterator[tuple[Label, float]]:
    """Places in eight directions at growing distances, each with its price."""
    wide = LETTER * len(text)
    for far in (10.0, 20.0, 34.0, 50.0, 68.0):
        for turn in range(8):
            dx = far * math.cos(turn * math.pi / 4)
            dy = far * math.sin(turn * math.pi / 4)
            anchor = "middle" if abs(dx) < 1 else "start" if dx > 0 else "end"
            start = {"middle": wide / 2, "start": 0.0, "end": wide}[anchor]
            x, middle = round(point[0] + dx, 1), point[1] + dy
            left, top = x - start, middle - LINE / 2
            box = (left, top, left + wide, top + LINE)
            leader = (*point, x, round(middle, 1)) if far > 22 else None
            price = 2.0 * far + (20.0 if leader else 0.0)
            yield Label(text, x, round(middle + 4, 1), anchor, box, leader), price


def _cost(
    label: Label, taken: Sequence[Box], written: Sequence[Box], frame: Box
) -> float:
    """The area a label covers; outside the frame and over other labels it is worse."""
    left, top, right, bottom = label.box
    outside = max(0.0, frame[0] - left) + max(0.0, right - frame[2])
    outside += max(0.0, frame[1] - top) + max(0.0, bottom - frame[3])
    leader = _along(label.leader) if label.leader else []
    return (
        100.0 * outside
        + sum(_overlap(label.box, box) for box in taken)
        + 20.0 * sum(_overlap(label.box, box) for box in written)
        + 3.0 * sum(_overlap(step, box) for step in leader for box in written)
    )


def _overlap(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
