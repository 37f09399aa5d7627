"""A constraint asked of every task at once: its values, bands and directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints.base import ROUNDING, Constraint, Floats, Linear
from rankfair.constraints.mean import Mean
from rankfair.constraints.rank import Rank
from rankfair.constraints.residual import Residual
from rankfair.core.blocks import Ints
from rankfair.core.by_task import Segments

Array = NDArray[Any]


@dataclass(frozen=True)
class ByTask(ABC):
    """Values of the tasks of ``segments``, each with its own band.

    A task without both groups has nothing to balance: any value is allowed there.
    """

    segments: Segments
    forgiven: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def band(self) -> tuple[Array, Array]:
        """The least and the largest value allowed in each task: (k,) and (k,)."""

    @abstractmethod
    def values(self, m: Floats, unit: float = 1.0) -> Array:
        """The exact imbalance of each task; the standard unit of ``m`` is ``unit``."""

    @property
    @abstractmethod
    def level(self) -> Array:
        """The values where all rows of a task have one prediction: (k,)."""

    @abstractmethod
    def resolution(self) -> Array:
        """Differences too small to matter on the way to a solution."""

    @abstractmethod
    def gradient(self, m: Floats) -> Floats:
        """The derivative of each task's shown value by ``m_i``, per unit of weight."""

    @abstractmethod
    def show(self, values: Array) -> Floats:
        """The values as people read them, NaN without both groups."""

    @abstractmethod
    def of_tasks(self, places: Ints, segments: Segments, rows: Ints) -> ByTask:
        """The same demand on some tasks only."""

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
    def apart(self) -> Floats:
        """``1/n_A`` for rows of A and ``−1/n_B`` for rows of B, counted in the task."""
        s = self.segments
        up, down = np.zeros(len(s.sizes)), np.zeros(len(s.sizes))
        up[s.both], down[s.both] = 1.0 / s.total_a[s.both], -1.0 / s.total_b[s.both]
        g = np.where(s.groups.in_a, s.each_row(up), s.each_row(down))
        return s.groups.of_known(g)

    @property
    def start(self) -> Floats:
        """The first direction: that of the difference of the group means."""
        return self.apart


@dataclass(frozen=True)
class RankByTask(ByTask):
    """``|AUC − 1/2| ≤ ε`` within every task, as ``2U`` in whole half pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, False, True, False, False]))
    >>> every = RankByTask(Segments.of(np.array([2, 3]), groups), Rank(0.0))
    >>> every.values(np.array([1.0, 2.0, 2.0, 1.0, 3.0])).tolist()
    [0, 2]
    >>> [edge.tolist() for edge in every.band]
    [[0.0, 1.0], [2.0, 3.0]]
    """

    whole: Rank

    @cached_property
    def band(self) -> tuple[Array, Array]:
        """``2U`` within ``2ε`` pairs of the middle, never narrower than half a pair."""
        s = self.segments
        pairs = s.total_a * s.total_b
        # The factor forgives the rounding of ε itself, so that equality passes.
        width = np.maximum(2 * self.whole.epsilon * pairs * (1 + 1e-12), s.pair)
        width = np.floor(width) if s.whole else width
        rounding = 0.0 if s.whole else 1e-12 * pairs
        low = pairs - (0.0 if self.whole.side == "upper" else width) - rounding
        return (
            np.where(s.both, low, -np.inf),
            np.where(s.both, pairs + width + rounding, np.inf),
        )

    def values(self, m: Floats, unit: float = 1.0) -> Array:
        """``2U`` of each task, integers where the weights are whole."""
        return self.segments.twice_u(m)

    @property
    def level(self) -> Array:
        """Every pair a tie."""
        out: Array = self.segments.total_a * self.segments.total_b
        return out

    def resolution(self) -> Array:
        """A ten-thousandth of all pairs, but no less than one pair."""
        s = self.segments
        out: Array = np.maximum(2.0 * s.pair, 2e-4 * s.total_a * s.total_b)
        return out

    def gradient(self, m: Floats) -> Floats:
        """The other group's density, over the weight of one's own group."""
        s = self.segments
        mean, spread = s.spread(m)
        width = self.whole.bandwidth * spread
        density = s.densities(m, width, mean)
        # Where all predictions agree there is no density: the means lead the way.
        if not (width > 0).all():
            density[s.each_row(~(width > 0))] = 1.0
        return self.apart * density

    def show(self, values: Array) -> Floats:
        """AUC of each task."""
        s, out = self.segments, np.full(len(values), np.nan)
        pairs = 2.0 * s.total_a * s.total_b
        np.divide(values, pairs, out=out, where=s.both)
        return out

    def of_tasks(self, places: Ints, segments: Segments, rows: Ints) -> RankByTask:
        """The same demand on some tasks only."""
        return RankByTask(segments, self.whole)


