"""Compare one group with another in the predictions of one model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rankfair.audit.describe import MOST_PAIRED, SortedModel
from rankfair.audit.records import Comparison, TaskLine
from rankfair.input.arrays import Codes, Floats
from rankfair.input.groups import Bools
from rankfair.input.scored_rows import AuditedRows, Grouping
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
class Pair:
    """Two groups of a sensitive feature; ``other`` is None for all other groups."""

    grouping: Grouping
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

    def masks(self, order: Codes) -> tuple[Bools, Bools]:
        """Return which rows are in either group, in the given order."""
        codes = self.grouping.codes[order]
        in_a: Bools = codes == self.group
        in_b = (codes >= 0) & ~in_a if self.other is None else codes == self.other
        return in_a, in_b

    def among(self, ordered: Ordered) -> Ordered:
        """Return the rows of the two groups, without all other rows."""
        in_a, in_b = self.masks(ordered.order)
        return ordered.among(in_a | in_b)

    def masses(self, order: Codes, weights: Floats | None) -> tuple[Floats, Floats]:
        """Return the weight of each row in either group, 0 outside of it."""
        in_a, in_b = self.masks(order)
        mass = np.ones(len(order)) if weights is None else weights[order]
        return mass * in_a, mass * in_b


def pairs_of(grouping: Grouping) -> list[Pair]:
    """Return all comparisons: each of several groups with the rest, and every pair.

    In a pair the label that sorts last comes first, as in `rankfair.metrics`.
    """
    n = len(grouping.labels)
    pairs = [Pair(grouping, g, None) for g in range(n)] if n > 2 else []
    if n <= MOST_PAIRED:
        pairs += [Pair(grouping, b, a) for a, b in combinations(range(n), 2)]
    return pairs


def compare(
    model: SortedModel,
    pair: Pair,
    rows: AuditedRows,
    within: WithinTasks | None,
    to: AuditSettings,
) -> Comparison:
    """Measure one pair of groups, with intervals if both have enough rows."""
    ordered = pair.among(model.by_value)
    order = ordered.order
    tasks = None if rows.tasks is None else rows.tasks[order]
    weights = None if rows.weights is None else rows.weights[order]
    groups = TwoGroups.of(*pair.masks(order), tasks, weights)
    masses = pair.masses(order, rows.weights)
    a, b = groups.a.rows, groups.b.rows
    auc = _auc(ordered, groups, masses, to)
    in_tasks, between_tasks = _by_task(auc, groups, within, to.confidence)
    ks, moved = distances(ordered, groups, masses, to.confidence, to.seed)
    above = model.above_median[order]
    of_a, of_b, ratio = shares_and_ratio(above[a], above[b], groups, to.confidence)
    values = ordered.values
    found = Comparison(
        model=model.name,
        sensitive_feature=pair.grouping.name,
        group=pair.labels[0],
        against=pair.labels[1],
        kind="rest" if pair.other is None else "pair",
        n_group=groups.a.n,
        n_against=groups.b.n,
        auc=auc,
        within_task_auc=in_tasks,
        between_task_auc=between_tasks,
        mean_difference=mean_gap(values[a], values[b], groups, to.confidence),
        balanced_residuals=_residuals(rows.target, ordered, groups, to.confidence),
        impact_rank_ratio=_rank_ratio(auc, groups),
        ks=ks,
        wasserstein=moved,
        share_above_median=of_a,
        share_above_median_against=of_b,
        impact_ratio=ratio,
    )
    return _without_intervals(found.changed(Estimate.finite), to.min_group)


def _auc(
    ordered: Ordered,
    groups: TwoGroups,
    masses: tuple[Floats, Floats],
    to: AuditSettings,
) -> Estimate:
    """The AUC of all rows; rows without weights get a rank test."""
    a, b = groups.a.rows, groups.b.rows
    above = ordered.below(masses[1])[a] / groups.b.mass
    below = ordered.below(masses[0])[b] / groups.a.mass
    ranks = None
    if groups.a.weights is None:
        twice = np.rint(2.0 * ordered.below(masses[0] + masses[1])).astype(np.intp) + 1
        ranks = (twice[a], twice[b])
    return auc_estimate(above, below, groups, to.confidence, ranks, to.seed)


def _by_task(
    auc: Estimate, groups: TwoGroups, within: WithinTasks | None, confidence: float
) -> tuple[Estimate, Estimate]:
    """The AUC of pairs within tasks, and of pairs of rows from different tasks."""
    if within is None:
        lost = Estimate(math.nan, note="no tasks were given")
        return lost, lost
    in_tasks = pooled(within, confidence)
    if not len(within.auc):
        return in_tasks, auc
    inside = within.mass_a * within.mass_b
    pairs = groups.a.mass * groups.b.mass
    between = pairs - float(inside.sum())
    if between <= 1e-9 * pairs:
        note = "all pairs of rows are within tasks"
        return in_tasks, Estimate(math.nan, note=note)
    value = (auc.value * pairs - float(inside @ within.auc)) / between
    note = "shown without an interval, to be read beside the others"
    return in_tasks, Estimate(value, note=note)


def _residuals(
    target: Floats | None, ordered: Ordered, groups: TwoGroups, confidence: float
) -> Estimate:
    """The difference of mean residuals."""
    if target is None:
        return Estimate(math.nan, note="y_true was not given")
    own = target[ordered.order]
    half = own / 2 - ordered.values / 2  # the whole may overflow
    size = max(np.abs(own).max(), np.abs(ordered.values).max()) / 2
    a, b = half[groups.a.rows], half[groups.b.rows]
    found = mean_gap(a, b, groups, confidence, float(size))
    return found.mapped(lambda value: 2 * value)


def _rank_ratio(auc: Estimate, groups: TwoGroups) -> Estimate:
    """The ratio of mean ranks rises with AUC, and so does its interval."""
    n_a, n_b = groups.a.mass, groups.b.mass

    def ratio(value: float) -> float:
        of_a = 2.0 * value * n_b + n_a + 1.0
        return of_a / (2.0 * (1.0 - value) * n_a + n_b + 1.0)

    method = "from the interval of AUC" if auc.estimable else ""
    return replace(auc.mapped(ratio), method=method)


def _without_intervals(found: Comparison, least: int) -> Comparison:
    """Remove intervals and p-values if a group is too small."""
    counts = ((found.group, found.n_group), (found.against, found.n_against))
    small = [few_rows(label, n, least) for label, n in counts if n < least]
    if not small:
        return found
    bare = found.changed(lambda e: Estimate(e.value, note=e.note or small[0]))
    return replace(bare, auc=Estimate(found.auc.value, note=small[0]))


def task_lines(
    model: SortedModel, pair: Pair, rows: AuditedRows, to: AuditSettings
) -> tuple[list[TaskLine], WithinTasks | None]:
    """Measure the AUC within every task that has rows of both groups."""
    if model.by_task is None or rows.tasks is None:
        return [], None
    ordered = pair.among(model.by_task)
    masses = pair.masses(ordered.order, rows.weights)
    of_segment = rows.tasks[ordered.order[ordered.segments]]
    found = WithinTasks.of(ordered, of_segment, *masses)
    if pair.other is not None and len(pair.grouping.labels) > 2:
        return [], found  # the lines of each group against the rest are enough
    ranks = None
    if rows.weights is None:
        place = np.searchsorted(of_segment, found.tasks)
        ranks = _task_ranks(ordered, masses[0] > 0, place)
    estimates = task_estimates(
        found, to.confidence, to.min_group, pair.labels, ranks, to.seed
    )
    corrected = adjusted([e.p_value for e in estimates])
    columns = (found.tasks.tolist(), found.n_a.tolist(), found.n_b.tolist())
    lines = [
        TaskLine(
            model=model.name,
            sensitive_feature=pair.grouping.name,
            group=pair.labels[0],
            against=pair.labels[1],
            task=rows.task_labels[task],
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


def _task_ranks(
    ordered: Ordered, in_a: Bools, place: Codes
) -> Callable[[int], tuple[Codes, int]]:
    """A function that gives twice the mid-ranks of a task, and their sum in group A."""
    twice = np.rint(2.0 * ordered.below(np.ones(len(in_a)))).astype(np.intp) + 1
    ends = np.append(ordered.segments[1:], len(in_a))

    def ranks(i: int) -> tuple[Codes, int]:
        at = slice(ordered.segments[place[i]], ends[place[i]])
        return twice[at], int(twice[at][in_a[at]].sum())

    return ranks
