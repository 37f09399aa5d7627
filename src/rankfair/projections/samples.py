"""The predictions of one group as steps of its distribution, and how two compare.

A step is a distinct prediction with the weight of its rows: rows that tie can only move
together, because a map is a function of prediction and group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Array = NDArray[Any]

ROUNDING = 1e-12  # two levels closer than this are one
BLOCK = 1 << 14  # values counted at a time, so that they stay in the cache
FEW = 8  # times fewer values are looked up one by one; more are merged


@dataclass(frozen=True)
class Sample:
    """Distinct predictions of a group, ascending, with what each weighs.

    ``row`` is the share of the group that its heaviest row has: no map can move less.
    ``counts`` is None where every step is one row.

    Examples
    --------
    >>> import numpy as np
    >>> sample = Sample.of(np.array([3.0, 1.0, 3.0, 2.0]))
    >>> sample.values.tolist(), sample.weights.tolist(), sample.row
    ([1.0, 2.0, 3.0], [1, 1, 2], 0.25)
    """

    values: Floats
    counts: Array | None
    row: float

    @classmethod
    def of(cls, predictions: Floats, weights: Array | None = None) -> Sample:
        """Sort the predictions of a group and join equal ones."""
        if weights is not None:
            return cls._weighted(predictions, weights)
        ordered = np.sort(predictions)
        row = 1.0 / len(ordered)
        new = ordered[1:] != ordered[:-1]
        if new.all():
            return cls(ordered, None, row)
        first = np.flatnonzero(np.concatenate(([True], new)))
        return cls(ordered[first], np.diff(first, append=len(ordered)), row)

    @classmethod
    def _weighted(cls, predictions: Floats, weights: Array) -> Sample:
        values, place = np.unique(predictions, return_inverse=True)
        counts = np.bincount(place, weights).astype(weights.dtype)
        # Whole weights are repeated rows, of one each.
        heaviest = 1 if counts.dtype.kind == "i" else weights.max()
        return cls(values, counts, float(heaviest / counts.sum()))

    @property
    def weights(self) -> Array:
        """What each step weighs."""
        if self.counts is None:
            return np.ones(len(self.values), np.int64)
        return self.counts

    @cached_property
    def total(self) -> int | float:
        """The weight of the group."""
        if self.counts is None:
            return len(self.values)
        total: int | float = self.counts.sum().item()
        return total

    @cached_property
    def ends(self) -> Floats:
        """The share of the group up to each step, the step included."""
        if self.counts is None:
            return np.arange(1.0, len(self.values) + 1) / self.total
        ends: Floats = np.cumsum(self.counts) / self.total
        return ends

    @cached_property
    def starts(self) -> Floats:
        """The share of the group below each step."""
        return np.concatenate(([0.0], self.ends[:-1]))

    @property
    def middles(self) -> Floats:
        """The level in the middle of each step."""
        return (self.starts + self.ends) / 2

    def steps_below(self, levels: Floats, side: Literal["left", "right"]) -> Array:
        """How many steps end below each level ("left"), or not above it ("right").

        ``np.searchsorted(self.ends, levels, side)``; where every step is one row their
        ends are known without a list of them.

        Examples
        --------
        >>> import numpy as np
        >>> sample = Sample.of(np.array([3.0, 1.0, 2.0, 7.0]))
        >>> sample.steps_below(np.array([0.5, 0.6]), "left").tolist()
        [1, 2]
        """
        if self.counts is not None:
            return np.searchsorted(self.ends, levels, side)
        n, below = len(self.values), np.less if side == "left" else np.less_equal
        steps = np.clip(np.floor(levels * n), 0, n).astype(np.intp)
        # The product may be rounded across a whole number; quotients decide.
        steps -= (steps > 0) & ~below(steps / n, levels)
        steps += (steps < n) & below((steps + 1) / n, levels)
        return steps

    def up_to(self, steps: Array) -> Array:
        """The weight of the first so many steps."""
        if self.counts is None:
            return steps
        weights: Array = np.concatenate(([0], np.cumsum(self.counts)))[steps]
        return weights

    def thinned(self, steps: int) -> Sample:
        """About as many steps of equal weight at quantiles of this sample."""
        if len(self.values) <= steps:
            return self
        levels = (np.arange(steps) + 0.5) / steps
        chosen = self.values[self.steps_below(levels, "left")]
        return Sample.of(chosen, np.full(steps, self.total / steps))


class Comparison(NamedTuple):
    """The largest difference of two distribution functions, and 2U of a over b."""

    ks: float
    twice_u: int | float


def compare(a: Floats, b: Floats, first: Sample, second: Sample) -> Comparison:
    """Compare two samples whose steps stand at ``a`` and ``b``, both ascending.

    2U is a whole number where the weights are.

    Examples
    --------
    >>> import numpy as np
    >>> one, two = Sample.of(np.array([1.0, 2.0])), Sample.of(np.array([2.0, 3.0]))
    >>> compare(one.values, two.values, one, two)
    Comparison(ks=0.5, twice_u=1)
    """
    if len(a) > len(b):  # the fewer are looked up among the many
        found = compare(b, a, second, first)
        return Comparison(found.ks, 2 * first.total * second.total - found.twice_u)
    b, below_b = _distribution(b, second)
    a, below_a = _distribution(a, first)
    # F_a − F_b in units of 1 / (total_a total_b).
    count, most = 0, 0
    for start in range(0, len(a), BLOCK):
        stop = min(start + BLOCK, len(a))
        before, up_to = _places(a[start:stop], b)
        if below_b is not None:  # the weight of b below each a, and up to it:
            before, up_to = below_b[before], below_b[up_to]
        if below_a is None:
            up_to_a = np.arange(start, stop + 1)
            count += (before.sum() + up_to.sum()).item()
        else:
            up_to_a = below_a[start : stop + 1]
            count += (np.diff(up_to_a) @ (before + up_to)).item()
        # Between two steps of a only F_b grows: its excess is largest just before
        # the next.
        shares = up_to_a * second.total
        ahead = (shares[1:] - up_to * first.total).max()
        behind = (before * first.total - shares[:-1]).max()
        most = max(most, ahead.item(), behind.item())
    return Comparison(most / (first.total * second.total), count)


def _places(a: Floats, b: Floats) -> tuple[Array, Array]:
    """How many of b are below each a, and how many up to it; both strictly ascend."""
    low, high = np.searchsorted(b, a[0], "left"), np.searchsorted(b, a[-1], "right")
    if FEW * len(a) < high - low:
        up_to = np.searchsorted(b[low:high], a, "right") + low
    else:
        # A stable sort of two sorted runs is a linear merge; ties put b first.
        order = np.argsort(np.concatenate((b[low:high], a)), kind="stable")
        up_to = np.flatnonzero(order >= high - low) - np.arange(-low, len(a) - low)
    tied = b[np.maximum(up_to, 1) - 1] == a
    return (up_to - tied if tied.any() else up_to), up_to


def _distribution(values: Floats, sample: Sample) -> tuple[Floats, Array | None]:
    """Distinct values and the weight below the first, the second, …, and of all.

    The weights are None where every value is one row: 0, 1, 2, …
    """
    new = values[1:] != values[:-1]
    if sample.counts is None and new.all():
        return values, None
    last = np.flatnonzero(np.append(new, True))
    if sample.counts is None:
        return values[last], np.append(0, last + 1)
    return values[last], np.append(0, np.cumsum(sample.counts)[last])


@dataclass(frozen=True)
class Standing:
    """How the groups of moved samples stand to each other, pair by pair."""

    samples: tuple[Sample, ...]
    pairs: dict[tuple[int, int], Comparison]

    @classmethod
    def of(cls, values: Sequence[Floats], samples: Sequence[Sample]) -> Standing:
        """Compare every two groups.

        Examples
        --------
        >>> import numpy as np
        >>> samples = [Sample.of(np.array([0.0, 2.0])), Sample.of(np.array([1.0, 2.0]))]
        >>> standing = Standing.of([sample.values for sample in samples], samples)
        >>> standing.ks, standing.aucs.tolist()
        (0.5, [0.375, 0.625])
        """
        return cls(
            tuple(samples),
            {
                (g, h): compare(values[g], values[h], samples[g], samples[h])
                for g, h in combinations(range(len(samples)), 2)
            },
        )

    @property
    def ks(self) -> float:
        """The largest KS of any two groups."""
        return max(found.ks for found in self.pairs.values())

    def ks_excess(self, epsilon: float) -> float:
        """How far the worst pair of groups is above ε; below 0 if none is.

        Groups move in steps of a row, so for a pair ε is never less than the mean of
        ``max(ε, row)`` of the two.
        """
        excess = [
            found.ks
            - max(epsilon, self.samples[g].row) / 2
            - max(epsilon, self.samples[h].row) / 2
            for (g, h), found in self.pairs.items()
        ]
        return max(excess) - ROUNDING

    @property
    def aucs(self) -> Floats:
        """The chance of each group to stand above all others, ties half."""
        counted = [self._against_rest(g) for g in range(len(self.samples))]
        return np.array([count / (2 * pairs) for count, pairs in counted])

    def auc_excess(self, epsilon: float) -> float:
        """How far the AUC of the worst group is outside its band; below 0 inside."""
        return max(
            abs(self.lead(g)) - self.width(g, epsilon) for g in range(len(self.samples))
        )

    def lead(self, g: int) -> float:
        """The AUC of a group against the others, less a half."""
        count, pairs = self._against_rest(g)
        return (count - pairs) / (2 * pairs)

    def width(self, g: int, epsilon: float) -> float:
        """Half the width of the band of a group's AUC: ε, or one pair of rows."""
        own = self.samples[g]
        rest = max(s.row * s.total for h, s in enumerate(self.samples) if h != g)
        pair = own.row * own.total * rest / (2 * self._against_rest(g)[1])
        return max(epsilon * (1 + ROUNDING), pair * (1 + ROUNDING))

    def _against_rest(self, g: int) -> tuple[float, float]:
        """2U of a group over all others, and how many pairs there are."""
        own, count, pairs = self.samples[g].total, 0.0, 0.0
        for h, other in enumerate(self.samples):
            if h == g:
                continue
            both = own * other.total
            above = self.pairs.get((g, h))
            below = self.pairs.get((h, g))
            count += above.twice_u if above else 0
            count += 2 * both - below.twice_u if below else 0
            pairs += both
        return count, pairs
