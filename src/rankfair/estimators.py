"""The main estimators in scikit-learn's shape: check, solve, store."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import Floats, shown
from rankfair._regressor import (
    Progress,
    TaskRegressor,
    linear_attributes,
    warn_no_groups,
    with_callbacks,
)
from rankfair._validation import (
    Columns,
    Rows,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    read_training,
)
from rankfair.balances import (
    BALANCES,
    SIDES,
    Balance,
    Distribution,
    Linear,
    Rank,
    main_and_beside,
    make_balance,
)
from rankfair.certificate import Certificate, certify
from rankfair.linear import linear_predict
from rankfair.penalties import Penalty
from rankfair.ranks import twice_u
from rankfair.solvers import (
    NCADMM,
    SOLVERS,
    Paper,
    Solution,
    Solver,
    Status,
    Tilt,
    make_solver,
    solve_groups,
)
from rankfair.solvers import unconstrained as fit_unconstrained

__all__ = ["MultiTaskRegressor", "RankFairRegressor"]

WIDEST: dict[type[Balance], float] = {Rank: 0.5, Distribution: 1.0}  # of an epsilon


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
        narrower than one pair of rows.  For "mean" and "residual", the largest
        difference allowed, in standard deviations of y; for "distribution" the largest
        distance KS, in [0, 1], never less than one row of either group.  With several
        balances, one number for all or a list with one for each.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of; with
        several columns the tasks are their combinations.  It is no predictor.
    sensitive_features : str or int, optional
        The column of X that holds the protected group.  It is a predictor, 1 for group
        A (the label that sorts last) and 0 for group B, unless `blind`.  Of three or
        more groups each is held level with the rest, and each but the first is a
        predictor of its own, after the others.
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
    balance : {"rank", "mean", "residual", "distribution"}, Balance or list of them, \
            default="rank"
        What is to be equal between the groups: ranks, mean predictions, mean residuals
        y − ŷ, or, of two groups, whole distributions of predictions.  Of a list all are
        kept at once: ``["rank", "mean"]``, ``["distribution", "mean"]``.  An object
        brings its own epsilon and side.
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
    groups_ : ndarray of shape (n_groups,) or None
        Labels of the groups, sorted; of two they are B and A.
    status_ : str
        "satisfied": the band is met.  "inactive": the unconstrained fit meets it.
        "infeasible": no model found meets it, the closest was kept.  "max_iter": the
        steps ran out.
    rank_auc_ : float
        AUC of the predictions of the training rows, A over B; of three or more groups
        that of the group farthest from 1/2.
    group_auc_ : dict
        AUC of each group over the rest, by label.
    balance_ : dict of str to float
        What each balance came to on the training rows: AUC for "rank", KS for
        "distribution", group A less group B in standard deviations of y for the others.
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
        penalty, balance, beside, solver = self._settings()
        rows = read_training(
            X,
            y,
            Columns(self.tasks, self.sensitive_features, self.blind, several=True),
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        progress = Progress(self, X, y)
        asked = (balance, *beside)
        if rows.in_a is None:
            warn_no_groups()
            solution, asked = fit_unconstrained(self._problem(rows), penalty), ()
        elif rows.groups is None:
            more = {"also": beside} if beside else {}
            solution = solver.solve(
                self._problem(rows), penalty, balance, on_step=progress, **more
            )
        else:
            masks = rows.groups == np.arange(rows.groups.max() + 1)[:, None]
            settings = self._for_several(solver, len(masks))
            _check_not_distribution(balance, len(masks))
            solution = solve_groups(
                self._problem(rows), penalty, asked, masks, settings, progress
            )
        fitted = self._attributes(solution, rows, X, asked)
        progress.close(fitted)
        self._store(fitted)
        _warn_not_reached(solution.status, asked, self.balance_)
        return self

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

    def _settings(self) -> tuple[Penalty, Balance, tuple[Linear, ...], Solver]:
        side = check_choice("side", self.side, SIDES)
        if self.scope != "global":
            raise ValueError(
                f'scope must be "global"; got {shown(self.scope)}. '
                'Planned is "task", one band for each task.'
            )
        check_flag("blind", self.blind)
        balance, beside = main_and_beside(self._balances(side))
        if isinstance(balance, Distribution) and balance.side == "upper":
            raise ValueError(
                'side="upper" puts one group on top, but a distance between '
                'distributions has no side; use side="both" with "distribution".'
            )
        if not hasattr(self.solver, "solve"):
            check_choice("solver", self.solver, SOLVERS)
        check_seed("random_state", self.random_state)
        solver = make_solver(
            self.solver,
            max_iter=check_count("max_iter", self.max_iter),
            tol=check_number("tol", self.tol, 0.0),
            random_state=self.random_state,
        )
        if beside and isinstance(solver, NCADMM | Paper):
            raise ValueError(
                f"solver={shown(self.solver)} keeps one balance at a time; got "
                f'{len(beside) + 1}. Use solver="tilt".'
            )
        return self._check_penalty(), balance, beside, solver

    def _for_several(self, solver: Solver, n_groups: int) -> Tilt:
        if not isinstance(solver, Tilt):
            raise ValueError(
                f"solver={shown(self.solver)} knows two groups; sensitive_features has "
                f'{n_groups}. Use solver="tilt".'
            )
        if self.side == "upper":
            raise ValueError(
                f'side="upper" puts one of two groups on top; of {n_groups} groups not '
                'all can stand above the rest. Use side="both".'
            )
        return solver

    def _balances(self, side: str) -> list[Balance]:
        """Return the balances asked for, each with its own epsilon."""
        asked = self.balance if isinstance(self.balance, list | tuple) else None
        names = [self.balance] if asked is None else list(asked)
        if not names:
            raise ValueError("balance is an empty list; name at least one balance.")
        widths: Any = self.epsilon
        if asked is None and isinstance(widths, list | tuple | np.ndarray):
            raise ValueError(
                f"epsilon holds {len(widths)} numbers, but balance={self.balance!r} is "
                "one balance; give a list of balances, or one number."
            )
        if asked is None or not isinstance(widths, list | tuple | np.ndarray):
            widths = [self.epsilon] * len(names)
        if len(widths) != len(names):
            raise ValueError(
                f"epsilon holds {len(widths)} numbers for {len(names)} balances; give "
                "one for each, or a single number for all."
            )
        balances = []
        for name, width in zip(names, widths, strict=True):
            if not isinstance(name, Balance):
                check_choice("balance", name, BALANCES)
            own = type(name) if isinstance(name, Balance) else BALANCES[name]
            most = WIDEST.get(own, math.inf)
            epsilon = check_number("epsilon", width, 0.0, most)
            balances.append(make_balance(name, epsilon, side))
        kinds = [type(each).__name__.lower() for each in balances]
        for kind in kinds:
            if kinds.count(kind) > 1:
                raise ValueError(f'balance names "{kind}" {kinds.count(kind)} times.')
        return balances

    def _attributes(
        self, solution: Solution, rows: Rows, X: Any, asked: tuple[Balance, ...]
    ) -> dict[str, Any]:
        reached = _came_to(solution, asked)
        of_groups = _group_aucs(solution, rows, reached.get("rank"))
        # Of two groups it is that of A, the last; of several the farthest off.
        last = [*of_groups.values()][-1:] if rows.groups is None else of_groups.values()
        worst = max(last, key=_off_level, default=math.nan)
        return {
            **linear_attributes(solution, rows, X),
            "groups_": rows.layout.groups,
            "status_": str(solution.status),
            "rank_auc_": worst,
            "group_auc_": of_groups,
            "balance_": reached,
            "multiplier_": solution.multiplier,
            "stationarity_": solution.stationarity,
            "trace_": [(step.objective, step.auc) for step in solution.trace],
        }


class MultiTaskRegressor(TaskRegressor):
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
        progress = Progress(self, X, y)
        solution = fit_unconstrained(self._problem(rows), penalty)
        fitted = linear_attributes(solution, rows, X)
        progress.close(fitted)
        self._store(fitted)
        return self


def _check_not_distribution(balance: Balance, n_groups: int) -> None:
    if isinstance(balance, Distribution):
        raise ValueError(
            f'balance="distribution" compares two groups; sensitive_features has '
            f'{n_groups}. Use balance="rank", or RankFairPostprocessor, whose '
            '"distribution" takes any number of groups.'
        )


def _came_to(solution: Solution, asked: tuple[Balance, ...]) -> dict[str, float]:
    """Return the value of each balance by name, of several groups the farthest off."""
    if not asked:
        return {}
    values = np.reshape((solution.auc, *solution.beside), (len(asked), -1))
    found = {}
    for balance, of_groups in zip(asked, values.tolist(), strict=True):
        off = _off_level if isinstance(balance, Rank) else abs
        found[type(balance).__name__.lower()] = max(of_groups, key=off)
    return found


def _off_level(auc: float) -> float:
    return abs(auc - 0.5)


def _warn_not_reached(
    status: Status, asked: tuple[Balance, ...], reached: dict[str, float]
) -> None:
    if status in (Status.INFEASIBLE, Status.MAX_ITER):
        said = map(_reached, asked, reached.values())
        warnings.warn(
            f"{status.value} Reached: {'; '.join(said)}.{_help(status, asked)}",
            ConvergenceWarning,
            stacklevel=4,
        )


def _reached(balance: Balance, value: float) -> str:
    """What a balance came to, beside what was asked."""
    if isinstance(balance, Rank):
        asked = (
            f"within {balance.epsilon:g} of 0.5" if balance.epsilon else "exactly 0.5"
        )
        return f"AUC {value:.4f}, asked for {asked}"
    if isinstance(balance, Distribution):
        return f"KS {value:.4f}, asked for {balance.epsilon:g}"
    kind = type(balance).__name__.lower()
    return f"{kind} imbalance {value:.4g}, asked for {balance.epsilon:g}"


def _help(status: Status, asked: tuple[Balance, ...]) -> str:
    """What brings distributions closer than a linear model can."""
    distribution = any(isinstance(each, Distribution) for each in asked)
    if status is not Status.INFEASIBLE or not distribution:
        return ""
    return (
        " A larger epsilon, the group among the predictors (blind=False), more tasks, "
        "or RankFairPostprocessor on an unconstrained fit can help."
    )


def _group_aucs(
    solution: Solution, rows: Rows, counted: float | None
) -> dict[Any, float]:
    """Return the AUC of each group over the rest; of two it may be counted already."""
    if rows.in_a is None or rows.layout.groups is None:
        return {}
    labels = rows.layout.groups.tolist()
    if rows.groups is None and counted is not None:
        return dict(zip(labels, (1 - counted, counted), strict=True))
    m = linear_predict(rows.X, rows.codes, solution.coef, solution.intercept)
    codes = rows.in_a if rows.groups is None else rows.groups
    return {label: _auc(m, codes == g, rows.weights) for g, label in enumerate(labels)}


def _auc(m: Floats, in_a: NDArray[np.bool_], weights: Floats | None) -> float:
    w = np.ones(len(m)) if weights is None else weights
    a, b = w[in_a], w[~in_a]
    return float(twice_u(m[in_a], m[~in_a], a, b) / (2 * a.sum() * b.sum()))
