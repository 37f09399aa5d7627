"""Predictions sorted once: every comparison after that is a few passes over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ordered"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Array = NDArray[Any]


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

    @classmethod
    def of(cls, predicted: Floats) -> Ordered:
        """Sort rows by prediction."""
        order = np.argsort(predicted)
        values = predicted[order]
        return cls(order, values, _starts(values[1:] != values[:-1]), np.zeros(1, int))

    def by_task(self, tasks: Codes) -> Ordered:
        """Return the rows sorted by task first; one pass more, not a sort of floats."""
        codes = tasks[self.order]
        n_tasks = int(codes.max()) + 1
        # Short integers are sorted by counting them.
        small = codes.astype(np.uint16) if n_tasks <= 1 << 16 else codes
        inner = np.argsort(small, kind="stable")
        order, values, codes = self.order[inner], self.values[inner], codes[inner]
        new_task = codes[1:] != codes[:-1]
        starts = _starts(new_task | (values[1:] != values[:-1]))
        segments = np.concatenate(([0], np.flatnonzero(new_task) + 1))
        return Ordered(order, values, starts, segments)

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

    def ends(self) -> Codes | None:
        """Return the last row of each run of equal predictions; None if all differ."""
        if self.starts is None:
            return None
        return np.append(self.starts[1:], len(self.values)) - 1


def _starts(new: NDArray[np.bool_]) -> Codes | None:
    if new.all():
        return None
    return np.concatenate(([0], np.flatnonzero(new) + 1))
