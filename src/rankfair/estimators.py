"""The main estimators in scikit-learn's shape: check, solve, store."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rankfair._elsewhere import check_elsewhere, fit_elsewhere
from rankfair._frames import Floats, open_table, shown
from rankfair._groups import MOST_GROUPS, Bools, Groups, group_labels
from rankfair._regressor import (
    Progress,
    TaskRegressor,
    linear_attributes,
    warn_no_groups,
    with_callbacks,
)
from rankfair._scope import (
    SCOPES,
    check_scope,
    groups_there,
    solve_scope,
    task_attributes,
    warn_tasks,
)
from rankfair._validation import (
    Columns,
    Rows,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    is_pair,
    label_source,
    read_training,
)
from rankfair.balances import (
    BALANCES,
    SIDES,
    Balance,
    Distribution,
    Linear,
    Mean,
    Rank,
    main_and_beside,
    make_balance,
)
from rankfair.certificate import Certificate, certify
from rankfair.linear import linear_predict
from rankfair.penalties import Penalty
from rankfair.problem import whole_if_so
from rankfair.ranks import Duels
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
from rankfair.streams import is_elsewhere

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
        exist, and at most 50 are allowed.  As predictors the columns stay what they
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
        all rows, which meets every band but that of residuals).  "max_iter": the
        steps ran out.
    rank_auc_ : float
        AUC of the predictions of the training rows, A over B; of three or more groups,
        and of several attributes, that of the group farthest from 1/2.
    group_auc_ : dict
        AUC of each group over the rest, by label; with several attributes, a dict of
        such dicts by attribute.
    pairwise_auc_ : dict
        AUC of the first group over the second, by pair of labels; with several
        attributes, a dict of such dicts by attribute.
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
        penalty, balance, beside, solver = self._settings()
        named = Columns(
            self.tasks,
            self.sensitive_features,
            self.blind,
            several=True,
            bins=self.bins,
            intersect=self.intersect,
        )
        if is_elsewhere(X):
            passed = {
                "tasks": tasks,
                "sensitive_features": sensitive_features,
                "sample_weight": sample_weight,
            }
            check_elsewhere(self, solver, passed)
            asked = (balance, *beside)
            return self._fit_elsewhere(
                X, y, sample_weight, named, penalty, asked, solver
            )
        rows = read_training(
            X,
            y,
            named,
            tasks=tasks,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
        )
        progress = Progress(self, X, y)
        asked = (balance, *beside)
        if rows.in_a is None:
            warn_no_groups()
            solution, asked = fit_unconstrained(self._problem(rows), penalty), ()
        else:
            solution = self._solve(rows, penalty, asked, solver, progress)
        fitted = self._attributes(solution, rows, X, asked)
        progress.close(fitted)
        self._store(fitted)
        for note in rows.notes:
            warnings.warn(note, UserWarning, stacklevel=3)
        _warn_not_reached(solution, asked, rows.attributes)
        warn_tasks(solution, rows)
        return self

    def _solve(
        self,
        rows: Rows,
        penalty: Penalty,
        asked: tuple[Any, ...],
        solver: Solver,
        progress: Progress,
    ) -> Solution:
        """Solve for two groups, for several, or for those of each task."""
        balance, *beside = asked
        problem = self._problem(rows)
        if self.scope != "global":
            return solve_scope(
                self.scope, rows, problem, penalty, balance, solver, progress
            )
        if is_pair(rows.attributes):
            more = {"also": tuple(beside)} if beside else {}
            return solver.solve(problem, penalty, balance, on_step=progress, **more)
        settings = self._for_several(solver, rows.attributes)
        masks, known = _masks(rows.attributes)
        _check_not_distribution(balance, rows)
        return solve_groups(problem, penalty, asked, masks, settings, progress, known)

    def _fit_elsewhere(
        self,
        X: Any,
        y: Any,
        weight: str | None,
        named: Columns,
        penalty: Penalty,
        asked: tuple[Balance, ...],
        solver: Any,
    ) -> RankFairRegressor:
        """Fit rows in files or on a cluster."""
        progress = Progress(self, X, y)
        solution, rows, columns, auc = fit_elsewhere(
            self, X, y, weight, named, penalty, asked, solver, progress
        )
        asked = asked if rows.attributes else ()
        fitted = self._attributes(solution, rows, columns, asked, auc)
        progress.close(fitted)
        self._store(fitted)
        _warn_not_reached(solution, asked, rows.attributes)
        return self

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
                "fit, and the model cannot tell those of new rows."
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
        if sensitive_features is None and (self.bin_edges_ or self._intersect):
            found = self.group_labels(X)
            if calibrate:
                raise ValueError(
                    "calibrate=True moves predictions by the labels of one column of "
                    "X, but the groups of this model are cut by bins or combined by "
                    "intersect. Use RankFairPostprocessor, or fit again on more rows."
                )
            if len(found) == 1:
                (sensitive_features,) = found.values()
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
        check_choice("scope", self.scope, SCOPES)
        check_flag("blind", self.blind)
        check_flag("intersect", self.intersect)
        if self.bins is not None and check_count("bins", self.bins, 2) > MOST_GROUPS:
            raise ValueError(f"bins must be at most {MOST_GROUPS}; got {self.bins}.")
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
        check_scope(self.scope, solver, (balance, *beside))
        return self._check_penalty(), balance, beside, solver

    def _for_several(self, solver: Solver, attributes: tuple[Groups, ...]) -> Tilt:
        most = max(len(each.labels) for each in attributes)
        if not isinstance(solver, Tilt):
            have = f"{most}" if most > 2 else f"{len(attributes)} attributes"
            if most == 2 and len(attributes) == 1:
                have = f"{attributes[0].n_unknown} rows of unknown group"
            raise ValueError(
                f"solver={shown(self.solver)} knows two groups; sensitive_features has "
                f'{have}. Use solver="tilt".'
            )
        if self.side == "upper" and most > 2:
            raise ValueError(
                f'side="upper" puts one of two groups on top; of {most} groups not '
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
        several = isinstance(widths, list | tuple) or np.ndim(widths) > 0
        if asked is None and several:
            raise ValueError(
                f"epsilon holds {len(widths)} numbers, but balance={self.balance!r} is "
                "one balance; give a list of balances, or one number."
            )
        if not several:
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
        self,
        solution: Solution,
        rows: Rows,
        X: Any,
        asked: tuple[Balance, ...],
        auc: float | None = None,
    ) -> dict[str, Any]:
        attributes = rows.attributes
        reached = _came_to(solution, asked)
        counts = _counts(solution, rows, reached.get("rank", auc))
        aucs = [of_groups for of_groups, _ in counts]
        # Of two groups it is that of A, the last; of several the farthest off.
        off = [[*it.values()][-1:] if len(it) == 2 else it.values() for it in aucs]
        worst = max(itertools.chain(*off), key=_off_level, default=math.nan)
        return {
            **linear_attributes(solution, rows, X),
            "groups_": _by_name(attributes, [each.labels for each in attributes], None),
            "n_unknown_": _by_name(attributes, [it.n_unknown for it in attributes], 0),
            "bin_edges_": dict(rows.edges),
            # As they were: settings changed later mean nothing to this fit.
            "_group_columns": self.sensitive_features,
            "_intersect": bool(self.intersect),
            "status_": str(solution.status),
            "rank_auc_": worst,
            "group_auc_": _by_name(attributes, aucs, {}),
            "pairwise_auc_": _by_name(attributes, [pairs for _, pairs in counts], {}),
            "balance_": reached,
            "multiplier_": solution.multiplier,
            "stationarity_": solution.stationarity,
            **task_attributes(solution, rows),
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


def _masks(attributes: tuple[Groups, ...]) -> tuple[Bools, Bools | None]:
    """Return the groups to be held level with the rest, and whose group is known."""
    masks = [each.masks() for each in attributes]
    if all(each.known is None for each in attributes):
        return np.vstack(masks), None
    known = [
        np.broadcast_to(True if each.known is None else each.known, mask.shape)
        for each, mask in zip(attributes, masks, strict=True)
    ]
    return np.vstack(masks), np.vstack(known)


def _by_name(attributes: tuple[Groups, ...], values: list[Any], none: Any) -> Any:
    """Return the value of the only attribute, or of several a dict by name."""
    if len(attributes) < 2:
        return values[0] if values else none
    return {each.name: value for each, value in zip(attributes, values, strict=True)}


def _values(solution: Solution, asked: tuple[Balance, ...]) -> Floats:
    """What was reached: a row for each balance, a column for each group compared."""
    return np.reshape((solution.auc, *solution.beside), (len(asked), -1))


def _check_not_distribution(balance: Balance, rows: Rows) -> None:
    if isinstance(balance, Distribution):
        raise ValueError(
            f'balance="distribution" compares two groups; sensitive_features has '
            f'{groups_there(rows)}. Use balance="rank", or RankFairPostprocessor, '
            'whose "distribution" takes any number of groups.'
        )


def _came_to(solution: Solution, asked: tuple[Balance, ...]) -> dict[str, float]:
    """Return the value of each balance by name, of several groups the farthest off."""
    if not asked:
        return {}
    return {
        type(balance).__name__.lower(): max(values.tolist(), key=_off(balance))
        for balance, values in zip(asked, _values(solution, asked), strict=True)
    }


def _off(balance: Balance) -> Callable[[float], float]:
    return _off_level if isinstance(balance, Rank) else abs


def _off_level(auc: float) -> float:
    return abs(auc - 0.5)


def _warn_not_reached(
    solution: Solution, asked: tuple[Balance, ...], attributes: tuple[Groups, ...]
) -> None:
    if solution.status in (Status.INFEASIBLE, Status.MAX_ITER):
        values = _values(solution, asked)
        said = (
            _reached(each, row, attributes)
            for each, row in zip(asked, values, strict=True)
        )
        warnings.warn(
            f"{solution.status.value} Reached: {'; '.join(said)}."
            f"{_help(solution.status, asked)}",
            ConvergenceWarning,
            stacklevel=4,
        )


def _reached(balance: Balance, values: Floats, attributes: tuple[Groups, ...]) -> str:
    """What a balance came to in each attribute, beside what was asked."""
    ends = np.cumsum([len(each.masks()) for each in attributes])
    worst = [
        max(part.tolist(), key=_off(balance)) for part in np.split(values, ends[:-1])
    ]
    digits = ".4f" if isinstance(balance, Rank | Distribution) else ".4g"
    said = [f"{value:{digits}}" for value in worst]
    if len(attributes) > 1:
        names = [each.name for each in attributes]
        said = [f"{it} for {name}" for it, name in zip(said, names, strict=True)]
    if isinstance(balance, Rank):
        asked = (
            f"within {balance.epsilon:g} of 0.5" if balance.epsilon else "exactly 0.5"
        )
        return f"AUC {', '.join(said)}, asked for {asked}"
    if isinstance(balance, Distribution):
        return f"KS {', '.join(said)}, asked for {balance.epsilon:g}"
    kind = type(balance).__name__.lower()
    return f"{kind} imbalance {', '.join(said)}, asked for {balance.epsilon:g}"


def _help(status: Status, asked: tuple[Balance, ...]) -> str:
    """What is left to do where no fit was found."""
    if status is not Status.INFEASIBLE:
        return ""
    said = ""
    if all(isinstance(each, Rank | Distribution | Mean) for each in asked):
        said = " One value for all rows would meet it, and was not taken."
    if not any(isinstance(each, Distribution) for each in asked):
        return said
    return (
        f"{said} A larger epsilon or max_iter, the group among the predictors "
        "(blind=False), more tasks, or RankFairPostprocessor on an unconstrained fit "
        "can help."
    )


def _counts(
    solution: Solution, rows: Rows, counted: float | None
) -> list[tuple[dict[Any, float], dict[tuple[Any, Any], float]]]:
    """Return, for each attribute, the AUC of each group over the rest and of each pair.

    That of two groups may be counted already.
    """
    if rows.attributes and is_pair(rows.attributes) and counted is not None:
        b, a = rows.attributes[0].labels.tolist()
        return [({b: 1 - counted, a: counted}, {(a, b): counted, (b, a): 1 - counted})]
    m = linear_predict(rows.X, rows.codes, solution.coef, solution.intercept)
    weights = whole_if_so(rows.weights)
    found = []
    for each in rows.attributes:
        labels = each.labels.tolist()
        codes = each.codes.astype(np.intp, copy=False)
        duels = Duels.of(m, codes, len(labels), weights)
        of_rest = dict(zip(labels, duels.of_rest().tolist(), strict=True))
        found.append((of_rest, duels.by_label(labels)))
    return found
