"""Measure everything an audit reports, as records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rankfair._frames import Codes, Floats
from rankfair._validation import Bools
from rankfair.audit.records import (
    Attribute,
    Comparison,
    Group,
    Histogram,
    ModelLine,
    TaskLine,
)
from rankfair.audit.rows import Grouping, Rows
from rankfair.inference.auc import auc_estimate
from rankfair.inference.distances import cdf_gap, ks_distance, wasserstein
from rankfair.inference.estimate import Estimate
from rankfair.inference.means import mean_gap
from rankfair.inference.ordered import Ordered
from rankfair.inference.sides import Sides
from rankfair.inference.within import WithinTasks, adjusted, pooled, task_estimates

__all__ = ["measure"]

REST = "the rest"
BINS = 40
MOST_PAIRED = 20


@dataclass(frozen=True)
class Sorted:
    """One model's rows by prediction, and by task and prediction."""

    name: str
    predicted: Floats
    by_value: Ordered
    by_task: Ordered | None
    above_median: Bools


@dataclass(frozen=True)
class Settings:
    """What holds for all numbers of an audit."""

    confidence: float
    min_group: int
    seed: int | None


def measure(
    rows: Rows, confidence: float, min_group: int, seed: int | None
) -> dict[str, Any]:
    """Return models, attributes, comparisons, tasks and histograms of an audit."""
    settings = Settings(confidence, min_group, seed)
    edges = _edges(rows)
    models, comparisons, tasks, histograms = [], [], [], []
    shares: dict[str, dict[str, list[float]]] = {}
    for name, predicted in rows.predicted.items():
        by_value = Ordered.of(predicted)
        by_task = None if rows.tasks is None else by_value.by_task(rows.tasks)
        above = predicted > _median(by_value, rows.weights)
        model = Sorted(name, predicted, by_value, by_task, above)
        models.append(_model_line(name, predicted, rows))
        shares[name] = {}
        for grouping in rows.groupings:
            shares[name][grouping.name] = _shares(model, grouping, rows.weights)
            histograms += _histograms(model, grouping, edges, rows.weights)
            for pair in _pairs(grouping):
                made, lines = _compare(model, grouping, pair, rows, settings)
                comparisons.append(made)
                tasks += lines
    return {
        "models": tuple(models),
        "attributes": tuple(
            _attribute(g, rows, shares, min_group) for g in rows.groupings
        ),
        "comparisons": tuple(comparisons),
        "tasks": tuple(tasks),
        "histograms": tuple(histograms),
    }


def _pairs(grouping: Grouping) -> Iterator[tuple[int, int | None]]:
    """Group and other, the last against the first; None stands for all others."""
    n = len(grouping.labels)
    if n > 2:
        yield from ((g, None) for g in range(n))
    if n <= MOST_PAIRED:
        yield from ((b, a) for a, b in combinations(range(n), 2))


def _compare(
    model: Sorted,
    grouping: Grouping,
    pair: tuple[int, int | None],
    rows: Rows,
    settings: Settings,
) -> tuple[Comparison, list[TaskLine]]:
    g, other = pair
    labels = (grouping.labels[g], REST if other is None else grouping.labels[other])
    order = model.by_value.order
    codes = grouping.codes[order]
    in_a = codes == g
    in_b = (codes >= 0) & ~in_a if other is None else codes == other
    tasks = None if rows.tasks is None else rows.tasks[order]
    weights = None if rows.weights is None else rows.weights[order]
    sides = Sides.of(in_a, in_b, labels, tasks, weights)
    mass = np.ones(len(order)) if weights is None else weights
    mass_a, mass_b = mass * in_a, mass * in_b
    a, b = sides.a.rows, sides.b.rows
    above = model.by_value.below(mass_b)[a] / sides.b.mass
    below = 1.0 - model.by_value.below(mass_a)[b] / sides.a.mass
    auc = auc_estimate(above, below, sides, settings.confidence)
    gap, values = cdf_gap(model.by_value, mass_a, mass_b)
    ordered = model.by_value.values
    lines, within = _within(model, grouping, pair, labels, rows, settings)
    nothing = Estimate(math.nan)
    residual = Estimate(math.nan, note="y_true was not given")
    if rows.target is not None:
        error = rows.target[order] - ordered
        residual = mean_gap(error[a], error[b], sides, settings.confidence)
    made = Comparison(
        model=model.name,
        attribute=grouping.name,
        group=labels[0],
        against=labels[1],
        kind="rest" if other is None else "pair",
        n_group=sides.a.n,
        n_against=sides.b.n,
        auc=auc,
        within_task_auc=within,
        between_task_auc=nothing,
        mean_difference=mean_gap(ordered[a], ordered[b], sides, settings.confidence),
        balanced_residuals=residual,
        impact_rank_ratio=_rank_ratio(auc, sides),
        ks=Estimate(ks_distance(gap)),
        wasserstein=Estimate(wasserstein(gap, values)),
        share_above_median=nothing,
        share_above_median_against=nothing,
        impact_ratio=nothing,
    )
    return made, lines


def _rank_ratio(auc: Estimate, sides: Sides) -> Estimate:
    n_a, n_b = sides.a.mass, sides.b.mass

    def ratio(value: float) -> float:
        of_a = 2.0 * value * n_b + n_a + 1.0
        return of_a / (2.0 * (1.0 - value) * n_a + n_b + 1.0)

    method = "limits of AUC" if auc.estimable else ""
    return Estimate(
        ratio(auc.value), ratio(auc.low), ratio(auc.high), auc.p_value, method, auc.note
    )


