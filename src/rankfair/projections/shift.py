"""The groups move as wholes: ``δ`` is a quantile of the pairwise differences."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rankfair.core.blocks import resolution_of, rounded
from rankfair.core.ranks import twice_u, twice_u_sorted

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Band = tuple[float, float]

CLOSE = 1e-9  # of all pairs: counts this near to the edge of a band are at it
THIN = 1 << 12  # values of a group that say where to look


def outside(count: float, band: Band) -> float:
    """Signed distance of a count to the band, 0 inside."""
    low, high = band
    return max(count - high, 0.0) + min(count - low, 0.0)


def shift(
    m: Floats, in_a: Mask, band: Band, weights: NDArray[Any] | None = None
) -> Floats:
    """Move the two groups apart or together until 2U is inside the band.

    ``A - δ S_B/S`` and ``B + δ S_A/S``, with S_A, S_B the weights of the groups and S
    their sum, is the least movement in the (weighted) mean square that changes all
    differences a_i − b_j by −δ.  δ is the smallest in size that reaches the band: a
    quantile of these differences, found without forming them all, O(N log N), to 1e-9
    of all pairs.

    The moved predictions are multiples of a resolution, some 10⁻¹² of their range, so
    that rows which meet tie.  Where equal differences make 2U jump across the band, the
    nearest count is kept: before the jump, at it (all that meet are tied) or after it.

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
    """
    (a, w_a), (b, w_b) = (_sorted(m, own, weights) for own in (in_a, ~in_a))
    total_a, total_b = (
        len(own) if w is None else w.sum().item() for own, w in ((a, w_a), (b, w_b))
    )
    share_a, share_b = total_a / (total_a + total_b), total_b / (total_a + total_b)
    # Of a band that no order can reach its nearest end is asked for.
    most = 2 * total_a * total_b
    band = (min(max(band[0], 0), most), min(max(band[1], 0), most))
    unit = resolution_of(m) or 1.0

    def between(up: Floats, down: Floats) -> float:
        if w_a is None:
            return twice_u_sorted(up, down)
        return twice_u(up, down, w_a, w_b)

    @cache
    def count(delta: float) -> float:
        """2U of the rows moved."""
        up, down = a - delta * share_b, b + delta * share_a
        return between(rounded(up, unit), rounded(down, unit))

    if outside(between(a, b), band) == 0:
        return m.astype(np.float64)
    start = outside(count(0.0), band)
    tried = [0.0]
    if start:
        side, edge = (1, band[1]) if start > 0 else (-1, band[0])
        far = a[-1] - b[0] + 4 * unit if start > 0 else a[0] - b[-1] - 4 * unit

        few = CLOSE * most

        def beyond(delta: float) -> float:
            """How far the count is beyond half a step, 0 in the first gap beyond."""
            off = count(delta) - edge
            # 2U without weights and without a tie is even.
            gap = w_a is None and off % 2 == edge % 2 and 0 <= -off * side < 2
            return 0.0 if gap or 2 < -off * side < few else off + 0.5 * side

        ends = 0.0, far
        if w_a is None and few > 2:
            ends = _bracket(a, b, edge / most, far)
        root = brentq(beyond, *ends, xtol=unit)
        # Before, at and after a jump: two units outlive rounding.
        tried += [d + k * unit for d in _around(a, b, root) for k in (-2, 0, 2)]
    tried.sort(key=abs)
    met = (each for each in tried if outside(count(each), band) == 0)
    delta = next(met, None)
    if delta is None:
        delta = min(tried, key=lambda each: abs(outside(count(each), band)))
    return rounded(m - delta * np.where(in_a, share_b, -share_a), unit)


def _sorted(
    m: Floats, own: Mask, weights: NDArray[Any] | None
) -> tuple[Floats, NDArray[Any] | None]:
    """The values of a group in ascending order, and their weights."""
    values = m[np.flatnonzero(own)].astype(np.float64)
    if weights is None:
        return np.sort(values), None
    order = np.argsort(values, kind="stable")
    return values[order], weights[own][order]


def _bracket(a: Floats, b: Floats, auc: float, far: float) -> tuple[float, float]:
    """Between which ``δ``, up to ``far``, an AUC is, as every so many values say.

    The share of a group below any place is known to one of the values looked at.
    """
    some = [each[:: len(each) // THIN + 1] for each in (a, b)]
    pairs, error = 2 * len(some[0]) * len(some[1]), sum(1 / len(each) for each in some)

    def above(delta: float, aim: float) -> float:
        return twice_u_sorted(some[0] - delta, some[1]) / pairs - aim

    def place(aim: float) -> float:
        if above(0.0, aim) * above(far, aim) >= 0:
            return 0.0 if abs(above(0.0, aim)) < abs(above(far, aim)) else far
        return float(brentq(above, 0.0, far, (aim,), xtol=1e-9 * abs(far)))

    side, room = math.copysign(1.0, far), 3e-9 * far
    near = place(auc + side * 2 * error) - room
    distant = place(auc - side * 2 * error) + room
    return max(near * side, 0.0) * side, min(distant * side, far * side) * side


def _around(a: Floats, b: Floats, delta: float) -> list[float]:
    """The differences a_i − b_j next to ``delta``, up to it and above it."""
    place = np.searchsorted(b, a - delta, "left")
    up_to, above = place < len(b), place > 0
    near = [(a[up_to] - b[place[up_to]]).max()] if up_to.any() else []
    near += [(a[above] - b[place[above] - 1]).min()] if above.any() else []
    return [float(d) for d in near]
