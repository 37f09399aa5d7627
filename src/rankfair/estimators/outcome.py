"""What a fit came to: its attributes, and a warning where a band was not reached."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import Floats
from rankfair._groups import Groups
from rankfair._regressor import linear_attributes
from rankfair._validation import Rows, is_pair
from rankfair.balances import Balance, Distribution, Mean, Rank
from rankfair.estimators.scope import task_attributes
from rankfair.linear import linear_predict
from rankfair.ranks import Duels, counts_of
from rankfair.solvers import Solution, Status

__all__ = ["fitted_attributes", "warn_not_reached"]


def fitted_attributes(
    model: Any,
    solution: Solution,
    rows: Rows,
    X: Any,
    asked: tuple[Balance, ...],
    auc: float | None = None,
) -> dict[str, Any]:
    """Return all attributes of a fitted `RankFairRegressor`.

    ``auc`` is that of two groups, where it is known and was not asked for.
    """
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
        "_group_columns": model.sensitive_features,
        "_intersect": bool(model.intersect),
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


def _by_name(attributes: tuple[Groups, ...], values: list[Any], none: Any) -> Any:
    """Return the value of the only attribute, or of several a dict by name."""
    if len(attributes) < 2:
        return values[0] if values else none
    return {each.name: value for each, value in zip(attributes, values, strict=True)}


def _values(solution: Solution, asked: tuple[Balance, ...]) -> Floats:
    """What was reached: a row for each balance, a column for each group compared."""
    return np.reshape((solution.auc, *solution.beside), (len(asked), -1))


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


def warn_not_reached(
    solution: Solution, asked: tuple[Balance, ...], attributes: tuple[Groups, ...]
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
) -> list[tuple[dict[Any, float], dict[Any, dict[Any, float]]]]:
    """Return, for each attribute, the AUC of each group over the rest and of each pair.

    That of two groups may be counted already.
    """
    if rows.attributes and is_pair(rows.attributes) and counted is not None:
        b, a = rows.attributes[0].labels.tolist()
        of_pair = {b: {a: 1 - counted}, a: {b: counted}}
        return [({b: 1 - counted, a: counted}, of_pair)]
    m = linear_predict(rows.X, rows.codes, solution.coef, solution.intercept)
    weights = None if rows.weights is None else counts_of(rows.weights)
    found = []
    for each in rows.attributes:
        labels = each.labels.tolist()
        codes = each.codes.astype(np.intp, copy=False)
        duels = Duels.of(m, codes, len(labels), weights)
        of_rest = dict(zip(labels, duels.of_rest().tolist(), strict=True))
        found.append((of_rest, duels.by_label(labels)))
    return found
