"""Metrics as scikit-learn scorers."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

from rankfair._frames import open_table
from rankfair._validation import (
    check_choice,
    column_name,
    naming,
    reader_of,
    resolve_columns,
)
from rankfair.metrics.means import balanced_residuals, mean_difference, rmse
from rankfair.metrics.ranking import impact_rank_ratio, rank_auc, rank_gap

__all__ = ["GroupScorer", "scorer"]

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
        The metric; for three or more groups and for several attributes "rank_gap".
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
        try:
            return self._score(
                estimator, X, y, sensitive_features, sample_weight, tasks
            )
        except Exception as error:
            if sys._getframe(1).f_globals.get("__name__") in FOLDS:
                return Unscored(error)
            raise

    def _score(
        self, estimator: Any, X: Any, y: Any, groups: Any, weights: Any, tasks: Any
    ) -> float:
        metric, loss = LOSSES[self.name]
        given = {} if tasks is None else {"tasks": tasks}
        if groups is not None and _predicts_by_group(estimator):
            given["sensitive_features"] = groups
        if self.name != "rmse":
            groups = self._groups(estimator, X, groups)
        value = metric(
            y,
            estimator.predict(X, **given),
            sensitive_features=groups,
            sample_weight=weights,
        )
        if math.isnan(value):
            raise ValueError(
                f"{self} is not a number for these predictions: they overflow. Give y "
                "in another unit."
            )
        return -loss(value)

    def _groups(self, estimator: Any, X: Any, passed: Any) -> Any:
        column = self.column
        if column is None and passed is None:
            owner, X = naming(estimator, X, "sensitive_features")
            column = getattr(owner, "sensitive_features", None)
            if column is not None and hasattr(owner, "group_labels"):
                found = owner.group_labels(X)
                return found if len(found) > 1 else next(iter(found.values()))
        if column is None and passed is None:
            raise ValueError(
                f"{self} has no groups: name their column of X, "
                f'scorer("{self.name}", sensitive_features="sex"), or pass them as '
                "sensitive_features (with metadata routing enabled)."
            )
        if column is None:
            return passed
        table = open_table(X)
        places = resolve_columns("sensitive_features", column, table)
        found = {column_name(table, place): table.column(place) for place in places}
        return found if len(found) > 1 else next(iter(found.values()))

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


def _predicts_by_group(estimator: Any) -> bool:
    """Tell whether ``predict`` takes the groups that ``fit`` got as an array."""
    reader = reader_of(estimator, "sensitive_features")
    return (
        getattr(reader, "sensitive_features", None) is None
        and getattr(reader, "groups_", None) is not None
    )
