"""Linear regression over many tasks with bands on what groups are predicted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, replace
from functools import update_wrapper
from importlib import import_module
from types import MethodType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rankfair.constraints.base import Constraint
from rankfair.engines.base import Engine
from rankfair.engines.chunked import ChunkedEngine, make_engine
from rankfair.engines.labels import Coding
from rankfair.engines.streams import open_rows
from rankfair.estimators.base import (
    BandSettings,
    FairSettings,
    GroupLabels,
    LinearSettings,
    Progress,
    TaskRegressor,
    check_groups,
    check_streamed,
    is_elsewhere,
    read_settings,
)
from rankfair.estimators.outcome import (
    attributes_at,
    cautions,
    finish,
    groups_of,
    no_groups,
    one_group_note,
    store_linear,
    tell,
)
from rankfair.input.arrays import Floats
from rankfair.input.errors import InputError
from rankfair.input.frames import read_target
from rankfair.input.groups import SensitiveGroups
from rankfair.input.training import (
    Columns,
    GroupEncoder,
    Layout,
    Named,
    TrainingRows,
    is_pair,
    read_training,
)
from rankfair.paths import Path
from rankfair.penalties import PenaltyName
from rankfair.penalties.base import Penalty
from rankfair.penalties.pool import Pool
from rankfair.solvers.base import Request, Solution, Status
from rankfair.solvers.by_task import solve_tasks
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import unconstrained
from rankfair.stats import certificate

FEW_ROWS = 1 << 17  # that are fitted once more for a word of advice
ALIKE = 1e-3  # of pairs of A and B: so many that are alike are worth a warning


class _OnLine:
    """A method of fits on a line; of others AttributeError says why there is none."""

    def __init__(self, method: Callable[..., Any]):
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self.method
        check_is_fitted(model)
        if model._trade_off is None:
            raise AttributeError(
                "the fits of all epsilon lie on a line for one constraint between two "
                'groups with penalty="pool" or "ridge", direction="mean", '
                'solver="tilt" and scope="global"; this model was fitted otherwise. '
                "Fit it for each epsilon, or use fairness_path."
            )
        return MethodType(self.method, model)


@dataclass(eq=False, repr=False, kw_only=True)
class TiltSettings(BandSettings, LinearSettings):
    """How a linear model comes into its band."""

    scope: Literal["global", "task", "both"] = "global"
    count: Literal["loo", "train"] = "loo"
    direction: Literal["mean", "density"] = "mean"
    solver: Any = "tilt"
    max_iter: int = 50
    tol: float = 1e-4


class FairRegressor(TiltSettings, GroupLabels, TaskRegressor):
    """Linear regressors that keep the gap between groups inside a band."""

    # Set by `fit`.
    loo_auc_: float
    proxy_auc_: float
    task_auc_: Floats | None
    task_values_: Floats | None
    task_status_: NDArray[Any] | None
    unbalanced_tasks_: dict[Any, Any] | None
    # Of a search.
    best_score_: float
    cv_results_: dict[str, Any]

    certify = certificate.certify


@dataclass(eq=False, repr=False)
class RankFairRegressor(FairRegressor):
    r"""Linear regression over many tasks that does not rank one group above another.

    Fits, over one coefficient vector :math:`w^j` and intercept a task, the least
    :math:`\tfrac12 \sum_j \|X^j w^j - y^j\|^2 + \beta R(W)` to :math:`y` and to the
    direction :math:`g = \pm 1 / n_\mathrm{group}`.  The fair fits of all
    :math:`\varepsilon` lie on the line between them, and exact counts choose the one
    nearest to the free fit with

    .. math:: |\mathrm{AUC} - \tfrac12| \le \varepsilon

    where AUC is the chance that a row of group A is predicted above a row of group B,
    ties counting half, over all rows of all tasks together, each row predicted by the
    fit without it.  No fit errs more on training rows than one constant.

    Parameters
    ----------
    epsilon : float or list of float, default=0.01
        Half width of the band around AUC = 1/2, in [0, 0.5].  The band is never
        narrower than one pair of rows; several counts at once are met within 0.0005 or
        one pair, the larger.  For "mean" and "residual", the largest difference
        allowed, in standard deviations of y; for "distribution" the largest distance
        KS, in [0, 1], never less than one row of either group.  With several
        constraints, one number for all or a list with one for each.
    tasks : str, int or list of them, optional
        The column of X, by name or position, that says which task a row is of; with
        several columns the tasks are their combinations.  It is no predictor.
    sensitive_features : str, int or list of them, optional
        The column of X that holds the group.  It is not a predictor unless
        ``blind=False``: then it is 1 for group A (the label that sorts last) and 0 for
        group B, and of three or more groups each but the first is a predictor of its
        own.  Of three or more groups each is balanced with the rest.  Several columns
        are several features, each balanced, all at once.  Rows whose group is missing
        (None, NaN, NA or NaT) take part in the loss and not in the constraint.
    blind : bool, default=True
        Leave the sensitive column of X out of the predictors.  Frames without it can be
        predicted then.  Groups passed to `fit` as an array are never predictors.
    intersect : bool, default=False
        Balance the combinations of several sensitive features, "F × black", as the
        groups of one, instead of each feature alone.  Combinations without rows do not
        exist, and at most 60 are allowed.  As predictors the columns stay what they
        are.
    bins : int, optional
        Cut a feature of more distinct numbers than that into so many quantiles,
        "[18, 35)", which are its groups.  As a predictor it stays a number.  Without
        `bins`, more than 20 distinct numbers (or 10, if some are fractions) are
        refused.
    constraints : str, Constraint or list of them, default="rank"
        What is to be equal between the groups: "rank", "mean" (predictions), "residual"
        (mean of y − ŷ) or, of two groups, "distribution" (KS, counted on the line;
        where the line does not reach it, `RankFairPostprocessor` does).  Of a list all
        are kept at once: ``["rank", "mean"]``, ``["distribution", "mean"]``.  An
        object brings its own epsilon and side.
    scope : {"global", "task", "both"}, default="global"
        Over which rows the constraint is asked: all together; in every task that has
        rows of both groups; or both at once.  "task" and "both" take one constraint,
        two groups and solver "tilt".
    side : {"both", "upper"}, default="both"
        "upper" asks for 0 ≤ AUC − 1/2 ≤ epsilon.
    penalty : {"pool", "ridge", "task", "feature", "shared"} or Penalty, default="pool"
        What :math:`R(W)` is.  "pool": coefficients and intercepts of tasks are pulled
        towards common ones, these slopes towards 0, all by squares.  "ridge": half the
        sum of squares.  "task": sum of the norms of each task's coefficients, as in the
        paper.  "feature": sum over features of the norm across tasks.  "shared": a
        shared vector plus an own part, whose norms are summed.
    beta : "auto", float or three floats, default="auto"
        Weight of the penalty, in standard units with `standardize`.  "auto": by
        generalised cross-validation, for y and for the direction apart.  For "pool" one
        number is β, the other two automatic, or three are β, that of intercepts and
        that of the common slopes; with one task the number is that of the slopes.  A
        number that is given serves y and the direction.  Not used if `penalty` is an
        object.
    count : {"loo", "train"}, default="loo"
        Where the band is met: on predictions of each row by the fit without it, or on
        those of training rows, as in the paper.  `scope` "task" and "both", and the
        solvers "ncadmm" and "paper", meet it on training rows whatever is set here.
    direction : {"mean", "density"}, default="mean"
        "density" turns the direction towards the gradient of AUC in at most 12 rounds,
        as the paper's problem has it: less error at the same AUC, and larger gaps of
        means and distributions.  It is for one constraint between two groups with
        ``scope="global"``; "ncadmm" and "paper" have no direction and do not use it.
    solver : {"tilt", "ncadmm", "paper"} or Solver, default="tilt"
        The algorithm.  "paper" takes ``penalty="task"`` where the penalty is the
        default.  "ncadmm" and "paper" keep one constraint between two groups.  An
        object brings its own settings: `count`, `direction`, `max_iter` and `tol` are
        not used then.
    standardize : bool, default=True
        Take features and y in units of their standard deviations, for the penalty and
        the objective.  `coef_` is in the units of X and y either way.
    unseen : {"error", "shared"}, default="error"
        What to do with a task not seen in training: refuse it, or predict with the
        shared coefficients (needs ``penalty="pool"`` or "shared").
    max_iter : int, default=50
        The most steps of "ncadmm" and "paper".
    tol : float, default=1e-4
        "ncadmm" stops when fit and projection differ by less than this share of
        their size, and "density" when the direction turns by less than ten times this.
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
        Labels of the groups, sorted; of two they are B and A.  With several features,
        a dict of such arrays by the name of the feature: that of its column, x3 for
        column 3 of an array, or group, or group 1, group 2, … for columns
        without a name passed to `fit`.
    n_unknown_ : int or dict of str to int
        Training rows of unknown group, by feature if there are several.
    bin_edges_ : dict of str to ndarray
        Where features were cut, by name: the start of each bin, and the end.
    beta_ : float or tuple of float
        The β that was used; of "pool" the three numbers.
    status_ : str
        "satisfied": the band is met.  "inactive": the unconstrained fit meets it.
        "infeasible": no fit that errs no more than one constant meets it; of those
        whose gap is within 0.001 of the least, the nearest to the free fit was kept.
        "max_iter": the steps ran out.
    loo_auc_ : float
        AUC of `loo_predictions_`; of more groups and features that of the group
        farthest from 1/2.
    loo_predictions_ : ndarray of shape (N,) or None
        The prediction of each training row by the fit without it, for an honest audit
        without a second sample.  Rows with the same task and predictors share the mean
        of theirs: left out, they would be ordered against their own targets.  NaN for
        the only row of a task and for rows that no fit can be without.
    proxy_auc_ : float
        How well the predictors tell the groups apart, left out: 1/2 if not at all.
    rank_auc_ : float
        AUC of the predictions of the training rows, A over B; of three or more groups,
        and of several features, that of the group farthest from 1/2.
    group_auc_ : dict
        AUC of each group over the rest, by label; with several features, a dict of
        such dicts by feature.
    pairwise_auc_ : dict
        AUC of the first group over the second, ``pairwise_auc_["M"]["F"]``; with
        several features, a dict of such dicts by feature.
    constraint_values_ : dict of str to float
        What each constraint came to where the band is met (see `count`): AUC for
        "rank", KS for "distribution", group A less group B in standard deviations of y
        for the others.  Of more groups and features it is the value farthest off.
    multiplier_ : float
        :math:`\lambda`, how far along the line the fit is, in standard units; of
        several the largest; 0 if the constraint is inactive, NaN of other solvers.
    resolution_ : float
        Predictions are multiples of it: a power of two, some 10⁻¹¹ of a standard
        deviation of y.  What ties does not depend on the processor then.
    objective_ : float
        Half the (weighted) sum of squared errors plus the penalty; with `standardize`,
        in standard units.
    n_iter_ : int
        Steps taken; 1 on a line.
    task_auc_ : ndarray of shape (n_tasks,) or None
        AUC within each task, NaN without both groups; None with ``scope="global"``, as
        are the next three.
    task_values_ : ndarray of shape (n_tasks,) or None
        What the constraint came to in each task.
    task_status_ : ndarray of shape (n_tasks,) or None
        "satisfied" or "inactive" as `status_`; "constant": the best fit found in the
        band predicts one value; "infeasible"; "one group only".
    unbalanced_tasks_ : dict or None
        Why, for each task, by label, that has no band or is not in it.
    trace_ : list of (objective, AUC)
        One pair a step; for another constraint than "rank", its value instead of AUC.
    n_features_in_ : int
        Columns of X, task and group columns among them.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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
    >>> abs(model.loo_auc_ - 0.5) <= 0.02
    True
    """

    epsilon: float = 0.01
    _: KW_ONLY
    penalty: PenaltyName | Penalty = "pool"
    beta: Any = "auto"

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
        X : array-like, sparse or data frame of shape (N, `n_features_in_`), or Stream
            Numbers; only task and group columns may hold other labels.  A `stream` of
            Parquet files, or a Dask frame, is fitted without being held in memory.
        y : array-like of shape (N,), or str
            The target; of a stream or a Dask frame its column.
        tasks : array-like of shape (N,) or (N, q), optional
            The task of each row, if no column of X says so; all rows are of one task
            if nothing does.
        sensitive_features : array-like of shape (N,) or (N, q), or dict, optional
            The group of each row, if no column of X says so.  It is not a
            predictor then.  Columns of an array or a frame, and entries of a dict, are
            features.
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
        passed = {
            "tasks": tasks,
            "sensitive_features": sensitive_features,
            "sample_weight": sample_weight,
        }
        penalty, notes, advice = settings.request.penalty, list[Warning](), ""
        with ExitStack() as files:
            if is_elsewhere(X):
                check_streamed(self, settings, passed)
                named, told = self._columns(), Progress(self).rows
                opened = open_rows(X, y, sample_weight, named, told)
                there = files.enter_context(opened)
                engine = make_engine(there, self.standardize, penalty.copies)
                rows = _standing_for(there.coding, engine)
                X = Named(there.coding.roles.names)
                solution = self._solve(rows, engine, settings)
                notes += _streamed_cautions(self, engine, solution)
            else:
                rows = read_training(X, y, self._columns(), **passed)
                check_groups(self, settings, rows)
                problem = self._problem(rows, penalty)
                solution = self._solve(rows, problem, settings)
                notes += cautions(self, settings, solution, rows)
                if solution.status is Status.INFEASIBLE and self.blind:
                    advice = self._with_the_group(X, y, passed, solution)
            notes += finish(self, settings, solution, rows, X, advice)
        tell(notes)
        return self

    def _with_the_group(
        self, X: Any, y: Any, passed: dict[str, Any], solution: Solution
    ) -> str:
        """Say what the group among the predictors would reach: one more fit.

        Where it is no column of X, or the fit takes long, it is not made.
        """
        line = solution.line
        quick = line is not None and line.fitter.penalty.quadratic
        named = passed["sensitive_features"] is None
        if not (named and quick and len(y) <= FEW_ROWS):
            return (
                " The group as a column of X, a predictor with blind=False, can help."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seeing = clone(self).set_params(blind=False).fit(X, y, **passed)
        m, values = seeing.loo_predictions_, {**seeing.constraint_values_}
        which = "training" if m is None or self.count == "train" else "left-out"
        if which == "training":
            m = seeing.predict(X, tasks=passed["tasks"])
        elif "rank" in values:
            values["rank"] = seeing.loo_auc_
        came = ", ".join(f"{name} {value:.4f}" for name, value in values.items())
        known = np.isfinite(m)
        error = np.sqrt(np.mean((np.asarray(y, float)[known] - m[known]) ** 2))
        does = "would not reach" if seeing.status_ == "infeasible" else "would reach"
        return (
            f" With the group among the predictors (blind=False) the fit {does} the "
            f"band: {came.replace('rank', 'AUC')}, with an RMSE of {error:.4g} on "
            f"{which} rows."
        )

    def _solve(self, rows: TrainingRows, engine: Any, how: FairSettings) -> Solution:
        """Solve for the groups of all rows, or for those of each task."""
        (request, constraints, solver), progress = how, Progress(self)
        if not rows.attributes:
            return unconstrained(engine, request)
        if isinstance(request.penalty, Pool):
            # The group's own common slope is free: the line is a constant shift then.
            pool = replace(request.penalty, exempt=rows.group_predictors)
            request = replace(request, penalty=pool)
        if self.scope == "global":
            demands = _demands(rows, engine, constraints)
            return solver.solve(engine, request, demands, progress)
        penalty = request.of_targets(engine, *engine.sums(()))[0]
        both = self.scope == "both"
        return solve_tasks(engine, penalty, constraints[0], progress, both)

    def _check_settings(self) -> Request:
        return read_settings(self).request

    @_OnLine
    def at(self, epsilon: float) -> RankFairRegressor:
        """Return the fitted model of another ε, without the data.

        Parameters
        ----------
        epsilon : float
            Half width of the band, as in the constructor.

        Returns
        -------
        RankFairRegressor
            A new model, whose `objective_` is not known (NaN).  One that was loaded
            from a file takes the next tighter ε of the table in the file.

        Examples
        --------
        >>> from rankfair.datasets import make_biased_tasks
        >>> data = make_biased_tasks(random_state=0)
        >>> model = RankFairRegressor(0.1, tasks="task", sensitive_features="z")
        >>> fair = model.fit(data.frame, data.target).at(0.0)
        >>> round(fair.loo_auc_, 3)
        0.5
        """
        constraint = self._trade_off.with_epsilon(epsilon)
        model: RankFairRegressor = clone(self).set_params(epsilon=epsilon)
        if isinstance(self.constraints, Constraint):
            model.constraints = constraint
        changed = attributes_at(self._trade_off, constraint, self)
        settings = model.get_params(deep=False)
        model.__dict__.update({**self.__dict__, **settings, **changed})
        return model

    @_OnLine
    def path(
        self, epsilons: Sequence[float] | None = None, reference: str | None = None
    ) -> Path:
        """Return error and gaps on left-out rows for many ε, without another fit.

        Parameters
        ----------
        epsilons : sequence of float, optional
            By default forty from 0 to the gap of the unconstrained fit.
        reference : str, optional
            The group that the other is compared with; by default the first.

        Returns
        -------
        Path
            A row for each ε.  A model that was loaded from a file has no rows: its
            figures are those of the table in the file, without intervals.

        Examples
        --------
        >>> from rankfair.datasets import make_biased_tasks
        >>> data = make_biased_tasks(random_state=0)
        >>> model = RankFairRegressor(0.1, tasks="task", sensitive_features="z")
        >>> path = model.fit(data.frame, data.target).path([0.0, 0.1])
        >>> path.column("gap").round(3).tolist()
        [0.0, 0.1]
        """
        labels = self.groups_.tolist(), self.tasks_.tolist()
        path: Path = self._trade_off.path(epsilons, *labels, reference)
        return path

    @_OnLine
    def plot_coefficients(self, scale: Any = None, ax: Any = None) -> Any:
        """Draw what the constraint took from each coefficient.

        Each predictor has three bars.  "free" is the coefficient without the
        constraint.  "tilt" is what the constraint takes from it or adds to it; it is
        large where the predictor tells of the group.  "fair" is their sum, the
        coefficient of this model.  With ``penalty="pool"`` these are the coefficients
        that all tasks share, with "ridge" means over tasks.

        Parameters
        ----------
        scale : array-like of shape (n_predictors,), optional
            What each predictor is changed by, in the order of `predictors_`: their
            standard deviations, if their units differ.  By default one unit.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            With three bars a predictor.
        """
        names = [*map(str, self.predictors_)]
        unit = np.ones(len(names)) if scale is None else read_target(scale, "scale")
        if len(unit) != len(names):
            said = f"has {len(unit)} values, but there are {len(names)} predictors"
            raise InputError("scale", said)
        coef, fair = self._trade_off.coef, self.coef_.mean(axis=0)
        free = coef.mean(axis=0)
        if self.shared_coef_ is not None:
            free, fair = coef[-1], self.shared_coef_
        bars = {"free": free * unit, "tilt": (fair - free) * unit, "fair": fair * unit}
        pictures = import_module("rankfair.report.pictures")
        axes = pictures.draw_coefficients(names, bars, ax)
        what = "one unit" if scale is None else "one step of scale"
        axes.set_xlabel(f"change of the prediction for {what} more")
        return axes


@dataclass(eq=False, repr=False)
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
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
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

    _: KW_ONLY
    penalty: PenaltyName | Penalty = "pool"
    beta: Any = "auto"

    def fit(
        self, X: Any, y: Any, *, tasks: Any = None, sample_weight: Any = None
    ) -> MultiTaskRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse or data frame of shape (N, `n_features_in_`)
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
        solution = unconstrained(self._problem(rows, request.penalty), request)
        store_linear(self, solution, rows, X, {})
        return self


def _demands(
    rows: TrainingRows, engine: Any, constraints: Sequence[Constraint]
) -> list[Demand]:
    """Return what is asked of each group against the rest, constraint by constraint."""
    groups = [engine.groups]
    if isinstance(engine, ChunkedEngine):
        constraints = [engine.posed(each) for each in constraints]
    elif not is_pair(rows.attributes):
        several = groups_of(rows.attributes, engine.user_groups.weights)
        groups = [each.take(engine.order) for each in several]
    return [Demand(each, own) for each in constraints for own in groups]


# Rows that are not in memory


def _streamed_cautions(
    model: Any, engine: Engine, solution: Solution
) -> Iterator[Warning]:
    """Return what a user should know of a fit to rows that are not in memory."""
    line, groups = solution.line, engine.groups
    if groups is None or line is None:
        yield no_groups()
        return
    if isinstance(engine, ChunkedEngine):
        rows, pairs = engine.total.alike()
        if line.counted(model.count) is line.left_out and pairs > ALIKE:
            yield UserWarning(
                f"{rows:.0%} of some of the rows have the task and the predictors of "
                "another one. Left out, such rows are ordered against their own "
                f"targets, which moves AUC by up to {pairs / 2:.2g}. Fit the rows in "
                'memory, where they count as ties, or use count="train".'
            )
    if model.blind:
        of_a = engine.sums([(1.0, 0.0)])[0][:, -1, 1]
        yield from one_group_note([np.column_stack((engine.counts - of_a, of_a))])


def _standing_for(coding: Coding, engine: Engine) -> TrainingRows:
    """Rows without rows: the labels and the layout that a frame would have.

    The share of group A predicts where the group is not known.
    """
    roles, labels = coding.roles, coding.group_labels
    place = {name: j for j, name in enumerate(roles.names)}
    protected, attributes = list[GroupEncoder](), list[SensitiveGroups]()
    unused: tuple[int, ...] = ()
    if roles.group is not None and roles.group in roles.predictors:
        assert engine.groups is not None
        total_a, total_b = engine.groups.total_a, engine.groups.total_b
        share = np.array([float(total_a / (total_a + total_b))])
        protected.append(GroupEncoder(place[roles.group], roles.group, labels, share))
    elif roles.group is not None and roles.group != roles.task:
        unused = (place[roles.group],)
    if labels is not None:
        both = np.array([0, 1])
        attributes.append(SensitiveGroups(both, labels, str(roles.group)))
    return TrainingRows(
        X=np.zeros((0, len(roles.predictors))),
        y=np.zeros(0),
        codes=np.zeros(0, np.intp),
        weights=None,
        layout=Layout(
            predictors=tuple(place[name] for name in roles.predictors),
            names=roles.predictors,
            task_columns=None if roles.task is None else (place[roles.task],),
            tasks=coding.task_labels,
            protected=tuple(protected),
            groups=labels,
            unused=unused,
        ),
        attributes=tuple(attributes),
    )
