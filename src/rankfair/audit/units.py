"""Gaps in the units of the target, what controls explain of them, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.audit.comparisons import AuditSettings, Pair, pairs_of
from rankfair.audit.records import (
    GapParts,
    PayBands,
    QuartileBand,
    RemedyCost,
    TaskRaises,
    UnitsGap,
)
from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.input.groups import SensitiveGroups
from rankfair.input.scored_rows import ScoredRows
from rankfair.stats.auc import auc_estimate
from rankfair.stats.estimate import Estimate, TwoGroups
from rankfair.stats.explained import (
    Controls,
    GapRegression,
    explained_gap,
    kennedy,
    least_raises,
)
from rankfair.stats.means import mean_gap
from rankfair.stats.medians import median, median_gap, relative_gaps
from rankfair.stats.ordered import Ordered
from rankfair.stats.propensity import by_quantiles, log_odds
from rankfair.stats.within_tasks import WithinTasks, few_rows, pooled

MOST_TASKS = 200  # the largest tasks get a gap of their own
N_STRATA = 5


@dataclass(frozen=True)
class MeasuredPair:
    """The values of the rows of a group and of those that it is compared with."""

    of: str
    values: Floats
    pair: Pair
    at: Codes  # places of the rows in the data
    in_group: Bools
    tasks: Codes | None
    weights: Floats | None

    @classmethod
    def among(
        cls, of: str, values: Floats, pair: Pair, rows: ScoredRows
    ) -> MeasuredPair:
        """Take the rows of a pair."""
        codes = pair.grouping.codes
        both = codes >= 0
        if pair.other is not None:
            both = (codes == pair.group) | (codes == pair.other)
        at = np.flatnonzero(both)

        def own(column: NDArray[Any] | None) -> Any:
            return None if column is None else column[at]

        in_group = np.asarray(codes[at] == pair.group)
        tasks, weights = own(rows.tasks), own(rows.weights)
        return cls(of, values[at], pair, at, in_group, tasks, weights)

    def take(self, chosen: Codes) -> MeasuredPair:
        """Return some rows of one task, which are independent."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(
            self,
            values=self.values[chosen],
            at=self.at[chosen],
            in_group=self.in_group[chosen],
            tasks=None,
            weights=weights,
        )

    @property
    def names(self) -> dict[str, str]:
        """What is compared with what, as fields of a record."""
        group, against = self.pair.labels
        feature = self.pair.grouping.name
        return {
            "of": self.of,
            "sensitive_feature": feature,
            "group": group,
            "against": against,
        }

    @property
    def groups(self) -> TwoGroups:
        """The two groups."""
        return TwoGroups.of(self.in_group, ~self.in_group, self.tasks, self.weights)

    @property
    def mass(self) -> Floats:
        """The weight of each row."""
        return np.ones(len(self.values)) if self.weights is None else self.weights


def referenced(grouping: SensitiveGroups) -> list[Pair]:
    """Return the comparisons with the reference group, else with the rest."""
    pairs = pairs_of(grouping)
    found = [pair for pair in pairs if pair.other == grouping.reference]
    return found or pairs


def measured(rows: ScoredRows) -> dict[str, Floats]:
    """Return what is measured in units: the target, or each prediction without one."""
    return rows.predicted if rows.target is None else {rows.target_name: rows.target}


def measured_pairs(rows: ScoredRows) -> list[MeasuredPair]:
    """Return all comparisons with a reference group of what is measured."""
    return [
        MeasuredPair.among(of, each, pair, rows)
        for of, each in measured(rows).items()
        for grouping in rows.groupings
        for pair in referenced(grouping)
    ]


def units_gaps(
    mine: MeasuredPair, labels: tuple[str, ...], to: AuditSettings
) -> list[UnitsGap]:
    """Measure the gap over all rows, and within each task that has both groups."""
    found = [_units_gap(mine, None, to)]
    if mine.tasks is None:
        return found
    n = len(labels)
    of_group = np.bincount(mine.tasks[mine.in_group], minlength=n)
    sizes = np.bincount(mine.tasks, minlength=n)
    both = np.flatnonzero((of_group > 0) & (of_group < sizes))
    largest = np.sort(both[np.argsort(-sizes[both], kind="stable")[:MOST_TASKS]])
    order = np.argsort(mine.tasks, kind="stable")
    ends = np.cumsum(sizes)
    for task in largest.tolist():
        here = order[ends[task] - sizes[task] : ends[task]]
        found.append(_units_gap(mine.take(here), labels[task], to))
    return found


