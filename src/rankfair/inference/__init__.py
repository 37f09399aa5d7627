"""How sure a number about two groups is: limits, tests, and what cannot be known."""

from rankfair.inference.clusters import ENOUGH_TASKS, clusters_of
from rankfair.inference.estimate import Estimate
from rankfair.inference.independence import IndependenceTest, independence_test
from rankfair.inference.spread import Spread, auc_spread, auc_standard_error

__all__ = [
    "ENOUGH_TASKS",
    "Estimate",
    "IndependenceTest",
    "Spread",
    "auc_spread",
    "auc_standard_error",
    "clusters_of",
    "independence_test",
]
