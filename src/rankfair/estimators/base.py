"""What all linear estimators share: settings, prediction, progress, results.

The settings of an estimator are the fields of a dataclass.  They are checked, and names
become objects of the registries.  `fit` sets fitted attributes all at once and last: an
interrupted fit leaves a new estimator unfitted and an old one as it was.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from rankfair.constraints import (
    CONSTRAINTS,
    SIDES,
    main_and_beside,
    refuse_upper,
)
from rankfair.constraints.base import Constraint
from rankfair.core.blocks import linear_predict, power_of_two
from rankfair.core.problem import Problem
from rankfair.engines.base import check_room
from rankfair.engines.streams import predict_elsewhere
from rankfair.input.arrays import Floats
from rankfair.input.errors import (
    Argument,
    InputError,
    Words,
    as_given,
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_jobs,
    check_number,
    check_seed,
    check_verbose,
    counted,
    shown,
)
from rankfair.input.folds import check_cv
from rankfair.input.frames import (
    InputTable,
    finite_predictions,
    open_table,
    read_target,
)
from rankfair.input.groups import GROUPS, SensitiveGroups, group_labels, label_source
from rankfair.input.training import (
    Columns,
    TrainingRows,
    is_pair,
    read_new,
    refuse_other_names,
    refuse_unseen_tasks,
    text_names,
)
from rankfair.penalties import PENALTIES
from rankfair.penalties.base import Penalty
from rankfair.penalties.pool import Pool
from rankfair.solvers import SOLVERS, Solver
from rankfair.solvers.admm import NCADMM, Paper, only_rank
from rankfair.solvers.base import Request, Step
from rankfair.solvers.tilt import Tilt


def r_squared(y: Any, predicted: Floats, sample_weight: Any) -> float:
    """Return R².  It has no unit: scaled, squares neither overflow nor vanish."""
    observed = read_target(y)
    scale = power_of_two(float(np.abs(observed).max()))
    return float(
        r2_score(observed / scale, predicted / scale, sample_weight=sample_weight)
    )


# Settings that several constructors have


@dataclass(eq=False, repr=False, kw_only=True)
class ColumnSettings:
    """The columns of groups."""

    sensitive_features: Any = None
    blind: bool = True


@dataclass(eq=False, repr=False, kw_only=True)
class BandSettings(ColumnSettings):
    """What is to be equal between groups, and how these are read."""

    intersect: bool = False
    bins: int | None = None
    constraints: Any = "rank"
    side: Literal["both", "upper"] = "both"
    random_state: Any = None
    verbose: int = 0


@dataclass(eq=False, repr=False, kw_only=True)
class LinearSettings:
    """What all linear models are told."""

    tasks: Any = None
    standardize: bool = True
    unseen: Literal["error", "shared"] = "error"
    verbose: int = 0


# What fits find


class FittedRegressor(RegressorMixin, BaseEstimator):
    """A regressor that stores all it has found at once, and last."""

    # Set by `fit`.
    status_: str
    objective_: float
    resolution_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def _store(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "resolution_")

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, and below it what the fit came to."""
        found: str = estimator_html_repr(self)
        if not hasattr(self, "status_"):
            return found
        off = abs(getattr(self, "rank_auc_", math.nan) - 0.5)
        gap = "" if math.isnan(off) else f", |AUC − 1/2| = {off:.4f}"
        return f"{found}<p>{self.status_}{gap}</p>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


