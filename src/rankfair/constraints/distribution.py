"""Equal distributions: the same share of both groups passes any threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints.base import Band, Constraint, Floats
from rankfair.constraints.rank import NEAR, drawn_in
from rankfair.core.problem import Groups


@dataclass(frozen=True)
class Distribution(Constraint):
    """``sup_t |F_A(t) − F_B(t)| ≤ ε``, the distance of Kolmogorov and Smirnov.

    It is counted as ``n_A n_B sup_t |F_A(t) − F_B(t)|``, a whole number where weights
    are whole.  ``KS ≤ ε`` brings ``|AUC − 1/2| ≤ ε`` with it.  ``bandwidth`` is the
    width of the kernel of ``slope``, in standard deviations of ``m``.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, True, False, False, False]))
    >>> both = Distribution(epsilon=0.0)
    >>> value = both.value(np.array([1.0, 3.0, 1.0, 2.0, 2.5]), groups)
    >>> value, both.show(value, groups), both.band(groups)
    (3, 0.5, Band(low=0, high=3))
    """

    bandwidth: float = 0.25
    widest: ClassVar[float] = 1.0
    two_groups_only: ClassVar[bool] = True

    def band(self, groups: Groups) -> Band:
        """Up to ``ε`` of all pairs, never less than one row of either group."""
        pairs = groups.total_a * groups.total_b
        row_a, row_b = _heaviest(groups, groups.in_a), _heaviest(groups, ~groups.in_a)
        width = max(
            self.epsilon * pairs * (1 + 1e-12),
            row_a * groups.total_b,
            row_b * groups.total_a,
        )
        return Band(0, int(width) if isinstance(pairs, int) else width)

    def value(self, m: Floats, groups: Groups, unit: float = 1.0) -> float:
        """``n_A n_B`` times KS."""
        _, apart = _differences(m, groups)
        largest: int | float = np.abs(apart).max().item()
        return largest

    def slope(self, m: Floats, groups: Groups) -> Floats:
        """The derivative of KS, smoothed: a bump at the threshold where it is met.

        ``k(t − m_i)/n_A`` in A and ``−k(t − m_i)/n_B`` in B where less of A than of B
        is below ``t``, and the opposite where more is.
        """
        t, rate = drawn_in(m, groups.weights)
        if not rate.any():
            return self.direction(groups)
        values, apart = _differences(t, groups)
        worst = int(np.abs(apart).argmax())
        height = float(np.sign(apart[worst])) / (self.bandwidth * np.sqrt(2 * np.pi))
        kernel: Floats = height * np.exp(
            -0.5 * ((t - values[worst]) / self.bandwidth) ** 2
        )
        kernel *= rate
        return kernel * self.direction(groups)

    def show(self, value: float, groups: Groups) -> float:
        """KS, between 0 and 1."""
        return value / (groups.total_a * groups.total_b)

    def slack(self, groups: Groups) -> float:
        """0.0005 of KS or one pair, the larger."""
        return max(float(groups.pair), NEAR * groups.total_a * groups.total_b)


def _differences(m: Floats, groups: Groups) -> tuple[Floats, NDArray[Any]]:
    """``n_A n_B (F_B − F_A)`` at the distinct values of ``m``, which ascend."""
    # Sums of whole numbers are the same in any order of ties; a stable sort is slow.
    order = np.argsort(m, kind=None if groups.weights is None else "stable")
    ordered = m[order]
    step = np.where(groups.in_a[order], -groups.total_b, groups.total_a)
    if groups.weights is not None:
        step = step * groups.weights[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    return ordered[last], np.cumsum(step)[last]


def _heaviest(groups: Groups, own: NDArray[np.bool_]) -> int | float:
    """What the heaviest row weighs; whole weights are repeated rows, of one each."""
    w = groups.weights
    if w is None or w.dtype.kind == "i":
        return 1
    return float(w.max(where=own, initial=0.0))
