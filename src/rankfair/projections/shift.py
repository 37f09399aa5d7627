"""The groups move as wholes: ``δ`` is a quantile of the pairwise differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.projections.common import Band, Floats, Mask
from rankfair.projections.jump import nearest_at_jump
from rankfair.projections.pairs import difference_at
from rankfair.projections.sides import Groups

# Enough for a bracket a few roundings wide; what is left of a wider one does no harm.
HALVINGS = 64
FAR = 1e307  # differences of predictions beyond this may overflow


def shift(
    m: Floats, in_a: Mask, band: Band, weights: NDArray[Any] | None = None
) -> Floats:
    """Move the two groups apart or together until 2U is inside the band.

    ``A - δ S_B/S`` and ``B + δ S_A/S``, with S_A, S_B the weights of the groups and S
    their sum, is the least movement in the (weighted) mean square that changes all
    differences a_i − b_j by −δ.  δ is the smallest in size that reaches the band: a
    quantile of these differences, found without forming them all, O(N log N).

    The count is made on the moved predictions as they are rounded.  Where equal
    differences make 2U jump across the band, the rows that meet at the jump are tied,
    or put in an order one by one, a few units in the last place apart: as many pairs
    pass as just reach the band.  So the result is inside every band that holds a whole
    number between 0 and 2 n_A n_B.

    With weights a sum of products of weights has to fall into the band, which may be
    impossible, and hard to find where it is not.  The nearest count of those tried is
    returned: both sides of the jump, the tie between them, and rows passing one by one.
    Either way a second call changes nothing.

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

    All pairs meet at δ = 1, where 2U falls from 8 to 0.  One of them passes:

    >>> m = np.array([1.0, 1.0, 0.0, 0.0])
    >>> moved = shift(m, in_a, (6, 6))
    >>> from rankfair.core.ranks import twice_u
    >>> twice_u(moved[in_a], moved[~in_a]), moved.round(9).tolist()
    (6, [0.5, 0.5, 0.5, 0.5])
    """
    moved = m.astype(np.float64)
    if np.abs(moved).max(initial=0.0) > FAR:
        return 16 * shift(moved / 16, in_a, band, weights)
    while True:
        groups = Groups.oriented(moved, in_a, band, weights)
        if groups is None:
            return moved
        upper = in_a if groups.a_is_upper else ~in_a
        below, above = _around_the_band(groups)
        if below == above:
            sides = groups.moved(moved[upper], moved[~upper], above)
            moved[upper], moved[~upper] = sides
            return moved
        nearest = nearest_at_jump(groups, below, above)
        if nearest is None:
            return moved
        # Only with weights is another round needed: to see that nothing is nearer.
        for rows, values in zip((upper, ~upper), nearest, strict=True):
            order = np.argsort(moved[rows], kind="stable")
            moved[np.flatnonzero(rows)[order]] = values


def _around_the_band(groups: Groups) -> tuple[float, float]:
    """The smallest δ inside the band, twice; or the δ on both sides of a jump."""
    quantile = difference_at(groups)
    slack = groups.slack
    # The quantile is exact; the search only undoes the rounding around it.
    for delta in (quantile, quantile + slack):
        if groups.miss(groups.at(delta)) == 0:
            return delta, delta
    if quantile == 0:
        return 0.0, math.ulp(0.0)
    below, above = max(quantile - slack, 0.0), quantile + slack
    below = below if groups.miss(groups.at(below)) > 0 else 0.0
    beyond = 2 * float(groups.upper[-1] - groups.lower[0]) + slack
    above = above if groups.miss(groups.at(above)) <= 0 else beyond
    for _ in range(HALVINGS):
        middle = below + (above - below) / 2
        if not below < middle < above:
            break
        miss = groups.miss(groups.at(middle))
        if miss == 0:
            return middle, middle
        below, above = (middle, above) if miss > 0 else (below, middle)
    return below, above
