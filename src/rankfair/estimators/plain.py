"""Linear regression over many tasks without groups."""

from __future__ import annotations

from typing import Any

from rankfair._regressor import (
    Progress,
    TaskRegressor,
    linear_attributes,
    with_callbacks,
)
from rankfair._validation import Columns, read_training
from rankfair.solvers import unconstrained

__all__ = ["MultiTaskRegressor"]


class MultiTaskRegressor(TaskRegressor):
    r"""Linear regression over many tasks, penalised jointly, without groups.

    Minimises :math:`\tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)`.

    Parameters
    ----------
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of; with
        several columns the tasks are their combinations.  It is no predictor.
    penalty : {"pool", "ridge", "task", "feature", "shared"} or Penalty, default="pool"
        What :math:`R(W)` is; see `RankFairRegressor`.
    beta : "auto", float or three floats, default="auto"
        Weight of the penalty; "auto" chooses it by generalised cross-validation, see
        `RankFairRegressor`.
    standardize : bool, default=True
        Take features and y in units of their standard deviations, for the penalty and
        the objective.  `coef_` is in the units of X and y either way.
    unseen : {"error", "shared"}, default="error"
        What to do with a task not seen in training: refuse it, or predict with the
        shared coefficients (needs ``penalty="pool"`` or "shared").
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
    resolution_ : float
        Predictions are multiples of it: a power of two, some 10⁻¹¹ of a standard
        deviation of y.  What ties does not depend on the processor then.
    beta_ : float or tuple of float
        The β that was used; of "pool" the three numbers.
    loo_predictions_ : ndarray of shape (N,) or None
        The prediction of each training row by the fit without it.
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
        penalty: Any = "pool",
        beta: Any = "auto",
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
        request = self._check_settings()
        rows = read_training(
            X, y, Columns(self.tasks), tasks=tasks, sample_weight=sample_weight
        )
        progress = Progress(self, X, y)
        solution = unconstrained(self._problem(rows), request)
        fitted = linear_attributes(solution, rows, X)
        progress.close(fitted)
        self._store(fitted)
        return self
