"""The linear estimators in scikit-learn's shape: check, solve, store."""

from rankfair.estimators.baselines import (
    DecisionBoundaryCovariance,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
)
from rankfair.estimators.cross_validated import RankFairRegressorCV
from rankfair.estimators.linear import MultiTaskRegressor, RankFairRegressor

__all__ = [
    "DecisionBoundaryCovariance",
    "MultiTaskRegressor",
    "RankFairRegressor",
    "RankFairRegressorCV",
    "StratifiedBalancedResiduals",
    "StratifiedEqualMeans",
]
