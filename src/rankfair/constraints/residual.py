"""Equal mean residuals: neither group is predicted too high on average."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rankfair.constraints.base import Floats, Linear, apart
from rankfair.core.problem import Groups


@dataclass(frozen=True)
class Residual(Linear):
    """``|mean_A(y − m) − mean_B(y − m)| ≤ ε`` standard deviations of the target.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, True, False]))
    >>> y, m = np.array([2.0, 3.0, 1.0]), np.array([1.0, 3.0, 5.0])
    >>> Residual().on(y, groups).value(m, groups)
    4.5
    """

    def on(self, y: Floats, groups: Groups) -> Residual:
        """What is due is the gap between the groups' targets."""
        return replace(self, due=replace(self, due=0.0).value(y, groups))

    def direction(self, groups: Groups) -> Floats:
        """``−1/n_A`` for rows of A, ``1/n_B`` for rows of B."""
        return -apart(groups)
