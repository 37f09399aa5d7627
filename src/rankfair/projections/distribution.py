"""The nearest predictions whose distributions in two groups are within a slack."""

from __future__ import annotations

import numpy as np

from rankfair.core.problem import Groups
from rankfair.projections.chains import least_movement
from rankfair.projections.samples import Floats, Sample


def least_move(m: Floats, groups: Groups, slack: float) -> Floats:
    """The least movement of ``m`` (N,) with ``sup_t |F_A(t) − F_B(t)| ≤ slack``.

    Equal predictions of a group stay equal.  Where a step of a group is wider than the
    slack the distance ends a step above it.  Rows that weigh nothing stay.

    Examples
    --------
    >>> import numpy as np
    >>> groups = Groups(np.array([True, True, False, False]))
    >>> least_move(np.array([6.0, 4.0, 0.0, 1.0]), groups, slack=0.5).tolist()
    [6.0, 2.5, 0.0, 2.5]
    """
    rows = [groups.index_a, groups.index_b]
    if groups.known is not None:
        rows = [own[groups.known[own]] for own in rows]
    rows = [own[np.argsort(m[own])] for own in rows]
    w = groups.weights
    samples = [Sample.of(m[own], None if w is None else w[own]) for own in rows]
    out = m.copy()
    for own, values in zip(rows, least_movement(samples, slack), strict=True):
        ordered = m[own]
        steps = np.cumsum(np.append(False, ordered[1:] != ordered[:-1]))
        out[own] = values[steps]
    return out
