"""Counting pairs: 2U and densities, exact by sorting or binned.

Group A stands above group B in ``twice_u(a, b)`` of ``2 * len(a) * len(b)`` half pairs:
a pair counts 2 where ``a > b``, 1 where they tie.  Counts stay integers as long as the
weights are whole numbers; an AUC is made only where a number is shown.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import PIECE, blocks_of, each

Floats = NDArray[np.float64]
Array = NDArray[Any]

MANY = 1 << 16  # values that are sorted faster by their places in 31 bits


def split(values: Array, in_a: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The values in A, and the others: positions are faster than a mask."""
    return values[np.flatnonzero(in_a)], values[np.flatnonzero(~in_a)]


def whole_if_so(
    weights: NDArray[np.int64] | Floats | None,
) -> NDArray[np.int64] | Floats | None:
    """Weights as integers where they are whole, so that pairs are counted exactly."""
    if weights is None or weights.dtype.kind == "i" or weights.sum() >= 1 << 30:
        return weights
    whole = weights.astype(np.int64)
    return whole if (whole == weights).all() else weights


def counts_of(weights: Floats) -> Array:
    """Return whole weights as integers, others in units of their mean.

    Fractional weights are relative, and their size must not matter.
    """
    whole: Any = whole_if_so(weights)
    found: Array = weights / weights.mean() if whole is weights else whole
    return found


def twice_u(
    a: Floats, b: Floats, weight_a: Array | None = None, weight_b: Array | None = None
) -> int | float:
    """Twice the Mann-Whitney U of ``a`` over ``b``: ties count one, wins two.

    With weights a pair (i, j) counts ``weight_a[i] * weight_b[j]`` times, so whole
    weights mean the same as repeated rows and give an exact integer.

    Examples
    --------
    >>> import numpy as np
    >>> twice_u(np.array([1.0, 2.0]), np.array([0.0, 2.0]))
    5
    """
    if weight_a is None and weight_b is None:
        return twice_u_sorted(np.sort(a), np.sort(b))
    weight_a = np.ones(len(a), np.int64) if weight_a is None else weight_a
    weight_b = np.ones(len(b), np.int64) if weight_b is None else weight_b
    w = np.concatenate((np.zeros(len(a), weight_b.dtype), weight_b))
    won = half_pairs(np.concatenate((a, b)))(w)[: len(a)]
    total: int | float = (weight_a @ won).item()
    return total


def half_pairs(values: Floats) -> Callable[[Array], Array]:
    """What each value wins of rows of any weights: 2 of smaller ones, 1 of equal ones.

    One sort serves all weights.
    """
    order = np.argsort(values)
    ordered = values[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(values)])
    last = np.append(first[1:], len(values))

    def won(weights: Array) -> Array:
        below = np.append(0, np.cumsum(weights[order]))
        out = np.empty(len(values), below.dtype)
        out[order] = np.repeat(below[first] + below[last], last - first)
        return out

    return won


def twice_u_between(values: Floats, in_a: NDArray[np.bool_]) -> int:
    """``twice_u`` of the values in A over the others, which are many.

    Places in 31 bits between the least and the largest value, with the group as one bit
    more, are sorted faster than values.  Rows near others in the same place, usually
    few, are then counted exactly.
    """
    keys = places_of(values)
    if keys is None:
        return int(twice_u(*split(values, in_a)))
    keys <<= 1
    keys |= in_a
    ordered, total, n_a = np.sort(keys), 0, 0
    for rows in blocks_of(len(keys)):
        of_a = np.flatnonzero((ordered[rows] & 1).astype(bool))
        total += 2 * (int(of_a.sum()) + rows.start * len(of_a)) + len(of_a)
        n_a += len(of_a)
    near = rows_near_others(keys, ordered, 1)
    if 8 * len(near) > len(values):
        return int(twice_u(*split(values, in_a)))
    exact = twice_u(*split(values[near], in_a[near]))
    by_key = twice_u(*split(keys[near], in_a[near]))
    return total - n_a**2 + int(exact) - int(by_key)


def places_of(values: Floats) -> Array | None:
    """Places in 31 bits between the least and the largest value.

    Equal values have one place, and a smaller one no larger place.  None where sorting
    the values is as quick, or where they are infinite or all alike.
    """
    if len(values) < MANY:
        return None
    low = values.min()
    with np.errstate(all="ignore"):  # infinite values have no span
        span = values.max() - low
    if not 1e-280 < span < np.inf:
        return None
    last = (1 << 31) - 2  # with room for rounding
    places = np.empty(len(values), np.uint32)
    for rows in blocks_of(len(values)):
        places[rows] = (values[rows] - low) * (last / span)
    return places


