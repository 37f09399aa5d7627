"""What came of a fit, in attributes and warnings."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfair._groups import plain_labels
from rankfair.postprocess.follow import knots
from rankfair.postprocess.learning import Learnt
from rankfair.postprocess.maps import Moved, Status
from rankfair.postprocess.means import difference

__all__ = ["attributes_of", "warn_of"]


def attributes_of(learnt: Learnt | None) -> dict[str, Any]:
    """Return fitted attributes of the maps, or of none.

    Examples
    --------
    >>> attributes_of(None)["status_"]
    'inactive'
    """
    if learnt is None:
        return {
            "groups_": None,
            "maps_": {},
            "status_": str(Status.INACTIVE),
            "rank_auc_": math.nan,
            "group_auc_": {},
            "ks_": math.nan,
            "mean_difference_": math.nan,
            "resolution_": 0.0,
        }
    moved, samples = learnt.moved, learnt.samples
    labels = plain_labels(learnt.groups.tolist())
    aucs = moved.standing.aucs
    farthest = np.argmax(np.abs(aucs - 0.5)) if len(aucs) > 2 else 1
    both = zip(labels, samples, moved.values, strict=True)
    return {
        "groups_": learnt.groups,
        "maps_": {label: knots(sample.values, end) for label, sample, end in both},
        "status_": str(moved.status),
        "rank_auc_": float(aucs[farthest]),
        "group_auc_": dict(zip(labels, aucs.tolist(), strict=True)),
        "ks_": moved.standing.ks,
        "mean_difference_": (
            difference(moved.values, samples) if len(labels) == 2 else math.nan
        ),
        "resolution_": learnt.resolution,
        "_lines": learnt.lines,
        "_shares": learnt.shares,
        "_shifts": moved.shifts or (0.0,) * len(labels),
    }


def warn_of(learnt: Learnt | None, apart: float) -> None:
    """Say that there was nothing to balance, or that the band was not reached."""
    if learnt is None:
        warnings.warn(
            "fit got no sensitive_features: there is nothing to balance, and "
            "predictions stay as they are. Name a column of X in the constructor or "
            "pass labels to fit.",
            UserWarning,
            stacklevel=3,
        )
    elif learnt.moved.status is Status.INFEASIBLE:
        warnings.warn(_sentence(learnt.moved, apart), ConvergenceWarning, stacklevel=3)


def _sentence(moved: Moved, apart: float) -> str:
    farthest = float(np.abs(moved.standing.aucs - 0.5).max())
    means = f", means differ by {abs(apart):.4g}" if moved.shifts else ""
    return (
        f"{moved.status.value} KS is {moved.standing.ks:.4g}{means}, and AUC is off "
        f"1/2 by {farthest:.4g}, on the rows that the maps were learnt on."
    )
