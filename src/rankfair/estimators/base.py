"""What all linear estimators share: settings, prediction, progress, storing at last.

`fit` sets fitted attributes all at once and last: an interrupted fit leaves a new
estimator unfitted and an old one as it was.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfair.core.blocks import linear_predict, power_of_two
from rankfair.core.problem import Problem
from rankfair.engines.base import check_room
from rankfair.engines.streams import is_elsewhere, predict_elsewhere
from rankfair.estimators.settings import check_penalty
from rankfair.input.arrays import Floats
from rankfair.input.errors import InputError
from rankfair.input.frames import (
    FrameTable,
    Table,
    finite_predictions,
    open_table,
    read_target,
)
from rankfair.input.groups import group_labels, label_source
from rankfair.input.training import TrainingRows, read_new, refuse_unseen_tasks
from rankfair.penalties import make_penalty
from rankfair.solvers.base import Request, Step

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without any callback."""


Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(fit: Method) -> Method:
    """Let scikit-learn tear its callbacks down after ``fit``, where it has any."""
    if _with_callbacks is None:
        return fit
    return cast(Method, _with_callbacks(fit))


def r_squared(y: Any, predicted: Floats, sample_weight: Any) -> float:
    """Return R².  It has no unit: scaled, squares neither overflow nor vanish."""
    observed = read_target(y)
    scale = power_of_two(float(np.abs(observed).max()))
    return float(
        r2_score(observed / scale, predicted / scale, sample_weight=sample_weight)
    )


