"""What each model, attribute and group is like, before anything is compared."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import t as student

from rankfair._frames import Codes, Floats
from rankfair._groups import Bools
from rankfair.audit.groupings import Grouping
from rankfair.audit.records import Attribute, Group, Histogram, ModelLine
from rankfair.audit.rows import Rows
from rankfair.blocks import CONSTANT, power_of_two
from rankfair.inference.clusters import ENOUGH_TASKS
from rankfair.inference.estimate import Estimate
from rankfair.inference.ordered import Ordered
from rankfair.inference.parts import LEAST_DF, Part

__all__ = ["attribute", "edges_of", "histograms", "median", "model_line", "shares"]

BINS = 40
ROUNDING = 1e-14  # of the largest number that errors are made from
MOST_PAIRED = 20  # groups; more are compared with the rest only


def model_line(
    name: str, predicted: Floats, rows: Rows, confidence: float
) -> ModelLine:
    """Return RMSE, mean absolute error and R² of one model, the first two with limits.

    From ten tasks on, tasks are the sample; else rows are.
    """
    if rows.target is None:
        lost = Estimate(math.nan, note="y_true was not given")
        return ModelLine(name, lost, lost, lost)
    largest = max(float(np.abs(v).max()) for v in (rows.target, predicted))
    size = power_of_two(largest)
    # Squares of scaled values neither overflow nor vanish.
    target = rows.target / size
    error = np.abs(target - predicted / size)
    largest = float(error.max())
    square = _mean(error**2, rows, confidence, 2.0 * largest * ROUNDING)
    mae = _mean(error, rows, confidence, ROUNDING)
    mean = np.average(target, weights=rows.weights)
    spread = float(np.average((target - mean) ** 2, weights=rows.weights))
    r2 = Estimate(math.nan, note="y_true is constant")
    if spread > (CONSTANT * np.abs(target).max()) ** 2:
        r2 = Estimate(1.0 - square.value / spread, note="shown without limits")
    rmse = square.mapped(lambda v: size * math.sqrt(v))
    mae = mae.mapped(lambda v: size * v)
    return ModelLine(name, rmse.finite(), mae.finite(), r2)


def _mean(values: Floats, rows: Rows, confidence: float, rounding: float) -> Estimate:
    """A mean with limits by Student's t, over tasks if there are enough of them.

    Values that differ by no more than ``rounding`` show no spread.
    """
    value = float(np.average(values, weights=rows.weights))
    method = "Student's t"
    codes: Codes = np.arange(len(values))
    n_tasks = 0 if rows.tasks is None else len(np.unique(rows.tasks))
    if rows.tasks is not None and n_tasks >= ENOUGH_TASKS:
        codes, method = rows.tasks, f"Student's t over {n_tasks:,} tasks"
    n_codes = int(codes.max()) + 1
    part = Part.of_clusters(values - value, codes, n_codes, rows.weights)
    apart = math.sqrt(part.variance * len(values))  # NaN for one task
    if not apart > rounding or part.df < LEAST_DF:
        return Estimate(value, note="errors show no spread")
    half = float(student.isf((1.0 - confidence) / 2, part.df))
    half *= math.sqrt(part.variance)
    return Estimate(value, max(value - half, 0.0), value + half, None, method)


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
        n = len(ordered.told)
        return _middle(*ordered.told[[(n - 1) // 2, n // 2]].tolist())
    so_far = np.cumsum(weights[ordered.order])
    half = so_far[-1] / 2
    last = len(so_far) - 1
    places = (np.searchsorted(so_far, half, side) for side in ("left", "right"))
    return _middle(*(float(ordered.told[min(int(i), last)]) for i in places))


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
    rows: Rows,
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


def edges_of(rows: Rows) -> Floats:
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
