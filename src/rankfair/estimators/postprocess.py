"""The post-processor in scikit-learn's shape: predict, map, store."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfair.constraints.rank import deviation
from rankfair.core.blocks import resolution_of, rounded
from rankfair.core.ranks import counts_of
from rankfair.estimators.base import r_squared
from rankfair.estimators.maps import (
    CONSTRAINTS_OF,
    GAPS,
    MapStatus,
    Moved,
    between,
    move,
    nearest,
)
from rankfair.estimators.outcome import group_attributes, no_groups, rank_auc, tell
from rankfair.estimators.refits import (
    EstimatorRefits,
    MetaRegressor,
    check_unit,
    columns_seen,
    explained,
    folds_of,
    predictions_of,
    read_seen_rows,
    table_of,
    weight_argument,
)
from rankfair.estimators.settings import check_estimator
from rankfair.input.arrays import Codes, Floats
from rankfair.input.columns import Columns, TrainingRows, feature_record, label_source
from rankfair.input.errors import Argument, InputError, InputWarning, counted, listed
from rankfair.input.folds import check_cv, out_of_fold
from rankfair.input.frames import Table, open_table
from rankfair.input.groups import Source, group_labels
from rankfair.input.labels import find_known, recode
from rankfair.input.new_rows import (
    SORTED_ROWS,
    as_in_training,
    has_names,
    refuse_retyped,
)
from rankfair.input.settings import check_choice, check_flag, check_number, check_seed
from rankfair.input.training import finite_predictions
from rankfair.projections import Sample

GROUPS = "sensitive_features"
MOST = {"rank": 0.5, "distribution": 1.0}  # of ε; of the others it has no end


class MapSettings(NamedTuple):
    """The method, the constraint and its ε."""

    method: str
    constraint: str
    epsilon: float


class LearntMaps(NamedTuple):
    """Maps of predictions in multiples of ``resolution``, and the groups' shares."""

    moved: Moved
    resolution: float
    shares: Floats


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
        The column of X, by name or position, that holds the protected group; with
        several columns the groups are their combinations, "F × west", each with a map
        of its own.  (`RankFairRegressor` constrains each column alone unless
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
        asked = self._read_settings(y)
        named = Columns(None, self.sensitive_features, self.blind, intersect=True)
        rows = read_seen_rows(
            X,
            y,
            named,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            without_y=self.prefit,
            sparse=True,
        )
        groups = rows.attributes[0] if rows.attributes else None
        heavy = np.ones(len(rows.y), bool) if rows.weights is None else rows.weights > 0
        n_unknown = 0 if groups is None else groups.take(heavy).n_unknown
        seen = self.sensitive_features is not None and not self.blind
        with explained(n_unknown if seen else 0):
            estimator, m = self._fit_and_predict(rows)
        check_unit(m, "the estimator's prediction")
        learnt = None if groups is None else _learn(asked, m, rows, heavy)
        source = label_source(
            GROUPS, self.sensitive_features, sensitive_features, table_of(X)
        )
        by_name = has_names(sensitive_features)
        notes = [*_weightless(self, rows), *_cautions(learnt)]
        self._store(
            {
                **feature_record(X),
                **group_attributes(self, rows),
                "n_unknown_": n_unknown,
                "estimator_": estimator,
                "_layout": rows.layout,
                "_n_columns": 0 if source is None else len(source.columns),
                "_names": source.names if source is not None and by_name else None,
                "_intersect": source is not None and len(source.columns) > 1,
                **_attributes(learnt, rows),
            }
        )
        tell(notes, depth=0)
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
        table = table_of(X) if self._group_columns is None else open_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        source = self._new_labels(table, sensitive_features)
        m = predictions_of(self.estimator_, columns_seen(X, table, self._layout))
        m = rounded(m, self.resolution_)
        if source is None:
            return m
        codes = self._codes_of(source)
        unknown = np.flatnonzero(codes < 0)
        average = np.zeros(len(unknown))
        for g, label in enumerate(self.groups_.tolist()):
            rows = np.flatnonzero(codes == g)
            m[rows] = self._followed(label, m[rows])
            moved = self._followed(label, m[unknown])
            average += self._shares[g] * (moved - m[unknown])
        m[unknown] += average
        return finite_predictions(m)

    def _followed(self, label: Any, m: Floats) -> Floats:
        """Move predictions as those of a group."""
        knots = self.maps_[label]
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
        return r_squared(y, predicted, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        tags.target_tags.required = not self.prefit
        return tags

    def _read_settings(self, y: Any) -> MapSettings:
        """Check the settings, and settle on a method."""
        constraint, method = self.constraints, self.method
        check_choice("constraints", constraint, tuple(GAPS))
        check_choice("method", method, ("auto", *CONSTRAINTS_OF))
        if method == "auto":
            method = "least" if constraint in CONSTRAINTS_OF["least"] else "line"
        if constraint not in CONSTRAINTS_OF[method]:
            raise InputError(
                "method",
                f'"{method}" knows constraints {listed(CONSTRAINTS_OF[method])}',
                f'"{constraint}"',
                ("Use ", Argument("method", "line"), ", which knows all."),
            )
        most = MOST.get(constraint, np.inf)
        epsilon = check_number("epsilon", self.epsilon, 0.0, most)
        for flag in ("blind", "prefit"):
            check_flag(flag, getattr(self, flag))
        needed = ("predict",) if self.prefit else ("fit", "predict", "get_params")
        cure = (
            "Of a fitted one, predict is enough: set ",
            Argument("prefit", True),
            ".",
        )
        check_estimator(self.estimator, *needed, cure="" if self.prefit else cure)
        if self.cv is not None and self.prefit:
            raise InputError(
                "cv",
                (
                    "refits the estimator on folds, which ",
                    Argument("prefit", True),
                    " rules out",
                ),
                cure="Leave it out, and pass rows that the estimator has not seen.",
            )
        check_cv(self.cv)
        check_seed("random_state", self.random_state)
        if self.prefit and y is None and constraint not in MOST:
            raise InputError(
                "y",
                (
                    "is missing: with ",
                    Argument("constraints", constraint),
                    " epsilon is in its standard deviations",
                ),
                cure="Pass y.",
            )
        return MapSettings(method, constraint, epsilon)

    def _fit_and_predict(self, rows: TrainingRows) -> tuple[Any, Floats]:
        """Return the fitted estimator, and predictions of the training rows.

        They are its own, or with ``cv`` those of fits that did not see the row.
        """
        if self.prefit:
            _check_fitted(self.estimator)
            return self.estimator, predictions_of(self.estimator, rows.X)
        folds = folds_of(rows, self.cv, np.random.default_rng(self.random_state))
        refits, every = EstimatorRefits(self.estimator, rows), np.arange(len(rows.y))
        models = refits.models(rows.y, every)
        whole = refits.predict(models, every)
        if folds is None:
            return models[0], whole

        def predicted(train: Codes, test: Codes) -> tuple[Floats, Floats]:
            fold = refits.models(rows.y, train)
            seen = refits.predict(fold, train, train)
            return seen, refits.predict(fold, test, train)

        codes = rows.attributes[0].codes
        return models[0], out_of_fold(whole, folds, predicted, codes, rows.weights)

    def _new_labels(self, table: Table, passed: Any) -> Source | None:
        """Return the labels of new rows, in the columns of training."""
        if self.groups_ is None:
            if passed is not None:
                raise InputError(
                    GROUPS,
                    "was passed, but the model was fitted without groups",
                    cure="Fit with groups, or leave them out.",
                )
            return None
        source = label_source(GROUPS, self._group_columns, passed, table)
        if source is None:
            raise InputError(
                GROUPS,
                "is missing: the model was fitted with groups as an array, so each new "
                "row needs its group as well, predict(X, sensitive_features=...)",
            )
        if self._names is not None and has_names(passed):
            source = as_in_training(source, self._names)
        if len(source.columns) != self._n_columns:
            raise InputError(
                GROUPS,
                f"has {counted(len(source.columns), 'column')}; training had "
                f"{self._n_columns}",
                cure="Pass labels of the same columns as to fit.",
            )
        return source

    def _codes_of(self, source: Source) -> Codes:
        """Return the group of each new row, −1 if it is not known; refuse others."""
        (labels,) = group_labels(source, {}, self._intersect).values()
        here, found = find_known(labels, source.argument)
        codes, others = recode(here, found, self.groups_)
        refuse_retyped(source.argument, others, self.groups_)
        if others:
            n_rows = int((codes[here >= 0] < 0).sum())
            raise InputError(
                GROUPS,
                f"has groups not seen in training: {listed(others)} "
                f"({counted(n_rows, 'row')}); training had "
                f"{listed(self.groups_.tolist())}",
                cure="Use the labels of training, or fit with rows of these too. "
                f"{SORTED_ROWS}",
            )
        return codes


def _check_fitted(estimator: Any) -> None:
    if not hasattr(estimator, "__sklearn_tags__"):
        return  # of another library: what it predicts is all there is to know
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"prefit=True, but this {type(estimator).__name__} is not fitted. Fit it "
            "first, or leave prefit=False. Clones, which searches, cross-validation "
            "and fairness_path make, forget a fit: "
            "sklearn.frozen.FrozenEstimator(estimator) keeps it."
        ) from None


def _learn(
    asked: MapSettings, m: Floats, rows: TrainingRows, heavy: NDArray[np.bool_]
) -> LearntMaps:
    """Move the predictions of each group as asked; rows of weight zero are absent."""
    (groups,) = rows.attributes
    counts = None if rows.weights is None else counts_of(rows.weights)
    known = heavy & (groups.codes >= 0)
    resolution = resolution_of(m[known])
    m = rounded(m, resolution)
    at = [
        np.flatnonzero(known & (groups.codes == g)) for g in range(len(groups.labels))
    ]
    samples = [Sample.of(m[g], None if counts is None else counts[g]) for g in at]
    unit = deviation(rows.y, rows.weights)
    totals = np.array([sample.total for sample in samples], np.float64)
    return LearntMaps(move(samples, *asked, unit), resolution, totals / totals.sum())


def _attributes(learnt: LearntMaps | None, rows: TrainingRows) -> dict[str, Any]:
    """Return fitted attributes of the maps, or of none."""
    if learnt is None:
        nothing = ("rank_auc_", "ks_", "wasserstein_", "mean_difference_", "theta_")
        return {
            "maps_": {},
            "status_": str(MapStatus.INACTIVE),
            "group_auc_": {},
            "resolution_": 0.0,
            **dict.fromkeys(nothing, math.nan),
        }
    labels = rows.attributes[0].labels.tolist()
    moved, standing = learnt.moved, learnt.moved.standing
    aucs = dict(zip(labels, standing.aucs.tolist(), strict=True))
    means = standing.means
    # Of two groups the last less the first, of more the largest.
    apart = means[1] - means[0] if len(means) == 2 else np.ptp(means)
    return {
        "maps_": dict(zip(labels, moved.maps, strict=True)),
        "status_": str(moved.status),
        "rank_auc_": rank_auc([aucs]),
        "group_auc_": aucs,
        "ks_": float(standing.ks.max()),
        "wasserstein_": float(standing.wasserstein.max()),
        "mean_difference_": float(apart),
        "theta_": moved.theta,
        "resolution_": learnt.resolution,
        "_shares": learnt.shares,
        "_straight": moved.follow is between,
    }


def _weightless(model: RankFairPostprocessor, rows: TrainingRows) -> Iterator[Warning]:
    """Say that the estimator takes no weights."""
    estimator = model.estimator
    if model.prefit or rows.weights is None or weight_argument(estimator) is not None:
        return
    yield InputWarning(
        "sample_weight",
        f"is not taken by {type(estimator).__name__}.fit: it is fitted without "
        "weights, and only the maps are weighted",
    )


def _cautions(learnt: LearntMaps | None) -> Iterator[Warning]:
    """Say that there was nothing to balance, or that the band was not reached."""
    if learnt is None:
        yield no_groups("predictions stay as they are")
    elif learnt.moved.status is MapStatus.INFEASIBLE:
        standing = learnt.moved.standing
        farthest = float(np.abs(standing.aucs - 0.5).max())
        yield ConvergenceWarning(
            f"{learnt.moved.status.value} KS is {standing.ks.max():.4g}, means differ "
            f"by {np.ptp(standing.means):.4g}, and AUC is off 1/2 by {farthest:.4g}, "
            "on the rows that the maps were learnt on."
        )
