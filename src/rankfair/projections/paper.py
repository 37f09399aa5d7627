"""Predictions are set to 0: the paper's Algorithms 1-3, repaired."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankfair.core.ranks import twice_u
from rankfair.projections.shift import Band, Floats, Mask, outside

Ints = NDArray[np.int64]

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
    result still outside is repaired: by ``"ratio"`` on what is left, then by the same
    steps on −m, which set predictions below 0 to 0.  Where rows taken in order just
    miss the goal, a few of them are chosen again.  The last resort sets all predictions
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
    for sign, sided in sides:
        rows = _algorithm_1(sign * moved, in_a, sided, _choose_by_ratio)
        moved = _zeroed(moved, rows)
    return _last_resort(moved, in_a, band)


Rows = NDArray[np.intp]
Chooser = Callable[[Floats, Ints, int, Band], Mask]


def _algorithm_1(m: Floats, in_a: Mask, band: Band, choose: Chooser) -> Rows:
    """The rows to set to 0: none, or those of Algorithm 2 or 3, whichever is due."""
    count = int(twice_u(m[in_a], m[~in_a]))
    miss = outside(count, band)
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


def _exchange(changes: Ints, taken: Mask, goal: Band, few: int = 7) -> Mask:
    """Decide some rows afresh so that the sum meets the goal.

    These are the smallest and a spread of the others, taken and not taken, a few each:
    2^28 subsets are enough to hit a sum exactly, as N_B < 10^7.
    """
    order = np.argsort(changes, kind="stable")
    sides = order[taken[order]], order[~taken[order]]
    picked = [(side[:few], _spread(side[few:], few)) for side in sides]
    free = np.concatenate([*picked[0], *picked[1]])
    changed = taken.copy()
    changed[free] = False
    target = round((goal[0] + goal[1]) / 2) - int(changes[changed].sum())
    _, index = best_in_block(changes[free], target, 0, len(free))
    changed[free] = digits(index, len(free))
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
        return digits(best_index(changes, excess, window), len(changes))

    return choose


def _last_resort(m: Floats, in_a: Mask, band: Band) -> Floats:
    """Set all predictions up to a size to 0: none, or the first that is enough."""
    sizes = _spread(np.unique(np.abs(m)), 64)[:-1]
    for size in (0.0, *sizes):
        small = np.where(np.abs(m) <= size, 0.0, m)
        if outside(twice_u(small[in_a], small[~in_a]), band) == 0:
            return small
    return np.zeros_like(m)


def best_index(changes: Ints, excess: int, window: int) -> int:
    """The subset number whose changes sum closest to ``excess``, the least of equals.

    Looked for among the numbers that differ by at most ``window`` from
    ``2^n excess / sum(changes)``; digits as in `digits`.
    """
    if len(changes) == 0:
        return 0
    last = (1 << len(changes)) - 1
    # Half sums of a search grow with the square root of the window.
    window = min(window, 10**12)
    start, rest = divmod(excess << len(changes), int(changes.sum()))
    low = min(max(start - window, 0), last)
    high = min(start + (rest > 0) + window, last)
    found = (
        best_in_block(changes, excess, *block) for block in dyadic_blocks(low, high)
    )
    return min(found)[1]


def dyadic_blocks(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Cut low..high into blocks ``first .. first + 2^free − 1`` of common digits."""
    while low <= high:
        free = (high - low + 1).bit_length() - 1
        if low > 0:
            free = min(free, (low & -low).bit_length() - 1)
        yield low, free
        low += 1 << free


def best_in_block(changes: Ints, excess: int, first: int, free: int) -> tuple[int, int]:
    """The least distance to ``excess`` in a block and the least number that has it.

    Meet in the middle: the sums of the first half of the free digits are matched with
    the sorted sums of the second half.
    """
    fixed = len(changes) - free
    target = excess - int(changes[digits(first, len(changes))].sum())
    half = fixed + free // 2
    leading, trailing = subset_sums(changes[fixed:half]), subset_sums(changes[half:])
    ordered = np.sort(trailing)
    wanted = target - leading
    place = np.searchsorted(ordered, wanted)
    over = np.abs(ordered[np.minimum(place, len(ordered) - 1)] - wanted)
    under = np.abs(ordered[np.maximum(place - 1, 0)] - wanted)
    gaps = np.minimum(over, under)
    front = int(gaps.argmin())
    back = int(np.abs(trailing - wanted[front]).argmin())
    return int(gaps[front]), first + front * len(trailing) + back


def subset_sums(changes: Ints) -> Ints:
    """The sums of all subsets, in the order of their numbers."""
    sums = np.zeros(1, dtype=np.int64)
    for change in changes:
        sums = (sums[:, None] + np.array([0, change])).ravel()
    return sums


def digits(index: int, n: int) -> Mask:
    """The last ``n`` binary digits of a number, the leading one first."""
    size = -(-n // 8)
    packed = np.frombuffer(index.to_bytes(size, "big"), dtype=np.uint8)
    return np.unpackbits(packed)[8 * size - n :].astype(np.bool_)
