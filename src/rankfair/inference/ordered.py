"""Predictions sorted once: every comparison after that is a few passes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ordered", "is_whole", "snapped"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Array = NDArray[Any]
EDGE = 1e-9  # sums of many weights are not rounded by more


@dataclass(frozen=True)
class Ordered:
    """Rows in the order of their predictions, or of tasks and then predictions.

    Attributes
    ----------
    order : integer ndarray of shape (N,)
        The rows, lowest prediction first (within each task).
    values : ndarray of shape (N,)
        The predictions in that order.
    starts : integer ndarray or None
        Where each run of equal predictions (of one task) begins; None if no two are
        equal.
    segments : integer ndarray
        Where each task begins; ``[0]`` without tasks.
    ranked : ndarray of shape (N,) or None
        What tells predictions apart, where floats tie whole numbers that differ.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Ordered.of(np.array([3.0, 1.0, 2.0, 1.0]))
    >>> rows.order.tolist(), rows.starts.tolist()
    ([1, 3, 2, 0], [0, 2, 3])
    >>> rows.below(np.array([True, False, True, True])[rows.order]).tolist()
    [0.5, 0.5, 1.5, 2.5]
    """

    order: Codes
    values: Floats
    starts: Codes | None
    segments: Codes
    ranked: Floats | None = None

    @classmethod
    def of(cls, predicted: Floats, ranked: Floats | None = None) -> Ordered:
        """Sort rows by prediction, or by numbers of the same order and exact ties."""
        if ranked is None:
            order = np.argsort(predicted)
        else:
            order = np.argsort(ranked)
            ranked = ranked[order]
        values = predicted[order]
        told = values if ranked is None else ranked
        starts = _starts(told[1:] != told[:-1])
        return cls(order, values, starts, np.zeros(1, int), ranked)

    @property
    def told(self) -> Floats:
        """What tells predictions apart: themselves, unless there is better."""
        return self.values if self.ranked is None else self.ranked

    def by_task(self, tasks: Codes) -> Ordered:
        """Return the rows sorted by task first; one pass more, not a sort of floats."""
        codes = tasks[self.order]
        n_tasks = int(codes.max()) + 1
        # Short integers are sorted by counting them.
        small = codes.astype(np.uint16) if n_tasks <= 1 << 16 else codes
        inner = np.argsort(small, kind="stable")
        order, values, codes = self.order[inner], self.values[inner], codes[inner]
        ranked = None if self.ranked is None else self.ranked[inner]
        told = values if ranked is None else ranked
        new_task = codes[1:] != codes[:-1]
        starts = _starts(new_task | (told[1:] != told[:-1]))
        segments = np.concatenate(([0], np.flatnonzero(new_task) + 1))
        return Ordered(order, values, starts, segments, ranked)

    def among(self, kept: NDArray[np.bool_]) -> Ordered:
        """Return some of the rows in the same order; nothing is sorted again.

        Parameters
        ----------
        kept : boolean ndarray of shape (N,)
            Which ones, in the order of the predictions; at least one.

        Returns
        -------
        Ordered
            ``order`` names the same rows as before.

        Examples
        --------
        >>> import numpy as np
        >>> rows = Ordered.of(np.array([3.0, 1.0, 2.0, 1.0]))
        >>> few = rows.among(np.array([True, False, True, True]))
        >>> few.order.tolist(), few.values.tolist(), few.starts
        ([1, 2, 0], [1.0, 2.0, 3.0], None)
        """
        if kept.all():
            return self
        order, values = self.order[kept], self.values[kept]
        ranked = None if self.ranked is None else self.ranked[kept]
        told = values if ranked is None else ranked
        new = told[1:] != told[:-1]
        segments = np.zeros(1, int)
        if len(self.segments) > 1:
            sizes = np.diff(self.segments, append=len(kept))
            place = np.repeat(np.arange(len(sizes)), sizes)[kept]
            new_task = place[1:] != place[:-1]
            segments = np.concatenate(([0], np.flatnonzero(new_task) + 1))
            new |= new_task
        return Ordered(order, values, _starts(new), segments, ranked)

    def below(self, mass: Array) -> Floats:
        """Return how much of ``mass`` is below each row (of its task), ties half.

        Parameters
        ----------
        mass : ndarray of shape (N,)
            In the order of the predictions; True counts one.

        Returns
        -------
        ndarray of shape (N,)
            In the same order.
        """
        if len(self.segments) > 1 and not is_whole(mass):
            return self._below_in_tasks(mass)
        up_to = np.cumsum(mass, dtype=np.float64)
        if self.starts is None:
            found = up_to - 0.5 * mass
        else:
            ends = np.append(self.starts[1:], len(mass)) - 1
            last = up_to[ends]
            first = np.concatenate(([0.0], last[:-1]))
            found = np.repeat(
                (first + last) / 2, np.diff(self.starts, append=len(mass))
            )
        if len(self.segments) > 1:
            before = np.where(self.segments > 0, up_to[self.segments - 1], 0.0)
            found -= np.repeat(before, np.diff(self.segments, append=len(mass)))
        return found

    def _below_in_tasks(self, mass: Floats) -> Floats:
        """`below` for fractions: a task is not rounded by the weight of another.

        Each task is scaled to a mass of about 1 (by a power of two, which is exact),
        and the sum starts anew with it.
        """
        at, sizes = self.segments, np.diff(self.segments, append=len(mass))
        _, exponents = np.frexp(np.add.reduceat(mass, at))
        scaled = np.ldexp(mass, np.repeat(-exponents, sizes))
        anew = scaled.copy()
        anew[at[1:]] -= np.add.reduceat(scaled, at)[:-1]
        up_to = np.cumsum(anew)
        before = up_to[at] - scaled[at]
        up_to -= np.repeat(before, sizes)
        if self.starts is None:
            found = up_to - 0.5 * scaled
        else:
            ends = np.append(self.starts[1:], len(mass)) - 1
            last = up_to[ends]
            first = np.concatenate(([0.0], last[:-1]))
            first[np.searchsorted(self.starts, at)] = 0.0
            runs = np.diff(self.starts, append=len(mass))
            found = np.repeat((first + last) / 2, runs)
        back: Floats = np.ldexp(found, np.repeat(exponents, sizes))
        return back

    def ends(self) -> Codes | None:
        """Return the last row of each run of equal predictions; None if all differ."""
        if self.starts is None:
            return None
        return np.append(self.starts[1:], len(self.values)) - 1


def is_whole(mass: Array) -> bool:
    """Tell whether all weights are whole numbers, whose sums are exact."""
    if mass.dtype.kind != "f":
        return True
    return bool((mass == np.rint(mass)).all()) and float(mass.sum()) < 2.0**53


def snapped(auc: Floats) -> Floats:
    """Return AUCs of weighted rows within [0, 1], those of groups apart 0 or 1.

    Examples
    --------
    >>> snapped(np.array([1.0000000000000002, 0.7, 1e-17])).tolist()
    [1.0, 0.7, 0.0]
    """
    near = np.where(auc < EDGE, 0.0, np.where(auc > 1.0 - EDGE, 1.0, auc))
    return near.astype(np.float64)


def _starts(new: NDArray[np.bool_]) -> Codes | None:
    if new.all():
        return None
    return np.concatenate(([0], np.flatnonzero(new) + 1))
