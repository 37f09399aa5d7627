"""Shifts of groups, found on exact counts of their few values.

Slopes smooth a count over its neighbourhood.  Of the few values of a tree, or of a few
rows, they say little: counts stay and jump, and where they jump is known exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Floats

SWEEPS = 10  # over all groups from one start, at most
STARTS = 32  # places at which each group is put to start from
ROOM = 0.01  # of an interval between two jumps is left free at either side
FINE = float(1 << 36)  # parts of the spread of predictions: closer ones are ties
ROUNDED = 2.0  # parts by which equal differences of rounded values may differ
NARROW = 1 << 8  # parts: narrower intervals are no place for a group
MANY = 1 << 15  # differences of values in a sweep for which slopes say enough
WORK = 1 << 18  # differences that starts may sort in one sweep each,
CALL = 1 << 10  # and what a group costs beside them
TIES = 32  # roundings of a shift that are tried for values to be equal


@dataclass(frozen=True)
class Spot:
    """Shifts of the groups, 2U of each over each there, and how far off that is."""

    x: Floats
    twice_u: Floats  # (G, G)
    off: float
    length: float  # mean square of the shifts around their mean

    @property
    def merit(self) -> tuple[float, float]:
        """Nearer to the bands is better, then the shorter move; rounding is none."""
        return round(self.off, 12), self.length


@dataclass(frozen=True)
class Sweep:
    """The distinct values of each group with their weights, and the bands of AUCs."""

    values: tuple[Floats, ...]  # whole numbers of ``unit``, so that ties are exact
    weights: tuple[Floats, ...]
    low: Floats
    high: Floats
    unit: float

    @classmethod
    def of(
        cls,
        m: Floats,
        codes: Codes,
        weights: NDArray[Any] | None,
        bands: tuple[Floats, Floats],
    ) -> Sweep:
        """Join the predictions that tie; rows of unknown group are left out."""
        w = np.ones(len(m)) if weights is None else weights.astype(np.float64)
        known = m[codes >= 0]
        unit = (float(np.ptp(known)) or 1.0) / FINE
        m = ((m - known.min()) / unit).round()
        values: list[Floats] = []
        sums: list[Floats] = []
        for g in range(len(bands[0])):
            own = codes == g
            distinct, place = np.unique(m[own], return_inverse=True)
            values.append(distinct)
            sums.append(np.bincount(place, w[own]).astype(np.float64))
        return cls(tuple(values), tuple(sums), *bands, unit)

    @cached_property
    def sizes(self) -> Floats:
        """The weight of each group."""
        return np.array([w.sum() for w in self.weights])

    @property
    def cost(self) -> int:
        """How many differences of values one sweep sorts."""
        n = np.array([len(values) for values in self.values])
        return int(n.sum() ** 2 - (n**2).sum())

    def to(self, x: Floats) -> Spot:
        """Count the pairs of all groups at some shifts."""
        n = len(x)
        twice_u = np.zeros((n, n))
        for g in range(n):
            for h in range(g):
                apart = np.subtract.outer(self._at(g, x), self._at(h, x))
                apart = np.sign(apart) * (np.abs(apart) >= ROUNDED)
                pairs = self.sizes[g] * self.sizes[h]
                twice_u[g, h] = pairs + self.weights[g] @ apart @ self.weights[h]
                twice_u[h, g] = 2 * pairs - twice_u[g, h]
        return self._place(x, twice_u)

    def _at(self, g: int, x: Floats) -> Floats:
        moved: Floats = self.values[g] + x[g]
        return moved

    def _place(self, x: Floats, twice_u: Floats) -> Spot:
        off = float(self._off(twice_u.sum(axis=1)))
        shares = self.sizes / self.sizes.sum()
        return Spot(x, twice_u, off, float(shares @ (x - shares @ x) ** 2))

    def _off(self, twice_u: Floats) -> Floats:
        """How far 2U of each group over the rest (…, G) are outside, together."""
        aucs = twice_u / (2 * self.sizes * (self.sizes.sum() - self.sizes))
        off: Floats = np.linalg.norm(aucs - np.clip(aucs, self.low, self.high), axis=-1)
        return off

    def line(self, here: Spot, g: int) -> tuple[Floats, Floats, Floats]:
        """Where one group may be put: between any two jumps, and at each, tied.

        Returns the shifts (K,), 2U of the group over each of the others (K, G), and
        how far off all groups are there (K,).
        """
        others = [h for h in range(len(here.x)) if h != g]
        jumps = [np.subtract.outer(self._at(h, here.x), self.values[g]) for h in others]
        pairs = [np.outer(self.weights[h], self.weights[g]) for h in others]
        at, place = _distinct(np.concatenate([own.ravel() for own in jumps]))
        owner = np.repeat(others, [own.size for own in jumps])
        weight = np.concatenate([own.ravel() for own in pairs])
        n = len(here.x)
        size = np.bincount(n * place + owner, weight, n * len(at)).reshape(-1, n)
        after = 2 * np.cumsum(size, axis=0)
        left, right = np.append(at[0] - FINE, at), np.append(at, at[-1] + FINE)
        free = self._free(here, g)
        room = ROOM * (right - left)
        between = np.clip(free, left + room, right - room).round()
        wide = right - left > NARROW
        spots = np.concatenate((between[wide], at))
        over = np.vstack((np.vstack((0 * after[:1], after))[wide], after - size))
        of_rest = here.twice_u.sum(axis=1) - here.twice_u[:, g]
        totals = of_rest + 2 * self.sizes[g] * self.sizes - over
        totals[:, g] = over.sum(axis=1)
        return spots, over, self._off(totals)

    def _free(self, here: Spot, g: int) -> float:
        """Where the move of one group is the shortest: at the mean of the others."""
        w = np.where(np.arange(len(here.x)) == g, 0.0, self.sizes)
        return float(w @ here.x / w.sum())

    def put(self, here: Spot, g: int, spot: float, over: Floats) -> Spot:
        """Put one group where it has these 2U over the others."""
        x, twice_u = here.x.copy(), here.twice_u.copy()
        x[g], twice_u[g] = spot, over
        twice_u[:, g] = 2 * self.sizes[g] * self.sizes - over
        twice_u[g, g] = 0.0
        return self._place(x, twice_u)

    def best(self, here: Spot, g: int) -> Spot:
        """Put one group where all are the least off, and the move the shortest."""
        spots, over, off = self.line(here, g)
        near = np.flatnonzero(off <= off.min() + 1e-12)
        k = near[np.abs(spots[near] - self._free(here, g)).argmin()]
        put = self.put(here, g, spots[k], over[k])
        return min(put, here, key=lambda place: place.merit)

    def settled(self, here: Spot) -> Spot:
        """Put the groups in turn until no one has a better place."""
        for _ in range(SWEEPS):
            before = here
            for g in range(len(here.x)):
                here = self.best(here, g)
            if here.off >= before.off and here.length >= 0.99 * before.length:
                break
        return here

    def starts(self) -> Iterator[Spot]:
        """No shift at all, then each group at places all along the others."""
        still = self.to(np.zeros(len(self.values)))
        yield still
        n = len(self.values)
        each = min(STARTS, WORK // (n * (self.cost + CALL * n)))
        for g in range(n):
            spots, over, _ = self.line(still, g)
            places = np.linspace(0, len(spots) - 1, min(each, len(spots)))
            for k in places.round().astype(int):
                yield self.put(still, g, spots[k], over[k])


def _distinct(jumps: Floats) -> tuple[Floats, Codes]:
    """Jumps in ascending order, those that differ by rounding as one; places there."""
    values, place = np.unique(jumps, return_inverse=True)
    new = np.diff(values, prepend=-np.inf) > ROUNDED
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(values)) - 1
    middle: Floats = np.floor((values[first] + values[last]) / 2)
    return middle, (np.cumsum(new) - 1)[place]


def swept(
    m: Floats,
    codes: Codes,
    weights: NDArray[Any] | None,
    bands: tuple[Floats, Floats],
) -> Floats | None:
    """What to add to each group so that AUCs are the nearest to their bands.

    From each start groups are put in turn where all counts together are the nearest,
    until a start leads inside.  None if there are too many values for that.

    Examples
    --------
    >>> import numpy as np
    >>> m, z = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 3.0]), np.repeat([0, 1, 2], 2)
    >>> bands = np.full(3, 0.5), np.full(3, 0.5)
    >>> (swept(m, z, None, bands).round(6) + 0.0).tolist()
    [1.0, 0.0, -1.0]
    """
    order = _by_size(m, codes, weights, len(bands[0]))
    place = np.append(np.argsort(order), -1)
    turned = bands[0][order], bands[1][order]
    x = _swept(m, place[codes], weights, turned)
    return None if x is None else x[place[:-1]]


def _by_size(
    m: Floats, codes: Codes, weights: NDArray[Any] | None, n_groups: int
) -> NDArray[np.intp]:
    """Groups by weight, then by mean: an order that owes nothing to their names."""
    w = np.ones(len(m)) if weights is None else weights
    sizes = np.bincount(codes + 1, w, n_groups + 1)[1:]
    means = np.bincount(codes + 1, w * m, n_groups + 1)[1:] / sizes
    return np.lexsort((means, sizes))


def _swept(
    m: Floats,
    codes: Codes,
    weights: NDArray[Any] | None,
    bands: tuple[Floats, Floats],
) -> Floats | None:
    """The same, with groups taken in the order of their codes."""
    it = Sweep.of(m, codes, weights, bands)
    if it.cost > MANY:
        return None
    best: Spot | None = None
    for start in it.starts():
        settled = it.settled(start)
        if best is None or settled.merit < best.merit:
            best = settled
        if best.merit[0] == 0:
            break
    assert best is not None
    x = (best.x - it.sizes @ best.x / it.sizes.sum()) * it.unit
    return _tied(m, codes, x, 4 * it.unit)


def _tied(m: Floats, codes: Codes, x: Floats, near: float) -> Floats:
    """Shifts that differ by rounding, after which values as near as that are equal."""
    x, values = x.copy(), [np.unique(m[codes == g]) for g in range(len(x))]
    for g in [*range(len(x))] * 2:
        moved = [values[h] + x[h] for h in range(len(x)) if h != g]
        others = np.unique(np.concatenate(moved))
        i, j = np.nonzero(np.abs(np.subtract.outer(values[g] + x[g], others)) <= near)
        due = np.unique(others[j] - values[g][i])[:TIES]
        tries = np.concatenate(
            (x[[g]], due, np.nextafter(due, np.inf), np.nextafter(due, -np.inf))
        )
        equal = values[g][i] + tries[:, np.newaxis] == others[j]
        x[g] = tries[equal.sum(axis=1).argmax()]
    return x
