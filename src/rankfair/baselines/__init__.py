"""The methods the paper compares with: linear demands, met by the same tilted fit."""

from rankfair.baselines.covariance import DecisionBoundaryCovariance
from rankfair.baselines.stratified import (
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
)

__all__ = [
    "DecisionBoundaryCovariance",
    "StratifiedBalancedResiduals",
    "StratifiedEqualMeans",
]
