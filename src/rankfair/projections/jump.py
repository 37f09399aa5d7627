"""Where equal differences make 2U jump across the band: rows pass one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.projections.common import Floats
from rankfair.projections.sides import Groups, Sides

Places = NDArray[np.intp]


def nearest_at_jump(groups: Groups, below: float, above: float) -> Sides | None:
    """The groups with 2U nearest to the band at a jump; None if they stand there."""
    best, least = None, abs(groups.miss((groups.upper, groups.lower)))
    # Without weights the first jump is enough; rows nearly meeting give more choice.
    for slack in (0.0, groups.slack):
        jump = Jump.between(groups, below - slack, above + slack)
        for sides in jump.ways():
            miss = abs(groups.miss(sides))
            if miss < least:
                best, least = sides, miss
            if miss == 0:
                return best
    return best


@dataclass(frozen=True)
class Jump:
    """Both sides of a jump across the band, and the pairs that meet there.

    Upper row i meets the lower rows ``first[i]:last[i]``: it is not below them before
    the jump, nor above them after.
    """

    groups: Groups
    before: Sides
    after: Sides
    first: Places
    last: Places

    @classmethod
    def between(cls, groups: Groups, below: float, above: float) -> Jump:
        """The jump between two shifts."""
        before, after = groups.at(below), groups.at(above)
        first = np.searchsorted(after[1], after[0], "left")
        last = np.searchsorted(before[1], before[0], "right")
        return cls(groups, before, after, first, last)

    def ways(self) -> Iterator[Sides]:
        """All that is tried, the likeliest first."""
        yield self.tied()
        yield self.in_order()
        yield self.before
        yield self.after

    def tied(self) -> Sides:
        """All rows that meet, directly or through others, share one value."""
        upper, lower = self.after
        meets = self.first < self.last
        ends = len(lower) + 1
        opened = np.bincount(self.first[meets], minlength=ends)
        closed = np.bincount(self.last[meets] - 1, minlength=ends)
        # Lower rows j and j + 1 are tied if one upper row meets both.
        starts = np.concatenate(([True], np.cumsum(opened - closed)[: ends - 2] == 0))
        lower = lower[starts][np.cumsum(starts) - 1]
        return np.where(meets, lower[np.minimum(self.first, ends - 2)], upper), lower

    def in_order(self) -> Sides:
        """Upper rows pass the lower rows they meet one by one, as many as needed.

        The first rows have passed all they meet, the later ones none, and one row
        stands between lower rows, or ties with one of them.
        """
        turn, chosen, half = self._turning_row()
        gap = np.concatenate((self.first[:turn], [half // 2], self.last[turn + 1 :]))
        upper, lower = _laid_out(*self.after, gap, turn if half % 2 else None)
        upper[[turn, chosen]] = upper[[chosen, turn]]
        return upper, lower

    def _turning_row(self) -> tuple[int, int, int]:
        """How many upper rows pass all, who comes next, and its half place.

        Half place 2j is the gap below lower row j, 2j + 1 a tie with it.  Next may come
        any of the rows with the same value, so that weights have a choice.
        """
        groups = self.groups
        weight = _weight_or_one(groups.weight_upper, len(groups.upper))
        below = np.cumsum(_weight_or_one(groups.weight_lower, len(groups.lower)))
        below = np.concatenate(([0], below))
        passing = np.cumsum(2 * weight * (below[self.last] - below[self.first]))
        most = 2 * (weight @ below[self.last])
        turn = int(np.searchsorted(passing, most - groups.goal))
        turn = min(turn, len(weight) - 1)
        count = most - (passing[turn - 1] if turn else 0)

        equal = int(np.searchsorted(groups.upper, groups.upper[turn], "right"))
        weight = weight[turn:equal, None]
        halves = np.arange(2 * self.first[turn], 2 * self.last[turn] + 1)
        beaten = below[halves // 2] + below[(halves + 1) // 2]
        wanted = beaten[-1] - (count - groups.goal) / np.maximum(weight, 1e-300)
        place = np.searchsorted(beaten, wanted, "right") - np.array([1, 0])
        place = np.clip(place, 0, len(halves) - 1)
        counts = count - weight * (beaten[-1] - beaten[place])
        misses = np.abs(counts - np.clip(counts, *groups.band))
        row, side = divmod(int(np.argmin(misses)), 2)
        return turn, turn + row, int(halves[place[row, side]])


def _weight_or_one(weight: NDArray[Any] | None, n: int) -> NDArray[Any]:
    return np.ones(n, np.int64) if weight is None else weight


def _laid_out(upper: Floats, lower: Floats, gap: Places, tie: int | None) -> Sides:
    """Sorted groups moved up by the fewest floats that put them in a given order.

    Upper row i goes strictly above ``gap[i]`` lower rows and strictly below the others;
    only row ``tie`` gets the value of the lower row that follows it.
    """
    at_upper = np.arange(len(upper)) + gap
    places = np.arange(len(lower))
    at_lower = places + np.searchsorted(gap, places, "right")
    values = np.empty(len(upper) + len(lower))
    values[at_upper], values[at_lower] = upper, lower
    is_upper = np.zeros(len(values), np.bool_)
    is_upper[at_upper] = True
    steps = np.diff(is_upper, prepend=is_upper[0]).astype(np.int64)
    if tie is not None:
        at = at_upper[tie]
        values[at : at + 2] = values[at : at + 2].max()
        steps[at : at + 3] = [1, 0, 1][: len(steps) - at]
    values = _raised(values, steps)
    return values[at_upper], values[at_lower]


def _raised(values: Floats, steps: NDArray[np.int64]) -> Floats:
    """The least y >= values where y[i] is ``steps[i]`` floats above y[i-1], or more.

    Examples
    --------
    >>> import numpy as np
    >>> _raised(np.array([0.0, -1.0, 1.0]), np.array([0, 1, 1])).tolist()
    [0.0, 5e-324, 1.0]
    """
    # The bits of floats, read as integers, number them in order, but backwards below 0.
    backwards = np.iinfo(np.int64).min
    bits = values.view(np.int64)
    number = np.where(bits < 0, backwards - bits, bits)
    climbed = np.cumsum(steps)
    number = np.maximum.accumulate(number - climbed) + climbed
    return np.where(number < 0, backwards - number, number).view(np.float64)
