"""The prediction of a fitted linear model, one row at a time in effect."""

from __future__ import annotations

import numpy as np

from rankfair.blocks import CHUNK, Floats, Ints, each

__all__ = ["linear_predict"]


def linear_predict(X: Floats, codes: Ints, coef: Floats, intercept: Floats) -> Floats:
    """``x_i · coef[codes_i] + intercept[codes_i]``, the same bits for any rows.

    The sum runs over the columns in order, element by element, so a prediction does not
    depend on the other rows of ``X``: counts made on it hold for ever after.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])
    >>> linear_predict(X, codes, np.eye(2), np.array([0.0, 10.0])).tolist()
    [3.0, 12.0]
    """
    out = np.empty(len(X))
    step = max(1, CHUNK // max(X.shape[1], 1))

    def fill(start: int) -> None:
        rows = slice(start, start + step)
        code = codes[rows]
        terms = np.take(coef, code, axis=0)
        terms *= X[rows]
        total = np.zeros(len(terms))
        for column in terms.T:
            total += column
        total += intercept[code]
        out[rows] = total

    each(fill, range(0, len(X), step), len(X))
    return out
