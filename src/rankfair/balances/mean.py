"""Equal mean predictions: the covariance constraint of Zafar et al. (2017)."""

from __future__ import annotations

from dataclasses import dataclass

from rankfair.balances.base import Balance, Band, Field, Floats
from rankfair.problem import Groups

ROUNDING = 1e-10  # of a standard deviation: what counts as equal


@dataclass(frozen=True)
class Mean(Balance):
    """``|mean_A(m) − mean_B(m)| ≤ ε`` standard deviations of the target.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.problem import Groups
    >>> Mean().value(np.array([1.0, 3.0, 5.0]), Groups(np.array([True, True, False])))
    -3.0
    """

    def band(self, groups: Groups) -> Band:
        """Mean differences allowed, in standard deviations."""
        width = max(self.epsilon, ROUNDING)
        return Band(-ROUNDING if self.side == "upper" else -width, width)

    def value(self, m: Floats, groups: Groups, unit: float = 1.0) -> float:
        """``mean_A(m) − mean_B(m)`` in standard deviations of the target."""
        g = self.start(groups)(m, groups)
        if groups.weights is not None:
            g = g * groups.weights
        return float(g @ (m / unit))

    def resolution(self, groups: Groups) -> float:
        """What rounding leaves of a mean."""
        return ROUNDING

    def field(self, m: Floats, groups: Groups) -> Field:
        """The same for every ``m``."""
        return self.start(groups)

    def show(self, value: float, groups: Groups) -> float:
        """The mean difference itself."""
        return value
