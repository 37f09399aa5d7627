"""The methods that the paper compares with: linear constraints, met exactly."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from rankfair.constraints.base import KEPT
from rankfair.constraints.linear import Linear, Mean, Residual
from rankfair.core.problem import Groups, Problem, counted_weights
from rankfair.estimators.base import ColumnSettings, TaskRegressor
from rankfair.estimators.outcome import no_groups, store_linear, tell
from rankfair.input.errors import check_choice
from rankfair.input.frames import refuse_sparse
from rankfair.input.training import Columns, TrainingRows, read_training
from rankfair.penalties.base import Penalty
from rankfair.solvers.admm import ADM
from rankfair.solvers.base import Request, Solution
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import solve_linear, unconstrained
from rankfair.stats.propensity import by_quantiles, log_odds

METHODS = ("exact", "adm")


class _Baseline(ColumnSettings, TaskRegressor):
    """A fit under linear demands on two groups."""

    groups_: Any
    covariance_: float
    strata_: list[dict[str, Any]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            Numbers; only task and group columns may hold other labels.
        y : array-like of shape (N,)
            The target.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so; all rows are of one task
            if nothing does.
        sensitive_features : array-like of shape (N,), optional
            The group of each row, if no column of X says so.  It is not a
            predictor then.
        sample_weight : array-like of shape (N,), optional
            Weights in the loss and in the means; whole weights mean the same as
            repeated rows, and a row of weight 0 counts as absent.

        Returns
        -------
        object
            The estimator itself.

        Warns
        -----
        UserWarning
            If there are no groups: the fit is unconstrained then.

        Examples
        --------
        >>> from rankfair import DecisionBoundaryCovariance
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 3.5]
        >>> model = DecisionBoundaryCovariance(beta=0.0)
        >>> model = model.fit(X, y, sensitive_features=["a", "a", "b", "b"])
        >>> abs(model.covariance_) < 1e-12
        True
        """
        request = self._check_settings()
        refuse_sparse(X)
        rows = read_training(
            X,
            y,
            Columns(self.tasks, self.sensitive_features, self.blind),
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        problem = self._problem(rows, request.penalty)
        penalty = request.of_targets(problem, *problem.sums(()))[0]
        solution, own = self._solve(rows, problem, penalty)
        own |= {"groups_": rows.layout.groups, "status_": str(solution.status)}
        store_linear(self, solution, rows, X, own)
        tell([no_groups()] if rows.in_a is None else [])
        return self

    @abstractmethod
    def _solve(
        self, rows: TrainingRows, problem: Problem, penalty: Penalty
    ) -> tuple[Solution, dict[str, Any]]:
        """Return the solution and the attributes of this estimator alone."""


def _met(problem: Problem, penalty: Penalty, demands: Sequence[Demand]) -> Solution:
    """The fit that meets all demands, or the free one."""
    if demands:
        return solve_linear(problem, penalty, demands)
    return unconstrained(problem, Request(penalty, fixed=True))


@dataclass(eq=False, repr=False)
class DecisionBoundaryCovariance(_Baseline):
    r"""Regression whose predictions do not vary with the group on average (SDBC).

    Minimises :math:`\tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)` subject to
    :math:`\mathrm{cov}(z, \hat y) = 0` over all rows of all tasks (Zafar et al. 2017),
    which is the same as equal mean predictions.

    Parameters
    ----------
    tasks : str, int or list of them, optional
        The column of X that says which task a row is of; see `RankFairRegressor`.
    sensitive_features : str or int, optional
        The column of X that holds the group; see `RankFairRegressor`.
    blind : bool, default=True
        Leave the sensitive column of X out of the predictors.  Frames without it can be
        predicted then.
    penalty : {"task", "feature", "shared", "ridge"} or Penalty, default="task"
        What :math:`R(W)` is; see `RankFairRegressor`.
    beta : float, default=1.0
        Weight of the penalty.
    method : {"exact", "adm"}, default="exact"
        "exact" solves for the multiplier.  "adm" takes `max_iter` steps of the
        alternating direction method from a random start, as the paper did; what is left
        of the covariance depends on `trade_off`.
    trade_off : float, default=1.0
        How strongly a step of "adm" pulls towards the constraint.
    max_iter : int, default=50
        Steps of "adm".
    standardize : bool, default=True
        Take features and y in units of their standard deviations for the penalty.
    unseen : {"error", "shared"}, default="error"
        What to do with a task not seen in training.
    random_state : int, Generator or None, default=None
        Seed of the start of "adm".
    verbose : int, default=0
        Above 0, write a line at the end to stderr.

    Attributes
    ----------
    covariance_ : float
        The covariance of group (1 for A, 0 for B) and prediction on the training rows,
        in the units of y.
    status_ : str
        "satisfied", "inactive", "infeasible", or "max_iter" where "adm" ran out of
        steps.
    coef_, intercept_, tasks_, predictors_, groups_, objective_, n_iter_, resolution_
        As in `RankFairRegressor`.

    Examples
    --------
    >>> from rankfair import DecisionBoundaryCovariance
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> model = DecisionBoundaryCovariance(tasks="task", sensitive_features="z")
    >>> abs(model.fit(data.frame, data.target).covariance_) < 1e-8
    True
    """

    _: KW_ONLY
    penalty: Any = "task"
    beta: float = 1.0
    method: str = "exact"
    trade_off: float = 1.0
    max_iter: int = 50
    random_state: Any = None

    def _check_settings(self) -> Request:
        check_choice("method", self.method, METHODS)
        request = super()._check_settings()
        if not self.trade_off > 0:
            raise ValueError(f"trade_off must be above 0; got {self.trade_off}.")
        return request

    def _solve(
        self, rows: TrainingRows, problem: Problem, penalty: Penalty
    ) -> tuple[Solution, dict[str, Any]]:
        groups, gap, share = problem.groups, math.nan, math.nan
        if self.method == "exact" or groups is None:
            demands = [] if groups is None else [Demand(Mean(0.0), groups)]
            solution = _met(problem, penalty, demands)
        else:
            steps = ADM(self.trade_off, self.max_iter, random_state=self.random_state)
            solution = steps.solve(problem, penalty, Mean(0.0))
        if groups is not None:
            (gap,) = solution.values
            share = groups.total_a / (groups.total_a + groups.total_b)
        return solution, {"covariance_": share * (1 - share) * gap * problem.y_unit}


@dataclass(eq=False, repr=False)
class _Stratified(_Baseline):
    """One demand in each stratum of the propensity score."""

    _demand: ClassVar[Linear]

    n_strata: int = 5
    _: KW_ONLY
    penalty: Any = "ridge"
    beta: float = 0.0

    def _solve(
        self, rows: TrainingRows, problem: Problem, penalty: Penalty
    ) -> tuple[Solution, dict[str, Any]]:
        if rows.in_a is None or problem.user_groups is None:
            return _met(problem, penalty, ()), {"strata_": []}
        others = [i for i in range(rows.X.shape[1]) if i not in rows.group_predictors]
        log_of = log_odds(rows.X[:, others], rows.in_a, rows.weights)
        strata = by_quantiles(log_of, self.n_strata, rows.weights)
        demands, records = list[Demand](), list[dict[str, Any]]()
        for s in range(self.n_strata):
            of_a = rows.in_a[strata == s]
            n_a = int(np.count_nonzero(of_a))
            record = {"stratum": s, "rows_a": n_a, "rows_b": len(of_a) - n_a}
            records.append({**record, "gap": math.nan, "state": "empty"})
            if 0 < n_a < len(of_a):
                weights = counted_weights(problem.user_groups.weights, strata == s)
                groups = Groups(rows.in_a, weights).take(problem.order)
                demands.append(Demand(self._demand, groups))
                records[-1]["state"] = "kept"
            elif len(of_a):
                records[-1]["state"] = "one group only"
        solution = _met(problem, penalty, demands)
        kept = (it for it in records if it["state"] == "kept")
        for each, gap in zip(kept, solution.values, strict=True):
            state = "contradictory" if abs(gap) > KEPT else "kept"
            each |= {"gap": gap, "state": state}
        return solution, {"strata_": records}


class StratifiedEqualMeans(_Stratified):
    r"""Least squares with equal mean predictions of the groups in every stratum (SSEM).

    Minimises :math:`\tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)` subject to
    :math:`\mathrm{mean}_A(\hat y) = \mathrm{mean}_B(\hat y)` in each stratum.  Strata
    are quantiles of the propensity score, the chance of group A by a logistic
    regression (with a slight ridge) on the other predictors, so that rows of a stratum
    are alike in all but the group (Calders et al. 2013).

    Parameters
    ----------
    n_strata : int, default=5
        How many strata.
    tasks : str, int or list of them, optional
        The column of X that says which task a row is of; see `RankFairRegressor`.
    sensitive_features : str or int, optional
        The column of X that holds the group; see `RankFairRegressor`.
    blind : bool, default=True
        Leave the sensitive column of X out of the predictors.  Frames without it can be
        predicted then.
    penalty : {"task", "feature", "shared", "ridge"} or Penalty, default="ridge"
        What :math:`R(W)` is; see `RankFairRegressor`.
    beta : float, default=0.0
        Weight of the penalty; 0 is ordinary least squares.
    standardize : bool, default=True
        Take features and y in units of their standard deviations for the penalty.
    unseen : {"error", "shared"}, default="error"
        What to do with a task not seen in training.
    verbose : int, default=0
        Above 0, write a line at the end to stderr.

    Attributes
    ----------
    strata_ : list of dict
        For each stratum its number, its rows of group A and of B, the gap that is left
        between the groups in standard deviations of y, and the state of its demand:
        "kept"; "contradictory" (it cannot be kept together with the others, the gap is
        what is left); "one group only" or "empty" (there is nothing to demand).
    status_ : str
        "satisfied", "inactive" (the fit without demands keeps them) or "infeasible".
    coef_, intercept_, tasks_, predictors_, groups_, objective_, n_iter_, resolution_
        As in `RankFairRegressor`.

    See Also
    --------
    StratifiedBalancedResiduals : the same for residuals.

    Examples
    --------
    >>> from rankfair import StratifiedEqualMeans
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> model = StratifiedEqualMeans(3, sensitive_features="z")
    >>> model = model.fit(data.frame.drop(columns="task"), data.target)
    >>> [record["state"] for record in model.strata_]
    ['kept', 'kept', 'kept']
    """

    _demand = Mean(0.0)


class StratifiedBalancedResiduals(_Stratified):
    r"""Least squares with equal mean residuals of the groups in every stratum (SSBR).

    As `StratifiedEqualMeans`, with the demand that :math:`\mathrm{mean}_A(y - \hat y) =
    \mathrm{mean}_B(y - \hat y)` in each stratum: neither group is predicted too high
    among rows that are alike.

    Parameters
    ----------
    n_strata, tasks, sensitive_features, blind, penalty, beta
        As in `StratifiedEqualMeans`.
    standardize, unseen, verbose
        As in `StratifiedEqualMeans`.

    Attributes
    ----------
    strata_, status_
        As in `StratifiedEqualMeans`.
    coef_, intercept_, tasks_, predictors_, groups_, objective_, n_iter_, resolution_
        As in `RankFairRegressor`.

    See Also
    --------
    StratifiedEqualMeans : the same for predictions.

    Examples
    --------
    >>> from rankfair import StratifiedBalancedResiduals
    >>> from rankfair.datasets import make_biased_tasks
    >>> data = make_biased_tasks(random_state=0)
    >>> model = StratifiedBalancedResiduals(2, sensitive_features="z")
    >>> model = model.fit(data.frame.drop(columns="task"), data.target)
    >>> all(abs(record["gap"]) < 1e-8 for record in model.strata_)
    True
    """

    _demand = Residual(0.0)
