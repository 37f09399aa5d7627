"""Strata: quantiles of the propensity score, and what became of each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from rankfair._frames import Codes, Floats
from rankfair._groups import quantile_places
from rankfair._validation import Rows
from rankfair.constraints.base import KEPT
from rankfair.core.blocks import Blocks, linear_predict
from rankfair.core.problem import scale_of

__all__ = ["by_quantiles", "propensity", "stratum_record"]

RIDGE = 1e-4  # of the propensity model, against the mean loss


def stratum_record(
    rows: Rows, strata: Codes, s: int, gap: float, follows: bool
) -> dict[str, Any]:
    """Return the record of a stratum: its rows, and what became of its demand."""
    assert rows.in_a is not None
    of_a = rows.in_a[strata == s]
    n_a = int(np.count_nonzero(of_a))
    if math.isnan(gap):
        state = "one group only" if len(of_a) else "empty"
    elif abs(gap) > KEPT:
        state = "contradictory"
    else:
        state = "redundant" if follows else "kept"
    return {
        "stratum": s,
        "rows_a": n_a,
        "rows_b": len(of_a) - n_a,
        "gap": gap,
        "state": state,
    }


def propensity(rows: Rows) -> Floats:
    """Return the log odds of group A by logistic regression on the other predictors.

    Features are standardised, and a ridge of `RIDGE` times the mean loss keeps the
    coefficients finite where the groups can be told apart.
    """
    assert rows.in_a is not None
    own = rows.layout.group_column
    others = [i for i, j in enumerate(rows.layout.predictors) if j != own]
    if not others:
        return np.zeros(len(rows.X))
    weights = np.ones(len(rows.X)) if rows.weights is None else rows.weights
    # Shares of the whole: neither repeats of all rows nor a unit of weight matter.
    share = weights / weights.sum()
    one = np.zeros(len(share), np.intp)
    blocks = Blocks.from_rows(rows.X[:, others], one, 1, share)
    scale, (varies,) = scale_of(blocks, np.ones(1), standardize=True)
    if not varies.any():
        return np.zeros(len(share))
    Z = blocks.Z[:, varies] * scale[varies]
    model = LogisticRegression(solver="newton-cholesky", C=1 / RIDGE, tol=1e-8)
    model.fit(Z, rows.in_a, sample_weight=share)
    # Rows that are alike get the same score to the last digit, and one stratum.
    return np.round(linear_predict(Z, one, model.coef_, model.intercept_), 9)


def by_quantiles(score: Floats, n_strata: int, weights: Floats | None = None) -> Codes:
    """Return the stratum of each row, equal scores together, weights as repeats.

    Examples
    --------
    >>> import numpy as np
    >>> by_quantiles(np.array([0.1, 0.4, 0.2, 0.9]), 2).tolist()
    [0, 1, 0, 1]
    """
    _, codes = np.unique(score, return_inverse=True)
    found: Codes = quantile_places(np.bincount(codes, weights), n_strata)[codes]
    return found
