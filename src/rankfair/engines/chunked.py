"""Rows in chunks, on disk or on other machines: only sums and tables come here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from rankfair import problem as limits
from rankfair._frames import shown
from rankfair.blocks import CONSTANT, Blocks, Floats, batches_of
from rankfair.engines import memory
from rankfair.engines.base import Engine, Field
from rankfair.engines.chunk import (
    Chunk,
    Held,
    counted,
    exactly,
    histogram,
    moments,
    predicted,
)
from rankfair.engines.room import LEAST, check_room
from rankfair.engines.rows import Kept, Rows
from rankfair.engines.scattered import Scattered
from rankfair.engines.summary import Summary
from rankfair.engines.thin import Thin, collected
from rankfair.problem import (
    Groups,
    Part,
    scale_of,
    to_standard,
    whole_if_so,
    wildest,
)
from rankfair.ranks import Grid

__all__ = ["ChunkedEngine", "make_engine"]

BINS = 1 << 12  # of quick counts, as in memory
FINE = 1 << 19  # of the last count
SURE = 1e-5  # of an AUC: how far off the last count may be
WIDE = 7.0  # standard deviations to both sides that the last count looks at first
EXACT_ROWS = 1 << 20  # so many predictions are brought together and counted exactly


def make_engine(rows: Rows, standardize: bool, copies: int = LEAST) -> Engine:
    """The engine for these rows: a problem in memory if there are few of them.

    ``copies`` is how many arrays of k n² numbers the penalty needs at once.
    """
    check_room(rows.n_tasks, rows.n_features, copies)
    if rows.n_rows < 4 * limits.THIN_ROWS:
        return collected(rows, standardize)
    grouped = rows.coding.roles.group is not None
    thin = Thin(rows.coding.sizes) if grouped else None
    total, some = rows.scan(thin)
    return ChunkedEngine.of(rows, total, some, standardize)


@dataclass(frozen=True)
class ChunkedEngine(Engine):
    """The engine whose rows are in chunks."""

    rows: Rows
    total: Summary
    some: Chunk | None  # the rows of the thinned problem

    @classmethod
    def of(
        cls, rows: Rows, total: Summary, some: Chunk | None, standardize: bool
    ) -> ChunkedEngine:
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
            rows=rows,
            total=total,
            some=some,
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
        lines = ((coef, intercept),)
        if self.rows.n_rows <= EXACT_ROWS:
            held = list(self.rows.each(partial(exactly, lines=lines)))
            return _counted(held, balance, self.y_unit)
        value, off = self._binned(balance, lines, self._grid_for(coef, intercept))
        if off > SURE * 2 * self.all_groups.total_a * self.all_groups.total_b:
            # A few predictions are far from all others: look at where they are.
            kept = self.rows.keep(partial(predicted, lines=lines, dtype=np.float64))
            extent = kept.extent(0.0)
            kept.drop()
            grid = Grid.between(extent.low, extent.high, FINE)
            wide, off_wide = self._binned(balance, lines, grid)
            value = value if off < off_wide else wide
        return value

    def _binned(
        self, balance: Any, lines: tuple[tuple[Floats, Floats], ...], grid: Grid
    ) -> tuple[float, float]:
        """The value of predictions from their histograms, and the most it is off."""
        both = self.rows.total(partial(counted, lines=lines, grid=grid))
        found: tuple[float, float] = balance.binned(*both)
        return found

    def _grid_for(self, coef: Floats, intercept: Floats) -> Grid:
        """Bins around all but a few predictions, from the sums of every task."""
        total = self.total
        share = total.weight / total.weight.sum()
        means = (total.centre * coef).sum(axis=1) + intercept
        scaled = np.zeros_like(coef)
        np.divide(coef[self.blocks.tasks], self.scale, out=scaled, where=self.scale > 0)
        bent = np.matmul(self.gram, scaled[:, :, None])[:, :, 0]
        inside = float((scaled * bent).sum()) / total.weight.sum()
        mean = float(share @ means)
        spread = np.sqrt(max(inside, 0.0) + float(share @ (means - mean) ** 2))
        return Grid.between(mean - WIDE * spread, mean + WIDE * spread, FINE)

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
        return self.summed(self.rows.total(self.moments_of(field)))

    def thinned(self) -> Engine:
        """The problem in memory that a thinned `Problem` of all rows would be."""
        assert self.some is not None
        thin = Thin(self.rows.coding.sizes).problem(self, self.some)
        groups = thin.groups
        assert groups is not None
        return thin if groups.total_a > 0 and groups.total_b > 0 else self

    def standard_coef(self, W: Floats) -> tuple[Floats, Floats]:
        """Coefficients and intercepts by task that predict in standard units."""
        coef, intercept = self.user_coef(W)
        return coef / self.y_unit, intercept / self.y_unit - self.y_centre

    def _kept(self, ways: tuple[tuple[Floats, Floats], ...]) -> Kept:
        many = self.rows.n_rows > memory.DOUBLE_ROWS and len(ways) > 1
        dtype = np.float32 if many else np.float64
        return self.rows.keep(partial(predicted, lines=ways, dtype=dtype))

    def moments_of(
        self, field: Field, **more: Any
    ) -> Callable[..., Floats | Scattered]:
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

    def summed(self, moments: Floats) -> Floats:
        """Moments about each task's own mean, in places and standard units."""
        total: Floats = moments[self.blocks.tasks]
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
        extent = self.kept.extent(x - self.start)
        found: tuple[float, float] = balance.binned(
            *self._histogram(x, Grid.between(extent.low, extent.high, BINS))
        )
        return found

    def bend(self, balance: Any, x: float) -> tuple[Field, Floats]:
        """The balance's direction at ``x``, and its moments there."""
        extent = self.kept.extent(x - self.start)
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

    def released(self) -> ChunkedLine:
        """The same with nothing in it."""
        self.kept.drop()
        return self

    def _histogram(self, x: float, grid: Grid) -> tuple[Floats, Floats]:
        step = x - self.start
        above, below = self.kept.total(partial(histogram, step=step, grid=grid))
        return above, below


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
