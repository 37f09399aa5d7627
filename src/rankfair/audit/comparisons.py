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
from rankfair.stats.distances import GroupDraws, distances
from rankfair.stats.estimate import Estimate, TwoGroups
from rankfair.stats.means import mean_gap, shares_and_ratio
from rankfair.stats.medians import Quantiles
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

    def rows_of(self, codes: Codes) -> Codes:
        """Return the places of the rows of both groups."""
        if self.other is None:
            return np.flatnonzero(codes >= 0)
        return np.flatnonzero((codes == self.group) | (codes == self.other))


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
    """The rows of two groups, in the order of the data."""

    pair: Pair
    data: ScoredRows
    to: AuditSettings
    at: Codes  # their places in the data

    @classmethod
    def of(cls, pair: Pair, data: ScoredRows, to: AuditSettings) -> PairRows:
        """Find the rows of a pair."""
        return cls(pair, data, to, pair.rows_of(pair.grouping.codes))

    @cached_property
    def in_a(self) -> Bools:
        """Which rows are in group A; the others are in group B."""
        return np.asarray(self.own(self.pair.grouping.codes) == self.pair.group)

    @cached_property
    def weights(self) -> Floats | None:
        """The weight of each row, if there are weights."""
        found: Floats | None = self.own(self.data.weights)
        return found

    @cached_property
    def mass(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.at)) if self.weights is None else self.weights

    @cached_property
    def groups(self) -> TwoGroups:
        """The groups, as places among these rows."""
        tasks = self.own(self.data.tasks)
        return TwoGroups.of(self.in_a, tasks, self.weights)

    @cached_property
    def names(self) -> dict[str, Any]:
        """What is compared with what, as fields of a record."""
        group, against = self.pair.labels
        feature = self.pair.grouping.name
        return {"sensitive_feature": feature, "group": group, "against": against}

    def own(self, values: NDArray[Any] | None) -> Any:
        """Return the values of these rows; None without any."""
        return None if values is None else values[self.at]

    def split(self, values: NDArray[Any]) -> tuple[Any, Any]:
        """Return values of these rows as those of A and those of B."""
        return values[self.groups.a.rows], values[self.groups.b.rows]

    def unless_few(self, found: Estimate) -> Estimate:
        """Return an estimate; without an interval if a group is too small."""
        found, counts = found.finite(), (self.groups.a.n, self.groups.b.n)
        few = few_rows(self.pair.labels, counts, self.to.min_group)
        if not few:
            return found
        note = found.note if math.isnan(found.value) else ""
        return Estimate(found.value, note=note or few)


@dataclass(frozen=True)
class ModelRows:
    """The data in the order of one model's predictions; sorted once."""

    name: str
    data: ScoredRows
    to: AuditSettings
    ordered: Ordered
    above_median: Bools

    @classmethod
    def of(cls, name: str, rows: ScoredRows, to: AuditSettings) -> ModelRows:
        """Sort all rows by the predictions of a model."""
        predicted = rows.predicted[name]
        found = Ordered.of(predicted, rows.ranked.get(name, predicted))
        bare = replace(rows, controls=None, complementary=None, places=None)
        data = bare.take(found.order)
        ordered = replace(found, order=np.arange(len(found.order)))
        middle = Quantiles.of(found.exact, data.weights).at()
        return cls(name, data, to, ordered, found.exact > middle)

    @cached_property
    def by_task(self) -> tuple[Ordered, Ordered] | None:
        """The same rows by task, and within each task by prediction.

        Beside them rows by the predictions for figures within tasks, if these are
        others.
        """
        tasks, own = self.data.tasks, self.data.within.get(self.name)
        if tasks is None:
            return None
        ordered = self.ordered.by_task(tasks)
        return ordered, ordered if own is None else Ordered.of(own).by_task(tasks)

    def compared(
        self, grouping: SensitiveGroups, on_pair: Callable[[Pair], None]
    ) -> tuple[list[Comparison], list[TaskLine]]:
        """Make all comparisons of a feature; each group is drawn once for all."""
        data, n = self.data, len(grouping.labels)
        mass = np.ones(len(grouping)) if data.weights is None else data.weights
        draws = GroupDraws(
            self.ordered, grouping.codes, n, mass, data.tasks, self.to.seed
        )
        found: list[Comparison] = []
        lines: list[TaskLine] = []
        for pair in pairs_of(grouping):
            on_pair(pair)
            at = pair.rows_of(grouping.codes)
            rows = ModelPair(pair, data, self.to, at, self, draws)
            found.append(rows.measured())
            if rows.in_tasks is not None and (pair.other is None or n == 2):
                lines += rows.task_lines(rows.in_tasks[1])  # of pairs: nothing more
        return found, lines


