"""Equal mean predictions: the covariance constraint of Zafar et al. (2017)."""

from __future__ import annotations

from dataclasses import dataclass

from rankfair.constraints.base import Floats, Linear, apart
from rankfair.core.problem import Groups


@dataclass(frozen=True)
class Mean(Linear):
    """``|mean_A(m) − mean_B(m)| ≤ ε`` standard deviations of the target.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> Mean().value(np.array([1.0, 3.0, 5.0]), Groups(np.array([True, True, False])))
    -3.0
    """

    def direction(self, groups: Groups) -> Floats:
        """``1/n_A`` for rows of A, ``−1/n_B`` for rows of B."""
        return apart(groups)
