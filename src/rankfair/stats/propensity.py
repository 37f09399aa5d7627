"""The propensity score, the chance of a group given other columns, and its strata."""

from __future__ import annotations

import numpy as np

from rankfair.core.blocks import linear_predict
from rankfair.core.problem import Problem
from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.input.groups import quantile_places

RIDGE = 1e-4  # of the propensity model, against the mean loss


def log_odds(X: Floats, in_a: Bools, weights: Floats | None = None) -> Floats:
    """Return the log odds of group A by logistic regression on some columns.

    Columns are standardised, and a ridge of `RIDGE` times the mean loss keeps the
    coefficients finite where the groups can be told apart.
    """
    if not X.shape[1]:
        return np.zeros(len(X))
    weights = np.ones(len(X)) if weights is None else weights
    # Shares of the whole: neither repeats of all rows nor a unit of weight matter.
    share = weights / weights.sum()
    one = np.zeros(len(share), np.intp)
    problem = Problem.from_rows(X, in_a.astype(float), one, 1, weights=share)
    (varies,), scale = problem.varies, problem.scale
    if not varies.any():
        return np.zeros(len(share))
    Z = X * problem.blocks.unit
    Z -= problem.off.sum(axis=0)
    Z = Z[:, varies] * scale[varies]
    from sklearn.linear_model import LogisticRegression  # a second to import

    model = LogisticRegression(solver="newton-cholesky", C=1 / RIDGE, tol=1e-8)
    model.fit(Z, in_a, sample_weight=share)
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
