"""Labels beside points: each where it covers least, with a thin line if it is far."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Box", "Label", "along", "place"]

LETTER, LINE = 7.0, 13.0
DISTANCES = (10.0, 20.0, 34.0, 50.0, 68.0)
# What a step away from the point costs, in square units covered.
AWAY, OUTSIDE = 2.0, 100.0
COVERED, CROSSED, LED = 20.0, 3.0, 20.0
FAR = 22.0
AIR = 6.0  # between texts side by side

Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Label:
    """Where a text stands; ``leader`` is a line to its point, if it is far."""

    text: str
    x: float
    y: float
    anchor: str
    box: Box
    leader: Box | None


def place(
    points: Sequence[Point], texts: Sequence[str], obstacles: Sequence[Box], frame: Box
) -> list[Label | None]:
    """Return a place for every text, one after the other; None where there is none.

    Parameters
    ----------
    points : sequence of (x, y)
        What is labelled.
    texts : sequence of str
        A label each; an empty one is not placed.
    obstacles : sequence of Box
        What labels should not cover.
    frame : Box
        What they should stay inside of.

    Returns
    -------
    list of Label or None

    Examples
    --------
    >>> one, two = place([(50, 50), (50, 50)], ["a", "b"], [], (0, 0, 100, 100))
    >>> one.box == two.box
    False
    """
    taken = list(obstacles)
    texts_at: list[Box] = []
    placed: list[Label | None] = []
    for point, text in zip(points, texts, strict=True):
        best = None
        if text:
            found = _candidates(point, text)
            best = min(
                found,
                key=lambda it: (
                    it[1] + _cost(it[0].box, taken, frame) + _crossed(it[0], texts_at)
                ),
            )[0]
            texts_at.append(_with_air(best.box))
            taken += [best.box, *(along(best.leader) if best.leader else ())]
        placed.append(best)
    return placed


def along(line: Box, step: float = 6.0) -> list[Box]:
    """Return small boxes along a straight line, so that labels keep off it.

    Examples
    --------
    >>> len(along((0, 0, 12, 0)))
    3
    """
    u, v, right, bottom = line
    n = max(1, math.ceil(math.hypot(right - u, bottom - v) / step))
    places = [(u + (right - u) * i / n, v + (bottom - v) * i / n) for i in range(n + 1)]
    return [(a - 2, b - 2, a + 2, b + 2) for a, b in places]


def _candidates(point: Point, text: str) -> Iterator[tuple[Label, float]]:
    """Eight directions at growing distances, each with its price."""
    wide = LETTER * len(text)
    for far in DISTANCES:
        for turn in range(8):
            dx = far * math.cos(turn * math.pi / 4)
            dy = far * math.sin(turn * math.pi / 4)
            anchor = "middle" if abs(dx) < 1 else "start" if dx > 0 else "end"
            start = {"middle": wide / 2, "start": 0.0, "end": wide}[anchor]
            x, middle = round(point[0] + dx, 1), point[1] + dy
            box = (
                x - start,
                middle - LINE / 2,
                x - start + wide,
                middle + LINE / 2,
            )
            leader = (*point, x, round(middle, 1)) if far > FAR else None
            price = AWAY * far + (LED if leader else 0.0)
            yield Label(text, x, round(middle + 4, 1), anchor, box, leader), price


def _cost(box: Box, taken: Sequence[Box], frame: Box) -> float:
    """How much of a label lies on other things, or outside, which is worse."""
    outside = max(0.0, frame[0] - box[0]) + max(0.0, box[2] - frame[2])
    outside += max(0.0, frame[1] - box[1]) + max(0.0, box[3] - frame[3])
    return OUTSIDE * outside + sum(_shared(box, other) for other in taken)


def _crossed(label: Label, texts_at: Sequence[Box]) -> float:
    """How much of other labels lies under a label, and under the line to its point."""
    steps = along(label.leader) if label.leader else []
    over = sum(_shared(label.box, box) for box in texts_at)
    return COVERED * over + CROSSED * sum(
        _shared(step, box) for step in steps for box in texts_at
    )


def _with_air(box: Box) -> Box:
    """A label with room around it: texts that touch would read as one."""
    return box[0] - AIR, box[1] - 1, box[2] + AIR, box[3] + 1


def _shared(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
