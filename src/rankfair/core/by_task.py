"""Counting in every task at once: 2U of rows that lie task by task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Batch, Ints, batches_of, runs, share_out
from rankfair.core.problem import Groups

Floats = NDArray[np.float64]
Array = NDArray[Any]


@dataclass(frozen=True)
class Segments:
    """Rows sorted by task, tasks by size, with the group and weight of each row.

    Every task has a row.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.array([True, False, True, True, False])
    >>> two = Segments(np.array([2, 3]), Groups(in_a))
    >>> two.twice_u(np.array([1.0, 0.0, 5.0, 3.0, 5.0])).tolist()
    [2, 1]
    """

    sizes: Ints  # (k,), ascending
    groups: Groups

    @cached_property
    def starts(self) -> Ints:
        """The first row of each task: (k,)."""
        return np.cumsum(self.sizes) - self.sizes

    def total(self, values: Array) -> Array:
        """The sum of the values of each task: (k,), whole numbers if they are."""
        kind = np.result_type(values, np.int64)
        return np.add.reduceat(values, self.starts, dtype=kind)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Tasks of one size, side by side."""
        return tuple(batches_of(self.sizes))

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

        def fill(batches: Sequence[Batch]) -> None:
            for rows, places, size in batches:
                index = np.argsort(m[rows].reshape(-1, size), axis=1)
                index += self.starts[places][:, None]
                out[rows] = index.ravel()

        share_out(fill, self.batches)
        return out

    def take(self, places: Ints) -> tuple[Segments, Ints]:
        """Some of the tasks, in ascending order, and which rows are theirs."""
        sizes = self.sizes[places]
        rows = runs(self.starts[places], sizes)
        return Segments(sizes, self.groups.take(rows)), rows

    def twice_u(self, m: Floats) -> Array:
        """2U of A over B in every task: (k,), integers where weights are whole.

        Equal values of a task form a *run*; A's weight in a run stands above B's weight
        in earlier runs and ties with B's in its own.
        """
        order = self.order(m)
        above, w, v = self.groups.in_a[order], self.weights[order], m[order]
        new = np.append(True, v[1:] != v[:-1])
        new[self.starts] = True
        a, b, firsts = w * above, w * ~above, np.flatnonzero(new)
        if len(firsts) < len(m):
            a, b = np.add.reduceat(a, firsts), np.add.reduceat(b, firsts)
        within, before = Segments(self.total(new), self.groups), np.cumsum(b) - b
        before -= within.each_row(before[within.starts])
        return within.total(a * (2 * before + b))

    def means(self, m: Floats) -> Floats:
        """The mean of each task: (k,)."""
        total = np.maximum(self.total_a + self.total_b, 1e-300)
        found: Floats = self.total(self.weights * m) / total
        return found
