"""Linear regression over many tasks with bands on what groups are predicted."""

from __future__ import annotations

import warnings
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankfair._frames import open_table
from rankfair._groups import group_labels, masks_of
from rankfair._regressor import (
    Progress,
    TaskRegressor,
    warn_no_groups,
    with_callbacks,
)
from rankfair._validation import Columns, Rows, is_pair, label_source, read_training
from rankfair.balances import Balance
from rankfair.certificate import Certificate, certify
from rankfair.estimators.elsewhere import check_elsewhere, fit_elsewhere
from rankfair.estimators.outcome import fitted_attributes, warn_not_reached
from rankfair.estimators.scope import solve_scope, warn_tasks
from rankfair.estimators.settings import Settings, check_several, read_settings
from rankfair.penalties import Penalty
from rankfair.solvers import Solution, solve_groups
from rankfair.solvers import unconstrained as fit_unconstrained
from rankfair.streams import is_elsewhere

__all__ = ["RankFairRegressor"]


class RankFairRegressor(TaskRegressor):
    r"""Linear regression over many tasks that does not rank one group above another.

    Minimises, over one coefficient vector :math:`w^j` and intercept a task,

    .. math:: \tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)
        \quad\text{subject to}\quad |\mathrm{AUC} - \tfrac12| \le \varepsilon

    where AUC is the chance that a row of group A is predicted above a row of group B,
    ties counting half, over all rows of all tasks together.

    Parameters
    ----------
    epsilon : float or list of float, default=0.01
        Half width of the band around AUC = 1/2, in [0, 0.5].  The band is never
        narrower than one pair of rows; it is half a pair wider at either end with
        three or more groups, several attributes or rows of unknown group, where many
        counts have to fall into their bands at once.  For "mean" and "residual", the
        largest difference allowed, in standard deviations of y; for "distribution" the
        largest distance KS, in [0, 1], never less than one row of either group.  With
        several balances, one number for all or a list with one for each.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of; with
        several columns the tasks are their combinations.  It is no predictor.
    sensitive_features : str, int or list of them, optional
        The column of X that holds the protected group.  It is a predictor, 1 for group
        A (the label that sorts last) and 0 for group B, unless `blind`.  Of three or
        more groups each is held level with the rest, and each but the first is a
        predictor of its own, after the others.  Several columns are several attributes,
        each balanced, all at once.  Rows whose group is missing (None, NaN, NA or NaT)
        take part in the loss and not in the balance; as predictors they have the share
        of each group in training, and new rows of unknown group as well.
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
    intersect : bool, default=False
        Balance the combinations of several attributes, "F × black", as the groups of
        one attribute, instead of each attribute.  Combinations without rows do not
        exist, and at most 60 are allowed.  As predictors the columns stay what they
        are.
    bins : int, optional
        Cut an attribute of more distinct numbers than that into so many quantiles,
        "[18, 35)", which are its groups.  As a predictor it stays a number.  Without
        `bins`, more than 20 distinct numbers (or 10, if some are fractions) are
        refused.
    balance : {"rank", "mean", "residual", "distribution"}, Balance or list of them, \
            default="rank"
        What is to be equal between the groups: ranks, mean predictions, mean residuals
        y − ŷ, or, of two groups, whole distributions of predictions.  Of a list all are
        kept at once: ``["rank", "mean"]``, ``["distribution", "mean"]``.  An object
        brings its own epsilon and side.
    scope : {"global", "task", "both"}, default="global"
        Over which rows the balance is asked: all together; in every task that has rows
        of both groups; or both at once.  "task" and "both" take one balance, two groups
        and solver "tilt".
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
        The most steps a solver takes.  For "distribution" it is that of each of two
        pulls, the second of which is tried where the first is in vain.
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
    groups_ : ndarray of shape (n_groups,), dict or None
        Labels of the groups, sorted; of two they are B and A.  With several attributes,
        a dict of such arrays by the name of the attribute: that of its column, x3 for
        column 3 of an array, or z0, z1, … for columns without a name passed to `fit`.
    n_unknown_ : int or dict of str to int
        Training rows of unknown group, by attribute if there are several.
    bin_edges_ : dict of str to ndarray
        Where attributes were cut, by name: the start of each bin, and the end.
    status_ : str
        "satisfied": the band is met.  "inactive": the unconstrained fit meets it.
        "infeasible": no model found meets it, the closest was kept (not one value for
        all rows, which meets every band but that of residuals; nor, for ranks of three
        or more groups beside residuals, one ten times as dear as without the ranks).
        "max_iter": the steps ran out.
    rank_auc_ : float
        AUC of the predictions of the training rows, A over B; of three or more groups,
        and of several attributes, that of the group farthest from 1/2.
    group_auc_ : dict
        AUC of each group over the rest, by label; with several attributes, a dict of
        such dicts by attribute.
    pairwise_auc_ : dict
        AUC of the first group over the second, ``pairwise_auc_["M"]["F"]``; with
        several attributes, a dict of such dicts by attribute.
    balance_ : dict of str to float
        What each balance came to on the training rows: AUC for "rank", KS for
        "distribution", group A less group B in standard deviations of y for the others.
        Of more groups and attributes it is the value farthest off.
    multiplier_ : float
        The multiplier of the constraint (of "rank", where there are several balances)
        in standard units, 0 if it is inactive, NaN if
        the solver did not settle, and for "distribution", which has one a threshold.
    objective_ : float
        Half the (weighted) sum of squared errors plus the penalty; with `standardize`,
        in standard units.
    n_iter_ : int
        Steps taken, at least 1.
    stationarity_ : float
        Relative residual of the first-order conditions: how far the force of the fit
        is from a multiple of the gradient of AUC.  With very many rows it is that of
        the thinned problem, NaN if the solver did not settle.
    task_auc_ : ndarray of shape (n_tasks,) or None
        AUC within each task, NaN without both groups; None with ``scope="global"``, as
        are the next three.
    task_balance_ : ndarray of shape (n_tasks,) or None
        What the balance came to in each task.
    task_status_ : ndarray of shape (n_tasks,) or None
        "satisfied" or "inactive" as `status_`; "constant": the best fit found in the
        band predicts one value; "infeasible"; "one group only".
    unbalanced_tasks_ : dict or None
        Why, for each task, by label, that has no band or is not in it.
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
        intersect: bool = False,
        bins: int | None = None,
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
        self.intersect = intersect
        self.bins = bins
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
        y: Any = None,
        *,
        tasks: Any = None,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> RankFairRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_), or Stream
            Numbers; only task and group columns may hold other labels.  A `stream` of
            Parquet files, or a Dask frame, is fitted without being held in memory.
        y : array-like of shape (N,), or str
            The target; of a stream or a Dask frame its column.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so; all rows are of one task
            if nothing does.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The protected group of each row, if no column of X says so.  It is not a
            predictor then.  Columns of an array or a frame, and entries of a dict, are
            attributes.
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
            If there are no groups: the fit is unconstrained then.  If a combination of
            groups has one row only.

        Examples
        --------
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 1.0, 3.5]
        >>> model = RankFairRegressor(epsilon=0.25)
        >>> model.fit(X, y, sensitive_features=["a", "b", "b", "a"]).status_
        'inactive'
        """
        settings = read_settings(self)
        named = Columns(
            self.tasks,
            self.sensitive_features,
            self.blind,
            several=True,
            bins=self.bins,
            intersect=self.intersect,
        )
        passed = {
            "tasks": tasks,
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
        }
        if is_elsewhere(X):
            check_elsewhere(self, settings, passed)
            return self._fit_elsewhere(X, y, sample_weight, named, settings)
        rows = read_training(X, y, named, **passed)
        progress = Progress(self, X, y)
        asked = settings.asked
        if rows.in_a is None:
            warn_no_groups()
            asked = ()
            solution = fit_unconstrained(self._problem(rows), settings.penalty)
        else:
            solution = self._solve(rows, settings, progress)
        self._finish(solution, rows, X, asked, progress)
        for note in rows.notes:
            warnings.warn(note, UserWarning, stacklevel=3)
        warn_not_reached(solution, asked, rows.attributes)
        warn_tasks(solution, rows)
        return self

    def _solve(self, rows: Rows, settings: Settings, progress: Progress) -> Solution:
        """Solve for two groups, for several, or for those of each task."""
        penalty, asked, solver = settings
        balance, *beside = asked
        problem = self._problem(rows)
        if self.scope != "global":
            return solve_scope(
                self.scope, rows, problem, penalty, balance, solver, progress
            )
        if is_pair(rows.attributes):
            more = {"also": tuple(beside)} if beside else {}
            return solver.solve(problem, penalty, balance, on_step=progress, **more)
        tilt = check_several(self, settings, rows)
        masks, known = masks_of(rows.attributes)
        return solve_groups(problem, penalty, asked, masks, tilt, progress, known)

    def _fit_elsewhere(
        self, X: Any, y: Any, weight: str | None, named: Columns, settings: Settings
    ) -> RankFairRegressor:
        """Fit rows in files or on a cluster."""
        progress = Progress(self, X, y)
        solution, rows, columns, auc = fit_elsewhere(
            self, X, y, weight, named, settings, progress
        )
        asked = settings.asked if rows.attributes else ()
        self._finish(solution, rows, columns, asked, progress, auc)
        warn_not_reached(solution, asked, rows.attributes)
        return self

    def _finish(
        self,
        solution: Solution,
        rows: Rows,
        X: Any,
        asked: tuple[Balance, ...],
        progress: Progress,
        auc: float | None = None,
    ) -> None:
        """Store what was found, and report the end of the fit."""
        fitted = fitted_attributes(self, solution, rows, X, asked, auc)
        progress.close(fitted)
        self._store(fitted)

    def _check_settings(self) -> Penalty:
        return read_settings(self).penalty

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
        >>> X = [[0.0, 31], [1.0, 67], [2.0, 20], [3.0, 44], [4.0, 35]]
        >>> model = RankFairRegressor(0.5, sensitive_features=1, bins=2)
        >>> _ = model.fit(X, [0.0, 2.0, 1.0, 3.5, 2.0])
        >>> model.group_labels([[1.0, 18], [2.0, 40]])
        {'x1': array(['[20, 35)', '[35, 67]'], dtype=object)}
        """
        check_is_fitted(self)
        named = self._group_columns
        source = label_source("sensitive_features", named, None, open_table(X))
        if source is None:
            raise ValueError(
                "sensitive_features names no column of X: the groups were passed to "
                "fit or named by a stream, and the model cannot tell those of new "
                "rows. Fit with the groups as a column of X, named by "
                "sensitive_features of the constructor."
            )
        return group_labels(source, self.bin_edges_, self._intersect)

    def certify(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        tasks: Any = None,
        confidence: float = 0.95,
        calibrate: bool = False,
        random_state: Any = None,
    ) -> Certificate:
        """Bound the rank gap in the population, from rows that had no part in the fit.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            New rows, as for `predict`.
        y : array-like of shape (N,), optional
            The target, for the error beside the bound.
        sensitive_features, tasks : array-like of shape (N,), or columns of X, optional
            By default the columns that the model was given.
        confidence : float, default=0.95
            How sure the bound is.
        calibrate : bool, default=False
            First level the groups by a constant on half of the rows, and certify on the
            other half.
        random_state : int, Generator or None, default=None
            Seed of the halves.

        Returns
        -------
        Certificate
            See `rankfair.certificate.certify`.

        Examples
        --------
        >>> from rankfair.datasets import make_biased_tasks
        >>> data = make_biased_tasks(40, 100, random_state=0)
        >>> train = data.frame.index % 2 == 0
        >>> model = RankFairRegressor(0.01, tasks="task", sensitive_features="z")
        >>> _ = model.fit(data.frame[train], data.target[train])
        >>> model.certify(data.frame[~train]).bound < 0.1
        True
        """
        check_is_fitted(self)
        return certify(
            self,
            X,
            y,
            sensitive_features=sensitive_features,
            tasks=tasks,
            confidence=confidence,
            calibrate=calibrate,
            random_state=random_state,
        )
