"""From values to places on the paper: straight scales with round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Scale", "around_half", "covering", "ticks"]

HALF_WIDTHS = (0.05, 0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True)
class Scale:
    """A straight line from values ``low … high`` to places ``start … end``.

    Examples
    --------
    >>> Scale(0.0, 1.0, 100, 0)(0.25)
    75.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value, rounded to what an eye can tell."""
        width = self.high - self.low
        if math.isinf(width):  # halves of the widest range do not overflow
            width = self.high / 2 - self.low / 2
            share = (value / 2 - self.low / 2) / width
        else:
            share = (value - self.low) / width
        return round(self.start + share * (self.end - self.start), 2)

    def clipped(self, value: float) -> float:
        """Return the place of a value, or of the nearest end."""
        return self(min(max(value, self.low), self.high))


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two values, near to ``about`` of them.

    Examples
    --------
    >>> ticks(0.13, 1.02)
    [0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(5.0, 5.0)
    [5.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    if math.isinf(rough):
        rough = high / about - low / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = unit * next(m for m in (1, 2, 2.5, 5, 10) if m * unit >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    # Twelve figures wash out what the product added.
    found = (float(f"{i * step:.12g}") + 0.0 for i in range(first, last + 1))
    return [value for value in found if math.isfinite(value)]


def covering(values: Iterable[float], room: float = 0.06) -> tuple[float, float]:
    """Return limits that hold all finite values and a little room.

    Examples
    --------
    >>> covering([1.0, 2.0, float("nan")], room=0.1)
    (0.9, 2.1)
    >>> covering([3.0])
    (2.5, 3.5)
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    width = high - low
    # One value, or values that differ by rounding, still need a line to stand on.
    margin = room * width if width > 1e-9 * max(abs(low), abs(high)) else 0.5
    if not math.isfinite(high + margin - (low - margin)):
        return low, high
    return low - margin, high + margin


def around_half(values: Iterable[float]) -> tuple[float, float]:
    """Return limits with a half in the middle that hold all AUCs given.

    Examples
    --------
    >>> around_half([0.46, 0.58])
    (0.4, 0.6)
    """
    finite = [abs(value - 0.5) for value in values if math.isfinite(value)]
    most = max(finite, default=0.0)
    width = next((w for w in HALF_WIDTHS if most <= w), HALF_WIDTHS[-1])
    return round(0.5 - width, 3), round(0.5 + width, 3)
