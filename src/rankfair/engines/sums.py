"""Sums over the rows of every task that can be added up chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import PIECE, Floats, Ints
from rankfair.engines.chunk import Chunk, some_of

SOME_ROWS = 1 << 16  # rows that are looked at for others like them


class TaskSums(NamedTuple):
    """Of some tasks: weight, means, and sums of products about the means."""

    weight: Floats  # (t,)
    centre: Floats  # (t, n) mean row
    mean_y: Floats  # (t,)
    gram: Floats  # (t, n, n)  Σ s (x − mean)(x − mean)ᵀ
    cross: Floats  # (t, n)  Σ s (x − mean)(y − mean)
    yy: Floats  # (t,)  Σ s (y − mean)²
    weight_a: Floats  # (t,) of group A
    cross_a: Floats  # (t, n)  Σ s (x − mean) over group A

    @classmethod
    def empty(cls, t: int, n: int) -> TaskSums:
        """Of no rows."""
        shapes = (t,), (t, n), (t,), (t, n, n), (t, n), (t,), (t,), (t, n)
        return cls(*map(np.zeros, shapes))

    def at(self, tasks: Ints | slice) -> TaskSums:
        """Those of some tasks."""
        return TaskSums(*(each[tasks] for each in self))

    def add(self, at: Ints | slice, new: TaskSums) -> None:
        """Add further rows of some tasks, in place.

        With ``f = s₁s₂ / (s₁ + s₂)`` and ``d`` the difference of the means, the sum of
        products about the common mean is that of both parts and ``f d dᵀ``.
        """
        old = self.at(at)
        total = old.weight + new.weight
        share = np.divide(new.weight, total, out=np.zeros_like(total), where=total > 0)
        f = old.weight * share
        d, e = new.centre - old.centre, new.mean_y - old.mean_y
        fd = f[:, None] * d
        gram = np.einsum("kf,kg->kfg", fd, d)
        gram += new.gram
        gram += old.gram
        self.gram[at] = gram
        self.cross[at] = old.cross + (e[:, None] * fd + new.cross)
        self.yy[at] = old.yy + (f * e * e + new.yy)
        # Sums about a mean that moved by ``share d`` change by that for each row of A.
        cross_a = old.cross_a + new.cross_a
        cross_a += (new.weight_a * (1.0 - share))[:, None] * d
        cross_a -= (old.weight_a * share)[:, None] * d
        self.cross_a[at] = cross_a
        self.weight_a[at] = old.weight_a + new.weight_a
        self.centre[at] = old.centre + share[:, None] * d
        self.mean_y[at] = old.mean_y + share * e
        self.weight[at] = total


@dataclass(frozen=True)
class RowSums:
    """Sums over some rows: of every task, of the groups, and of all."""

    by_task: TaskSums
    rows: Ints  # (k,)
    times: Floats  # (k,) rows, each as often as it weighs and at least once
    groups: Floats  # (3, 2) of A and B: Σ s, Σ s² and Σ s y
    most: Floats  # (3,) of y, of −y, and of what weights are: 0 none, 1 whole, 2 others
    step: int  # one row of so many is looked at for others like it
    keys: list[Floats]  # of these rows: alike if they share task and predictors
    in_a: list[NDArray[np.bool_]]  # whether they are in A

    @classmethod
    def empty(cls, n_tasks: int, n_features: int, n_rows: int) -> RowSums:
        """Of no rows, with a place for every task and so many rows to come."""
        return cls(
            TaskSums.empty(n_tasks, n_features),
            np.zeros(n_tasks, np.int64),
            np.zeros(n_tasks),
            np.zeros((3, 2)),
            np.array([-np.inf, -np.inf, 0.0]),
            max(1, n_rows // SOME_ROWS),
            [],
            [],
        )

    @classmethod
    def of(
        cls, n_tasks: int, n_features: int, n_rows: int, chunks: Iterable[Chunk]
    ) -> RowSums:
        """Of some chunks; ``n_rows`` are those of all chunks there are."""
        total = cls.empty(n_tasks, n_features, n_rows)
        for chunk in chunks:
            total.take(chunk)
        return total

    @property
    def whole(self) -> bool:
        """Whether all weights are whole, so that they mean repeated rows."""
        few = float(self.groups[0].sum()) < 1 << 30
        return bool(self.most[2] == 0 or (self.most[2] == 1 and few))

    @property
    def edge(self) -> Floats:
        """The least and the greatest y: (2,)."""
        return np.array([-self.most[1], self.most[0]])

    def take(self, chunk: Chunk) -> None:
        """Add the rows of a chunk, in place."""
        for tasks, sums in _by_task(chunk):
            self.by_task.add(tasks, sums)
        y, w, k = chunk.y, chunk.weights, len(self.rows)
        s = np.ones(len(chunk)) if w is None else w
        kind = 0.0 if w is None else 1.0 + (w != np.rint(w)).any()
        a = chunk.in_a.astype(float)
        self.rows[:] += np.bincount(chunk.codes, minlength=k)
        self.times[:] += np.bincount(chunk.codes, np.maximum(s, 1.0), k)
        self.groups[:] += [[part @ a, part @ (1 - a)] for part in (s, s * s, s * y)]
        most = y.max(initial=-np.inf), -y.min(initial=np.inf), kind
        np.maximum(self.most, most, out=self.most)
        some = some_of(len(chunk), self.step)
        self.keys.append(_keys(chunk, some))
        self.in_a.append(chunk.in_a[some])

    def add(self, other: RowSums) -> None:
        """Add those of other rows, in place, some tasks at a time."""
        k, n = other.by_task.centre.shape
        step = PIECE // (n * n) + 1
        for first in range(0, k, step):
            own = slice(first, first + step)
            self.by_task.add(own, other.by_task.at(own))
        self.rows[:] += other.rows
        self.times[:] += other.times
        self.groups[:] += other.groups
        np.maximum(self.most, other.most, out=self.most)
        self.keys.extend(other.keys)
        self.in_a.extend(other.in_a)

    def alike(self) -> tuple[float, float]:
        """The share of rows like others, and of pairs of A and B that are alike.

        Both are estimates from some of the rows.
        """
        in_a = np.concatenate(self.in_a)
        _, ids, rows = np.unique(
            np.concatenate(self.keys), return_inverse=True, return_counts=True
        )
        a = np.bincount(ids, in_a)
        pairs = float(a @ (rows - a)) / max(float(a.sum() * (~in_a).sum()), 1.0)
        return float(rows[rows > 1].sum() / len(in_a)), pairs


def _by_task(chunk: Chunk) -> Iterator[tuple[Ints, TaskSums]]:
    """The sums of a chunk, some tasks of one size at a time.

    Each task is in one of them, so that no sum has to be found twice, and tasks of one
    size ascend, so that what is added to lies in the order in which it is met.
    """
    tasks, _, rows = chunk.by_task(chunk.y)
    w = None if chunk.weights is None else chunk.weights[rows.order]
    in_a = chunk.in_a[rows.order]
    for at, found in rows.products(rows.batches, w, [in_a]):
        mean, P, cross, sums = found.centred()[0], *found[1:]
        x, y = mean[:, :-1], mean[:, -1]
        gram, xy, yy = P[:, :-1, :-1], P[:, :-1, -1], P[:, -1, -1]
        of_a = sums[:, 0, -1], cross[:, 0, :-1]
        yield tasks[at], TaskSums(sums[:, -1, -1], x, y, gram, xy, yy, *of_a)


def _keys(chunk: Chunk, some: Ints) -> Floats:
    """A number for task and predictors of some rows, the same for rows alike."""
    ways = np.random.default_rng(0).uniform(1.0, 2.0, len(chunk.columns) + 1)
    keys: Floats = ways[-1] * chunk.codes[some]
    for way, column in zip(ways[:-1], chunk.columns, strict=True):
        keys += way * column[some]
    return keys
