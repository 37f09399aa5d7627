"""Finding every task's own multiplier at once: ``landing`` for arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]
Bools = NDArray[np.bool_]

GROWTH = 4.0
JUMP = 1e-8  # a bracket this short, as a share of x, holds a jump across the band
SLOW = 3  # steps that do not halve the bracket before it is halved outright


class Walks:
    """One walk a task from ``x = 0``, outside its band, until just inside it.

    Steps grow until the edge that faces the start is passed; the bracket then shrinks
    by regula falsi (Illinois), halved outright whenever that is slow.  ``x`` is where
    to count next, ``learn`` takes the counts.  A walk ends near the edge, in a bracket
    shorter than ``enough`` of itself with a place inside, or where floats end.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = np.zeros(2), np.ones(2)
    >>> walks = Walks(low, high, 0.1 * high, np.array([9.0, -3.0]), np.array([1.0, -1]))
    >>> while walks.open.any():
    ...     _ = walks.learn(np.array([9.0, -3.0]) - 2.0 * walks.x)
    >>> walks.best_x.round(1).tolist()
    [4.0, -1.5]
    """

    def __init__(
        self,
        low: Array,
        high: Array,
        tolerance: Array,
        value: Array,
        first: Floats,
        reach: float = 1e6,
        enough: float = 1e-6,
    ) -> None:
        self.low, self.high = low, high
        miss = self._miss(value)
        self.open: Bools = miss != 0
        self.sign = np.where(miss > 0, 1.0, -1.0)
        edge = np.where(miss > 0, high, low)
        self.edge = np.where(self.open, edge, 0.0)
        # A band narrower than the tolerance is aimed at in its middle.
        tolerance = np.where(self.open, np.minimum(tolerance, high - low), 1.0)
        self.half = tolerance / 2
        self.aim = self.edge - self.sign * self.half
        self.reach, self.enough = reach, enough
        self.best_x = np.zeros(len(value))
        self.best_value, self.best_miss = value.astype(float), np.abs(miss)
        self.near, self.far = np.zeros(len(value)), first.copy()
        self.height = self.sign * (value - self.aim)
        self.depth = np.zeros(len(value))
        self.passed = np.zeros(len(value), bool)  # from then on there is a bracket
        self.first, self.steps = first, np.zeros(len(value), int)
        self.slow = np.zeros(len(value), int)
        self.x = np.where(self.open, first, 0.0)

    def _miss(self, value: Array) -> Floats:
        out: Floats = value - np.clip(value, self.low, self.high)
        return out

    @property
    def inside(self) -> Bools:
        """Which walks have been inside their band."""
        found: Bools = self.best_miss == 0
        return found

    def learn(self, value: Array) -> Bools:
        """Take the counts at ``x``, choose the next one; which are the best so far."""
        better = self._remember(value)
        height = self.sign * (value - self.aim)
        self.open &= (np.abs(height) > self.half) | ~self.inside
        narrowing, walking = self.open & self.passed, self.open & ~self.passed
        if narrowing.any():
            self._shrink(narrowing, height)
        passed = walking & (height < 0)
        if walking.any():
            np.copyto(self.far, self.x, where=passed)
            np.copyto(self.depth, height, where=passed)
            self.passed |= passed
            self._stride(walking & ~passed, height)
        self._choose(self.open & self.passed, passed)
        return better

    def _remember(self, value: Array) -> Bools:
        """The smaller miss; of two inside, the one nearer the edge."""
        miss = np.abs(self._miss(value))
        nearer = np.abs(value - self.edge) < np.abs(self.best_value - self.edge)
        nearer &= miss + self.best_miss == 0
        better: Bools = self.open & ((miss < self.best_miss) | nearer)
        np.copyto(self.best_x, self.x, where=better)
        np.copyto(self.best_value, value, where=better)
        np.copyto(self.best_miss, miss, where=better)
        return better

    def _stride(self, on: Bools, height: Floats) -> None:
        """Walk on: once a little past where the slope leads, then in growing steps."""
        self.open[on & (np.abs(self.x) >= self.reach * np.abs(self.first))] = False
        fall = self.height - height
        falls = (height > 0) & (fall > height / 4)
        part = np.divide(height, fall, out=np.zeros_like(height), where=falls)
        secant = 1.25 * (self.x - self.near) * part
        usable = (self.steps == 0) & (secant != 0)
        step = np.where(usable, secant, self.first * GROWTH**self.steps)
        np.copyto(self.near, self.x, where=on)
        np.copyto(self.height, height, where=on)
        np.add(self.x, step, out=self.x, where=on)
        self.steps += on

    def _shrink(self, on: Bools, height: Floats) -> None:
        """Replace the end of the bracket that lies on the same side."""
        width = np.abs(self.far - self.near)
        up, down = on & (height >= 0), on & (height < 0)
        late = self.slow > 0
        np.copyto(self.near, self.x, where=up)
        np.copyto(self.height, height, where=up)
        np.divide(self.depth, 2, out=self.depth, where=up & late)
        np.copyto(self.far, self.x, where=down)
        np.copyto(self.depth, height, where=down)
        np.divide(self.height, 2, out=self.height, where=down & late)
        now = np.abs(self.far - self.near)
        np.copyto(self.slow, np.where(now <= width / 2, 0, self.slow + 1), where=on)
        size = np.maximum(np.abs(self.near), np.abs(self.far))
        done = (now <= self.enough * size) & self.inside
        done |= now <= min(self.enough, JUMP) * size
        self.open &= ~(on & done)

    def _choose(self, on: Bools, passed: Bools) -> None:
        """The next place in the bracket."""
        total = self.height - self.depth
        part = np.divide(
            self.height, total, out=np.full(len(total), 0.5), where=on & (total > 0)
        )
        if passed.any():
            # At first a little past the secant, so that the next bracket is short.
            past = np.where(
                part < 0.5,
                np.minimum(1.25 * part, 0.5),
                np.maximum(1.25 * part - 0.25, 0.5),
            )
            np.copyto(part, past, where=passed)
        part[self.slow >= SLOW] = 0.5
        x = self.near + (self.far - self.near) * part
        stuck = (x == self.near) | (x == self.far)
        if stuck.any():
            np.copyto(x, self.near + (self.far - self.near) / 2, where=stuck)
            self.open[on & ((x == self.near) | (x == self.far))] = False
        np.copyto(self.x, x, where=on & self.open)
        np.copyto(self.x, self.best_x, where=~self.open)

    def take(self, places: Array) -> Walks:
        """Some of the walks, as far as they have come."""
        some = object.__new__(Walks)
        for name, value in vars(self).items():
            kept = value[places] if isinstance(value, np.ndarray) else value
            setattr(some, name, kept)
        return some
