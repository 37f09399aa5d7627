"""What a constraint offers the solvers: a value with its band, and its slope."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.core.problem import Groups

Floats = NDArray[np.float64]

ROUNDING = 1e-9  # of a standard deviation: what counts as equal
KEPT = 1e-6  # the same, where several values are met together


class Band(NamedTuple):
    """The values allowed, ends included."""

    low: float
    high: float

    def miss(self, value: float) -> float:
        """How far ``value`` lies outside: positive above, negative below, else 0."""
        return max(value - self.high, 0.0) + min(value - self.low, 0.0)


@dataclass(frozen=True)
class Constraint(ABC):
    """A demand on the predictions ``m`` of two groups.

    ``side="both"`` keeps the imbalance within ``±ε``, ``"upper"`` within ``[0, ε]``.
    One of your own has `band`, `value` and `slope`.  What it can do beyond that is
    said by its class variables.
    """

    epsilon: float = 0.01
    side: str = "both"
    widest: ClassVar[float] = math.inf  # the largest ε that makes sense
    middle: ClassVar[float] = 0.0  # the shown value of perfect parity
    pairs: ClassVar[bool] = False  # whether its value counts pairs, 2U
    linear: ClassVar[bool] = False  # whether its value is linear in the predictions
    sign: ClassVar[float] = 1.0  # of the difference of mean predictions
    by_task: ClassVar[bool] = False  # whether it can be asked of every task at once
    two_groups_only: ClassVar[bool] = False  # of no more than two
    on_histograms: ClassVar[bool] = False  # whether those, or means, of groups tell it

    def on(self, y: Floats, groups: Groups) -> Constraint:
        """The same constraint, once the target (in standard units) is known."""
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

    @abstractmethod
    def slope(self, m: Floats, groups: Groups) -> Floats:
        """The derivative of the shown value by each ``m_i``, per unit of weight."""

    def slopes(self, m: Floats, several: Sequence[Groups]) -> list[Floats]:
        """``slope`` of the same rows for each of several pairs of groups."""
        return [self.slope(m, groups) for groups in several]

    def show(self, value: float, groups: Groups) -> float:
        """The value as people read it: a linear function of it."""
        return value

    def direction(self, groups: Groups) -> Floats:
        """``g_i``, per unit of weight: ``±1/n_A`` in A and ``∓1/n_B`` in B."""
        return np.where(groups.in_a, *self.levels(groups))

    def levels(self, groups: Groups) -> tuple[float, float]:
        """The direction of every row of A, and of B."""
        return self.sign / groups.total_a, -self.sign / groups.total_b

    def slack(self, groups: Groups) -> float:
        """How far outside its band ``value`` may end where several are met together."""
        return KEPT
