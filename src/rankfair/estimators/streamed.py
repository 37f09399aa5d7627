"""Fits of rows in files or on a cluster."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rankfair.core.problem import Problem
from rankfair.engines.base import Engine
from rankfair.engines.chunked import ChunkedEngine, make_engine
from rankfair.engines.labels import Coding
from rankfair.engines.streams import open_rows
from rankfair.estimators.base import Progress
from rankfair.estimators.outcome import no_groups, one_group_note
from rankfair.estimators.settings import FairSettings
from rankfair.input.arrays import Floats
from rankfair.input.errors import shown
from rankfair.input.groups import SensitiveGroups
from rankfair.input.training import Columns, GroupEncoder, Layout, Named, TrainingRows
from rankfair.penalties.pool import Pool
from rankfair.solvers.base import Solution
from rankfair.solvers.counted import Demand
from rankfair.solvers.tilt import Tilt, unconstrained

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
    (asked, *more), solver = settings.constraints, settings.solver
    direction = getattr(solver, "direction", "mean")
    named = type(asked).__name__.lower()
    for refused, what, cure in (
        (not isinstance(solver, Tilt), f"solver={shown(model.solver)}", 'Use "tilt"'),
        (model.scope != "global", f'scope="{model.scope}"', 'Use "global"'),
        (model.bins, "bins", "Leave it out"),
        (model.intersect, "intersect", "Leave it out"),
        (more, f"a list of {1 + len(more)} constraints", "Name one"),
        (not asked.on_histograms, f'constraints="{named}"', 'Use "rank"'),
        (direction != "mean", f'direction="{direction}"', 'Use "mean"'),
    ):
        if refused:
            raise ValueError(f"{what} needs the rows in memory. {cure}.")


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
    with open_rows(X, y, weight, named, told) as there:
        engine = make_engine(there, model.standardize, request.penalty.copies)
        roles = there.coding.roles
        rows, columns = _standing_for(there.coding, engine), Named(roles.names)
        if roles.group is None:
            solution = unconstrained(engine, request)
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
        notes = tuple(one_group_note(_by_task(engine))) if model.blind else ()
        return StreamedFit(solution, rows, columns, _auc(solution), notes)


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


def _standing_for(coding: Coding, engine: Engine) -> TrainingRows:
    """Rows without rows: labels and layout, as the estimator stores them."""
    share = 0.0
    attributes: tuple[SensitiveGroups, ...] = ()
    if engine.groups is not None:
        total_a, total_b = engine.groups.total_a, engine.groups.total_b
        share = float(total_a / (total_a + total_b))
    layout = _layout(coding, share)
    if layout.groups is not None:
        name = str(coding.roles.group)
        attributes = (SensitiveGroups(np.array([0, 1]), layout.groups, name),)
    return TrainingRows(
        X=np.zeros((0, len(layout.names))),
        y=np.zeros(0),
        codes=np.zeros(0, np.intp),
        weights=None,
        layout=layout,
        attributes=attributes,
    )


def _layout(coding: Coding, share: float) -> Layout:
    """The layout that a frame with these columns would have.

    ``share`` is that of group A, which predicts where the group is not known.
    """
    roles, groups = coding.roles, coding.group_labels
    place = {name: j for j, name in enumerate(roles.names)}
    protected: tuple[GroupEncoder, ...] = ()
    unused: tuple[int, ...] = ()
    if roles.group is not None and roles.group in roles.predictors:
        fill = np.array([share])
        protected = (GroupEncoder(place[roles.group], roles.group, groups, fill),)
    elif roles.group is not None and roles.group != roles.task:
        unused = (place[roles.group],)
    return Layout(
        predictors=tuple(place[name] for name in roles.predictors),
        names=roles.predictors,
        task_columns=None if roles.task is None else (place[roles.task],),
        tasks=coding.task_labels,
        protected=protected,
        groups=groups,
        unused=unused,
    )
