"""Compare one group with another in the predictions of one model.

A new figure is a field of `Comparison` and a function in `FIGURES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.audit.records import MOST_PAIRED, Comparison, TaskLine
from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.input.groups import SensitiveGroups
from rankfair.input.scored_rows import ScoredRows
from rankfair.stats.auc import auc_estimate
from rankfair.stats.distances import distances
from rankfair.stats.estimate import Estimate, TwoGroups
from rankfair.stats.means import mean_gap, shares_and_ratio
from rankfair.stats.ordered import Ordered
from rankfair.stats.within_tasks import (
    WithinTasks,
    adjusted,
    few_rows,
    pooled,
    task_estimates,
)

REST = "the rest"


@dataclass(frozen=True)
class AuditSettings:
    """What holds for all numbers of an audit."""

    confidence: float
    min_group: int
    seed: int | None


@dataclass(frozen=True)
class SortedModel:
    """The predictions of one model, sorted by value and by task."""

    name: str
    by_value: Ordered
    by_task: Ordered | None
    above_median: Bools

    @classmethod
    def of(cls, name: str, rows: ScoredRows) -> SortedModel:
        """Sort the predictions of a model once."""
        predicted = rows.predicted[name]
        exact = rows.ranked.get(name, predicted)
        by_value = Ordered.of(predicted, exact)
        by_task = None if rows.tasks is None else by_value.by_task(rows.tasks)
        above = exact > _median(by_value, rows.weights)
        return cls(name, by_value, by_task, above)


def _median(ordered: Ordered, weights: Floats | None) -> float:
    """The weighted median of predictions, in the numbers that order them exactly."""
    if weights is None:
        n = len(ordered.exact)
        return float((ordered.exact[[(n - 1) // 2, n // 2]] / 2).sum())
    so_far = np.cumsum(weights[ordered.order])
    half = so_far[-1] / 2
    at = [np.searchsorted(so_far, half, side) for side in ("left", "right")]
    # Halves, so that the largest numbers do not overflow.
    return float((ordered.exact[np.minimum(at, len(so_far) - 1)] / 2).sum())


@dataclass(frozen=True)
class Pair:
    """Two groups of a sensitive feature; ``other`` is None for all other groups."""

    grouping: SensitiveGroups
    group: int
    other: int | None

    @property
    def labels(self) -> tuple[str, str]:
        """The names of the two groups."""
        names = self.grouping.labels
        if self.other is not None:
            return names[self.group], names[self.other]
        rest = REST
        while rest in names:  # a group has that name
            rest = f"all {rest}"
        return names[self.group], rest

    def among(self, ordered: Ordered) -> Ordered:
        """Return the rows of the two groups; nothing is sorted again."""
        codes = self.grouping.codes[ordered.order]
        if self.other is None:
            return ordered.among(codes >= 0)
        return ordered.among((codes == self.group) | (codes == self.other))


def pairs_of(grouping: SensitiveGroups) -> list[Pair]:
    """Return all comparisons: each of several groups with the rest, and every pair.

    A pair is compared with the reference group, else with the larger of the two.
    """
    n, sizes = len(grouping.labels), grouping.sizes()
    pairs = [Pair(grouping, g, None) for g in range(n)] if n > 2 else []
    if n <= MOST_PAIRED:
        places = sorted(range(n), key=lambda g: (g != grouping.reference, -sizes[g]))
        pairs += [Pair(grouping, b, a) for a, b in combinations(places, 2)]
    return pairs


@dataclass(frozen=True)
class PairRows:
    """The rows of two groups in the order of the predictions (within each task).

    All figures are made of it; ``within`` is what was counted within tasks.
    """

    model: SortedModel
    pair: Pair
    data: ScoredRows
    to: AuditSettings
    ordered: Ordered
    within: WithinTasks | None = None

    @cached_property
    def in_a(self) -> Bools:
        """Which rows are in group A; the others are in group B."""
        return np.asarray(self.own(self.pair.grouping.codes) == self.pair.group)

    @cached_property
    def masses(self) -> tuple[Floats, Floats]:
        """The weight of each row in either group, 0 outside of it."""
        weights = self.own(self.data.weights)
        mass = np.ones(len(self.in_a)) if weights is None else weights
        return mass * self.in_a, mass * ~self.in_a

    @cached_property
    def groups(self) -> TwoGroups:
        """The groups, as places in this order."""
        tasks, weights = self.own(self.data.tasks), self.own(self.data.weights)
        return TwoGroups.of(self.in_a, ~self.in_a, tasks, weights)

    def own(self, values: NDArray[Any] | None) -> Any:
        """Return the values of these rows, in this order; None without any."""
        return None if values is None else values[self.ordered.order]

    def split(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """Return values in this order as those of A and those of B."""
        return values[self.groups.a.rows], values[self.groups.b.rows]

    def twice_ranks(self) -> Codes:
        """Return twice the mid-rank of each row (within its task), without weights."""
        below = self.ordered.below(np.ones(len(self.in_a)))
        return np.rint(2.0 * below).astype(np.intp) + 1


def compare(rows: PairRows) -> Comparison:
    """Measure one pair of groups, with intervals if both have enough rows."""
    pair, groups = rows.pair, rows.groups
    figures = {k: e for figure in FIGURES for k, e in figure(rows).items()}
    found = Comparison(
        model=rows.model.name,
        sensitive_feature=pair.grouping.name,
        group=pair.labels[0],
        against=pair.labels[1],
        kind="rest" if pair.other is None else "pair",
        n_group=groups.a.n,
        n_against=groups.b.n,
        **{name: estimate.finite() for name, estimate in figures.items()},
    )
    return _without_intervals(found, rows.to.min_group)


def _ranks(rows: PairRows) -> dict[str, Estimate]:
    """The AUC of all rows, its parts within and between tasks, and mean ranks.

    Rows without weights get a rank test.
    """
    groups, (mass_a, mass_b) = rows.groups, rows.masses
    above = rows.split(rows.ordered.below(mass_b) / groups.b.mass)[0]
    below = rows.split(rows.ordered.below(mass_a) / groups.a.mass)[1]
    ranks = rows.split(rows.twice_ranks()) if groups.a.weights is None else None
    auc = auc_estimate(above, below, groups, rows.to.confidence, ranks, rows.to.seed)
    n_a, n_b = groups.a.mass, groups.b.mass

    def ratio(value: float) -> float:
        of_a = 2.0 * value * n_b + n_a + 1.0
        return of_a / (2.0 * (1.0 - value) * n_a + n_b + 1.0)

    method = "from the interval of AUC" if auc.estimable else ""
    by_ranks = replace(auc.mapped(ratio), method=method)
    return {"auc": auc, "impact_rank_ratio": by_ranks, **_by_task(auc, rows)}


def _by_task(auc: Estimate, rows: PairRows) -> dict[str, Estimate]:
    """The AUC of pairs within tasks, and of pairs of rows from different tasks."""
    within = rows.within
    if within is None:
        lost = Estimate(math.nan, note="no tasks were given")
        return {"within_task_auc": lost, "between_task_auc": lost}
    inside = within.mass_a * within.mass_b
    pairs = rows.groups.a.mass * rows.groups.b.mass
    between = pairs - float(inside.sum())
    if not len(within.auc):
        apart = auc
    elif between <= 1e-9 * pairs:
        apart = Estimate(math.nan, note="all pairs of rows are within tasks")
    else:
        value = (auc.value * pairs - float(inside @ within.auc)) / between
        note = "shown without an interval, to be read beside the others"
        apart = Estimate(value, note=note)
    in_tasks = pooled(within, rows.to.confidence)
    return {"within_task_auc": in_tasks, "between_task_auc": apart}


def _means(rows: PairRows) -> dict[str, Estimate]:
    """The differences of mean predictions and of mean residuals."""
    confidence, predicted = rows.to.confidence, rows.ordered.values
    target = rows.own(rows.data.target)
    found = mean_gap(*rows.split(predicted), rows.groups, confidence)
    residuals = Estimate(math.nan, note="y_true was not given")
    if target is not None:
        half = target / 2 - predicted / 2  # the whole may overflow
        size = float(max(np.abs(target).max(), np.abs(predicted).max()) / 2)
        of_half = mean_gap(*rows.split(half), rows.groups, confidence, size)
        residuals = of_half.mapped(lambda value: 2 * value)
    return {"mean_difference": found, "balanced_residuals": residuals}


def _distances(rows: PairRows) -> dict[str, Estimate]:
    to = rows.to
    found = distances(rows.ordered, rows.groups, rows.masses, to.confidence, to.seed)
    return dict(zip(("ks", "wasserstein"), found, strict=True))


def _selection(rows: PairRows) -> dict[str, Estimate]:
    """The shares above the median of all rows, and their ratio."""
    above = rows.split(rows.own(rows.model.above_median))
    found = shares_and_ratio(*above, rows.groups, rows.to.confidence)
    names = "share_above_median", "share_above_median_against", "impact_ratio"
    return dict(zip(names, found, strict=True))


FIGURES: tuple[Callable[[PairRows], dict[str, Estimate]], ...] = (
    _ranks,
    _means,
    _distances,
    _selection,
)


def _without_intervals(found: Comparison, least: int) -> Comparison:
    """Remove intervals and p-values if a group is too small."""
    counts = ((found.group, found.n_group), (found.against, found.n_against))
    small = [few_rows(label, n, least) for label, n in counts if n < least]
    if not small:
        return found
    bare = found.changed(lambda e: Estimate(e.value, note=e.note or small[0]))
    return replace(bare, auc=Estimate(found.auc.value, note=small[0]))


def task_lines(rows: PairRows) -> tuple[list[TaskLine], WithinTasks | None]:
    """Measure the AUC within every task that has rows of both groups."""
    pair, to, data = rows.pair, rows.to, rows.data
    if rows.model.by_task is None or data.tasks is None:
        return [], None
    mine = replace(rows, ordered=pair.among(rows.model.by_task))
    of_segment = data.tasks[mine.ordered.order[mine.ordered.segments]]
    found = WithinTasks.of(mine.ordered, of_segment, *mine.masses)
    if pair.other is not None and len(pair.grouping.labels) > 2:
        return [], found  # the lines of each group against the rest are enough
    ranks = None
    if data.weights is None:
        ranks = _task_ranks(mine, np.searchsorted(of_segment, found.tasks))
    estimates = task_estimates(
        found, to.confidence, to.min_group, pair.labels, ranks, to.seed
    )
    corrected = adjusted([e.p_value for e in estimates])
    columns = (found.tasks.tolist(), found.n_a.tolist(), found.n_b.tolist())
    lines = [
        TaskLine(
            model=rows.model.name,
            sensitive_feature=pair.grouping.name,
            group=pair.labels[0],
            against=pair.labels[1],
            task=data.task_labels[task],
            n_group=n_a,
            n_against=n_b,
            auc=estimate,
            adjusted_p=p,
            flagged=p is not None and p <= 1.0 - to.confidence,
        )
        for task, n_a, n_b, estimate, p in zip(
            *columns, estimates, corrected, strict=True
        )
    ]
    return lines, found


def _task_ranks(mine: PairRows, place: Codes) -> Callable[[int], tuple[Codes, int]]:
    """A function that gives twice the mid-ranks of a task, and their sum in group A."""
    twice, starts = mine.twice_ranks(), mine.ordered.segments
    ends = np.append(starts[1:], len(twice))

    def ranks(i: int) -> tuple[Codes, int]:
        at = slice(starts[place[i]], ends[place[i]])
        return twice[at], int(twice[at][mine.in_a[at]].sum())

    return ranks
