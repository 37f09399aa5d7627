"""What all linear estimators share: settings, prediction, progress, storing at last.

`fit` sets fitted attributes all at once and last: an interrupted fit leaves a new
estimator unfitted and an old one as it was.
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfair._frames import Floats, open_table
from rankfair._validation import (
    Rows,
    check_choice,
    check_flag,
    check_number,
    check_verbose,
    feature_record,
    finite_predictions,
    read_new,
    read_target,
    refuse_unseen,
)
from rankfair.blocks import power_of_two
from rankfair.engines.room import check_room
from rankfair.linear import linear_predict
from rankfair.penalties import PENALTIES, Penalty, Shared, make_penalty
from rankfair.problem import Problem
from rankfair.solvers import Solution, Step
from rankfair.streams import is_elsewhere, predict_elsewhere

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
    "linear_attributes",
    "warn_no_groups",
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
    beta: float
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
            The prediction of a row does not depend on the other rows, to the last bit.

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
        table = open_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        rows, codes, others = read_new(table, tasks, self._layout)
        coef, intercept = self.coef_, self.intercept_
        if others:
            if self.unseen != "shared" or self.shared_coef_ is None:
                refuse_unseen(others, codes)
            codes = np.where(codes < 0, len(coef), codes)
            coef = np.vstack((coef, self.shared_coef_))
            intercept = np.append(intercept, self.shared_intercept_)
        with np.errstate(over="ignore", invalid="ignore"):
            return finite_predictions(linear_predict(rows, codes, coef, intercept))

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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _check_settings(self) -> Penalty:
        """Check all settings; return the penalty."""
        return check_penalty(self)

    def _problem(self, rows: Rows) -> Problem:
        n_tasks, copies = len(rows.layout.tasks), make_penalty(self.penalty).copies
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


def check_penalty(model: TaskRegressor) -> Penalty:
    """Return the penalty; check the settings that all estimators have."""
    check_flag("standardize", model.standardize)
    check_verbose(model.verbose)
    beta = check_number("beta", model.beta, 0.0)
    if not isinstance(model.penalty, Penalty):
        check_choice("penalty", model.penalty, PENALTIES)
    penalty = make_penalty(model.penalty, beta)
    check_choice("unseen", model.unseen, ("error", "shared"))
    if model.unseen == "shared" and not isinstance(penalty, Shared):
        raise ValueError(
            'unseen="shared" needs the model that penalty="shared" fits; got '
            f'penalty={model.penalty!r}. Set penalty="shared", or unseen="error".'
        )
    return penalty


def linear_attributes(solution: Solution, rows: Rows, X: Any) -> dict[str, Any]:
    """Return the fitted attributes that all estimators have."""
    return {
        **feature_record(X),
        "_layout": rows.layout,
        "predictors_": np.array(rows.layout.names, dtype=object),
        "tasks_": rows.layout.tasks,
        "coef_": solution.coef,
        "intercept_": solution.intercept,
        "shared_coef_": solution.shared_coef,
        "shared_intercept_": solution.shared_intercept,
        "objective_": solution.objective,
        "n_iter_": max(1, solution.n_iter),
    }


def warn_no_groups() -> None:
    """Say that there is nothing to balance."""
    warnings.warn(
        "fit got no sensitive_features: there is nothing to balance, and the fit is "
        "unconstrained. Name a column of X in the constructor or pass labels to fit.",
        UserWarning,
        stacklevel=4,
    )


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
            f"balance {step.auc:.4f}"
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
