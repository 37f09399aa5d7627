"""What a search came to: the attributes and the warnings that say so."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import Floats
from rankfair._groups import Groups, masks_of
from rankfair.constraints import Constraint, Rank
from rankfair.core.blocks import resolution_of
from rankfair.core.problem import Groups as RowGroups
from rankfair.core.problem import counted_weights, whole_if_so
from rankfair.core.ranks import Duels
from rankfair.estimators.outcome import spread
from rankfair.reduction.reading import Rows
from rankfair.reduction.refits import Models
from rankfair.reduction.search import Found, Target
from rankfair.solvers.base import Status

__all__ = ["fitted_attributes", "free_attributes", "target_of", "warn_of"]

USELESS = 0.99  # of the squared error of one constant: a model that is as bad
HELP = "a linear model, RankFairRegressor, more rows, or a larger epsilon"


def target_of(rows: Rows, asked: tuple[Constraint, ...]) -> Target:
    """Return the target, and what is asked of each group against the rest."""
    assert rows.groups is not None
    masks, known = masks_of([rows.groups])
    parts = [None] * len(masks) if known is None else known
    groups = [
        RowGroups(mask, counted_weights(rows.weights, part))
        for mask, part in zip(masks, parts, strict=True)
    ]
    return Target.of(rows.y, rows.weights, asked, groups)


def fitted_attributes(
    found: Found, target: Target, asked: tuple[Constraint, ...], rows: Rows
) -> dict[str, Any]:
    """Return what a fit leaves."""
    m = target.units.of_user(found.m)
    assert rows.groups is not None
    return {
        **free_attributes(found.models, rows),
        "status_": str(found.status),
        **standings(m, rows.groups, rows.weights),
        "constraint_values_": _came_to(found, target, asked),
        "multiplier_": max(found.lam.tolist(), key=abs),
        "oof_predictions_": spread(m, rows.kept),
        "objective_": found.error,
        "n_refits_": len(found.trace) - 1,
        "trace_": [(step.objective, step.auc) for step in found.trace],
    }


def free_attributes(models: Models, rows: Rows) -> dict[str, Any]:
    """Return what a fit without groups leaves."""
    return {
        "estimator_": models[0] if len(models) == 1 else models,
        "status_": str(Status.INACTIVE),
        "rank_auc_": math.nan,
        "group_auc_": {},
        "pairwise_auc_": {},
        "n_unknown_": 0,
        "constraint_values_": {},
        "multiplier_": 0.0,
        "oof_predictions_": None,
        "objective_": math.nan,
        "n_refits_": 0,
        "trace_": [],
        "resolution_": resolution_of(rows.y),
    }


def _came_to(
    found: Found, target: Target, asked: tuple[Constraint, ...]
) -> dict[str, float]:
    """Return each constraint's value, of several groups the farthest off."""
    values = np.reshape(target.shown(found.values), (len(asked), -1))
    return {
        type(each).__name__.lower(): max(
            row.tolist(), key=lambda value: abs(value - each.middle)
        )
        for each, row in zip(asked, values, strict=True)
    }


def standings(m: Floats, groups: Groups, weights: Floats | None) -> dict[str, Any]:
    """Ranks of the groups: ``rank_auc_``, ``group_auc_`` and ``pairwise_auc_``."""
    labels = groups.labels.tolist()
    duels = Duels.of(m, groups.codes, len(labels), whole_if_so(weights))
    aucs = duels.of_rest()
    # Of two groups it is that of A, the last; of several the farthest off.
    at = 1 if len(labels) == 2 else int(np.abs(aucs - 0.5).argmax())
    return {
        "rank_auc_": float(aucs[at]),
        "group_auc_": dict(zip(labels, aucs.tolist(), strict=True)),
        "pairwise_auc_": duels.by_label(labels),
        "n_unknown_": groups.n_unknown,
    }


def warn_of(
    found: Found,
    target: Target,
    asked: tuple[Constraint, ...],
    note: str | None,
    out_of_fold: bool,
) -> None:
    """Warn of a useless model before all else, then of groups, then of the band."""
    told: list[tuple[str, type[Warning]]] = []
    where = "out of fold" if out_of_fold else "on the training rows"
    error, free = found.error, found.trace[0].objective
    r2 = f"{where} its R² is {1 - error:.3f} (without the constraint {1 - free:.3f})"
    if error >= USELESS:
        useless = f"this model is useless: {r2}, and that of one constant is 0."
        told.append((f"{useless} Try {HELP}.", UserWarning))
    if note is not None:
        told.append((note, UserWarning))
    if found.status is Status.INFEASIBLE:
        came = _came_to(found, target, asked).items()
        said = [
            f"{'AUC' if isinstance(each, Rank) else name} {value:.4f}, asked for "
            f"within {each.epsilon:g} of {each.middle:g}"
            for each, (name, value) in zip(asked, came, strict=True)
        ]
        reached = f"{found.status.value} Reached: {'; '.join(said)}; {r2}."
        told.append((f"{reached} Try {HELP}.", ConvergenceWarning))
    for message, kind in told:
        warnings.warn(message, kind, stacklevel=4)