@dataclass(frozen=True)
class ModelPair(PairRows):
    """The rows of two groups in the order of a model's predictions."""

    model: ModelRows
    draws: GroupDraws

    @cached_property
    def ordered(self) -> Ordered:
        """The rows by prediction."""
        return self.model.ordered.among(self.at)

    @cached_property
    def in_tasks(self) -> tuple[WithinTasks, WithinTasks] | None:
        """The AUC of each task, by both orders of the rows."""
        tasks, codes = self.data.tasks, self.pair.grouping.codes
        if tasks is None or self.model.by_task is None:
            return None
        in_a = np.asarray(codes == self.pair.group)

        def counted(by_task: Ordered) -> WithinTasks:
            ordered = by_task.among(self.pair.rows_of(codes[by_task.order]))
            return WithinTasks.of(ordered, tasks, in_a, self.data.weights)

        first, other = self.model.by_task
        found = counted(first)
        return found, found if other is first else counted(other)

    def measured(self) -> Comparison:
        """Return all figures, with intervals if both groups have enough rows."""
        figures: dict[str, Any] = {}
        for figure in FIGURES:
            for name, estimate in figure(self).items():
                figures[name] = self.unless_few(estimate)
        return Comparison(
            model=self.model.name,
            **self.names,
            kind="rest" if self.pair.other is None else "pair",
            n_group=self.groups.a.n,
            n_against=self.groups.b.n,
            **figures,
        )

    def task_lines(self, found: WithinTasks) -> list[TaskLine]:
        """Return the AUC within every task that has rows of both groups."""
        to = self.to
        given = to.confidence, to.min_group, self.pair.labels, to.seed
        estimates = task_estimates(found, *given)
        corrected = adjusted([e.p_value for e in estimates])
        columns = (found.tasks.tolist(), found.n_a.tolist(), found.n_b.tolist())
        return [
            TaskLine(
                model=self.model.name,
                **self.names,
                task=self.data.task_labels[task],
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


def _ranks(rows: ModelPair) -> dict[str, Estimate]:
    """The AUC of all rows, its parts within and between tasks, and mean ranks.

    Rows without weights get a rank test.
    """
    groups, to = rows.groups, rows.to
    below_b, below_a = (
        rows.ordered.below(rows.mass * own) for own in (~rows.in_a, rows.in_a)
    )
    above = below_b[groups.a.rows] / groups.b.mass
    below = below_a[groups.b.rows] / groups.a.mass
    ranks = None
    if rows.weights is None:  # twice the mid-ranks
        ranks = rows.split(np.rint(2.0 * (below_a + below_b)).astype(np.intp) + 1)
    auc = auc_estimate(above, below, groups, to.confidence, ranks, to.seed)
    n_a, n_b = groups.a.mass, groups.b.mass

    def ratio(value: float) -> float:
        of_a = 2.0 * value * n_b + n_a + 1.0
        return of_a / (2.0 * (1.0 - value) * n_a + n_b + 1.0)

    method = "from the interval of AUC" if auc.estimable else ""
    by_ranks = replace(auc.mapped(ratio), method=method)
    return {"auc": auc, "impact_rank_ratio": by_ranks, **_by_task(auc, rows)}


def _by_task(auc: Estimate, rows: ModelPair) -> dict[str, Estimate]:
    """The AUC of pairs within tasks, and of pairs of rows from different tasks."""
    if rows.in_tasks is None:
        lost = Estimate(math.nan, note="no tasks were given")
        return {"within_task_auc": lost, "between_task_auc": lost}
    (counted, within), groups = rows.in_tasks, rows.groups
    inside = counted.mass_a * counted.mass_b
    pairs = groups.a.mass * groups.b.mass
    between = pairs - float(inside.sum())
    if not len(counted.auc):
        apart = auc
    elif between <= 1e-9 * pairs:
        apart = Estimate(math.nan, note="all pairs of rows are within tasks")
    else:
        value = (auc.value * pairs - float(inside @ counted.auc)) / between
        note = "shown without an interval, to be read beside the others"
        apart = Estimate(value, note=note)
    in_tasks = pooled(within, rows.to.confidence)
    return {"within_task_auc": in_tasks, "between_task_auc": apart}


def _means(rows: ModelPair) -> dict[str, Estimate]:
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


def _distances(rows: ModelPair) -> dict[str, Estimate]:
    """The largest and the mean distance of the two distributions."""
    pair = rows.pair.group, rows.pair.other
    found = distances(rows.draws, pair, rows.at, rows.groups, rows.to.confidence)
    return dict(zip(("ks", "wasserstein"), found, strict=True))


def _selection(rows: ModelPair) -> dict[str, Estimate]:
    """The shares above the median of all rows, and their ratio."""
    above = rows.split(rows.own(rows.model.above_median))
    found = shares_and_ratio(*above, rows.groups, rows.to.confidence)
    names = "share_above_median", "share_above_median_against", "impact_ratio"
    return dict(zip(names, found, strict=True))


FIGURES: tuple[Callable[[ModelPair], dict[str, Estimate]], ...] = (
    _ranks,
    _means,
    _distances,
    _selection,
)
