"""Rows in chunks, on disk or on other machines: only sums and tables come here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import iadd
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import CONSTANT, Blocks, Floats, batches_of, resolution_of
from rankfair.core.problem import Part, Problem, scale_of, to_standard, wildest
from rankfair.core.ranks import Bins
from rankfair.engines.base import LEAST, Engine, check_room
from rankfair.engines.chunk import Chunk, Held, LeftOut, histograms, joined
from rankfair.engines.labels import Coding
from rankfair.engines.summary import Summary
from rankfair.input.errors import shown

__all__ = ["ChunkedEngine", "Kept", "Rows", "added", "make_engine"]

T = TypeVar("T")

FEW_ROWS = 1 << 17  # so few rows are brought into memory


class Rows(ABC):
    """All rows, chunk by chunk: what can be asked of them."""

    coding: Coding

    @property
    def n_rows(self) -> int:
        """How many rows weigh something."""
        return int(self.coding.sizes.sum())

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return self.coding.n_tasks

    @property
    def n_features(self) -> int:
        """How many predictors there are."""
        return len(self.coding.roles.predictors)

    def no_rows(self) -> Summary:
        """Sums to which those of all rows will be added."""
        return Summary.empty(self.n_tasks, self.n_features, self.n_rows)

    @abstractmethod
    def scan(self) -> Summary:
        """Sums over all rows."""

    @abstractmethod
    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""

    @abstractmethod
    def keep(self, design: LeftOut) -> list[Kept]:
        """The lines of each chunk, kept where the chunk is."""


class Kept(ABC):
    """A line of predictions, kept beside the chunks."""

    @abstractmethod
    def total(self, function: Callable[[Held], NDArray[Any]]) -> NDArray[Any]:
        """The sum of what a function says of what is kept of each chunk."""

    @abstractmethod
    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk."""

    def histograms(
        self, xs: Sequence[float], bins: Sequence[Bins], resolution: float
    ) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """How much of A and of B the bins hold at each ``x``, in one pass."""
        count = partial(histograms, xs=xs, bins=bins, resolution=resolution)
        flat = self.total(count)
        sizes = [each.bins for each in bins for _ in range(2)]
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        return list(zip(parts[::2], parts[1::2], strict=True))


def added(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """The sum of arrays, taken in one by one, in the first of them."""
    return reduce(iadd, parts)


def make_engine(rows: Rows, standardize: bool, copies: int = LEAST) -> Engine:
    """The engine for these rows: a problem in memory if there are few of them.

    ``copies`` is how many arrays of k n² numbers the penalty needs at once.
    """
    check_room(rows.n_tasks, rows.n_features, copies)
    if rows.n_rows >= FEW_ROWS:
        return ChunkedEngine.of(rows, rows.scan(), standardize)
    found, roles = joined(rows.each(_itself)), rows.coding.roles
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


def _itself(chunk: Chunk) -> Chunk:
    return chunk


@dataclass(frozen=True)
class ChunkedEngine(Engine):
    """The engine whose rows are in chunks."""

    rows: Rows
    total: Summary

    @classmethod
    def of(cls, rows: Rows, total: Summary, standardize: bool) -> ChunkedEngine:
        """Units and places as `Problem.from_rows` has them."""
        places = np.argsort(total.rows, kind="stable")
        gram, total = total.gram[places], total.without_gram()
        wild = wildest(gram)
        if wild is not None:
            raise ValueError(
                f"column {shown(rows.coding.roles.predictors[wild])} has values too "
                "far apart to be squared; rescale it or clip outliers"
            )
        blocks = Blocks(
            Z=np.zeros((0, rows.n_features)),
            tasks=places,
            batches=tuple(batches_of(total.rows[places])),
            centre=total.centre[places],
            gram=gram,
            unit=np.ones(rows.n_features),
        )
        counts = total.weight[places]
        scale, varies = scale_of(blocks, counts, standardize)
        to_standard(gram, scale, varies)
        centre, unit = _target_units(total)
        groups = None if rows.coding.roles.group is None else _groups(total)
        return cls(
            blocks=blocks,
            scale=scale,
            varies=varies,
            y_centre=centre,
            y_unit=unit,
            beta_unit=1.0 if standardize else unit,
            counts=counts,
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
        total, tasks = self.total, self.blocks.tasks
        r = 1 + len(directions)
        B = np.empty((self.n_tasks, self.n_features + 1, r))
        squares = np.empty((self.n_tasks, r))
        mean = total.mean_y[tasks] / self.y_unit - self.y_centre
        B[:, :-1, 0] = total.cross[tasks] / self.y_unit
        B[:, -1, 0] = self.counts * mean
        squares[:, 0] = total.yy[tasks] / self.y_unit**2 + self.counts * mean**2
        of_a = total.weight_a[tasks]
        of_b = self.counts - of_a
        apart = total.cross_a[tasks]
        for i, (a, b) in enumerate(directions, start=1):
            B[:, :-1, i] = (a - b) * apart
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
        a, b = self.total.group[:2]
        y = self.total.target / np.array([a, b]) / self.y_unit - self.y_centre
        # Two rows, as heavy as the groups and at their means, stand for all.
        return constraint.on(
            y, Part(np.array([True, False]), np.array([a, b]), a, b, 1)
        )


def _target_units(total: Summary) -> tuple[float, float]:
    """The centre and the unit of the target, as `Problem.from_rows` takes them."""
    size = float(np.abs(total.edge).max()) or 1.0
    share = total.weight / total.weight.sum()
    mean = float(share @ total.mean_y)
    off = total.mean_y - mean
    off -= share @ off  # as the first is rounded
    spread = float(np.sqrt(total.yy.sum() / total.weight.sum() + share @ (off * off)))
    if not spread > CONSTANT * abs(mean):
        spread = size
    return mean / spread, spread


def _groups(total: Summary) -> Part:
    """How many rows, or how much weight, the groups have."""
    a, b, squares_a, squares_b = total.group.tolist()
    none = np.zeros(0, bool)
    if total.whole:
        return Part(none, None, round(a), round(b), 1)
    return Part(none, None, a, b, squares_a / a * squares_b / b)
