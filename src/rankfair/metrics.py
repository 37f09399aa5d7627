"""How far apart predictions rank groups, and how far off they are.

Of two groups, A is the one whose label sorts last, so that ``rank_auc`` equals
``sklearn.metrics.roc_auc_score(sensitive_features, y_pred)``.  Ties count half.  Rows
whose group is missing (None or NaN) are left out of all comparisons; ``rmse`` takes
every row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from rankfair.core.ranks import Duels, counts_of
from rankfair.input.arrays import Floats
from rankfair.input.errors import InputError, check_choice
from rankfair.input.frames import (
    check_lengths,
    open_table,
    read_ranked,
    read_target,
    read_weights,
)
from rankfair.input.groups import (
    GROUPS,
    label_source,
    labels_of_rows,
    refuse_more_than_two,
    refuse_several,
)
from rankfair.input.scored_rows import (
    MODEL,
    ScoredRows,
    labels_for,
    predict_rows,
    read_scored,
)

__all__ = [
    "balanced_residuals",
    "impact_rank_ratio",
    "mean_difference",
    "pairwise_rank_auc",
    "rank_auc",
    "rank_auc_by_group",
    "rank_gap",
    "rmse",
    "scorer",
]


def _rows(
    y_true: Any, y_pred: Any, groups: Any, sample_weight: Any, one: bool = False
) -> ScoredRows:
    """Check what a metric was given but the target, of which only the length.

    Of ``one`` feature or several.
    """
    read = read_ranked(y_pred, "y_pred")
    n_rows = len(read[0])
    weights = read_weights(sample_weight, n_rows)
    check_lengths(n_rows, y_true=y_true)
    source = labels_of_rows(groups, n_rows)
    if one:
        refuse_several(source, "rank_gap takes several.")
    return read_scored({MODEL: read}, source, weights)


def _pair(y_true: Any, y_pred: Any, groups: Any, sample_weight: Any) -> ScoredRows:
    """Return rows of two groups, those of unknown group left out."""
    rows = _rows(y_true, y_pred, groups, sample_weight, one=True).of_known_group()
    refuse_more_than_two(GROUPS, rows.groupings[0])
    return rows


def _gap(rows: ScoredRows) -> float:
    """Return the mean of what is predicted in A less that in B."""
    in_a, weights = rows.groupings[0].in_a, rows.weights
    a, b = (
        np.average(rows.m[of], weights=None if weights is None else weights[of])
        for of in (in_a, ~in_a)
    )
    return float(a - b)


def _counts(rows: ScoredRows) -> tuple[int | float, int | float, int | float]:
    """Return 2U of A over B and the sizes of both; integers if weights are whole."""
    duels = _duels(rows)[0]
    n_b, n_a = duels.totals.tolist()
    return duels.twice[1, 0].item(), n_a, n_b


def _duels(rows: ScoredRows) -> list[Duels]:
    """Compare every two groups of each feature."""
    counts = None if rows.weights is None else counts_of(rows.weights)
    return [
        Duels.of(rows.exact, each.codes, len(each.labels), counts)
        for each in rows.groupings
    ]


def _errors(y_true: Any, y_pred: Any) -> Floats:
    """Return what was observed less what was predicted."""
    predicted = read_target(y_pred, "y_pred")
    observed = read_target(y_true, "y_true")
    check_lengths(len(predicted), y_true=observed)
    return observed - predicted


def _one_feature(
    y_true: Any, y_pred: Any, groups: Any, sample_weight: Any
) -> tuple[list[Any], Duels]:
    """Return the labels of the only feature, and how its groups compare."""
    rows = _rows(y_true, y_pred, groups, sample_weight, one=True)
    return rows.groupings[0].labels.tolist(), _duels(rows)[0]


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
    return _gap(_pair(y_true, y_pred, sensitive_features, sample_weight))


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
    residuals = _errors(y_true, y_pred)
    return _gap(_pair(y_true, residuals, sensitive_features, sample_weight))


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
    error = np.abs(_errors(y_true, y_pred))
    weights = read_weights(sample_weight, len(error))
    scale = float(error.max()) or 1.0
    # Squares of the scaled error neither overflow nor vanish.
    return scale * math.sqrt(np.average((error / scale) ** 2, weights=weights))


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
    twice, n_a, n_b = _counts(_pair(y_true, y_pred, sensitive_features, sample_weight))
    return twice / (2 * n_a * n_b)


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
    labels, duels = _one_feature(y_true, y_pred, sensitive_features, sample_weight)
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
    labels, duels = _one_feature(y_true, y_pred, sensitive_features, sample_weight)
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
        Labels of two or more groups, a column for each sensitive feature; rows
        without a label are left out for that feature.
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
    rows = _rows(y_true, y_pred, sensitive_features, sample_weight)
    aucs = [duels.of_rest() for duels in _duels(rows)]
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
    twice, n_a, n_b = _counts(_pair(y_true, y_pred, sensitive_features, sample_weight))
    # A rank is one more than the rows below: own group gives (n + 1) / 2 on average.
    rank_a = twice / n_a + n_a + 1
    rank_b = (2 * n_a * n_b - twice) / n_b + n_b + 1
    return rank_a / rank_b


# How far each metric is from its best value, in a form that swapping groups keeps.
LOSSES: dict[str, tuple[Callable[..., float], Callable[[float], float]]] = {
    "rank_auc": (rank_auc, lambda auc: abs(auc - 0.5)),
    "rank_gap": (rank_gap, abs),
    "mean_difference": (mean_difference, abs),
    "balanced_residuals": (balanced_residuals, abs),
    "impact_rank_ratio": (impact_rank_ratio, lambda ratio: abs(math.log(ratio))),
    "rmse": (rmse, abs),
}


def scorer(name: str, *, sensitive_features: Any = None) -> GroupScorer:
    """Return a scikit-learn scorer that is 0 at best and lower the worse it gets.

    The score is ``−|AUC − 1/2|``, the largest of these over all groups, ``−|MD|``,
    ``−|BR|``, ``−|log IRR|`` or ``−RMSE``.

    Parameters
    ----------
    name : {"rank_auc", "rank_gap", "mean_difference", "balanced_residuals", \
"impact_rank_ratio", "rmse"}
        The metric; for three or more groups and for several features "rank_gap".
    sensitive_features : str, int or list of them, optional
        The column of X (name or position) that holds the groups.  Without it, it is the
        column that the model itself was given as `sensitive_features`, or a model
        inside it (in pipelines, searches and transformed targets), read as the
        model reads it (its `bins` and `intersect`), or they come as an array, through
        metadata routing: the scorer asks for ``sensitive_features``, and for ``tasks``.
        It hands ``tasks`` to ``predict``, and ``sensitive_features`` where ``predict``
        takes them and the model reads them from no column.  For "rmse" ask for them
        with ``set_score_request(sensitive_features=True)``.

    Returns
    -------
    callable
        For ``scoring=`` of ``cross_validate``, ``GridSearchCV`` and the like.  There a
        score that cannot be had is an error, whatever ``error_score`` says: a search
        whose scores are all NaN takes its first candidate.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = [[0.0, 0], [1.0, 1], [2.0, 0], [3.0, 1]], [0.0, 1.0, 2.0, 3.0]
    >>> model = LinearRegression().fit(X, y)
    >>> round(scorer("rank_auc", sensitive_features=1)(model, X, y), 6)
    -0.25
    """
    return GroupScorer(check_choice("name", name, LOSSES), sensitive_features)


# Where scikit-learn calls scorers for folds.
FOLDS = "sklearn.model_selection._validation", "sklearn.metrics._scorer"


class Unscored:
    """Why there is no score, in place of one, for scikit-learn's folds.

    They turn an exception into NaN, and a search whose scores are all NaN takes its
    first candidate.  What is no number they refuse, with these words.

    Examples
    --------
    >>> print(Unscored(ValueError("sex has one group only.")))
    sex has one group only.
    """

    def __init__(self, error: Exception):
        self.error = error

    def __str__(self) -> str:
        return str(self.error)


class GroupScorer:
    """What `scorer` returns: call it with a fitted model, X and y.

    Examples
    --------
    >>> scorer("rmse")
    scorer('rmse')
    """

    def __init__(self, name: str, column: Any = None):
        self.name = name
        self.column = column
        self.requests: dict[str, bool | str | None] = {
            "sensitive_features": column is None and name != "rmse",
            "sample_weight": None,
            "tasks": True,
        }

    def __repr__(self) -> str:
        column = "" if self.column is None else f", sensitive_features={self.column!r}"
        return f"scorer({self.name!r}{column})"

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        tasks: Any = None,
    ) -> Any:
        """Return the score of the model's predictions of X."""
        metric, loss = LOSSES[self.name]
        given: dict[str, Any] = {"sample_weight": sample_weight}
        try:
            predicted = predict_rows(estimator, X, tasks, sensitive_features)
            if self.name != "rmse":
                groups = self._groups(estimator, X, sensitive_features)
                given["sensitive_features"] = groups
            value = metric(y, predicted, **given)
            if math.isnan(value):
                raise InputError(
                    str(self),
                    "is not a number for these predictions: they overflow",
                    cure="Give y in another unit.",
                )
        except Exception as error:
            if sys._getframe(1).f_globals.get("__name__") in FOLDS:
                return Unscored(error)
            raise
        return -loss(value)

    def _groups(self, estimator: Any, X: Any, passed: Any) -> dict[str, Any]:
        name = "sensitive_features"
        if self.column is None:
            found = labels_for(name, passed, estimator, X)
        else:
            found = label_source(name, self.column, None, open_table(X))
        if found is None:
            raise InputError(
                str(self),
                "has no groups",
                cure=f'Name their column of X, scorer("{self.name}", '
                'sensitive_features="sex"), or pass them as sensitive_features (with '
                "metadata routing enabled).",
            )
        return dict(zip(found.names, found.columns, strict=True))

    def set_score_request(self, **requests: bool | str | None) -> GroupScorer:
        """Set which metadata is routed to the score: True, False, None or an alias.

        Examples
        --------
        >>> scorer("rmse").set_score_request(sample_weight=True)
        scorer('rmse')
        """
        for name in requests:
            check_choice("set_score_request argument", name, self.requests)
        copied = GroupScorer(self.name, self.column)
        copied.requests = {**self.requests, **requests}
        return copied

    def _accept_sample_weight(self) -> bool:
        """Searches over several scorers ask so where metadata are not routed."""
        return True

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what the score asks for, in scikit-learn's form.

        Examples
        --------
        >>> scorer("rank_auc").get_metadata_routing().score.requests["tasks"]
        True
        """
        routing = MetadataRequest(owner=self)
        for name, alias in self.requests.items():
            routing.score.add_request(param=name, alias=alias)
        return routing