def rows_near_others(keys: Array, ordered: Array, more: int = 0) -> NDArray[np.intp]:
    """Some rows, among them all that share their place with another one.

    Keys are places, and ``more`` bits below them.
    """
    # As few rows as can be, with a table that stays in the cache.
    down = 31 + more - (19 if len(keys) < 1 << 23 else 22)
    near = np.zeros((1 << 31 + more) >> down, bool)
    for rows in blocks_of(len(keys)):
        own = ordered[rows.start : rows.stop + 1] >> more
        near[own[1:][own[1:] == own[:-1]] >> down - more] = True
    found = [
        np.flatnonzero(near[keys[at] >> down]) + at.start for at in blocks_of(len(keys))
    ]
    return np.concatenate(found)


def twice_u_sorted(a: Floats, b: Floats) -> int:
    """``twice_u`` of two sorted samples, block by block to stay in the cache."""
    parts: list[int] = []

    def count(start: int) -> None:
        block = a[start : start + PIECE]
        low = int(np.searchsorted(b, block[0], "left"))
        high = int(np.searchsorted(b, block[-1], "right"))
        parts.append(2 * low * len(block) + _twice_u_block(block, b[low:high]))

    each(count, range(0, len(a), PIECE), len(a))
    return sum(parts)


def _twice_u_block(a: Floats, b: Floats) -> int:
    """2U of two short sorted samples: one merge, plus the ties between them."""
    merged = np.concatenate((b, a))
    # A stable sort of two sorted runs is a linear merge; ties put B first.
    order = np.argsort(merged, kind="stable")
    places = np.flatnonzero(order >= len(b))
    at_least = int(places.sum()) - len(a) * (len(a) - 1) // 2
    merged = merged[order]
    same = merged[1:][merged[1:] == merged[:-1]]
    if not len(same):
        return 2 * at_least
    tied = np.unique(same)
    of_a, of_b = (
        np.searchsorted(own, tied, "right") - np.searchsorted(own, tied, "left")
        for own in (a, b)
    )
    return 2 * at_least - int(of_a @ of_b)


@dataclass(frozen=True)
class Duels:
    """``twice[g, h]`` is 2U of group g over group h; ``totals[g]`` its rows or weight.

    Examples
    --------
    >>> import numpy as np
    >>> duels = Duels.of(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2]), 3)
    >>> duels.of_pairs()[2, 0], duels.of_rest().tolist()
    (np.float64(1.0), [0.0, 0.5, 1.0])
    """

    twice: Array
    totals: Array

    @classmethod
    def of(
        cls,
        values: Floats,
        codes: NDArray[np.intp],
        n_groups: int,
        weights: Array | None = None,
    ) -> Duels:
        """Count every two groups; rows of code −1 take no part."""
        of = [codes == g for g in range(n_groups)]
        if n_groups == 2 and weights is None and (of[0] | of[1]).all():
            a, b = (int(np.count_nonzero(rows)) for rows in of)
            own = twice_u_between(values, of[0])
            return cls(np.array([[0, own], [2 * a * b - own, 0]]), np.array([a, b]))
        if weights is None:
            sides = [np.sort(values[rows]) for rows in of]
            totals = np.array([len(side) for side in sides])
            wins = [
                [twice_u_sorted(a, b) for a in sides[:g]] for g, b in enumerate(sides)
            ]
        else:
            won, w = half_pairs(values), [weights * rows for rows in of]
            totals = np.array([it.sum() for it in w])
            wins = [[a @ of_b for a in w[:g]] for g, of_b in enumerate(map(won, w))]
        twice = 2 * np.outer(totals, totals)
        np.fill_diagonal(twice, 0)
        for g in range(1, n_groups):
            twice[:g, g] = wins[g]
            twice[g, :g] -= wins[g]
        return cls(twice, totals)

    def of_pairs(self) -> Floats:
        """The AUC of each group over each other one; NaN on the diagonal."""
        pairs = np.outer(self.totals, self.totals).astype(np.float64)
        np.fill_diagonal(pairs, np.nan)
        found: Floats = self.twice / (2 * pairs)
        return found

    def by_label(self, labels: Sequence[Any]) -> dict[Any, dict[Any, float]]:
        """The AUC of each label over each other one: a dict for each label."""
        rows = self.of_pairs().tolist()
        return {
            label: {it: auc for it, auc in zip(labels, row, strict=True) if it != label}
            for label, row in zip(labels, rows, strict=True)
        }

    def of_rest(self) -> Floats:
        """The AUC of each group over all others together."""
        rest = self.totals.sum() - self.totals
        found: Floats = self.twice.sum(axis=1) / (2 * self.totals * rest)
        return found


