"""Sums over the rows of every task that can be added up chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankfair.blocks import Floats, Ints, batches_of, sorted_by_task
from rankfair.engines.chunk import Chunk, taken

__all__ = ["Sorted", "Summary", "pieces", "summarise"]

PIECE = 1 << 19  # numbers a summary of some rows may have, within the cache


@dataclass(frozen=True)
class Summary:
    """Of each task: rows, weight, means, and sums of products about the means."""

    tasks: Ints  # (t,) the tasks that have rows here
    rows: Ints  # (t,)
    weight: Floats  # (t,)
    centre: Floats  # (t, n) mean row
    mean_y: Floats  # (t,)
    gram: Floats  # (t, n, n)
    cross: Floats  # (t, n)  Σ s (x − mean)(y − mean)
    yy: Floats  # (t,)  Σ s (y − mean)²
    group: Floats  # (4,) weight of A and of B, and their weights squared
    target: Floats  # (2,) group sums of s·y: A and B
    edge: Floats  # (2,) least and greatest y
    kind: Floats  # (1,) of weights: 0 none, 1 whole, 2 others

    @classmethod
    def empty(cls, n_tasks: int, n_features: int) -> Summary:
        """Of no rows, with a place for every task."""
        k, n = n_tasks, n_features
        return cls(
            np.arange(k),
            np.zeros(k, np.int64),
            np.zeros(k),
            np.zeros((k, n)),
            np.zeros(k),
            np.zeros((k, n, n)),
            np.zeros((k, n)),
            np.zeros(k),
            np.zeros(4),
            np.zeros(2),
            np.array([np.inf, -np.inf]),
            np.zeros(1),
        )

    @property
    def whole(self) -> bool:
        """Whether all weights are whole, so that they mean repeated rows."""
        few = float(self.group[:2].sum()) < 1 << 30
        return bool(self.kind[0] == 0 or (self.kind[0] == 1 and few))

    def add(self, other: Summary) -> None:
        """Take the rows of ``other`` in, in place; this one has all tasks.

        With ``f = s₁s₂ / (s₁ + s₂)`` and ``d`` the difference of the means, the sum of
        products about the common mean is that of both parts and ``f d dᵀ``.
        """
        at = other.tasks
        old, new = self.weight[at], other.weight
        total = old + new
        share = np.divide(new, total, out=np.zeros_like(total), where=total > 0)
        f = old * share
        d, e = other.centre - self.centre[at], other.mean_y - self.mean_y[at]
        shift = (f[:, None] * d)[:, :, None] * d[:, None, :]
        shift += other.gram
        self.gram[at] += shift
        self.cross[at] += other.cross + (f * e)[:, None] * d
        self.yy[at] += other.yy + f * e * e
        self.centre[at] += share[:, None] * d
        self.mean_y[at] += share * e
        self.weight[at] = total
        self.rows[at] += other.rows
        self.group[:] += other.group
        self.target[:] += other.target
        self.edge[0] = min(self.edge[0], other.edge[0])
        self.edge[1] = max(self.edge[1], other.edge[1])
        self.kind[:] = np.maximum(self.kind, other.kind)


@dataclass(frozen=True)
class Sorted:
    """Rows by task: the tasks that occur by size, their sizes, and the rows in order.

    Rows of one task stay in the order in which they came.
    """

    tasks: Ints
    sizes: Ints
    order: Ints

    @classmethod
    def of(cls, codes: Ints) -> Sorted:
        """Sort the rows of a chunk."""
        tasks, own = own_codes(codes)
        order, places, sizes = sorted_by_task(own, len(tasks))
        return cls(tasks[places], sizes, order)

    @property
    def starts(self) -> Ints:
        """Where each task begins."""
        found: Ints = np.cumsum(self.sizes) - self.sizes
        return found


def summarise(chunk: Chunk, by_task: Sorted) -> Summary:
    """The sums of one chunk, for the tasks that have rows in it.

    With ``z = (x, y, 1)`` of every row, less the first row of its task so that no digit
    is lost, one product ``Σ s z zᵀ`` a task holds them all.
    """
    n, w = len(chunk.columns), chunk.weights
    first = taken(chunk, by_task.order[by_task.starts])
    P = _products(chunk, by_task)
    weight = P[:, -1, -1].copy()
    over = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
    d = P[:, -1, :-1] * over[:, None]
    P = P[:, :-1, :-1] - (weight[:, None] * d)[:, :, None] * d[:, None, :]
    a = chunk.in_a.astype(float)
    s = np.ones(len(chunk)) if w is None else w
    y = chunk.y if w is None else chunk.y * w
    return Summary(
        tasks=by_task.tasks,
        rows=by_task.sizes,
        weight=weight,
        centre=first.rows() + d[:, :n],
        mean_y=first.y + d[:, n],
        gram=P[:, :n, :n],
        cross=P[:, :n, n],
        yy=P[:, n, n],
        group=np.array([a @ s, (1 - a) @ s, a @ (s * s), (1 - a) @ (s * s)]),
        target=np.array([a @ y, (1 - a) @ y]),
        edge=np.array([chunk.y.min(initial=np.inf), chunk.y.max(initial=-np.inf)]),
        kind=np.array([0.0 if w is None else 1.0 + (w != np.rint(w)).any()]),
    )


def _products(chunk: Chunk, by_task: Sorted) -> Floats:
    """``Σ s z zᵀ`` of every task: (t, n + 2, n + 2)."""
    n, order, w = len(chunk.columns), by_task.order, chunk.weights
    Z = chunk.rows(chunk.y, np.ones(len(chunk))).take(order, axis=0, mode="clip")
    out = np.empty((len(by_task.tasks), n + 2, n + 2))
    for rows, places, size in batches_of(by_task.sizes):
        Z3 = Z[rows].reshape(-1, size, n + 2)
        start = Z3[:, :1].copy()
        start[:, :, -1] = 0.0
        Z3 -= start
        Z3t = Z3.transpose(0, 2, 1)
        if w is not None:
            Z3t = Z3t * w[order[rows]].reshape(-1, 1, size)
        np.matmul(Z3t, Z3, out=out[places])
    return out


def pieces(chunk: Chunk, n_tasks: int) -> Iterator[Chunk]:
    """The chunk, or parts of it where a sum for each of its tasks would be large."""
    most = PIECE // (len(chunk.columns) + 2) ** 2 + 1
    if min(n_tasks, len(chunk)) <= most:
        yield chunk
        return
    for start in range(0, len(chunk), most):
        yield taken(chunk, slice(start, start + most))


def own_codes(codes: Ints) -> tuple[Ints, Ints]:
    """The tasks that occur, ascending, and the rows' places among them."""
    if not len(codes):
        return np.zeros(0, np.intp), codes
    if codes.max() > 4 * len(codes):
        tasks, own = np.unique(codes, return_inverse=True)
        return tasks, own
    there = np.bincount(codes) > 0
    tasks = np.flatnonzero(there)
    if len(tasks) == len(there):
        return tasks, codes
    return tasks, (np.cumsum(there) - 1)[codes]
