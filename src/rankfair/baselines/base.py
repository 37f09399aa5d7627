"""What the baselines share: a fit under linear demands on two groups."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from rankfair._regressor import (
    Progress,
    TaskRegressor,
    linear_attributes,
    warn_no_groups,
    with_callbacks,
)
from rankfair._validation import Columns, Rows, check_flag, read_training
from rankfair.core.problem import Problem
from rankfair.penalties import Penalty
from rankfair.solvers import Request, Solution, unconstrained

__all__ = ["Baseline"]


class Baseline(TaskRegressor):
    """A fit under linear demands on two groups."""

    sensitive_features: Any
    blind: bool

    @with_callbacks
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
        >>> from rankfair.baselines import DecisionBoundaryCovariance
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 3.5]
        >>> model = DecisionBoundaryCovariance(beta=0.0)
        >>> model = model.fit(X, y, sensitive_features=["a", "a", "b", "b"])
        >>> abs(model.covariance_) < 1e-12
        True
        """
        request = self._check_settings()
        rows = read_training(
            X,
            y,
            Columns(self.tasks, self.sensitive_features, self.blind),
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        progress = Progress(self, X, y)
        problem = self._problem(rows)
        if rows.in_a is None:
            warn_no_groups()
            solution, own = unconstrained(problem, request), self._without()
        else:
            sums = problem.sums(())
            penalty = request.of_targets(problem, *sums)[0]
            solution, own = self._solve(rows, problem, penalty)
        fitted = {
            **linear_attributes(solution, rows, X),
            "groups_": rows.layout.groups,
            "status_": str(solution.status),
            **own,
        }
        progress.close(fitted)
        self._store(fitted)
        return self

    def _check_settings(self) -> Request:
        check_flag("blind", self.blind)
        return super()._check_settings()

    @abstractmethod
    def _solve(
        self, rows: Rows, problem: Problem, penalty: Penalty
    ) -> tuple[Solution, dict[str, Any]]:
        """Return the solution and the attributes of this estimator alone."""

    @abstractmethod
    def _without(self) -> dict[str, Any]:
        """Return these attributes where there are no groups."""
