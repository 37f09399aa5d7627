"""The judge of a path: error and rank gap of predictions, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankfair._frames import Codes, Floats, listed
from rankfair._groups import Bools
from rankfair.constraints import Distribution
from rankfair.core.problem import Groups
from rankfair.core.ranks import whole_if_so
from rankfair.metrics import mean_difference, rmse
from rankfair.path.records import PathRow
from rankfair.stats.auc import auc_estimate
from rankfair.stats.estimate import Estimate, TwoGroups
from rankfair.stats.means import errors
from rankfair.stats.ordered import placements

__all__ = ["MIN_GROUP", "Figures", "Judge", "row_of", "small_groups"]

CONFIDENCE = 0.95
MIN_GROUP = 5  # rows of a group that is judged, as in an audit


class Figures(NamedTuple):
    """What predictions come to; `PathRow` says what each number is."""

    rmse: float
    rmse_ci_low: float
    rmse_ci_high: float
    auc: float
    auc_ci_low: float
    auc_ci_high: float
    gap: float
    md: float
    ks: float
    group: str


def row_of(epsilon: float, held_out: Figures, fitted: Figures, status: str) -> PathRow:
    """Return the row of one ε from figures of held-out rows and of those fitted."""
    return PathRow(
        epsilon=epsilon,
        **held_out._asdict(),
        train_rmse=fitted.rmse,
        train_auc=fitted.auc,
        train_gap=fitted.gap,
        train_md=fitted.md,
        status=status,
        train_group=fitted.group,
    )


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
        aucs = [self._auc(predicted[known], at[known], g) for g in self._compared]
        gaps = [abs(auc.value - 0.5) for auc in aucs]
        most = int(np.argmax(gaps))
        tasks = None if self.tasks is None else self.tasks[at]
        error = errors(y, predicted, tasks, weights, CONFIDENCE)[0]
        in_a = self.groups[at][known] == self._compared[most]
        by_group = {"sensitive_features": in_a, "sample_weight": of_known}
        return Figures(
            rmse=rmse(y, predicted, sample_weight=weights),
            rmse_ci_low=error.ci_low,
            rmse_ci_high=error.ci_high,
            auc=aucs[most].value,
            auc_ci_low=aucs[most].ci_low,
            auc_ci_high=aucs[most].ci_high,
            gap=gaps[most],
            md=mean_difference(None, predicted[known], **by_group),
            ks=_distance(predicted[known], in_a, of_known),
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

    def _two_groups(self, at: Codes, g: int) -> TwoGroups:
        """Group g and all others, as in an audit."""
        in_a = self.groups[at] == g
        tasks = None if self.tasks is None else self.tasks[at]
        weights = None if self.weights is None else self.weights[at]
        return TwoGroups.of(in_a, ~in_a, tasks, weights)

    def _auc(self, predicted: Floats, at: Codes, g: int) -> Estimate:
        """The AUC of a group against all others, with the interval of an audit."""
        weights = None if self.weights is None else self.weights[at]
        placed = placements(predicted, self.groups[at] == g, weights)
        confidence = 1.0 - (1.0 - CONFIDENCE) / len(self._compared)
        return auc_estimate(*placed, self._two_groups(at, g), confidence)

    def n_clusters(self, at: Codes) -> int | None:
        """Return how many tasks of these rows are clusters; None if rows are free."""
        known = at[self.groups[at] >= 0]
        found = (self._two_groups(known, g) for g in self._compared)
        if self.tasks is None or not any(s.needed or s.possible for s in found):
            return None
        return len(np.unique(self.tasks[known]))


def _distance(predicted: Floats, in_a: Bools, weights: Floats | None) -> float:
    """The largest distance between the distributions of the groups, KS."""
    groups, distance = Groups(in_a, whole_if_so(weights)), Distribution()
    return distance.show(distance.value(predicted, groups), groups)


def small_groups(groups: Codes, n_groups: int) -> tuple[int, ...]:
    """Return which of three or more groups have too few rows for a comparison.

    A group is compared with the rest, which needs as many.  Where none has enough all
    are compared, as two groups always are: their intervals say how little is known.

    Examples
    --------
    >>> small_groups(np.repeat([0, 1, 2, -1], [9, 8, 4, 3]), 3)
    (2,)
    """
    counts = np.bincount(groups[groups >= 0], minlength=n_groups)
    small = np.flatnonzero(np.minimum(counts, counts.sum() - counts) < MIN_GROUP)
    return () if len(small) == n_groups or n_groups == 2 else tuple(small.tolist())
