"""What a fit asks of the rows, wherever they are.

A solver sees rows through two small interfaces.  An `Engine` knows sums over the rows
(``XᵀX`` and ``Xᵀy`` of every task) and counts pairs; a `Moving` is the predictions of
all rows along a line of coefficients, of which a solver may learn a balance's value,
its direction, and the moments ``Xᵀg`` of a direction ``g``.  What passes through them
is (k, n, n) once and (k, n + 1), or a table of bins, a step: never a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Blocks, Floats

if TYPE_CHECKING:
    from rankfair.problem import Groups, Problem

__all__ = ["Asked", "Engine", "Field", "Moving"]

Field = Callable[[Floats, "Groups"], Floats]
B = TypeVar("B", bound="Asked")


class Asked(Protocol):
    """What an engine asks of a balance."""

    def on(self, y: Floats, groups: Any) -> Any:
        """The same demand once the target is known."""

    def value(self, m: Floats, groups: Any, unit: float = 1.0) -> float:
        """The exact value of predictions."""

    def estimate(self, m: Floats, groups: Any) -> tuple[float, float]:
        """A quick value, and the most it can be off."""

    def field(self, m: Floats, groups: Any) -> Field:
        """The derivative as a function of a prediction and its group."""


class Moving(Protocol):
    """The predictions ``m(x)`` of all rows, as the coefficients move with ``x``."""

    def along(self, slope: Floats) -> Moving:
        """The line from here whose coefficients fall by ``slope``."""

    def estimate(self, balance: Asked, x: float) -> tuple[float, float]:
        """The balance's value at ``x``, quickly, and the most it can be off."""

    def bend(self, balance: Asked, x: float) -> tuple[Field, Floats]:
        """The balance's direction at ``x``, and its moments there."""

    def moments(self, field: Field, x: float, stir: int | None = None) -> Floats:
        """The moments of a direction at ``x``; with ``stir`` of a random part of it."""

    def released(self) -> Moving:
        """The same with nothing in it, where memory is short."""


@dataclass(frozen=True)
class Engine(ABC):
    """Rows by task, in standard units, wherever they are.

    ``blocks`` says how features are centred; its rows may be elsewhere.  Its ``gram``
    is in standard units: of all that a fit keeps it is the largest, and is there once.
    """

    blocks: Blocks
    scale: Floats  # (n,): z's coefficient is scale * w; 0 for a constant column
    varies: NDArray[np.bool_]  # (k, n): whether the column varies within the task
    y_centre: float
    y_unit: float
    beta_unit: float  # what one unit of y is worth to the penalty
    counts: Floats  # (k,) rows or weight of each place
    groups: Groups | None  # of the rows sorted by task
    user_groups: Groups | None  # of the rows as the user gave them
    # What one unit of weight was to the user.
    weight_unit: float = field(default=1.0, kw_only=True)

    @property
    def loss_unit(self) -> float:
        """What one unit of the objective is to the user."""
        return self.beta_unit * self.beta_unit * self.weight_unit

    @property
    def n_tasks(self) -> int:
        """How many tasks."""
        return len(self.counts)

    @property
    def n_features(self) -> int:
        """How many features."""
        return len(self.scale)

    @property
    def gram(self) -> Floats:
        """``Xᵀ S X`` of every task in standard units: (k, n, n)."""
        return self.blocks.gram

    @cached_property
    @abstractmethod
    def target_moments(self) -> Floats:
        """``Xᵀ S y`` of every task: (k, n + 1)."""

    @cached_property
    @abstractmethod
    def y_squares(self) -> float:
        """``Σ s_i y_i²`` in standard units."""

    @abstractmethod
    def line(
        self, W: Floats, slope: Floats | None = None, start: float = 0.0
    ) -> Moving:
        """Predictions of ``W − (x − start) slope`` as a function of ``x``."""

    @abstractmethod
    def count_of(self, balance: Asked, coef: Floats, intercept: Floats) -> float:
        """The balance's value of the predictions of these coefficients."""

    def count(self, balance: Asked, W: Floats) -> float:
        """The balance's value of the predictions the user will see."""
        return self.count_of(balance, *self.user_coef(W))

    @abstractmethod
    def posed(self, balance: B) -> B:
        """A balance that knows the target and the groups."""

    @abstractmethod
    def demand_moments(self, demand: Any) -> Floats:
        """The moments of the direction of a linear balance: (k, n + 1)."""

    @abstractmethod
    def thinned(self) -> Problem | Engine:
        """A problem much like this one on some of the rows, or this one."""

    def user_coef(self, W: Floats) -> tuple[Floats, Floats]:
        """Coefficients (k, n) and intercepts (k,) in the user's units and tasks."""
        coef = np.empty((self.n_tasks, self.n_features))
        intercept = np.empty(self.n_tasks)
        slopes = W[: self.n_tasks, :-1] * self.scale
        at_centre = W[: self.n_tasks, -1] - (slopes * self.blocks.centre).sum(axis=1)
        coef[self.blocks.tasks] = slopes * self.blocks.unit * self.y_unit
        intercept[self.blocks.tasks] = (at_centre + self.y_centre) * self.y_unit
        return coef, intercept

    def user_shared(self, W: Floats) -> tuple[Floats, float] | None:
        """The model all tasks lean on, for a task never seen, if there is one."""
        if len(W) == self.n_tasks:
            return None
        share = self.counts / self.counts.sum()
        slopes = W[-1, :-1] * self.scale
        at_centre = share @ (W[:-1, -1] - self.blocks.centre @ slopes)
        coef = slopes * self.blocks.unit * self.y_unit
        return coef, float((at_centre + self.y_centre) * self.y_unit)
