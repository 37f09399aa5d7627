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
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfair.core.blocks import linear_predict, power_of_two
from rankfair.core.problem import Problem
from rankfair.engines.base import check_room
from rankfair.engines.streams import is_elsewhere, predict_elsewhere
from rankfair.input.arrays import Floats
from rankfair.input.columns import TrainingRows
from rankfair.input.frames import FrameTable, PartTable, Table, open_table
from rankfair.input.new_rows import read_new, refuse_unseen
from rankfair.input.settings import (
    check_choice,
    check_flag,
    check_number,
    check_verbose,
)
from rankfair.input.training import finite_predictions, read_target
from rankfair.penalties import PENALTIES, Penalty, Pool, make_penalty
from rankfair.solvers import Request, Step

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without any callback."""


__all__ = [
    "CallbackSupportMixin",
    "Progress",
    "TaskRegressor",
    "check_penalty",
    "new_table",
    "with_callbacks",
]

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(fit: Method) -> Method:
    """Let scikit-learn tear its callbacks down after ``fit``, where it has any."""
    if _with_callbacks is None:
        return fit
    return cast(Method, _with_callbacks(fit))


class TaskRegressor(CallbackSupportMixin, RegressorMixin, BaseEstimator, ABC):
    """What all estimators share: one linear model a task."""

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
        X : array-like or data frame of shape (N, n_features_in_), or Stream
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
                refuse_unseen(others, codes)
            codes = np.where(codes < 0, len(coef), codes)
            coef = np.vstack((coef, self.shared_coef_))
            intercept = np.append(intercept, self.shared_intercept_)
        with np.errstate(over="ignore", invalid="ignore"):
            m = linear_predict(rows, codes, coef, intercept, self.resolution_)
            return finite_predictions(m)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, tasks: Any = None
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
        >>> from rankfair import MultiTaskRegressor
        >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> round(model.score([[0.0], [1.0]], [1, 3]), 6)
        1.0
        """
        predicted = self.predict(X, tasks=tasks)
        observed = read_target(y)
        # R² has no unit: scaled values neither overflow nor vanish when squared.
        scale = power_of_two(float(np.abs(observed).max()))
        return float(
            r2_score(observed / scale, predicted / scale, sample_weight=sample_weight)
        )

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

    def _store(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes at once."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)

    @abstractmethod
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Any:
        """Fit the model."""


def new_table(model: Any, X: Any, unused: Sequence[int] | None) -> Table:
    """Return new rows with the columns of training; ``unused`` ones may be absent."""
    table = open_table(X)
    known = getattr(model, "feature_names_in_", None)
    if isinstance(table, FrameTable) and known is not None and unused:
        absent = {*known} - {*table.names}
        if absent and absent <= {known[j] for j in unused}:
            left = [name for name in known if name not in absent]
            names_only = BaseEstimator()
            vars(names_only).update(feature_names_in_=np.array(left, dtype=object))
            vars(names_only).update(n_features_in_=len(left))
            validate_data(names_only, X, reset=False, skip_check_array=True)
            return PartTable(table, tuple(known))
    validate_data(model, X, reset=False, skip_check_array=True)
    return table


def check_penalty(model: TaskRegressor, default: Any = "pool") -> Request:
    """Return the penalty asked for; check the settings that all estimators have.

    ``default`` is what ``penalty="pool"`` stands for.
    """
    check_flag("standardize", model.standardize)
    check_verbose(model.verbose)
    plain = isinstance(model.penalty, str) and model.penalty == "pool"
    penalty = default if plain else model.penalty
    request = _request(penalty, model.beta)
    check_choice("unseen", model.unseen, ("error", "shared"))
    if model.unseen == "shared" and not request.penalty.shares:
        raise ValueError(
            'unseen="shared" needs a model that all tasks share, as penalty="pool" and '
            f'"shared" fit it; got penalty={penalty!r}. Set penalty="pool", or '
            'unseen="error".'
        )
    return request


def _request(penalty: Any, beta: Any) -> Request:
    """Return the penalty with its β: given, or chosen by cross-validation."""
    if isinstance(penalty, Penalty):
        return Request(penalty, fixed=True)
    check_choice("penalty", penalty, PENALTIES)
    if isinstance(beta, str):
        check_choice("beta", beta, ("auto",))
        return Request(make_penalty(penalty))
    if np.ndim(beta) == 0:
        given = check_number("beta", beta, 0.0)
        return Request(make_penalty(penalty, given), given, fixed=penalty != "pool")
    if penalty != "pool" or len(beta) != 3:
        raise ValueError(
            'beta must be "auto" or a number, or for penalty="pool" three numbers; '
            f"got {len(beta)} for penalty={penalty!r}."
        )
    numbers = [check_number("beta", each, 0.0) for each in beta]
    return Request(Pool(numbers[0], numbers[1], numbers[2]), fixed=True)


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
