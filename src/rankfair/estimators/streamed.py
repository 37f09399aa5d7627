"""Fits and predictions of rows in files or on a cluster."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rankfair.core.problem import Problem
from rankfair.engines.base import Engine
from rankfair.engines.chunked import ChunkedEngine, make_engine
from rankfair.estimators.base import Progress
from rankfair.estimators.outcome import no_groups, one_group_note
from rankfair.estimators.settings import FairSettings
from rankfair.input.columns import Columns, Named, TrainingRows
from rankfair.input.errors import Floats, shown
from rankfair.input.groups import SensitiveGroups
from rankfair.penalties import Pool
from rankfair.solvers import Demand, Solution, Tilt, unconstrained
from rankfair.streams import Opened, layout_of, open_rows

__all__ = ["check_streamed", "fit_streamed"]

ALIKE = 1e-3  # of pairs of A and B: so many that are alike are worth a warning


def check_streamed(model: Any, settings: FairSettings, passed: dict[str, Any]) -> None:
    """Refuse what needs the rows in memory."""
    for name, value in passed.items():
        by_name = name == "sample_weight" and isinstance(value, str)
        if value is not None and not by_name:
            raise ValueError(
                f"{name} was passed as an array, but the rows are not in memory: name "
                "its column in the constructor, or in stream(…)."
            )
    if not isinstance(settings.solver, Tilt):
        raise ValueError(
            f'solver={shown(model.solver)} needs the rows in memory. Use solver="tilt".'
        )
    if model.scope != "global":
        raise ValueError(
            f'scope="{model.scope}" needs the rows in memory. Use scope="global".'
        )
    for name in ("bins", "intersect"):
        if getattr(model, name):
            raise ValueError(f"{name} needs the rows in memory. Leave it out.")
    if len(settings.constraints) > 1:
        raise ValueError(
            f"{len(settings.constraints)} constraints need the rows in memory. Ask for "
            "one."
        )
    (asked,) = settings.constraints
    if not asked.on_histograms:
        name = type(asked).__name__.lower()
        raise ValueError(
            f'constraints="{name}" needs the rows in memory. Use constraints="rank".'
        )
    if settings.solver.direction != "mean":
        raise ValueError(
            f'direction="{settings.solver.direction}" needs the rows in memory. Use '
            'direction="mean".'
        )


class StreamedFit(NamedTuple):
    """A solution, what stands for the rows, the columns of X, the AUC, and notes."""

    solution: Solution
    rows: TrainingRows
    columns: Named
    auc: float | None = None
    notes: tuple[Warning, ...] = ()


def fit_streamed(
    model: Any,
    X: Any,
    y: Any,
    weight: str | None,
    named: Columns,
    settings: FairSettings,
    on_step: Progress,
) -> StreamedFit:
    """Fit rows that are not in memory."""
    request, (constraint, *_), solver = settings
    assert isinstance(solver, Tilt)
    told = on_step.rows if model.verbose else None
    with open_rows(X, y, weight, named, told) as opened:
        engine = make_engine(opened.rows, model.standardize, request.penalty.copies)
        columns, roles = Named(opened.names), opened.coding.roles
        if roles.group is None:
            solution = unconstrained(engine, request)
            rows = _standing_for(opened, engine)
            return StreamedFit(solution, rows, columns, notes=(no_groups(),))
        assert engine.groups is not None
        if isinstance(request.penalty, Pool) and roles.group in roles.predictors:
            own = (roles.predictors.index(roles.group),)
            request = replace(request, penalty=replace(request.penalty, exempt=own))
        if isinstance(engine, ChunkedEngine):
            constraint = engine.posed(constraint)
        demands = [Demand(constraint, engine.groups)]
        solution = solver.solve(engine, request, demands, on_step)
        _warn_alike(engine, solution, model.count)
        rows, auc = _standing_for(opened, engine), _auc(solution)
        notes = tuple(one_group_note(_by_task(engine))) if model.blind else ()
        return StreamedFit(solution, rows, columns, auc, notes)


def _by_task(engine: Engine) -> Floats:
    """How much weight each task has of B and of A: (k, 2)."""
    if isinstance(engine, Problem):
        assert engine.groups is not None
        of_a = engine.sums([engine.groups.in_a.astype(np.float64)])[0][:, -1, 1]
    else:
        of_a = engine.sums([(1.0, 0.0)])[0][:, -1, 1]
    return np.column_stack((engine.counts - of_a, of_a))


def _auc(solution: Solution) -> float:
    """The AUC of the predictions of all rows."""
    assert solution.line is not None
    (auc,) = solution.line.trained.aucs(np.array(solution.multipliers))
    return auc


def _warn_alike(engine: Engine, solution: Solution, count: str) -> None:
    """Warn if many rows are alike: left out, their order follows their targets."""
    line = solution.line
    if not isinstance(engine, ChunkedEngine) or line is None:
        return
    rows, pairs = engine.total.alike()
    if line.counted(count) is line.left_out and pairs > ALIKE:
        warnings.warn(
            f"{rows:.0%} of some of the rows have the task and the predictors of "
            "another one. Left out, such rows are ordered against their own targets, "
            f"which moves AUC by up to {pairs / 2:.2g}. Fit the rows in memory, where "
            'they count as ties, or use count="train".',
            UserWarning,
            stacklevel=5,
        )


def _standing_for(opened: Opened, engine: Engine) -> TrainingRows:
    """Rows without rows: labels and layout, as the estimator stores them."""
    coding, n = opened.coding, opened.rows.n_features
    share = 0.0
    attributes: tuple[SensitiveGroups, ...] = ()
    if engine.groups is not None:
        total_a, total_b = engine.groups.total_a, engine.groups.total_b
        share = float(total_a / (total_a + total_b))
    layout = layout_of(opened.names, coding, share)
    if layout.groups is not None:
        name = str(coding.roles.group)
        attributes = (SensitiveGroups(np.array([0, 1]), layout.groups, name),)
    return TrainingRows(
        X=np.zeros((0, n)),
        y=np.zeros(0),
        codes=np.zeros(0, np.intp),
        in_a=None if layout.groups is None else np.array([False, True]),
        weights=None,
        layout=layout,
        attributes=attributes,
    )
