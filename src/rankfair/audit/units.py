"""Gaps in the units of the target, what controls explain of them, and what it costs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from rankfair.audit.comparisons import AuditSettings, PairRows, pairs_of
from rankfair.audit.records import (
    GapParts,
    PayBands,
    QuartileBand,
    RemedyCost,
    TaskRaises,
    UnitsGap,
)
from rankfair.input.arrays import Floats
from rankfair.input.groups import SensitiveGroups
from rankfair.input.scored_rows import ScoredRows
from rankfair.stats.auc import auc_of_rows
from rankfair.stats.estimate import Estimate
from rankfair.stats.explained import (
    GapRegression,
    explained_gap,
    kennedy,
    least_raises,
    unexplained_variance,
)
from rankfair.stats.means import average, mean_gap, relative_gap
from rankfair.stats.medians import median_gaps
from rankfair.stats.propensity import by_quantiles, log_odds
from rankfair.stats.within_tasks import WithinTasks, pooled

# So many of the largest tasks get a gap of their own: of one pair of groups, and of all
# pairs of a sensitive feature.
MOST_TASKS, MOST_TASK_GAPS = 200, 600
N_STRATA = 5  # of the propensity score


def in_units(
    rows: ScoredRows, to: AuditSettings, close_to: float | None, layout: str
) -> dict[str, Any]:
    """Measure gaps in units of the target, their parts, and what closes them.

    Without a target each prediction is measured.
    """
    measured = rows.predicted
    if rows.target is not None:
        measured = {rows.target_name: rows.target}
    goals = {0.0} if rows.controls is not None else set()
    goals |= set() if close_to is None else {close_to}
    units: list[UnitsGap] = []
    parts: list[GapParts] = []
    remedies: list[RemedyCost] = []
    bands: list[PayBands] = []
    for of, values in measured.items():
        for mine in _referenced(rows, to):
            units += _units_gaps(of, values, mine)
            a, b = mine.groups.a.n, mine.groups.b.n
            if not goals or min(a, b) < max(to.min_group, 2):
                continue
            left = _regression(values, mine)
            if rows.controls is not None:
                parts.append(_gap_parts(of, left, mine))
            if left.mean_against > 0.0:  # else a share of it has no meaning
                remedies += [_remedy(of, left, mine, goal) for goal in sorted(goals)]
    if layout == "pay-transparency":
        of, values = next(iter(measured.items()))
        bands = [_pay_bands(of, values, each, rows) for each in rows.groupings]
        if rows.complementary is not None:
            for mine in _referenced(rows, to):
                units += _units_gaps("complementary pay", rows.complementary, mine)
    return {
        "units": tuple(units),
        "parts": tuple(parts),
        "remedies": tuple(remedies),
        "bands": tuple(bands),
    }


def _referenced(rows: ScoredRows, to: AuditSettings) -> list[PairRows]:
    """The comparisons of each feature with its reference group, else with the rest."""
    found = []
    for grouping in rows.groupings:
        pairs = pairs_of(grouping)
        others = [pair for pair in pairs if pair.other == grouping.reference]
        found += [PairRows.of(pair, rows, to) for pair in others or pairs]
    return found


def _units_gaps(of: str, values: Floats, rows: PairRows) -> list[UnitsGap]:
    """The gap over all rows, and within each of the largest tasks with both groups."""
    found, labels = [_units_gap(of, values, rows)], rows.data.task_labels
    if rows.data.tasks is None:
        return found
    tasks, n = rows.own(rows.data.tasks), len(labels)
    n_pairs = max(len(rows.pair.grouping.labels) - 1, 1)
    most = min(MOST_TASKS, MOST_TASK_GAPS // n_pairs)
    alone = replace(rows.data, tasks=None)  # rows of one task are independent
    of_group, sizes = (np.bincount(t, minlength=n) for t in (tasks[rows.in_a], tasks))
    both = np.flatnonzero((of_group > 0) & (of_group < sizes))
    largest = np.sort(both[np.argsort(-sizes[both], kind="stable")[:most]])
    places, ends = rows.at[np.argsort(tasks, kind="stable")], np.cumsum(sizes)
    for task in largest.tolist():
        at = places[ends[task] - sizes[task] : ends[task]]
        own = replace(rows, data=alone, at=at)
        found.append(_units_gap(of, values, own, labels[task]))
    return found


def _units_gap(
    of: str, values: Floats, rows: PairRows, task: str | None = None
) -> UnitsGap:
    groups, confidence = rows.groups, rows.to.confidence
    both = a, b = rows.split(rows.own(values))
    with np.errstate(over="ignore", invalid="ignore"):
        median_a, median_b, gap, share = median_gaps(a, b, groups, confidence)
        mean = rows.unless_few(mean_gap(a, b, groups, confidence))
        mean_share = rows.unless_few(relative_gap(a, b, groups, confidence))
    sides = list(zip(both, groups.weights, strict=True))
    return UnitsGap(
        of=of,
        **rows.names,
        task=task,
        n_group=groups.a.n,
        n_against=groups.b.n,
        mean_group=average(*sides[0]),
        mean_against=average(*sides[1]),
        median_group=median_a,
        median_against=median_b,
        mean_gap=mean,
        mean_gap_share=mean_share,
        median_gap=rows.unless_few(gap),
        median_gap_share=rows.unless_few(share),
    )


def _regression(values: Floats, rows: PairRows) -> GapRegression:
    """The regression on the controls of these rows, if there are any."""
    X, y = rows.own(rows.data.controls), rows.own(values)
    X = np.zeros((len(y), 0)) if X is None else X
    return GapRegression.of(y, rows.in_a, rows.mass, X, rows.data.control_names)


def _gap_parts(of: str, left: GapRegression, rows: PairRows) -> GapParts:
    """Split the mean gap of a pair by what the controls say."""
    y, confidence = left.values, rows.to.confidence
    found = explained_gap(left, rows.groups, confidence)
    log = Estimate(math.nan, note="not all values are above 0")
    if y.min() > 0.0:
        in_logs = replace(left, values=np.log(y))
        logs = explained_gap(in_logs, rows.groups, confidence).unexplained
        log = kennedy(logs, unexplained_variance(in_logs, rows.groups, confidence))
    given = rows.in_a, rows.own(rows.data.tasks), rows.weights, confidence
    return GapParts(
        of=of,
        **rows.names,
        controls=tuple(dict.fromkeys(rows.data.control_names)),
        mean_against=left.mean_against,
        **vars(found),
        unexplained_log=log,
        residual_auc=auc_of_rows(left.residuals, *given),
        stratified_auc=_within_strata(y, rows),
    )


def _within_strata(values: Floats, rows: PairRows) -> Estimate:
    """The AUC within strata of the propensity score, van Elteren's weights."""
    score = log_odds(rows.own(rows.data.controls), rows.in_a, rows.weights)
    strata = by_quantiles(score, N_STRATA, rows.weights)
    found = WithinTasks.of_rows(values, strata, rows.in_a, rows.weights)
    auc = pooled(found, rows.to.confidence)
    if rows.groups.needed:
        return Estimate(auc.value, note="tasks are clusters: no interval within strata")
    method, note = (
        words.replace("tasks", "strata").replace("task", "stratum")
        for words in (auc.method, auc.note)
    )
    return replace(auc, method=method, note=note)


