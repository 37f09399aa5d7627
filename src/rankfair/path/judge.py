"""The judge of a path: error and rank gap of predictions, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from rankfair._frames import Codes, Floats
from rankfair.inference import auc_spread, clusters_of
from rankfair.metrics import mean_difference, rmse

__all__ = ["Figures", "Judge"]

CONFIDENCE = 0.95


class Figures(NamedTuple):
    """What predictions come to; `PathRow` says what each number is."""

    rmse: float
    rmse_low: float
    rmse_high: float
    auc: float
    auc_low: float
    auc_high: float
    gap: float
    md: float


@dataclass(frozen=True)
class Judge:
    """Measures predictions of chosen rows; rows of unknown group count for errors."""

    y: Floats
    groups: Codes  # 0, 1 or −1
    tasks: Codes | None
    weights: Floats | None

    def __call__(self, predicted: Floats, at: Codes) -> Figures:
        """Return the figures of the predictions of these rows."""
        y, known = self.y[at], self.groups[at] >= 0
        weights = None if self.weights is None else self.weights[at]
        in_a = self.groups[at][known] == 1
        if in_a.all() or not in_a.any():
            raise ValueError(
                f"cv holds out rows of one group only ({len(at)} rows): there is "
                "nothing to compare. Use a cv that holds out rows of both, 5 for "
                "instance."
            )
        clusters = self._clusters(at[known])
        of_known = None if weights is None else weights[known]
        spread = auc_spread(predicted[known], in_a, clusters, of_known)
        low, high = spread.interval(CONFIDENCE)
        error = rmse(y, predicted, sample_weight=weights)
        units = None if clusters is None or self.tasks is None else self.tasks[at]
        half = _half_width(np.abs(y - predicted) / (error or 1.0), units, weights)
        by_group = {"sensitive_features": in_a, "sample_weight": of_known}
        return Figures(
            rmse=error,
            rmse_low=error * math.sqrt(max(1.0 - half, 0.0)),
            rmse_high=error * math.sqrt(1.0 + half),
            auc=spread.auc,
            auc_low=low,
            auc_high=high,
            gap=abs(spread.auc - 0.5),
            md=mean_difference(None, predicted[known], **by_group),
        )

    def _clusters(self, at: Codes) -> Codes | None:
        tasks = None if self.tasks is None else self.tasks[at]
        return clusters_of(tasks, self.groups[at] == 1)[0]

    def n_clusters(self, at: Codes) -> int | None:
        """Return how many tasks of these rows are clusters; None if rows are free."""
        clusters = self._clusters(at[self.groups[at] >= 0])
        return None if clusters is None else len(np.unique(clusters))


def _half_width(
    relative: Floats, clusters: Codes | None, weights: Floats | None
) -> float:
    """Half the width of a 95 % interval of the mean of these squared, which is 1."""
    units = np.arange(len(relative)) if clusters is None else clusters
    w = np.ones(len(relative)) if weights is None else weights
    pulls = np.bincount(units, w * (relative**2 - 1.0)) / w.sum()
    n = len(np.unique(units))  # two groups are two units at least
    quantile = float(student.isf((1.0 - CONFIDENCE) / 2, n - 1))
    return quantile * math.sqrt(n / (n - 1) * float(pulls @ pulls))