def binned_twice_u(
    count_a: Array, count_b: Array, ties: NDArray[np.bool_] | None = None
) -> tuple[float, float]:
    """2U from two histograms over the same bins, and the most it can be off.

    Pairs in different bins are counted exactly; a pair in one bin counts as a tie and
    may truly be a win or a loss, so the bound is the number of such pairs.  In bins of
    one value, ``ties``, they are ties.

    Examples
    --------
    >>> import numpy as np
    >>> binned_twice_u(np.array([0, 2]), np.array([1, 1]))
    (6.0, 2.0)
    """
    a, b = count_a.astype(np.float64), count_b.astype(np.float64)
    below = np.cumsum(b) - b
    # Plain sums: a threaded dot product costs more than it saves at this length.
    together = a * b
    value = 2.0 * float((a * below).sum()) + float(together.sum())
    return value, float((together if ties is None else together[~ties]).sum())


class Bins(ABC):
    """Bins of values, numbered from 0 in their order."""

    bins: int
    ties: NDArray[np.bool_] | None  # which of them hold one value alone

    @abstractmethod
    def index(self, values: Floats) -> NDArray[np.intp]:
        """The bin of each value."""

    def count_both(
        self, values: Floats, in_a: NDArray[np.bool_], weights: Array | None = None
    ) -> tuple[Array, Array]:
        """How many values (or how much weight) of A and of B each bin holds."""
        both: Array = np.zeros(2 * self.bins, np.int64 if weights is None else float)
        for rows in blocks_of(len(values), max(PIECE, 4 * self.bins)):
            cells = self.index(values[rows]) + self.bins * in_a[rows]
            w = None if weights is None else weights[rows]
            both += np.bincount(cells, w, 2 * self.bins)
        return both[self.bins :], both[: self.bins]


@dataclass(frozen=True)
class Edges(Bins):
    """Bins between ascending edges, for values that lie together and far apart.

    Examples
    --------
    >>> import numpy as np
    >>> few = Edges.through(np.array([0.0, 1.0, 1.0, 1.0, 9.0]), 5)
    >>> few.index(np.array([0.5, 1.0, 1.5, 1e9])).tolist(), few.ties.tolist()
    ([1, 2, 3, 4], [False, False, True, False, False])
    """

    edges: Floats
    bins: int
    ties: NDArray[np.bool_]

    @classmethod
    def through(cls, values: Floats, bins: int) -> Edges:
        """Bins with about as many of the values in each; one that repeats is alone."""
        some = np.sort(values)[:: max(1, len(values) // bins)]
        often = some[1:][some[1:] == some[:-1]]
        edges = np.unique(np.concatenate((some, np.nextafter(often, np.inf))))
        single = np.nextafter(edges[:-1], np.inf) == edges[1:]
        ties = np.concatenate(([False], single, [False]))
        return cls(edges, len(edges) + 1, ties)

    def index(self, values: Floats) -> NDArray[np.intp]:
        """The bin of each value."""
        return np.searchsorted(self.edges, values, "right")


@dataclass(frozen=True)
class Grid(Bins):
    """Equal bins over ``[low, low + bins * width)``; values outside go to the ends."""

    low: float
    width: float
    bins: int
    ties = None

    @classmethod
    def around(cls, values: Floats, bins: int, margin: float = 0.0) -> Grid:
        """The grid that just holds ``values`` and ``margin`` on both sides."""
        low, high = float(values.min()) - margin, float(values.max()) + margin
        width = (high - low) / bins
        return cls(low, width if width > 1e-300 else 1.0, bins)

    def index(self, values: Floats) -> NDArray[np.intp]:
        """The bin of each value."""
        place = values - self.low
        place *= 1.0 / self.width
        np.clip(place, 0, self.bins - 1, out=place)
        return place.astype(np.intp)


def smooth_density(count: Array, grid: Grid, bandwidth: float) -> Floats:
    """A Gaussian kernel density, at the centres of ``grid``, of a binned sample."""
    reach, size, waves = _kernel(grid.width / bandwidth, grid.bins)
    smooth = np.fft.irfft(np.fft.rfft(count, size) * waves, size)
    out: Floats = np.maximum(smooth[reach : reach + grid.bins], 0.0)
    return out / (grid.width * max(float(count.sum()), 1e-300))


# Many groups are smoothed on one grid, one after the other.
@lru_cache(maxsize=2)
def _kernel(step: float, bins: int) -> tuple[int, int, NDArray[np.complex128]]:
    """How far a Gaussian kernel reaches, the length to transform, its transform."""
    reach = min(int(np.ceil(5.0 / step)), 8 * bins)
    kernel = np.exp(-0.5 * (step * np.arange(-reach, reach + 1)) ** 2)
    size = 1 << int(np.ceil(np.log2(bins + 2 * reach)))
    return reach, size, np.fft.rfft(kernel / kernel.sum(), size)
