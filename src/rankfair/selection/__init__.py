"""Choosing β, the penalty and ε by held-out error."""

from rankfair.selection.estimator import RankFairRegressorCV

__all__ = ["RankFairRegressorCV"]
