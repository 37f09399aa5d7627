"""Penalty, β, ε and trade-off by cross-validation, rows left out within tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rankfair.experiments.methods import Bools, Floats, Rows
from rankfair.experiments.reproduce.methods import METHODS, Choices
from rankfair.experiments.reproduce.settings import Settings

__all__ = ["PARAMETERS", "candidates", "choose", "folds", "left_out"]

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
    """Return the values that are tried.

    Parameters
    ----------
    parameter : {"beta", "beta_shared", "beta_paper", "epsilon", "trade_off"}
    settings : Settings

    Returns
    -------
    tuple of float

    Examples
    --------
    >>> candidates("epsilon", Settings())
    (0.0, 0.001, 0.002, 0.005)
    """
    return settings.epsilons if parameter == "epsilon" else settings.grid


def folds(tasks: Any, most: int, seed: int) -> Iterator[Bools]:
    """Give the rows of each fold; every task keeps rows outside of it.

    Parameters
    ----------
    tasks : array of shape (N,)
        The task of each row.
    most : int
        As many folds, or as the smallest task has rows if that is less.
    seed : int
        Rows are dealt at random.

    Yields
    ------
    boolean ndarray of shape (N,)

    Examples
    --------
    >>> tasks = np.repeat(["a", "b"], 3)
    >>> [fold.sum().item() for fold in folds(tasks, 10, 0)]
    [2, 2, 2]
    """
    rng = np.random.default_rng([seed, 2])
    order = np.lexsort((rng.random(len(tasks)), tasks))
    _, starts, sizes = np.unique(tasks[order], return_index=True, return_counts=True)
    number = min(most, int(sizes.min()))
    fold = np.empty(len(tasks), dtype=int)
    fold[order] = (np.arange(len(tasks)) - np.repeat(starts, sizes)) % number
    for each in range(number):
        yield fold == each


def left_out(
    parameter: str, value: float, chosen: Choices, rows: Rows, most: int, seed: int
) -> Floats:
    """Return predictions of every row by a fit that did not see it.

    Parameters
    ----------
    parameter : {"beta", "beta_shared", "beta_paper", "epsilon", "trade_off"}
        What is tried; `PARAMETERS` says with which method.
    value : float
        The value tried.
    chosen : Choices
        The parameters already chosen.
    rows : Rows
        The rows to learn from.
    most, seed : int
        See `folds`.

    Returns
    -------
    ndarray of shape (N,)

    Examples
    --------
    >>> from rankfair.datasets import make_biased_tasks
    >>> rows = Rows.of(make_biased_tasks(3, 20, random_state=0))
    >>> left_out("beta", 1.0, Choices(), rows, 5, 0).shape
    (60,)
    """
    method = METHODS[PARAMETERS[parameter]]
    tried = _with(chosen, parameter, value)
    predicted = np.empty(len(rows.y))
    for fold in folds(rows.tasks, most, seed):
        predict = method(rows.take(~fold), tried, seed)
        predicted[fold] = predict(rows.take(fold))
    return predicted


def choose(records: Iterable[Mapping[str, Any]], data: str) -> Choices:
    """Return the values with the least error; the first of equal ones.

    "beta" goes with the penalty "task", "beta_shared" with "shared": of the two the one
    with the lesser error is kept, as the weight of the penalty it goes with.

    Parameters
    ----------
    records : iterable of dict
        Those of kind "cv" count; a parameter without any keeps its default.
    data : str
        The dataset.

    Returns
    -------
    Choices

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
