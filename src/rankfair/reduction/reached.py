"""What a search came to: the attributes and the warnings that say so."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import Floats
from rankfair._groups import Groups, masks_of
from rankfair._regressor import spread
from rankfair.constraints import Constraint, Rank
from rankfair.core.blocks import resolution_of
from rankfair.core.problem import Groups as RowGroups
from rankfair.core.problem import counted_weights, whole_if_so
from rankfair.core.ranks import Duels
from rankfair.reduction.reading import Rows
from rankfair.reduction.refits import Refits
from rankfair.reduction.search import Found, Target, final_models
from rankfair.solvers.base import Status

__all__ = [
    "fitted_attributes",
    "free_attributes",
    "target_of",
    "warn_not_reached",
    "warn_useless",
]


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
    found: Found,
    target: Target,
    asked: tuple[Constraint, ...],
    refits: Refits,
    rows: Rows,
) -> dict[str, Any]:
    """Return what a fit leaves."""
    models, directions = final_models(refits, target, found)
    m = target.units.of_user(found.m)
    assert rows.groups is not None
    return {
        "estimator_": models[0] if refits.n_tasks == 1 else models,
        "directions_": directions,
        "corrections_": found.left * target.unit if directions else np.zeros(0),
        "status_": str(found.status),
        **standings(m, rows.groups, rows.weights),
        "constraint_values_": _came_to(found, target, asked),
        "multiplier_": max(found.lam.tolist(), key=abs),
        "oof_predictions_": spread(m, rows.kept),
        "objective_": target.error(found.m),
        "n_refits_": 0 if found.status is Status.INACTIVE else len(found.lam) + 1,
        "trace_": [(step.objective, step.auc) for step in found.trace],
        "resolution_": target.units.resolution,
    }


def free_attributes(refits: Refits, rows: Rows) -> dict[str, Any]:
    """Return what a fit without groups leaves."""
    models = refits.whole(rows.y)
    return {
        "estimator_": models[0] if refits.n_tasks == 1 else models,
        "directions_": [],
        "corrections_": np.zeros(0),
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
    values = np.reshape(found.shown(target), (len(asked), -1))
    return {
        type(each).__name__.lower(): max(
            row.tolist(), key=lambda value: abs(value - each.middle)
        )
        for each, row in zip(asked, values, strict=True)
    }


def standings(m: Floats, groups: Groups, weights: Floats | None) -> dict[str, Any]:
    """Ranks of the groups: ``rank_auc_``, ``group_auc_`` and ``pairwise_auc_``.

    Examples
    --------
    >>> import numpy as np
    >>> groups = Groups(np.array([0, 1, -1]), np.array(["F", "M"]))
    >>> standings(np.array([1.0, 2.0, 9.0]), groups, None)["group_auc_"]
    {'F': 0.0, 'M': 1.0}
    """
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


def warn_useless(found: Found, out_of_fold: bool) -> None:
    """Warn, before all else, of a model that errs as much as one constant."""
    error = found.trace[-1].objective
    if error < 1.0:
        return
    where = "out of fold" if out_of_fold else "on the training rows"
    free = found.trace[0].objective
    warnings.warn(
        f"this model is useless: {where} its R² is {1 - error:.3f}, no better than one "
        f"constant (without the constraint {1 - free:.3f}). A larger epsilon, more "
        "rows, or a linear model, RankFairRegressor, can help.",
        UserWarning,
        stacklevel=4,
    )


def warn_not_reached(
    found: Found, target: Target, asked: tuple[Constraint, ...], groups: Groups | None
) -> None:
    """Warn that the band was not reached, and how far it is."""
    if found.status is not Status.INFEASIBLE:
        return
    came = _came_to(found, target, asked)
    said = [
        f"{'AUC' if isinstance(each, Rank) else name} {value:.4f}, asked for within "
        f"{each.epsilon:g} of {each.middle:g}"
        for each, (name, value) in zip(asked, came.items(), strict=True)
    ]
    warnings.warn(
        f"{found.status.value} Reached: {'; '.join(said)}.",
        ConvergenceWarning,
        stacklevel=4,
    )
