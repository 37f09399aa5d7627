"""Any regressor made fair: check, search for the tilt, store."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from rankfair._frames import Floats, open_table
from rankfair._groups import group_labels
from rankfair._inner import explained
from rankfair._regressor import (
    CallbackSupportMixin,
    Progress,
    warn_no_groups,
    with_callbacks,
)
from rankfair._validation import (
    Columns,
    feature_record,
    finite_predictions,
    label_source,
    read_target,
)
from rankfair.reduction.asked import Asked
from rankfair.reduction.either import ask, solve_either
from rankfair.reduction.loop import Found
from rankfair.reduction.maps import Maps
from rankfair.reduction.new import group_codes, task_codes
from rankfair.reduction.reached import (
    fitted_attributes,
    free_attributes,
    warn_not_reached,
)
from rankfair.reduction.reading import Layout, Rows, read_rows
from rankfair.reduction.refits import (
    Models,
    Refits,
    predict,
    refuse_parts,
    refuse_weightless,
    seeded,
)
from rankfair.reduction.settings import balance_of, check_settings, finish_of
from rankfair.reduction.stages import solve_in_stages

__all__ = ["TiltedRegressor"]


class TiltedRegressor(
    CallbackSupportMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator
):
    r"""Any regressor, refitted so that it does not rank one group above another.

    A fair fit is an ordinary fit to tilted targets,

    .. math:: \mathrm{fit}(y - \lambda g), \qquad g = \nabla\mathrm{AUC}

    where :math:`g` is the density of the other group at one's own prediction: rows
    among many rivals move, rows far from any stay.  :math:`\lambda` is found on exact
    counts, :math:`g` follows the predictions, and the best fit in the band is kept.
    Of three or more groups each is held level with the rest, with a :math:`\lambda` for
    each, all found at once.

    What is left of the gap, because the predictions of refits jump (trees, neural
    networks) or are fair on the training rows only, is closed by a last stage, where
    the group is known at prediction: a constant that is added to the predictions of
    each group, or a monotone map of them, learnt on predictions out of fold.

    Parameters
    ----------
    estimator : estimator object
        A regressor with `fit` and `predict`, a pipeline for instance.  It is cloned,
        never changed.  It should minimise squared error.
    epsilon : float, default=0.01
        Half width of the band around AUC = 1/2, in [0, 0.5].  For "mean" and
        "residual", the largest difference allowed, in standard deviations of y.  The
        band is never narrower than one pair of rows; of three or more groups it is a
        pair wider.
    balance : {"rank", "mean", "residual"} or Balance, default="rank"
        What is to be equal between the groups: ranks, mean predictions, or mean
        residuals y − ŷ, over all rows of all tasks together.  An object brings its own
        epsilon.  The kernel that makes the density smooth is a quarter of a standard
        deviation of the predictions wide, a whole one where there is a map; another
        width is ``Rank(epsilon, bandwidth=…)``.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of.  One
        clone of `estimator` is fitted to each task, as `RankFairRegressor` fits one
        linear model to each, and the column is no feature.  For one model of all
        rows leave it out: the column is a feature like any other then.
    sensitive_features : str, int or list of them, optional
        The column of X that holds the protected group.  It is handed on to the
        estimator as it is, unless `blind`; text needs a pipeline that encodes it.
        Rows whose group is missing (None, NaN, NA or NaT) take part in the fit and not
        in the balance.  Several columns need `intersect`.
    blind : bool, default=False
        Leave the protected column of X out of the features, and do not shift.
    intersect : bool, default=False
        Balance the combinations of several columns, "F × black", as the groups of one.
        `RankFairRegressor` can balance each column alone.
    bins : int, optional
        Cut a column of more distinct numbers than that into so many quantiles,
        "[18, 35)", which are the groups.  The estimator sees the number.
    max_refits : int, default=20
        The most refits.  The first fit, without a tilt, is not counted, nor is one to
        the mean of y, which is made where what is in the band is a worse fit than that.
    cv : int, splitter or list of (train, test), optional
        Count on predictions of rows that the model did not see: with k folds a refit
        is k fits and one more, to all rows.  In each fold every group is first put
        where the fit to all rows has it, by the rows that both fits learnt from.
        Folds are dealt at random, evenly by group and task, and anew for
        the last refits, which decide how far to go.  None counts on the training
        rows, which is right for models that hardly overfit (linear ones).  Trees and
        networks that learn their rows by heart are fair there and unfair on new rows:
        give them ``cv=5``.
    finish : {"auto", "map", "shift", "none"}, default="auto"
        How to close what refits leave of the gap.  "shift" adds a constant to the
        predictions of each group.  "map" fits a continuous, non-decreasing map of the
        predictions of each group, of four straight pieces, to the same tilted
        targets: nobody overtakes anybody of the same group, and predictions that
        follow noise are drawn towards the mean of their group.  "none" reports the
        gap.  "auto" is "map" with `cv`, and "shift" without.

        With the group as a column of X this is part of the search, and `status_` is
        that after it.  With groups passed to `fit` as an array there is no map;
        `predict` shifts if it gets them too, and `status_` is that without.  If
        `blind`, the gap is reported.
    random_state : int, Generator or None, default=None
        Seeds every ``random_state`` in `estimator` that is None, alike at each refit,
        and deals the folds.
    verbose : int, default=0
        Above 0, write a line for each refit to stderr.

    Attributes
    ----------
    estimator_ : estimator object or list of them
        The fitted estimator; with tasks, one for each of `tasks_`.
    groups_ : ndarray of shape (n_groups,) or None
        Labels of the groups, sorted; of two they are B and A.
    n_unknown_ : int
        Training rows of unknown group.
    bin_edges_ : dict of str to ndarray
        Where columns were cut, by name: the start of each bin, and the end.
    tasks_ : ndarray of shape (n_tasks,) or None
        Labels of the tasks.
    status_ : str
        "satisfied": the band is met, on the training rows or with `cv` out of fold.
        "inactive": the fit without a tilt meets it.  "max_iter": the refits ran out
        before.  "infeasible": no fit came nearer.
    rank_auc_ : float
        AUC of the predictions that were counted: those of the training rows, or with
        `cv` the ones out of fold; after the shift or map where the group is a column
        of X.  Of three or more groups that of the group farthest from 1/2.
    group_auc_ : dict of label to float
        AUC of each group over the rest, of the same predictions.
    pairwise_auc_ : dict of label to dict of label to float
        AUC of the first group over the second, ``pairwise_auc_["M"]["F"]``.
    balance_ : dict of str to float
        What the balance came to on the same predictions; of three or more groups the
        value farthest off.
    multiplier_ : float
        :math:`\lambda` in standard units, nearest to the tilt that was kept, with maps
        to that of their target; of several the largest.
    tilt_ : ndarray of shape (N,)
        What was taken off the target of each row of positive weight.
    shift_ : ndarray of shape (n_groups,)
        What is added to predictions of each group.  Shifts cancel over the training
        rows; a row of unknown group has none.
    maps_ : Maps or None
        The map of each group: its `knots`, its `slopes` and its value at the first
        knot, `start`, each in the order of `groups_`.  A row of unknown group has the
        average of the maps, weighted by `shares`, those of the groups in training.
    objective_ : float
        Half the (weighted) sum of squared errors of the counted predictions, in
        standard deviations of y.
    n_refits_ : int
        Refits made, beside the first fit.
    trace_ : list of (objective, AUC)
        One pair for the first fit and each refit; the objective is that after a shift
        or map, the AUC that before.
    n_features_in_ : int
        Columns of X, task and group columns among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X is a data frame.

    See Also
    --------
    RankFairRegressor : linear models over many tasks; exact and much faster.
    RankFairPostprocessor : the least movement of the predictions of a model as it is.

    Notes
    -----
    Equal ranks can be had with little error by sending part of a group far away, and
    flexible models find such ways: look at the difference of the means and at the
    Kolmogorov-Smirnov distance too.
    A map has less error than a shift, and leaves these two larger; a wider kernel makes
    them smaller, and so does ``finish="shift"`` for models that hardly overfit.
    ``make bench-any`` prints them for five regressors, ``make bench-groups`` for three
    groups.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from rankfair import TiltedRegressor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> X = data.frame.drop("task", axis=1)
    >>> trees = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=6)
    >>> model = TiltedRegressor(trees, 0.02, sensitive_features="z", max_refits=6)
    >>> model.fit(X, data.target).status_
    'satisfied'
    >>> abs(model.rank_auc_ - 0.5) <= 0.02
    True
    """

    def __init__(
        self,
        estimator: Any,
        epsilon: float = 0.01,
        *,
        balance: Any = "rank",
        tasks: Any = None,
        sensitive_features: Any = None,
        blind: bool = False,
        intersect: bool = False,
        bins: int | None = None,
        max_refits: int = 20,
        cv: Any = None,
        finish: str = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.balance = balance
        self.tasks = tasks
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.intersect = intersect
        self.bins = bins
        self.max_refits = max_refits
        self.cv = cv
        self.finish = finish
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> TiltedRegressor:
        """Fit the estimator again and again until the groups are balanced.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            What the estimator takes, and the columns named in the constructor.
        y : array-like of shape (N,)
            The target.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The protected group of each row, if no column of X says so.  The estimator
            does not see it then.  Several columns need `intersect`.
        sample_weight : array-like of shape (N,), optional
            Weights in the AUC, handed on to the estimator, to the last step of a
            pipeline.  A row of weight 0 counts as absent.

        Returns
        -------
        TiltedRegressor
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            If the band was not reached.
        UserWarning
            If there are no groups: the fit is unconstrained then.  If a combination of
            groups has one row only.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y = [[0.0], [0.0], [1.0], [1.0]], [0.0, 1.0, 2.0, 3.0]
        >>> model = TiltedRegressor(LinearRegression(), 0.0, balance="mean")
        >>> model.fit(X, y, sensitive_features=["F", "F", "M", "M"]).predict(X).round(6)
        array([1.5, 1.5, 1.5, 1.5])
        """
        check_settings(self)
        rows = read_rows(
            X,
            y,
            Columns(
                self.tasks,
                self.sensitive_features,
                self.blind,
                several=True,
                bins=self.bins,
                intersect=self.intersect,
            ),
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        rng = np.random.default_rng(self.random_state)
        refits = self._refits(rows, _num_samples(X), rng)
        progress = Progress(cast(Any, self), X, y)
        if rows.groups is None:
            warn_no_groups()
            fitted = free_attributes(refits, rows)
        else:
            asked, found = self._search(rows, refits, rng, progress)
            may_shift = self.finish != "none" and not self.blind
            fitted = fitted_attributes(found, asked, refits, rows, may_shift)
        fitted |= {**feature_record(X), **_labels(rows.layout)}
        progress.close(fitted)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)
        if rows.note is not None:
            warnings.warn(rows.note, UserWarning, stacklevel=3)
        if rows.groups is not None:
            warn_not_reached(found, asked, rows.groups, self.shift_)
        return self

    def predict(
        self, X: Any, *, tasks: Any = None, sensitive_features: Any = None
    ) -> Floats:
        """Return the prediction of each row, moved by what its group is due.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, task and group columns among them.
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.
        sensitive_features : array-like of shape (N,), optional
            The group of each row, if `fit` got it as an array.  It is needed for
            `shift_` only: without it predictions are not shifted, nor are those of rows
            whose group is missing.  Of a dict or a frame the names are those of
            training, in any order.

        Returns
        -------
        ndarray of shape (N,)
            Predictions.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y = [[0.0, 0], [1.0, 0], [0.0, 1], [1.0, 1]], [0.0, 1.0, 2.0, 3.5]
        >>> model = TiltedRegressor(LinearRegression(), sensitive_features=1)
        >>> model.fit(X, y).predict([[0.5, 0], [0.5, 1]]).shape
        (2,)
        """
        check_is_fitted(self)
        table = open_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        layout: Layout = self._layout
        codes = task_codes(table, tasks, layout)
        m = predict(self._models, layout.select(X, table), codes)
        moves = self.shift_.any() or self.maps_ is not None
        reads = moves or (layout.group_columns and not self.blind)
        if sensitive_features is None and not reads:
            return m
        of_group = group_codes(table, sensitive_features, layout)
        if of_group is None:
            return m
        maps: Maps | None = self.maps_
        if maps is not None:
            return finite_predictions(maps(m, of_group))
        # Shifts cancel over the training rows: a row of unknown group stays.
        return finite_predictions(m + np.append(self.shift_, 0.0)[of_group])

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tasks: Any = None,
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
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.
        sensitive_features : array-like of shape (N,), optional
            The group of each row, if `fit` got it as an array.

        Returns
        -------
        float
            1 at best.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y, z = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 3.5], [0, 1, 1, 0]
        >>> model = TiltedRegressor(LinearRegression(), 0.25)
        >>> round(model.fit(X, y, sensitive_features=z).score(X, y), 3)
        0.675
        """
        m = self.predict(X, tasks=tasks, sensitive_features=sensitive_features)
        return float(r2_score(read_target(y), m, sample_weight=sample_weight))

    def group_labels(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the group of each row, read from X as in training.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, those of `sensitive_features` among them.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            Labels by attribute, cut by `bins` at the edges of training and combined
            where `intersect` says so; None where the group is not known.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X = [[0.0, 31], [1.0, 67], [2.0, 20], [3.0, 44], [4.0, 35]]
        >>> model = TiltedRegressor(LinearRegression(), 0.5, sensitive_features=1)
        >>> _ = model.set_params(bins=2).fit(X, [0.0, 2.0, 1.0, 3.5, 2.0])
        >>> model.group_labels([[1.0, 18], [2.0, 40]])
        {'x1': array(['[20, 35)', '[35, 67]'], dtype=object)}
        """
        check_is_fitted(self)
        layout: Layout = self._layout
        if not layout.group_columns:
            raise ValueError(
                "sensitive_features names no column of X: the groups were passed to "
                "fit, and the model cannot tell those of new rows."
            )
        source = label_source(
            "sensitive_features", list(layout.group_columns), None, open_table(X)
        )
        assert source is not None
        return group_labels(source, layout.edges, layout.intersect)

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """An estimator, which may know the task columns of X, and what it sees."""
        layout: Layout = self._layout
        return self._models[0], layout.select(X, open_table(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.pairwise = inner.pairwise
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    @property
    def _models(self) -> Models:
        models = self.estimator_
        return models if isinstance(models, list) else [models]

    def _search(
        self, rows: Rows, refits: Refits, rng: np.random.Generator, progress: Progress
    ) -> tuple[Asked, Found]:
        """Return what is asked of these rows, and the refit that came nearest."""
        assert rows.groups is not None
        seen = bool(rows.layout.group_columns) and not self.blind
        finish = finish_of(self, seen)
        asked = ask(balance_of(self, finish), rows, shifts=finish != "none")
        fresh = None
        if self.cv is not None:
            fresh = replace(refits, folds=rows.folds(self.cv, rng))
        search = solve_in_stages if finish == "map" else solve_either
        with explained(rows.groups.n_unknown if seen else 0):
            return asked, search(refits, asked, self.max_refits, progress, fresh)

    def _refits(self, rows: Rows, n_rows: int, rng: np.random.Generator) -> Refits:
        if rows.weights is not None:
            refuse_weightless(self.estimator)
        absent = len(rows.y) < n_rows
        refuse_parts(self.estimator, len(rows.layout.tasks), absent)
        return Refits(
            seeded(self.estimator, rng),
            rows.X,
            rows.codes,
            len(rows.layout.tasks),
            rows.weights,
            rows.folds(self.cv, rng),
            None if rows.groups is None else rows.groups.codes,
        )


def _labels(layout: Layout) -> dict[str, Any]:
    return {
        "_layout": layout,
        "groups_": layout.groups,
        "bin_edges_": dict(layout.edges),
        "_intersect": layout.intersect,
        "tasks_": None if layout.task_columns is None else layout.tasks,
    }
