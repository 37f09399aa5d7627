"""Means of predictions and residuals by group, and the error of all rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankfair._validation import read_target, read_weights
from rankfair.metrics.rows import read_rows, read_true

__all__ = ["balanced_residuals", "mean_difference", "rmse"]


def mean_difference(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """Return the mean prediction of group A less that of group B.

    Parameters
    ----------
    y_true : array-like of shape (N,) or None
        Not used; here so that all metrics are called alike.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,)
        Labels of two groups; the one that sorts last is group A.
    sample_weight : array-like of shape (N,), optional
        Weights of the rows.

    Returns
    -------
    float
        In the units of the predictions; 0 if the means are equal.

    Examples
    --------
    >>> mean_difference(None, [1.0, 2.0, 6.0], sensitive_features=["F", "F", "M"])
    4.5
    """
    rows = read_rows(y_true, y_pred, sensitive_features, sample_weight)
    return rows.gap(rows.predicted)


def balanced_residuals(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """Return the mean residual ``y − ŷ`` of group A less that of group B.

    Above 0, group A is predicted too low compared with group B.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        What was observed.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,)
        Labels of two groups; the one that sorts last is group A.
    sample_weight : array-like of shape (N,), optional
        Weights of the rows.

    Returns
    -------
    float
        In the units of the target; 0 if errors are balanced.

    Examples
    --------
    >>> balanced_residuals([1.0, 2.0], [1.0, 1.5], sensitive_features=["F", "M"])
    0.5
    """
    rows = read_rows(y_true, y_pred, sensitive_features, sample_weight)
    observed = rows.kept(read_true(y_true, rows.n_rows))
    return rows.gap(observed - rows.predicted)


def rmse(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any = None,
    sample_weight: Any = None,
) -> float:
    """Return the root of the mean squared error.

    Parameters
    ----------
    y_true : array-like of shape (N,)
        What was observed.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,), optional
        Not used; here so that all metrics are called alike.
    sample_weight : array-like of shape (N,), optional
        Weights of the rows.

    Returns
    -------
    float
        In the units of the target.

    Examples
    --------
    >>> rmse([0.0, 0.0], [3.0, 4.0])
    3.53...
    """
    predicted = read_target(y_pred, "y_pred")
    error = np.abs(read_true(y_true, len(predicted)) - predicted)
    weights = read_weights(sample_weight, len(error))
    scale = float(error.max()) or 1.0
    # Squares of the scaled error neither overflow nor vanish.
    return scale * math.sqrt(np.average((error / scale) ** 2, weights=weights))