def _within(
    model: Sorted,
    grouping: Grouping,
    pair: tuple[int, int | None],
    labels: tuple[str, str],
    rows: Rows,
    settings: Settings,
) -> tuple[list[TaskLine], Estimate]:
    if model.by_task is None or rows.tasks is None:
        return [], Estimate(math.nan, note="no tasks were given")
    g, other = pair
    order = model.by_task.order
    codes = grouping.codes[order]
    in_a = codes == g
    in_b = (codes >= 0) & ~in_a if other is None else codes == other
    mass = np.ones(len(order)) if rows.weights is None else rows.weights[order]
    of_segment = rows.tasks[order[model.by_task.segments]]
    found = WithinTasks.of(model.by_task, of_segment, mass * in_a, mass * in_b)
    estimates = task_estimates(found, settings.confidence)
    corrected = adjusted([e.p_value for e in estimates])
    alpha = 1.0 - settings.confidence
    lines = [
        TaskLine(
            model.name,
            grouping.name,
            *labels,
            rows.task_labels[task],
            n_a,
            n_b,
            estimate,
            p,
            p is not None and p <= alpha,
        )
        for task, n_a, n_b, estimate, p in zip(
            found.tasks.tolist(),
            found.n_a.tolist(),
            found.n_b.tolist(),
            estimates,
            corrected,
            strict=True,
        )
    ]
    return lines, pooled(found, settings.confidence)


def _model_line(name: str, predicted: Floats, rows: Rows) -> ModelLine:
    if rows.target is None:
        lost = Estimate(math.nan, note="y_true was not given")
        return ModelLine(name, lost, lost, lost)
    error = rows.target - predicted
    mse = float(np.average(error**2, weights=rows.weights))
    mean = np.average(rows.target, weights=rows.weights)
    spread = float(np.average((rows.target - mean) ** 2, weights=rows.weights))
    return ModelLine(
        name,
        Estimate(math.sqrt(mse)),
        Estimate(float(np.average(np.abs(error), weights=rows.weights))),
        Estimate(1.0 - mse / spread if spread > 0 else math.nan),
    )


def _median(ordered: Ordered, weights: Floats | None) -> float:
    if weights is None:
        return float(np.median(ordered.values))
    so_far = np.cumsum(weights[ordered.order])
    low, high = (
        np.searchsorted(so_far, so_far[-1] / 2, "left"),
        np.searchsorted(so_far, so_far[-1] / 2, "right"),
    )
    last = len(so_far) - 1
    return float(ordered.values[min(low, last)] + ordered.values[min(high, last)]) / 2


def _shares(model: Sorted, grouping: Grouping, weights: Floats | None) -> list[float]:
    known = grouping.codes >= 0
    w = np.ones(len(known)) if weights is None else weights
    n = len(grouping.labels)
    total = np.bincount(grouping.codes[known], w[known], n)
    above = known & model.above_median
    return (np.bincount(grouping.codes[above], w[above], n) / total).tolist()  # type: ignore[no-any-return]


def _attribute(
    grouping: Grouping,
    rows: Rows,
    shares: dict[str, dict[str, list[float]]],
    min_group: int,
) -> Attribute:
    w = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    groups = []
    for g, label in enumerate(grouping.labels):
        here = grouping.codes == g
        own = w[here]
        target = math.nan
        if rows.target is not None:
            target = float(np.average(rows.target[here], weights=own))
        means = {
            name: float(np.average(p[here], weights=own))
            for name, p in rows.predicted.items()
        }
        of_group = {name: found[grouping.name][g] for name, found in shares.items()}
        highest = {name: max(found[grouping.name]) for name, found in shares.items()}
        ratio = {
            name: share / highest[name] if highest[name] > 0 else math.nan
            for name, share in of_group.items()
        }
        groups.append(
            Group(
                label,
                int(here.sum()),
                float(own.sum()),
                target,
                means,
                of_group,
                ratio,
            )
        )
    missing = int((grouping.codes < 0).sum())
    return Attribute(
        grouping.name, tuple(groups), missing, _is_constant(grouping, rows), min_group
    )


def _is_constant(grouping: Grouping, rows: Rows) -> bool:
    """Tell whether no task has rows of two groups."""
    if rows.tasks is None:
        return False
    known = grouping.codes >= 0
    tasks, codes = rows.tasks[known], grouping.codes[known]
    first: Codes = np.zeros(int(rows.tasks.max()) + 1, np.intp)
    first[tasks] = codes
    return bool((first[tasks] == codes).all())


def _edges(rows: Rows) -> Floats:
    low = min(float(p.min()) for p in rows.predicted.values())
    high = max(float(p.max()) for p in rows.predicted.values())
    if not high > low:
        low, high = low - 0.5, high + 0.5
    found: Floats = np.linspace(low, high, BINS + 1)
    return found


def _histograms(
    model: Sorted, grouping: Grouping, edges: Floats, weights: Floats | None
) -> list[Histogram]:
    made = []
    for g, label in enumerate(grouping.labels):
        here = grouping.codes == g
        own = None if weights is None else weights[here]
        counts = np.histogram(model.predicted[here], edges, weights=own)[0]
        shares = (counts / counts.sum()).tolist()
        made.append(
            Histogram(
                model.name, grouping.name, label, tuple(edges.tolist()), tuple(shares)
            )
        )
    return made
