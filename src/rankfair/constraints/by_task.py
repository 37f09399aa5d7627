"""A constraint asked of every task at once: its values, bands and directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints.base import KEPT, ROUNDING, Constraint, Floats
from rankfair.core.blocks import Ints
from rankfair.core.by_task import Segments
from rankfair.input.errors import Argument, InputError

Array = NDArray[Any]


@dataclass(frozen=True)
class ByTask:
    """``whole``'s demand on each task of ``segments``, with a band of its own.

    Values are ``2U`` in whole half pairs, or ``Σ_i g_i m_i`` less what is ``due``.  A
    task without both groups has nothing to balance: any value is allowed there.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Rank
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, False, True, False, False]))
    >>> two = Segments(np.array([2, 3]), groups)
    >>> every = in_every_task(Rank(0.0), two, np.zeros(5))
    >>> every.values(np.array([1.0, 2.0, 2.0, 1.0, 3.0])).tolist()
    [0, 2]
    >>> every.low.tolist(), every.high.tolist()
    ([0.0, 1.0], [2.0, 3.0])
    """

    segments: Segments
    whole: Constraint  # as it is asked of all rows
    low: Array  # (k,), the least value allowed
    high: Array  # (k,), the largest
    level: Array  # (k,), the values where all rows of a task have one prediction
    fine: Array  # (k,), differences too small to matter on the way to a solution
    unit: Array  # (k,), how much of the value is one unit as people read it
    due: Array  # (k,)
    forgiven: float  # how far outside its band a value may be

    def values(self, m: Floats) -> Array:
        """The exact imbalance of each task, ``m`` in standard units."""
        s = self.segments
        if self.whole.pairs:
            return s.twice_u(m)
        # Around the mean of its task a difference keeps its digits.
        off = m - s.each_row(s.means(m))
        out: Array = s.total(self.direction * s.weights * off) - self.due
        return out

    @cached_property
    def direction(self) -> Floats:
        """``±1/n_A`` in A and ``∓1/n_B`` in B, counted in the task."""
        s, sign = self.segments, self.whole.sign
        up, down = np.zeros(len(s.sizes)), np.zeros(len(s.sizes))
        up[s.both], down[s.both] = sign / s.total_a[s.both], -sign / s.total_b[s.both]
        g = np.where(s.groups.in_a, s.each_row(up), s.each_row(down))
        return s.groups.of_known(g)

    def of_tasks(self, places: Ints) -> tuple[ByTask, Ints]:
        """The same constraint on some tasks only, and their rows."""
        segments, rows = self.segments.take(places)
        names = ("low", "high", "level", "fine", "unit", "due")
        some = {name: getattr(self, name)[places] for name in names}
        return replace(self, segments=segments, **some), rows

    def show(self, values: Array) -> Floats:
        """The values as people read them, NaN without both groups."""
        out = np.full(len(values), np.nan)
        np.divide(values, self.unit, out=out, where=self.segments.both)
        return out

    def misses(self, values: Array) -> Floats:
        """How far each lies outside its band: positive above, negative below."""
        above, below = np.maximum(values - self.high, 0.0), self.low - values
        out: Floats = above - np.maximum(below, 0.0)
        return out

    def kept(self, values: Array) -> NDArray[np.bool_]:
        """Which values lie in their band, but for rounding."""
        found: NDArray[np.bool_] = np.abs(self.misses(values)) <= self.forgiven
        return found


def in_every_task(constraint: Constraint, segments: Segments, y: Floats) -> ByTask:
    """The demand of a constraint on every task of the rows, whose target is ``y``."""
    if not constraint.by_task:
        raise InputError(
            "constraints",
            ("cannot be asked of every task, as ", Argument("scope", "task"), " does"),
            type(constraint).__name__,
            ("Use ", Argument("scope", "global"), "."),
        )
    found = (_of_pairs if constraint.pairs else _of_means)(constraint, segments, y)
    none = ~segments.both
    low, high = np.where(none, -np.inf, found.low), np.where(none, np.inf, found.high)
    return replace(found, low=low, high=high)


def _of_pairs(constraint: Constraint, s: Segments, y: Floats) -> ByTask:
    """``2U`` within ``2ε`` pairs of the middle, never narrower than half a pair."""
    pairs = s.total_a * s.total_b
    # The factor forgives the rounding of ε itself, so that equality passes.
    width = np.maximum(2 * constraint.epsilon * pairs * (1 + 1e-12), s.pair)
    width = np.floor(width) if s.whole else width
    rounding = 0.0 if s.whole else 1e-12 * pairs
    low = pairs - (0.0 if constraint.side == "upper" else width) - rounding
    high = pairs + width + rounding
    # A step of few pairs is worth closing in on.
    fine = np.where(2e-4 * pairs > 2.0 * s.pair, 2e-4 * pairs, -1.0)
    return ByTask(s, constraint, low, high, pairs, fine, 2 * pairs, 0 * pairs, 0.0)


def _of_means(constraint: Constraint, s: Segments, y: Floats) -> ByTask:
    """The values allowed, rounding forgiven; the gap of targets is due to residuals."""
    low, high = constraint.band(s.groups)
    none = np.zeros(len(s.sizes))
    ends = low + none, high + none
    found = ByTask(s, constraint, *ends, none, ROUNDING + none, 1.0 + none, none, KEPT)
    if constraint.sign > 0:
        return found
    due = found.values(y)
    return replace(found, due=due, level=-due)
