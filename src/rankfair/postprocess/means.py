"""Mean predictions of two groups held as well: the groups come closer as wholes first.

With ``v_i`` where a row of weight ``w_i`` stands and ``q_i`` where it moves to,

    minimise   Σ w_i (q_i − v_i)²   subject to   |mean_A(q) − mean_B(q)| ≤ width

and to what is asked of ranks or distributions.  A multiplier of the difference of means
moves every ``v_i`` of A by a constant and every ``v_i`` of B by another, in proportion
to ``1/n_A`` and ``−1/n_B``.  So the answer is the least movement from groups that have
come closer as wholes, and one number is searched for: how far they have come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankfair.postprocess.levels import spacing
from rankfair.postprocess.maps import Moved, Status
from rankfair.projections.samples import Floats, Sample, Standing

PROBES = 20  # of the way, at most
NEAR = 1e-2  # of the width: so near to its edge is at its edge

Learn = Callable[[Sequence[Sample]], Moved]


def difference(values: Sequence[Floats], samples: Sequence[Sample]) -> float:
    """Return the mean of the second group less that of the first.

    Examples
    --------
    >>> import numpy as np
    >>> samples = [Sample.of(np.array([0.0, 0.0, 3.0])), Sample.of(np.array([4.0]))]
    >>> difference([sample.values for sample in samples], samples)
    3.0
    """
    first, second = (
        float(np.average(m, weights=s.counts))
        for m, s in zip(values, samples, strict=True)
    )
    return second - first


@dataclass(frozen=True)
class Probe:
    """What comes of groups that came closer by ``way``; ``apart`` is what is left."""

    way: float
    moved: Moved
    apart: float


def with_means(learn: Learn, samples: Sequence[Sample], width: float) -> Moved:
    """Move two groups as ``learn`` does, with means that differ by ``width`` at most.

    The width is never less than one row of each group moved by a level.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from rankfair.postprocess.maps import rank
    >>> b, a = Sample.of(np.array([0.0, 1.0])), Sample.of(np.array([4.0, 6.0]))
    >>> moved = with_means(partial(rank, epsilon=0.5), [b, a], width=1.0)
    >>> round(difference(moved.values, [b, a]), 1), [round(s, 1) for s in moved.shifts]
    (1.0, [1.8, -1.8])
    """
    step = sum(sample.row for sample in samples) * spacing(samples)
    width = max(width, step)

    def probe(way: float) -> Probe:
        shifts = _closer(samples, way)
        closer = [
            Sample(s.values + step, s.counts, s.row) if way else s
            for s, step in zip(samples, shifts, strict=True)
        ]
        moved = replace(learn(closer), shifts=tuple(shifts))
        return Probe(way, moved, difference(moved.values, samples))

    found = _shortest(probe, width, near=max(NEAR * width, min(step, width / 2)))
    return replace(found.moved, status=_status(found, width))


def only_means(samples: Sequence[Sample], width: float) -> Moved:
    """Move two groups as wholes until their means differ by ``width`` at most.

    Examples
    --------
    >>> import numpy as np
    >>> b, a = Sample.of(np.array([0.0, 1.0])), Sample.of(np.array([4.0, 6.0]))
    >>> [values.tolist() for values in only_means([b, a], width=0.5).values]
    [[2.0, 3.0], [2.0, 4.0]]
    """
    values = [sample.values for sample in samples]
    apart = difference(values, samples)
    over = max(abs(apart) - width, 0.0)
    shifts = _closer(samples, math.copysign(over, apart))
    status = Status.SATISFIED if over else Status.INACTIVE
    values = [m + step if step else m for m, step in zip(values, shifts, strict=True)]
    return Moved(values, Standing.of(values, samples), status, tuple(shifts))


def _closer(samples: Sequence[Sample], way: float) -> list[float]:
    """How far each group moves if they come closer by ``way``, with least movement."""
    total = sum(sample.total for sample in samples)
    return [samples[1].total / total * way, -samples[0].total / total * way]


def _shortest(probe: Callable[[float], Probe], width: float, near: float) -> Probe:
    """The shortest way that leaves the means ``width`` apart, or the closest to it."""
    best = start = probe(0.0)
    turn, low, over = math.copysign(1.0, start.apart), 0.0, abs(start.apart) - width
    high = under = math.nan
    way = over + near / 2
    for i in range(PROBES if over > 0 else 0):
        found = probe(turn * way)
        best = min(best, found, key=lambda p: (_outside(p, width), abs(p.way)))
        excess = turn * found.apart - width
        if -near <= excess <= 0:
            break
        if excess > 0:
            low, over = way, excess
        else:
            high, under = way, excess
        if math.isnan(high):
            # Groups that are nearly one already go together for a long way.
            way = max(low + 2 * over, 3 * low)
            continue
        # Straight lines, and a half now and then where a line does not narrow.
        share = (over + near / 2) / (over - under) if i % 3 else 0.5
        way = low + min(max(share, 0.02), 0.98) * (high - low)
    return best


def _outside(probe: Probe, width: float) -> float:
    return max(abs(probe.apart) - width, 0.0)


def _status(found: Probe, width: float) -> Status:
    if _outside(found, width) > 0:
        return Status.INFEASIBLE
    if found.way and found.moved.status is Status.INACTIVE:
        return Status.SATISFIED
    return found.moved.status
