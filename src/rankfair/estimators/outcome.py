"""What a fit came to: attributes of every linear estimator, and warnings."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rankfair.constraints import Constraint, Distribution, Mean, Rank
from rankfair.core.blocks import linear_predict
from rankfair.core.problem import Groups as RowGroups
from rankfair.core.ranks import Duels, counts_of
from rankfair.estimators.settings import FairSettings
from rankfair.estimators.trade_off import TradeOff, trade_off_of
from rankfair.input.arrays import Floats
from rankfair.input.columns import TrainingRows, feature_record, is_pair
from rankfair.input.errors import shown
from rankfair.input.groups import SensitiveGroups, plain_labels
from rankfair.penalties import Pool
from rankfair.solvers import Solution, Status
from rankfair.solvers.by_task import TaskSolution, TaskStatus

__all__ = [
    "attributes_at",
    "fitted_attributes",
    "linear_attributes",
    "reached",
    "spread",
    "warn_no_groups",
    "warn_not_reached",
    "warn_tasks",
]

NAMED = 3  # tasks that a warning names
OF_TASKS = ("task_auc_", "task_values_", "task_status_", "unbalanced_tasks_")


def linear_attributes(solution: Solution, rows: TrainingRows, X: Any) -> dict[str, Any]:
    """Return the fitted attributes that all estimators have."""
    penalty = solution.penalty
    return {
        **feature_record(X),
        "_layout": rows.layout,
        "predictors_": np.array(rows.layout.names, dtype=object),
        "tasks_": rows.layout.tasks,
        "coef_": solution.coef,
        "intercept_": solution.intercept,
        "shared_coef_": solution.shared_coef,
        "shared_intercept_": solution.shared_intercept,
        "resolution_": solution.resolution,
        "beta_": penalty.numbers if isinstance(penalty, Pool) else penalty.beta,
        "objective_": solution.objective,
        "n_iter_": solution.n_iter,
        "loo_predictions_": _left_out_predictions(solution, rows.kept),
    }


def fitted_attributes(
    model: Any,
    settings: FairSettings,
    solution: Solution,
    rows: TrainingRows,
    X: Any,
    auc: float | None = None,
) -> dict[str, Any]:
    """Return all attributes of a fitted `RankFairRegressor`.

    ``auc`` is that of two groups in training rows that are not in memory.
    """
    attributes, asked = rows.attributes, settings.constraints
    counts = _counts(solution, rows, auc)
    aucs = [of_groups for of_groups, _ in counts]
    # Of two groups it is that of A, the last; of several the farthest off.
    off = [[*it.values()][-1:] if len(it) == 2 else it.values() for it in aucs]
    return {
        **linear_attributes(solution, rows, X),
        "groups_": _by_name(attributes, [each.labels for each in attributes], None),
        "n_unknown_": _by_name(attributes, [it.n_unknown for it in attributes], 0),
        "bin_edges_": dict(rows.edges),
        # As they were: settings changed later mean nothing to this fit.
        "_group_columns": model.sensitive_features,
        "_intersect": bool(model.intersect),
        "status_": str(solution.status),
        "rank_auc_": max(itertools.chain(*off), key=_off_half, default=math.nan),
        "group_auc_": _by_name(attributes, aucs, {}),
        "pairwise_auc_": _by_name(attributes, [pairs for _, pairs in counts], {}),
        "constraint_values_": _came_to(solution, asked),
        "loo_auc_": max(solution.left_out_aucs, key=_off_half, default=math.nan),
        "proxy_auc_": max((0.5, *solution.proxy_aucs)) if asked else math.nan,
        "multiplier_": _multiplier(solution),
        "_trade_off": trade_off_of(solution, settings.solver, *asked),
        "_rows": _user_rows(solution, rows),
        **_task_attributes(solution, rows),
        "trace_": [(step.objective, step.auc) for step in solution.trace],
    }


def attributes_at(trade_off: TradeOff, asked: Constraint, model: Any) -> dict[str, Any]:
    """Return the attributes that another ε changes."""
    x, value, inside = trade_off.multiplier(asked)
    coef, intercept = trade_off.coefficients(x)
    k = len(model.tasks_)
    status = Status.SATISFIED if x else Status.INACTIVE
    fitted: dict[str, Any] = {
        "coef_": coef[:k],
        "intercept_": intercept[:k],
        "shared_coef_": coef[k] if len(coef) > k else None,
        "shared_intercept_": float(intercept[k]) if len(coef) > k else None,
        "status_": str(status if inside else Status.INFEASIBLE),
        "multiplier_": x,
        "constraint_values_": {type(asked).__name__.lower(): value},
        "rank_auc_": math.nan,
        "loo_auc_": math.nan,
        "loo_predictions_": None,
        "group_auc_": {},
        "pairwise_auc_": {},
        "objective_": math.nan,
        "trace_": [],
    }
    if trade_off.counted is None or trade_off.trained is None:
        return fitted
    lam = np.array([x])
    (auc,) = trade_off.trained.aucs(lam)
    fitted["rank_auc_"] = auc
    fitted["group_auc_"], fitted["pairwise_auc_"] = _of_pair(auc, model.groups_)
    if trade_off.left_out:
        fitted["loo_auc_"] = trade_off.counted.aucs(lam)[0]
        places, n_rows = model._rows
        rows = slice(None) if trade_off.rows is None else trade_off.rows
        found = np.full(n_rows, np.nan)
        found[places[rows]] = trade_off.counted.at(lam)
        fitted["loo_predictions_"] = found
    return fitted


def _left_out_predictions(solution: Solution, kept: Any) -> Floats | None:
    """Return the prediction of each row by the fit without it, NaN where there is none.

    ``kept`` are the rows of those given that weigh something.  None if no row can be
    left out.
    """
    line = solution.line
    if line is None or line.left_out is None or not line.in_memory:
        return None
    order = line.fitter.rows.order
    found = np.full(len(order), np.nan)
    rows = slice(None) if line.rows is None else line.rows
    found[order[rows]] = line.left_out.at(np.array(solution.multipliers))
    return spread(found, kept)


def spread(values: Floats, kept: Any = None) -> Floats:
    """Return a value for every row that was given, NaN for those not ``kept``."""
    if kept is None:
        return values
    every = np.full(len(kept), np.nan)
    every[kept] = values
    return every


def _user_rows(
    solution: Solution, rows: TrainingRows
) -> tuple[NDArray[np.intp], int] | None:
    """Return the place of each sorted row among those given, and how many these are."""
    if solution.line is None or not solution.line.in_memory:
        return None
    order = solution.line.fitter.rows.order.astype(np.intp)
    if rows.kept is None:
        return order, len(order)
    return np.flatnonzero(rows.kept)[order], len(rows.kept)


def _counts(
    solution: Solution, rows: TrainingRows, auc: float | None
) -> list[tuple[dict[Any, float], dict[Any, dict[Any, float]]]]:
    """Return, for each attribute, the AUC of each group over the rest and of each pair.

    ``auc`` is that of two groups, where rows are not in memory.
    """
    if auc is not None:
        return [_of_pair(auc, rows.attributes[0].labels)]
    linear = solution.coef, solution.intercept, solution.resolution
    m = linear_predict(rows.X, rows.codes, *linear)
    weights = None if rows.weights is None else counts_of(rows.weights)
    if rows.in_a is not None and is_pair(rows.attributes):
        groups, rank = RowGroups(rows.in_a, weights), Rank()
        counted = rank.show(rank.value(m, groups), groups)
        return [_of_pair(counted, rows.attributes[0].labels)]
    found = []
    for each in rows.attributes:
        labels = each.labels.tolist()
        codes = each.codes.astype(np.intp, copy=False)
        duels = Duels.of(m, codes, len(labels), weights)
        of_rest = dict(zip(labels, duels.of_rest().tolist(), strict=True))
        found.append((of_rest, duels.by_label(labels)))
    return found


def _of_pair(
    auc: float, labels: NDArray[Any]
) -> tuple[dict[Any, float], dict[Any, dict[Any, float]]]:
    """Return the AUC of each of two groups over the rest, and of each pair."""
    b, a = labels.tolist()
    return {b: 1 - auc, a: auc}, {b: {a: 1 - auc}, a: {b: auc}}


def _multiplier(solution: Solution) -> float:
    """Return the multiplier of the constraint, of several the largest; NaN if none."""
    if solution.status is Status.INACTIVE:
        return 0.0
    return max(solution.multipliers, key=abs, default=math.nan)


def _by_name(
    attributes: tuple[SensitiveGroups, ...], values: list[Any], none: Any
) -> Any:
    """Return the value of the only attribute, or of several a dict by name."""
    if len(attributes) < 2:
        return values[0] if values else none
    return {each.name: value for each, value in zip(attributes, values, strict=True)}


def _values(solution: Solution, asked: tuple[Constraint, ...]) -> Floats:
    """What was reached: a row for each constraint, a column for each group compared."""
    return np.reshape(solution.values, (len(asked), -1))


def _came_to(solution: Solution, asked: tuple[Constraint, ...]) -> dict[str, float]:
    """Return each constraint's value, of several groups the farthest off."""
    if not asked:
        return {}
    return {
        type(constraint).__name__.lower(): max(values.tolist(), key=_off(constraint))
        for constraint, values in zip(asked, _values(solution, asked), strict=True)
    }


