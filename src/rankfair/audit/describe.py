"""Describe models, sensitive features and groups, before groups are compared."""

from __future__ import annotations

import math

import numpy as np

from rankfair.audit.records import (
    MOST_PAIRED,
    Group,
    Histogram,
    ModelLine,
    SensitiveFeature,
)
from rankfair.input.arrays import Bools, Codes, Floats
from rankfair.input.groups import SensitiveGroups
from rankfair.input.scored_rows import ScoredRows
from rankfair.stats.estimate import Estimate
from rankfair.stats.means import errors


def model_line(
    name: str, predicted: Floats, rows: ScoredRows, confidence: float
) -> ModelLine:
    """Return RMSE and mean absolute error of one model with intervals, and its R²."""
    if rows.target is None:
        lost = Estimate(math.nan, note="y_true was not given")
        return ModelLine(name, lost, lost, lost)
    given = rows.tasks, rows.weights, confidence
    return ModelLine(name, *errors(rows.target, predicted, *given))


def shares(
    above: Bools, grouping: SensitiveGroups, weights: Floats | None
) -> list[float]:
    """Return the share of each group that is above a cut-off."""
    n = len(grouping.labels)
    known = grouping.codes >= 0
    chosen = known & above
    total, passed = (
        np.bincount(grouping.codes[at], None if weights is None else weights[at], n)
        for at in (known, chosen)
    )
    found: list[float] = (passed / total).tolist()
    return found


def feature_of(
    grouping: SensitiveGroups,
    rows: ScoredRows,
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
        reference=grouping.labels[grouping.reference],
    )


def _group(
    g: int, grouping: SensitiveGroups, rows: ScoredRows, above: dict[str, list[float]]
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


def _is_constant(grouping: SensitiveGroups, tasks: Codes | None) -> bool:
    """Tell whether no task has rows of two groups."""
    if tasks is None:
        return False
    known = grouping.codes >= 0
    codes, tasks = grouping.codes[known], tasks[known]
    one: Codes = np.zeros(int(tasks.max()) + 1, np.intp)
    one[tasks] = codes
    return bool((one[tasks] == codes).all())


def edges_of(rows: ScoredRows, bins: int = 40) -> Floats:
    """Return edges of bins that hold the predictions of all models."""
    low = min(float(p.min()) for p in rows.predicted.values())
    high = max(float(p.max()) for p in rows.predicted.values())
    steps: Floats = np.linspace(0.0, 1.0, bins + 1)
    edges: Floats = low * (1.0 - steps) + high * steps  # high − low may overflow
    if (edges[1:] > edges[:-1]).all():
        return edges
    half = max(0.5, 1e-9 * abs(low))
    return np.asarray((low - half) * (1.0 - steps) + (high + half) * steps)


def histograms(
    name: str, grouping: SensitiveGroups, edges: Floats, rows: ScoredRows
) -> list[Histogram]:
    """Return the share of each group's predictions in each bin."""
    weights, predicted = rows.weights, rows.predicted[name]
    at, n, bins = tuple(edges.tolist()), len(grouping.labels), len(edges) - 1
    cell = np.clip(np.searchsorted(edges, predicted, "right") - 1, 0, bins - 1)
    known = grouping.codes >= 0
    flat = grouping.codes[known] * bins + cell[known]
    counts = np.bincount(flat, None if weights is None else weights[known], n * bins)
    table = counts.reshape(n, bins)
    table = table / table.sum(axis=1, keepdims=True)
    return [
        Histogram(name, grouping.name, label, at, tuple(row))
        for label, row in zip(grouping.labels, table.tolist(), strict=True)
    ]
