"""How uncertain a count of pairs is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.ranks import split

__all__ = ["auc_standard_error"]

Floats = NDArray[np.float64]


def auc_standard_error(
    predicted: Floats, in_a: NDArray[np.bool_], clusters: NDArray[Any] | None = None
) -> float:
    """Return the standard error of AUC.

    A row's *placement* is the share of the other group that it beats (group A) or loses
    to (group B), ties half.  AUC is the mean placement of either group, and its
    variance is that of these means (DeLong).  Rows of one cluster are not independent
    of each other: their placements are summed first, and clusters with both groups add
    a covariance (Obuchowski).

    Parameters
    ----------
    predicted : ndarray of shape (N,)
        Predictions.
    in_a : boolean ndarray of shape (N,)
        The rows of group A.
    clusters : array of shape (N,), optional
        Labels of clusters; rows are independent without them.

    Returns
    -------
    float
        NaN where a group has fewer than two rows, or two clusters: the spread cannot be
        known from one.

    Examples
    --------
    >>> import numpy as np
    >>> in_a = np.array([True, True, False, False])
    >>> round(auc_standard_error(np.array([1.0, 3.0, 2.0, 0.0]), in_a), 4)
    0.3536
    >>> auc_standard_error(np.array([1.0, 3.0, 2.0, 0.0]), in_a, [7, 7, 8, 8])
    nan
    """
    a, b = split(predicted, in_a)
    if len(a) < 2 or len(b) < 2:
        return math.nan
    above = _placements(a, b)
    below = 1.0 - _placements(b, a)
    auc = float(above.mean())
    if clusters is None:
        return math.sqrt(above.var(ddof=1) / len(a) + below.var(ddof=1) / len(b))
    labels, codes = np.unique(np.asarray(clusters), return_inverse=True)
    code_a, code_b = split(codes, in_a)
    excess_a = np.bincount(code_a, above - auc, minlength=len(labels)) / len(a)
    excess_b = np.bincount(code_b, below - auc, minlength=len(labels)) / len(b)
    n_a, n_b = len(np.unique(code_a)), len(np.unique(code_b))
    if n_a < 2 or n_b < 2:
        return math.nan
    variance = (
        n_a / (n_a - 1) * (excess_a @ excess_a)
        + n_b / (n_b - 1) * (excess_b @ excess_b)
        + 2 * len(labels) / (len(labels) - 1) * (excess_a @ excess_b)
    )
    return math.sqrt(max(float(variance), 0.0))


def _placements(these: Floats, others: Floats) -> Floats:
    """The share of ``others`` below each of ``these``, ties half."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, these, "left")
    up_to = np.searchsorted(ordered, these, "right")
    share: Floats = (below + up_to) / (2.0 * len(others))
    return share
