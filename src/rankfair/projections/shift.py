"""The groups move as wholes: ``δ`` is a quantile of the pairwise differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.projections.common import Band, Floats, Mask, outside
from rankfair.ranks import twice_u

# One step is enough but for rounding, and a few halvings find its end.
STEPS = 8
HALVINGS = 64


def shift(
    m: Floats, in_a: Mask, band: Band, weights: NDArray[Any] | None = None
) -> Floats:
    """Move the two groups apart or together until 2U is inside the band.

    ``A - δ S_B/S`` and ``B + δ S_A/S``, with S_A, S_B the weights of the groups and S
    their sum, is the least movement in the (weighted) mean square that changes all
    differences a_i − b_j by −δ.  δ is the smallest in size that reaches the band: a
    quantile of these differences, found without forming them all, O(N log N).

    The count is made on the moved predictions as they are rounded.  Where equal
    differences (equal to the precision of the largest prediction) make 2U jump across
    the band, no δ reaches it, and the side of the jump, or the tie between its sides,
    that misses by least is returned.

    Parameters
    ----------
    m : (N,) array
        Predictions.
    in_a : (N,) boolean array
        The rows of group A.
    band : pair of numbers
        Least and greatest 2U.
    weights : (N,) array, optional
        How often each row counts.

    Returns
    -------
    (N,) array
        A new array; equal to ``m`` if ``m`` is inside the band.

    Examples
    --------
    >>> import numpy as np
    >>> m = np.array([4.0, 5.0, 1.0, 2.0])
    >>> in_a = np.array([True, True, False, False])
    >>> shift(m, in_a, (3, 5)).tolist()
    [2.5, 3.5, 2.5, 3.5]
    """
    moved = m.astype(np.float64)
    # Inside after one step, unless 2U jumps: then rounding may leave a little to gain.
    for _ in range(STEPS):
        groups = _Groups.oriented(moved, in_a, band, weights)
        if groups is None:
            break
        delta, snapped = _smallest_shift(groups)
        if delta == 0:
            break
        upper = in_a if groups.a_is_upper else ~in_a
        moved[upper], moved[~upper] = groups.moved(moved[upper], moved[~upper], delta)
        moved = _snap(moved, groups.rounding) if snapped else moved
    return moved


@dataclass(frozen=True)
class _Groups:
    """The group that stands too high and the other one, both sorted, and the band."""

    upper: Floats
    lower: Floats
    weight_upper: NDArray[Any] | None
    weight_lower: NDArray[Any] | None
    share_upper: float
    share_lower: float
    band: Band
    a_is_upper: bool

    @classmethod
    def oriented(
        cls, m: Floats, in_a: Mask, band: Band, weights: NDArray[Any] | None
    ) -> _Groups | None:
        """Put the group that wins too often on top; None if the band is met."""
        weight_a, weight_b, sum_a, sum_b = _split_weights(in_a, weights)
        count = twice_u(m[in_a], m[~in_a], weight_a, weight_b)
        if band[0] <= count <= band[1]:
            return None
        a_is_upper = count > band[1]
        upper = in_a if a_is_upper else ~in_a
        both = 2 * sum_a * sum_b
        sums = (sum_a, sum_b) if a_is_upper else (sum_b, sum_a)
        values_upper, weight_upper = _sorted(m, upper, weights)
        values_lower, weight_lower = _sorted(m, ~upper, weights)
        return cls(
            upper=values_upper,
            lower=values_lower,
            weight_upper=weight_upper,
            weight_lower=weight_lower,
            share_upper=float(sums[0] / (sum_a + sum_b)),
            share_lower=float(sums[1] / (sum_a + sum_b)),
            band=band if a_is_upper else (both - band[1], both - band[0]),
            a_is_upper=a_is_upper,
        )

    @property
    def rounding(self) -> float:
        """The distance below which moved predictions cannot be told apart."""
        ends = (self.upper[0], self.upper[-1], self.lower[0], self.lower[-1])
        return 8 * float(np.spacing(max(abs(end) for end in ends)))

    def moved(
        self, upper: Floats, lower: Floats, delta: float
    ) -> tuple[Floats, Floats]:
        """Both groups after the shift; monotone in ``delta`` even when rounded."""
        return upper - delta * self.share_lower, lower + delta * self.share_upper

    def miss(self, upper: Floats, lower: Floats) -> float:
        """How far 2U is above (positive) or below (negative) the band."""
        count = twice_u(upper, lower, self.weight_upper, self.weight_lower)
        return outside(count, self.band)

    def miss_at(self, delta: float) -> float:
        """The miss after a shift by ``delta``."""
        return self.miss(*self.moved(self.upper, self.lower, delta))

    def miss_snapped(self, delta: float) -> float:
        """The miss after a shift that makes near ties into ties."""
        both = np.concatenate(self.moved(self.upper, self.lower, delta))
        upper, lower = np.split(_snap(both, self.rounding), [len(self.upper)])
        return self.miss(upper, lower)


def _split_weights(
    in_a: Mask, weights: NDArray[Any] | None
) -> tuple[NDArray[Any] | None, NDArray[Any] | None, Any, Any]:
    """The weights of both groups and their sums."""
    if weights is None:
        n_a = int(np.count_nonzero(in_a))
        return None, None, n_a, len(in_a) - n_a
    weight_a, weight_b = weights[in_a], weights[~in_a]
    return weight_a, weight_b, weight_a.sum().item(), weight_b.sum().item()


def _sorted(
    m: Floats, rows: Mask, weights: NDArray[Any] | None
) -> tuple[Floats, NDArray[Any] | None]:
    """The values of some rows in ascending order, and their weights."""
    if weights is None:
        return np.sort(m[rows]), None
    order = np.argsort(m[rows], kind="stable")
    return m[rows][order], weights[rows][order]


def _smallest_shift(groups: _Groups) -> tuple[float, bool]:
    """The smallest δ > 0 inside the band, and whether near ties are to be snapped."""
    quantile = _difference_at(groups)
    slack = 2 * groups.rounding
    # The quantile is exact; the search only undoes the rounding around it.
    for delta in (quantile, quantile + slack):
        if groups.miss_at(delta) == 0:
            return delta, False
    below, above = max(quantile - slack, 0.0), quantile + slack
    below = below if groups.miss_at(below) > 0 else 0.0
    beyond = 2 * float(groups.upper[-1] - groups.lower[0]) + slack
    above = above if groups.miss_at(above) <= 0 else beyond
    for _ in range(HALVINGS):
        middle = below + (above - below) / 2
        if not below < middle < above:
            break
        miss = groups.miss_at(middle)
        if miss == 0:
            return middle, False
        below, above = (middle, above) if miss > 0 else (below, middle)
    return _least_miss(groups, below, above)


def _least_miss(groups: _Groups, below: float, above: float) -> tuple[float, bool]:
    """At a jump across the band: stay, stop on either side, or tie what passes."""
    misses = {(above, True): groups.miss_snapped(above)}
    if misses[above, True] != 0:
        sides = {(delta, False): groups.miss_at(delta) for delta in (0.0, below, above)}
        misses = sides | misses
    return min(misses, key=lambda choice: abs(misses[choice]))


def _snap(values: Floats, tolerance: float) -> Floats:
    """Give values closer than ``tolerance`` to the next one a common value."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.concatenate(([True], np.diff(ordered) > tolerance))
    snapped = np.empty_like(values)
    snapped[order] = ordered[starts][np.cumsum(starts) - 1]
    return snapped


