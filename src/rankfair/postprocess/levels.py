"""Moved predictions on common levels, counted on all rows.

Every value that a map can give is a threshold at which the groups may differ in rows
that it was not learnt on, and KS is the largest of these differences.  So values that
lie closer than the rows can tell apart are made one: KS never rises by it, on any rows,
and at a twentieth of the spread or less it costs next to no accuracy.

Levels are also what makes many rows cheap.  The movement is solved for bundles of
neighbouring rows, and only the places between two levels are counted row by row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankfair.projections.samples import ROUNDING, Array, Floats, Sample, Standing

BUNDLED = 1 << 14  # groups of more steps are bundled
BUNDLES, TAIL = 1 << 12, 1 << 10  # so many, and steps that stay alone at each end
FEWEST = 20  # levels between the 10 % and the 90 % quantile


@dataclass(frozen=True)
class Bundles:
    """Samples whose steps are bundles of neighbouring steps of other samples.

    Bundle k of a group holds the steps from ``starts[k]`` on; the steps at both ends
    stay alone, so that far values are not taken for nearer ones.  A level of a step is
    off by less than half a bundle, 1/8192 of its group.
    """

    full: Sequence[Sample]
    samples: Sequence[Sample]
    starts: Sequence[Array]

    @classmethod
    def of(cls, samples: Sequence[Sample]) -> Bundles:
        """Bundle the groups that have many steps.

        Examples
        --------
        >>> import numpy as np
        >>> bundles = Bundles.of([Sample.of(np.arange(3.0)), Sample.of(np.arange(1e5))])
        >>> [len(sample.values) for sample in bundles.samples], bundles.whole
        ([3, 6062], False)
        """
        pairs = [_bundled(sample) for sample in samples]
        return cls(samples, [p[0] for p in pairs], [p[1] for p in pairs])

    @classmethod
    def single(cls, samples: Sequence[Sample]) -> Bundles:
        """Every step its own bundle."""
        starts = [np.arange(len(sample.values) + 1) for sample in samples]
        return cls(samples, samples, starts)

    def turned(self, step: int) -> Bundles:
        """The groups in this order, or the other way round for a step of -1."""
        order = slice(None, None, step)
        return Bundles(self.full[order], self.samples[order], self.starts[order])

    @property
    def whole(self) -> bool:
        """Whether every step is its own bundle."""
        return all(a is b for a, b in zip(self.full, self.samples, strict=True))

    @property
    def width(self) -> float:
        """By how much a difference of two levels may be off: half a bundle each."""
        widest = [
            np.max(sample.weights[np.diff(starts) > 1], initial=0) / sample.total
            for sample, starts in zip(self.samples, self.starts, strict=True)
        ]
        return float(np.mean(sorted(widest)[-2:]))


def _bundled(sample: Sample) -> tuple[Sample, Array]:
    n = len(sample.values)
    if n <= BUNDLED:
        return sample, np.arange(n + 1)
    inner = sample.steps_below(np.arange(1, BUNDLES) / BUNDLES, "left")
    inner = inner[(inner > TAIL) & (inner < n - TAIL)]
    ends = np.arange(TAIL + 1), np.arange(n - TAIL, n + 1)
    starts = np.concatenate((ends[0], inner, ends[1]))
    starts = starts[np.diff(starts, prepend=-1) > 0]
    middle = sample.values[(starts[:-1] + starts[1:] - 1) // 2]
    return Sample(middle, np.diff(sample.up_to(starts)), sample.row), starts


def spacing(samples: Sequence[Sample]) -> float:
    """How far levels lie apart: a share of the groups' mean range from 10 % to 90 %.

    What levels save in KS goes with √(h/n) for n rows and a spacing h, what they cost
    in squared error with h²: so h falls with the cube root of n, here nearly the rows
    of the smaller group.

    Examples
    --------
    >>> import numpy as np
    >>> sample = Sample.of(np.linspace(0, 1, 101))
    >>> round(spacing([sample, sample]), 6)
    0.04
    """
    total = sum(sample.total for sample in samples)
    reach = 0.0
    for sample in samples:
        low, high = sample.steps_below(np.array([0.1, 0.9]) - ROUNDING, "left")
        gap = sample.values[high] - sample.values[low]
        reach += float(sample.total / total * gap)
    rows = 1 / sum(sample.row for sample in samples)
    return reach / max(FEWEST, 1.25 * math.cbrt(rows))


def centre(samples: Sequence[Sample]) -> float:
    """The mean of the groups' medians, each with the weight of its group.

    Examples
    --------
    >>> import numpy as np
    >>> centre([Sample.of(np.array([0.0, 1.0, 9.0])), Sample.of(np.array([3.0]))])
    1.5
    """
    total = sum(sample.total for sample in samples)
    middle = 0.0
    for sample in samples:
        sides = sample.steps_below(0.5 + ROUNDING * np.array([-1.0, 1.0]), "left")
        middle += sample.total / total * float((sample.values[sides] / 2).sum())
    return middle


@dataclass(frozen=True)
class Laid:
    """Groups on common levels: level k of a group holds its steps up to ``cuts[k]``."""

    samples: Sequence[Sample]
    levels: Floats
    cuts: Sequence[Array]

    @cached_property
    def standing(self) -> Standing:
        """How the groups stand, counted on all rows."""
        shown, held = [], []
        for sample, cuts in zip(self.samples, self.cuts, strict=True):
            counts = np.diff(sample.up_to(cuts), prepend=0)
            some = counts > 0
            shown.append(self.levels[some])
            held.append(Sample(shown[-1], counts[some], sample.row))
        return Standing.of(shown, held)

    @property
    def values(self) -> list[Floats]:
        """Where each step moves to."""
        return [np.repeat(self.levels, np.diff(cuts, prepend=0)) for cuts in self.cuts]

    def within(self, epsilon: float) -> Laid:
        """Let no group be ahead of another by more than ε between two levels.

        Steps of a group that is go up a level, which keeps the order of all.
        """
        shares = [
            s.up_to(c) / s.total for s, c in zip(self.samples, self.cuts, strict=True)
        ]
        most = np.min(shares, axis=0) + epsilon + ROUNDING
        cuts = [
            np.minimum(c, s.steps_below(most, "right"))
            for s, c in zip(self.samples, self.cuts, strict=True)
        ]
        return Laid(self.samples, self.levels, cuts)


def lay(bundles: Bundles, moved: Sequence[Floats], space: float) -> Laid:
    """Put moved bundles on levels ``space`` apart, each the mean of what comes there.

    They count from the `centre` of the groups: where zero is has no say.

    Examples
    --------
    >>> import numpy as np
    >>> samples = [Sample.of(np.array([0.0, 1.0, 5.0])), Sample.of(np.array([2.0]))]
    >>> laid = lay(Bundles.of(samples), [sample.values for sample in samples], 4.0)
    >>> [values.tolist() for values in laid.values]
    [[1.0, 1.0, 5.0], [1.0]]
    """
    middle = centre(bundles.samples)
    # Without a spacing (most predictions are equal) only equal values share a level.
    cells = [np.floor((q - middle) / space + 0.5) if space > 0 else q for q in moved]
    every = np.unique(np.concatenate(cells))
    total, weight = np.zeros(len(every)), np.zeros(len(every))
    cuts = []
    for sample, q, cell, starts in zip(
        bundles.samples, moved, cells, bundles.starts, strict=True
    ):
        place = np.searchsorted(every, cell)
        total += np.bincount(place, sample.weights * q, len(every))
        weight += np.bincount(place, sample.weights, len(every))
        cuts.append(starts[np.searchsorted(cell, every, "right")])
    # Rounding must not put a mean below the one before it.
    return Laid(bundles.full, np.maximum.accumulate(total / weight), cuts)
