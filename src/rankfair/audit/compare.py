"""One group against another in one model's predictions: everything measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankfair.audit.records import Comparison, TaskLine
from rankfair.input.errors import Codes, Floats
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

__all__ = ["REST", "Pair", "Settings", "Sorted", "compare", "task_lines"]

REST = "the rest"


@dataclass(frozen=True)
class Settings:
    """What holds for all numbers of an audit."""

    confidence: float
    min_group: int
    seed: int | None


@dataclass(frozen=True)
class Sorted:
    """One model's rows by prediction, and by task and prediction."""

    name: str
    predicted: Floats
    by_value: Ordered
    by_task: Ordered | None
    above_median: Bools


@dataclass(frozen=True)
class Pair:
    """Two groups of an attribute; ``other`` is None for all others together."""

    grouping: Grouping
    group: int
    other: int | None

    @property
    def labels(self) -> tuple[str, str]:
        """The groups in words."""
        names = self.grouping.labels
        if self.other is not None:
            return names[self.group], names[self.other]
        rest = REST
        while rest in names:  # a group has that name
            rest = f"all {rest}"
        return names[self.group], rest

    def masks(self, order: Codes) -> tuple[Bools, Bools]:
        """Which rows are in either group, in some order."""
        codes = self.grouping.codes[order]
        in_a: Bools = codes == self.group
        in_b = (codes >= 0) & ~in_a if self.other is None else codes == self.other
        return in_a, in_b

    def among(self, ordered: Ordered) -> Ordered:
        """Return the rows of either group: no other says anything about the two."""
        in_a, in_b = self.masks(ordered.order)
        return ordered.among(in_a | in_b)

    def masses(self, order: Codes, weights: Floats | None) -> tuple[Floats, Floats]:
        """Weights of the rows of either group, in some order, 0 for all others."""
        in_a, in_b = self.masks(order)
        if weights is None:
            return in_a.astype(np.float64), in_b.astype(np.float64)
        ordered = weights[order]
        return ordered * in_a, ordered * in_b


def compare(
    model: Sorted,
    pair: Pair,
    rows: AuditedRows,
    within: WithinTasks | None,
    to: Settings,
) -> Comparison:
    """Measure one pair of groups, with intervals where both have enough rows."""
    ordered = pair.among(model.by_value)
    order = ordered.order
    tasks = None if rows.tasks is None else rows.tasks[order]
    weights = None if rows.weights is None else rows.weights[order]
    groups = TwoGroups.of(*pair.masks(order), tasks, weights)
    masses = pair.masses(order, rows.weights)
    a, b = groups.a.rows, groups.b.rows
    auc = _auc(ordered, groups, masses, weights is None, to)
    ks, moved = distances(ordered, groups, masses, to.confidence, to.seed)
    chosen = model.above_median[order]
    of_a, of_b, ratio = shares_and_ratio(chosen[a], chosen[b], groups, to.confidence)
    found = Comparison(
        model=model.name,
        attribute=pair.grouping.name,
        group=pair.labels[0],
        against=pair.labels[1],
        kind="rest" if pair.other is None else "pair",
        n_group=groups.a.n,
        n_against=groups.b.n,
        auc=auc,
        within_task_auc=_within(within, to.confidence),
        between_task_auc=_between(auc, groups, within),
        mean_difference=mean_gap(
            ordered.values[a], ordered.values[b], groups, to.confidence
        ),
        balanced_residuals=_residuals(rows.target, ordered, groups, to),
        impact_rank_ratio=_rank_ratio(auc, groups),
        ks=ks,
        wasserstein=moved,
        share_above_median=of_a,
        share_above_median_against=of_b,
        impact_ratio=ratio,
    )
    return _without_intervals(_finite(found), to.min_group)


def _auc(
    ordered: Ordered,
    groups: TwoGroups,
    masses: tuple[Floats, Floats],
    plain: bool,
    to: Settings,
) -> Estimate:
    """The AUC of all rows; by permutations of ranks where rows are few and plain."""
    a, b = groups.a.rows, groups.b.rows
    above = ordered.below(masses[1])[a] / groups.b.mass
    below = ordered.below(masses[0])[b] / groups.a.mass
    ranks = None
    if plain:
        twice = np.rint(2.0 * ordered.below(masses[0] + masses[1])).astype(np.intp) + 1
        ranks = (twice[a], twice[b])
    return auc_estimate(above, below, groups, to.confidence, ranks, to.seed)


def _residuals(
    target: Floats | None, ordered: Ordered, groups: TwoGroups, to: Settings
) -> Estimate:
    if target is None:
        return Estimate(math.nan, note="y_true was not given")
    own = target[ordered.order]
    half = own / 2 - ordered.values / 2  # the whole may overflow
    size = max(np.abs(own).max(), np.abs(ordered.values).max()) / 2
    a, b = half[groups.a.rows], half[groups.b.rows]
    found = mean_gap(a, b, groups, to.confidence, float(size))
    return found.mapped(lambda value: 2 * value)


