"""One demand in each stratum of the propensity score: equal means, or residuals."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np

from rankfair._frames import Codes, Floats
from rankfair._validation import Rows, check_count
from rankfair.baselines.base import Baseline
from rankfair.baselines.strata import by_quantiles, propensity, stratum_record
from rankfair.constraints import Linear, Mean, Residual
from rankfair.core.problem import Groups, Problem, counted_weights
from rankfair.penalties import Penalty
from rankfair.solvers import Demand, Request, Solution, solve_linear, unconstrained

__all__ = ["StratifiedBalancedResiduals", "StratifiedEqualMeans"]

SAME = 1e-9  # directions closer than this are one direction


class _Stratified(Baseline):
    """One demand in each stratum of the propensity score."""

    n_strata: int
    _demand: ClassVar[Linear]

    def __init__(
        self,
        n_strata: int = 5,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        blind: bool = False,
        penalty: Any = "ridge",
        beta: float = 0.0,
        standardize: bool = True,
        unseen: str = "error",
        verbose: int = 0,
    ):
        self.n_strata = n_strata
        self.tasks = tasks
        self.sensitive_features = sensitive_features
        self.blind = blind
        self.penalty = penalty
        self.beta = beta
        self.standardize = standardize
        self.unseen = unseen
        self.verbose = verbose

    def _check_settings(self) -> Request:
        check_count("n_strata", self.n_strata)
        return super()._check_settings()

    def _solve(
        self, rows: Rows, problem: Problem, penalty: Penalty
    ) -> tuple[Solution, dict[str, Any]]:
        strata = by_quantiles(propensity(rows), self.n_strata, rows.weights)
        asked = self._demands(rows, problem, strata)
        demands = list(asked.values())
        if demands:
            solution = solve_linear(problem, penalty, demands)
        else:
            solution = unconstrained(problem, Request(penalty, fixed=True))
        gaps = dict(zip(asked, solution.values, strict=True))
        follows = dict(zip(asked, _follow(problem, demands), strict=True))
        records = [
            stratum_record(
                rows, strata, s, gaps.get(s, math.nan), follows.get(s, False)
            )
            for s in range(self.n_strata)
        ]
        return solution, {"strata_": records}

    def _demands(
        self, rows: Rows, problem: Problem, strata: Codes
    ) -> dict[int, Demand]:
        """Return the demand of each stratum that has both groups."""
        assert rows.in_a is not None and problem.user_groups is not None
        found: dict[int, Demand] = {}
        for s in range(self.n_strata):
            of_a = rows.in_a[strata == s]
            if of_a.any() and not of_a.all():
                weights = counted_weights(problem.user_groups.weights, strata == s)
                groups = Groups(rows.in_a, weights).take(problem.order)
                found[s] = Demand(self._demand, groups)
        return found

    def _without(self) -> dict[str, Any]:
        return {"strata_": []}


def _follow(problem: Problem, demands: list[Demand]) -> list[bool]:
    """Return which demands say nothing that those before them do not."""
    A = [problem.moments(each.direction()).ravel() for each in demands]
    ranks = [_rank(A[:s]) for s in range(len(A) + 1)]
    return [after == before for before, after in itertools.pairwise(ranks)]


def _rank(A: list[Floats]) -> int:
    """Return how many of these are independent, but for rounding."""
    if not A:
        return 0
    sizes = np.linalg.svd(np.array(A), compute_uv=False)
    return int(np.count_nonzero(sizes > SAME * max(sizes[0], 1.0)))


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
        The column of X that holds the protected group; see `RankFairRegressor`.
    blind : bool, default=False
        Leave the protected column of X out of the predictors.
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
        "kept"; "redundant" (it follows from those before it); "contradictory" (it
        cannot be kept together with the others, the gap is what is left); "one group
        only" or "empty" (there is nothing to demand).
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
