"""Protected columns of X as predictors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Column, Floats, column_numbers
from rankfair._groups.records import Groups

__all__ = ["Encoder", "encoder_of"]


@dataclass(frozen=True)
class Encoder:
    """How a protected column of X becomes predictors.

    Two groups are 0 and 1, of more each but the first is a column of 0 and 1, and a
    number that was cut for the constraint is itself.  What is not known is ``fill``:
    the share of each group, or the mean.
    """

    column: int
    name: str
    labels: NDArray[Any] | None  # None for a number
    fill: Floats

    @property
    def apart(self) -> bool:
        """Whether it is several columns, which stand after all others."""
        return len(self.fill) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        if self.labels is None or not self.apart:
            return (self.name,)
        return tuple(f"{self.name}={label}" for label in self.labels.tolist()[1:])

    def columns_of(self, codes: Codes) -> Floats:
        """Return the predictors of rows of these groups: a row each."""
        assert self.labels is not None
        later = np.arange(1, len(self.labels))
        found: Floats = (codes[:, None] == later).astype(np.float64)
        unknown = codes < 0
        if unknown.any():
            found[unknown] = self.fill
        return found

    def filled(self, numbers: Floats) -> Floats:
        """Return the numbers, the mean for those that are missing."""
        missing = np.isnan(numbers)
        return np.where(missing, self.fill[0], numbers) if missing.any() else numbers


def encoder_of(
    groups: Groups, column: int, values: Column, weights: Floats | None
) -> Encoder:
    """Return how this column of X is read, from the rows of training.

    Examples
    --------
    >>> groups = Groups(np.array([0, 1, 1, -1]), np.array(["F", "M"]), "sex")
    >>> encoder_of(groups, 0, np.array([*"FMM", None]), None).fill.round(3).tolist()
    [0.667]
    """
    if groups.edges is None:
        sizes = groups.sizes(weights)
        fill = sizes[1:] / sizes.sum()
        return Encoder(column, groups.name, groups.labels, fill)
    numbers = column_numbers(values, groups.name)
    known = ~np.isnan(numbers)
    w = None if weights is None else weights[known]
    mean = np.average(numbers[known], weights=w)
    return Encoder(column, groups.name, None, np.array([mean]))
