"""Any regressor made fair: check, search for the tilt, store."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from rankfair._folds import check_cv
from rankfair._frames import Floats, open_table, shown
from rankfair._groups import group_labels
from rankfair._inner import explained
from rankfair._validation import (
    Columns,
    check_bins,
    check_flag,
    check_seed,
    check_verbose,
    feature_record,
    finite_predictions,
    label_source,
    read_target,
)
from rankfair.constraints import Constraint, refuse_upper
from rankfair.core.blocks import rounded
from rankfair.estimators.base import (
    CallbackSupportMixin,
    Progress,
    new_table,
    with_callbacks,
)
from rankfair.estimators.outcome import warn_no_groups
from rankfair.estimators.settings import read_constraints
from rankfair.reduction.reached import (
    fitted_attributes,
    free_attributes,
    target_of,
    warn_of,
)
from rankfair.reduction.reading import Layout, Rows, read_rows, task_codes
from rankfair.reduction.refits import (
    Models,
    Refits,
    predict,
    refuse_parts,
    refuse_weightless,
    seeded,
)
from rankfair.reduction.search import search

__all__ = ["TiltedRegressor"]


class TiltedRegressor(
    CallbackSupportMixin, MetaEstimatorMixin, RegressorMixin, BaseEstimator
):
    r"""Any regressor, refitted so that it does not rank one group above another.

    A fair fit is an ordinary fit to tilted targets,

    .. math:: m = \mathrm{fit}(y - \lambda g), \qquad
        g = \pm 1 / n_\mathrm{group}

    Fits to :math:`y` and to :math:`g`, the direction in which group means differ, make
    a line of predictions, :math:`m_0 - \lambda d`, and exact counts along it give
    :math:`\lambda`.  The model is one refit to the tilted targets.  Where its own
    count misses the band, another one corrects :math:`\lambda`, by the secant rule.

    Parameters
    ----------
    estimator : estimator object
        A regressor with `fit` and `predict`, a pipeline for instance.  It is cloned,
        never changed.  It should minimise squared error.
    epsilon : float or list of float, default=0.01
        Half width of the band around AUC = 1/2, in [0, 0.5]; as in
        `RankFairRegressor` for other constraints.
    constraints : {"rank", "mean", "residual", "distribution"}, Constraint or list of \
            them, default="rank"
        What is to be equal between the groups, as in `RankFairRegressor`.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of.  One
        clone of `estimator` is fitted to each task, as `RankFairRegressor` fits one
        linear model to each, and the column is no feature.  For one model of all
        rows leave it out: the column is a feature like any other then.
    sensitive_features : str, int or list of them, optional
        The column of X that holds the protected group.  It is not a feature unless
        ``blind=False``; then it is handed on to the estimator as it is, and text needs
        a pipeline that encodes it.  Rows whose group is missing (None, NaN, NA or NaT)
        take part in the fit and not in the constraint.  Several columns need
        `intersect`.
    blind : bool, default=True
        Leave the protected column of X out of the features.  Frames without it can be
        predicted then.
    intersect : bool, default=False
        Balance the combinations of several columns, "F × black", as the groups of one.
        `RankFairRegressor` can balance each column alone.
    bins : int, optional
        Cut a column of more distinct numbers than that into so many quantiles,
        "[18, 35)", which are the groups.
    side : {"both", "upper"}, default="both"
        "upper" asks for 0 ≤ AUC − 1/2 ≤ epsilon.
    cv : int, splitter, list of (train, test) or None, default=5
        Count on predictions of rows that the model did not see.  Two groups take fits
        to three or four targets, six at most: with k folds k fits each, and the model.
        Folds are dealt at random, evenly by group and task.  Fits to fewer rows shrink
        more: for models that shrink a lot take more folds.  None counts on the training
        rows, which is enough for models that hardly overfit (linear ones); trees and
        networks that learn their rows by heart are fair there and unfair on new rows.
    random_state : int, Generator or None, default=None
        Seeds every ``random_state`` in `estimator` that is None, alike at each fit,
        and deals the folds.
    verbose : int, default=0
        Above 0, write a line for each fit to stderr.

    Attributes
    ----------
    estimator_ : estimator object or list of them
        The fit to the tilted targets; with tasks, one for each of `tasks_`.
    groups_ : ndarray of shape (n_groups,) or None
        Labels of the groups, sorted; of two they are B and A.
    n_unknown_ : int
        Training rows of unknown group.
    bin_edges_ : dict of str to ndarray
        Where columns were cut, by name: the start of each bin, and the end.
    tasks_ : ndarray of shape (n_tasks,) or None
        Labels of the tasks.
    status_ : str
        "satisfied": the band is met, out of fold or with ``cv=None`` on the training
        rows, to within one pair for two groups, 0.0005 for more.  "inactive": the fit
        without a tilt meets it.  "infeasible": no refit did, and the closest was kept;
        trees move in steps, and hardly ever meet a band of ``epsilon=0``.
    rank_auc_ : float
        AUC of the predictions that were counted: out of fold, or of the training rows.
        Of three or more groups that of the group farthest from 1/2.
    group_auc_ : dict of label to float
        AUC of each group over the rest, of the same predictions.
    pairwise_auc_ : dict of label to dict of label to float
        AUC of the first group over the second, ``pairwise_auc_["M"]["F"]``.
    constraint_values_ : dict of str to float
        What each constraint came to on the same predictions; of three or more groups
        the value farthest off.
    multiplier_ : float
        :math:`\lambda` in standard units; of several the largest.
    oof_predictions_ : ndarray of shape (N,)
        The predictions that were counted, NaN for rows of weight 0.
    objective_ : float
        Their (weighted) mean squared error in variances of y: 1 is one constant.
    n_refits_ : int
        Fits to tilted targets, four at most.
    trace_ : list of (objective, AUC)
        One pair for the first fit and each of these.
    resolution_ : float
        Predictions are multiples of it, so that ties do not depend on the processor.
    n_features_in_ : int
        Columns of X, task and group columns among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X is a data frame.

    See Also
    --------
    RankFairRegressor : linear models over many tasks; exact and much faster.
    RankFairPostprocessor : the least movement of predictions, where the group is known.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from rankfair import TiltedRegressor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> X = data.frame.drop("task", axis=1)
    >>> trees = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=6)
    >>> model = TiltedRegressor(trees, 0.02, sensitive_features="z", random_state=0)
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
        constraints: Any = "rank",
        tasks: Any = None,
        sensitive_features: Any = None,
        blind: bool = True,
        intersect: bool = False,
        bins: int | None = None,
        side: str = "both",
        cv: Any = 5,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.epsilon = epsilon
        self.constraints = constraints
        self.tasks = tasks
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.intersect = intersect
        self.bins = bins
        self.side = side
        self.cv = cv
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
        UserWarning
            If the model errs as much as one constant: this is told first.  If there are
            no groups: the fit is unconstrained then.  If a combination of groups has
            one row only.
        ConvergenceWarning
            If the band was not reached.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y = [[0.0, 0], [0.0, 1], [1.0, 0], [1.0, 1]], [0.0, 1.0, 2.0, 3.0]
        >>> model = TiltedRegressor(LinearRegression(), 0, constraints="mean", cv=None)
        >>> model.fit(X, y, sensitive_features=["F", "F", "M", "M"]).predict(X).round(6)
        array([1., 2., 1., 2.])
        """
        asked = _check_settings(self)
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
        found = None
        if rows.groups is None:
            warn_no_groups()
            fitted = free_attributes(refits.fit(rows.y)[0], rows)
        else:
            refuse_upper(asked, len(rows.groups.labels))
            target = target_of(rows, asked)
            seen = bool(rows.layout.group_columns) and not self.blind
            with explained(rows.groups.n_unknown if seen else 0):
                found = search(refits, target, progress)
            fitted = fitted_attributes(found, target, asked, rows)
        fitted |= {**feature_record(X), **_labels(rows.layout)}
        progress.close(fitted)
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)
        if found is not None:
            warn_of(found, target, asked, rows.note, self.cv is not None)
        return self

    def predict(self, X: Any, *, tasks: Any = None) -> Floats:
        """Return the prediction of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, task and group columns among them.
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.

        Returns
        -------
        ndarray of shape (N,)
            Predictions.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y = [[0.0, 0], [1.0, 0], [0.0, 1], [1.0, 1]], [0.0, 1.0, 2.0, 3.5]
        >>> model = TiltedRegressor(
        ...     LinearRegression(), sensitive_features=1, cv=None
        ... )
        >>> model.fit(X, y).predict([[0.5, 0], [0.5, 1]]).shape
        (2,)
        """
        check_is_fitted(self)
        layout: Layout = self._layout
        table = new_table(self, X, layout.group_columns if self.blind else ())
        codes = task_codes(table, tasks, layout)
        m = predict(self._models, layout.select(X, table), codes)
        return finite_predictions(rounded(m, self.resolution_))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        tasks: Any = None,
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

        Returns
        -------
        float
            1 at best.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X, y, z = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 3.5], [0, 1, 1, 0]
        >>> model = TiltedRegressor(LinearRegression(), 0.25, cv=None)
        >>> round(model.fit(X, y, sensitive_features=z).score(X, y), 3)
        0.675
        """
        m = self.predict(X, tasks=tasks)
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
        >>> _ = model.set_params(bins=2, cv=None).fit(X, [0.0, 2.0, 1.0, 3.5, 2.0])
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
        )


def _labels(layout: Layout) -> dict[str, Any]:
    return {
        "_layout": layout,
        "groups_": layout.groups,
        "bin_edges_": dict(layout.edges),
        "_intersect": layout.intersect,
        "tasks_": None if layout.task_columns is None else layout.tasks,
    }


def _check_settings(model: Any) -> tuple[Constraint, ...]:
    """Check the settings of a `TiltedRegressor`; return what is asked for."""
    for method in ("fit", "predict", "get_params"):
        if not hasattr(model.estimator, method) or isinstance(model.estimator, type):
            raise ValueError(
                "estimator must be a regressor like scikit-learn's, an object with "
                f"fit, predict and get_params; got {shown(model.estimator)}."
            )
    check_flag("blind", model.blind)
    check_flag("intersect", model.intersect)
    check_bins(model.bins)
    check_verbose(model.verbose)
    check_seed("random_state", model.random_state)
    check_cv(model.cv)
    return read_constraints(model)
