"""The post-processor in scikit-learn's shape: predict, map, store."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfair._frames import Floats
from rankfair._groups import Source, group_labels, plain_labels
from rankfair._inner import check_unit, explained, predictions_of
from rankfair._validation import (
    as_in_training,
    feature_record,
    finite_predictions,
    has_names,
    read_target,
)
from rankfair.core.blocks import rounded
from rankfair.postprocess.groups import known_groups, read_labels, without
from rankfair.postprocess.maps import between, nearest
from rankfair.postprocess.outcome import attributes_of, learn, warn_of
from rankfair.postprocess.predictions import fit_and_predict
from rankfair.postprocess.readings import check_settings, count_rows, read_given

__all__ = ["RankFairPostprocessor"]


class RankFairPostprocessor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    r"""A monotone map for each group that makes any regressor's predictions fair.

    The estimator is fitted as it is, or was fitted before; its predictions are moved by
    one monotone function for each group, no further than the constraint needs.  The
    maps are deterministic and defined for every value.  A row whose group is missing
    (None, NaN, NA or NaT) takes part in the estimator's fit and not in the constraint;
    it moves by the average of the groups' moves.

    Parameters
    ----------
    estimator : estimator
        A regressor with ``fit(X, y)`` and ``predict(X)``; if `prefit`, any object with
        ``predict(X)``.
    epsilon : float, default=0.01
        How much of the gap may be left.  "rank": of :math:`|\mathrm{AUC} - \tfrac12|`,
        in [0, 0.5], never less than one pair of rows.  "distribution": of KS, in
        [0, 1], never less than a row of each group.  "mean" and "wasserstein": in
        standard deviations of y.
    constraints : {"rank", "distribution", "mean", "wasserstein"}, default="rank"
        What is to be within epsilon, on the rows that the maps are learnt on.  "rank":
        the AUC of each group against all others.  "distribution": KS, the largest
        difference of the distribution functions, of every two groups.  "mean": the
        difference of the means of every two groups.  "wasserstein": the Wasserstein
        distance (:math:`W_1`) of every two groups.
    method : {"auto", "least", "line", "shift"}, default="auto"
        How predictions move there.

        - "least": the least movement, in the mean square, with a given KS; for "rank"
          with the largest KS whose AUC is in the band.  It knows "rank" and
          "distribution".  The lowest error for what is asked, and the rest of the gap
          stays: the top of one group and the bottom of the other do not move.
        - "line": a share θ of the way to the common quantiles of all groups,
          :math:`m_0 - \theta (m_0 - m_{\mathrm{common}})`, with the smallest θ that is
          in the band.  It knows all constraints.  For partial fairness: all gaps shrink
          together, means and Wasserstein distances by 1 − θ, and no movement as small
          leaves a smaller Wasserstein distance (Chzhen and Schreuder 2022).
        - "shift": every group moves as a whole.  It knows "rank" and "mean".  For
          "mean" it is the least movement; for "rank" it leaves shapes as they are.
        - "auto": "least" where it knows the constraint, else "line".
    sensitive_features : str, int or list of them, optional
        The column of X, by name or position, that holds the protected group; with
        several columns the groups are their combinations, as tuples: each combination
        has a map of its own.  (`RankFairRegressor` constrains each column alone unless
        ``intersect=True``.)
    blind : bool, default=False
        Leave the protected columns out of what the estimator sees.  Otherwise it sees X
        as it is, and has to know what to do with labels that are missing or no numbers.
    prefit : bool, default=False
        Take the estimator as fitted already: `fit` learns the maps only, on rows that
        the estimator should not have seen.  y is not needed then, except for "mean" and
        "wasserstein".  Clones, which searches and cross-validation make, forget the fit
        of an estimator unless it is inside scikit-learn's `FrozenEstimator`.
    cv : int, splitter or iterable, optional
        Learn the maps on out-of-fold predictions of that many folds, dealt at random
        and evenly by group, or of the given ones.  In each fold every group is first
        put where the fit to all rows has it, by the rows that both fits learnt from.
        Without `cv` the maps are learnt on predictions of the training rows, which a
        flexible estimator has fitted too well: the maps are then those of other
        distributions than new rows have.
    random_state : int, Generator or None, default=0
        Deals rows out where `cv` is a number; an int deals them alike at each fit.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    groups_ : ndarray of shape (n_groups,) or None
        Labels of the groups, sorted; tuples for several columns, of which dicts by
        label have the spelling, "F × west".
    n_unknown_ : int
        Training rows of unknown group; of several columns, rows that miss a label.
    maps_ : dict of label to ndarray of shape (2, n_knots)
        For each group, predictions in ascending order and where they move to.  Those
        that lie between two of the same end are left out.
    resolution_ : float
        The estimator's predictions are rounded to multiples of it before they are
        moved: a power of two, some 10⁻¹⁰ of their standard deviation.  What ties does
        not depend on the processor then.  0, and no rounding, without groups.
    status_ : str
        "satisfied": the band is met.  "inactive": the predictions meet it unmoved.
        "infeasible": no map found meets it (because predictions tie, or a group has few
        rows); the closest was kept.
    theta_ : float
        On the line the share of the way that was gone; 0 if nothing moved, NaN if
        predictions moved in another way.
    rank_auc_ : float
        AUC of the moved predictions of the rows that the maps were learnt on: the
        chance that a row of the last group is above one of the first.  With more groups
        that of a group against all others, the one farthest from 1/2.
    group_auc_ : dict of label to float
        AUC of each group against all others.
    ks_ : float
        The largest difference of the distribution functions of any two groups.
    wasserstein_ : float
        The largest Wasserstein distance of any two groups, in the units of y.
    mean_difference_ : float
        The mean of the moved predictions of the last group less that of the first, in
        the units of y; with more groups the largest difference of two.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X is a data frame.

    See Also
    --------
    RankFairRegressor : a linear model that is fair without the group at prediction.

    Notes
    -----
    The least movement is an isotonic regression on interleaved chains, solved exactly
    in O(N log N) for two groups.  The common quantiles at a level are the mean of the
    groups' quantiles there, weighted by their rows: their Wasserstein barycentre.
    Predictions that tie stay tied: a map is a function of prediction and group.

    "least" gives values on common levels, 20 or more between the 10 % and the 90 %
    quantile and the more the more rows there are.  Every value is a threshold at which
    the groups may differ by chance in new rows: with fewer of them KS is smaller there.
    A band too narrow for levels is met without them, one too narrow for single rows by
    the line.  A new prediction between two that were learnt from moves as little as
    keeps it between theirs; on the line and with shifts it moves as they do.

    The quantiles of two groups of different size are never quite equal: "mean" and
    "wasserstein" allow for what the line leaves at θ = 1, up to a row of each group
    moved across the middle 80 % of predictions.

    Of a group with more than 4096 different predictions the maps are learnt on as many
    quantiles.  The count is that of all rows, and ends within 3 % of epsilon of the
    band's edge (1 % with fewer predictions).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from rankfair import RankFairPostprocessor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> model = RankFairPostprocessor(Ridge(), 0.02, constraints="distribution")
    >>> model.fit(data.X, data.target, sensitive_features=data.sensitive).status_
    'satisfied'
    >>> round(model.ks_, 6) <= 0.02
    True
    >>> model.predict(data.X[:2], sensitive_features=data.sensitive[:2]).shape
    (2,)

    A part of every gap, in all measures at once:

    >>> model = RankFairPostprocessor(Ridge(), 0.1, method="line")
    >>> model.fit(data.X, data.target, sensitive_features=data.sensitive).status_
    'satisfied'
    >>> 0 < model.theta_ < 1
    True
    """

    intersect: ClassVar[bool] = True  # no setting: several columns are combined

    def __init__(
        self,
        estimator: Any,
        epsilon: Any = 0.01,
        *,
        constraints: Any = "rank",
        method: str = "auto",
        sensitive_features: Any = None,
        blind: bool = False,
        prefit: bool = False,
        cv: Any = None,
        random_state: Any = 0,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.constraints = constraints
        self.method = method
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.prefit = prefit
        self.cv = cv
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> RankFairPostprocessor:
        """Fit the estimator, unless `prefit`, and learn the maps.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            What the estimator takes, and the protected columns.
        y : array-like of shape (N,)
            The target; may be left out if `prefit`.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The protected group of each row, if no column of X says so.  Of several
            columns, or entries of a dict (by name), groups are the combinations.
        sample_weight : array-like of shape (N,), optional
            Weights of the rows in the distributions, and in the fit of the estimator,
            or the last step of a pipeline, if that takes them.

        Returns
        -------
        RankFairPostprocessor
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            If the band was not reached.
        UserWarning
            If there are no groups (predictions stay as they are then), or the estimator
            takes no weights.

        Examples
        --------
        >>> from sklearn.dummy import DummyRegressor
        >>> model = RankFairPostprocessor(DummyRegressor())
        >>> model.fit([[0.0], [1.0]], [1, 3], sensitive_features=["a", "b"]).status_
        'inactive'
        """
        asked = check_settings(self)
        given = read_given(
            self, asked.constraint, X, y, sensitive_features, sample_weight
        )
        columns = given.columns or ()
        apart = columns if self.blind else ()
        with explained(given.n_unknown if columns and not self.blind else 0):
            estimator, m = fit_and_predict(self, without(X, apart), given)
        check_unit(m, "the estimator's prediction")
        learnt = learn(asked, m, given)
        fitted = {
            **feature_record(X),
            "estimator_": estimator,
            "n_unknown_": given.n_unknown,
            "_columns": given.columns,
            "_names": given.names,
            "_intersect": len(columns) > 1,
            "_apart": apart,
            **attributes_of(learnt),
        }
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)
        warn_of(learnt)
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Return the estimator's predictions, each moved by the map of its group.

        Where the group of a row is missing, it moves by the average of the groups'
        moves at its prediction, weighted by their shares of the training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, protected ones among them.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The group of each row, if `fit` got them as an array.  Of a dict or a frame
            the names are those of training, in any order.

        Returns
        -------
        ndarray of shape (N,)
            Moved predictions.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> model = RankFairPostprocessor(LinearRegression(), sensitive_features=1)
        >>> X, y = [[0.0, 0], [1.0, 0], [4.0, 1], [5.0, 1]], [0.0, 1.0, 4.0, 5.0]
        >>> model.fit(X, y).predict(X).round(6).tolist()
        [2.0, 3.0, 2.0, 3.0]
        """
        check_is_fitted(self)
        n_rows = count_rows(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        labels = self._new_labels(X, sensitive_features, n_rows)
        m = predictions_of(self.estimator_, without(X, self._apart))
        m = rounded(m, self.resolution_)
        if labels is None:
            return m
        codes = known_groups(labels, self.groups_)
        unknown = np.flatnonzero(codes < 0)
        average = np.zeros(len(unknown))
        for g in range(len(self.groups_)):
            rows = np.flatnonzero(codes == g)
            m[rows] = self._followed(g, m[rows])
            average += self._shares[g] * (self._followed(g, m[unknown]) - m[unknown])
        m[unknown] += average
        return finite_predictions(m)

    def _followed(self, g: int, m: Floats) -> Floats:
        """Move predictions as those of a group."""
        knots = self.maps_[plain_labels(self.groups_.tolist())[g]]
        return between(knots, m) if self._straight else nearest(knots, m)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
    ) -> float:
        """Return R², the share of the target's variance that predictions explain.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training.
        y : array-like of shape (N,)
            What was observed.
        sample_weight : array-like of shape (N,), optional
            Weights of the rows.
        sensitive_features : array-like of shape (N,) or (N, q), optional
            The group of each row, if `fit` got them as an array.

        Returns
        -------
        float
            1 at best.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> model = RankFairPostprocessor(LinearRegression(), 0.5, sensitive_features=1)
        >>> X, y = [[0.0, 0], [1.0, 0], [4.0, 1], [5.0, 1]], [0.0, 1.0, 4.0, 5.0]
        >>> round(model.fit(X, y).score(X, y), 6)
        1.0
        """
        predicted = self.predict(X, sensitive_features=sensitive_features)
        observed = read_target(y)
        return float(r2_score(observed, predicted, sample_weight=sample_weight))

    def group_labels(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the group of each row, read from X as in training.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, those of `sensitive_features` among them.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            Labels by attribute, of several columns those of their combinations; None
            where the group is not known.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> model = RankFairPostprocessor(LinearRegression(), sensitive_features=[0, 1])
        >>> X, y = [[0, 0], [0, 1], [0, 0], [0, 1]], [0.0, 1.0, 4.0, 5.0]
        >>> model.fit(X, y).group_labels(X[:2])
        {'x0 × x1': array(['0 × 0', '0 × 1'], dtype=object)}
        """
        check_is_fitted(self)
        if not self._columns:
            raise ValueError(
                "sensitive_features names no column of X: the groups were passed to "
                "fit, and the model cannot tell those of new rows."
            )
        source = self._new_labels(X, None, count_rows(X))
        assert source is not None
        return group_labels(source, {}, self._intersect)

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """The estimator, which may know the task columns of X, and what it sees."""
        return self.estimator_, without(X, self._apart)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.pairwise = inner.pairwise
        tags.target_tags.required = not self.prefit
        return tags

    def _new_labels(self, X: Any, passed: Any, n_rows: int) -> Source | None:
        if self._columns is None and passed is not None:
            raise ValueError(
                "sensitive_features was passed, but the model was fitted without "
                "groups. Fit with groups, or leave them out."
            )
        if self._columns == () and passed is None:
            raise ValueError(
                "sensitive_features is missing: the model was fitted with groups as an "
                "array, so each new row needs its group as well, "
                "predict(X, sensitive_features=...)."
            )
        if self._columns is None:
            return None
        source = read_labels(X, list(self._columns) or None, passed, n_rows)
        if source is None or self._names is None or not has_names(passed):
            return source
        return as_in_training(source, self._names)
