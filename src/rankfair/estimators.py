"""Estimators in scikit-learn's shape: check, solve, store.

`fit` sets fitted attributes all at once and last: an interrupted fit leaves a new
estimator unfitted and an old one as it was.
"""

from __future__ import annotations

import math
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfair._frames import Floats, open_table, shown
from rankfair._validation import (
    Columns,
    Rows,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    feature_record,
    read_new,
    read_target,
    read_training,
    refuse_unseen,
)
from rankfair.balances import BALANCES, SIDES, Balance, Rank, make_balance
from rankfair.linear import linear_predict
from rankfair.penalties import PENALTIES, Penalty, Shared, make_penalty
from rankfair.problem import Problem
from rankfair.ranks import twice_u
from rankfair.solvers import SOLVERS, Solution, Solver, Status, Step, make_solver
from rankfair.solvers import unconstrained as fit_unconstrained

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without any callback."""


__all__ = ["MultiTaskRegressor", "RankFairRegressor"]

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(fit: Method) -> Method:
    """Let scikit-learn tear its callbacks down after ``fit``, where it has any."""
    if _with_callbacks is None:
        return fit
    return cast(Method, _with_callbacks(fit))


class _TaskRegressor(CallbackSupportMixin, RegressorMixin, BaseEstimator, ABC):
    """What both estimators share: one linear model a task."""

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
        X : array-like or data frame of shape (N, n_features_in_)
            Rows with the columns of training, task and group columns among them.
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.

        Returns
        -------
        ndarray of shape (N,)
            The prediction of a row does not depend on the other rows, to the last bit.

        Examples
        --------
        >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> model.predict([[3.0]]).round(6).tolist()
        [7.0]
        """
        check_is_fitted(self)
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
        return linear_predict(rows, codes, coef, intercept)

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
        >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> round(model.score([[0.0], [1.0]], [1, 3]), 6)
        1.0
        """
        predicted = self.predict(X, tasks=tasks)
        observed = read_target(y)
        # R² has no unit: scaled values neither overflow nor vanish when squared.
        scale = float(np.abs(observed).max()) or 1.0
        return float(
            r2_score(observed / scale, predicted / scale, sample_weight=sample_weight)
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def _check_penalty(self) -> Penalty:
        """Return the penalty; check the settings that both estimators have."""
        check_flag("standardize", self.standardize)
        verbose = int(self.verbose) if isinstance(self.verbose, bool) else self.verbose
        check_count("verbose", verbose, low=0)
        beta = check_number("beta", self.beta, 0.0)
        if not isinstance(self.penalty, Penalty):
            check_choice("penalty", self.penalty, PENALTIES)
        penalty = make_penalty(self.penalty, beta)
        check_choice("unseen", self.unseen, ("error", "shared"))
        if self.unseen == "shared" and not isinstance(penalty, Shared):
            raise ValueError(
                'unseen="shared" needs the model that penalty="shared" fits; got '
                f'penalty={self.penalty!r}. Set penalty="shared", or unseen="error".'
            )
        return penalty

    def _problem(self, rows: Rows) -> Problem:
        return Problem.from_rows(
            rows.X,
            rows.y,
            rows.codes,
            len(rows.layout.tasks),
            in_a=rows.in_a,
            weights=rows.weights,
            standardize=self.standardize,
        )

    def _store(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes at once."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)

    @abstractmethod
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Any:
        """Fit the model."""


def _linear_attributes(solution: Solution, rows: Rows, X: Any) -> dict[str, Any]:
    """Return the fitted attributes that both estimators have."""
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


class RankFairRegressor(_TaskRegressor):
    r"""Linear regression over many tasks that does not rank one group above another.

    Minimises, over one coefficient vector :math:`w^j` and intercept a task,

    .. math:: \tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)
        \quad\text{subject to}\quad |\mathrm{AUC} - \tfrac12| \le \varepsilon

    where AUC is the chance that a row of group A is predicted above a row of group B,
    ties counting half, over all rows of all tasks together.

    Parameters
    ----------
    epsilon : float, default=0.01
        Half width of the band around AUC = 1/2, in [0, 0.5].  The band is never
        narrower than one pair of rows.  With ``balance="mean"``, the largest difference
        of the mean predictions, in standard deviations of y.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of; with
        several columns the tasks are their combinations.  It is no predictor.
    sensitive_features : str or int, optional
        The column of X that holds the protected group.  It is a predictor, 1 for group
        A (the label that sorts last) and 0 for group B, unless `blind`.
    blind : bool, default=False
        Leave the protected column of X out of the predictors.  The column must still be
        there to predict, but its values are not read; to predict without it, pass the
        groups to `fit` as an array.
    penalty : {"task", "feature", "shared", "ridge"} or Penalty, default="task"
        What :math:`R(W)` is.  "task": sum of the norms of each task's coefficients.
        "feature": sum over features of the norm across tasks, which selects features
        jointly.  "shared": coefficients are a shared vector plus an own part, whose
        norms are summed.  "ridge": half the sum of squares.
    beta : float, default=1.0
        Weight of the penalty.  With `standardize`, errors and coefficients are taken in
        standard deviations of y and of the features, so that it means the same in any
        units.  Not used if `penalty` is an object.
    balance : {"rank", "mean"} or Balance, default="rank"
        What is to be equal between the groups.  An object brings its own epsilon and
        side.
    scope : {"global"}, default="global"
        Over which rows the balance is asked.
    side : {"both", "upper"}, default="both"
        "upper" asks for 0 ≤ AUC − 1/2 ≤ epsilon.
    solver : {"tilt", "ncadmm", "paper"} or Solver, default="tilt"
        The algorithm.
    standardize : bool, default=True
        Take features and y in units of their standard deviations, for the penalty and
        the objective.  `coef_` is in the units of X and y either way.
    unseen : {"error", "shared"}, default="error"
        What to do with a task not seen in training: refuse it, or predict with the
        shared coefficients (needs ``penalty="shared"``).
    max_iter : int, default=50
        The most steps a solver takes.
    tol : float, default=1e-4
        "tilt" stops when the relative residual of the first-order conditions is below
        ten times this, or after 15 steps without an improvement of this size.  The
        other solvers do not use it, nor does a solver given as an object.
    random_state : int, Generator or None, default=None
        Seed, for solvers that start at random ("paper").
    verbose : int, default=0
        Above 0, write a line for each step to stderr.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_predictors)
        Coefficients of each task.
    intercept_ : ndarray of shape (n_tasks,)
        Intercept of each task.
    tasks_ : ndarray of shape (n_tasks,)
        Labels of the tasks, the rows of `coef_`; tuples for several columns.
    predictors_ : ndarray of shape (n_predictors,)
        Names of the columns of `coef_`.
    shared_coef_ : ndarray of shape (n_predictors,) or None
        Coefficients that all tasks lean on, with ``penalty="shared"``.
    shared_intercept_ : float or None
        The intercept that goes with them.
    groups_ : ndarray of shape (2,) or None
        Labels of groups B and A.
    status_ : str
        "satisfied": the band is met.  "inactive": the unconstrained fit meets it.
        "infeasible": no model found meets it, the closest was kept.  "max_iter": the
        steps ran out.
    rank_auc_ : float
        AUC of the predictions of the training rows.
    multiplier_ : float
        The multiplier of the constraint in standard units, 0 if it is inactive, NaN if
        the solver did not settle.
    objective_ : float
        Half the (weighted) sum of squared errors plus the penalty; with `standardize`,
        in standard units.
    n_iter_ : int
        Steps taken, at least 1.
    stationarity_ : float
        Relative residual of the first-order conditions: how far the force of the fit
        is from a multiple of the gradient of AUC.  With very many rows it is that of
        the thinned problem, NaN if the solver did not settle.
    trace_ : list of (objective, AUC)
        One pair a step; for another balance than "rank", its value instead of AUC.
    n_features_in_ : int
        Columns of X, task and group columns among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X is a data frame.

    See Also
    --------
    MultiTaskRegressor : the same model without groups.

    Examples
    --------
    >>> from rankfair import RankFairRegressor
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> model = RankFairRegressor(0.02, tasks="task", sensitive_features="z")
    >>> model.fit(data.frame, data.target).status_
    'satisfied'
    >>> abs(model.rank_auc_ - 0.5) <= 0.02
    True
    """

    def __init__(
        self,
        epsilon: float = 0.01,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        blind: bool = False,
        penalty: Any = "task",
        beta: float = 1.0,
        balance: Any = "rank",
        scope: str = "global",
        side: str = "both",
        solver: Any = "tilt",
        standardize: bool = True,
        unseen: str = "error",
        max_iter: int = 50,
        tol: float = 1e-4,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.epsilon = epsilon
        self.tasks = tasks
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.penalty = penalty
        self.beta = beta
        self.balance = balance
        self.scope = scope
        self.side = side
        self.solver = solver
        self.standardize = standardize
        self.unseen = unseen
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> RankFairRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Numbers; only task and group columns may hold other labels.
        y : array-like of shape (N,)
            The target.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so; all rows are of one task
            if nothing does.
        sensitive_features : array-like of shape (N,), optional
            The protected group of each row, if no column of X says so.  It is not a
            predictor then.
        sample_weight : array-like of shape (N,), optional
            Weights in the loss and in the AUC; whole weights mean the same as repeated
            rows, and a row of weight 0 counts as absent.

        Returns
        -------
        RankFairRegressor
            The estimator itself.

        Warns
        -----
        ConvergenceWarning
            If the band was not reached, or the steps ran out.
        UserWarning
            If there are no groups: the fit is unconstrained then.

        Examples
        --------
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 3.5]
        >>> model = RankFairRegressor(epsilon=0.25)
        >>> model.fit(X, y, sensitive_features=["a", "b", "b", "a"]).status_
        'inactive'
        """
        penalty, balance, solver = self._settings()
        rows = read_training(
            X,
            y,
            Columns(self.tasks, self.sensitive_features, self.blind),
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        progress = _Progress(self, X, y)
        if rows.in_a is None:
            _warn_no_groups()
            solution = fit_unconstrained(self._problem(rows), penalty)
        else:
            solution = solver.solve(
                self._problem(rows), penalty, balance, on_step=progress
            )
        ranked = rows.in_a is not None and isinstance(balance, Rank)
        auc = solution.auc if ranked else _rank_auc(solution, rows)
        fitted = self._attributes(solution, rows, X, auc)
        progress.close(fitted)
        self._store(fitted)
        _warn_not_reached(solution, balance)
        return self

    def _settings(self) -> tuple[Penalty, Balance, Solver]:
        ranks = self.balance == "rank" or isinstance(self.balance, Rank)
        epsilon = check_number("epsilon", self.epsilon, 0.0, 0.5 if ranks else math.inf)
        side = check_choice("side", self.side, SIDES)
        if self.scope != "global":
            raise ValueError(
                f'scope must be "global"; got {shown(self.scope)}. '
                'Planned is "task", one band for each task.'
            )
        check_flag("blind", self.blind)
        if not isinstance(self.balance, Balance):
            check_choice("balance", self.balance, BALANCES)
        if not hasattr(self.solver, "solve"):
            check_choice("solver", self.solver, SOLVERS)
        check_seed("random_state", self.random_state)
        solver = make_solver(
            self.solver,
            max_iter=check_count("max_iter", self.max_iter),
            tol=check_number("tol", self.tol, 0.0),
            random_state=self.random_state,
        )
        return self._check_penalty(), make_balance(self.balance, epsilon, side), solver

    def _attributes(
        self, solution: Solution, rows: Rows, X: Any, auc: float
    ) -> dict[str, Any]:
        return {
            **_linear_attributes(solution, rows, X),
            "groups_": rows.layout.groups,
            "status_": str(solution.status),
            "rank_auc_": auc,
            "multiplier_": solution.multiplier,
            "stationarity_": solution.stationarity,
            "trace_": [(step.objective, step.auc) for step in solution.trace],
        }


class MultiTaskRegressor(_TaskRegressor):
    r"""Linear regression over many tasks, penalised jointly, without groups.

    Minimises :math:`\tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)`.

    Parameters
    ----------
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of; with
        several columns the tasks are their combinations.  It is no predictor.
    penalty : {"task", "feature", "shared", "ridge"} or Penalty, default="task"
        What :math:`R(W)` is; see `RankFairRegressor`.
    beta : float, default=1.0
        Weight of the penalty.  Not used if `penalty` is an object.
    standardize : bool, default=True
        Take features and y in units of their standard deviations, for the penalty and
        the objective.  `coef_` is in the units of X and y either way.
    unseen : {"error", "shared"}, default="error"
        What to do with a task not seen in training: refuse it, or predict with the
        shared coefficients (needs ``penalty="shared"``).
    verbose : int, default=0
        Above 0, write a line at the end to stderr.

    Attributes
    ----------
    coef_ : ndarray of shape (n_tasks, n_predictors)
        Coefficients of each task.
    intercept_ : ndarray of shape (n_tasks,)
        Intercept of each task.
    tasks_ : ndarray of shape (n_tasks,)
        Labels of the tasks, the rows of `coef_`; tuples for several columns.
    predictors_ : ndarray of shape (n_predictors,)
        Names of the columns of `coef_`.
    shared_coef_ : ndarray of shape (n_predictors,) or None
        Coefficients that all tasks lean on, with ``penalty="shared"``.
    shared_intercept_ : float or None
        The intercept that goes with them.
    objective_ : float
        Half the (weighted) sum of squared errors plus the penalty; with `standardize`,
        in standard units.
    n_iter_ : int
        Steps taken, at least 1.
    n_features_in_ : int
        Columns of X, task columns among them.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if X is a data frame.

    See Also
    --------
    RankFairRegressor : the same model with equal ranks of two groups.

    Examples
    --------
    >>> from rankfair import MultiTaskRegressor
    >>> X = [[0.0, 1], [1.0, 1], [2.0, 1], [0.0, 2], [1.0, 2], [2.0, 2]]
    >>> y = [0.0, 1.0, 2.0, 5.0, 3.0, 1.0]
    >>> model = MultiTaskRegressor(tasks=1, beta=0.0).fit(X, y)
    >>> model.coef_.round(6).tolist(), model.tasks_.tolist()
    ([[1.0], [-2.0]], [1, 2])
    """

    def __init__(
        self,
        *,
        tasks: Any = None,
        penalty: Any = "task",
        beta: float = 1.0,
        standardize: bool = True,
        unseen: str = "error",
        verbose: int = 0,
    ):
        self.tasks = tasks
        self.penalty = penalty
        self.beta = beta
        self.standardize = standardize
        self.unseen = unseen
        self.verbose = verbose

    @with_callbacks
    def fit(
        self, X: Any, y: Any, *, tasks: Any = None, sample_weight: Any = None
    ) -> MultiTaskRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Numbers; only task columns may hold other labels.
        y : array-like of shape (N,)
            The target.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so; all rows are of one task
            if nothing does.
        sample_weight : array-like of shape (N,), optional
            Weights in the loss; whole weights mean the same as repeated rows, and a row
            of weight 0 counts as absent.

        Returns
        -------
        MultiTaskRegressor
            The estimator itself.

        Examples
        --------
        >>> model = MultiTaskRegressor(penalty="ridge", beta=0.0)
        >>> model.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).intercept_.round(6)
        array([1.])
        """
        penalty = self._check_penalty()
        rows = read_training(
            X, y, Columns(self.tasks), tasks=tasks, sample_weight=sample_weight
        )
        progress = _Progress(self, X, y)
        solution = fit_unconstrained(self._problem(rows), penalty)
        fitted = _linear_attributes(solution, rows, X)
        progress.close(fitted)
        self._store(fitted)
        return self


def _warn_no_groups() -> None:
    warnings.warn(
        "fit got no sensitive_features: there is nothing to balance, and the fit is "
        "unconstrained. Name a column of X in the constructor or pass labels to fit.",
        UserWarning,
        stacklevel=4,
    )


def _warn_not_reached(solution: Solution, balance: Balance) -> None:
    if solution.status in (Status.INFEASIBLE, Status.MAX_ITER):
        asked = (
            f"within {balance.epsilon:g} of 0.5" if balance.epsilon else "exactly 0.5"
        )
        reached = f"AUC {solution.auc:.4f}, asked for {asked}"
        if not isinstance(balance, Rank):
            reached = f"imbalance {solution.auc:.4g}, asked for {balance.epsilon:g}"
        warnings.warn(
            f"{solution.status.value} Reached: {reached}.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _rank_auc(solution: Solution, rows: Rows) -> float:
    """Return the AUC of the fit where the solver did not count it."""
    if rows.in_a is None:
        return math.nan
    m = linear_predict(rows.X, rows.codes, solution.coef, solution.intercept)
    a, b = rows.in_a, ~rows.in_a
    w = np.ones(len(m)) if rows.weights is None else rows.weights
    return float(twice_u(m[a], m[b], w[a], w[b]) / (2 * w[a].sum() * w[b].sum()))


class _Progress:
    """Tell stderr (``verbose``) and scikit-learn's callbacks how a fit goes on."""

    def __init__(self, estimator: _TaskRegressor, X: Any, y: Any):
        self.data = {"estimator": estimator, "X": X, "y": y}
        self.name = type(estimator).__name__
        self.verbose = estimator.verbose
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
