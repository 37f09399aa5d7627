"""A cell is a unit of work: a method on a dataset in a repeat gives records."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ks_2samp, wasserstein_distance
from threadpoolctl import threadpool_limits

from paper.cases import DEALT, Case, Floats, Rows, make_case
from paper.methods import METHODS, RANDOM, Choices, Method
from paper.settings import Settings
from paper.tuning import PARAMETERS, candidates, left_out
from rankfair import metrics
from rankfair.constraints import Rank
from rankfair.core.problem import Problem
from rankfair.penalties import Task
from rankfair.solvers import Paper
from rankfair.solvers.base import Request
from rankfair.solvers.counted import Demand
from rankfair.stats.auc import auc_spread

Record = dict[str, Any]

CV, TABLE, PATH, STEPS = "cv", "table", "path", "steps"
TRAIN, HELD_OUT = "train", "held-out"
COLUMNS = (
    *("kind", "data", "method", "repeat", "rows", "epsilon", "beta", "value", "step"),
    *("n", "n_a", "rmse", "auc", "gap", "md", "br", "irr", "ks", "wasserstein"),
    *("auc_se", "cluster", "projected_auc", "note", "error"),
)
# Predictions closer than this, in standard deviations of y, differ by rounding only:
# a model that demands have pinned to a constant ranks nobody.
FLAT = 1e-9


class Cell(NamedTuple):
    """What is to be done; `method` is a parameter where the kind is "cv"."""

    kind: str
    data: str
    method: str
    repeat: int = 0
    epsilon: float | None = None

    @property
    def stage(self) -> int:
        """Cells of a stage need only what earlier stages found."""
        if self.kind == CV:
            return 0 if self.method.startswith("beta") else 1
        return 2

    @property
    def head(self) -> Record:
        """What every record of the cell begins with."""
        found = self._asdict()
        del found["epsilon"]
        return found


def plan(settings: Settings, found: Iterable[str]) -> list[Cell]:
    """Return all cells of some datasets, in the order in which records are written.

    Examples
    --------
    >>> cells = plan(Settings(repeats=2, figures=False), ["crime"])
    >>> [cell.repeat for cell in cells if cell.method == "Rank (paper)"]
    [0, 1]
    """
    return [cell for name in found for cell in _of(name, settings)]


def _of(name: str, settings: Settings) -> list[Cell]:
    again = settings.repeats if name in DEALT else 1
    cells = [Cell(CV, name, parameter) for parameter in PARAMETERS]
    for repeat in range(settings.repeats):
        cells += [
            Cell(TABLE, name, method, repeat)
            for method in METHODS
            if repeat < again or method in RANDOM
        ]
    if settings.figures:
        cells += [
            Cell(PATH, name, "Rank", repeat, epsilon)
            for repeat in range(again)
            for epsilon in settings.path
        ]
        cells.append(Cell(STEPS, name, "Rank (paper)"))
    return cells


def run_cell(cell: Cell, settings: Settings, chosen: Choices) -> list[Record]:
    """Do the work of a cell, in one thread: the bits do not depend on the machine's.

    Returns records with keys out of `COLUMNS`; nothing in them depends on the clock.

    Examples
    --------
    >>> cell = Cell("table", "synthetic 0.9", "Rank")
    >>> found = run_cell(cell, Settings(n_tasks=4), Choices())
    >>> [record["rows"] for record in found]
    ['train', 'held-out']
    """
    case = make_case(cell.data, cell.repeat, settings)
    with threadpool_limits(1):
        records = KINDS[cell.kind](cell, case, settings, chosen)
    return [_clean(cell.head | record) for record in records]


def _cv(cell: Cell, case: Case, settings: Settings, chosen: Choices) -> list[Record]:
    """The error of each candidate on rows that its fit did not see."""
    rows, records = case.tuning, []
    for value in candidates(cell.method, settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = left_out(cell.method, value, chosen, rows, settings)
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
    assert problem.groups is not None
    solution = Paper(random_state=settings.seed + cell.repeat).solve(
        problem,
        Request(Task(chosen.beta_paper), fixed=True),
        [Demand(Rank(chosen.epsilon), problem.groups)],
    )
    return [
        {"step": it.iteration, "auc": it.auc, "projected_auc": it.projected_auc}
        for it in solution.trace
    ]


KINDS = {CV: _cv, TABLE: _table, PATH: _table, STEPS: _steps}


def _measured(rows: Rows, predicted: Floats, clustered: bool) -> Record:
    if np.ptp(predicted) < FLAT:
        predicted = np.full_like(predicted, predicted.mean())
    spread = auc_spread(predicted, rows.in_a, rows.tasks if clustered else None)
    a, b = predicted[rows.in_a], predicted[~rows.in_a]
    return {
        "n": len(rows.y),
        "n_a": int(rows.in_a.sum()),
        **measure(rows, predicted),
        "wasserstein": float(wasserstein_distance(a, b)),
        "auc_se": spread.se,
        "cluster": clustered,
    }


def measure(rows: Rows, predicted: Floats) -> dict[str, float]:
    """Return how far off predictions are, and how far apart they put the groups.

    RMSE, AUC, the rank gap ``|AUC − 1/2|``, mean difference MD, balanced residuals BR,
    impact rank ratio IRR (A against B), and KS, the greatest distance between the
    distribution functions of the groups' predictions.
    """
    groups = {"sensitive_features": rows.in_a}
    auc = metrics.rank_auc(None, predicted, **groups)
    apart = ks_2samp(predicted[rows.in_a], predicted[~rows.in_a], method="asymp")
    return {
        "rmse": metrics.rmse(rows.y, predicted),
        "auc": auc,
        "gap": abs(auc - 0.5),
        "md": metrics.mean_difference(None, predicted, **groups),
        "br": metrics.balanced_residuals(rows.y, predicted, **groups),
        "irr": metrics.impact_rank_ratio(None, predicted, **groups),
        "ks": float(apart.statistic),
    }


def _clean(record: Mapping[str, Any]) -> Record:
    """The record without what is not known: no number, or an empty note."""
    known = {it: record[it] for it in COLUMNS if it in record}
    return {it: v for it, v in known.items() if v == v and v != ""}
