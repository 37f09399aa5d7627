"""How predictions rank the groups: AUC, gaps of it, and mean ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankfair.metrics.rows import duels_of, one_attribute, read_rows, read_several

__all__ = [
    "impact_rank_ratio",
    "pairwise_rank_auc",
    "rank_auc",
    "rank_auc_by_group",
    "rank_gap",
]


def rank_auc(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """Return the chance that a row of group A is predicted above a row of group B.

    ``AUC = U / (n_A n_B)`` with ``U = #{(i∈A, j∈B): ŷ_i > ŷ_j} + 1/2 #{ties}``.
    A half means that ranks do not tell the groups apart.

    Parameters
    ----------
    y_true : array-like of shape (N,) or None
        Not used; here so that all metrics are called alike.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,)
        Labels of two groups; the one that sorts last is group A.
    sample_weight : array-like of shape (N,), optional
        A pair counts the product of its weights.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> rank_auc(None, [1.0, 2.0, 3.0, 3.0], sensitive_features=["B", "B", "A", "B"])
    0.166...
    """
    rows = read_rows(y_true, y_pred, sensitive_features, sample_weight)
    return rows.twice_u() / (2 * rows.size_a * rows.size_b)


def rank_auc_by_group(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> dict[Any, float]:
    """Return, for each of two or more groups, its AUC over all other rows.

    A half for every group means that all groups have the same mean rank.

    Parameters
    ----------
    y_true : array-like of shape (N,) or None
        Not used; here so that all metrics are called alike.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,)
        Labels of the groups; rows without one are left out.
    sample_weight : array-like of shape (N,), optional
        A pair counts the product of its weights.

    Returns
    -------
    dict of label to float
        In the order of the labels.

    Examples
    --------
    >>> groups = ["a", "b", "c", None]
    >>> rank_auc_by_group(None, [1.0, 2.0, 3.0, 9.0], sensitive_features=groups)
    {'a': 0.0, 'b': 0.5, 'c': 1.0}
    """
    labels, duels = one_attribute(y_true, y_pred, sensitive_features, sample_weight)
    return dict(zip(labels, duels.of_rest().tolist(), strict=True))


def pairwise_rank_auc(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> dict[Any, dict[Any, float]]:
    """Return, for every two of the groups, the AUC of the first over the second.

    Groups that are all level with the rest may still differ two by two.

    Parameters
    ----------
    y_true : array-like of shape (N,) or None
        Not used; here so that all metrics are called alike.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,)
        Labels of the groups; rows without one are left out.
    sample_weight : array-like of shape (N,), optional
        A pair counts the product of its weights.

    Returns
    -------
    dict of label to dict of label to float
        ``found[first][second]`` and ``found[second][first]`` add up to 1.

    Examples
    --------
    >>> found = pairwise_rank_auc(None, [1.0, 2.0], sensitive_features=["F", "M"])
    >>> found["M"]["F"], found["F"]["M"]
    (1.0, 0.0)
    """
    labels, duels = one_attribute(y_true, y_pred, sensitive_features, sample_weight)
    return duels.by_label(labels)


def rank_gap(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """Return the largest ``|AUC − 1/2|`` of any group over the rest.

    Parameters
    ----------
    y_true : array-like of shape (N,) or None
        Not used; here so that all metrics are called alike.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,) or (N, q), or dict of them
        Labels of two or more groups, a column for each protected attribute; rows
        without a label are left out for that attribute.
    sample_weight : array-like of shape (N,), optional
        A pair counts the product of its weights.

    Returns
    -------
    float
        Between 0 and 1/2.

    Examples
    --------
    >>> rank_gap(None, [1.0, 2.0, 3.0, 3.0], sensitive_features=["B", "B", "A", "B"])
    0.333...
    """
    predicted, attributes, weights = read_several(
        y_true, y_pred, sensitive_features, sample_weight
    )
    aucs = [duels_of(predicted, each, weights).of_rest() for each in attributes]
    return float(np.abs(np.concatenate(aucs) - 0.5).max())


def impact_rank_ratio(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, sample_weight: Any = None
) -> float:
    """Return the mean rank of group A's predictions over that of group B's.

    Ranks count from 1 for the lowest prediction; ties share their mean rank.

    Parameters
    ----------
    y_true : array-like of shape (N,) or None
        Not used; here so that all metrics are called alike.
    y_pred : array-like of shape (N,)
        Predictions.
    sensitive_features : array-like of shape (N,)
        Labels of two groups; the one that sorts last is group A.
    sample_weight : array-like of shape (N,), optional
        Weights, read as repeats of a row.

    Returns
    -------
    float
        Above 0; 1 if the mean ranks are equal.

    Examples
    --------
    >>> impact_rank_ratio(None, [1.0, 2.0, 3.0], sensitive_features=["F", "M", "F"])
    1.0
    """
    rows = read_rows(y_true, y_pred, sensitive_features, sample_weight)
    n_a, n_b, twice = rows.size_a, rows.size_b, rows.twice_u()
    # A rank is one more than the rows below: own group gives (n + 1) / 2 on average.
    rank_a = twice / n_a + n_a + 1
    rank_b = (2 * n_a * n_b - twice) / n_b + n_b + 1
    return rank_a / rank_b
