"""What a search came to: the attributes and the warning that say so."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import Floats, shown
from rankfair._groups import Groups
from rankfair.balances import Rank
from rankfair.problem import whole_if_so
from rankfair.ranks import Duels
from rankfair.reduction.asked import Asked
from rankfair.reduction.loop import Found
from rankfair.reduction.reading import Rows
from rankfair.reduction.refits import Refits
from rankfair.solvers.base import Status


def fitted_attributes(
    found: Found, asked: Asked, refits: Refits, rows: Rows, may_shift: bool
) -> dict[str, Any]:
    """Return what a fit leaves; ``may_shift`` if groups may be moved as wholes."""
    best = found.fit
    shift = best.shift
    if may_shift and not asked.shifts and not best.at.inside:
        shift = asked.closing_shift(best.m)[0]
    assert rows.groups is not None
    m = best.m + asked.by_group(best.shift)
    return {
        "estimator_": best.models[0] if refits.n_tasks == 1 else best.models,
        "status_": str(found.status),
        **standings(m, rows.groups, rows.weights),
        "balance_": {type(asked.kind).__name__.lower(): asked.shown(best.shifted)},
        "multiplier_": asked.multiplier(
            best.tilt if best.aim is None else best.aim, best.m
        ),
        "tilt_": best.tilt,
        "shift_": np.array(shift),
        "maps_": best.maps,
        "objective_": best.objective,
        "n_refits_": len(found.trace) - 1,
        "trace_": [(step.objective, step.auc) for step in found.trace],
    }


def free_attributes(refits: Refits, rows: Rows) -> dict[str, Any]:
    """Return what a fit without groups leaves."""
    models = refits.whole(rows.y)
    return {
        "estimator_": models[0] if refits.n_tasks == 1 else models,
        "status_": str(Status.INACTIVE),
        "rank_auc_": math.nan,
        "group_auc_": {},
        "pairwise_auc_": {},
        "n_unknown_": 0,
        "balance_": {},
        "multiplier_": 0.0,
        "tilt_": np.zeros(len(rows.y)),
        "shift_": np.zeros(2),
        "maps_": None,
        "objective_": math.nan,
        "n_refits_": 0,
        "trace_": [],
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


def warn_not_reached(
    found: Found, asked: Asked, groups: Groups, shift: Floats, stacklevel: int = 4
) -> None:
    """Warn that the band was not reached, how far it is, and what would close it."""
    if found.fit.shifted.inside:
        return
    advice = ""
    if shift.any() and not asked.shifts:
        # Counted where `predict` will be: a shift may get nearer and not all the way.
        at = asked.count(found.fit.m + asked.by_group(tuple(shift.tolist())))
        left = "closes the gap"
        if not at.inside:
            left = f"leaves {_reached(at, asked, groups)[0]}"
        advice = f" predict(X, sensitive_features=...) adds shift_, which {left}."
    here = ", asked for ".join(_reached(found.fit.shifted, asked, groups))
    warnings.warn(
        f"{found.status.value} Reached: {here}.{advice}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def _reached(at: Any, asked: Asked, groups: Groups) -> tuple[str, str]:
    """A balance and its band in words."""
    value, low, high, group = asked.reached(at)
    kind = "AUC" if isinstance(asked.kind, Rank) else "imbalance"
    whose = "" if group is None else f" of group {shown(groups.labels.tolist()[group])}"
    return f"{kind} {value:.4f}{whose}", f"{low:.4g} to {high:.4g}"
