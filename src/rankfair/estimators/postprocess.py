"""The post-processor in scikit-learn's shape: predict, map, store."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankfair.constraints.rank import deviation
from rankfair.core.blocks import resolution_of, rounded
from rankfair.core.ranks import counts_of
from rankfair.estimators.base import check_estimator, check_settings, r_squared
from rankfair.estimators.maps import CONSTRAINTS_OF, Moved, between, move, nearest
from rankfair.estimators.outcome import no_groups, rank_auc, tell
from rankfair.estimators.tilted import (
    EstimatorRefits,
    MetaRegressor,
    check_unit,
    predictions_of,
    unweighted,
)
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import (
    InputError,
    check_choice,
    check_number,
    counted,
    listed,
)
from rankfair.input.folds import group_means, out_of_fold
from rankfair.input.frames import (
    InputTable,
    finite_predictions,
    known_codes,
    open_table,
)
from rankfair.input.groups import GROUPS, group_labels, label_source, passed_columns
from rankfair.input.training import (
    TrainingRows,
    as_in_training,
    check_same_source,
    has_names,
)
from rankfair.projections import Sample
from rankfair.solvers.base import Status

NOT_FITTED = (
    "prefit=True, but this %(name)s is not fitted. Fit it first, or leave "
    "prefit=False. Clones, which searches, cross-validation and fairness_path make, "
    "forget a fit: sklearn.frozen.FrozenEstimator(estimator) keeps it."
)
MOST = {"rank": 0.5, "distribution": 1.0}  # of ε; of the others it has no end


@dataclass(eq=False, repr=False)
class RankFairPostprocessor(MetaRegressor):
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
          together, means and Wasserstein distances by 1 − θ.  In the population it is
          the least movement for the Wasserstein gap (Chzhen and Schreuder 2022).
        - "shift": every group moves as a whole.  It knows "rank" and "mean".  For
          "mean" it is the least movement; for "rank" it leaves shapes as they are.
        - "auto": "least" where it knows the constraint, else "line".
    sensitive_features : str, int or list of them, optional
        The column of X, by name or position, that holds the group; with
        several columns the groups are their combinations, "F × west", each with a map
        of its own.  (`RankFairRegressor` constrains each column alone unless
        ``intersect=True``.)
    blind : bool, default=False
        Leave the sensitive columns out of what the estimator sees.  Otherwise it sees X
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
    random_state : int, Generator or None, default=None
        Deals rows out where `cv` is a number; an int deals them alike at each fit.
    n_jobs : int, optional
        How many folds are fitted at once, in processes of their own; −1 for as many as
        there are processors.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    groups_ : ndarray of shape (n_groups,) or None
        Labels of the groups, sorted; for several columns "F × west".
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
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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

    "least" moves predictions onto common levels: 20 or more between the 10 % and the
    90 % quantile, and more with more rows.  At each level the groups may differ by
    chance in new rows, so fewer levels make KS smaller there.  Where the band is too
    narrow for levels, rows are moved one by one; where it is too narrow for that, the
    line is taken.  A new prediction lies between two that the map was learnt from.
    "least" moves it no further than it must to stay between the places where these
    two went; "line" and "shift" move it as they moved these two.

    The quantiles of two groups of different size are never quite equal: "mean" and
    "wasserstein" allow for what the line leaves at θ = 1, up to a row of each group
    moved across the middle 80 % of predictions.

    The map of a group with more than 4096 different predictions is learnt from 4096 of
    its quantiles.  All rows are counted all the same.  What is reached is within 3 % of
    epsilon of the band's edge (1 % with fewer predictions).

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

    intersect = True  # no setting: several columns are combined

    _: KW_ONLY
    constraints: Literal["rank", "distribution", "mean", "wasserstein"] = "rank"
    method: Literal["auto", "line", "least", "shift"] = "auto"
    blind: bool = False
    prefit: bool = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        **fit_params: Any,
    ) -> RankFairPostprocessor:
        """Fit the estimator, unless `prefit`, and learn the maps.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            What the estimator takes, and the sensitive columns.
        y : array-like of shape (N,)
            The target; may be left out if `prefit`.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The group of each row, if no column of X says so.  Of several
            columns, or entries of a dict (by name), groups are the combinations.
        sample_weight : array-like of shape (N,), optional
            Weights of the rows in the distributions, and in the fit of the estimator,
            or the last step of a pipeline, if that takes them.
        **fit_params
            Handed on to ``fit`` of the estimator, as `TiltedRegressor` does.

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
        method, epsilon = self._read_settings(y, fit_params)
        none = y is None and self.prefit
        target = np.zeros(open_table(X).shape[0]) if none else y
        rows = self._read_rows(X, target, sensitive_features, sample_weight)
        refits = self._refits(X, rows, fit_params, tilts=False)
        with self._explained():
            estimator, m = self._fit_and_predict(refits)
        check_unit(m, "the estimator's prediction")
        names: tuple[str, ...] = ()  # of the columns that were passed
        if sensitive_features is not None:
            names = passed_columns(sensitive_features, GROUPS)[1]
        fitted = {"_names": names, "_by_name": has_names(sensitive_features)}
        notes = [] if self.prefit else [*unweighted(self.estimator, rows.weights)]
        if rows.attributes:
            resolution = resolution_of(m[rows.attributes[0].codes >= 0])
            samples = _samples(rounded(m, resolution), rows)
            unit = deviation(rows.y, rows.weights)
            moved = move(samples, method, self.constraints, epsilon, unit)
            fitted |= _attributes(moved, resolution, samples, rows)
            notes += _cautions(moved)
        else:
            unknown = "rank_auc_", "ks_", "wasserstein_", "mean_difference_", "theta_"
            fitted |= dict.fromkeys(unknown, math.nan)
            fitted |= {"maps_": {}, "group_auc_": {}, "resolution_": 0.0}
            fitted["status_"] = str(Status.INACTIVE)
            notes.append(no_groups("predictions stay as they are"))
        self._store_around(estimator, X, rows, fitted)
        tell(notes)
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None) -> Floats:
        """Return the estimator's predictions, each moved by the map of its group.

        Where the group of a row is missing, it moves by the average of the groups'
        moves at its prediction, weighted by their shares of the training rows.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            Rows with the columns of training, sensitive ones among them.
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
        table, seen = self._read_new(X)
        codes = self._new_codes(table, sensitive_features)
        m = rounded(predictions_of(self.estimator_, seen), self.resolution_)
        if codes is None:
            return m
        unknown = np.flatnonzero(codes < 0)
        average = np.zeros(len(unknown))
        follow = between if self._straight else nearest
        for g, label in enumerate(self.groups_.tolist()):
            rows, knots = np.flatnonzero(codes == g), self.maps_[label]
            m[rows] = follow(knots, m[rows])
            average += self._shares[g] * (follow(knots, m[unknown]) - m[unknown])
        m[unknown] += average
        return finite_predictions(m)

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
        X : array-like or data frame of shape (N, `n_features_in_`)
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
        return r_squared(y, predicted, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = not self.prefit
        return tags

    def _read_settings(self, y: Any, passed: dict[str, Any]) -> tuple[str, float]:
        """Check the settings; return the method settled on, and ε."""
        check_settings(self)
        constraint, method = self.constraints, self.method
        check_choice("constraints", constraint, CONSTRAINTS_OF["line"])
        check_choice("method", method, ("auto", *CONSTRAINTS_OF))
        if method == "auto":
            method = "least" if constraint in CONSTRAINTS_OF["least"] else "line"
        if constraint not in CONSTRAINTS_OF[method]:
            raise InputError(
                "method",
                f'"{method}" knows constraints {listed(CONSTRAINTS_OF[method])}',
                f'"{constraint}"',
                'Use method="line", which knows all.',
            )
        epsilon = check_number(
            "epsilon", self.epsilon, 0.0, MOST.get(constraint, np.inf)
        )
        needed = ("predict",) if self.prefit else ("fit", "predict", "get_params")
        cure = "Of a fitted one, predict is enough: set prefit=True."
        check_estimator(self.estimator, *needed, cure="" if self.prefit else cure)
        if self.cv is not None and self.prefit:
            raise InputError(
                "cv",
                "refits the estimator on folds, which prefit=True rules out",
                cure="Leave it out, and pass rows that the estimator has not seen.",
            )
        if self.prefit and y is None and constraint not in MOST:
            wrong = "is missing, and epsilon is in its standard deviations with"
            raise InputError("y", f'{wrong} constraints="{constraint}"', cure="Pass y.")
        if self.prefit and passed:
            wrong = "is for a fit of the estimator, which prefit=True rules out"
            raise InputError(next(iter(passed)), wrong, cure="Leave it out.")
        return method, epsilon

    def _fit_and_predict(self, refits: EstimatorRefits) -> tuple[Any, Floats]:
        """Return the fitted estimator, and predictions of the training rows.

        They are its own, or with ``cv`` those of fits that did not see the row.
        """
        rows = refits.rows
        if self.prefit:
            if hasattr(self.estimator, "__sklearn_tags__"):
                # Of another library what it predicts is all there is to know.
                check_is_fitted(self.estimator, msg=NOT_FITTED)
            return self.estimator, predictions_of(self.estimator, rows.X)
        y = np.append(rows.y, refits.passed.y)
        model, whole = refits.whole(y)
        if refits.folds is None:
            return model, whole
        codes, weights = rows.attributes[0].codes, rows.weights

        def predicted(train: Codes, test: Codes) -> Floats:
            """Predictions of the test rows, each group where the whole fit has it.

            A fit to fewer rows may shrink more.  The rows that both fits learnt from
            tell how far it puts each group from where the fit to all rows does.
            """
            fold = refits.model(y, train)
            off = whole[train] - refits.predict(fold, train)
            own = None if weights is None else weights[train]
            steps = group_means(off, codes[train], own, int(codes.max()) + 1)
            return refits.predict(fold, test) + steps[codes[test]]

        return model, out_of_fold(len(rows.y), refits.folds, predicted, self.n_jobs)

    def _new_codes(self, table: InputTable, passed: Any) -> Codes | None:
        """Return the group of each new row, −1 if it is not known; refuse others."""
        source = label_source(GROUPS, self._group_columns, passed, table)
        trained = None if self.groups_ is None else ()
        check_same_source(source, trained, GROUPS, "group")
        if source is None:
            return None
        if self._by_name and has_names(passed):
            source = as_in_training(source, self._names)
        if passed is not None and len(source.columns) != len(self._names):
            raise InputError(
                GROUPS,
                f"has {counted(len(source.columns), 'column')}; training had "
                f"{len(self._names)}",
                cure="Pass labels of the same columns as to fit.",
            )
        (labels,) = group_labels(source, {}, self._intersect).values()
        return known_codes(labels, source.argument, self.groups_)


def _samples(m: Floats, rows: TrainingRows) -> list[Sample]:
    """The predictions of each group."""
    (groups,) = rows.attributes
    counts = None if rows.weights is None else counts_of(rows.weights)
    at = [np.flatnonzero(groups.codes == g) for g in range(len(groups.labels))]
    return [Sample.of(m[g], None if counts is None else counts[g]) for g in at]


def _attributes(
    moved: Moved, resolution: float, samples: Sequence[Sample], rows: TrainingRows
) -> dict[str, Any]:
    """Return the fitted attributes of the maps."""
    labels = rows.attributes[0].labels.tolist()
    total = sum(sample.total for sample in samples)
    means, gaps = moved.standing.means, moved.standing.gaps
    aucs = dict(zip(labels, moved.standing.aucs.tolist(), strict=True))
    # Of two groups the last less the first, of more the largest.
    apart = means[1] - means[0] if len(means) == 2 else np.ptp(means)
    return {
        "maps_": dict(zip(labels, moved.maps, strict=True)),
        "status_": str(moved.status),
        "rank_auc_": rank_auc([aucs]),
        "group_auc_": aucs,
        "ks_": float(gaps["distribution"].max()),
        "wasserstein_": float(gaps["wasserstein"].max()),
        "mean_difference_": float(apart),
        "theta_": moved.theta,
        "resolution_": resolution,
        "_shares": [sample.total / total for sample in samples],
        "_straight": moved.follow is between,
    }


def _cautions(moved: Moved) -> Iterator[Warning]:
    """Say that the band was not reached."""
    if moved.status is Status.INFEASIBLE:
        gaps = {name: each.max() for name, each in moved.standing.gaps.items()}
        yield ConvergenceWarning(
            "No map of predictions by group was found that reaches the band, which is "
            "hard where many predictions tie or a group has few rows; the closest was "
            f"kept. KS is {gaps['distribution']:.4g}, means differ by "
            f"{gaps['mean']:.4g}, and AUC is off 1/2 by {gaps['rank']:.4g}, on the "
            "rows that the maps were learnt on."
        )
