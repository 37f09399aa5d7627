"""Rows in chunks, on disk or on other machines: only sums and tables come here."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair import problem as limits
from rankfair.blocks import Blocks, Floats, Ints, batches_of
from rankfair.engines.base import Engine, Field
from rankfair.engines.chunk import Chunk, Extent, Held, histogram, moments, predicted
from rankfair.engines.memory import DOUBLE_ROWS
from rankfair.engines.summary import Summary
from rankfair.engines.thin import collected, few_rows, few_tasks
from rankfair.problem import (
    CONSTANT,
    Groups,
    Part,
    scale_of,
    whole_if_so,
)
from rankfair.ranks import Grid

__all__ = ["ChunkedEngine", "Kept", "Rows", "make_engine"]

T = TypeVar("T")

BINS = 1 << 12  # of quick counts, as in memory
FINE = 1 << 20  # of the last count, which has to be sure to 1e-5
EXACT_ROWS = 1 << 20  # so many predictions are brought together and counted exactly
FEW_TASKS = 8  # rows a task in a thinned problem, from which on rows are thinned


class Rows(ABC):
    """Chunks of rows, wherever they are, and what is kept beside each of them."""

    n_rows: int
    n_tasks: int
    n_features: int

    @abstractmethod
    def summary(self) -> tuple[Summary, list[tuple[Ints, Ints]]]:
        """Sums over all rows; the tasks of each chunk and their rows."""

    @abstractmethod
    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""

    @abstractmethod
    def each_with(self, given: list[Any], function: Callable[..., T]) -> Iterator[T]:
        """The same for a function of a chunk and what is given for it alone."""

    @abstractmethod
    def keep(self, function: Callable[[Chunk], Held]) -> Kept:
        """What a function makes of each chunk, kept where the chunk is."""


class Kept(ABC):
    """What is kept beside the chunks."""

    @abstractmethod
    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk."""

    @abstractmethod
    def beside(self, function: Callable[[Chunk, Held], T]) -> Iterator[T]:
        """The same for a function of the chunk and what is kept of it."""

    @abstractmethod
    def drop(self) -> None:
        """Let it go."""


def make_engine(rows: Rows, standardize: bool) -> Engine:
    """The engine for these rows: a problem in memory if there are few of them."""
    if rows.n_rows < 4 * limits.THIN_ROWS:
        return collected(rows, standardize)
    total, parts = rows.summary()
    return ChunkedEngine.of(rows, total, parts, standardize)


@dataclass(frozen=True)
class ChunkedEngine(Engine):
    """The engine whose rows are in chunks."""

    rows: Rows
    total: Summary
    parts: list[tuple[Ints, Ints]]

    @classmethod
    def of(
        cls,
        rows: Rows,
        total: Summary,
        parts: list[tuple[Ints, Ints]],
        standardize: bool,
    ) -> ChunkedEngine:
        """Units and places as `Problem.from_rows` has them."""
        if not np.isfinite(total.gram).all():
            column = int(np.argwhere(~np.isfinite(total.gram))[0, 1])
            raise ValueError(
                f"column {column} of the predictors has values too far apart to be "
                "squared; rescale it or clip outliers"
            )
        places = np.argsort(total.rows, kind="stable")
        blocks = Blocks(
            Z=np.zeros((0, rows.n_features)),
            tasks=places,
            batches=tuple(batches_of(total.rows[places])),
            centre=total.centre[places],
            gram=total.gram[places],
            unit=np.ones(rows.n_features),
        )
        counts = total.weight[places]
        scale, varies = scale_of(blocks, counts, standardize)
        centre, unit = _target_units(total)
        groups = _groups(total)
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
            rows=rows,
            total=total,
            parts=parts,
        )

    @cached_property
    def target_moments(self) -> Floats:
        """``Xᵀ S y`` of every task: (k, n + 1)."""
        B = np.empty((self.n_tasks, self.n_features + 1))
        tasks = self.blocks.tasks
        B[:, :-1] = self.total.cross[tasks] / self.y_unit * self.scale * self.varies
        mean = self.total.mean_y[tasks] / self.y_unit - self.y_centre
        B[:, -1] = self.counts * mean
        return B

    @cached_property
    def y_squares(self) -> float:
        """``Σ s_i y_i²`` in standard units."""
        mean = self.total.mean_y / self.y_unit - self.y_centre
        inside = self.total.yy / self.y_unit**2
        return float((inside + self.total.weight * mean * mean).sum())

    def line(
        self, W: Floats, slope: Floats | None = None, start: float = 0.0
    ) -> ChunkedLine:
        """Predictions of ``W − (x − start) slope`` as a function of ``x``."""
        ways = [self.standard_coef(W)]
        if slope is not None:
            ways.append(self.standard_coef(slope))
        return ChunkedLine(self, self.all_groups, W, self._kept(tuple(ways)), start)

    def count_of(self, balance: Any, coef: Floats, intercept: Floats) -> float:
        """``2U`` of the predictions the user will see, sure to 1e-5 at least."""
        kept = self.rows.keep(
            partial(predicted, lines=((coef, intercept),), dtype=np.float64)
        )
        if self.rows.n_rows <= EXACT_ROWS:
            held = list(kept.each(_itself))
            kept.drop()
            return _counted(held, balance, self.y_unit)
        extent = reduce(operator.add, kept.each(partial(Extent.of, step=0.0)))
        grid = Grid.between(extent.low, extent.high, FINE)
        above, below = added(kept.each(partial(histogram, step=0.0, grid=grid)))
        kept.drop()
        value: float = balance.binned(above, below)[0]
        return value

    def posed(self, balance: Any) -> Any:
        """A balance that knows the target and the groups."""
        a, b = self.total.group[:2]
        means = self.total.target / np.array([a, b])
        y = means / self.y_unit - self.y_centre
        # Two rows, as heavy as the groups and at their means, stand for all.
        both = Part(np.array([True, False]), np.array([a, b]), a, b, 1)
        return balance.on(y, both)

    def demand_moments(self, demand: Any) -> Floats:
        """The moments of the direction of a linear balance: (k, n + 1)."""
        field = demand.start(self.groups)
        return self.summed(self.rows.each(self.moments_of(field)))

    def thinned(self) -> Engine:
        """The problem in memory that a thinned `Problem` of all rows would be."""
        step = self.rows.n_rows // limits.THIN_ROWS
        gather = few_rows if FEW_TASKS * self.n_tasks <= limits.THIN_ROWS else few_tasks
        thin = gather(self, step)
        groups = thin.groups
        assert groups is not None
        return thin if groups.total_a > 0 and groups.total_b > 0 else self

    def standard_coef(self, W: Floats) -> tuple[Floats, Floats]:
        """Coefficients and intercepts by task that predict in standard units."""
        coef, intercept = self.user_coef(W)
        return coef / self.y_unit, intercept / self.y_unit - self.y_centre

    def _kept(self, ways: tuple[tuple[Floats, Floats], ...]) -> Kept:
        many = self.rows.n_rows > DOUBLE_ROWS and len(ways) > 1
        dtype = np.float32 if many else np.float64
        return self.rows.keep(partial(predicted, lines=ways, dtype=dtype))

    def moments_of(self, field: Field, **more: Any) -> Callable[..., Floats]:
        """A function of a chunk: the sums of a direction over its rows."""
        return partial(
            moments,
            field=field,
            groups=self.all_groups,
            about=self._about,
            n_tasks=self.n_tasks,
            **more,
        )

    @property
    def all_groups(self) -> Part:
        """The groups of all rows: how many there are."""
        assert isinstance(self.groups, Part)
        return self.groups

    @cached_property
    def _about(self) -> Floats:
        """The mean row of all."""
        share = self.total.weight / self.total.weight.sum()
        found: Floats = share @ self.total.centre
        return found

    def summed(self, parts: Iterator[Floats]) -> Floats:
        """Moments about each task's own mean, in places and standard units."""
        total: Floats = added(parts)[self.blocks.tasks]
        total[:, :-1] -= (self.blocks.centre - self._about) * total[:, -1:]
        total[:, :-1] *= self.scale * self.varies
        return total


