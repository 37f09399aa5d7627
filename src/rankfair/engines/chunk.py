"""What is done with the rows of one chunk: pure functions, small answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import (
    Floats,
    Ints,
    SortedRows,
    rounded,
    sorted_by_task,
)
from rankfair.core.ranks import Bins

BLOCK = 4096  # rows handled at a time, within the cache


@dataclass(frozen=True)
class Chunk:
    """Some rows: features, target, task codes, group A or not, weights."""

    columns: tuple[Floats, ...]  # n of them
    y: Floats
    codes: Ints
    in_a: NDArray[np.bool_]
    weights: Floats | None
    number: int = 0  # of the partition, where chunks come back in any order

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, *more: Floats) -> Floats:
        """Features and more columns side by side: (rows, n + more)."""
        columns = (*self.columns, *more)
        out = np.empty((len(self), len(columns)))
        # Block by block, to stay in the cache.
        for start in range(0, len(self) if columns else 0, BLOCK):
            rows = slice(start, start + BLOCK)
            np.stack([each[rows] for each in columns], axis=1, out=out[rows])
        return out

    def by_task(self, *more: Floats) -> tuple[Ints, Ints, SortedRows]:
        """The tasks that occur, by size, their sizes, and their `rows`."""
        tasks, own = own_codes(self.codes)
        order, places, sizes = sorted_by_task(own, len(tasks))
        rows = SortedRows(self.rows(*more), order, sizes)
        return tasks[places], sizes, rows

    @classmethod
    def joined(cls, chunks: Iterable[Chunk]) -> Chunk:
        """All rows of some chunks, by the number of the chunk."""
        parts = sorted(chunks, key=lambda each: each.number)
        columns = zip(*(each.columns for each in parts), strict=True)
        weights = [each.weights for each in parts if each.weights is not None]
        return cls(
            tuple(map(np.concatenate, columns)),
            np.concatenate([each.y for each in parts]),
            np.concatenate([each.codes for each in parts]),
            np.concatenate([each.in_a for each in parts]),
            np.concatenate(weights) if weights else None,
        )


@dataclass(frozen=True)
class Held:
    """What is kept of a chunk: predictions ``m − x d`` along a line."""

    m: Floats
    d: Floats
    in_a: NDArray[np.bool_]
    weights: Floats | None

    def at(self, x: float) -> Floats:
        """The predictions at ``x`` of the line."""
        moved = x * self.d
        np.subtract(self.m, moved, out=moved)
        return moved

    def take(self, rows: Ints | NDArray[np.bool_]) -> Held:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Held(self.m[rows], self.d[rows], self.in_a[rows], weights)


@dataclass(frozen=True)
class LeftOut:
    """What predicts rows, with themselves and by the fits without them.

    Arrays are by code of the task; ``K`` is empty where rows cannot be left out.
    """

    centre: Floats  # (k, n)
    W: Sequence[Floats]  # of y and of the direction, (k, n + 1), at the centre
    K: Sequence[Floats]  # of y and of the direction, (k, n + 1, n + 1)
    levels: Floats  # (2,): the direction of groups B and A
    single: NDArray[np.bool_]  # (k,): tasks of one row, which are not left out
    y_centre: float
    y_unit: float
    most: float  # leverage of a row that can be left out

    @property
    def n_lines(self) -> int:
        """How many lines of a chunk are kept."""
        return 2 if self.K else 1

    def __call__(self, chunk: Chunk) -> list[Held]:
        """The line of training rows and, if there is a ``K``, that of left-out ones."""
        tasks, sizes, rows = chunk.by_task()
        W, K = ([each[tasks] for each in some] for some in (self.W, self.K))
        (m, d), H = rows.along(W, K, self.centre[None, tasks])
        weights = None if chunk.weights is None else chunk.weights[rows.order]
        in_a = chunk.in_a[rows.order]
        trained = Held(m, d, in_a, weights)
        if not self.K:
            return [trained]
        if weights is not None:
            H *= np.minimum(weights, 1.0)
        ok = (self.most > H).all(axis=0) & ~np.repeat(self.single[tasks], sizes)
        H[:, ~ok] = 0.0
        y = chunk.y[rows.order] / self.y_unit - self.y_centre
        q = (m - H[0] * y) / (1.0 - H[0])
        e = (d - H[-1] * self.levels[in_a.view(np.int8)]) / (1.0 - H[-1])
        left_out = Held(q, e, in_a, weights)
        return [trained, left_out if ok.all() else left_out.take(ok)]


@dataclass(frozen=True)
class LineSample:
    """Some of the rows that are kept, and sums over all of them in groups A and B."""

    some: Held
    sums: Floats  # (5, 2): rows, weight, its square, and Σ w m, Σ w d


def sample_of(held: Held, step: int) -> LineSample:
    """Take one row of every ``step``."""
    w = np.ones(len(held.m)) if held.weights is None else held.weights
    parts = np.ones(len(w)), w, w * w, w * held.m, w * held.d
    groups = held.in_a, ~held.in_a
    sums = np.array([[part.sum(where=group) for group in groups] for part in parts])
    return LineSample(held.take(some_of(len(w), step)), sums)


def some_of(n_rows: int, step: int) -> Ints:
    """The place of one row of every ``step``, at random: rows may come in a pattern."""
    starts = np.arange(0, n_rows, step)
    at = starts + np.random.default_rng(0).integers(0, step, len(starts))
    found: Ints = at[at < n_rows]
    return found


def histograms(
    held: Held, xs: Sequence[float], bins: Sequence[Bins], resolution: float
) -> NDArray[Any]:
    """How much of A and of B each of the bins holds at each ``x``, one after another.

    Where a bin is for one value alone, values are `rounded` to a resolution first.
    """
    found: list[NDArray[Any]] = []
    for x, own in zip(xs, bins, strict=True):
        m = held.at(x) if own.ties is None else rounded(held.at(x), resolution)
        found += own.count_both(m, held.in_a, held.weights)
    return np.concatenate(found)


def own_codes(codes: Ints) -> tuple[Ints, Ints]:
    """The tasks that occur, ascending, and the rows' places among them."""
    if len(codes) and codes.max() > 16 * len(codes):
        tasks, own = np.unique(codes, return_inverse=True)
        return tasks, own
    there = np.bincount(codes) > 0
    places = np.cumsum(there, dtype=np.int32) - 1
    return np.flatnonzero(there), places.take(codes)
