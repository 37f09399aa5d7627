"""The post-processor in scikit-learn's shape: predict, map, store."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import r2_score
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from rankfair.constraints.rank import deviation
from rankfair.core.blocks import resolution_of, rounded
from rankfair.core.ranks import counts_of
from rankfair.estimators.maps import (
    CONSTRAINTS_OF,
    GAPS,
    MapStatus,
    Moved,
    Standing,
    between,
    move,
    nearest,
)
from rankfair.estimators.refits import (
    check_unit,
    explained,
    fitted_to,
    predictions_of,
    taken,
    weight_argument,
)
from rankfair.input.arrays import Codes, Floats
from rankfair.input.columns import feature_record, label_source, label_source_of_rows
from rankfair.input.errors import counted, listed
from rankfair.input.folds import (
    Folds,
    check_cv,
    deal_folds,
    gives_folds,
    out_of_fold,
    split_folds,
)
from rankfair.input.frames import ArrayTable, open_table
from rankfair.input.groups import (
    CUT_FIRST,
    SensitiveGroups,
    Source,
    check_groups,
    group_labels,
    plain_labels,
    refuse_quantity,
)
from rankfair.input.labels import find_known, find_labels, label_array, recode
from rankfair.input.new_rows import (
    SORTED_ROWS,
    as_in_training,
    has_names,
    refuse_retyped,
)
from rankfair.input.settings import (
    check_choice,
    check_flag,
    check_lengths,
    check_number,
    check_seed,
)
from rankfair.input.training import finite_predictions, read_target, read_weights
from rankfair.projections import Sample

ARGUMENT = "sensitive_features"


def read_labels(X: Any, named: Any, passed: Any, n_rows: int) -> Source | None:
    """Return the labels of the rows; None if neither X nor an array has any.

    Entries of a dict are columns in the order of their names, so that a dict of new
    rows may have them in any order.

    Examples
    --------
    >>> read_labels([[1.0, 7], [2.0, 8]], 1, None, 2).at
    (1,)
    """
    if isinstance(passed, dict):
        passed = {name: passed[name] for name in sorted(passed, key=str)}
    if named is not None:
        return label_source(ARGUMENT, named, passed, open_table(X))
    return None if passed is None else label_source_of_rows(passed, n_rows)


def find_groups(
    source: Source, weights: Floats | None = None
) -> tuple[Codes, NDArray[Any]]:
    """Return the group of each row and the labels of two or more groups.

    Groups of several columns are their combinations, as tuples.  A row that misses a
    label is of unknown group, code −1.

    Examples
    --------
    >>> codes, groups = find_groups(read_labels(None, None, [*"bacca", None], 6))
    >>> codes.tolist(), groups.tolist()
    ([1, 0, 2, 2, 0, -1], ['a', 'b', 'c'])
    """
    for part in source.parts():
        own = SensitiveGroups(*find_known(part.columns[0], part.argument), part.name)
        refuse_quantity(own, part.argument, CUT_FIRST)
    codes, labels = _known_labels(source)
    if not len(labels):
        raise ValueError(
            f"{source.argument} is unknown in all {len(codes)} rows: there is nothing "
            "to balance"
        )
    if len(labels) > 2 and 2 * len(labels) > len(codes):
        raise ValueError(
            f"{source.argument} has {len(labels)} groups in {len(codes)} rows: labels "
            "of a few groups are expected. Cut a numeric attribute into classes first."
        )
    check_groups(
        SensitiveGroups(codes, labels, source.name), source.argument, weights, True
    )
    return codes, labels


def known_groups(source: Source, groups: NDArray[Any]) -> Codes:
    """Return the group of each new row; refuse groups not seen in training.

    Rows of unknown group have code −1.

    Examples
    --------
    >>> import numpy as np
    >>> known_groups(read_labels(None, None, ["b", None], 2), np.array(["a", "b"]))
    array([ 1, -1])
    """
    here, labels = _known_labels(source)
    codes, others = recode(here, labels, groups)
    if others:
        _refuse_other_labels(source, others, groups)
        n_rows = int((codes[here >= 0] < 0).sum())
        raise ValueError(
            f"{source.argument} has groups not seen in training: {listed(others)} "
            f"({counted(n_rows, 'row')}); training had "
            f"{listed(groups.tolist())}. Use the labels of training, or fit with rows "
            f"of these too. {SORTED_ROWS}"
        )
    return codes


def _refuse_other_labels(
    source: Source, others: list[Any], groups: NDArray[Any]
) -> None:
    """Refuse labels of other columns, and those that differ by their type only."""
    first = groups.tolist()[0]
    width = len(first) if isinstance(first, tuple) else 1
    if len(source.columns) != width:
        raise ValueError(
            f"{source.argument} has {len(source.columns)} columns; training had "
            f"{width}. Pass labels of the same columns as to fit."
        )
    if width == 1:
        refuse_retyped(source.argument, others, groups)
        return
    for here, there in zip(
        zip(*others, strict=True), zip(*groups.tolist(), strict=True), strict=True
    ):
        new = [label for label in dict.fromkeys(here) if label not in there]
        refuse_retyped(source.argument, new, label_array(list(dict.fromkeys(there))))


def _known_labels(source: Source) -> tuple[Codes, NDArray[Any]]:
    """Return codes and sorted labels, −1 where one of the labels is missing."""
    found = [find_known(column, source.argument) for column in source.columns]
    if len(found) == 1:
        return found[0]
    known = np.all([codes >= 0 for codes, _ in found], axis=0)
    cells, present = find_labels([codes[known] for codes, _ in found], source.argument)
    labels = [
        tuple(own.tolist()[place] for (_, own), place in zip(found, cell, strict=True))
        for cell in present.tolist()
    ]
    codes = np.full(len(known), -1, np.intp)
    codes[known] = cells
    return codes, label_array(labels)


def without(X: Any, columns: tuple[int, ...]) -> Any:
    """Return X without some columns, in its own type.

    Examples
    --------
    >>> without([[1.0, 7], [2.0, 8]], (1,)).tolist()
    [[1.0], [2.0]]
    """
    if not columns:
        return X
    table = open_table(X)
    kept = [j for j in range(table.shape[1]) if j not in columns]
    if not kept:
        raise ValueError(
            "X has no column left for the estimator: with blind=True the protected "
            "one is left out."
        )
    if isinstance(table, ArrayTable):
        return np.asarray(table.values[:, kept])
    return _safe_indexing(X, kept, axis=1)


MOST = {"rank": 0.5, "distribution": 1.0}  # of ε; of the others it has no end


class MapSettings(NamedTuple):
    """The method, the constraint and its ε."""

    method: str
    constraint: str
    epsilon: float


def check_settings(model: Any) -> MapSettings:
    """Check the settings of a `RankFairPostprocessor`, and settle on a method."""
    constraint, method = model.constraints, model.method
    check_choice("constraints", constraint, tuple(GAPS))
    check_choice("method", method, ("auto", *CONSTRAINTS_OF))
    if method == "auto":
        method = "least" if constraint in CONSTRAINTS_OF["least"] else "line"
    if constraint not in CONSTRAINTS_OF[method]:
        known = " or ".join(f'"{name}"' for name in CONSTRAINTS_OF[method])
        raise ValueError(
            f'method="{method}" knows constraints={known}; got "{constraint}". Use '
            'method="line", which knows all.'
        )
    epsilon = check_number("epsilon", model.epsilon, 0.0, MOST.get(constraint, np.inf))
    for flag in ("blind", "prefit"):
        check_flag(flag, getattr(model, flag))
    needed = ("predict",) if model.prefit else ("fit", "predict")
    if isinstance(model.estimator, type) or not all(
        hasattr(model.estimator, name) for name in needed
    ):
        raise TypeError(
            f"estimator must be a regressor with {' and '.join(needed)}; got "
            f"{model.estimator!r:.60}."
        )
    if not model.prefit and not hasattr(model.estimator, "get_params"):
        raise TypeError(
            f"estimator ({type(model.estimator).__name__}) cannot be cloned: it has no "
            "get_params as scikit-learn's have. Fit it yourself and set prefit=True."
        )
    if model.cv is not None and model.prefit:
        raise ValueError(
            "cv refits the estimator on folds, which prefit=True rules out. Leave "
            "cv=None and pass rows that it has not seen."
        )
    check_cv(model.cv)
    check_seed("random_state", model.random_state)
    return MapSettings(method, constraint, epsilon)


@dataclass(frozen=True)
class GivenPredictions:
    """Checked training rows, beside what the estimator sees of them.

    Attributes
    ----------
    target : ndarray of shape (N,), or None if it is not needed
    weights : ndarray of shape (N,), or None if all weigh one
    columns : tuple of the columns of X that hold groups, empty for groups passed as an
        array; None if there are no groups, as then `codes` and `groups` are
    codes : ndarray of shape (N,), places in `groups`, −1 for rows of unknown group
    groups : ndarray of shape (n_groups,)
    names : tuple of the names under which groups were passed, None if not by name
    """

    target: Floats | None
    weights: Floats | None
    columns: tuple[int, ...] | None = None
    codes: Codes | None = None
    groups: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None

    @property
    def n_unknown(self) -> int:
        """How many rows are of no group; those of weight zero count as absent."""
        if self.codes is None:
            return 0
        unknown = self.codes < 0
        return int(
            (unknown if self.weights is None else unknown & (self.weights > 0)).sum()
        )

    @property
    def spread(self) -> float:
        """The standard deviation of the target, NaN without one."""
        if self.target is None:
            return math.nan
        return deviation(self.target, self.weights)


def read_given(
    model: Any, constraint: str, X: Any, y: Any, labels: Any, sample_weight: Any
) -> GivenPredictions:
    """Check what was passed to ``fit`` of a `RankFairPostprocessor`."""
    n_rows = count_rows(X)
    feature_record(X)  # what could not be stored is not fitted either
    target = None if y is None and model.prefit else read_target(y)
    if target is None and constraint not in MOST:
        raise ValueError(
            f'y is missing: with constraints="{constraint}" epsilon is in its standard '
            "deviations. Pass y."
        )
    check_lengths(n_rows, y=target)
    if target is not None:
        check_unit(target)
    weights = read_weights(sample_weight, n_rows)
    source = read_labels(X, model.sensitive_features, labels, n_rows)
    if source is None:
        return GivenPredictions(target, weights)
    codes, groups = find_groups(source, weights)
    names = source.names if has_names(labels) else None
    return GivenPredictions(target, weights, source.at, codes, groups, names)


def count_rows(X: Any) -> int:
    """Return how many rows a table has, sparse or not."""
    return X.shape[0] if issparse(X) else open_table(X).shape[0]


def fit_and_predict(model: Any, X: Any, given: GivenPredictions) -> tuple[Any, Floats]:
    """Return the fitted estimator, and predictions of the training rows.

    They are its own, or with ``cv`` those of fits that did not see the row.
    """
    if model.prefit:
        _check_fitted(model.estimator)
        return model.estimator, predictions_of(model.estimator, X)
    _warn_weightless(model.estimator, given.weights)
    estimator = fitted_to(model.estimator, X, given.target, given.weights)
    whole = predictions_of(estimator, X)
    if model.cv is None:
        return estimator, whole
    n_rows = _num_samples(X)
    if gives_folds(model.cv):
        folds = split_folds(model.cv, X, given.target)
    else:
        folds = _dealt(model, given, n_rows)
    y, weights = given.target, given.weights
    assert y is not None

    def predicted(train: Codes, test: Codes) -> tuple[Floats, Floats]:
        seen = taken(model.estimator, X, train)
        own = None if weights is None else weights[train]
        fold = fitted_to(model.estimator, seen, y[train], own)
        held = taken(model.estimator, X, test, train)
        return predictions_of(fold, seen), predictions_of(fold, held)

    codes = np.zeros(n_rows, np.intp) if given.codes is None else given.codes
    return estimator, out_of_fold(whole, folds, predicted, codes, weights)


def _dealt(model: Any, given: GivenPredictions, n_rows: int) -> Folds:
    """Deal rows out by group, so that a rare one is in as many folds as can be."""
    cells = np.zeros(n_rows, np.intp) if given.codes is None else given.codes + 1
    if given.weights is not None:
        # Rows of weight zero count as absent: they must not stand in for others.
        cells = 2 * cells + (given.weights > 0)
    if n_rows < model.cv:
        raise ValueError(
            f"cv={model.cv} folds need as many rows; there are {n_rows}. Use fewer "
            "folds."
        )
    return deal_folds(cells, model.cv, np.random.default_rng(model.random_state))


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


def _warn_weightless(estimator: Any, weights: Floats | None) -> None:
    if weights is not None and weight_argument(estimator) is None:
        warnings.warn(
            f"{type(estimator).__name__}.fit takes no sample_weight: it is fitted "
            "without weights, and only the maps are weighted.",
            UserWarning,
            stacklevel=4,
        )


@dataclass(frozen=True)
class Learnt:
    """Groups, their distributions in multiples of ``resolution``, and their maps."""

    resolution: float
    groups: NDArray[Any]
    samples: Sequence[Sample]
    moved: Moved


def learn(asked: MapSettings, m: Floats, given: GivenPredictions) -> Learnt | None:
    """Move predictions of each group as asked; None if there are no groups.

    Rows of weight zero count as absent.
    """
    codes, groups = given.codes, given.groups
    if codes is None or groups is None:
        return None
    counts = None if given.weights is None else counts_of(given.weights)
    known = codes >= 0 if counts is None else (codes >= 0) & (counts > 0)
    resolution = resolution_of(m[known])
    m = rounded(m, resolution)
    rows = [np.flatnonzero(known & (codes == g)) for g in range(len(groups))]
    samples = [Sample.of(m[at], None if counts is None else counts[at]) for at in rows]
    return Learnt(resolution, groups, samples, move(samples, *asked, given.spread))


def attributes_of(learnt: Learnt | None) -> dict[str, Any]:
    """Return fitted attributes of the maps, or of none.

    Examples
    --------
    >>> attributes_of(None)["status_"]
    'inactive'
    """
    if learnt is None:
        nothing = ("rank_auc_", "ks_", "wasserstein_", "mean_difference_", "theta_")
        return {
            "groups_": None,
            "maps_": {},
            "status_": str(MapStatus.INACTIVE),
            "group_auc_": {},
            "resolution_": 0.0,
            **dict.fromkeys(nothing, math.nan),
        }
    moved, standing = learnt.moved, learnt.moved.standing
    labels = plain_labels(learnt.groups.tolist())
    aucs = standing.aucs
    farthest = np.argmax(np.abs(aucs - 0.5)) if len(aucs) > 2 else 1
    totals = np.array([sample.total for sample in learnt.samples], np.float64)
    return {
        "groups_": learnt.groups,
        "maps_": dict(zip(labels, moved.maps, strict=True)),
        "status_": str(moved.status),
        "rank_auc_": float(aucs[farthest]),
        "group_auc_": dict(zip(labels, aucs.tolist(), strict=True)),
        "ks_": float(standing.ks.max()),
        "wasserstein_": float(standing.wasserstein.max()),
        "mean_difference_": _mean_difference(standing),
        "theta_": moved.theta,
        "resolution_": learnt.resolution,
        "_shares": totals / totals.sum(),
        "_straight": moved.follow is between,
    }


def _mean_difference(standing: Standing) -> float:
    """Of two groups the last less the first, of more the largest."""
    means = standing.means
    return float(means[1] - means[0] if len(means) == 2 else np.ptp(means))


def warn_of(learnt: Learnt | None) -> None:
    """Say that there was nothing to balance, or that the band was not reached."""
    if learnt is None:
        warnings.warn(
            "fit got no sensitive_features: there is nothing to balance, and "
            "predictions stay as they are. Name a column of X in the constructor or "
            "pass labels to fit.",
            UserWarning,
            stacklevel=3,
        )
    elif learnt.moved.status is MapStatus.INFEASIBLE:
        standing = learnt.moved.standing
        farthest = float(np.abs(standing.aucs - 0.5).max())
        warnings.warn(
            f"{learnt.moved.status.value} KS is {standing.ks.max():.4g}, means differ "
            f"by {np.ptp(standing.means):.4g}, and AUC is off 1/2 by {farthest:.4g}, "
            "on the rows that the maps were learnt on.",
            ConvergenceWarning,
            stacklevel=3,
        )


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
          together, means and Wasserstein distances by 1 − θ.  In the population it is
          the least movement for the Wasserstein gap (Chzhen and Schreuder 2022).
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
