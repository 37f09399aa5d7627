"""The prediction of a fitted linear model, one row at a time in effect.

Predictions that are equal in exact arithmetic differ in their last bits, and how they
do depends on the processor and on the order of sums.  Ranks would count that.  So every
model has a resolution, and predicts multiples of it: what ties is decided here.
"""

from __future__ import annotations

import math

import numpy as np

from rankfair.core.blocks import Floats, Ints, each

__all__ = ["linear_predict", "resolution_of", "rounded"]

LINES = 1 << 18  # numbers handled at a time
FINE, DIGITS = 40, 50  # bits: parts of the range of a target, and of its size


def resolution_of(y: Floats) -> float:
    """What predictions of a target are multiples of: a power of two.

    It is about 2⁻⁴⁰ of the range of ``y``, 10⁻¹¹ of a standard deviation, and at least
    2⁻⁵⁰ of the largest value, which is 8 units in its last place.  The least and the
    largest value say it: neither the order of rows nor rounding has a part in it.  It
    is 0 for a target of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> resolution_of(np.array([0.0, 3.0, 1.0])) == 2.0**-38
    True
    >>> resolution_of(np.array([3e13, 3e13 + 8])) == 2.0**-5
    True
    """
    low, high = float(y.min()), float(y.max())
    sizes = (high / 2 - low / 2, FINE - 1), (max(abs(low), abs(high)), DIGITS)
    powers = [round(math.log2(size)) - bits for size, bits in sizes if size > 0]
    return math.ldexp(1.0, max(powers)) if powers else 0.0


def rounded(m: Floats, resolution: float) -> Floats:
    """The nearest multiples of a power of two, exact and in the same order.

    Numbers so large that all of them are multiples stay as they are, and so do all if
    the resolution is 0.

    Examples
    --------
    >>> import numpy as np
    >>> same = rounded(np.array([0.1 + 0.2, 0.3, -1e-20, 1e300]), 2.0**-40)
    >>> bool(same[0] == same[1]), same[2:].tolist()
    (True, [0.0, 1e+300])
    """
    if not resolution:
        return m
    with np.errstate(over="ignore"):
        whole = m / resolution
    np.rint(whole, out=whole)
    whole *= resolution
    whole += 0.0  # there is one zero, and its sign is plus
    fine = np.isfinite(whole)
    return whole if fine.all() else np.where(fine, whole, m)


def linear_predict(
    X: Floats, codes: Ints, coef: Floats, intercept: Floats, resolution: float = 0.0
) -> Floats:
    """``x_i · coef[codes_i] + intercept[codes_i]``, the same bits for any rows.

    Each row is summed by itself and `rounded`, so a prediction does not depend on the
    other rows of ``X`` nor on how they lie in memory: counts made on it hold for ever
    after.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])
    >>> linear_predict(X, codes, np.eye(2), np.array([0.0, 10.0])).tolist()
    [12.0, 3.0]
    """
    out = np.empty(len(X))
    step = max(1, LINES // max(X.shape[1], 1))

    def fill(start: int) -> None:
        rows = slice(start, start + step)
        code = codes[rows]
        terms = np.take(coef, code, axis=0)
        # einsum sums each row by itself, in an order that only the columns decide.
        total = np.einsum("ij,ij->i", np.ascontiguousarray(X[rows]), terms)
        total += intercept[code]
        out[rows] = rounded(total, resolution)

    each(fill, range(0, len(X), step), len(X))
    return out