class FittedRegressor(RegressorMixin, BaseEstimator):
    """A regressor that stores all it has found at once, and last."""

    def _store(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, and below it what the fit came to."""
        found: str = estimator_html_repr(self)
        status, auc = getattr(self, "status_", None), getattr(self, "rank_auc_", None)
        if status is None:
            return found
        gap = (
            "" if auc is None or auc != auc else f", |AUC − 1/2| = {abs(auc - 0.5):.4f}"
        )
        return f"{found}<p>{status}{gap}</p>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


class TaskScore:
    """The score of regressors that predict tasks."""

    predict: Callable[..., Any]

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, tasks: Any = None
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
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.

        Returns
        -------
        float
            1 at best.

        Examples
        --------
        >>> from rankfair import MultiTaskRegressor
        >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> round(model.score([[0.0], [1.0]], [1, 3]), 6)
        1.0
        """
        return r_squared(y, self.predict(X, tasks=tasks), sample_weight)


class GroupLabels:
    """The groups of new rows, as training read them."""

    # Set by `fit`, as they were then.
    _group_columns: Any
    _intersect: bool
    bin_edges_: dict[str, Floats]

    def group_labels(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the group of each row, read from X as in training.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            Rows with the columns of training, those of `sensitive_features` among them.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            Labels by attribute, cut at the edges of training where it cut them, and
            combined where it combined them; None where the group is not known.

        Examples
        --------
        >>> from rankfair import RankFairRegressor
        >>> X = [[0.0, 31], [1.0, 67], [2.0, 20], [3.0, 44], [4.0, 35]]
        >>> model = RankFairRegressor(0.5, sensitive_features=1, bins=2)
        >>> _ = model.fit(X, [0.0, 2.0, 1.0, 3.5, 2.0])
        >>> model.group_labels([[1.0, 18], [2.0, 40]])
        {'x1': array(['[20, 35)', '[35, 67]'], dtype=object)}
        """
        check_is_fitted(self)
        named, argument = self._group_columns, "sensitive_features"
        source = label_source(argument, named, None, open_table(X))
        if source is None:
            raise InputError(
                argument,
                "names no column of X: the groups were passed to fit or named by a "
                "stream, and the model cannot tell those of new rows",
                cure="Fit with the groups as a column of X, named in the constructor.",
            )
        return group_labels(source, self.bin_edges_, self._intersect)


class TaskRegressor(CallbackSupportMixin, TaskScore, FittedRegressor, ABC):
    """What all linear estimators share: one linear model a task."""

    # Set by the constructors.
    tasks: Any
    penalty: Any
    beta: Any
    standardize: bool
    unseen: str
    verbose: int

    def predict(self, X: Any, *, tasks: Any = None) -> Floats:
        """Return ``x · coef_[task] + intercept_[task]`` for each row.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`), or Stream
            Rows with the columns of training, task and group columns among them.  A
            Dask frame gives a Dask series.
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.

        Returns
        -------
        ndarray of shape (N,)
            Multiples of ``resolution_``.  The prediction of a row does not depend on
            the other rows, to the last bit.

        Examples
        --------
        >>> from rankfair import MultiTaskRegressor
        >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> model.predict([[3.0]]).round(6).tolist()
        [7.0]
        """
        check_is_fitted(self)
        if is_elsewhere(X):
            found: Floats = predict_elsewhere(self, X, tasks)
            return found
        table = new_table(self, X, self._layout.unused)
        rows, codes, others = read_new(table, tasks, self._layout)
        coef, intercept = self.coef_, self.intercept_
        if others:
            if self.unseen != "shared" or self.shared_coef_ is None:
                refuse_unseen_tasks(others, codes, self._layout)
            codes = np.where(codes < 0, len(coef), codes)
            coef = np.vstack((coef, self.shared_coef_))
            intercept = np.append(intercept, self.shared_intercept_)
        with np.errstate(over="ignore", invalid="ignore"):
            m = linear_predict(rows, codes, coef, intercept, self.resolution_)
            return finite_predictions(m)

    def state_without_rows(self) -> dict[str, Any]:
        """Return all attributes for a file: nothing in them is of a single row."""
        state = dict(vars(self))
        for name in ("loo_predictions_", "_rows"):
            if name in state:
                state[name] = None
        trade_off = state.get("_trade_off")
        if trade_off is not None:
            state["_trade_off"] = trade_off.without_rows()
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _check_settings(self) -> Request:
        """Check all settings; return the penalty asked for."""
        return check_penalty(self)

    def _problem(self, rows: TrainingRows) -> Problem:
        penalty = self.penalty
        n_tasks, copies = len(rows.layout.tasks), make_penalty(penalty).copies
        check_room(n_tasks, rows.X.shape[1], copies)
        return Problem.from_rows(
            rows.X,
            rows.y,
            rows.codes,
            n_tasks,
            in_a=rows.in_a,
            weights=rows.weights,
            standardize=self.standardize,
            names=rows.layout.names,
        )

    @abstractmethod
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Any:
        """Fit the model."""


def new_table(
    model: Any, X: Any, unused: Sequence[int] | None, sparse: bool = False
) -> Table:
    """Return new rows with the columns of training; ``unused`` ones may be absent."""
    table = open_table(X, sparse)
    known = getattr(model, "feature_names_in_", None)
    if isinstance(table, FrameTable) and known is not None and unused:
        absent = {*known} - {*table.names}
        if absent and absent <= {known[j] for j in unused}:
            left = [name for name in known if name not in absent]
            names_only = BaseEstimator()
            vars(names_only).update(feature_names_in_=np.array(left, dtype=object))
            vars(names_only).update(n_features_in_=len(left))
            validate_data(names_only, X, reset=False, skip_check_array=True)
            return FrameTable(table.frame, tuple(known))
    validate_data(model, X, reset=False, skip_check_array=True)
    return table


class Progress:
    """Tell stderr (``verbose``) and scikit-learn's callbacks how a fit goes on."""

    def __init__(self, estimator: TaskRegressor, X: Any, y: Any):
        self.data = {"estimator": estimator, "X": X, "y": y}
        self.name = type(estimator).__name__
        self.verbose = estimator.verbose
        self.tenth = 0
        start = getattr(estimator, "_init_callback_context", None)
        # How many steps there will be is not known before.
        self.context = None if start is None else start(max_subtasks=None)
        if self.context is not None:
            self.context.call_on_fit_task_begin(**self.data)

    def __call__(self, step: Step) -> None:
        """Report a step."""
        self._write(
            f"step {step.iteration}: objective {step.objective:.6g}, "
            f"constraint {step.auc:.4f}"
        )
        if self.context is not None:
            inner = self.context.subcontext(task_name="step")
            inner.call_on_fit_task_begin(**self.data)
            inner.call_on_fit_task_end(**self.data)

    def rows(self, what: str, done: int, total: int) -> None:
        """Report how many rows of a pass are done, ten times a pass at most."""
        tenth = 10 * done // max(total, 1)
        if tenth != self.tenth:
            self._write(f"{what}: {done:,} of {total:,} rows")
            self.tenth = tenth

    def close(self, fitted: dict[str, Any]) -> None:
        """Report the end of the fit, with the attributes it found."""
        self._write(
            f"{fitted.get('status_', 'done')}: objective {fitted['objective_']:.6g}"
        )
        if self.context is not None:
            self.context.call_on_fit_task_end(
                **self.data, reconstruction_attributes=fitted
            )

    def _write(self, line: str) -> None:
        if self.verbose:
            sys.stderr.write(f"[{self.name}] {line}\n")
