"""What is done with the rows of one chunk: pure functions, small answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Floats, Ints
from rankfair.engines.base import Field
from rankfair.linear import linear_predict
from rankfair.ranks import Grid

if TYPE_CHECKING:
    from rankfair.problem import Groups

__all__ = ["Chunk", "Extent", "Held", "histogram", "moments", "predicted"]

STIR = 0.05


@dataclass(frozen=True)
class Chunk:
    """Some rows: features, target, task codes, group A or not, weights."""

    X: Floats  # (rows, n)
    y: Floats
    codes: Ints
    in_a: NDArray[np.bool_]
    weights: Floats | None
    first: int = 0  # how many rows came before

    def __len__(self) -> int:
        return len(self.y)


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
    found: list[NDArray[Any]] = [
        linear_predict(chunk.X, chunk.codes, *each).astype(dtype, copy=False)
        for each in lines
    ]
    p = found[1] if len(found) > 1 else None
    return Held(found[0], p, chunk.in_a, chunk.weights)


def histogram(held: Held, step: float, grid: Grid) -> NDArray[Any]:
    """How many rows, or how much weight, of A and of B each bin holds: (2, bins)."""
    return np.array(grid.count_both(held.at(step), held.in_a, held.weights))


def moments(
    chunk: Chunk,
    held: Held | None = None,
    *,
    field: Field,
    groups: Groups,
    about: Floats,
    n_tasks: int,
    step: float = 0.0,
    stir: int | None = None,
) -> Floats:
    """``Σ g_i (x_i − about)`` and ``Σ g_i`` of every task: (k, n + 1).

    Without predictions ``held`` the direction is one that does not ask for them.
    """
    part = groups.part(chunk.in_a, chunk.weights)
    g = field(chunk.y[:0] if held is None else held.at(step), part)
    if stir is not None:
        rng = np.random.default_rng((stir, chunk.first))
        g = g * rng.uniform(-STIR, STIR, len(g))
    if chunk.weights is not None:
        g = g * chunk.weights
    return task_sums(chunk, g, about, n_tasks)


def task_sums(chunk: Chunk, g: Floats, about: Floats, n_tasks: int) -> Floats:
    """``Σ g_i (x_i − about)`` and ``Σ g_i`` of every task: (k, n + 1)."""
    out = np.empty((n_tasks, chunk.X.shape[1] + 1))
    for f, centre in enumerate(about):
        out[:, f] = np.bincount(chunk.codes, g * (chunk.X[:, f] - centre), n_tasks)
    out[:, -1] = np.bincount(chunk.codes, g, n_tasks)
    return out
