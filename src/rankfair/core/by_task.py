"""Counting in every task at once: 2U and densities of rows that lie task by task."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Batch, Blocks, Ints, batches_of, each_batch, runs
from rankfair.core.problem import Groups

Floats = NDArray[np.float64]
Array = NDArray[Any]

FEW = 1 << 12  # rows so few that picking out some of them saves nothing
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
        kind = np.result_type(values, np.int64)
        if len(self.heads) == len(self.sizes):
            return np.add.reduceat(values, self.heads, dtype=kind)
        out = np.zeros(len(self.sizes), kind)
        if len(self.heads):
            out[self.filled] = np.add.reduceat(values, self.heads, dtype=kind)
        return out

    @cached_property
    def heads(self) -> Ints:
        """The first rows of the tasks that have any."""
        return self.starts[self.filled]

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
        if self.groups.weights is None:
            return self.total(self.groups.in_a)
        return self.total(self.weights * self.groups.in_a)

    @cached_property
    def total_b(self) -> Array:
        """How many rows, or how much weight, group B has in each task."""
        if self.groups.weights is None:
            return self.sizes - self.total_a
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

    def take(self, places: Ints) -> tuple[Segments, Ints]:
        """Some of the tasks, in ascending order, and which rows are theirs."""
        sizes = self.sizes[places]
        rows = runs(self.starts[places], sizes)
        return Segments.of(sizes, self.groups.take(rows)), rows

    def twice_u(self, m: Floats) -> Array:
        """2U of A over B in every task: (k,), integers where weights are whole."""
        if self.groups.weights is not None:
            return self._by_rows(m)
        # The last bit of a value gives way to its group: a sort of values alone is
        # enough then, several times quicker than one that takes their rows along.
        v = m + 0.0  # a new array, in which −0 is 0
        bits = v.view(np.int64)
        bits &= -2
        bits |= self.groups.in_a
        self._arrange(v)
        above = bits & 1
        bits ^= above
        # Without ties U is the sum of A's places, from 0, less n_A (n_A − 1)/2.
        n_a = self.total_a
        found: Ints = 2 * self.total(above * self.positions) - n_a * (n_a - 1)
        same = self._same(v)
        if np.isnan(v[self.heads + self.sizes[self.filled] - 1]).any():
            # No last bit could be spared.
            return self._by_rows(m)
        if not same.any():
            return found
        tied = np.flatnonzero(self.total(same))
        if len(same) < FEW or 2 * len(tied) > len(self.sizes):
            return self._with_ties(found, m, v, above, same)
        some, rows = self.take(tied)
        found[tied] = some._with_ties(
            found[tied], m[rows], v[rows], above[rows], same[rows]
        )
        return found

    def _with_ties(
        self, found: Ints, m: Floats, v: Floats, above: Ints, same: NDArray[np.bool_]
    ) -> Array:
        """2U where some of the sorted values ``v`` are the ``same``.

        A run of equal ones has its rows of A last, or first below 0: ``found`` counts
        its pairs twice, or not at all, instead of once.
        """
        value = m.copy()
        self._arrange(value)
        if not np.array_equal(self._same(value), same):  # some differ in the last bit
            return self._by_rows(m)
        follows = np.append(same[1:], False)
        first, last = np.flatnonzero(follows > same), 1 + np.flatnonzero(same > follows)
        a = _between(above, first, last)
        pairs = np.where(np.signbit(v[first]), -1, 1) * a * (last - first - a)
        out = found.copy()
        np.subtract.at(out, self._tasks_of(first), pairs)
        return out

    def _by_rows(self, m: Floats) -> Array:
        """2U with ties and weights, every value with its row.

        Equal values of a task form a *run*; A's weight in a run stands above B's weight
        in earlier runs and ties with B's in its own.
        """
        order = self.order(m)
        above, w = self.groups.in_a[order], self.weights[order]
        a, b, new = w * above, w * ~above, ~self._same(m[order])
        firsts = np.flatnonzero(new)
        if len(firsts) < len(m):
            a, b = np.add.reduceat(a, firsts), np.add.reduceat(b, firsts)
        runs_of = self.total(new)
        within = Segments(
            (), runs_of, self.groups, np.cumsum(runs_of) - runs_of, self.filled
        )
        before = np.cumsum(b) - b
        first = np.zeros(len(self.sizes), before.dtype)
        first[self.filled] = before[within.heads]
        before -= within.each_row(first)
        return within.total(a * (2 * before + b))

    def _arrange(self, v: Floats) -> None:
        """Sort the values of each task, in place."""

        def fill(batch: Batch) -> None:
            if batch.size:
                v[batch.rows].reshape(-1, batch.size).sort(axis=1)

        each_batch(fill, self.batches)

    def _same(self, v: Floats) -> NDArray[np.bool_]:
        """Which of the sorted values are equal to the one before in their task."""
        same = np.zeros(len(v), bool)
        np.equal(v[1:], v[:-1], out=same[1:])
        same[self.heads] = False
        return same

    def _tasks_of(self, rows: Ints) -> Ints:
        """The places of the tasks of some rows."""
        return np.searchsorted(self.starts, rows, "right") - 1

    @cached_property
    def positions(self) -> Ints:
        """The place of each row in its task, from 0: (N,)."""
        return np.arange(len(self.groups.in_a)) - self.each_row(self.starts)

    def spread(self, m: Floats) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of each task: (k,) and (k,)."""
        w = 1.0 if self.groups.weights is None else self.weights
        count = np.maximum(self.total_a + self.total_b, 1e-300)
        mean = self.total(w * m) / count
        off = m - self.each_row(mean)
        return mean, np.sqrt(self.total(w * off * off) / count)

    def densities(self, m: Floats, width: Floats, mean: Floats | None = None) -> Floats:
        """At every row, the density of the other group in its task: (N,).

        The kernel is Epanechnikov's, ``¾ (1 − u²)``, with the standard deviation
        ``width`` of each task, so that sums over a window come from running totals of
        ``1, v, v²``: exact, and one sort whatever the sizes of tasks.  ``mean`` is that
        of each task, where it is known.
        """
        mean = self.spread(m)[0] if mean is None else mean
        reach = np.sqrt(5.0) * width
        unit = self.each_row(np.where(reach > 0, reach, 1.0))
        v = np.clip((m - self.each_row(mean)) / unit, -APART, APART)
        order = self.order(v)
        v = v[order]
        key = v + self.each_row(4.0 * APART * np.arange(len(self.sizes)))
        above = self.groups.in_a[order]
        a, b = np.flatnonzero(above), np.flatnonzero(~above)
        # Who is too far below a row of B has that row too far above: one merge a side.
        low_b, high_a = _merged(key[b] - 1, key[a])
        low_a, high_b = _merged(key[a] - 1, key[b])
        found = np.empty(len(m))
        for own, rivals, low, high in ((a, b, low_a, high_a), (b, a, low_b, high_b)):
            here, there = v[own], v[rivals]
            s0, wv = high - low, there
            if self.groups.weights is not None:
                w = self.weights[order[rivals]]
                s0, wv = _between(w, low, high), w * there
            s1, s2 = _between(wv, low, high), _between(wv * there, low, high)
            found[order[own]] = s0 * (1 - here * here) + 2 * here * s1 - s2
        found *= 0.75 / unit
        of_a, of_b = self.each_row(self.total_a), self.each_row(self.total_b)
        weight = np.where(self.groups.in_a, of_b, of_a)
        out: Floats = np.maximum(found, 0.0) / np.maximum(weight, 1e-300)
        return out


def _merged(p: Floats, q: Floats) -> tuple[Ints, Ints]:
    """How many of ``q`` lie below each ``p``, and of ``p`` not above each ``q``.

    Both are sorted.
    """
    # A stable sort of two sorted runs is a linear merge; of equal ones ``p`` is first.
    is_p = np.argsort(np.concatenate((p, q)), kind="stable") < len(p)
    of_p, of_q = np.flatnonzero(is_p), np.flatnonzero(~is_p)
    return of_p - np.arange(len(p)), of_q - np.arange(len(q))


def _between(values: Array, low: Ints, high: Ints) -> Array:
    """The sums of ``values[low:high]``."""
    running = np.zeros(len(values) + 1, values.dtype)
    np.cumsum(values, out=running[1:])
    out: Array = running[high] - running[low]
    return out