@dataclass(frozen=True)
class ChunkedLine:
    """``m(x) = m − (x − start) p`` of all rows, kept beside the chunks."""

    engine: ChunkedEngine
    groups: Part
    W: Floats
    kept: Kept
    start: float

    def along(self, slope: Floats) -> ChunkedLine:
        """The line from here whose predictions fall by those of ``slope``."""
        return self.engine.line(self.W, slope, self.start)

    def estimate(self, balance: Any, x: float) -> tuple[float, float]:
        """The balance's value at ``x`` from histograms, and the most it can be off."""
        extent = self._extent(x)
        found: tuple[float, float] = balance.binned(
            *self._histogram(x, Grid.between(extent.low, extent.high, BINS))
        )
        return found

    def bend(self, balance: Any, x: float) -> tuple[Field, Floats]:
        """The balance's direction at ``x``, and its moments there."""
        extent = self._extent(x)
        field = balance.field_of(
            (extent.low, extent.high),
            extent.deviation,
            partial(self._histogram, x),
            self.groups,
        )
        return field, self.moments(field, x)

    def moments(self, field: Field, x: float, stir: int | None = None) -> Floats:
        """The moments of a direction at ``x``."""
        function = self.engine.moments_of(field, step=x - self.start, stir=stir)
        return self.engine.summed(self.kept.beside(function))

    def some(self) -> None:
        """What is kept is quick to count."""

    def released(self) -> ChunkedLine:
        """The same with nothing in it."""
        self.kept.drop()
        return self

    def _extent(self, x: float) -> Extent:
        step = x - self.start
        return reduce(operator.add, self.kept.each(partial(Extent.of, step=step)))

    def _histogram(self, x: float, grid: Grid) -> tuple[Floats, Floats]:
        step = x - self.start
        above, below = added(self.kept.each(partial(histogram, step=step, grid=grid)))
        return above, below


def _target_units(total: Summary) -> tuple[float, float]:
    """The centre and the unit of the target, as `Problem.from_rows` takes them."""
    size = float(np.abs(total.edge).max()) or 1.0
    share = total.weight / total.weight.sum()
    mean = float(share @ total.mean_y)
    off = total.mean_y - mean
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


def _counted(held: list[Held], balance: Any, unit: float) -> float:
    """The exact value of predictions brought together."""
    weights = None
    if held[0].weights is not None:
        parts = [each.weights for each in held if each.weights is not None]
        weights = whole_if_so(np.concatenate(parts))
    m = np.concatenate([each.m for each in held])
    in_a = np.concatenate([each.in_a for each in held])
    value: float = balance.value(m, Groups(in_a, weights), unit)
    return value


def added(parts: Iterator[NDArray[Any]]) -> NDArray[Any]:
    """The sum of arrays, taken in one by one."""
    return reduce(operator.iadd, parts)


def _itself(held: Held) -> Held:
    return held
