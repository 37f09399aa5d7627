"""A constraint asked of every task at once: its values, bands and directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints.base import KEPT, ROUNDING, Constraint, Floats
from rankfair.constraints.linear import Linear
from rankfair.core.blocks import Ints
from rankfair.core.by_task import Segments

Array = NDArray[Any]


@dataclass(frozen=True)
class ByTask(ABC):
    """Values of the tasks of ``segments``, each with its own band.

    A task without both groups has nothing to balance: any value is allowed there.
    """

    segments: Segments
    whole: Constraint  # as it is asked of all rows
    forgiven: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def band(self) -> tuple[Array, Array]:
        """The least and the largest value allowed in each task: (k,) and (k,)."""

    @abstractmethod
    def values(self, m: Floats) -> Array:
        """The exact imbalance of each task, ``m`` in standard units."""

    @property
    @abstractmethod
    def level(self) -> Array:
        """The values where all rows of a task have one prediction: (k,)."""

    @property
    @abstractmethod
    def fine(self) -> Array:
        """Differences too small to matter on the way to a solution."""

    @property
    @abstractmethod
    def unit(self) -> Array:
        """How much of the value is one unit as people read it: (k,)."""

    def of_tasks(self, places: Ints) -> tuple[ByTask, Ints]:
        """The same demand on some tasks only, and their rows."""
        segments, rows = self.segments.take(places)
        return replace(self, segments=segments), rows

    def show(self, values: Array) -> Floats:
        """The values as people read them, NaN without both groups."""
        out = np.full(len(values), np.nan)
        np.divide(values, self.unit, out=out, where=self.segments.both)
        return out

    def kept(self, values: Array) -> NDArray[np.bool_]:
        """Which values lie in their band, but for rounding."""
        found: NDArray[np.bool_] = np.abs(self.misses(values)) <= self.forgiven
        return found

    def misses(self, values: Array) -> Floats:
        """How far each lies outside its band: positive above, negative below."""
        low, high = self.band
        out: Floats = np.maximum(values - high, 0.0) + np.minimum(values - low, 0.0)
        return out

    @cached_property
    def direction(self) -> Floats:
        """``1/n_A`` for rows of A and ``−1/n_B`` for rows of B, counted in the task."""
        s = self.segments
        up, down = np.zeros(len(s.sizes)), np.zeros(len(s.sizes))
        up[s.both], down[s.both] = 1.0 / s.total_a[s.both], -1.0 / s.total_b[s.both]
        g = np.where(s.groups.in_a, s.each_row(up), s.each_row(down))
        return s.groups.of_known(g)


@dataclass(frozen=True)
class RankByTask(ByTask):
    """``|AUC − 1/2| ≤ ε`` within every task, as ``2U`` in whole half pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Rank
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, False, True, False, False]))
    >>> every = RankByTask(Segments.of(np.array([2, 3]), groups), Rank(0.0))
    >>> every.values(np.array([1.0, 2.0, 2.0, 1.0, 3.0])).tolist()
    [0, 2]
    >>> [edge.tolist() for edge in every.band]
    [[0.0, 1.0], [2.0, 3.0]]
    """

    @cached_property
    def band(self) -> tuple[Array, Array]:
        """``2U`` within ``2ε`` pairs of the middle, never narrower than half a pair."""
        s, pairs = self.segments, self.level
        # The factor forgives the rounding of ε itself, so that equality passes.
        width = np.maximum(2 * self.whole.epsilon * pairs * (1 + 1e-12), s.pair)
        width = np.floor(width) if s.whole else width
        rounding = 0.0 if s.whole else 1e-12 * pairs
        low = pairs - (0.0 if self.whole.side == "upper" else width) - rounding
        return (
            np.where(s.both, low, -np.inf),
            np.where(s.both, pairs + width + rounding, np.inf),
        )

    def values(self, m: Floats) -> Array:
        """``2U`` of each task, integers where the weights are whole."""
        return self.segments.twice_u(m)

    @property
    def level(self) -> Array:
        """Every pair a tie."""
        out: Array = self.segments.total_a * self.segments.total_b
        return out

    @property
    def fine(self) -> Array:
        """A ten-thousandth of all pairs; a step of few pairs is worth closing in on."""
        fine, few = 2e-4 * self.level, 2.0 * self.segments.pair
        return np.where(fine > few, fine, -1.0)

    @property
    def unit(self) -> Array:
        """All half pairs."""
        return 2 * self.level


@dataclass(frozen=True)
class LinearByTask(ByTask):
    """A demand on means or on mean residuals within every task.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Mean
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, False, True, False, False]))
    >>> two = Segments.of(np.array([2, 3]), groups)
    >>> every = LinearByTask(two, Mean(0.0))
    >>> every.values(np.array([1.0, 2.0, 2.0, 1.0, 3.0])).tolist()
    [-1.0, 0.0]
    """

    whole: Linear
    due: Array = field(default_factory=lambda: np.zeros(1), repr=False)  # (k,) or 0
    forgiven: ClassVar[float] = KEPT

    @cached_property
    def band(self) -> tuple[Array, Array]:
        """The values allowed, rounding forgiven."""
        low, high = self.whole.band(self.segments.groups)
        both = self.segments.both
        return np.where(both, low, -np.inf), np.where(both, high, np.inf)

    def values(self, m: Floats) -> Array:
        """``Σ_i g_i m_i`` of each task less what is due."""
        s = self.segments
        # Around the mean of its task a difference keeps its digits.
        off = m - s.each_row(s.means(m))
        out: Array = s.total(self.direction * s.weights * off) - self.due
        return out

    @cached_property
    def direction(self) -> Floats:
        """That of the constraint, counted in the task."""
        return self.whole.sign * super().direction

    @property
    def level(self) -> Array:
        """No difference, less what is due."""
        return np.zeros(len(self.segments.sizes)) - self.due

    @property
    def fine(self) -> Array:
        """What rounding leaves of a mean."""
        return np.full(len(self.segments.sizes), ROUNDING)

    @property
    def unit(self) -> Array:
        """The value itself."""
        return np.ones(len(self.segments.sizes))

    def of_tasks(self, places: Ints) -> tuple[ByTask, Ints]:
        """The same demand on some tasks only, and their rows."""
        segments, rows = self.segments.take(places)
        return LinearByTask(segments, self.whole, self.due[places]), rows


def in_every_task(constraint: Constraint, segments: Segments, y: Floats) -> ByTask:
    """The demand of a constraint on every task of the rows, whose target is ``y``."""
    if constraint.by_task and constraint.pairs:
        return RankByTask(segments, constraint)
    if constraint.by_task and isinstance(constraint, Linear):
        bare = LinearByTask(segments, constraint)
        due = bare.values(y) if constraint.sign < 0 else np.zeros(len(segments.sizes))
        return replace(bare, due=due)
    raise ValueError(
        f'constraints="{type(constraint).__name__.lower()}" cannot be asked of every '
        'task: scope="task" knows "rank", "mean" and "residual". Use scope="global".'
    )