class GroupLabels(ColumnSettings, FittedRegressor):
    """How groups are read, and those of new rows as training read them."""

    # Settings of those that have them.
    tasks: Any = None
    intersect: bool
    bins: int | None = None

    # Set by `fit`, as they were then.
    _group_columns: Any
    _intersect: bool
    bin_edges_: dict[str, Floats]
    groups_: Any
    n_unknown_: Any
    rank_auc_: float
    group_auc_: dict[Any, Any]
    pairwise_auc_: dict[Any, Any]
    constraint_values_: dict[str, float]
    multiplier_: float
    trace_: list[tuple[float, float]]
    # Of models around others.
    estimator_: Any
    oof_predictions_: Floats
    n_refits_: int
    maps_: dict[Any, Any]
    ks_: float
    wasserstein_: float
    mean_difference_: float
    theta_: float

    def _columns(self) -> Columns:
        """The columns of X that the constructor names, and how groups are read."""
        named = self.tasks, self.sensitive_features, self.blind, True, self.bins
        return Columns(*named, intersect=self.intersect)

    def group_labels(self, X: Any) -> dict[str, NDArray[Any]]:
        """Return the group of each row, read from X as in training.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
            Rows with the columns of training, those of `sensitive_features` among them.

        Returns
        -------
        dict of str to ndarray of shape (N,)
            Labels by feature, cut at the edges of training where it cut them, and
            combined where it combined them; None where the group is not known.

        Examples
        --------
        >>> from rankfair import RankFairRegressor
        >>> X = [[0.0, 31], [1.0, 67], [2.0, 20], [3.0, 44], [4.0, 35]]
        >>> model = RankFairRegressor(0.5, sensitive_features=1, bins=2)
        >>> _ = model.fit(X, [0.0, 2.0, 1.0, 3.5, 2.0])
        >>> model.group_labels([[1.0, 18], [2.0, 40]])
        {'x1': array(['[20, 35)', '[35, 67]'], dtype=object)}
        """
        check_is_fitted(self)
        source = label_source(GROUPS, self._group_columns, None, open_table(X))
        if source is None:
            raise InputError(
                GROUPS,
                "names no column of X: the groups were passed to fit or named by a "
                "stream, so the model does not know those of new rows",
                cure="Fit with the groups as a column of X, named in the constructor.",
            )
        return group_labels(source, self.bin_edges_, self._intersect)


def is_elsewhere(X: Any) -> bool:
    """Tell whether rows are in files or on a cluster."""
    of_dask = type(X).__module__.startswith(("dask.", "dask_"))
    return of_dask or getattr(X, "is_stream", False) is True


class TaskRegressor(LinearSettings, FittedRegressor, ABC):
    """What all linear estimators share: one linear model a task."""

    # Settings, each class has its own defaults.
    penalty: Any
    beta: Any

    # Set by `fit`.
    coef_: Floats
    intercept_: Floats
    tasks_: NDArray[Any]
    predictors_: NDArray[Any]
    shared_coef_: Floats | None
    shared_intercept_: float | None
    beta_: Any
    loo_predictions_: Floats | None
    n_iter_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: Any, *, tasks: Any = None) -> Floats:
        """Return ``x · coef_[task] + intercept_[task]`` for each row.

        Parameters
        ----------
        X : array-like, sparse or data frame of shape (N, `n_features_in_`), or Stream
            Rows with the columns of training, task and group columns among them.  A
            Dask frame gives a Dask series.
        tasks : array-like of shape (N,), optional
            The task of each row, if `fit` got them as an array.

        Returns
        -------
        ndarray of shape (N,)
            Multiples of ``resolution_``.  The prediction of a row does not depend on
            the other rows, to the last bit.

        Examples
        --------
        >>> from rankfair import MultiTaskRegressor
        >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> model.predict([[3.0]]).round(6).tolist()
        [7.0]
        """
        check_is_fitted(self)
        if is_elsewhere(X):
            found: Floats = predict_elsewhere(self, X, tasks)
            return found
        table = new_table(self, X, self._layout.unused)
        rows, codes, others = read_new(table, tasks, self._layout)
        coef, intercept = self.coef_, self.intercept_
        if others:
            shared, start = self.shared_coef_, self.shared_intercept_
            if self.unseen != "shared" or shared is None:
                refuse_unseen_tasks(others, codes, self._layout)
            assert shared is not None and start is not None
            codes = np.where(codes < 0, len(coef), codes)
            coef = np.vstack((coef, shared))
            intercept = np.append(intercept, start)
        with np.errstate(over="ignore", invalid="ignore"):
            m = linear_predict(rows, codes, coef, intercept, self.resolution_)
            return finite_predictions(m)

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, *, tasks: Any = None
    ) -> float:
        """Return R², the share of the target's variance that predictions explain.

        Parameters
        ----------
        X : array-like or data frame of shape (N, `n_features_in_`)
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
        >>> from rankfair import MultiTaskRegressor
        >>> model = MultiTaskRegressor(beta=0.0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> round(model.score([[0.0], [1.0]], [1, 3]), 6)
        1.0
        """
        return r_squared(y, self.predict(X, tasks=tasks), sample_weight)

    def state_without_rows(self) -> dict[str, Any]:
        """Return all attributes for a file: nothing in them is of a single row."""
        state = {**vars(self), "loo_predictions_": None}
        trade_off = state.get("_trade_off")
        if trade_off is not None:
            state["_trade_off"] = trade_off.without_rows()
        return state

    def _check_settings(self) -> Request:
        """Check all settings; return the penalty asked for."""
        check_settings(self)
        return check_penalty(self)

    def _problem(self, rows: TrainingRows, penalty: Penalty) -> Problem:
        n_tasks = len(rows.layout.tasks)
        check_room(n_tasks, rows.X.shape[1], penalty.copies)
        return Problem.from_rows(
            rows.X,
            rows.y,
            rows.codes,
            n_tasks,
            in_a=rows.in_a,
            weights=rows.weights,
            standardize=self.standardize,
            names=rows.layout.names,
        )

    @abstractmethod
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Any:
        """Fit the model."""


