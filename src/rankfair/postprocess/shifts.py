"""Every group moves as a whole, until AUC is in its band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfair._frames import Codes
from rankfair.constraints import Rank
from rankfair.core.problem import Groups
from rankfair.postprocess.levels import Bundles
from rankfair.postprocess.search import Free
from rankfair.projections import shift as shift_rows
from rankfair.projections import swept
from rankfair.projections.samples import Array, Floats, Sample, Standing

SWEEPS = 50  # over three or more groups
FEW = 1 << 10  # quantiles a group that stand for many rows
ROUNDS = 4  # on these, each with a band that allows for what the last missed
NEAR = 2e-3  # of the band's width is where they aim inside it
ALIKE = 1e-10  # of the spread of values: closer ones differ by rounding


def shifted(bundles: Bundles, epsilon: float) -> Free:
    """Return the steps of each group, moved together; the closest to the band.

    Of many rows the shift is found on some quantiles, counted on all rows, and found
    again with a band narrower by what that count was off.

    Examples
    --------
    >>> import numpy as np
    >>> b, a = Sample.of(np.array([0.0, 1.0])), Sample.of(np.array([4.0, 6.0]))
    >>> moved = shifted(Bundles.of([b, a]), epsilon=0.25)
    >>> [values.round(6).tolist() for values in moved.values]
    [[1.5, 2.5], [2.5, 4.5]]
    """
    samples, band = bundles.full, (1 - NEAR) * epsilon
    thin = [sample.thinned(FEW) for sample in samples]
    for _ in range(0 if bundles.whole else ROUNDS):
        few = _closest(thin, band)
        steps = [m[0] - s.values[0] for m, s in zip(few, thin, strict=True)]
        values = [s.values + step for s, step in zip(samples, steps, strict=True)]
        moved = Free(samples, values)
        excess = moved.standing.auc_excess(epsilon)
        if -2 * NEAR * epsilon <= excess <= 0:
            return moved
        band = max(band - excess - NEAR * epsilon, 0.0)
    return Free(samples, _closest(samples, epsilon))


def _closest(samples: Sequence[Sample], epsilon: float) -> list[Floats]:
    """Shift groups in turn, the lowest first: an order that owes nothing to names."""
    start = Standing.of([sample.values for sample in samples], samples)

    def height(g: int) -> tuple[float, ...]:
        own = samples[g]
        return start.lead(g), own.total, float(np.median(own.values))

    order = sorted(range(len(samples)), key=height)
    values = _in_turn([samples[g] for g in order], epsilon)
    found = [values[order.index(g)] for g in range(len(samples))]
    excess = _excess(found, samples, epsilon)
    other = _swept(samples, start, epsilon) if excess > 0 else None
    if other is None or _excess(other, samples, epsilon) >= excess:
        return found
    return other


def _swept(
    samples: Sequence[Sample], start: Standing, epsilon: float
) -> list[Floats] | None:
    """Put groups where exact counts are nearest; None if they have too many values."""
    m, codes, weights = _joined([sample.values for sample in samples], samples)
    half = np.array([start.width(g, epsilon) for g in range(len(samples))])
    steps = swept(m, codes, weights, (0.5 - half, 0.5 + half))
    if steps is None:
        return None
    moved = [s.values + step for s, step in zip(samples, steps, strict=True)]
    return min((moved, _met(moved)), key=lambda v: _excess(v, samples, epsilon))


def _met(values: Sequence[Floats]) -> list[Floats]:
    """Make values one that differ by rounding only, and were to tie across groups."""
    joined = np.concatenate(values)
    order = np.argsort(joined)
    ordered = joined[order]
    new = np.append(True, np.diff(ordered) > ALIKE * (ordered[-1] - ordered[0]))
    joined[order] = ordered[new][np.cumsum(new) - 1]
    return np.split(joined, np.cumsum([len(own) for own in values])[:-1])


def _in_turn(samples: Sequence[Sample], epsilon: float) -> list[Floats]:
    """Shift groups in turn; return the closest to the band that was met."""
    values = [sample.values for sample in samples]
    best, least = values, _excess(values, samples, epsilon)
    more = len(samples) > 2
    for _ in range(SWEEPS if more else 1):
        for g in range(len(samples)) if more else (1,):
            values = _shift_one(values, samples, g, epsilon)
        moved, off = values, _excess(values, samples, epsilon)
        if off > 0 and not (more and off < least / 2):  # another sweep may do, or not
            moved, off = _nudged(values, samples, epsilon, off)
        if off < least:
            best, least = moved, off
        if least <= 0:
            break
    return best


def _excess(
    values: Sequence[Floats], samples: Sequence[Sample], epsilon: float
) -> float:
    return Standing.of(values, samples).auc_excess(epsilon)


def _nudged(
    values: list[Floats], samples: Sequence[Sample], epsilon: float, off: float
) -> tuple[list[Floats], float]:
    """Shift by a rounding more, where rounding left rows that were to pass."""
    for more in (1e-12, 1e-10, 1e-8, 1e-6):
        nudged = [
            moved + more * (moved[0] - sample.values[0])
            for moved, sample in zip(values, samples, strict=True)
        ]
        if (least := _excess(nudged, samples, epsilon)) <= 0:
            return nudged, least
    return values, off


def _joined(
    values: Sequence[Floats], samples: Sequence[Sample]
) -> tuple[Floats, Codes, Array]:
    """The steps of all groups in one array, the group of each, and its weight."""
    codes = np.repeat(np.arange(len(values)), [len(own) for own in values])
    weights = np.concatenate([sample.weights for sample in samples])
    return np.concatenate(values), codes, weights


def _shift_one(
    values: Sequence[Floats], samples: Sequence[Sample], g: int, epsilon: float
) -> list[Floats]:
    """Move one group against all others."""
    m, codes, weights = _joined(values, samples)
    groups = Groups(codes == g, weights)
    steps = shift_rows(m, groups.in_a, Rank(epsilon).band(groups), weights) - m
    # Where rows meet at a jump single ones are moved a little; a group moves as one.
    own, rest = np.median(steps[groups.in_a]), np.median(steps[~groups.in_a])
    return [each + (own if h == g else rest) for h, each in enumerate(values)]
