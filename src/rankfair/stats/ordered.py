"""Predictions, sorted once; each comparison is then a few passes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.input.arrays import Bools, Codes, Floats


@dataclass(frozen=True)
class Ordered:
    """Rows in the order of their predictions, or of tasks and then predictions.

    Attributes
    ----------
    order : integer ndarray of shape (N,)
        The rows, lowest prediction first (within each task).
    values : ndarray of shape (N,)
        The predictions in that order.
    exact : ndarray of shape (N,)
        What tells predictions apart: themselves, or numbers of the same order where
        floats tie whole numbers that differ.
    starts : integer ndarray or None
        Where each run of equal predictions (of one task) begins; None if no two are
        equal.
    segments : integer ndarray
        Where each task begins; ``[0]`` without tasks.

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
    exact: Floats
    starts: Codes | None
    segments: Codes

    @classmethod
    def of(cls, predicted: Floats, exact: Floats | None = None) -> Ordered:
        """Sort rows by prediction, or by numbers of the same order and exact ties."""
        exact = predicted if exact is None else exact
        order = np.argsort(exact)
        return cls._of_sorted(order, predicted[order], exact[order])

    @classmethod
    def _of_sorted(
        cls, order: Codes, values: Floats, exact: Floats, tasks: Codes | None = None
    ) -> Ordered:
        """Find the runs of equal predictions, and the tasks, of sorted rows."""
        new, segments = exact[1:] != exact[:-1], np.zeros(1, int)
        if tasks is not None:
            new_task = tasks[1:] != tasks[:-1]
            new, segments = new | new_task, _starts(new_task)
        return cls(order, values, exact, None if new.all() else _starts(new), segments)

    def by_task(self, tasks: Codes) -> Ordered:
        """Return the rows sorted by task first; one pass more, not a sort of floats."""
        codes = tasks[self.order]
        # Short integers are sorted by counting them.
        small = codes.astype(np.uint16) if codes.max() < 1 << 16 else codes
        inner = np.argsort(small, kind="stable")
        order, values, exact = self.order[inner], self.values[inner], self.exact[inner]
        return self._of_sorted(order, values, exact, codes[inner])

    def among(self, places: Codes) -> Ordered:
        """Return some rows, by ascending places in the order; nothing is sorted again.

        Examples
        --------
        >>> import numpy as np
        >>> rows = Ordered.of(np.array([3.0, 1.0, 2.0, 1.0]))
        >>> few = rows.among(np.array([0, 2, 3]))
        >>> few.order.tolist(), few.values.tolist(), few.starts
        ([1, 2, 0], [1.0, 2.0, 3.0], None)
        """
        if len(places) == len(self.order):
            return self
        tasks = None
        if len(self.segments) > 1:
            sizes = np.diff(self.segments, append=len(self.order))
            tasks = np.repeat(np.arange(len(sizes)), sizes)[places]
        order, values = self.order[places], self.values[places]
        return self._of_sorted(order, values, self.exact[places], tasks)

    def below(self, mass: NDArray[Any]) -> Floats:
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
        at, several = self.segments, len(self.segments) > 1
        up_to = mass = mass.astype(np.float64)
        if several:
            # Scale each task to a mass of about 1, by a power of two (which is exact),
            # and restart the sum there: large tasks do not round small ones.
            sizes = np.diff(at, append=len(mass))
            exponents = np.repeat(np.frexp(np.add.reduceat(mass, at))[1], sizes)
            mass = np.ldexp(mass, -exponents)
            up_to = mass.copy()
            up_to[at[1:]] -= np.add.reduceat(mass, at)[:-1]
        up_to = np.cumsum(up_to)
        if several:
            up_to -= np.repeat(up_to[at] - mass[at], sizes)
        ends = self.ends()
        if self.starts is None or ends is None:
            found = up_to - 0.5 * mass
        else:
            last = up_to[ends]
            first = np.concatenate(([0.0], last[:-1]))
            first[np.searchsorted(self.starts, at)] = 0.0
            runs = np.diff(self.starts, append=len(mass))
            found = np.repeat((first + last) / 2, runs)
        back: Floats = np.ldexp(found, exponents) if several else found
        return back

    def ends(self) -> Codes | None:
        """Return the last row of each run of equal predictions; None if all differ."""
        if self.starts is None:
            return None
        return np.append(self.starts[1:], len(self.values)) - 1


def _starts(new: Bools) -> Codes:
    """The first place, and each that ``new`` says differs from the one before."""
    return np.concatenate(([0], np.flatnonzero(new) + 1))


def is_whole(mass: Floats) -> bool:
    """Tell whether all weights are whole numbers, whose sums are exact."""
    return bool((mass == np.rint(mass)).all()) and float(mass.sum()) < 2.0**53


def snapped(auc: Floats, rounding: float = 1e-9) -> Floats:
    """Return AUCs of weighted rows; those within rounding of 0 or 1 are set to it."""
    near = np.where(auc < rounding, 0.0, np.where(auc > 1.0 - rounding, 1.0, auc))
    return near.astype(np.float64)


def placements(
    predicted: Floats, in_a: Bools, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return the share of the other group below each row of A, and of B, ties half."""
    rows, placed = Ordered.of(predicted), []
    mass = np.ones(len(predicted)) if weights is None else weights
    for group in (in_a, ~in_a):
        others, below = mass * ~group, np.empty(len(mass))
        below[rows.order] = rows.below(others[rows.order])
        placed.append(below[group] / others.sum())
    return placed[0], placed[1]
