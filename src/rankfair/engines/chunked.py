"""Rows in chunks, on disk or on other machines: only sums and tables come here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rankfair._frames import shown
from rankfair.core.blocks import CONSTANT, Blocks, Floats, batches_of, resolution_of
from rankfair.core.problem import (
    Groups,
    Part,
    Problem,
    scale_of,
    to_standard,
    whole_if_so,
    wildest,
)
from rankfair.core.ranks import Grid
from rankfair.engines.base import Engine
from rankfair.engines.chunk import (
    Chunk,
    Held,
    counted,
    exactly,
    histogram,
    joined,
    predicted,
)
from rankfair.engines.left_out import LeftOut
from rankfair.engines.room import LEAST, check_room
from rankfair.engines.rows import Kept, Rows
from rankfair.engines.summary import Summary

__all__ = ["ChunkedEngine", "make_engine"]

FEW_ROWS = 1 << 17  # so few rows are brought into memory
FINE = 1 << 19  # of the last count
SURE = 1e-5  # of an AUC: how far off the last count may be
WIDE = 7.0  # standard deviations to both sides that the last count looks at first
EXACT_ROWS = 1 << 20  # so many predictions are brought together and counted exactly


def make_engine(rows: Rows, standardize: bool, copies: int = LEAST) -> Engine:
    """The engine for these rows: a problem in memory if there are few of them.

    ``copies`` is how many arrays of k n² numbers the penalty needs at once.
    """
    check_room(rows.n_tasks, rows.n_features, copies)
    if rows.n_rows < FEW_ROWS:
        return collected(rows, standardize)
    return ChunkedEngine.of(rows, rows.scan(), standardize)


def collected(rows: Rows, standardize: bool) -> Problem:
    """All rows in memory, where they are few enough."""
    found = joined(rows.each(_itself))
    return Problem.from_rows(
        found.rows(),
        found.y,
        found.codes,
        rows.n_tasks,
        in_a=found.in_a if rows.coding.roles.group is not None else None,
        weights=found.weights,
        standardize=standardize,
        names=rows.coding.roles.predictors,
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
        self, W: Floats, K: tuple[Floats, Floats] | None, levels: Floats, most: float
    ) -> Kept:
        """Predictions along a line, left out if there is a ``K``, beside the chunks.

        ``W`` (1 + r, k, n + 1) fit y and the directions; ``levels`` (r, 2) are those of
        groups B and A.
        """
        own = np.argsort(self.blocks.tasks)  # places by code
        scale = np.append(self.scale, 1.0)
        design = LeftOut(
            self.blocks.centre[own],
            W[:, own] * scale,
            None if K is None else tuple(k[own] * scale[:, None] * scale for k in K),
            levels,
            self.row_counts[own] <= 1.0,
            self.y_centre,
            self.y_unit,
            most,
        )
        return self.rows.keep(design)

    def histograms(self, kept: Kept, x: float, bins: int) -> tuple[Floats, Floats]:
        """How many rows of A and of B each of many bins holds at ``x`` of the line."""
        extent = kept.extent(x)
        centre = extent.total / extent.weight
        reach = WIDE * extent.deviation
        low, high = max(extent.low, centre - reach), min(extent.high, centre + reach)
        grid = Grid.between(low, high, bins)
        above, below = kept.total(partial(histogram, step=x, grid=grid))
        return above, below

    def count_of(self, constraint: Any, coef: Floats, intercept: Floats) -> float:
        """``2U`` of the predictions the user will see, sure to 1e-5 at least."""
        lines = ((coef, intercept),)
        if self.rows.n_rows <= EXACT_ROWS:
            look = partial(exactly, lines=lines, resolution=self.resolution)
            held = list(self.rows.each(look))
            return _counted(held, constraint, self.y_unit)
        value, off = self._binned(constraint, lines, self._grid_for(coef, intercept))
        if off > SURE * 2 * self.all_groups.total_a * self.all_groups.total_b:
            # A few predictions are far from all others: look at where they are.
            kept = self.rows.keep(partial(predicted, lines=lines, dtype=np.float64))
            extent = kept.extent(0.0)
            kept.drop()
            grid = Grid.between(extent.low, extent.high, FINE)
            wide, off_wide = self._binned(constraint, lines, grid)
            value = value if off < off_wide else wide
        return value

    def _binned(
        self, constraint: Any, lines: tuple[tuple[Floats, Floats], ...], grid: Grid
    ) -> tuple[float, float]:
        """The value of predictions from their histograms, and the most it is off."""
        both = self.rows.total(partial(counted, lines=lines, grid=grid))
        found: tuple[float, float] = constraint.binned(*both)
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

    def posed(self, constraint: Any) -> Any:
        """A constraint that knows the mean targets of the groups."""
        a, b = self.total.group[:2]
        y = self.total.target / np.array([a, b]) / self.y_unit - self.y_centre
        # Two rows, as heavy as the groups and at their means, stand for all.
        return constraint.on(
            y, Part(np.array([True, False]), np.array([a, b]), a, b, 1)
        )

    @property
    def all_groups(self) -> Part:
        """The groups of all rows: how many there are."""
        assert isinstance(self.groups, Part)
        return self.groups


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


def _counted(held: list[Held], constraint: Any, unit: float) -> float:
    """The exact value of predictions brought together."""
    weights = None
    if held[0].weights is not None:
        parts = [each.weights for each in held if each.weights is not None]
        weights = whole_if_so(np.concatenate(parts))
    m = np.concatenate([each.m for each in held])
    in_a = np.concatenate([each.in_a for each in held])
    value: float = constraint.value(m, Groups(in_a, weights), unit)
    return value