def _remedy(of: str, left: GapRegression, rows: PairRows, goal: float) -> RemedyCost:
    """The least raises that bring the unexplained gap to a share of B's mean."""
    data, mean = rows.data, left.mean_against
    remedy = least_raises(left, goal * mean)
    raised = np.flatnonzero(remedy.raises > 0.0)
    cost = remedy.raises[raised] * rows.mass[raised] * data.unit
    by_task: tuple[TaskRaises, ...] = ()
    if data.tasks is not None:
        tasks = rows.own(data.tasks)[raised]
        counts, sums = np.bincount(tasks), np.bincount(tasks, cost)
        by_task = tuple(
            TaskRaises(data.task_labels[t], int(counts[t]), float(sums[t]))
            for t in np.flatnonzero(counts).tolist()
        )
    total = float(cost.sum())
    return RemedyCost(
        of=of,
        **rows.names,
        close_to=goal,
        left=remedy.unexplained / mean,
        raised=rows.names["group" if left.unexplained < 0.0 else "against"],
        n_raised=len(raised),
        total=total,
        share=total / float(data.unit * rows.mass @ left.values),
        largest=float(remedy.raises.max(initial=0.0)),
        by_task=by_task,
        rows=tuple(rows.own(data.places)[raised].tolist()),
        raises=tuple(remedy.raises[raised].tolist()),
    )


def _pay_bands(
    of: str, values: Floats, grouping: SensitiveGroups, rows: ScoredRows
) -> PayBands:
    """The share of each group in the four quartile bands, and who gets other pay."""
    known, labels, pay = grouping.codes >= 0, grouping.labels, rows.complementary
    mass = np.ones(len(values)) if rows.weights is None else rows.weights
    own, codes, weight = values[known], grouping.codes[known], mass[known]
    band, bands = by_quantiles(own, 4, weight), []
    for q in np.unique(band):
        here = band == q
        by_group = np.bincount(codes[here], weight[here], len(labels))
        share = (by_group / by_group.sum()).tolist()
        low, high = float(own[here].min()), float(own[here].max())
        shares = dict(zip(labels, share, strict=True))
        bands.append(QuartileBand(low, high, int(here.sum()), shares))
    receives: dict[str, float] = {}
    if pay is not None:
        paid = np.bincount(codes, weight * (pay[known] > 0.0), len(labels))
        share = (paid / grouping.sizes(mass)).tolist()
        receives = dict(zip(labels, share, strict=True))
    return PayBands(of, grouping.name, tuple(bands), receives)