def _finite(found: Comparison) -> Comparison:
    """Take away what is too large for a float, as numbers near 1e308 make it."""
    changed: dict[str, Any] = {
        name: value.finite()
        for name, value in vars(found).items()
        if isinstance(value, Estimate)
    }
    return replace(found, **changed)


def _within(within: WithinTasks | None, confidence: float) -> Estimate:
    if within is None:
        return Estimate(math.nan, note="no tasks were given")
    return pooled(within, confidence)


def _between(auc: Estimate, groups: TwoGroups, within: WithinTasks | None) -> Estimate:
    """The AUC of pairs of rows of different tasks: all pairs less those within."""
    if within is None:
        return Estimate(math.nan, note="no tasks were given")
    if not len(within.auc):
        return auc
    inside = within.mass_a * within.mass_b
    pairs = groups.a.mass * groups.b.mass
    apart = pairs - float(inside.sum())
    if apart <= 1e-9 * pairs:
        return Estimate(math.nan, note="all pairs of rows are within tasks")
    value = (auc.value * pairs - float(inside @ within.auc)) / apart
    return Estimate(
        value, note="shown without an interval, to be read beside the others"
    )


def _rank_ratio(auc: Estimate, groups: TwoGroups) -> Estimate:
    """The ratio of mean ranks rises with AUC, and so does its interval."""
    n_a, n_b = groups.a.mass, groups.b.mass

    def ratio(value: float) -> float:
        of_a = 2.0 * value * n_b + n_a + 1.0
        return of_a / (2.0 * (1.0 - value) * n_a + n_b + 1.0)

    method = "from the interval of AUC" if auc.estimable else ""
    return replace(auc.mapped(ratio), method=method)


def _without_intervals(found: Comparison, least: int) -> Comparison:
    """Take intervals and p-values from a comparison with too small a group."""
    counts = ((found.group, found.n_group), (found.against, found.n_against))
    small = [few_rows(label, n, least) for label, n in counts if n < least]
    if not small:
        return found
    bare: dict[str, Any] = {
        name: Estimate(value.value, note=value.note or small[0])
        for name, value in vars(found).items()
        if isinstance(value, Estimate)
    }
    bare["auc"] = Estimate(found.auc.value, note=small[0])
    return replace(found, **bare)


def task_lines(
    model: Sorted, pair: Pair, rows: AuditedRows, to: Settings
) -> tuple[list[TaskLine], WithinTasks | None]:
    """Measure the AUC within every task that has rows of both groups."""
    if model.by_task is None or rows.tasks is None:
        return [], None
    ordered = pair.among(model.by_task)
    masses = pair.masses(ordered.order, rows.weights)
    of_segment = rows.tasks[ordered.order[ordered.segments]]
    found = WithinTasks.of(ordered, of_segment, *masses)
    if pair.other is not None and len(pair.grouping.labels) > 2:
        return [], found  # each group against the rest says it once
    ranks = _TaskRanks(ordered, of_segment, masses, found)
    estimates = task_estimates(
        found,
        to.confidence,
        to.min_group,
        pair.labels,
        ranks if rows.weights is None else None,
        to.seed,
    )
    corrected = adjusted([e.p_value for e in estimates])
    columns = (found.tasks.tolist(), found.n_a.tolist(), found.n_b.tolist())
    lines = [
        TaskLine(
            model.name,
            pair.grouping.name,
            *pair.labels,
            rows.task_labels[task],
            n_a,
            n_b,
            estimate,
            p,
            p is not None and p <= 1.0 - to.confidence,
            estimate.note,
        )
        for task, n_a, n_b, estimate, p in zip(
            *columns, estimates, corrected, strict=True
        )
    ]
    return lines, found


class _TaskRanks:
    """Twice the mid-ranks of one task at a time, for permutations."""

    def __init__(
        self,
        ordered: Ordered,
        of_segment: Codes,
        masses: tuple[Floats, Floats],
        found: WithinTasks,
    ):
        self.mass_a, both = masses[0], masses[0] + masses[1]
        self.counted = both > 0
        self.twice = 2.0 * ordered.below(both) + 1.0
        ends = np.append(ordered.segments[1:], len(both))
        place = np.searchsorted(of_segment, found.tasks)
        self.slices = list(
            zip(ordered.segments[place].tolist(), ends[place].tolist(), strict=True)
        )

    def __call__(self, i: int) -> tuple[Codes, int]:
        at = slice(*self.slices[i])
        counted = self.counted[at]
        twice = np.rint(self.twice[at][counted]).astype(np.intp)
        in_a = self.mass_a[at][counted] > 0
        return twice, int(twice[in_a].sum())
