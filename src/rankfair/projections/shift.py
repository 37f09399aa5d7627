"""The groups move as wholes: ``δ`` is a quantile of the pairwise differences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from rankfair.core.blocks import resolution_of, rounded
from rankfair.core.ranks import twice_u, twice_u_sorted

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Band = tuple[float, float]


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
    quantile of these differences, found without forming them all, O(N log N).

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
    w = np.ones(len(m), np.int64) if weights is None else weights
    (a, w_a), (b, w_b) = (_sorted(m[own], w[own]) for own in (in_a, ~in_a))
    total_a, total_b = w_a.sum().item(), w_b.sum().item()
    share_a, share_b = total_a / (total_a + total_b), total_b / (total_a + total_b)
    # Of a band that no order can reach its nearest end is asked for.
    most = 2 * total_a * total_b
    band = (min(max(band[0], 0), most), min(max(band[1], 0), most))
    unit = resolution_of(m) or 1.0

    def count(delta: float) -> float:
        moved = rounded(a - delta * share_b, unit), rounded(b + delta * share_a, unit)
        return twice_u_sorted(*moved) if weights is None else twice_u(*moved, w_a, w_b)

    if outside(twice_u(a, b, w_a, w_b), band) == 0:
        return m.astype(np.float64)
    start = outside(count(0.0), band)
    tried = [0.0]
    if start:
        edge = band[1] if start > 0 else band[0]
        far = a[-1] - b[0] + 4 * unit if start > 0 else a[0] - b[-1] - 4 * unit
        root = brentq(lambda delta: count(delta) - edge, 0.0, far, xtol=unit)
        # Before, at and after a jump: two units outlive rounding.
        tried += [d + k * unit for d in _around(a, b, root) for k in (-2, 0, 2)]
    delta = min(tried, key=lambda each: (abs(outside(count(each), band)), abs(each)))
    return rounded(m - delta * np.where(in_a, share_b, -share_a), unit)


def _sorted(values: Floats, weights: NDArray[Any]) -> tuple[Floats, NDArray[Any]]:
    """Values in ascending order, and their weights."""
    order = np.argsort(values, kind="stable")
    return values[order].astype(np.float64), weights[order]


def _around(a: Floats, b: Floats, delta: float) -> list[float]:
    """The differences a_i − b_j next to ``delta``, up to it and above it."""
    place = np.searchsorted(b, a - delta, "left")
    up_to, above = place < len(b), place > 0
    near = [(a[up_to] - b[place[up_to]]).max()] if up_to.any() else []
    near += [(a[above] - b[place[above] - 1]).min()] if above.any() else []
    return [float(d) for d in near]
