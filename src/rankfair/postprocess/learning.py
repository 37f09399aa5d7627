"""From predictions and groups to maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Floats
from rankfair.core.blocks import resolution_of, rounded
from rankfair.core.ranks import counts_of
from rankfair.postprocess.demands import Demand
from rankfair.postprocess.lines import AS_IT_IS, Line, lines_through, on_line
from rankfair.postprocess.maps import Moved
from rankfair.postprocess.readings import Given
from rankfair.projections.samples import Sample

__all__ = ["Learnt", "learn"]


@dataclass(frozen=True)
class Learnt:
    """Where each group was, the lines it was put on first, and where it moved to.

    Where it was are multiples of ``resolution``.
    """

    resolution: float
    groups: NDArray[Any]
    samples: Sequence[Sample]
    lines: Sequence[Line]
    moved: Moved

    @property
    def shares(self) -> Floats:
        """The share of each group in the rows of known group."""
        totals = np.array([sample.total for sample in self.samples], np.float64)
        shares: Floats = totals / totals.sum()
        return shares


def learn(demand: Demand, m: Floats, given: Given, calibrate: bool) -> Learnt | None:
    """Move predictions of each group as demanded; None if there are no groups.

    Examples
    --------
    >>> import numpy as np
    >>> codes, groups = np.array([0, 0, 1, 1]), np.array(["a", "b"])
    >>> given = Given(None, None, (), codes, groups)
    >>> m = np.array([0.0, 1.0, 4.0, 5.0])
    >>> learnt = learn(Demand.of("rank", 0.0), m, given, calibrate=False)
    >>> [values.tolist() for values in learnt.moved.values]
    [[2.0, 3.0], [2.0, 3.0]]
    """
    codes, groups = given.codes, given.groups
    if codes is None or groups is None:
        return None
    counted = codes >= 0 if given.weights is None else (codes >= 0) * given.weights > 0
    resolution = resolution_of(m[counted])
    m = rounded(m, resolution)
    samples = _samples(m, codes, len(groups), given.weights)
    lines = [AS_IT_IS] * len(groups)
    if given.target is not None and calibrate:
        lines = lines_through(given.target, m, codes, given.weights)
    placed = [
        Sample(on_line(line, each.values), each.counts, each.row)
        for line, each in zip(lines, samples, strict=True)
    ]
    moved = demand.learn(placed, given.spread)
    return Learnt(resolution, groups, samples, lines, moved)


def _samples(
    m: Floats, codes: Codes, n_groups: int, weights: Floats | None
) -> list[Sample]:
    """Return the distribution of each group; rows of weight zero count as absent."""
    counts = None if weights is None else counts_of(weights)
    samples = []
    for g in range(n_groups):
        rows = np.flatnonzero(codes == g)
        if counts is not None:
            rows = rows[counts[rows] > 0]
        samples.append(Sample.of(m[rows], None if counts is None else counts[rows]))
    return samples