def new_table(model: Any, X: Any, unused: Sequence[int]) -> InputTable:
    """Return new rows with the columns of training; ``unused`` ones may be absent."""
    table = open_table(X)
    known = getattr(model, "feature_names_in_", None)
    names = text_names(table.rows)
    if names and known is not None:
        spare = {known[j] for j in unused} - {*names}
        refuse_other_names(names, [name for name in known if name not in spare])
        return InputTable(table.rows, tuple(known))
    validate_data(model, X, reset=False, skip_check_array=True)
    return table


class Progress:
    """Tell stderr how a fit goes on, where the estimator is ``verbose``."""

    def __init__(self, estimator: Any):
        self.name = type(estimator).__name__
        self.verbose = estimator.verbose
        self.tenth = 0

    def __call__(self, step: Step) -> None:
        """Report a step."""
        self._write(
            f"step {step.iteration}: objective {step.objective:.6g}, "
            f"constraint {step.auc:.4f}"
        )

    def rows(self, what: str, done: int, total: int) -> None:
        """Report how many rows of a pass are done, ten times a pass at most."""
        tenth = 10 * done // max(total, 1)
        if tenth != self.tenth:
            self._write(f"{what}: {done:,} of {total:,} rows")
            self.tenth = tenth

    def close(self, fitted: dict[str, Any]) -> None:
        """Report the end of the fit, with the attributes it found."""
        self._write(
            f"{fitted.get('status_', 'done')}: objective {fitted['objective_']:.6g}"
        )

    def _write(self, line: str) -> None:
        if self.verbose:
            sys.stderr.write(f"[{self.name}] {line}\n")


# Settings

# How each setting of a constructor is checked by itself.
CHOICES = {
    "count": ("loo", "train"),
    "direction": ("mean", "density"),
    "scope": ("global", "task", "both"),
    "side": SIDES,
    "unseen": ("error", "shared"),
}
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    **{name: partial(check_choice, valid=valid) for name, valid in CHOICES.items()},
    **dict.fromkeys(("blind", "intersect", "prefit", "standardize"), check_flag),
    **dict.fromkeys(("max_iter", "n_strata"), check_count),
    **dict.fromkeys(("tol", "trade_off"), partial(check_number, low=0.0)),
    "random_state": check_seed,
    "bins": lambda _, value: check_bins(value),
    "cv": lambda _, value: check_cv(value),
    "n_jobs": lambda _, value: check_jobs(value),
    "verbose": lambda _, value: check_verbose(value),
}


class FairSettings(NamedTuple):
    """What a fit is asked for."""

    request: Request
    constraints: tuple[Constraint, ...]  # the counted one, and linear ones beside it
    solver: Solver

    @property
    def counted_on(self) -> str:
        """Which rows are counted; solvers other than "tilt" know training rows."""
        return self.solver.count if isinstance(self.solver, Tilt) else "train"


def name_of(constraint: Constraint) -> str:
    """Return the name under which a constraint is asked for."""
    return type(constraint).__name__.lower()


