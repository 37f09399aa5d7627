"""Counting in every task at once: 2U and densities of rows that lie task by task."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Batch, Blocks, Ints, batches_of, each_batch
from rankfair.problem import Groups

Floats = NDArray[np.float64]
Array = NDArray[Any]

APART = 64.0  # kernel widths from the mean beyond which a value counts as that far


@dataclass(frozen=True)
class Segments:
    """Rows sorted by task, tasks by size, with the group and weight of each row.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.array([True, False, True, True, False])
    >>> two = Segments.of(np.array([2, 3]), Groups(in_a))
    >>> two.twice_u(np.array([1.0, 0.0, 5.0, 3.0, 5.0])).tolist()
    [2, 1]
    """

    batches: tuple[Batch, ...]
    sizes: Ints  # (k,)
    groups: Groups
    starts: Ints = field(repr=False)  # (k,), the first row of each task
    filled: NDArray[np.bool_] = field(repr=False)  # (k,), whether there is a row

    @classmethod
    def of(cls, sizes: Ints, groups: Groups) -> Segments:
        """The segments of these ascending sizes."""
        batches = tuple(batches_of(sizes))
        return cls(batches, sizes, groups, np.cumsum(sizes) - sizes, sizes > 0)

    @classmethod
    def of_blocks(cls, blocks: Blocks, groups: Groups) -> Segments:
        """The tasks of sorted rows."""
        return cls.of(blocks.sizes, groups)

    def total(self, values: Array) -> Array:
        """The sum of the values of each task: (k,), whole numbers if they are."""
        out = np.zeros(len(self.sizes), np.result_type(values, np.int64))
        if self.filled.any():
            at = self.starts[self.filled]
            out[self.filled] = np.add.reduceat(values, at, dtype=out.dtype)
        return out

    def each_row(self, of_tasks: Array) -> Array:
        """The number of its task for each row: (k,) to (N,)."""
        return np.repeat(of_tasks, self.sizes)

    @cached_property
    def weights(self) -> Array:
        """What each row weighs, whole where that is so."""
        if self.groups.weights is None:
            return np.ones(len(self.groups.in_a), np.int64)
        return self.groups.weights

    @cached_property
    def whole(self) -> bool:
        """Whether pairs are counted in whole numbers."""
        return self.weights.dtype.kind == "i"

    @cached_property
    def total_a(self) -> Array:
        """How many rows, or how much weight, group A has in each task."""
        return self.total(self.weights * self.groups.in_a)

    @cached_property
    def total_b(self) -> Array:
        """How many rows, or how much weight, group B has in each task."""
        return self.total(self.weights * ~self.groups.in_a)

    @cached_property
    def both(self) -> NDArray[np.bool_]:
        """Which tasks have rows of both groups."""
        found: NDArray[np.bool_] = (self.total_a > 0) & (self.total_b > 0)
        return found

    @cached_property
    def pair(self) -> Array:
        """What one pair weighs in each task, as in ``Groups.pair``."""
        if self.whole:
            return np.ones(len(self.sizes), np.int64)
        squares, in_a = self.weights * self.weights, self.groups.in_a
        out = np.ones(len(self.sizes))
        of_a = self.total(squares * in_a)[self.both] / self.total_a[self.both]
        out[self.both] = of_a * self.total(squares * ~in_a)[self.both]
        out[self.both] /= self.total_b[self.both]
        return out

    def order(self, m: Floats) -> Ints:
        """The rows by task and, within a task, by value."""
        out = np.empty(len(m), np.intp)

        def fill(batch: Batch) -> None:
            rows, places, size = batch
            if size:
                index = np.argsort(m[rows].reshape(-1, size), axis=1)
                index += self.starts[places][:, None]
                out[rows] = index.ravel()

        each_batch(fill, self.batches)
        return out

    def twice_u(self, m: Floats) -> Array:
        """2U of A over B in every task: (k,), integers where weights are whole.

        Equal values of a task form a *run*; A's weight in a run stands above B's weight
        in earlier runs and ties with B's in its own.
        """
        order = self.order(m)
        value, above = m[order], self.groups.in_a[order]
        w = self.weights if self.groups.weights is None else self.weights[order]
        a, b = w * above, w * ~above
        new = np.ones(len(m), bool)
        np.not_equal(value[1:], value[:-1], out=new[1:])
        new[self.starts[self.filled]] = True
        runs = np.flatnonzero(new)
        if len(runs) < len(m):
            a, b = np.add.reduceat(a, runs), np.add.reduceat(b, runs)
        runs_of = self.total(new)
        within = Segments(
            (), runs_of, self.groups, np.cumsum(runs_of) - runs_of, self.filled
        )
        before = np.cumsum(b) - b
        first = np.zeros(len(self.sizes), before.dtype)
        first[self.filled] = before[within.starts[self.filled]]
        before -= within.each_row(first)
        return within.total(a * (2 * before + b))

    def spread(self, m: Floats) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of each task: (k,) and (k,)."""
        w = self.weights
        count = np.maximum(self.total(w), 1e-300)
        mean = self.total(w * m) / count
        off = m - self.each_row(mean)
        return mean, np.sqrt(self.total(w * off * off) / count)

    def densities(self, m: Floats, width: Floats) -> Floats:
        """At every row, the density of the other group in its task: (N,).

        The kernel is Epanechnikov's, ``¾ (1 − u²)``, with the standard deviation
        ``width`` of each task, so that sums over a window come from running totals of
        ``1, v, v²``: exact, and one sort whatever the sizes of tasks.
        """
        reach = np.sqrt(5.0) * width
        mean = self.spread(m)[0]
        unit = self.each_row(np.where(reach > 0, reach, 1.0))
        v = np.clip((m - self.each_row(mean)) / unit, -APART, APART)
        order = self.order(v)
        v, above = v[order], self.groups.in_a[order]
        w = self.weights[order]
        key = v + self.each_row(4.0 * APART * np.arange(len(self.sizes)))
        low, high = np.searchsorted(key, key - 1), np.searchsorted(key, key + 1)
        found = np.empty(len(m))
        for rows, others in ((above, ~above), (~above, above)):
            at = np.flatnonzero(rows)
            here, i, j = v[at], low[at], high[at]
            sums = [w * others, w * others * v, w * others * v * v]
            s0, s1, s2 = (_between(s, i, j) for s in sums)
            found[order[at]] = s0 * (1 - here * here) + 2 * here * s1 - s2
        found *= 0.75 / unit
        of_a, of_b = self.each_row(self.total_a), self.each_row(self.total_b)
        rivals = np.where(self.groups.in_a, of_b, of_a)
        out: Floats = np.maximum(found, 0.0) / np.maximum(rivals, 1e-300)
        return out


def _between(values: Array, low: Ints, high: Ints) -> Array:
    """The sums of ``values[low:high]``."""
    running = np.concatenate(([0], np.cumsum(values)))
    out: Array = running[high] - running[low]
    return out
