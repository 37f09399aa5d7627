"""Sums over the rows of every task that can be added up chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Floats, Ints, batches_of, centred
from rankfair.engines.chunk import Chunk, Sorted, some_of

__all__ = ["Summary"]

PIECE = 1 << 15  # numbers of products handled at a time, within the cache
SOME_ROWS = 1 << 16  # rows that are looked at for others like them


class Sums(NamedTuple):
    """Of some tasks: weight, means, and sums of products about the means."""

    tasks: Ints | slice
    weight: Floats  # (t,)
    centre: Floats  # (t, n) mean row
    mean_y: Floats  # (t,)
    weight_a: Floats  # (t,) of group A
    cross_a: Floats  # (t, n)  Σ s (x − mean) over group A
    products: tuple[Floats, Floats, Floats] | None  # gram, cross, yy; None: all nil


@dataclass(frozen=True)
class Summary:
    """Of each task: rows, weight, means, and sums of products about the means."""

    rows: Ints  # (k,)
    weight: Floats  # (k,)
    centre: Floats  # (k, n) mean row
    mean_y: Floats  # (k,)
    gram: Floats  # (k, n, n)
    cross: Floats  # (k, n)  Σ s (x − mean)(y − mean)
    yy: Floats  # (k,)  Σ s (y − mean)²
    weight_a: Floats  # (k,) of group A
    cross_a: Floats  # (k, n)  Σ s (x − mean) over group A
    times: Floats  # (k,) rows, each as often as it weighs and at least once
    group: Floats  # (4,) weight of A and of B, and their weights squared
    target: Floats  # (2,) group sums of s·y: A and B
    edge: Floats  # (2,) least and greatest y
    kind: Floats  # (1,) of weights: 0 none, 1 whole, 2 others
    step: int  # one row of so many is looked at for others like it
    keys: list[Floats]  # of these rows: alike if they share task and predictors
    sides: list[NDArray[np.bool_]]  # whether they are in A

    @classmethod
    def empty(cls, n_tasks: int, n_features: int, n_rows: int) -> Summary:
        """Of no rows, with a place for every task and so many rows to come."""
        k, n = n_tasks, n_features
        return cls(
            np.zeros(k, np.int64),
            np.zeros(k),
            np.zeros((k, n)),
            np.zeros(k),
            np.zeros((k, n, n)),
            np.zeros((k, n)),
            np.zeros(k),
            np.zeros(k),
            np.zeros((k, n)),
            np.zeros(k),
            np.zeros(4),
            np.zeros(2),
            np.array([np.inf, -np.inf]),
            np.zeros(1),
            max(1, n_rows // SOME_ROWS),
            [],
            [],
        )

    def without_gram(self) -> Summary:
        """The same where the products of features are somewhere else."""
        return replace(self, gram=self.gram[:0].copy())

    @property
    def whole(self) -> bool:
        """Whether all weights are whole, so that they mean repeated rows."""
        few = float(self.group[:2].sum()) < 1 << 30
        return bool(self.kind[0] == 0 or (self.kind[0] == 1 and few))

    def take(self, chunk: Chunk) -> None:
        """Take the rows of a chunk in, in place."""
        by_task = Sorted.of(chunk.codes)
        for sums in sums_of(chunk, by_task):
            self._merge(sums)
        self.rows[by_task.tasks] += by_task.sizes
        self.times[:] += _times(chunk, len(self.rows))
        a, w = chunk.in_a.astype(float), chunk.weights
        s = np.ones(len(chunk)) if w is None else w
        y = chunk.y if w is None else chunk.y * w
        b = 1 - a
        self._merge_totals(
            np.array([a @ s, b @ s, a @ (s * s), b @ (s * s)]),
            np.array([a @ y, b @ y]),
            np.array([chunk.y.min(initial=np.inf), chunk.y.max(initial=-np.inf)]),
            np.array([0.0 if w is None else 1.0 + (w != np.rint(w)).any()]),
        )
        some = some_of(len(chunk), self.step)
        self.keys.append(_keys(chunk, some))
        self.sides.append(chunk.in_a[some])

    def add(self, other: Summary) -> None:
        """Take the rows of ``other`` in, in place, some tasks at a time."""
        k, n = other.centre.shape
        step = PIECE // (n * n) + 1
        for first in range(0, k, step):
            own = slice(first, first + step)
            products = other.gram[own], other.cross[own], other.yy[own]
            self._merge(
                Sums(
                    own,
                    other.weight[own],
                    other.centre[own],
                    other.mean_y[own],
                    other.weight_a[own],
                    other.cross_a[own],
                    products,
                )
            )
        self.rows[:] += other.rows
        self.times[:] += other.times
        self._merge_totals(other.group, other.target, other.edge, other.kind)
        self.keys.extend(other.keys)
        self.sides.extend(other.sides)

    def alike(self) -> tuple[float, float]:
        """The share of rows like others, and of pairs of A and B that are alike.

        Both are estimates from some of the rows.
        """
        in_a = np.concatenate(self.sides)
        _, ids, rows = np.unique(
            np.concatenate(self.keys), return_inverse=True, return_counts=True
        )
        a = np.bincount(ids, in_a)
        pairs = float(a @ (rows - a)) / max(float(a.sum() * (~in_a).sum()), 1.0)
        return float(rows[rows > 1].sum() / len(in_a)), pairs

    def _merge(self, new: Sums) -> None:
        """Take further rows of some tasks in.

        With ``f = s₁s₂ / (s₁ + s₂)`` and ``d`` the difference of the means, the sum of
        products about the common mean is that of both parts and ``f d dᵀ``.
        """
        at = new.tasks
        centre, mean_y, old = self.centre[at], self.mean_y[at], self.weight[at]
        total = old + new.weight
        share = np.divide(new.weight, total, out=np.zeros_like(total), where=total > 0)
        f = old * share
        d, e = new.centre - centre, new.mean_y - mean_y
        fd = f[:, None] * d
        gram, cross, yy = _outer(fd, d), e[:, None] * fd, f * e * e
        if new.products is not None:
            gram += new.products[0]
            cross += new.products[1]
            yy += new.products[2]
        gram += self.gram[at]  # not in place: that would gather the sums once more
        self.gram[at] = gram
        self.cross[at] += cross
        self.yy[at] += yy
        self.centre[at] = centre + share[:, None] * d
        self.mean_y[at] = mean_y + share * e
        self.weight[at] = total
        # Sums about a mean that moved by ``share d`` change by that for each row of A.
        cross_a = self.cross_a[at] + new.cross_a
        cross_a += (new.weight_a * (1.0 - share))[:, None] * d
        cross_a -= (self.weight_a[at] * share)[:, None] * d
        self.cross_a[at] = cross_a
        self.weight_a[at] += new.weight_a

    def _merge_totals(
        self, group: Floats, target: Floats, edge: Floats, kind: Floats
    ) -> None:
        self.group[:] += group
        self.target[:] += target
        self.edge[0] = min(self.edge[0], edge[0])
        self.edge[1] = max(self.edge[1], edge[1])
        self.kind[:] = np.maximum(self.kind, kind)


def sums_of(chunk: Chunk, by_task: Sorted) -> Iterator[Sums]:
    """The sums of a chunk, some tasks of one size at a time.

    Each task is in one of them, so that no sum has to be found twice, and tasks of one
    size ascend, so that what is added to lies in the order in which it is met.
    """
    n, order, w = len(chunk.columns), by_task.order, chunk.weights
    rows = chunk.rows(chunk.y)
    for within, places, size in batches_of(by_task.sizes):
        step = PIECE // ((n + 1) * max(n + 1, size)) + 1
        for first in range(places.start, places.stop, step):
            last = min(first + step, places.stop)
            start = within.start + (first - places.start) * size
            at = order[start : start + (last - first) * size]
            Z3 = rows.take(at, axis=0, mode="clip").reshape(-1, size, n + 1)
            w3 = None if w is None else w[at].reshape(-1, size)
            a3 = chunk.in_a[at].reshape(-1, size).astype(float)
            yield _sums(by_task.tasks[first:last], Z3, w3, a3)


def _sums(tasks: Ints, Z3: Floats, w3: Floats | None, a3: Floats) -> Sums:
    """Those of rows ``(x, y)`` by task: (t, size, n + 1); ``a3`` is 1 in group A."""
    size = Z3.shape[1]
    wa3 = a3 if w3 is None else a3 * w3
    weight_a = wa3.sum(axis=1)
    weight = np.full(len(tasks), float(size)) if w3 is None else w3.sum(axis=1)
    if size == 1:
        x, none = Z3[:, 0, :-1], np.zeros((len(tasks), Z3.shape[2] - 1))
        return Sums(tasks, weight, x, Z3[:, 0, -1], weight_a, none, None)
    P = np.empty((len(Z3), Z3.shape[2], Z3.shape[2]))
    mean = centred(Z3, w3, P)
    cross_a = np.matmul(wa3[:, None, :], Z3[:, :, :-1])[:, 0]
    products = P[:, :-1, :-1], P[:, :-1, -1], P[:, -1, -1]
    return Sums(tasks, weight, mean[:, :-1], mean[:, -1], weight_a, cross_a, products)


def _keys(chunk: Chunk, some: Ints) -> Floats:
    """A number for task and predictors of some rows, the same for rows alike."""
    ways = np.random.default_rng(0).uniform(1.0, 2.0, len(chunk.columns) + 1)
    keys: Floats = ways[-1] * chunk.codes[some]
    for way, column in zip(ways[:-1], chunk.columns, strict=True):
        keys += way * column[some]
    return keys


def _times(chunk: Chunk, n_tasks: int) -> Floats:
    """The rows of every task, each as often as it weighs and at least once."""
    w = None if chunk.weights is None else np.maximum(chunk.weights, 1.0)
    return np.bincount(chunk.codes, w, n_tasks).astype(float, copy=False)


def _outer(a: Floats, b: Floats) -> Floats:
    """``a bᵀ`` of every task."""
    out: Floats = np.einsum("kf,kg->kfg", a, b)
    return out