def use(argument: str, value: str, otherwise: str = "") -> Words:
    """Return the cure of setting an argument to a value."""
    return "Use ", Argument(argument, value), f"{otherwise}."


def read_settings(model: Any) -> FairSettings:
    """Check the settings of a `RankFairRegressor`, each and together."""
    check_settings(model)
    asked, solver = read_constraints(model), model.solver
    if not hasattr(solver, "solve"):
        check_choice("solver", solver, SOLVERS)
        kind: Any = SOLVERS[solver]
        solver = kind(**{name: getattr(model, name) for name in kind.given})
    request = check_penalty(model, "task" if isinstance(solver, Paper) else "pool")
    if isinstance(solver, NCADMM | Paper):
        only_rank(asked, type(solver).__name__.lower())
    one, by_task = len(asked) == 1, model.scope != "global"
    if by_task and not (one and asked[0].by_task):
        rank = Argument("constraints", "rank")
        raise InputError(
            "scope",
            f"{shown(model.scope)} keeps one constraint in each task, and not every "
            "one can be asked there",
            " and ".join(shown(name_of(each)) for each in asked),
            ("Use ", Argument("scope", "global"), " or ", rank, "."),
        )
    for argument, value, usual in unusual(model, solver):
        several = argument == "direction" and not one
        if argument != "scope" and (by_task or several):
            only = 'is for one constraint over all rows (scope="global")'
            said = f"{shown(value)} {only}"
            raise InputError(argument, said, cure=use(argument, usual))
    loo = isinstance(solver, Tilt) and solver.count == "loo"
    if loo and not request.penalty.leverages:
        needs, cure = '"loo" needs a penalty with leverages', use("count", "train")
        raise InputError("count", needs, as_given(model.penalty), cure)
    return FairSettings(request, asked, solver)


def check_settings(model: Any) -> None:
    """Check each setting of a constructor by itself."""
    for name, check in CHECKS.items():
        if hasattr(model, name):
            check(name, getattr(model, name))


def check_penalty(model: Any, default: str = "pool") -> Request:
    """Return the penalty asked for.

    ``default`` is what ``penalty="pool"`` stands for.
    """
    plain = isinstance(model.penalty, str) and model.penalty == "pool"
    penalty = default if plain else model.penalty
    request = _request(penalty, model.beta)
    if model.unseen == "shared" and not request.penalty.shares:
        raise InputError(
            "unseen",
            '"shared" needs a penalty that fits a model of all tasks',
            as_given(penalty),
            cure=("Set ", Argument("penalty", "pool"), " or leave it out."),
        )
    return request


def _request(penalty: Any, beta: Any) -> Request:
    """Return the penalty with its β: given, or chosen by cross-validation."""
    if isinstance(penalty, Penalty):
        return Request(penalty, fixed=True)
    kind = PENALTIES[check_choice("penalty", penalty, PENALTIES)]
    if isinstance(beta, str):
        check_choice("beta", beta, ("auto",))
        return Request(kind())
    if np.ndim(beta) == 0:
        given = check_number("beta", beta, 0.0)
        return Request(kind(given), given, fixed=penalty != "pool")
    if penalty != "pool" or len(beta) != 3:
        named = Argument("penalty", "pool")
        raise InputError(
            "beta",
            ('must be "auto" or a number, or for ', named, " three numbers"),
            (f"{len(beta)} numbers for ", Argument("penalty", penalty)),
        )
    numbers = [check_number("beta", each, 0.0) for each in beta]
    return Request(Pool(numbers[0], numbers[1], numbers[2]), fixed=True)


