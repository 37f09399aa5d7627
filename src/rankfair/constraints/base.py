"""What a constraint offers the solvers: a value with its band, and a direction."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.core.problem import Groups
from rankfair.core.ranks import Grid, blocks_of

ROUNDING = 1e-9  # of a standard deviation: what counts as equal

Floats = NDArray[np.float64]
Field = Callable[[Floats, Groups], Floats]


class Band(NamedTuple):
    """The values allowed, ends included."""

    low: float
    high: float

    def miss(self, value: float) -> float:
        """How far ``value`` lies outside: positive above, negative below, else 0."""
        return max(value - self.high, 0.0) + min(value - self.low, 0.0)


@dataclass(frozen=True)
class Tables:
    """A function of a prediction and its group, as a table for each group."""

    grid: Grid
    of_a: Floats
    of_b: Floats

    def __call__(self, m: Floats, groups: Groups) -> Floats:
        """Look every prediction up."""
        both, out = np.concatenate((self.of_b, self.of_a)), np.empty(len(m))
        for rows in blocks_of(len(m)):
            cells = self.grid.index(m[rows]) + self.grid.bins * groups.in_a[rows]
            np.take(both, cells, out=out[rows], mode="clip")
        return out


@dataclass(frozen=True)
class Level:
    """One number for the rows of A, another for those of B."""

    of_a: float
    of_b: float

    def __call__(self, m: Floats, groups: Groups) -> Floats:
        """The number of each row's group."""
        return np.where(groups.in_a, self.of_a, self.of_b)


@dataclass(frozen=True)
class Own:
    """The direction of a linear constraint, whatever the predictions."""

    constraint: Linear

    def __call__(self, m: Floats, groups: Groups) -> Floats:
        """Its direction in each row."""
        return self.constraint.direction(groups)


@dataclass(frozen=True)
class Constraint(ABC):
    """A demand on the predictions ``m`` of two groups.

    ``side="both"`` keeps the imbalance within ``±ε``, ``"upper"`` within ``[0, ε]``.
    """

    epsilon: float = 0.01
    side: str = "both"
    widest: ClassVar[float] = math.inf  # the largest ε that makes sense
    middle: ClassVar[float] = 0.0  # the shown value of perfect parity
    pairs: ClassVar[bool] = False  # whether its value counts pairs, 2U

    def on(self, y: Floats, groups: Groups) -> Constraint:
        """The same demand once the target (in standard units) is known."""
        return self

    @abstractmethod
    def band(self, groups: Groups) -> Band:
        """The values of ``value`` that satisfy the demand."""

    @abstractmethod
    def value(self, m: Floats, groups: Groups, unit: float = 1.0) -> float:
        """The exact imbalance of ``m``, whose standard unit is ``unit``."""

    def values(
        self, m: Floats, several: Sequence[Groups], unit: float = 1.0
    ) -> list[float]:
        """``value`` of the same rows for each of several pairs of groups."""
        return [self.value(m, groups, unit) for groups in several]

    def estimate(self, m: Floats, groups: Groups) -> tuple[float, float]:
        """A quick ``value`` and the most it can be off; exact for small data."""
        return self.value(m, groups), 0.0

    @abstractmethod
    def resolution(self, groups: Groups) -> float:
        """Differences of ``value`` too small to matter on the way to a solution."""

    @abstractmethod
    def field(self, m: Floats, groups: Groups) -> Field:
        """The derivative of the shown value, per unit of weight, at ``m``.

        A function of any predictions and groups, so that what was learnt on some rows
        can be asked of all; ``gradient`` asks it of ``m`` itself.
        """

    def gradient(self, m: Floats, groups: Groups) -> Floats:
        """The derivative of the shown value by each ``m_i``, per unit of weight."""
        return self.field(m, groups)(m, groups)

    @abstractmethod
    def show(self, value: float, groups: Groups) -> float:
        """The value as people read it."""

    def start(self, groups: Groups) -> Field:
        """The first direction: that of the difference of the group means."""
        return Level(1.0 / groups.total_a, -1.0 / groups.total_b)


def apart(groups: Groups) -> Floats:
    """``1/n_A`` for rows of A, ``−1/n_B`` for rows of B."""
    return np.where(groups.in_a, 1.0 / groups.total_a, -1.0 / groups.total_b)


@dataclass(frozen=True)
class Linear(Constraint):
    """A constraint whose value is ``Σ_i g_i m_i`` less what is due, with a fixed ``g``.

    Values are in standard deviations of the target.  Any number of linear constraints
    can be asked for together, and beside another one.
    """

    due: float = field(default=0.0, repr=False)

    def on(self, y: Floats, groups: Groups) -> Linear:
        """The same demand once the target (in standard units) is known."""
        return self

    @abstractmethod
    def direction(self, groups: Groups) -> Floats:
        """``g_i`` of every row, per unit of weight."""

    def allowed(self) -> Band:
        """The values that satisfy the demand, without room for rounding."""
        return Band(0.0 if self.side == "upper" else -self.epsilon, self.epsilon)

    def band(self, groups: Groups) -> Band:
        """The values that satisfy the demand, rounding forgiven."""
        low, high = self.allowed()
        return Band(min(low, -ROUNDING), max(high, ROUNDING))

    def value(self, m: Floats, groups: Groups, unit: float = 1.0) -> float:
        """``Σ_i g_i m_i`` less what is due, in standard deviations of the target."""
        g = self.direction(groups)
        if groups.weights is not None:
            g = g * groups.weights
        return float(g @ (m / unit)) - self.due

    def resolution(self, groups: Groups) -> float:
        """What rounding leaves of a mean."""
        return ROUNDING

    def field(self, m: Floats, groups: Groups) -> Field:
        """The same for every ``m``."""
        return Own(self)

    def start(self, groups: Groups) -> Field:
        """Its own direction, which may lead the other way than that of the means."""
        return Own(self)

    def show(self, value: float, groups: Groups) -> float:
        """The value itself."""
        return value
