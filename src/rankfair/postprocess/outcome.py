"""The maps of a fit, and what came of it: attributes and warnings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import Floats
from rankfair._groups import plain_labels
from rankfair.core.blocks import resolution_of, rounded
from rankfair.core.ranks import counts_of
from rankfair.postprocess.maps import Moved, Status, between, move
from rankfair.postprocess.readings import Given, MapSettings
from rankfair.postprocess.standing import Standing
from rankfair.projections import Sample

__all__ = ["Learnt", "attributes_of", "learn", "warn_of"]


@dataclass(frozen=True)
class Learnt:
    """Groups, their distributions in multiples of ``resolution``, and their maps."""

    resolution: float
    groups: NDArray[Any]
    samples: Sequence[Sample]
    moved: Moved


def learn(asked: MapSettings, m: Floats, given: Given) -> Learnt | None:
    """Move predictions of each group as asked; None if there are no groups.

    Rows of weight zero count as absent.
    """
    codes, groups = given.codes, given.groups
    if codes is None or groups is None:
        return None
    counts = None if given.weights is None else counts_of(given.weights)
    known = codes >= 0 if counts is None else (codes >= 0) & (counts > 0)
    resolution = resolution_of(m[known])
    m = rounded(m, resolution)
    rows = [np.flatnonzero(known & (codes == g)) for g in range(len(groups))]
    samples = [Sample.of(m[at], None if counts is None else counts[at]) for at in rows]
    return Learnt(resolution, groups, samples, move(samples, *asked, given.spread))


def attributes_of(learnt: Learnt | None) -> dict[str, Any]:
    """Return fitted attributes of the maps, or of none.

    Examples
    --------
    >>> attributes_of(None)["status_"]
    'inactive'
    """
    if learnt is None:
        nothing = ("rank_auc_", "ks_", "wasserstein_", "mean_difference_", "theta_")
        return {
            "groups_": None,
            "maps_": {},
            "status_": str(Status.INACTIVE),
            "group_auc_": {},
            "resolution_": 0.0,
            **dict.fromkeys(nothing, math.nan),
        }
    moved, standing = learnt.moved, learnt.moved.standing
    labels = plain_labels(learnt.groups.tolist())
    aucs = standing.aucs
    farthest = np.argmax(np.abs(aucs - 0.5)) if len(aucs) > 2 else 1
    totals = np.array([sample.total for sample in learnt.samples], np.float64)
    return {
        "groups_": learnt.groups,
        "maps_": dict(zip(labels, moved.maps, strict=True)),
        "status_": str(moved.status),
        "rank_auc_": float(aucs[farthest]),
        "group_auc_": dict(zip(labels, aucs.tolist(), strict=True)),
        "ks_": float(standing.ks.max()),
        "wasserstein_": float(standing.wasserstein.max()),
        "mean_difference_": _mean_difference(standing),
        "theta_": moved.theta,
        "resolution_": learnt.resolution,
        "_shares": totals / totals.sum(),
        "_straight": moved.follow is between,
    }


def _mean_difference(standing: Standing) -> float:
    """Of two groups the last less the first, of more the largest."""
    means = standing.means
    return float(means[1] - means[0] if len(means) == 2 else np.ptp(means))


def warn_of(learnt: Learnt | None) -> None:
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
        standing = learnt.moved.standing
        farthest = float(np.abs(standing.aucs - 0.5).max())
        warnings.warn(
            f"{learnt.moved.status.value} KS is {standing.ks.max():.4g}, means differ "
            f"by {np.ptp(standing.means):.4g}, and AUC is off 1/2 by {farthest:.4g}, "
            "on the rows that the maps were learnt on.",
            ConvergenceWarning,
            stacklevel=3,
        )