def _difference_at(groups: _Groups) -> float:
    """The smallest difference d with at most ``high/2`` pairs of a greater difference.

    The bracket (low, high] of d is narrowed by counting until it holds few pairs, whose
    differences are then listed and sorted.
    """
    pairs = _Pairs(groups)
    few = 4 * (len(groups.upper) + len(groups.lower))
    low, high = 0.0, float(groups.upper[-1] - groups.lower[0])
    rank_low, rank_high = pairs.ranks(low), pairs.ranks(high)
    if pairs.weight(rank_low) <= pairs.target:
        return low
    secant = True
    while (rank_low - rank_high).sum() > few:
        probe = pairs.probe((low, rank_low), (high, rank_high), secant)
        if pairs.next_above(rank_low) >= high or not low < probe < high:
            return high
        secant = not secant
        ranks = pairs.ranks(probe)
        if pairs.weight(ranks) > pairs.target:
            low, rank_low = probe, ranks
        else:
            high, rank_high = pairs.at_most(probe, ranks), ranks
    return pairs.select(rank_low, rank_high, high)


class _Pairs:
    """Counts over all pairs (upper i, lower j) without a table of them.

    The *ranks* of a difference d say for each upper row how many lower rows it beats by
    more than d.
    """

    def __init__(self, groups: _Groups) -> None:
        self.upper, self.lower = groups.upper, groups.lower
        self.target = groups.band[1] / 2
        self.row_weight = groups.weight_upper
        self.column_weight = groups.weight_lower
        if self.column_weight is not None:
            self.below = np.concatenate(([0], np.cumsum(self.column_weight)))

    def ranks(self, d: float) -> NDArray[np.intp]:
        """How many lower rows are beaten by more than ``d``."""
        return np.searchsorted(self.lower, self.upper - d, "left")

    def weight(self, ranks: NDArray[np.intp]) -> float:
        """The weight of all pairs with a greater difference."""
        if self.row_weight is None:
            return float(ranks.sum())
        return float(self.row_weight @ self.below[ranks])

    def next_above(self, ranks: NDArray[np.intp]) -> float:
        """The smallest difference above that of ``ranks``."""
        rows = ranks > 0
        return float((self.upper[rows] - self.lower[ranks[rows] - 1]).min())

    def at_most(self, d: float, ranks: NDArray[np.intp]) -> float:
        """The largest difference up to ``d``; no pair lies between the two."""
        rows = ranks < len(self.lower)
        largest = float((self.upper[rows] - self.lower[ranks[rows]]).max())
        return min(largest, d)

    def probe(
        self,
        low: tuple[float, NDArray[np.intp]],
        high: tuple[float, NDArray[np.intp]],
        secant: bool,
    ) -> float:
        """Where to cut the bracket: by a straight line or in the middle, by turns."""
        share = 0.5
        if secant:
            most, least = self.weight(low[1]), self.weight(high[1])
            share = (most - self.target) / (most - least)
        return low[0] + share * (high[0] - low[0])

    def select(
        self, rank_low: NDArray[np.intp], rank_high: NDArray[np.intp], high: float
    ) -> float:
        """List the differences of the bracket and take the first that is enough."""
        lengths = rank_low - rank_high
        rows = np.repeat(np.arange(len(lengths)), lengths)
        starts = np.repeat(np.cumsum(lengths) - lengths - rank_high, lengths)
        columns = np.arange(len(rows)) - starts
        differences = self.upper[rows] - self.lower[columns]
        order = np.argsort(differences)
        weight = np.ones(len(rows))
        if self.row_weight is not None and self.column_weight is not None:
            weight = (self.row_weight[rows] * self.column_weight[columns])[order]
        left = self.weight(rank_low) - np.cumsum(weight)
        enough = np.flatnonzero(left <= self.target)
        return float(differences[order[enough[0]]]) if len(enough) else high
