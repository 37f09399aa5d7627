"""What is done with the rows of one chunk: pure functions, small answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Floats, Ints, linear_predict
from rankfair.core.ranks import Grid

__all__ = [
    "Chunk",
    "Extent",
    "Held",
    "counted",
    "exactly",
    "histogram",
    "joined",
    "predicted",
]

BLOCK = 4096  # rows handled at a time, within the cache
MANY = 1 << 14  # tasks whose coefficients of one feature leave the cache


@dataclass(frozen=True)
class Chunk:
    """Some rows: features, target, task codes, group A or not, weights."""

    columns: tuple[Floats, ...]  # n of them
    y: Floats
    codes: Ints
    in_a: NDArray[np.bool_]
    weights: Floats | None
    first: int = 0  # how many rows came before
    source: str = ""  # where they are, for error messages

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, *more: Floats) -> Floats:
        """Features and more columns side by side: (rows, n + more)."""
        return turned((*self.columns, *more), len(self))


@dataclass(frozen=True)
class Held:
    """What is kept of a chunk while predictions move along a line."""

    m: NDArray[Any]
    p: NDArray[Any] | None
    in_a: NDArray[np.bool_]
    weights: Floats | None

    def at(self, step: float) -> NDArray[Any]:
        """The predictions ``step`` along the line."""
        if self.p is None:
            return self.m
        moved: NDArray[Any] = step * self.p
        np.subtract(self.m, moved, out=moved)
        return moved


@dataclass(frozen=True)
class Extent:
    """The range of some predictions, and their weighted sums."""

    low: float
    high: float
    weight: float
    total: float
    squares: float

    @classmethod
    def of(cls, held: Held, step: float) -> Extent:
        """That of one chunk."""
        m = held.at(step)
        w = held.weights
        if not len(m):
            return cls(np.inf, -np.inf, 0.0, 0.0, 0.0)
        wide = m.astype(float, copy=False)
        mass = wide if w is None else wide * w
        return cls(
            float(m.min()),
            float(m.max()),
            float(len(m) if w is None else w.sum()),
            float(mass.sum()),
            float((mass * wide).sum()),
        )

    def __add__(self, other: Extent) -> Extent:
        return Extent(
            min(self.low, other.low),
            max(self.high, other.high),
            self.weight + other.weight,
            self.total + other.total,
            self.squares + other.squares,
        )

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        centre = self.total / self.weight
        return float(np.sqrt(max(self.squares / self.weight - centre * centre, 0.0)))


def predicted(
    chunk: Chunk, lines: tuple[tuple[Floats, Floats], ...], dtype: type
) -> Held:
    """The predictions of one or two sets of coefficients by task, to be kept."""
    found: list[NDArray[Any]] = [predict(chunk, *each, dtype) for each in lines]
    p = found[1] if len(found) > 1 else None
    return Held(found[0], p, chunk.in_a, chunk.weights)


def exactly(
    chunk: Chunk, lines: tuple[tuple[Floats, Floats], ...], resolution: float
) -> Held:
    """The predictions that the user will see, to the bit."""
    ((coef, intercept),) = lines
    m = linear_predict(chunk.rows(), chunk.codes, coef, intercept, resolution)
    return Held(m, None, chunk.in_a, chunk.weights)


def predict(
    chunk: Chunk, coef: Floats, intercept: Floats, dtype: type = float
) -> NDArray[Any]:
    """``x_i · coef[codes_i] + intercept[codes_i]``, from columns."""
    if len(coef) > MANY:  # a row of coefficients is then found quicker than its parts
        m = linear_predict(chunk.rows(), chunk.codes, coef, intercept)
        return m.astype(dtype, copy=False)
    out: NDArray[Any] = np.empty(len(chunk), dtype)
    by_feature = np.ascontiguousarray(coef.T)
    for start in range(0, len(chunk), BLOCK):
        rows = slice(start, start + BLOCK)
        code = chunk.codes[rows].astype(np.intp)
        total = intercept.take(code, mode="clip")
        term = np.empty(len(code))
        for slopes, column in zip(by_feature, chunk.columns, strict=True):
            np.take(slopes, code, out=term, mode="clip")
            term *= column[rows]
            total += term
        out[rows] = total
    return out


def histogram(held: Held, step: float, grid: Grid) -> NDArray[Any]:
    """How many rows, or how much weight, of A and of B each bin holds: (2, bins)."""
    return np.array(grid.count_both(held.at(step), held.in_a, held.weights))


def counted(
    chunk: Chunk, lines: tuple[tuple[Floats, Floats], ...], grid: Grid
) -> NDArray[Any]:
    """The histograms of predictions that nobody keeps: (2, bins)."""
    held = predicted(chunk, lines, float)
    # All at once: there are far more bins than rows in a block of `count_both`.
    cells = grid.index(held.m)
    cells[~held.in_a] += grid.bins
    both: NDArray[Any] = np.bincount(cells, held.weights, 2 * grid.bins)
    # No rows are counted in whole numbers, whatever rows weigh.
    both = both if held.weights is None else both.astype(float, copy=False)
    return both.reshape(2, -1)


def joined(chunks: Iterable[Chunk]) -> Chunk:
    """Chunks one after another."""
    parts = list(chunks)
    weights = [each.weights for each in parts if each.weights is not None]
    return Chunk(
        tuple(map(np.concatenate, zip(*(each.columns for each in parts), strict=True))),
        np.concatenate([each.y for each in parts]),
        np.concatenate([each.codes for each in parts]),
        np.concatenate([each.in_a for each in parts]),
        np.concatenate(weights) if weights else None,
    )


def turned(columns: tuple[Floats, ...], n_rows: int) -> Floats:
    """Columns side by side as rows, block by block to stay in the cache."""
    out = np.empty((n_rows, len(columns)))
    for start in range(0, n_rows if columns else 0, BLOCK):
        rows = slice(start, start + BLOCK)
        np.stack([each[rows] for each in columns], axis=1, out=out[rows])
    return out
