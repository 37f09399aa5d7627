"""How groups stand to each other, counted, and how far outside a band that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from rankfair.core.ranks import Duels
from rankfair.projections.least_movement import ROUNDING, Sample
from rankfair.projections.shift import Floats


class PairGaps(NamedTuple):
    """2U of one group over another, and the distances of their distributions."""

    twice_u: int | float
    ks: float
    wasserstein: float


def compare(a: Floats, b: Floats, first: Sample, second: Sample) -> PairGaps:
    """Compare two samples whose steps stand at ``a`` and ``b``, both ascending.

    2U is a whole number where the weights are.

    Examples
    --------
    >>> import numpy as np
    >>> one, two = Sample.of(np.array([1.0, 2.0])), Sample.of(np.array([2.0, 3.0]))
    >>> compare(one.values, two.values, one, two)
    PairGaps(twice_u=1, ks=0.5, wasserstein=1.0)
    """
    x = np.concatenate((a, b))
    order = np.argsort(x, kind="stable")  # of two sorted runs it is a linear merge
    x, in_a = x[order], order < len(a)
    w = np.concatenate((first.weights, second.weights))[order]
    last = np.flatnonzero(np.append(x[1:] != x[:-1], True))
    up_to_a, up_to_b = (np.cumsum(np.where(own, w, 0))[last] for own in (in_a, ~in_a))
    own = np.diff(up_to_a, prepend=0)
    twice_u = own @ (up_to_b + np.append(0, up_to_b[:-1]))
    apart = np.abs(up_to_a * second.total - up_to_b * first.total)
    pairs = first.total * second.total
    moved = float(apart[:-1] @ np.diff(x[last])) / pairs
    return PairGaps(twice_u.item(), float(apart.max() / pairs), moved)


@dataclass(frozen=True)
class Standing:
    """How the groups of moved samples stand to each other, pair by pair.

    Examples
    --------
    >>> import numpy as np
    >>> samples = [Sample.of(np.array([0.0, 2.0])), Sample.of(np.array([1.0, 2.0]))]
    >>> standing = Standing([sample.values for sample in samples], samples)
    >>> standing.aucs.tolist(), standing.ks.tolist(), standing.means.tolist()
    ([0.375, 0.625], [0.5], [1.0, 1.5])
    """

    values: Sequence[Floats]
    samples: Sequence[Sample]

    @cached_property
    def pairs(self) -> dict[tuple[int, int], PairGaps]:
        """Every two groups compared."""
        groups = list(zip(self.values, self.samples, strict=True))
        return {
            (g, h): compare(groups[g][0], groups[h][0], groups[g][1], groups[h][1])
            for g, h in combinations(range(len(groups)), 2)
        }

    @property
    def aucs(self) -> Floats:
        """The chance of each group to stand above all others, ties half."""
        totals = np.array([sample.total for sample in self.samples])
        twice = np.zeros((len(totals), len(totals)), totals.dtype)
        for (g, h), found in self.pairs.items():
            twice[g, h] = found.twice_u
            twice[h, g] = 2 * totals[g] * totals[h] - found.twice_u
        return Duels(twice, totals).of_rest()

    @property
    def ks(self) -> Floats:
        """KS of every two groups."""
        return np.array([found.ks for found in self.pairs.values()])

    @property
    def wasserstein(self) -> Floats:
        """The Wasserstein distance (W₁) of every two groups."""
        return np.array([found.wasserstein for found in self.pairs.values()])

    @property
    def means(self) -> Floats:
        """The mean of each group."""
        both = zip(self.values, self.samples, strict=True)
        return np.array([np.average(m, weights=own.weights) for m, own in both])

    @property
    def mean_gaps(self) -> Floats:
        """How far the means of every two groups are apart."""
        return np.array([abs(a - b) for a, b in combinations(self.means.tolist(), 2)])


GAPS: dict[str, Callable[[Standing], Floats]] = {
    "rank": lambda standing: np.abs(standing.aucs - 0.5),
    "distribution": lambda standing: standing.ks,
    "mean": lambda standing: standing.mean_gaps,
    "wasserstein": lambda standing: standing.wasserstein,
}


@dataclass(frozen=True)
class Limit:
    """How large the gaps of a constraint may be, group by group or pair by pair."""

    constraint: str
    widths: Floats

    @classmethod
    def of(
        cls, constraint: str, samples: Sequence[Sample], epsilon: float, spread: float
    ) -> Limit:
        """ε, or what rows make of it: one pair of rows, or a row of each group.

        ``spread`` is the standard deviation of the target, the unit of ε for means and
        Wasserstein distances.
        """
        rows = np.array([sample.row for sample in samples])
        heaviest = np.array([sample.row * sample.total for sample in samples])
        pairs = list(combinations(range(len(samples)), 2))
        if constraint == "rank":
            totals = np.array([sample.total for sample in samples])
            others = [np.delete(heaviest, g).max() for g in range(len(samples))]
            pair = heaviest * others / (2 * totals * (totals.sum() - totals))
            return cls(constraint, np.maximum(epsilon, pair))
        if constraint == "distribution":
            own = np.maximum(epsilon, rows) / 2
            return cls(constraint, np.array([own[g] + own[h] for g, h in pairs]))
        return cls(constraint, np.full(len(pairs), epsilon * spread))

    def gaps(self, standing: Standing) -> Floats:
        """What the constraint is about."""
        return GAPS[self.constraint](standing)

    def excess(self, standing: Standing) -> float:
        """How far the worst gap is above its width; at most 0 in the band."""
        return float(np.max(self.gaps(standing) - self.widths * (1 + ROUNDING)))

    def allowing(
        self, samples: Sequence[Sample], fairest: Callable[[], Standing]
    ) -> Limit:
        """The limit for means and distances that rows can meet at all.

        Samples of different size have no equal quantiles.  What is left between the
        groups of the fairest map is allowed, up to a row of each group moved across
        their middle range.
        """
        if self.constraint in ("rank", "distribution"):
            return self
        row = np.array([a.row + b.row for a, b in combinations(samples, 2)]) / 2
        left = np.minimum(self.gaps(fairest()), row * middle_range(samples))
        return Limit(self.constraint, np.maximum(self.widths, left))


def middle_range(samples: Sequence[Sample]) -> float:
    """From the 10 % to the 90 % quantile, the mean of the groups."""
    ranges = [np.ptp(sample.quantiles(np.array([0.1, 0.9]))) for sample in samples]
    return float(np.average(ranges, weights=[sample.total for sample in samples]))
