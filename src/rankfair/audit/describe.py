"""What each model, attribute and group is like, before anything is compared."""

from __future__ import annotations

import math

import numpy as np

from rankfair.audit.records import Attribute, Group, Histogram, ModelLine
from rankfair.core.blocks import CONSTANT, power_of_two
from rankfair.input.errors import Codes, Floats
from rankfair.input.groups import Bools
from rankfair.input.scored_rows import AuditedRows, Grouping
from rankfair.stats.estimate import Estimate
from rankfair.stats.means import mean_error
from rankfair.stats.ordered import Ordered

__all__ = [
    "attribute",
    "edges_of",
    "errors",
    "histograms",
    "median",
    "model_line",
    "shares",
]

BINS = 40
ROUNDING = 1e-14  # of the largest number that errors are made from
MOST_PAIRED = 20  # groups; more are compared with the rest only


def model_line(
    name: str, predicted: Floats, rows: AuditedRows, confidence: float
) -> ModelLine:
    """Return RMSE and mean absolute error of one model with intervals, and its R²."""
    if rows.target is None:
        lost = Estimate(math.nan, note="y_true was not given")
        return ModelLine(name, lost, lost, lost)
    given = rows.tasks, rows.weights, confidence
    return ModelLine(name, *errors(rows.target, predicted, *given))


def errors(
    target: Floats,
    predicted: Floats,
    tasks: Codes | None,
    weights: Floats | None,
    confidence: float,
) -> tuple[Estimate, Estimate, Estimate]:
    """Return RMSE and mean absolute error with intervals, and R²."""
    largest = max(float(np.abs(v).max()) for v in (target, predicted))
    size = power_of_two(largest)
    # Squares of scaled values neither overflow nor vanish.
    target = target / size
    error = np.abs(target - predicted / size)
    largest = float(error.max())
    given = tasks, weights, confidence
    square = mean_error(error**2, *given, 2.0 * largest * ROUNDING)
    mae = mean_error(error, *given, ROUNDING)
    mean = np.average(target, weights=weights)
    spread = float(np.average((target - mean) ** 2, weights=weights))
    r2 = Estimate(math.nan, note="y_true is constant")
    if spread > (CONSTANT * np.abs(target).max()) ** 2:
        r2 = Estimate(1.0 - square.value / spread, note="shown without an interval")
    rmse = square.mapped(lambda v: size * math.sqrt(v))
    mae = mae.mapped(lambda v: size * v)
    return rmse.finite(), mae.finite(), r2


def median(ordered: Ordered, weights: Floats | None) -> float:
    """Return the median of what tells predictions apart, by weight.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Ordered.of(np.array([3.0, 1.0, 2.0, 9.0]))
    >>> median(rows, None), median(rows, np.array([5.0, 1.0, 1.0, 1.0]))
    (2.5, 3.0)
    """
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


def shares(above: Bools, grouping: Grouping, weights: Floats | None) -> list[float]:
    """Return the share of each group that is above the median."""
    n = len(grouping.labels)
    known = grouping.codes >= 0
    chosen = known & above
    w = (None, None) if weights is None else (weights[known], weights[chosen])
    total = np.bincount(grouping.codes[known], w[0], n)
    found: list[float] = (np.bincount(grouping.codes[chosen], w[1], n) / total).tolist()
    return found


def attribute(
    grouping: Grouping,
    rows: AuditedRows,
    by_model: dict[str, list[float]],
    min_group: int,
) -> Attribute:
    """Describe an attribute and its groups; ``by_model`` has the shares above."""
    highest = {name: max(found) for name, found in by_model.items()}
    groups = []
    for g, label in enumerate(grouping.labels):
        here = np.flatnonzero(grouping.codes == g)
        own = None if rows.weights is None else rows.weights[here]
        target = math.nan
        if rows.target is not None:
            target = _average(rows.target[here], own)
        above = {name: found[g] for name, found in by_model.items()}
        groups.append(
            Group(
                label=label,
                n_rows=len(here),
                weight=rows.unit * float(len(here) if own is None else own.sum()),
                mean_target=target,
                mean_predicted={
                    name: _average(p[here], own) for name, p in rows.predicted.items()
                },
                share_above_median=above,
                impact_ratio={
                    name: share / highest[name] if highest[name] > 0 else math.nan
                    for name, share in above.items()
                },
            )
        )
    return Attribute(
        name=grouping.name,
        groups=tuple(groups),
        n_missing=int((grouping.codes < 0).sum()),
        constant_in_tasks=_is_constant(grouping, rows.tasks),
        min_group=min_group,
        note=_note(groups, min_group),
    )


def _average(values: Floats, weights: Floats | None) -> float:
    """A mean whose sum does not overflow."""
    size = float(np.abs(values).max()) or 1.0
    return size * float(np.average(values / size, weights=weights))


def _note(groups: list[Group], min_group: int) -> str:
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


def edges_of(rows: AuditedRows) -> Floats:
    """Return edges of bins that hold the predictions of all models."""
    low = min(float(p.min()) for p in rows.predicted.values())
    high = max(float(p.max()) for p in rows.predicted.values())
    steps: Floats = np.linspace(0.0, 1.0, BINS + 1)
    edges: Floats = low * (1.0 - steps) + high * steps  # high − low may overflow
    if (edges[1:] > edges[:-1]).all():
        return edges
    half = max(0.5, 1e-9 * abs(low))
    edges = (low - half) * (1.0 - steps) + (high + half) * steps
    return edges


def histograms(
    name: str, predicted: Floats, grouping: Grouping, edges: Floats, w: Floats | None
) -> list[Histogram]:
    """Return the shares of each group's predictions between the edges."""
    at = tuple(edges.tolist())
    cell = np.clip(np.searchsorted(edges, predicted, "right") - 1, 0, BINS - 1)
    known = grouping.codes >= 0
    n = len(grouping.labels)
    flat = grouping.codes[known] * BINS + cell[known]
    counts = np.bincount(flat, None if w is None else w[known], n * BINS)
    table = counts.reshape(n, BINS)
    table = table / table.sum(axis=1, keepdims=True)
    return [
        Histogram(name, grouping.name, label, at, tuple(row))
        for label, row in zip(grouping.labels, table.tolist(), strict=True)
    ]
