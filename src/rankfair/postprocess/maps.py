"""Learning a map for each group: the least movement, or the constant shift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from rankfair.balances import Rank
from rankfair.problem import Groups
from rankfair.projections import shift as shift_rows
from rankfair.projections.chains import least_movement
from rankfair.projections.samples import Floats, Sample, Standing

THINNED = 1 << 11  # steps a group on which a slack is looked for first
PROBES = 60  # of a slack, at most
SWEEPS = 50  # over three or more groups that are shifted


class Status(Enum):
    """How the maps came out; the value is the sentence shown."""

    SATISFIED = "The band is met with the least movement."
    INACTIVE = "The predictions lie in the band already."
    INFEASIBLE = (
        "No map of predictions by group reached the band, because many predictions tie "
        "or a group has few rows; the closest was kept."
    )

    def __str__(self) -> str:
        """The short word: satisfied, inactive or infeasible."""
        return self.name.lower()


@dataclass(frozen=True)
class Moved:
    """Where the steps of each group move to, and how the groups stand then."""

    values: list[Floats]
    standing: Standing
    status: Status


Excess = Callable[[Standing], float]


def distribution(samples: Sequence[Sample], epsilon: float) -> Moved:
    """Move as little as brings the KS of any two groups down to ε.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = Sample.of(np.array([4.0, 6.0])), Sample.of(np.array([0.0, 1.0]))
    >>> moved = distribution([a, b], epsilon=0.5)
    >>> [values.tolist() for values in moved.values], moved.standing.ks
    ([[2.5, 6.0], [0.0, 2.5]], 0.5)
    """

    def excess(standing: Standing) -> float:
        return standing.ks_excess(epsilon)

    if len(samples) == 2:
        # A pair that keeps the order is returned as it is; to ask first costs more.
        return _judged(samples, least_movement(samples, epsilon), excess)
    return _moved(samples, excess, lambda _: least_movement(samples, epsilon))


def rank(samples: Sequence[Sample], epsilon: float) -> Moved:
    """Move as little as brings AUC to the edge of its band, by the maps for KS.

    The maps are those of `distribution` for the largest slack that puts the AUC of
    every group against the rest within ε of 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> b, a = Sample.of(np.array([0.0, 1.0])), Sample.of(np.array([4.0, 6.0]))
    >>> [values.tolist() for values in rank([b, a], epsilon=0.25).values]
    [[2.0, 3.5], [2.0, 3.5]]
    """

    def excess(standing: Standing) -> float:
        return standing.auc_excess(epsilon)

    def move(start: Standing) -> list[Floats]:
        # Of two groups the one that stands too high comes first.
        turn = len(samples) == 2 and start.lead(0) < 0
        search = _Search(samples[::-1] if turn else samples, epsilon)
        values = search.best(start.ks)
        return values[::-1] if turn else values

    return _moved(samples, excess, move)


@dataclass(frozen=True)
class _Probe:
    """The values at a slack; ``excess`` is above 0 if the groups are still apart."""

    slack: float
    values: list[Floats]
    excess: float
    outside: float


@dataclass(frozen=True)
class _Search:
    """The largest slack at which every AUC is within its band."""

    samples: Sequence[Sample]
    epsilon: float

    def best(self, high: float) -> list[Floats]:
        """Return the values at the largest slack below ``high``, or the closest."""
        # Only a pair can be asked for more than equal distributions.
        low = -1.0 if len(self.samples) == 2 else 0.0
        thin = [sample.thinned(THINNED) for sample in self.samples]
        if any(t is not s for t, s in zip(thin, self.samples, strict=True)):
            guess = _Search(thin, self.epsilon)._narrow(low, high).slack
            low, high = self._around(guess, low, high)
        found = self._narrow(low, high)
        for rows in (4, 1, 16, 64) if len(self.samples) == 2 else ():
            if found.outside > 0:
                found = self._between(found, rows)
        return found.values

    def _probe(self, slack: float) -> _Probe:
        return self._judge(slack, least_movement(self.samples, slack))

    def _judge(self, slack: float, values: list[Floats]) -> _Probe:
        standing = Standing.of(values, self.samples)
        excess = outside = standing.auc_excess(self.epsilon)
        if len(values) == 2:
            excess = standing.lead(0) - standing.width(0, self.epsilon)
        return _Probe(slack, values, excess, max(outside, 0.0))

    def _around(self, guess: float, low: float, high: float) -> tuple[float, float]:
        """A short bracket near the guess: together at its low end, apart at its top."""
        width = 1e-3 * max(abs(guess), 1e-3)
        bottom = max(guess - width, low)
        while bottom > low and self._probe(bottom).excess > 0:
            width *= 4
            bottom = max(bottom - width, low)
        top = min(guess + width, high)
        while top < high and self._probe(top).excess <= 0:
            width *= 4
            top = min(top + width, high)
        return bottom, top

    def _narrow(self, low: float, high: float) -> _Probe:
        """Halve the bracket until AUC is at the edge of its band."""
        return self._halve(low, high, self._probe)

    def _halve(
        self, low: float, high: float, probe_at: Callable[[float], _Probe]
    ) -> _Probe:
        best = probe_at(low)
        for _ in range(PROBES):
            if -1e-3 * self.epsilon <= best.excess <= 0 or high - low < 1e-14:
                break
            middle = (low + high) / 2
            probe = probe_at(middle)
            low, high = (low, middle) if probe.excess > 0 else (middle, high)
            if probe.outside <= best.outside:
                best = probe
        return best

    def _between(self, found: _Probe, rows: int) -> _Probe:
        """Blend the maps of two slacks, some rows around one at which AUC jumps.

        Values that tie across groups part at once; those of a blend part one by one.
        """
        reach = rows * max(sample.row for sample in self.samples)
        near, far = (self._probe(found.slack + step) for step in (-reach, reach))

        def blend(share: float) -> _Probe:
            pairs = zip(near.values, far.values, strict=True)
            values = [(1 - share) * a + share * b for a, b in pairs]
            return self._judge(found.slack, values)

        return min(found, self._halve(0.0, 1.0, blend), key=lambda each: each.outside)


def shift(samples: Sequence[Sample], epsilon: float) -> Moved:
    """Move every group as a whole, until AUC is in its band.

    Examples
    --------
    >>> import numpy as np
    >>> b, a = Sample.of(np.array([0.0, 1.0])), Sample.of(np.array([4.0, 6.0]))
    >>> [values.round(6).tolist() for values in shift([b, a], epsilon=0.25).values]
    [[1.5, 2.5], [2.5, 4.5]]
    """

    def excess(standing: Standing) -> float:
        return standing.auc_excess(epsilon)

    def move(start: Standing) -> list[Floats]:
        values = [sample.values for sample in samples]
        return _shifted(values, samples, excess, epsilon)

    return _moved(samples, excess, move)


def _shifted(
    values: list[Floats], samples: Sequence[Sample], excess: Excess, epsilon: float
) -> list[Floats]:
    """Shift groups in turn; return the closest to the band that was met."""
    best, least = values, excess(Standing.of(values, samples))
    more = len(samples) > 2
    for _ in range(SWEEPS if more else 1):
        for g in range(len(samples)) if more else (1,):
            values = _shift_one(values, samples, g, epsilon)
        nudged = _nudged(values, samples, excess)
        off = excess(Standing.of(nudged, samples))
        if off < least:
            best, least = nudged, off
        if least <= 0:
            break
    return best


def _nudged(
    values: list[Floats], samples: Sequence[Sample], excess: Excess
) -> list[Floats]:
    """Shift by a rounding more, where rounding left rows that were to pass."""
    for more in (0.0, 1e-12, 1e-10, 1e-8, 1e-6):
        nudged = [
            moved + more * (moved[0] - sample.values[0])
            for moved, sample in zip(values, samples, strict=True)
        ]
        if excess(Standing.of(nudged, samples)) <= 0:
            return nudged
    return values


def _shift_one(
    values: Sequence[Floats], samples: Sequence[Sample], g: int, epsilon: float
) -> list[Floats]:
    """Move one group against all others."""
    m = np.concatenate(values)
    codes = np.repeat(np.arange(len(values)), [len(own) for own in values])
    weights = np.concatenate([sample.weights for sample in samples])
    groups = Groups(codes == g, weights)
    steps = shift_rows(m, groups.in_a, Rank(epsilon).band(groups), weights) - m
    # Where rows meet at a jump single ones are moved a little; a group moves as one.
    own, rest = np.median(steps[groups.in_a]), np.median(steps[~groups.in_a])
    return [each + (own if h == g else rest) for h, each in enumerate(values)]


def _moved(
    samples: Sequence[Sample],
    excess: Excess,
    move: Callable[[Standing], list[Floats]],
) -> Moved:
    values = [sample.values for sample in samples]
    standing = Standing.of(values, samples)
    if excess(standing) <= 0:
        return Moved(values, standing, Status.INACTIVE)
    return _judged(samples, move(standing), excess)


def _judged(samples: Sequence[Sample], values: list[Floats], excess: Excess) -> Moved:
    standing = Standing.of(values, samples)
    if excess(standing) > 0:
        return Moved(values, standing, Status.INFEASIBLE)
    still = all(v is s.values for v, s in zip(values, samples, strict=True))
    return Moved(values, standing, Status.INACTIVE if still else Status.SATISFIED)


MAPS = {"rank": rank, "distribution": distribution, "shift": shift}
