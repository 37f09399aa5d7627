"""AUC with limits and a p-value, by the method that fits the rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rankfair.inference.estimate import Estimate
from rankfair.inference.sides import Sides
from rankfair.inference.spread import Spread, placement_spread

__all__ = ["auc_estimate"]

Floats = NDArray[np.float64]


def auc_estimate(
    above: Floats, below: Floats, sides: Sides, confidence: float
) -> Estimate:
    """Return AUC from placements."""
    spread = placement_spread(above, below, weights=sides.weights)
    if sides.needed or sides.possible:
        clustered = placement_spread(
            above, below, sides.tasks, sides.n_tasks, sides.weights
        )
        wider = clustered.se >= spread.se or not clustered.estimable
        spread = clustered if sides.needed or wider else spread
    if not spread.estimable:
        unit = "row" if spread.n_clusters is None else "task"
        return Estimate(
            spread.auc, note=f"a group has one {unit} only, which shows no spread"
        )
    low, high = spread.interval(confidence)
    return Estimate(spread.auc, low, high, _p_value(spread), _method(spread))


def _method(spread: Spread) -> str:
    if spread.exact:
        return "Hoeffding's limits"
    if spread.n_clusters is None:
        return "DeLong's variance on the logit scale"
    return f"variance over {spread.n_clusters:,} tasks (Obuchowski), logit scale"


def _p_value(spread: Spread) -> float | None:
    if spread.exact:
        return None
    slope = spread.auc * (1.0 - spread.auc)
    size = abs(math.log(spread.auc / (1.0 - spread.auc))) * slope / spread.se
    return 2.0 * float(student.sf(size, spread.df))
