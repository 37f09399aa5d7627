"""Measure everything an audit reports: one sort a model, a few passes a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from rankfair.audit.compare import Pair, Settings, Sorted, compare, task_lines
from rankfair.audit.describe import (
    MOST_PAIRED,
    attribute,
    edges_of,
    histograms,
    median,
    model_line,
    shares,
)
from rankfair.audit.records import Comparison, Histogram, ModelLine, TaskLine
from rankfair.input.scored_rows import AuditedRows, Grouping
from rankfair.stats.ordered import Ordered

__all__ = ["measure"]


def measure(
    rows: AuditedRows,
    confidence: float,
    min_group: int,
    seed: int | None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:
    """Return models, attributes, comparisons, tasks and histograms of an audit."""
    to = Settings(confidence, min_group, seed)
    pairs = {g.name: list(_pairs(g)) for g in rows.groupings}
    steps = len(rows.predicted) * sum(map(len, pairs.values()))
    edges = edges_of(rows)
    models: list[ModelLine] = []
    comparisons: list[Comparison] = []
    tasks: list[TaskLine] = []
    pictures: list[Histogram] = []
    above: dict[str, dict[str, list[float]]] = {g.name: {} for g in rows.groupings}
    for name, predicted in rows.predicted.items():
        model = _sort(name, predicted, rows)
        models.append(model_line(name, predicted, rows, confidence))
        for grouping in rows.groupings:
            found = shares(model.above_median, grouping, rows.weights)
            above[grouping.name][name] = found
            pictures += histograms(name, predicted, grouping, edges, rows.weights)
            for pair in pairs[grouping.name]:
                if on_step is not None:
                    on_step(" v ".join(pair.labels), len(comparisons) + 1, steps)
                lines, within = task_lines(model, pair, rows, to)
                comparisons.append(compare(model, pair, rows, within, to))
                tasks += lines
    attributes = [attribute(g, rows, above[g.name], min_group) for g in rows.groupings]
    return {
        "models": tuple(models),
        "attributes": tuple(attributes),
        "comparisons": tuple(comparisons),
        "tasks": tuple(tasks),
        "histograms": tuple(pictures),
    }


def _sort(name: str, predicted: Any, rows: AuditedRows) -> Sorted:
    ranked = rows.ranked.get(name)
    by_value = Ordered.of(predicted, ranked)
    by_task = None if rows.tasks is None else by_value.by_task(rows.tasks)
    told = predicted if ranked is None else ranked
    above = told > median(by_value, rows.weights)
    return Sorted(name, predicted, by_value, by_task, above)


def _pairs(grouping: Grouping) -> Iterator[Pair]:
    """Each group against the rest, if there are several, and every pair.

    In a pair the label that sorts last comes first, as in `rankfair.metrics`.
    """
    n = len(grouping.labels)
    if n > 2:
        yield from (Pair(grouping, g, None) for g in range(n))
    if n <= MOST_PAIRED:
        yield from (Pair(grouping, b, a) for a, b in combinations(range(n), 2))
