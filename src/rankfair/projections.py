"""Projections onto the rank band: new predictions whose 2U lies inside it.

Both functions take predictions ``m`` (N,), the rows of group A ``in_a`` (N,) and a band
in 2U units, and return new predictions with

    low <= twice_u(m[in_a], m[~in_a]) <= high.

The band must hold ``n_A n_B`` (AUC = 1/2) and be at least one pair wide; both groups
have rows, so the paper's scenario without a solution (``r_A^most < C``) cannot happen.
``shift`` moves the two groups as blocks; ``paper`` sets predictions to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankfair.ranks import twice_u

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Band = tuple[float, float]

__all__ = ["paper", "shift"]

# One step of `shift` is enough but for rounding, and a few halvings find its end.
STEPS = 8
HALVINGS = 64
# How often the repair of `paper` starts again before its last resort.
REPAIRS = 4
# So many rows have enough subsets to hit a sum exactly: 2^28 against N_B < 10^7.
EXCHANGED = 28
# The half sums of a search grow with the square root of the window.
LARGEST_WINDOW = 10**12


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
        return _outside(count, self.band)

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


def _outside(count: float, band: Band) -> float:
    """Signed distance of a count to the band, 0 inside."""
    low, high = band
    return max(count - high, 0.0) + min(count - low, 0.0)


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


Search = Literal["index", "ratio"]


def paper(
    m: Floats,
    in_a: Mask,
    band: Band,
    *,
    search: Search = "index",
    window: int = 10_000_000,
) -> Floats:
    """Set predictions to 0 until 2U is inside the band: the paper's Algorithms 1-3.

    Setting a_i to 0 takes from 2U the half pairs between 0 and a_i,

        r_i = c(a_i) − c(0),     c(v) = 2 #{b_j < v} + #{b_j = v},

    and these changes add up over the rows of A; those of B mirror them.  So which rows
    to choose is a knapsack with whole numbers.

    - Inside the band: nothing moves.
    - 2U too high, Algorithm 2: a subset of S_A, the rows of A with r_i > 0, is chosen
      by `search`.
    - 2U too low, Algorithm 3: rows of B with a positive change, the lowest first, until
      the band is reached; a row that would overshoot is skipped.

    Algorithm 2 may end below the band; Algorithm 3 follows (its optional last step).  A
    result still outside is repaired: by ``"ratio"`` on what is left; by the same steps
    on −m, which set predictions below 0 to 0; by one row more, that passes the band,
    and a new start for the other group.  Rows taken in order that just miss the goal
    are mended by deciding a few of them afresh.  The last resort sets all predictions
    of size at most t to 0, for a small t; with the largest t all pairs tie and
    AUC = 1/2, so the result is always inside the band.

    Parameters
    ----------
    m : (N,) array
        Predictions.
    in_a : (N,) boolean array
        The rows of group A.
    band : pair of numbers
        Least and greatest 2U.
    search : {"index", "ratio"}
        ``"index"`` is the paper's: a subset is a number with ``|S_A|`` binary digits,
        the row with the largest change first, and the best number no further than
        `window` from ``2^|S_A| d/Δ`` is taken, where d is the change asked for (to
        AUC = 1/2) and Δ the change by all of S_A.  ``"ratio"`` takes rows with the
        smallest ``a_i² / r_i`` until the band is reached.
    window : int
        The paper's τ, at most 10¹².

    Returns
    -------
    (N,) array
        A new array in which each entry is that of ``m`` or 0.

    Examples
    --------
    >>> import numpy as np
    >>> m = np.array([4.0, 5.0, 1.0, 2.0])
    >>> in_a = np.array([True, True, False, False])
    >>> paper(m, in_a, (3, 5)).tolist()
    [0.0, 5.0, 1.0, 2.0]
    """
    choose = _choose_by_ratio if search == "ratio" else _index_chooser(window)
    pairs = int(np.count_nonzero(in_a)) * int(np.count_nonzero(~in_a))
    sides = (1.0, band), (-1.0, (2 * pairs - band[1], 2 * pairs - band[0]))
    moved = _zeroed(m, _algorithm_1(m, in_a, band, choose))
    for _ in range(REPAIRS):
        for sign, sided in sides:
            rows = _algorithm_1(sign * moved, in_a, sided, _choose_by_ratio)
            moved = _zeroed(moved, rows)
        if _outside(twice_u(moved[in_a], moved[~in_a]), band) == 0:
            return moved
        moved = _overshot(moved, m, in_a, sides)
    return _last_resort(moved, in_a, band)


Rows = NDArray[np.intp]
Chooser = Callable[[Floats, Ints, int, Band], Mask]


def _algorithm_1(m: Floats, in_a: Mask, band: Band, choose: Chooser) -> Rows:
    """The rows to set to 0: none, or those of Algorithm 2 or 3, whichever is due."""
    count = int(twice_u(m[in_a], m[~in_a]))
    miss = _outside(count, band)
    rows, changes = _movable(m, in_a if miss > 0 else ~in_a)
    if miss == 0 or len(rows) == 0:
        return rows[:0]
    if miss < 0:
        goal = band[0] - count, band[1] - count
        return rows[::-1][_take_until(changes[::-1], goal)]
    excess = count - len(m[in_a]) * len(m[~in_a])
    goal = count - band[1], count - band[0]
    return rows[choose(m[rows], changes, excess, goal)]


def _zeroed(m: Floats, rows: Rows) -> Floats:
    """A copy with some rows set to 0."""
    moved = m.astype(np.float64)
    moved[rows] = 0.0
    return moved


def _overshot(
    moved: Floats, m: Floats, in_a: Mask, sides: tuple[tuple[float, Band], ...]
) -> Floats:
    """Pass the band by one row, the smallest; the other group starts again from m."""
    for sign, band in sides:
        count = twice_u(sign * moved[in_a], sign * moved[~in_a])
        group = in_a if count > band[1] else ~in_a
        rows, _ = _movable(sign * moved, group)
        if len(rows):
            return _zeroed(np.where(group, moved, m), rows[-1:])
    return moved


def _movable(m: Floats, group: Mask) -> tuple[NDArray[np.intp], Ints]:
    """The rows of a group whose move to 0 passes someone, largest change first.

    The change grows with the prediction, so the order is that of the predictions.
    """
    rows = np.flatnonzero(group & (m > 0))
    rows = rows[np.argsort(-m[rows], kind="stable")]
    others = np.sort(m[~group])
    values = np.append(m[rows], 0.0)
    counts = np.searchsorted(others, values, "left")
    counts = counts + np.searchsorted(others, values, "right")
    changes = (counts[:-1] - counts[-1]).astype(np.int64)
    passing = changes > 0
    return rows[passing], changes[passing]


def _take_until(changes: Ints, goal: Band) -> Mask:
    """Take changes in their order until the sum is in the goal, skipping overshoots."""
    least, most = goal
    taken = np.zeros(len(changes), dtype=np.bool_)
    total = 0
    for i, change in enumerate(changes.tolist()):
        if total >= least:
            return taken
        if total + change <= most:
            taken[i] = True
            total += change
    return taken if total >= least else _exchange(changes, taken, goal)


def _exchange(changes: Ints, taken: Mask, goal: Band) -> Mask:
    """Decide some rows afresh so that the sum meets the goal.

    These are the smallest and a spread of the others, taken and not taken.
    """
    few = EXCHANGED // 4
    order = np.argsort(changes, kind="stable")
    sides = order[taken[order]], order[~taken[order]]
    picked = [(side[:few], _spread(side[few:], few)) for side in sides]
    free = np.concatenate([*picked[0], *picked[1]])
    changed = taken.copy()
    changed[free] = False
    target = round((goal[0] + goal[1]) / 2) - int(changes[changed].sum())
    _, index = _best_in_block(changes[free], target, 0, len(free))
    changed[free] = _digits(index, len(free))
    return changed if goal[0] <= changes[changed].sum() <= goal[1] else taken


def _spread(items: NDArray[Any], most: int) -> NDArray[Any]:
    """At most so many of the items, evenly spaced from the first to the last."""
    size = min(len(items), most)
    return items[np.linspace(0, len(items) - 1, size).astype(np.intp)]


def _choose_by_ratio(values: Floats, changes: Ints, excess: int, goal: Band) -> Mask:
    """Rows that cost least (squared prediction) for each half pair they give."""
    # The ratio of roots orders alike and cannot overflow.
    order = np.argsort(values / np.sqrt(changes), kind="stable")
    taken = np.zeros(len(values), dtype=np.bool_)
    taken[order[_take_until(changes[order], goal)]] = True
    return taken


def _index_chooser(window: int) -> Chooser:
    """Algorithm 2's choice by the number of the subset."""

    def choose(values: Floats, changes: Ints, excess: int, goal: Band) -> Mask:
        return _digits(_best_index(changes, excess, window), len(changes))

    return choose


