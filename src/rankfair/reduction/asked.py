"""What is asked of predictions: little error, and groups in balance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Floats
from rankfair.balances import Balance
from rankfair.balances.rank import deviation
from rankfair.blocks import CONSTANT
from rankfair.projections import swept


class Place(Protocol):
    """What was counted: how far outside the band, or the worst of several bands."""

    @property
    def miss(self) -> float:
        """0 inside."""

    @property
    def inside(self) -> bool:
        """Whether all is as asked."""


class Reached(NamedTuple):
    """A balance and its band as people read them; of several the one farthest off."""

    value: float
    low: float
    high: float
    group: int | None = None  # whose it is, of three or more


@dataclass(frozen=True)
class Fit:
    """One refit, judged: where it is, and where a shift of the groups would bring it.

    Without a shift the last three are those of the refit itself.
    """

    tilt: Floats
    m: Floats
    at: Any  # a Place
    shift: tuple[float, ...]  # of each group: B and A, or all
    shifted: Any  # a Place
    objective: float
    models: Any = field(default=None, repr=False)
    maps: Any = None  # of the predictions of each group, after which m is
    aim: Floats | None = None  # the tilt of the target that the maps were fitted to


@dataclass(frozen=True)
class Asked(ABC):
    """Little error in all rows, and a balance between the groups of those that count.

    Attributes
    ----------
    y : ndarray of shape (N,)
    unit : float, a standard deviation of y
    weights : ndarray of shape (N,), in the loss, or None if all weigh one
    shifts : bool, whether predictions may be moved by group
    codes : ndarray of shape (N,), the group of each row, −1 where it is not known
    sweeps : bool, whether shifts that miss the band are searched for by exact counts,
        which takes longer than most fits of a line
    """

    y: Floats
    unit: float
    weights: NDArray[Any] | None
    shifts: bool
    codes: Codes
    sweeps: bool = field(default=True, kw_only=True)

    @cached_property
    def root(self) -> Floats | float:
        """The roots of the weights: sums of squares of rows are taken in these."""
        return 1.0 if self.weights is None else np.sqrt(self.weights)

    def objective(self, m: Floats) -> float:
        """Half the (weighted) sum of squared errors in standard deviations of y."""
        error = self.root * ((m - self.y) / self.unit)
        return 0.5 * float((error * error).sum())

    @cached_property
    def mean(self) -> float:
        """The mean of y, the best fit of one value for all rows."""
        return float(np.average(self.y, weights=self.weights))

    @cached_property
    def error_of_mean(self) -> float:
        """The objective of one value for all rows, the mean of y."""
        return self.objective(np.full(len(self.y), self.mean))

    def judged(self, tilt: Floats, m: Floats, models: Any = None) -> Fit:
        """A refit with its exact count, and the shift that would close the gap."""
        at = self.count(m)
        shift, shifted = (0.0,) * len(self.shares), at
        if self.shifts and not at.inside:
            shift, shifted = self.closing_shift(m)
        objective = self.objective(m + self.by_group(shift))
        return Fit(tilt, m, at, shift, shifted, objective, models)

    def by_group(self, shift: tuple[float, ...]) -> Floats:
        """What a shift adds to each row.

        Shifts cancel over the rows whose group is known; the others stay.
        """
        return np.append(shift, 0.0)[self.codes]

    def _or_swept(
        self,
        m: Floats,
        found: tuple[tuple[float, ...], Any],
        counted: NDArray[Any] | None,
        bands: tuple[Floats, Floats],
    ) -> tuple[tuple[float, ...], Any]:
        """The shift that was found, or that by exact counts of few values, if nearer.

        ``counted`` is what rows weigh where pairs are counted; bands are those of AUC.
        """
        other = swept(m, self.codes, counted, bands) if self.sweeps else None
        if other is None:
            return found
        tried = tuple(other.tolist())
        # Counted where `predict` will be, to the last bit.
        there = self.count(m + self.by_group(tried))
        return (tried, there) if abs(there.miss) < abs(found[1].miss) else found

    @property
    @abstractmethod
    def shares(self) -> Floats:
        """The share of each group in the weight of those that are known."""

    @property
    @abstractmethod
    def kind(self) -> Balance:
        """The balance; of several groups that of the first, and all are of its kind."""

    @abstractmethod
    def count(self, m: Floats) -> Any:
        """The exact balance of ``m``, a `Place`."""

    @abstractmethod
    def shown(self, at: Any) -> float:
        """The balance as people read it; of several the one farthest off."""

    @abstractmethod
    def reached(self, at: Any) -> Reached:
        """The balance and its band; of several the one farthest outside."""

    @abstractmethod
    def closing_shift(self, m: Floats) -> tuple[tuple[float, ...], Any]:
        """What to add to each group, the least that closes the gap; the count."""

    @abstractmethod
    def multiplier(self, tilt: Floats, m: Floats) -> float:
        """``λ`` with ``λ ∇`` nearest to the tilt, in standard units."""


def unit_of(y: Floats, weights: NDArray[Any] | None) -> float:
    """The standard deviation of targets, 1 where all are the same but for rounding.

    Examples
    --------
    >>> import numpy as np
    >>> unit_of(np.array([1.0, 5.0]), None), unit_of(np.ones(3), None)
    (2.0, 1.0)
    """
    unit = deviation(y, weights)
    return unit if unit > CONSTANT * np.abs(y).max() else 1.0
