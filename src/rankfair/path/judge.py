"""The judge of a path: error and rank gap of predictions, with intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from rankfair._frames import Codes, Floats, listed
from rankfair.inference import auc_spread, clusters_of
from rankfair.inference.parts import LEAST_DF, Part
from rankfair.metrics import mean_difference, rmse

__all__ = ["MIN_GROUP", "Figures", "Judge", "small_groups"]

CONFIDENCE = 0.95
MIN_GROUP = 5  # rows of a group that is judged, as in an audit
MOST = 50.0  # logarithms: limits wider than that say nothing


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
    group: str


@dataclass(frozen=True)
class Judge:
    """Measures predictions of chosen rows; rows of unknown group count for errors.

    Of two groups the last is compared with the first, of more each with the rest: the
    figures are those of the one farthest from AUC = 1/2, the ``small`` ones apart.  As
    that one is chosen by its AUC, the intervals of all k groups hold together: each has
    k times less doubt.
    """

    y: Floats
    groups: Codes  # places in labels, or −1
    labels: tuple[str, ...]
    tasks: Codes | None
    weights: Floats | None
    small: tuple[int, ...] = ()  # places of groups that are compared with no others

    def __call__(self, predicted: Floats, at: Codes) -> Figures:
        """Return the figures of the predictions of these rows."""
        self._check(at)
        y, known = self.y[at], self.groups[at] >= 0
        weights = None if self.weights is None else self.weights[at]
        of_known = None if weights is None else weights[known]
        clusters = [self._clusters(at[known], g) for g in self._compared]
        sides = [self.groups[at][known] == g for g in self._compared]
        spreads = [
            auc_spread(predicted[known], in_a, units, of_known)
            for in_a, units in zip(sides, clusters, strict=True)
        ]
        gaps = [abs(spread.auc - 0.5) for spread in spreads]
        most = int(np.argmax(gaps))
        low, high = spreads[most].interval(1.0 - (1.0 - CONFIDENCE) / len(spreads))
        error = rmse(y, predicted, sample_weight=weights)
        free = self.tasks is None or all(units is None for units in clusters)
        units = None if free or self.tasks is None else self.tasks[at]
        times = _times(np.abs(y - predicted) / (error or 1.0), units, weights)
        by_group = {"sensitive_features": sides[most], "sample_weight": of_known}
        return Figures(
            rmse=error,
            rmse_low=error / times,
            rmse_high=error * times,
            auc=spreads[most].auc,
            auc_low=low,
            auc_high=high,
            gap=gaps[most],
            md=mean_difference(None, predicted[known], **by_group),
            group=self.labels[self._compared[most]],
        )

    @property
    def _compared(self) -> list[int]:
        """Groups that are compared with all others; of two groups the last."""
        places = range(1 if len(self.labels) == 2 else 0, len(self.labels))
        return [g for g in places if g not in self.small]

    def _check(self, at: Codes) -> None:
        """Refuse rows that miss a group."""
        groups = self.groups[at]
        counts = np.bincount(groups[groups >= 0], minlength=len(self.labels))
        if np.count_nonzero(counts) < 2:
            raise ValueError(
                f"cv holds out rows of one group only ({len(at)} rows): there is "
                "nothing to compare. Use a cv that holds out rows of each, 5 for "
                "instance."
            )
        missed = [self.labels[g] for g in np.flatnonzero(counts == 0)]
        if missed:
            raise ValueError(
                f"cv holds out no row of group {listed(missed)}: a path measures every "
                "group. Use a cv that holds out rows of each, 5 for instance, or join "
                "groups."
            )

    def _clusters(self, at: Codes, g: int) -> Codes | None:
        tasks = None if self.tasks is None else self.tasks[at]
        return clusters_of(tasks, self.groups[at] == g)[0]

    def n_clusters(self, at: Codes) -> int | None:
        """Return how many tasks of these rows are clusters; None if rows are free."""
        known = at[self.groups[at] >= 0]
        found = (self._clusters(known, g) for g in self._compared)
        clusters = next((units for units in found if units is not None), None)
        return None if clusters is None else len(np.unique(clusters))


def small_groups(groups: Codes, n_groups: int) -> tuple[int, ...]:
    """Return which of three or more groups have too few rows for a comparison.

    A group is compared with the rest, which needs as many.  Where none has enough all
    are compared, as two groups always are: their limits say how little is known.

    Examples
    --------
    >>> small_groups(np.repeat([0, 1, 2, -1], [9, 8, 4, 3]), 3)
    (2,)
    """
    counts = np.bincount(groups[groups >= 0], minlength=n_groups)
    small = np.flatnonzero(np.minimum(counts, counts.sum() - counts) < MIN_GROUP)
    return () if len(small) == n_groups or n_groups == 2 else tuple(small.tolist())


def _times(relative: Floats, clusters: Codes | None, weights: Floats | None) -> float:
    """How many times larger, or smaller, a root mean square of 1 may be, 95 % sure.

    Squares are skew: their mean is too small more often than too large, and its limits
    hold better on the scale of logarithms, there with Student's t.  NaN if one unit
    outweighs all others.
    """
    units = np.arange(len(relative)) if clusters is None else clusters
    part = Part.of_clusters(relative**2 - 1.0, units, int(units.max()) + 1, weights)
    if part.df < LEAST_DF:
        return math.nan
    quantile = float(student.isf((1.0 - CONFIDENCE) / 2, part.df))
    half = quantile * math.sqrt(part.variance) / 2  # of a root: half that of its square
    return math.exp(half) if half < MOST else math.nan
