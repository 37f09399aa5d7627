"""No covariance of group and prediction, exactly or by the published iterations."""

from __future__ import annotations

import math
from typing import Any

from rankfair._validation import (
    Rows,
    check_choice,
    check_count,
    check_number,
    check_seed,
)
from rankfair.baselines.base import Baseline
from rankfair.constraints import Mean
from rankfair.core.problem import Problem
from rankfair.penalties import Penalty
from rankfair.solvers import ADM, Demand, Request, Solution, solve_linear

__all__ = ["DecisionBoundaryCovariance"]

METHODS = ("exact", "adm")


class DecisionBoundaryCovariance(Baseline):
    r"""Regression whose predictions do not vary with the group on average (SDBC).

    Minimises :math:`\tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)` subject to
    :math:`\mathrm{cov}(z, \hat y) = 0` over all rows of all tasks (Zafar et al. 2017),
    which is the same as equal mean predictions.

    Parameters
    ----------
    tasks : str, int or list of them, optional
        The column of X that says which task a row is of; see `RankFairRegressor`.
    sensitive_features : str or int, optional
        The column of X that holds the protected group; see `RankFairRegressor`.
    blind : bool, default=False
        Leave the protected column of X out of the predictors.
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

    def __init__(
        self,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        blind: bool = False,
        penalty: Any = "task",
        beta: float = 1.0,
        method: str = "exact",
        trade_off: float = 1.0,
        max_iter: int = 50,
        standardize: bool = True,
        unseen: str = "error",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.tasks = tasks
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.penalty = penalty
        self.beta = beta
        self.method = method
        self.trade_off = trade_off
        self.max_iter = max_iter
        self.standardize = standardize
        self.unseen = unseen
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> Request:
        check_choice("method", self.method, METHODS)
        check_number("trade_off", self.trade_off, 0.0)
        check_count("max_iter", self.max_iter)
        check_seed("random_state", self.random_state)
        if not self.trade_off > 0:
            raise ValueError(f"trade_off must be above 0; got {self.trade_off}.")
        return super()._check_settings()

    def _solve(
        self, rows: Rows, problem: Problem, penalty: Penalty
    ) -> tuple[Solution, dict[str, Any]]:
        groups = problem.groups
        assert groups is not None
        if self.method == "exact":
            solution = solve_linear(problem, penalty, [Demand(Mean(0.0), groups)])
        else:
            steps = ADM(self.trade_off, self.max_iter, random_state=self.random_state)
            solution = steps.solve(problem, penalty, Mean(0.0))
        (gap,) = solution.values
        share = groups.total_a / (groups.total_a + groups.total_b)
        return solution, {"covariance_": share * (1 - share) * gap * problem.y_unit}

    def _without(self) -> dict[str, Any]:
        return {"covariance_": math.nan}