@dataclass(frozen=True)
class LinearByTask(ByTask):
    """``whole``'s demand, on means or on mean residuals, within every task.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Mean
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, False, True, False, False]))
    >>> two = Segments.of(np.array([2, 3]), groups)
    >>> every = LinearByTask.on(two, Mean(0.0), np.zeros(5))
    >>> every.values(np.array([1.0, 2.0, 2.0, 1.0, 3.0])).tolist()
    [-1.0, 0.0]
    """

    forgiven: ClassVar[float] = 1e-6  # of a standard deviation

    whole: Linear
    g: Floats = field(repr=False)  # (N,), per unit of weight
    due: Floats = field(repr=False)  # (k,)

    @classmethod
    def on(cls, segments: Segments, whole: Linear, y: Floats) -> LinearByTask:
        """The demand once the target, in standard units, is known."""
        nothing = np.zeros(len(segments.sizes))
        bare = cls(segments, whole, np.zeros(0), nothing)
        if not isinstance(whole, Residual):
            return replace(bare, g=bare.apart)
        bare = replace(bare, g=-bare.apart)
        return replace(bare, due=bare.values(y))

    @cached_property
    def band(self) -> tuple[Array, Array]:
        """The values allowed, rounding forgiven."""
        low, high = self.whole.band(self.segments.groups)
        both = self.segments.both
        return np.where(both, low, -np.inf), np.where(both, high, np.inf)

    def values(self, m: Floats, unit: float = 1.0) -> Array:
        """``Σ_i g_i m_i`` of each task less what is due."""
        s = self.segments
        # Around the mean of its task a difference keeps its digits.
        v = m / unit
        v = v - s.each_row(s.spread(v)[0])
        out: Array = s.total(self.g * s.weights * v) - self.due
        return out

    @property
    def level(self) -> Array:
        """No difference, less what is due."""
        return -self.due

    def resolution(self) -> Array:
        """What rounding leaves of a mean."""
        return np.full(len(self.due), ROUNDING)

    def gradient(self, m: Floats) -> Floats:
        """The same for every ``m``."""
        return self.g

    @property
    def start(self) -> Floats:
        """Its own direction."""
        return self.g

    def show(self, values: Array) -> Floats:
        """The values themselves."""
        return np.where(self.segments.both, values, np.nan)

    def of_tasks(self, places: Ints, segments: Segments, rows: Ints) -> LinearByTask:
        """The same demand on some tasks only."""
        return LinearByTask(segments, self.whole, self.g[rows], self.due[places])


def in_every_task(constraint: Constraint, segments: Segments, y: Floats) -> ByTask:
    """The demand of a constraint on every task of the rows, whose target is ``y``."""
    if isinstance(constraint, Rank):
        return RankByTask(segments, constraint)
    if isinstance(constraint, Mean | Residual):
        return LinearByTask.on(segments, constraint, y)
    raise ValueError(
        f'{type(constraint).__name__} is no constraint that scope="task" knows; use '
        f"Rank, "
        "Mean or Residual"
    )
