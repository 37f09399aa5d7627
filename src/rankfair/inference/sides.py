"""The two groups of a comparison, each with its rows, clusters and weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfair.inference.clusters import clusters_of

__all__ = ["Side", "Sides"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Side:
    """The rows of one group.

    Attributes
    ----------
    label : str
        For sentences.
    rows : integer ndarray of shape (n,)
        Their places.
    tasks : integer ndarray of shape (n,) or None
        Their tasks.
    weights : ndarray of shape (n,) or None
        Their weights.
    """

    label: str
    rows: Codes
    tasks: Codes | None = None
    weights: Floats | None = None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def mass(self) -> float:
        """Their weight in all."""
        return float(self.n if self.weights is None else self.weights.sum())


@dataclass(frozen=True)
class Sides:
    """Group A, group B, and what is independent between their rows.

    ``needed`` says that tasks are clusters, ``possible`` that they may be (see
    `clusters_of`); ``reason`` is a sentence.
    """

    a: Side
    b: Side
    n_tasks: int
    needed: bool
    possible: bool
    reason: str

    @classmethod
    def of(
        cls,
        a: Bools,
        b: Bools,
        labels: tuple[str, str],
        tasks: Codes | None = None,
        weights: Floats | None = None,
    ) -> Sides:
        """Return the sides of two masks over the same rows."""
        sides = []
        for label, mask in zip(labels, (a, b), strict=True):
            rows = np.flatnonzero(mask)
            own_tasks = None if tasks is None else tasks[rows]
            own_weights = None if weights is None else weights[rows]
            sides.append(Side(label, rows, own_tasks, own_weights))
        side_a, side_b = sides
        if side_a.tasks is None or side_b.tasks is None:
            reason = clusters_of(None, a)[2]
            return cls(side_a, side_b, 1, False, False, reason)
        together = np.concatenate((side_a.tasks, side_b.tasks))
        in_a = np.arange(len(together)) < side_a.n
        needed, possible, reason = clusters_of(together, in_a)
        n_tasks = int(together.max()) + 1 if len(together) else 0
        return cls(
            side_a, side_b, n_tasks, needed is not None, possible is not None, reason
        )

    @property
    def tasks(self) -> tuple[Codes, Codes]:
        """The tasks of both sides; only where there are any."""
        assert self.a.tasks is not None and self.b.tasks is not None
        return self.a.tasks, self.b.tasks

    @property
    def weights(self) -> tuple[Floats | None, Floats | None]:
        """The weights of both sides."""
        return self.a.weights, self.b.weights
