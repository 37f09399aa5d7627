"""Penalty, β, ε and trade-off by cross-validation, rows left out within tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper.cases import Bools, Floats, Rows, dealt
from paper.methods import METHODS, Choices
from paper.settings import Settings

UNKNOWN = (float("inf"), float("nan"))

# The parameter, and the method whose error chooses it.
PARAMETERS = {
    "beta": "unconstrained",
    "beta_shared": "unconstrained",
    "beta_paper": "Rank (paper)",
    "epsilon": "Rank",
    "trade_off": "SDBC (ADM)",
}


def candidates(parameter: str, settings: Settings) -> tuple[float, ...]:
    """Return the values of a parameter that are tried."""
    return settings.epsilons if parameter == "epsilon" else settings.grid


def folds(tasks: NDArray[Any], most: int, seed: int) -> Iterator[Bools]:
    """Give the rows of each fold; every task keeps rows outside of it.

    There are at most ``most`` folds, and no more than the smallest task has rows.

    Examples
    --------
    >>> [fold.sum().item() for fold in folds(np.repeat(["a", "b"], 3), 10, 0)]
    [2, 2, 2]
    """
    place, size = dealt(tasks, [seed, 2])
    number = min(most, int(size.min()))
    for each in range(number):
        yield place % number == each


def left_out(
    parameter: str, value: float, chosen: Choices, rows: Rows, settings: Settings
) -> Floats:
    """Return predictions of every row by a fit that did not see it.

    The fits try one value of a parameter; the others are as chosen before.
    """
    method = METHODS[PARAMETERS[parameter]]
    tried = _with(chosen, parameter, value)
    predicted = np.empty(len(rows.y))
    for fold in folds(rows.tasks, settings.folds, settings.seed):
        predict = method(rows.take(~fold), tried, settings.seed)
        predicted[fold] = predict(rows.take(fold))
    return predicted


def choose(records: Iterable[Mapping[str, Any]], data: str) -> Choices:
    """Return the values with the least error for a dataset; the first of equal ones.

    Records of kind "cv" count; a parameter without any keeps its default.  "beta" goes
    with the penalty "task", "beta_shared" with "shared": of the two the one with the
    lesser error is kept, as the weight of the penalty it goes with.

    Examples
    --------
    >>> tried = {"kind": "cv", "data": "wine", "method": "beta"}
    >>> choose([tried | {"value": 0.1, "rmse": 2.0}, tried | {"value": 1.0,
    ...     "rmse": 1.0}], "wine").beta
    1.0
    """
    best: dict[str, tuple[float, float]] = {}
    for row in records:
        if row["kind"] != "cv" or row["data"] != data or row.get("rmse") is None:
            continue
        found = (row["rmse"], row["value"])
        if row["method"] not in best or found[0] < best[row["method"]][0]:
            best[row["method"]] = found
    # The penalty of the paper's formula, unless tasks that share a model err less.
    own, shared = best.get("beta", UNKNOWN), best.get("beta_shared", UNKNOWN)
    best.pop("beta" if shared[0] < own[0] else "beta_shared", None)
    chosen = Choices()
    for parameter, (_, value) in best.items():
        chosen = _with(chosen, parameter, value)
    return chosen


def _with(chosen: Choices, parameter: str, value: float) -> Choices:
    if parameter == "beta_shared":
        return chosen._replace(penalty="shared", beta=value)
    return Choices(**chosen._asdict() | {parameter: value})
