"""A number with what is known about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """A number counted on a sample, with its limits in the population.

    Attributes
    ----------
    value : float
        What was counted; NaN if it does not exist.
    low, high : float
        Confidence limits; NaN where they cannot be known.
    p_value : float or None
        Of "no difference between the groups", where a matching test exists.
    method : str
        How limits and p-value were made, in plain words.
    note : str
        Why it is not estimable, or what to beware of.

    Examples
    --------
    >>> print(Estimate(0.62, 0.51, 0.72, 0.03))
    0.620 (0.510 to 0.720)
    >>> print(Estimate(0.62, note="group M has one row only"))
    0.620 (not estimable)
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    p_value: float | None = None
    method: str = ""
    note: str = ""

    @property
    def estimable(self) -> bool:
        """Whether limits exist."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def covers(self, value: float) -> bool:
        """Tell whether ``value`` is within the limits; False if there are none.

        Examples
        --------
        >>> Estimate(0.62, 0.51, 0.72).covers(0.5)
        False
        """
        return self.low <= value <= self.high

    def mapped(self, to: Callable[[float], float]) -> Estimate:
        """Return the estimate of a rising function of what was estimated.

        Examples
        --------
        >>> print(Estimate(4.0, 1.0, 9.0).mapped(math.sqrt))
        2.000 (1.000 to 3.000)
        """
        return replace(self, value=to(self.value), low=to(self.low), high=to(self.high))

    def finite(self) -> Estimate:
        """Return what of the estimate is a number: infinite ends are not known.

        Examples
        --------
        >>> print(Estimate(1e308, 5e307, math.inf).finite())
        1e+308 (not estimable)
        """
        if not (
            math.isinf(self.value) or math.isinf(self.low) or math.isinf(self.high)
        ):
            return self
        value = math.nan if math.isinf(self.value) else self.value
        return Estimate(value, note="too large for a number of double precision")

    def __str__(self) -> str:
        value, low, high = map(_shown, (self.value, self.low, self.high))
        return f"{value} ({f'{low} to {high}' if self.estimable else 'not estimable'})"


def _shown(value: float) -> str:
    """Three decimals for shares and the like, four digits for other quantities."""
    plain = value == 0.0 or 1e-3 <= abs(value) < 1e6 or value != value
    return format(value, ".3f" if plain else ".4g")
