"""A quantile of all pairwise differences, without a table of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfair.projections.sides import Groups


def difference_at(groups: Groups) -> float:
    """The smallest difference d with at most ``high/2`` pairs of a greater difference.

    The bracket (low, high] of d is narrowed by counting until it holds few pairs, whose
    differences are then listed and sorted.
    """
    pairs = Pairs(groups)
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


class Pairs:
    """Counts over all pairs (upper i, lower j) without a table of them.

    The *ranks* of a difference d say for each upper row how many lower rows it beats by
    more than d.
    """

    def __init__(self, groups: Groups) -> None:
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
