"""How far apart predictions rank groups, and how far off they are.

Of two groups, A is the one whose label sorts last, so that ``rank_auc`` equals
``sklearn.metrics.roc_auc_score(sensitive_features, y_pred)``.  Ties count half.  Rows
whose group is missing (None or NaN) are left out of all comparisons; ``rmse`` takes
every row.
"""

from rankfair.metrics.means import balanced_residuals, mean_difference, rmse
from rankfair.metrics.ranking import (
    impact_rank_ratio,
    pairwise_rank_auc,
    rank_auc,
    rank_auc_by_group,
    rank_gap,
)
from rankfair.metrics.scoring import scorer

__all__ = [
    "balanced_residuals",
    "impact_rank_ratio",
    "mean_difference",
    "pairwise_rank_auc",
    "rank_auc",
    "rank_auc_by_group",
    "rank_gap",
    "rmse",
    "scorer",
]
