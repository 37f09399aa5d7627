"""Sums over the rows of every task that can be added up chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from rankfair.blocks import Blocks, Floats, Ints, sorted_by_task
from rankfair.engines.chunk import Chunk

__all__ = ["Summary", "summarise"]


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
        self.gram[at] += other.gram
        self.gram[at] += (f[:, None] * d)[:, :, None] * d[:, None, :]
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

    def arrays(self) -> dict[str, Floats | Ints]:
        """The fields by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def summarise(chunk: Chunk) -> Summary:
    """The sums of one chunk, for the tasks that have rows in it."""
    tasks, codes = own_codes(chunk.codes)
    w = chunk.weights
    order, places, sizes = sorted_by_task(codes, len(tasks))
    blocks = Blocks.in_order(chunk.X, order, places, sizes, w)
    back = np.argsort(places)  # from places to tasks
    rows = np.bincount(codes, minlength=len(tasks))
    weight: Floats = np.bincount(codes, w, len(tasks)).astype(float, copy=False)
    y = chunk.y if w is None else chunk.y * w
    mean_y: Floats = np.bincount(codes, y, len(tasks)).astype(float, copy=False)
    np.divide(mean_y, weight, out=mean_y, where=weight > 0)
    off = chunk.y - mean_y[codes]
    weighted = off if w is None else off * w
    cross = blocks.moments(weighted[order])[back, :-1]
    a, ones = chunk.in_a, np.ones(len(chunk)) if w is None else w
    return Summary(
        tasks=tasks,
        rows=rows,
        weight=weight,
        centre=(blocks.centre / blocks.unit)[back],
        mean_y=mean_y,
        gram=(blocks.gram / np.outer(blocks.unit, blocks.unit))[back],
        cross=cross / blocks.unit,
        yy=np.bincount(codes, weighted * off, len(tasks)).astype(float, copy=False),
        group=np.array(
            [
                ones.sum(where=a),
                ones.sum(where=~a),
                (ones * ones).sum(where=a),
                (ones * ones).sum(where=~a),
            ]
        ),
        target=np.array([y.sum(where=a), y.sum(where=~a)]),
        edge=np.array([chunk.y.min(initial=np.inf), chunk.y.max(initial=-np.inf)]),
        kind=np.array([0.0 if w is None else 1.0 + (w != np.rint(w)).any()]),
    )


def own_codes(codes: Ints) -> tuple[Ints, Ints]:
    """The tasks that occur, ascending, and the rows' places among them."""
    if not len(codes):
        return np.zeros(0, np.intp), codes
    if codes.max() > 4 * len(codes):
        tasks, own = np.unique(codes, return_inverse=True)
        return tasks, own
    there = np.bincount(codes) > 0
    tasks = np.flatnonzero(there)
    return tasks, (np.cumsum(there) - 1)[codes]
