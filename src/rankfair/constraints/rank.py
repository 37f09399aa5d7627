"""The constraint of the paper: one group's predictions do not outrank the other's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints.base import Band, Constraint, Floats
from rankfair.core.problem import Groups
from rankfair.core.ranks import (
    Grid,
    binned_twice_u,
    half_pairs,
    smooth_density,
    twice_u_between,
)

BINS = 1 << 16  # of quick counts
EXACT_ROWS = 1 << 14  # sorting this few rows costs no more than binning them
NEAR = 5e-4  # of an AUC: how far outside their bands several may end


@dataclass(frozen=True)
class Rank(Constraint):
    """``|AUC(m) − 1/2| ≤ ε``, counted as ``2U`` in whole half pairs.

    ``bandwidth`` is the width of the kernel that makes ``∇AUC`` smooth, in robust
    standard deviations of ``m``.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.core.problem import Groups
    >>> groups = Groups(np.array([True, True, False]))
    >>> rank = Rank(epsilon=0.0)
    >>> rank.value(np.array([1.0, 3.0, 2.0]), groups), rank.band(groups)
    (2, Band(low=1, high=3))
    """

    bandwidth: float = 0.25
    widest: ClassVar[float] = 0.5
    middle: ClassVar[float] = 0.5
    pairs: ClassVar[bool] = True
    by_task: ClassVar[bool] = True
    on_histograms: ClassVar[bool] = True

    def band(self, groups: Groups) -> Band:
        """``2U`` within ``2ε`` pairs of the middle, never narrower than half a pair."""
        pairs = groups.total_a * groups.total_b
        # The factor forgives the rounding of ε itself, so that equality passes.
        width = max(2 * self.epsilon * pairs * (1 + 1e-12), groups.pair)
        if isinstance(pairs, int):
            width = int(width)
        return Band(pairs if self.side == "upper" else pairs - width, pairs + width)

    def value(self, m: Floats, groups: Groups, unit: float = 1.0) -> float:
        """``2U``, an integer where the weights are whole."""
        if groups.weights is None:
            return twice_u_between(m, groups.in_a)
        a, b = groups.weights * groups.in_a, groups.weights * ~groups.in_a
        total: int | float = (a @ half_pairs(m)(b)).item()
        return total

    def values(
        self, m: Floats, several: Sequence[Groups], unit: float = 1.0
    ) -> list[float]:
        """``2U`` of each A over its B, all by one sort of the rows.

        The half pairs of A with all rows are those with B and its own ``n_A²``.

        Examples
        --------
        >>> import numpy as np
        >>> several = [Groups(np.arange(3) == g) for g in range(3)]
        >>> Rank().values(np.array([1.0, 3.0, 1.0]), several)
        [1, 4, 1]
        """
        if len(several) == 1:
            return [self.value(m, several[0])]
        won, wins, found = half_pairs(m), {}, []
        ones = np.ones(len(m), np.int64)
        for groups in several:
            w = ones if groups.weights is None else groups.weights
            if id(w) not in wins:
                wins[id(w)] = w * won(w)
            total = wins[id(w)][groups.index_a].sum().item()
            found.append(total - groups.total_a**2)
        return found

    def estimate(self, m: Floats, groups: Groups) -> tuple[float, float]:
        """``2U`` from histograms; pairs in one bin count as ties."""
        if len(m) <= (EXACT_ROWS if groups.weights is None else EXACT_ROWS // 4):
            return self.value(m, groups), 0.0
        grid = Grid.around(m, BINS)
        return binned_twice_u(*grid.count_both(m, groups.in_a, groups.weights))

    def slope(self, m: Floats, groups: Groups) -> Floats:
        """The other group's density: ``f_B(m_i)/n_A`` in A, ``−f_A(m_i)/n_B`` in B."""
        return self.slopes(m, [groups])[0]

    def slopes(self, m: Floats, several: Sequence[Groups]) -> list[Floats]:
        """``slope`` of each A over its B; rows that weigh the same are binned once."""
        binned, width, found = {}, self.bandwidth, []
        for groups in several:
            w = groups.weights
            if id(w) not in binned:
                t, rate = drawn_in(m, w)
                grid = Grid.around(t, _bins(float(np.ptp(t)) / width), width)
                cells = grid.index(t)
                binned[id(w)] = rate, grid, cells, np.bincount(cells, w, grid.bins)
            rate, grid, cells, every = binned[id(w)]
            if not rate.any():
                found.append(self.direction(groups))
                continue
            own = None if w is None else w[groups.index_a]
            above = np.bincount(cells[groups.index_a], own, grid.bins)
            below = np.maximum(every - above, 0)
            of_a = smooth_density(below, grid, width) / groups.total_a
            of_b = smooth_density(above, grid, width) / -groups.total_b
            found.append(np.where(groups.in_a, of_a[cells], of_b[cells]) * rate)
        return found

    def show(self, value: float, groups: Groups) -> float:
        """AUC: the chance that a row of A stands above a row of B, ties half."""
        return value / (2 * groups.total_a * groups.total_b)

    def slack(self, groups: Groups) -> float:
        """0.0005 of an AUC or one pair, the larger."""
        return max(2.0 * groups.pair, 2 * NEAR * groups.total_a * groups.total_b)


def drawn_in(
    m: Floats, weights: NDArray[Any] | None = None, c: float = 4.0
) -> tuple[Floats, Floats]:
    """``t = c arsinh((m − median)/(c s))`` and ``dt/dm``, 0 if all ``m`` are equal.

    In the middle it is ``m`` in robust standard deviations ``s``.  Ranks do not change
    when far values are drawn in, and one width of a kernel suits the tails as well.
    """
    low, middle, high = _quartiles(m, weights)
    s = (high - low) / 1.349 or deviation(m, weights)
    if not s > 0:
        return np.zeros(len(m)), np.zeros(len(m))
    off = (m - middle) / (c * s)
    rate: Floats = 1.0 / (s * np.hypot(1.0, off))
    return c * np.arcsinh(off), rate


def _quartiles(m: Floats, weights: NDArray[Any] | None) -> list[float]:
    """The quartiles; whole weights are repeated rows."""
    shares = np.array([0.25, 0.5, 0.75])
    if weights is None:
        return [*map(float, np.quantile(m, shares, method="inverted_cdf"))]
    order = np.argsort(m)
    below = np.cumsum(weights[order])
    return [*map(float, m[order[np.searchsorted(below, shares * below[-1])]])]


def _bins(bandwidths: float) -> int:
    """Some hundred bins a bandwidth, in a power of two, as far as is affordable."""
    wanted = 1 << int(np.ceil(np.log2(96 * bandwidths + 1)))
    return min(wanted, 1 << 14)


def deviation(m: Floats, weights: NDArray[Any] | None) -> float:
    """The standard deviation of weighted values."""
    centre = np.average(m, weights=weights)
    return float(np.sqrt(np.average((m - centre) ** 2, weights=weights)))
