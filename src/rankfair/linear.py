"""The prediction of a fitted linear model, one row at a time in effect."""

from __future__ import annotations

import numpy as np

from rankfair.blocks import Floats, Ints, each

__all__ = ["linear_predict"]

LINES = 1 << 18  # numbers handled at a time


def linear_predict(X: Floats, codes: Ints, coef: Floats, intercept: Floats) -> Floats:
    """``x_i · coef[codes_i] + intercept[codes_i]``, the same bits for any rows.

    Each row is summed by itself, so a prediction does not depend on the other rows of
    ``X`` nor on how they lie in memory: counts made on it hold for ever after.

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
        out[rows] = total

    each(fill, range(0, len(X), step), len(X))
    return out