def _units_gap(mine: MeasuredPair, task: str | None, to: AuditSettings) -> UnitsGap:
    groups, confidence = mine.groups, to.confidence
    a, b = mine.values[mine.in_group], mine.values[~mine.in_group]
    w_a, w_b = groups.weights
    with np.errstate(over="ignore", invalid="ignore"):
        figures: tuple[Estimate, ...] = (
            mean_gap(a, b, groups, confidence),
            median_gap(a, b, groups, confidence),
            *relative_gaps(a, b, groups, confidence),
        )
    counts = zip(mine.pair.labels, (len(a), len(b)), strict=True)
    note = next(
        (few_rows(g, n, to.min_group) for g, n in counts if n < to.min_group), ""
    )
    if note:
        figures = tuple(Estimate(e.value, note=e.note or note) for e in figures)
    mean, middle, mean_share, middle_share = (e.finite() for e in figures)
    return UnitsGap(
        **mine.names,
        task=task,
        n_group=len(a),
        n_against=len(b),
        mean_group=_average(a, w_a),
        mean_against=_average(b, w_b),
        median_group=median(a, w_a),
        median_against=median(b, w_b),
        mean_gap=mean,
        mean_gap_share=mean_share,
        median_gap=middle,
        median_gap_share=middle_share,
        detectable=mean.detectable(confidence),
    )


def _average(values: Floats, weights: Floats | None) -> float:
    size = float(np.abs(values).max()) or 1.0
    return size * float(np.average(values / size, weights=weights))


def controls_of(mine: MeasuredPair, rows: ScoredRows) -> Controls:
    """Return the controls of a pair's rows; none were given without ``controls``."""
    if rows.controls is None:
        return Controls(np.zeros((len(mine.at), 0)), ())
    return Controls(rows.controls[mine.at], rows.control_names)


def gap_parts(mine: MeasuredPair, controls: Controls, to: AuditSettings) -> GapParts:
    """Split the mean gap of a pair by what the controls say."""
    confidence = to.confidence

    def split(values: Floats) -> Any:
        given = mine.in_group, controls, mine.groups, confidence, mine.weights
        return explained_gap(values, *given)

    found = split(mine.values)
    log = Estimate(math.nan, note="not all values are above 0")
    if mine.values.min() > 0.0:
        log = kennedy(split(np.log(mine.values)).unexplained, confidence)
    left = GapRegression.of(mine.values, mine.in_group, mine.mass, controls)
    return GapParts(
        **mine.names,
        controls=tuple(dict.fromkeys(controls.names)),
        dropped=found.dropped,
        gap=found.gap,
        explained=found.explained,
        unexplained=found.unexplained,
        explained_share=found.explained_share,
        unexplained_share=found.unexplained_share,
        unexplained_log=log,
        residual_auc=_ranked(mine, left.residuals, to),
        stratified_auc=_within_strata(mine, controls, confidence),
        by_control=found.by_control,
        detectable=found.unexplained.detectable(confidence),
    )


def _ranked(mine: MeasuredPair, values: Floats, to: AuditSettings) -> Estimate:
    """The AUC of values of the rows."""
    ordered, groups = Ordered.of(values), mine.groups
    mass, in_group = mine.mass[ordered.order], mine.in_group[ordered.order]
    placed = np.empty((2, len(values)))
    placed[:, ordered.order] = (
        ordered.below(mass * ~in_group) / groups.b.mass,
        ordered.below(mass * in_group) / groups.a.mass,
    )
    above, below = placed[0][mine.in_group], placed[1][~mine.in_group]
    return auc_estimate(above, below, groups, to.confidence)


