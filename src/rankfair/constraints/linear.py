"""Constraints whose value is linear: equal means of predictions, or of residuals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from rankfair.constraints.base import ROUNDING, Band, Constraint, Floats
from rankfair.core.problem import Groups


@dataclass(frozen=True)
class Linear(Constraint):
    """A constraint whose value is ``Σ_i g_i m_i`` less what is due, with a fixed ``g``.

    Values are in standard deviations of the target.  Any number of linear constraints
    can be asked for together, and beside another one.
    """

    due: float = field(default=0.0, repr=False)
    linear: ClassVar[bool] = True

    def band(self, groups: Groups) -> Band:
        """The values that satisfy the demand, rounding forgiven."""
        low = 0.0 if self.side == "upper" else -self.epsilon
        return Band(min(low, -ROUNDING), max(self.epsilon, ROUNDING))

    def value(self, m: Floats, groups: Groups, unit: float = 1.0) -> float:
        """``Σ_i g_i m_i`` less what is due, in standard deviations of the target."""
        g = self.direction(groups)
        if groups.weights is not None:
            g = g * groups.weights
        return float(g @ (m / unit)) - self.due

    def slope(self, m: Floats, groups: Groups) -> Floats:
        """The direction, whatever ``m``."""
        return self.direction(groups)


@dataclass(frozen=True)
class Mean(Linear):
    """``|mean_A(m) − mean_B(m)| ≤ ε`` standard deviations (Zafar et al. 2017).

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> Mean().value(np.array([1.0, 3.0, 5.0]), Groups(np.array([True, True, False])))
    -3.0
    """

    by_task: ClassVar[bool] = True
    on_histograms: ClassVar[bool] = True


@dataclass(frozen=True)
class Residual(Linear):
    """``|mean_A(y − m) − mean_B(y − m)| ≤ ε`` standard deviations of the target.

    Neither group is predicted too high on average.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, True, False]))
    >>> y, m = np.array([2.0, 3.0, 1.0]), np.array([1.0, 3.0, 5.0])
    >>> Residual().on(y, groups).value(m, groups)
    4.5
    """

    by_task: ClassVar[bool] = True
    on_histograms: ClassVar[bool] = True
    sign: ClassVar[float] = -1.0

    def on(self, y: Floats, groups: Groups) -> Residual:
        """What is due is the gap between the groups' targets."""
        return replace(self, due=replace(self, due=0.0).value(y, groups))
