"""The main estimators in scikit-learn's shape: check, solve, store."""

from rankfair.estimators.fair import RankFairRegressor
from rankfair.estimators.plain import MultiTaskRegressor

__all__ = ["MultiTaskRegressor", "RankFairRegressor"]