def _off(constraint: Constraint) -> Callable[[float], float]:
    return lambda value: abs(value - constraint.middle)


def _off_half(auc: float) -> float:
    return abs(auc - 0.5)


def _task_attributes(solution: Solution, rows: TrainingRows) -> dict[str, Any]:
    """Return what became of each task; None where tasks were not asked."""
    if not isinstance(solution, TaskSolution):
        return dict.fromkeys(OF_TASKS)
    status = np.array([str(each) for each in solution.task_status])
    unbalanced = _unbalanced(solution, rows)
    values = (solution.task_aucs, solution.task_values, status, unbalanced)
    return dict(zip(OF_TASKS, values, strict=True))


def _unbalanced(solution: TaskSolution, rows: TrainingRows) -> dict[Any, str]:
    """Return the tasks without a band, or outside it, and why."""
    assert rows.layout.groups is not None
    groups = rows.layout.groups.tolist()
    found = {}
    labels = plain_labels(rows.layout.tasks.tolist())
    for j, status in enumerate(solution.task_status):
        if status is TaskStatus.ONE_GROUP_ONLY:
            absent = [
                shown(group)
                for group, total in zip(groups, solution.task_totals[j], strict=True)
                if not total > 0
            ]
            found[labels[j]] = f"It has no rows of group {' or '.join(absent)}."
        elif status is TaskStatus.INFEASIBLE:
            came = f"{solution.task_values[j]:.4g}"
            found[labels[j]] = f"{status.value} It came to {came}."
    return found


