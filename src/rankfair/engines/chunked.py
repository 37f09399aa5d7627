"""Rows in chunks, on disk or on other machines: only sums and tables come here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from operator import iadd
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import CONSTANT, LEAST, Blocks, Floats, resolution_of
from rankfair.core.problem import (
    Part,
    Problem,
    refuse_wild,
    scale_of,
    to_standard,
)
from rankfair.engines.base import Engine, check_room
from rankfair.engines.chunk import Chunk, Held, LeftOut, RowSums
from rankfair.engines.labels import Coding

P = TypeVar("P")
T = TypeVar("T")


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


class Kept(Pieces[Held]):
    """A line of predictions, kept beside the chunks."""


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
        places = np.argsort(total.rows, kind="stable")
        total = replace(total, by_task=total.by_task.at(places))
        own = total.by_task
        refuse_wild(own.gram, rows.coding.roles.predictors)
        blocks = Blocks(
            tasks=places,
            sizes=total.rows[places],
            centre=own.centre,
            gram=own.gram,
            unit=np.ones(rows.n_features),
        )
        scale, varies = scale_of(blocks, own.weight, standardize)
        to_standard(own.gram, scale, varies)
        centre, unit = _target_units(total)
        groups = None if rows.coding.roles.group is None else _groups(total)
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
        mean = own.mean_y / self.y_unit - self.y_centre
        B[:, :-1, 0] = own.cross / self.y_unit
        B[:, -1, 0] = own.weight * mean
        squares[:, 0] = own.yy / self.y_unit**2 + own.weight * mean**2
        of_a = own.weight_a
        of_b = own.weight - of_a
        for i, (a, b) in enumerate(directions, start=1):
            B[:, :-1, i] = (a - b) * own.cross_a
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
    mean = float(share @ own.mean_y)
    off = own.mean_y - mean
    off -= share @ off  # as the first is rounded
    spread = float(np.sqrt(own.yy.sum() / own.weight.sum() + share @ (off * off)))
    if not spread > CONSTANT * abs(mean):
        spread = size
    return mean / spread, spread


def _groups(total: RowSums) -> Part:
    """How many rows, or how much weight, the groups have."""
    (a, b), squares, _ = total.groups.tolist()
    none = np.zeros(0, bool)
    if total.whole:
        return Part(none, None, round(a), round(b), 1)
    return Part(none, None, a, b, squares[0] / a * squares[1] / b)
