"""What a fit came to: its attributes, and a warning where a band was not reached."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import Floats
from rankfair._groups import Groups, masks_of
from rankfair._regressor import linear_attributes
from rankfair._validation import Rows, is_pair
from rankfair.constraints import Constraint, Distribution, Mean, Rank
from rankfair.core.blocks import linear_predict
from rankfair.core.problem import Groups as RowGroups
from rankfair.core.problem import Problem, counted_weights
from rankfair.core.ranks import Duels, counts_of
from rankfair.estimators.scope import task_attributes
from rankfair.estimators.tradeoff import TradeOff, trade_off_of
from rankfair.solvers import Demand, Solution, Status

__all__ = ["attributes_at", "demands_of", "fitted_attributes", "warn_not_reached"]


def fitted_attributes(
    model: Any,
    solution: Solution,
    rows: Rows,
    X: Any,
    asked: tuple[Constraint, ...],
    auc: float | None = None,
) -> dict[str, Any]:
    """Return all attributes of a fitted `RankFairRegressor`.

    ``auc`` is that of two groups, where it is known and was not asked for.
    """
    attributes = rows.attributes
    reached = _came_to(solution, asked)
    counts = _counts(solution, rows, auc)
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
        "_group_columns": model.sensitive_features,
        "_intersect": bool(model.intersect),
        "status_": str(solution.status),
        "rank_auc_": worst,
        "group_auc_": _by_name(attributes, aucs, {}),
        "pairwise_auc_": _by_name(attributes, [pairs for _, pairs in counts], {}),
        "constraint_values_": reached,
        "loo_auc_": max(solution.left_out_aucs, key=_off_level, default=math.nan),
        "proxy_auc_": max((0.5, *solution.proxy_aucs)) if asked else math.nan,
        "multiplier_": _multiplier(solution),
        "_trade_off": trade_off_of(solution, model, asked[0]) if asked else None,
        "_rows": _user_rows(solution, rows),
        **task_attributes(solution, rows),
        "trace_": [(step.objective, step.auc) for step in solution.trace],
    }


def demands_of(
    rows: Rows, problem: Problem, asked: tuple[Constraint, ...]
) -> list[Demand]:
    """Return what is asked of each group against the rest, constraint by constraint."""
    if is_pair(rows.attributes):
        assert problem.groups is not None
        return [Demand(each, problem.groups) for each in asked]
    assert problem.user_groups is not None
    masks, known = masks_of(rows.attributes)
    parts = [None] * len(masks) if known is None else known
    weights = problem.user_groups.weights
    groups = [
        RowGroups(mask, counted_weights(weights, part)).take(problem.order)
        for mask, part in zip(masks, parts, strict=True)
    ]
    return [Demand(each, own) for each in asked for own in groups]


def _user_rows(solution: Solution, rows: Rows) -> tuple[NDArray[np.intp], int] | None:
    """Return the place of each sorted row among those given, and how many these are."""
    if solution.line is None or not solution.line.in_memory:
        return None
    order = solution.line.fitter.rows.order.astype(np.intp)
    if rows.kept is None:
        return order, len(order)
    return np.flatnonzero(rows.kept)[order], len(rows.kept)


def attributes_at(trade_off: TradeOff, asked: Constraint, model: Any) -> dict[str, Any]:
    """Return the attributes that another ε changes."""
    x, value, inside = trade_off.multiplier(asked)
    coef, intercept = trade_off.coefficients(x)
    k = len(model.tasks_)
    status = Status.INFEASIBLE
    if inside:
        status = Status.SATISFIED if x else Status.INACTIVE
    fitted: dict[str, Any] = {
        "coef_": coef[:k],
        "intercept_": intercept[:k],
        "shared_coef_": coef[k] if len(coef) > k else None,
        "shared_intercept_": float(intercept[k]) if len(coef) > k else None,
        "status_": str(status),
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
    b, a = model.groups_.tolist()
    fitted["rank_auc_"] = auc
    fitted["group_auc_"] = {b: 1 - auc, a: auc}
    fitted["pairwise_auc_"] = {b: {a: 1 - auc}, a: {b: auc}}
    if trade_off.left_out:
        fitted["loo_auc_"] = trade_off.counted.aucs(lam)[0]
        places, n_rows = model._rows
        rows = slice(None) if trade_off.rows is None else trade_off.rows
        found = np.full(n_rows, np.nan)
        found[places[rows]] = trade_off.counted.at(lam)
        fitted["loo_predictions_"] = found
    return fitted


def _training_auc(solution: Solution, rows: Rows) -> float:
    """Return the AUC of two groups in the predictions of training rows."""
    assert rows.in_a is not None
    m = linear_predict(
        rows.X, rows.codes, solution.coef, solution.intercept, solution.resolution
    )
    weights = None if rows.weights is None else counts_of(rows.weights)
    groups, rank = RowGroups(rows.in_a, weights), Rank()
    return rank.show(rank.value(m, groups), groups)


def _multiplier(solution: Solution) -> float:
    """Return the multiplier of the constraint, of several the largest; NaN if none."""
    if solution.status is Status.INACTIVE:
        return 0.0
    return max(solution.multipliers, key=abs, default=math.nan)


def _by_name(attributes: tuple[Groups, ...], values: list[Any], none: Any) -> Any:
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
    return _off_level if isinstance(constraint, Rank) else abs


def _off_level(auc: float) -> float:
    return abs(auc - 0.5)


def warn_not_reached(
    solution: Solution, asked: tuple[Constraint, ...], attributes: tuple[Groups, ...]
) -> None:
    """Warn if a band was not reached: what came instead, and what can help."""
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


def _reached(
    constraint: Constraint, values: Floats, attributes: tuple[Groups, ...]
) -> str:
    """What a constraint came to in each attribute, beside what was asked."""
    ends = np.cumsum([len(each.masks()) for each in attributes])
    worst = [
        max(part.tolist(), key=_off(constraint)) for part in np.split(values, ends[:-1])
    ]
    digits = ".4f" if isinstance(constraint, Rank | Distribution) else ".4g"
    said = [f"{value:{digits}}" for value in worst]
    if len(attributes) > 1:
        names = [each.name for each in attributes]
        said = [f"{it} for {name}" for it, name in zip(said, names, strict=True)]
    if isinstance(constraint, Rank):
        asked = (
            f"within {constraint.epsilon:g} of 0.5"
            if constraint.epsilon
            else "exactly 0.5"
        )
        return f"AUC {', '.join(said)}, asked for {asked}"
    if isinstance(constraint, Distribution):
        return f"KS {', '.join(said)}, asked for {constraint.epsilon:g}"
    kind = type(constraint).__name__.lower()
    return f"{kind} imbalance {', '.join(said)}, asked for {constraint.epsilon:g}"


def _help(status: Status, asked: tuple[Constraint, ...]) -> str:
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
) -> list[tuple[dict[Any, float], dict[Any, dict[Any, float]]]]:
    """Return, for each attribute, the AUC of each group over the rest and of each pair.

    That of two groups may be counted already.
    """
    if rows.attributes and is_pair(rows.attributes):
        if counted is None:
            counted = _training_auc(solution, rows)
        b, a = rows.attributes[0].labels.tolist()
        of_pair = {b: {a: 1 - counted}, a: {b: counted}}
        return [({b: 1 - counted, a: counted}, of_pair)]
    linear = solution.coef, solution.intercept, solution.resolution
    m = linear_predict(rows.X, rows.codes, *linear)
    weights = None if rows.weights is None else counts_of(rows.weights)
    found = []
    for each in rows.attributes:
        labels = each.labels.tolist()
        codes = each.codes.astype(np.intp, copy=False)
        duels = Duels.of(m, codes, len(labels), weights)
        of_rest = dict(zip(labels, duels.of_rest().tolist(), strict=True))
        found.append((of_rest, duels.by_label(labels)))
    return found
