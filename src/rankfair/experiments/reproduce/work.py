"""The work of a cell: fits, predictions, and the records of what they are like."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankfair.constraints import Rank
from rankfair.core.problem import Problem
from rankfair.experiments.methods import Floats, Rows
from rankfair.experiments.records import HELD_OUT, TRAIN, measure_more
from rankfair.experiments.reproduce.cases import Case, make_case
from rankfair.experiments.reproduce.cells import CV, PATH, STEPS, TABLE, Cell
from rankfair.experiments.reproduce.methods import METHODS, Choices, Method
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.tuning import candidates, left_out
from rankfair.penalties import Task
from rankfair.solvers import Demand, Paper, Request

__all__ = ["COLUMNS", "Record", "run_cell"]

Record = dict[str, Any]

COLUMNS = (
    *("kind", "data", "method", "repeat", "rows", "epsilon", "beta", "value", "step"),
    *("n", "n_a", "rmse", "auc", "gap", "md", "br", "irr", "ks", "wasserstein"),
    *("auc_se", "cluster", "projected_auc", "note", "error"),
)

# Predictions closer than this, in standard deviations of y, differ by rounding only:
# a model that demands have pinned to a constant ranks nobody.
FLAT = 1e-9


def run_cell(cell: Cell, settings: Settings, chosen: Choices) -> list[Record]:
    """Do the work of a cell.

    Parameters
    ----------
    cell : Cell
    settings : Settings
    chosen : Choices
        What the stages before have chosen for the dataset.

    Returns
    -------
    list of dict
        With keys out of `COLUMNS`. Nothing in them depends on the clock. A method that
        failed gives one record with the sentence in "error".

    Examples
    --------
    >>> tiny = Settings(n_tasks=4)
    >>> cell = Cell("table", "synthetic 0.9", "Rank")
    >>> [record["rows"] for record in run_cell(cell, tiny, Choices())]
    ['train', 'held-out']
    """
    case = make_case(cell.data, cell.repeat, settings)
    head = {
        "kind": cell.kind,
        "data": cell.data,
        "method": cell.method,
        "repeat": cell.repeat,
    }
    try:
        records = KINDS[cell.kind](cell, case, settings, chosen)
    except Exception as error:
        records = [{"error": f"{type(error).__name__}: {error}"}]
    return [_clean(head | record) for record in records]


def _cv(cell: Cell, case: Case, settings: Settings, chosen: Choices) -> list[Record]:
    """The error of each candidate on rows that its fit did not see."""
    rows, records = case.tuning, []
    for value in candidates(cell.method, settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = left_out(
                cell.method, value, chosen, rows, settings.folds, settings.seed
            )
        records.append({"value": value} | _measured(rows, found, case.clustered))
    return records


def _table(cell: Cell, case: Case, settings: Settings, chosen: Choices) -> list[Record]:
    """Figures of all rows by a fit on them, of held-out rows by a fit on the others."""
    if cell.epsilon is not None:
        chosen = chosen._replace(epsilon=cell.epsilon)
    method, seed = METHODS[cell.method], settings.seed + cell.repeat
    judged = (case.full, case.held_out)
    if case.train is case.full:
        found, said = _predicted(method, case.train, chosen, seed, judged)
        notes = (said, said)
    else:
        (one,), first = _predicted(method, case.full, chosen, seed, judged[:1])
        (two,), second = _predicted(method, case.train, chosen, seed, judged[1:])
        found, notes = [one, two], (first, second)
    asked = {"epsilon": chosen.epsilon, "beta": chosen.beta_of(cell.method)}
    return [
        {"rows": kind, "note": note} | asked | _measured(rows, m, case.clustered)
        for kind, rows, m, note in zip(
            (TRAIN, HELD_OUT), judged, found, notes, strict=True
        )
    ]


def _predicted(
    method: Method, train: Rows, chosen: Choices, seed: int, judged: tuple[Rows, ...]
) -> tuple[list[Floats], str]:
    """Predictions of some rows by one fit, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predict = method(train, chosen, seed)
        found = [predict(rows) for rows in judged]
    said = dict.fromkeys(str(warning.message) for warning in caught)
    return found, " ".join(said)


def _steps(cell: Cell, case: Case, settings: Settings, chosen: Choices) -> list[Record]:
    """AUC of ``XW`` and of ``M_S`` in each step of the published algorithm."""
    rows = case.full
    tasks, codes = np.unique(rows.tasks, return_inverse=True)
    problem = Problem.from_rows(rows.X, rows.y, codes, len(tasks), in_a=rows.in_a)
    solver = Paper(random_state=settings.seed + cell.repeat)
    request = Request(Task(chosen.beta_paper), fixed=True)
    assert problem.groups is not None
    demand = Demand(Rank(chosen.epsilon), problem.groups)
    solution = solver.solve(problem, request, [demand])
    return [
        {
            "step": step.iteration,
            "auc": step.auc,
            "projected_auc": step.projected_auc,
        }
        for step in solution.trace
    ]


KINDS = {CV: _cv, TABLE: _table, PATH: _table, STEPS: _steps}


def _measured(rows: Rows, predicted: Floats, clustered: bool) -> Record:
    clusters = rows.tasks if clustered else None
    if np.ptp(predicted) < FLAT:
        predicted = np.full_like(predicted, predicted.mean())
    return {
        "n": len(rows.y),
        "n_a": int(rows.in_a.sum()),
        **measure_more(rows.y, predicted, rows.in_a, clusters),
        "cluster": clustered,
    }


def _clean(record: Mapping[str, Any]) -> Record:
    """In the order of the columns; plain numbers; what is not known is left out."""
    found: Record = {}
    for name in COLUMNS:
        value = record.get(name)
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or value == "" or value != value:
            continue
        found[name] = value
    return found
