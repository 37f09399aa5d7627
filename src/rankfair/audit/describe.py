"""Describe models, sensitive features and groups, before groups are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankfair.audit.records import Group, Histogram, ModelLine, SensitiveFeature
from rankfair.input.arrays import Codes, Floats
from rankfair.input.groups import Bools
from rankfair.input.scored_rows import AuditedRows, Grouping
from rankfair.stats.estimate import Estimate
from rankfair.stats.means import errors
from rankfair.stats.ordered import Ordered

MOST_PAIRED = 20  # groups; more are compared with the rest only


@dataclass(frozen=True)
class SortedModel:
    """The predictions of one model, sorted by value and by task."""

    name: str
    predicted: Floats
    by_value: Ordered
    by_task: Ordered | None
    above_median: Bools

    @classmethod
    def of(cls, name: str, rows: AuditedRows) -> SortedModel:
        """Sort the predictions of a model once."""
        predicted = rows.predicted[name]
        exact = rows.ranked.get(name, predicted)
        by_value = Ordered.of(predicted, exact)
        by_task = None if rows.tasks is None else by_value.by_task(rows.tasks)
        above = exact > _median(by_value, rows.weights)
        return cls(name, predicted, by_value, by_task, above)


def _median(ordered: Ordered, weights: Floats | None) -> float:
    """The weighted median of predictions, in the numbers that order them exactly."""
    if weights is None:
        n = len(ordered.exact)
        return _middle(*ordered.exact[[(n - 1) // 2, n // 2]].tolist())
    so_far = np.cumsum(weights[ordered.order])
    half = so_far[-1] / 2
    last = len(so_far) - 1
    places = (np.searchsorted(so_far, half, side) for side in ("left", "right"))
    return _middle(*(float(ordered.exact[min(int(i), last)]) for i in places))


def _middle(low: float, high: float) -> float:
    middle = (low + high) / 2
    return middle if math.isfinite(middle) else low / 2 + high / 2


def model_line(
    name: str, predicted: Floats, rows: AuditedRows, confidence: float
) -> ModelLine:
    """Return RMSE and mean absolute error of one model with intervals, and its R²."""
    if rows.target is None:
        lost = Estimate(math.nan, note="y_true was not given")
        return ModelLine(name, lost, lost, lost)
    given = rows.tasks, rows.weights, confidence
    return ModelLine(name, *errors(rows.target, predicted, *given))


def shares(
    model: SortedModel, grouping: Grouping, weights: Floats | None
) -> list[float]:
    """Return the share of each group that is predicted above the median."""
    n = len(grouping.labels)
    known = grouping.codes >= 0
    chosen = known & model.above_median
    total, above = (
        np.bincount(grouping.codes[at], None if weights is None else weights[at], n)
        for at in (known, chosen)
    )
    found: list[float] = (above / total).tolist()
    return found


def feature_of(
    grouping: Grouping,
    rows: AuditedRows,
    above: dict[str, list[float]],
    min_group: int,
) -> SensitiveFeature:
    """Describe a sensitive feature; ``above`` has the `shares` of each model."""
    groups = tuple(
        _group(g, grouping, rows, above) for g in range(len(grouping.labels))
    )
    return SensitiveFeature(
        name=grouping.name,
        groups=groups,
        n_missing=int((grouping.codes < 0).sum()),
        constant_in_tasks=_is_constant(grouping, rows.tasks),
        min_group=min_group,
        note=_note(groups, min_group),
    )


def _group(
    g: int, grouping: Grouping, rows: AuditedRows, above: dict[str, list[float]]
) -> Group:
    here = np.flatnonzero(grouping.codes == g)
    own = None if rows.weights is None else rows.weights[here]
    target = None if rows.target is None else rows.target[here]
    return Group(
        label=grouping.labels[g],
        n_rows=len(here),
        weight=rows.unit * float(len(here) if own is None else own.sum()),
        mean_target=math.nan if target is None else _average(target, own),
        mean_predicted={
            name: _average(p[here], own) for name, p in rows.predicted.items()
        },
        share_above_median={name: found[g] for name, found in above.items()},
        impact_ratio={
            name: found[g] / max(found) if max(found) > 0 else math.nan
            for name, found in above.items()
        },
    )


def _average(values: Floats, weights: Floats | None) -> float:
    """A mean whose sum does not overflow."""
    size = float(np.abs(values).max()) or 1.0
    return size * float(np.average(values / size, weights=weights))


def _note(groups: tuple[Group, ...], min_group: int) -> str:
    small = [group.label for group in groups if group.n_rows < min_group]
    notes = []
    if small:
        notes.append(f"fewer than {min_group} rows: {', '.join(small)}")
    if len(groups) > MOST_PAIRED:
        notes.append(f"more than {MOST_PAIRED} groups: each against the rest only")
    return "; ".join(notes)


def _is_constant(grouping: Grouping, tasks: Codes | None) -> bool:
    """Tell whether no task has rows of two groups."""
    if tasks is None:
        return False
    known = grouping.codes >= 0
    codes, tasks = grouping.codes[known], tasks[known]
    one: Codes = np.zeros(int(tasks.max()) + 1, np.intp)
    one[tasks] = codes
    return bool((one[tasks] == codes).all())


def edges_of(rows: AuditedRows, bins: int = 40) -> Floats:
    """Return edges of bins that hold the predictions of all models."""
    low = min(float(p.min()) for p in rows.predicted.values())
    high = max(float(p.max()) for p in rows.predicted.values())
    steps: Floats = np.linspace(0.0, 1.0, bins + 1)
    edges: Floats = low * (1.0 - steps) + high * steps  # high − low may overflow
    if (edges[1:] > edges[:-1]).all():
        return edges
    half = max(0.5, 1e-9 * abs(low))
    edges = (low - half) * (1.0 - steps) + (high + half) * steps
    return edges


def histograms(
    model: SortedModel, grouping: Grouping, edges: Floats, weights: Floats | None
) -> list[Histogram]:
    """Return the share of each group's predictions in each bin."""
    at, n, bins = tuple(edges.tolist()), len(grouping.labels), len(edges) - 1
    cell = np.clip(np.searchsorted(edges, model.predicted, "right") - 1, 0, bins - 1)
    known = grouping.codes >= 0
    flat = grouping.codes[known] * bins + cell[known]
    counts = np.bincount(flat, None if weights is None else weights[known], n * bins)
    table = counts.reshape(n, bins)
    table = table / table.sum(axis=1, keepdims=True)
    return [
        Histogram(model.name, grouping.name, label, at, tuple(row))
        for label, row in zip(grouping.labels, table.tolist(), strict=True)
    ]