def _best_index(changes: Ints, excess: int, window: int) -> int:
    """The subset number whose changes sum closest to ``excess``, the least of equals.

    Looked for among the numbers that differ by at most ``window`` from
    ``2^n excess / sum(changes)``; digits as in `_digits`.
    """
    if len(changes) == 0:
        return 0
    last = (1 << len(changes)) - 1
    window = min(window, LARGEST_WINDOW)
    start, rest = divmod(excess << len(changes), int(changes.sum()))
    low = min(max(start - window, 0), last)
    high = min(start + (rest > 0) + window, last)
    found = (_best_in_block(changes, excess, *block) for block in _blocks(low, high))
    return min(found)[1]


def _blocks(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Cut low..high into blocks ``first .. first + 2^free − 1`` of common digits."""
    while low <= high:
        free = (high - low + 1).bit_length() - 1
        if low > 0:
            free = min(free, (low & -low).bit_length() - 1)
        yield low, free
        low += 1 << free


def _best_in_block(
    changes: Ints, excess: int, first: int, free: int
) -> tuple[int, int]:
    """The least distance to ``excess`` in a block and the least number that has it.

    Meet in the middle: the sums of the first half of the free digits are matched with
    the sorted sums of the second half.
    """
    fixed = len(changes) - free
    target = excess - int(changes[_digits(first, len(changes))].sum())
    half = fixed + free // 2
    leading, trailing = _sums(changes[fixed:half]), _sums(changes[half:])
    ordered = np.sort(trailing)
    wanted = target - leading
    place = np.searchsorted(ordered, wanted)
    over = np.abs(ordered[np.minimum(place, len(ordered) - 1)] - wanted)
    under = np.abs(ordered[np.maximum(place - 1, 0)] - wanted)
    gaps = np.minimum(over, under)
    front = int(gaps.argmin())
    back = int(np.abs(trailing - wanted[front]).argmin())
    return int(gaps[front]), first + front * len(trailing) + back


def _sums(changes: Ints) -> Ints:
    """The sums of all subsets, in the order of their numbers."""
    sums = np.zeros(1, dtype=np.int64)
    for change in changes:
        sums = (sums[:, None] + np.array([0, change])).ravel()
    return sums


def _digits(index: int, n: int) -> Mask:
    """The last ``n`` binary digits of a number, the leading one first."""
    size = -(-n // 8)
    packed = np.frombuffer(index.to_bytes(size, "big"), dtype=np.uint8)
    return np.unpackbits(packed)[8 * size - n :].astype(np.bool_)


def _last_resort(m: Floats, in_a: Mask, band: Band) -> Floats:
    """Set all predictions up to a size to 0: the first of 64 sizes that is enough."""
    for size in _spread(np.unique(np.abs(m)), 64)[:-1]:
        small = np.where(np.abs(m) <= size, 0.0, m)
        if _outside(twice_u(small[in_a], small[~in_a]), band) == 0:
            return small
    return np.zeros_like(m)