def warn_no_groups() -> None:
    """Say that there is nothing to balance."""
    warnings.warn(
        "fit got no sensitive_features: there is nothing to balance, and the fit is "
        "unconstrained. Name a column of X in the constructor or pass labels to fit.",
        UserWarning,
        stacklevel=4,
    )


def warn_not_reached(
    solution: Solution,
    asked: tuple[Constraint, ...],
    attributes: tuple[SensitiveGroups, ...],
    advice: str = "",
) -> None:
    """Warn if a band was not reached: what came instead, and what can help."""
    if solution.status not in (Status.INFEASIBLE, Status.MAX_ITER):
        return
    said = reached(solution, asked, attributes)
    pairs = zip(said, asked, strict=True)
    came = "; ".join(f"{it}, asked for {_asked_for(each)}" for it, each in pairs)
    told = f"{solution.status.value} Reached: {came}."
    if solution.status is Status.INFEASIBLE:
        told += _help(asked)
    warnings.warn(f"{told}{advice}", ConvergenceWarning, stacklevel=4)


def reached(
    solution: Solution,
    asked: tuple[Constraint, ...],
    attributes: tuple[SensitiveGroups, ...],
) -> list[str]:
    """Return what each constraint came to, in each attribute."""
    ends = np.cumsum([len(each.masks()) for each in attributes])[:-1]
    pairs = zip(asked, _values(solution, asked), strict=True)
    return [_reached(each, np.split(row, ends), attributes) for each, row in pairs]


def _reached(
    constraint: Constraint, parts: list[Floats], attributes: tuple[SensitiveGroups, ...]
) -> str:
    """The value farthest off in each attribute."""
    worst = [max(part.tolist(), key=_off(constraint)) for part in parts]
    digits = ".4f" if isinstance(constraint, Rank | Distribution) else ".4g"
    said = [f"{value:{digits}}" for value in worst]
    if len(attributes) > 1:
        names = [each.name for each in attributes]
        said = [f"{it} for {name}" for it, name in zip(said, names, strict=True)]
    names_of = {Rank: "AUC", Distribution: "KS"}
    kind = f"{type(constraint).__name__.lower()} imbalance"
    return f"{names_of.get(type(constraint), kind)} {', '.join(said)}"


def _asked_for(constraint: Constraint) -> str:
    if not isinstance(constraint, Rank):
        return f"{constraint.epsilon:g}"
    within = f"within {constraint.epsilon:g} of 0.5"
    return within if constraint.epsilon else "exactly 0.5"


def _help(asked: tuple[Constraint, ...]) -> str:
    """What is left to do where no fit was found."""
    said = ""
    if all(isinstance(each, Rank | Distribution | Mean) for each in asked):
        said = " A constant prediction would satisfy the constraint; it was not used."
    if any(isinstance(each, Distribution) for each in asked):
        said += " RankFairPostprocessor on an unconstrained fit reaches any KS."
    return said


def warn_tasks(solution: Solution, rows: TrainingRows) -> None:
    """Say how many tasks are outside their band, or that none has one."""
    if not isinstance(solution, TaskSolution):
        return
    states, names = solution.task_status, rows.layout.tasks.tolist()
    alone = states.count(TaskStatus.ONE_GROUP_ONLY)
    if alone == len(states):
        warnings.warn(
            "no task has rows of both groups: there is nothing to balance within "
            'tasks. scope="global" constrains all rows together.',
            UserWarning,
            stacklevel=4,
        )
    outside = states.count(TaskStatus.INFEASIBLE)
    if outside:
        far = [names[j] for j, s in enumerate(states) if s is TaskStatus.INFEASIBLE]
        warnings.warn(
            f"{outside} of {len(states) - alone} tasks with both groups are outside "
            f"their band, {', '.join(map(shown, far[:NAMED]))}"
            f"{' and others' if outside > NAMED else ''}; see unbalanced_tasks_.",
            ConvergenceWarning,
            stacklevel=4,
        )
