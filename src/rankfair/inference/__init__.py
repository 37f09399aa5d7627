"""How sure a number about two groups is: limits, tests, and what cannot be known."""

from rankfair.inference.estimate import Estimate
from rankfair.inference.spread import (
    ENOUGH_TASKS,
    Spread,
    auc_spread,
    auc_standard_error,
    clusters_of,
)

__all__ = [
    "ENOUGH_TASKS",
    "Estimate",
    "Spread",
    "auc_spread",
    "auc_standard_error",
    "clusters_of",
]
