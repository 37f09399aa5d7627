"""Rows in chunks, on disk or on other machines: only sums and tables come here.

What is done with the rows of one chunk are pure functions with small answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from operator import iadd
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import (
    CONSTANT,
    LEAST,
    PIECE,
    Blocks,
    Floats,
    Ints,
    SortedRows,
    resolution_of,
    rounded,
    sorted_by_task,
)
from rankfair.core.problem import Part, Problem, refuse_wild, scale_of, to_standard
from rankfair.core.ranks import Bins
from rankfair.engines.base import Engine, check_room

if TYPE_CHECKING:
    from rankfair.engines.labels import Coding

P = TypeVar("P")
T = TypeVar("T")

SOME_ROWS = 1 << 16  # rows that are looked at for others like them


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
        return np.stack((*self.columns, *more), axis=1)

    def by_task(self, *more: Floats) -> tuple[Ints, Ints, SortedRows]:
        """The tasks that occur, by size, their sizes, and their `rows`."""
        there = np.bincount(self.codes) > 0
        tasks, own = np.flatnonzero(there), np.cumsum(there, dtype=np.int32) - 1
        order, places, sizes = sorted_by_task(own.take(self.codes), len(tasks))
        rows = SortedRows(self.rows(*more), order, sizes)
        return tasks[places], sizes, rows

    @classmethod
    def joined(cls, chunks: Iterable[Chunk]) -> Chunk:
        """All rows of some chunks, by the number of the chunk."""
        parts = sorted(chunks, key=lambda each: each.number)
        columns = zip(*(each.columns for each in parts), strict=True)

        def whole(name: str) -> Any:
            return np.concatenate([getattr(each, name) for each in parts])

        some = parts[0].weights
        weights = None if some is None else whole("weights")
        labels = whole("codes"), whole("in_a")
        return cls(tuple(map(np.concatenate, columns)), whole("y"), *labels, weights)


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


def sample_of(held: Held, step: int) -> tuple[Held, Floats]:
    """One row of every ``step``, and sums over all rows in groups A and B: (5, 2).

    They are of rows, weight, its square, and of w m and w d.
    """
    w = np.ones(len(held.m)) if held.weights is None else held.weights
    # A product is many times faster than sums of the rows that a mask selects.
    groups = np.stack((held.in_a, ~held.in_a), axis=1).astype(float)
    sums = np.stack((np.ones(len(w)), w, w * w, w * held.m, w * held.d)) @ groups
    return held.take(some_of(len(w), step)), sums


def some_of(n_rows: int, step: int) -> Ints:
    """The place of one row of every ``step``, at random: rows may come in a pattern."""
    starts = np.arange(0, n_rows, step)
    at = starts + np.random.default_rng(0).integers(0, step, len(starts))
    found: Ints = at[at < n_rows]
    return found


def histogram(held: Held, x: float, bins: Bins, resolution: float) -> NDArray[Any]:
    """How much of A and of B each of the bins holds at ``x``: (2, bins).

    Where a bin is for one value alone, values are `rounded` to a resolution first.
    """
    m = held.at(x) if bins.ties is None else rounded(held.at(x), resolution)
    return np.stack(bins.count_both(m, held.in_a, held.weights))


# Sums


class TaskSums(NamedTuple):
    """Of some tasks: weight, means, and sums of products about the means.

    The target is the last column, after n features.
    """

    weight: Floats  # (t,)
    centre: Floats  # (t, n + 1) mean row
    products: Floats  # (t, n + 1, n + 1)  Σ s (x − mean)(x − mean)ᵀ
    weight_a: Floats  # (t,) of group A
    cross_a: Floats  # (t, n + 1)  Σ s (x − mean) over group A

    @classmethod
    def none(cls, k: int, n: int) -> TaskSums:
        """Those of no rows."""
        shapes = (k,), (k, n + 1), (k, n + 1, n + 1), (k,), (k, n + 1)
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
        d = new.centre - old.centre
        products = np.einsum("kf,kg->kfg", (old.weight * share)[:, None] * d, d)
        products += new.products
        products += old.products
        self.products[at] = products
        # Sums about a mean that moved by ``share d`` change by that for each row of A.
        cross_a = old.cross_a + new.cross_a
        cross_a += (new.weight_a * (1.0 - share))[:, None] * d
        cross_a -= (old.weight_a * share)[:, None] * d
        self.cross_a[at] = cross_a
        self.weight_a[at] = old.weight_a + new.weight_a
        self.centre[at] = old.centre + share[:, None] * d
        self.weight[at] = total


@dataclass(frozen=True)
class RowSums:
    """Sums over some rows: of every task, of the groups, and of all."""

    by_task: TaskSums
    times: Floats  # (k,) rows, each as often as it weighs and at least once
    groups: Floats  # (3, 2) of A and B: Σ s, Σ s² and Σ s y
    most: Floats  # (3,) of y, of −y, and of what weights are: 0 none, 1 whole, 2 others
    step: int  # one row of so many is looked at for others like it
    keys: list[Floats]  # of these rows: alike if they share task and predictors
    in_a: list[NDArray[np.bool_]]  # whether they are in A

    @classmethod
    def of(cls, k: int, n: int, n_rows: int, chunks: Iterable[Chunk]) -> RowSums:
        """Of some chunks; tasks, features and rows are those of all there are."""
        total = cls(
            TaskSums.none(k, n),
            np.zeros(k),
            np.zeros((3, 2)),
            np.array([-np.inf, -np.inf, 0.0]),
            max(1, n_rows // SOME_ROWS),
            [],
            [],
        )
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
        y, w, k = chunk.y, chunk.weights, len(self.times)
        s = np.ones(len(chunk)) if w is None else w
        kind = 0.0 if w is None else 1.0 + (w != np.rint(w)).any()
        a = chunk.in_a.astype(float)
        self.times[:] += np.bincount(chunk.codes, np.maximum(s, 1.0), k)
        self.groups[:] += [[part @ a, part @ (1 - a)] for part in (s, s * s, s * y)]
        most = y.max(initial=-np.inf), -y.min(initial=np.inf), kind
        np.maximum(self.most, most, out=self.most)
        some = some_of(len(chunk), self.step)
        self.keys.append(_keys(chunk, some))
        self.in_a.append(chunk.in_a[some])

    def add(self, other: RowSums) -> RowSums:
        """Add those of other rows, in place, some tasks at a time."""
        k, m = other.by_task.centre.shape
        step = PIECE // (m * m) + 1
        for first in range(0, k, step):
            own = slice(first, first + step)
            self.by_task.add(own, other.by_task.at(own))
        self.times[:] += other.times
        self.groups[:] += other.groups
        np.maximum(self.most, other.most, out=self.most)
        self.keys.extend(other.keys)
        self.in_a.extend(other.in_a)
        return self

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
        mean, of_a = found.centred()[0], (found.sums[:, 0, -1], found.cross[:, 0])
        yield tasks[at], TaskSums(found.weight, mean, found.gram, *of_a)


def _keys(chunk: Chunk, some: Ints) -> Floats:
    """A number for task and predictors of some rows, the same for rows alike."""
    ways = np.random.default_rng(0).uniform(1.0, 2.0, len(chunk.columns) + 1)
    keys: Floats = ways[-1] * chunk.codes[some]
    for way, column in zip(ways[:-1], chunk.columns, strict=True):
        keys += way * column[some]
    return keys


# All chunks


@dataclass(frozen=True)
class Sizes:
    """Up to what size an engine brings things together."""

    few_rows: int = 1 << 17  # fewer rows than that are brought into memory
    exact_rows: int = 1 << 20  # so many predictions are brought here to be counted
    batch: int = 1 << 21  # numbers of a file that are read at a time


class Pieces(ABC, Generic[P]):
    """Pieces of data in several places: functions go there, answers come back."""

    @abstractmethod
    def gather(self, function: Callable[[Iterable[P]], T]) -> Iterator[T]:
        """What a function says of the pieces in each place, an answer a place."""

    def each(self, function: Callable[[P], T]) -> Iterator[T]:
        """What a function says of each piece, place by place."""
        found = self.gather(lambda pieces: [function(piece) for piece in pieces])
        return chain.from_iterable(found)

    def total(self, function: Callable[[P], NDArray[Any]]) -> NDArray[Any]:
        """The sum of what a function says of each piece."""
        parts = self.gather(lambda pieces: reduce(iadd, map(function, pieces)))
        return reduce(iadd, parts)


Kept: TypeAlias = Pieces[Held]  # a line of predictions, kept beside the chunks


class ChunkedRows(Pieces[Chunk]):
    """All rows, chunk by chunk."""

    coding: Coding
    sizes: Sizes

    @property
    def n_rows(self) -> int:
        """How many rows weigh something."""
        return int(self.coding.sizes.sum())

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return len(self.coding.sizes)

    @property
    def n_features(self) -> int:
        """How many predictors there are."""
        return len(self.coding.roles.predictors)

    def scan(self) -> RowSums:
        """Sums over all rows."""
        shape = self.n_tasks, self.n_features, self.n_rows
        return reduce(RowSums.add, self.gather(partial(RowSums.of, *shape)))

    @abstractmethod
    def keep(self, design: LeftOut) -> list[Kept]:
        """The lines of each chunk, kept where the chunk is."""


def make_engine(rows: ChunkedRows, standardize: bool, copies: int = LEAST) -> Engine:
    """The engine for these rows: a problem in memory if there are few of them.

    ``copies`` is how many arrays of k n² numbers the penalty needs at once.
    """
    check_room(rows.n_tasks, rows.n_features, copies)
    if rows.n_rows >= rows.sizes.few_rows:
        return ChunkedEngine.of(rows, rows.scan(), standardize)
    found = Chunk.joined(chain.from_iterable(rows.gather(list)))
    roles = rows.coding.roles
    return Problem.from_rows(
        found.rows(),
        found.y,
        found.codes,
        rows.n_tasks,
        in_a=None if roles.group is None else found.in_a,
        weights=found.weights,
        standardize=standardize,
        names=roles.predictors,
    )


@dataclass(frozen=True)
class ChunkedEngine(Engine):
    """The engine whose rows are in chunks."""

    rows: ChunkedRows
    total: RowSums  # tasks in the order of blocks, gram in standard units

    @classmethod
    def of(cls, rows: ChunkedRows, total: RowSums, standardize: bool) -> ChunkedEngine:
        """Units and places as `Problem.from_rows` has them."""
        sizes = rows.coding.sizes
        places = np.argsort(sizes, kind="stable")
        total = replace(total, by_task=total.by_task.at(places))
        own = total.by_task
        gram = own.products[:, :-1, :-1]
        refuse_wild(gram, rows.coding.roles.predictors)
        blocks = Blocks(
            tasks=places,
            sizes=sizes[places],
            centre=own.centre[:, :-1],
            gram=gram,
            unit=np.ones(rows.n_features),
        )
        scale, varies = scale_of(blocks, own.weight, standardize)
        to_standard(gram, scale, varies)
        centre, unit = _target_units(total)
        groups = None
        if rows.coding.roles.group is not None:
            weight, squares, _ = total.groups.tolist()
            groups = Part.elsewhere(weight, squares, total.whole)
        return cls(
            blocks=blocks,
            scale=scale,
            varies=varies,
            y_centre=centre,
            y_unit=unit,
            beta_unit=1.0 if standardize else unit,
            counts=own.weight,
            groups=groups,
            user_groups=groups,
            resolution=resolution_of(total.edge),
            rows=rows,
            total=total,
        )

    def sums(self, directions: Sequence[Any]) -> tuple[Floats, Floats]:
        """The moments (k, n + 1, 1 + r) and squares (k, 1 + r) of y and r directions.

        A direction is a pair of numbers: that of the rows of A, and of B.
        """
        own, r = self.total.by_task, 1 + len(directions)
        B = np.empty((self.n_tasks, self.n_features + 1, r))
        squares = np.empty((self.n_tasks, r))
        mean = own.centre[:, -1] / self.y_unit - self.y_centre
        B[:, :-1, 0] = own.products[:, :-1, -1] / self.y_unit
        B[:, -1, 0] = own.weight * mean
        inside = own.products[:, -1, -1] / self.y_unit**2
        squares[:, 0] = inside + own.weight * mean**2
        of_a = own.weight_a
        of_b = own.weight - of_a
        for i, (a, b) in enumerate(directions, start=1):
            B[:, :-1, i] = (a - b) * own.cross_a[:, :-1]
            B[:, -1, i] = a * of_a + b * of_b
            squares[:, i] = a * a * of_a + b * b * of_b
        B[:, :-1] *= (self.scale * self.varies)[:, :, None]
        return B, squares

    @property
    def row_counts(self) -> Floats:
        """The rows of every task, each as often as it weighs, at least once: (k,)."""
        found: Floats = self.total.times[self.blocks.tasks]
        return found

    def kept_line(
        self, W: Sequence[Floats], K: Sequence[Floats], levels: Floats, most: float
    ) -> list[Kept]:
        """The line of training rows and, if there is a ``K``, that of left-out ones.

        ``W``, each (k, n + 1), fit y and the direction, whose ``levels`` are those of
        B and A; rows of a leverage above ``most`` are not left out.
        """
        own = np.argsort(self.blocks.tasks)  # places by code
        scale = np.append(self.scale, 1.0)
        design = LeftOut(
            self.blocks.centre[own],
            [each[own] * scale for each in W],
            [each[own] * scale[:, None] * scale for each in K],
            levels,
            self.row_counts[own] <= 1.0,
            self.y_centre,
            self.y_unit,
            most,
        )
        return self.rows.keep(design)

    def posed(self, constraint: Any) -> Any:
        """A constraint that knows the mean targets of the groups."""
        weight, _, target = self.total.groups
        y = target / weight / self.y_unit - self.y_centre
        # Two rows, as heavy as the groups and at their means, stand for all.
        (a, b), both = weight, np.array([True, False])
        return constraint.on(y, Part(both, weight, a, b, 1))


def _target_units(total: RowSums) -> tuple[float, float]:
    """The centre and the unit of the target, as `Problem.from_rows` takes them."""
    own, size = total.by_task, float(np.abs(total.edge).max()) or 1.0
    share = own.weight / own.weight.sum()
    mean = float(share @ own.centre[:, -1])
    off = own.centre[:, -1] - mean
    off -= share @ off  # as the first is rounded
    inside = own.products[:, -1, -1].sum() / own.weight.sum()
    spread = float(np.sqrt(inside + share @ (off * off)))
    if not spread > CONSTANT * abs(mean):
        spread = size
    return mean / spread, spread