def read_constraints(model: Any) -> tuple[Constraint, ...]:
    """Return the constraints asked for, the one that is counted first."""
    given, widths = model.constraints, model.epsilon
    several = isinstance(given, list | tuple)
    names = list(given) if several else [given]
    if not names:
        raise InputError("constraints", "is an empty list", cure="Name at least one.")
    if not (isinstance(widths, list | tuple | Mapping) or np.ndim(widths) > 0):
        widths = [widths] * len(names)
    elif isinstance(widths, Mapping) or not several or len(widths) != len(names):
        raise InputError(
            "epsilon",
            "must be one number for all constraints, or a list with one for each, in "
            "their order",
            (f"{as_given(widths)} for ", Argument("constraints", given)),
        )
    asked = []
    for name, width in zip(names, widths, strict=True):
        if isinstance(name, Constraint):
            asked.append(name)
        else:
            kind = CONSTRAINTS[check_choice("constraints", name, CONSTRAINTS)]
            epsilon = check_number("epsilon", width, 0.0, kind.widest)
            asked.append(kind(epsilon, model.side))
    kinds = [name_of(each) for each in asked]
    for own in kinds:
        if kinds.count(own) > 1:
            times = f"names {shown(own)} {kinds.count(own)} times"
            raise InputError("constraints", times, cure="Once is enough.")
    counted, beside = asked[0], tuple[Constraint, ...]()
    if len(asked) > 1:
        counted, beside = main_and_beside(asked)
    if counted.two_groups_only and counted.side == "upper":
        raise InputError(
            "side",
            '"upper" puts one group on top, but a distance between distributions has '
            "no side",
            cure=use("side", "both", ' with "distribution"'),
        )
    return counted, *beside


def unusual(model: Any, solver: Solver) -> Iterator[tuple[str, Any, str]]:
    """Settings that not every demand can be met with: name, value, the usual one."""
    if not isinstance(solver, Tilt):
        yield "solver", model.solver, "tilt"
    elif solver.direction != "mean":
        yield "direction", solver.direction, "mean"
    if model.scope != "global":
        yield "scope", model.scope, "global"


def check_groups(model: Any, settings: FairSettings, rows: TrainingRows) -> None:
    """Refuse what knows but two groups of one feature, known for all rows."""
    if is_pair(rows.attributes):
        return
    there, cure = _groups_there(rows.attributes)
    found, constraint = [*unusual(model, settings.solver)], settings.constraints[0]
    if constraint.two_groups_only:
        found.append(("constraints", name_of(constraint), "rank"))
    or_post = ', or RankFairPostprocessor, whose "distribution" takes any number'
    others = {"scope": f", or {cure}", "constraints": or_post}
    for argument, value, usual in found:
        raise InputError(
            argument,
            f"{shown(value)} takes two groups of one sensitive feature, known for "
            "all rows",
            (there, " in ", Argument("sensitive_features")),
            use(argument, usual, others.get(argument, "")),
        )
    most = max(len(each.labels) for each in rows.attributes)
    refuse_upper(settings.constraints, most)


def check_streamed(model: Any, settings: FairSettings, passed: dict[str, Any]) -> None:
    """Refuse what needs the rows in memory."""
    for name, value in passed.items():
        by_name = name == "sample_weight" and isinstance(value, str)
        if value is not None and not by_name:
            raise InputError(
                name,
                "was passed as an array, but the rows are not in memory",
                cure="Name its column in the constructor, or in stream(…).",
            )
    found: list[tuple[str, Any, Any]] = [*unusual(model, settings.solver)]
    (asked, *more), leave_out = settings.constraints, ("bins", "intersect")
    found += [(it, None, None) for it in leave_out if getattr(model, it)]
    if more or not asked.on_histograms:
        names = [name_of(each) for each in settings.constraints]
        found.append(("constraints", names if more else names[0], "rank"))
    for argument, value, usual in found:
        cure = use(argument, usual) if usual else "Leave it out."
        raise InputError(
            Argument(argument, value), "needs the rows in memory", cure=cure
        )


def _groups_there(attributes: tuple[SensitiveGroups, ...]) -> tuple[str, str]:
    """Say what is there where two known groups were expected, and what can be done."""
    if len(attributes) > 1:
        return f"{len(attributes)} features", "name one of them"
    (only,) = attributes
    if len(only.labels) > 2:
        return f"{len(only.labels)} groups", "merge groups"
    return f"{counted(only.n_unknown, 'row')} of unknown group", "leave these rows out"


def check_estimator(estimator: Any, *methods: str, cure: Words = "") -> None:
    """Refuse what is no regressor like scikit-learn's."""
    known = not isinstance(estimator, type)
    if not known or not all(hasattr(estimator, method) for method in methods):
        raise InputError(
            "estimator",
            f"must be a regressor with {', '.join(methods)}, as scikit-learn's have",
            as_given(estimator),
            cure,
        )