def _within_strata(
    mine: MeasuredPair, controls: Controls, confidence: float
) -> Estimate:
    """The AUC within strata of the propensity score, van Elteren's weights."""
    score = log_odds(controls.X, mine.in_group, mine.weights)
    strata = by_quantiles(score, N_STRATA, mine.weights)
    ordered = Ordered.of(mine.values).by_task(strata)
    mass, in_group = mine.mass[ordered.order], mine.in_group[ordered.order]
    codes = strata[ordered.order[ordered.segments]]
    found = WithinTasks.of(ordered, codes, mass * in_group, mass * ~in_group)
    auc = pooled(found, confidence)
    if not mine.groups.needed:
        return auc
    return Estimate(auc.value, note="tasks are clusters: no interval within strata")


def remedy_cost(
    mine: MeasuredPair, controls: Controls, rows: ScoredRows, close_to: float
) -> RemedyCost | None:
    """Return the least raises that bring the unexplained gap to a share; None if odd.

    Where the reference's mean is not above 0, a share of it has no meaning.
    """
    mass = mine.mass
    mean = _average(mine.values[~mine.in_group], mass[~mine.in_group])
    if not mean > 0.0:
        return None
    found = GapRegression.of(mine.values, mine.in_group, mass, controls)
    remedy = least_raises(found, close_to * mean)
    raised = np.flatnonzero(remedy.raises > 0.0)
    places = np.arange(len(mass)) if rows.places is None else rows.places
    cost = remedy.raises[raised] * mass[raised] * rows.unit
    by_task: tuple[TaskRaises, ...] = ()
    if mine.tasks is not None:
        n = len(rows.task_labels)
        counts = np.bincount(mine.tasks[raised], minlength=n)
        sums = np.bincount(mine.tasks[raised], cost, n)
        by_task = tuple(
            TaskRaises(rows.task_labels[t], int(counts[t]), float(sums[t]))
            for t in np.flatnonzero(counts).tolist()
        )
    total = float(cost.sum())
    return RemedyCost(
        **mine.names,
        close_to=close_to,
        left=remedy.unexplained / mean,
        n_raised=len(raised),
        total=total,
        share=total / float(rows.unit * mass @ mine.values),
        largest=float(remedy.raises.max(initial=0.0)),
        by_task=by_task,
        rows=tuple(places[mine.at[raised]].tolist()),
        raises=tuple(remedy.raises[raised].tolist()),
    )


def pay_bands(
    grouping: SensitiveGroups, rows: ScoredRows, to: AuditSettings
) -> PayBands:
    """Return the share of each group in the four quartile bands of pay."""
    of, values = next(iter(measured(rows).items()))
    known = grouping.codes >= 0
    mass = np.ones(len(values)) if rows.weights is None else rows.weights
    own, codes, weight = values[known], grouping.codes[known], mass[known]
    band = by_quantiles(own, 4, weight)
    bands = []
    for q in range(4):
        here = band == q
        if not here.any():
            continue
        by_group = np.bincount(codes[here], weight[here], len(grouping.labels))
        share = (by_group / by_group.sum()).tolist()
        low, high = float(own[here].min()), float(own[here].max())
        shares = dict(zip(grouping.labels, share, strict=True))
        bands.append(QuartileBand(low, high, int(here.sum()), shares))
    gaps, receiving = _complementary(grouping, rows, to)
    return PayBands(of, grouping.name, tuple(bands), gaps, receiving)


def _complementary(
    grouping: SensitiveGroups, rows: ScoredRows, to: AuditSettings
) -> tuple[tuple[UnitsGap, ...], dict[str, float]]:
    """The gaps of complementary pay, and the share of each group that gets any."""
    pay = rows.complementary
    if pay is None:
        return (), {}
    gaps = tuple(
        _units_gap(MeasuredPair.among("complementary pay", pay, pair, rows), None, to)
        for pair in referenced(grouping)
    )
    receiving = {
        label: _average(
            (pay[here] > 0.0).astype(np.float64),
            None if rows.weights is None else rows.weights[here],
        )
        for g, label in enumerate(grouping.labels)
        for here in (grouping.codes == g,)
    }
    return gaps, receiving
