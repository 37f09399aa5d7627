"""`audit`: predictions and groups in, records out."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import count
from numbers import Integral
from platform import python_version
from typing import Any

import numpy as np

from rankfair import __version__
from rankfair.audit.comparisons import (
    AuditSettings,
    ModelRows,
    Pair,
    pairs_of,
)
from rankfair.audit.records import (
    MOST_PAIRED,
    REST_ONLY,
    Audit,
    Comparison,
    Group,
    Histogram,
    ModelLine,
    Provenance,
    SensitiveFeature,
    TaskLine,
)
from rankfair.audit.units import in_units
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
)
from rankfair.input.groups import SensitiveGroups
from rankfair.input.scored_rows import ScoredRows, read_audited
from rankfair.stats.estimate import check_confidence
from rankfair.stats.means import average, errors

LAYOUTS = ("audit", "pay-transparency")


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    tasks: Any = None,
    task_predictions: Any = None,
    sample_weight: Any = None,
    frequency_weights: bool = False,
    intersect: bool = False,
    reference: Any = None,
    controls: Any = None,
    close_to: float | None = None,
    layout: str = "audit",
    complementary: Any = None,
    unit: str = "row",
    confidence: float = 0.95,
    min_group: int = 5,
    command: str | None = None,
    title: str | None = None,
    random_state: int | None = 0,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Audit:
    """Measure how predictions rank the groups, with confidence intervals.

    Parameters
    ----------
    y_true : array-like of shape (N,), dict of one, or None
        The target, with its name as the key of a dict.  Without it, errors and
        residuals cannot be estimated.
    y_pred : array-like of shape (N,), or dict of them
        Predictions of one model, or of several by name.  The last model is the one
        that ``gap``, ``gate`` and ``verdict`` are about.
    sensitive_features : array-like of shape (N,), data frame or dict of columns
        The group of each row, for one or several sensitive features.  Rows without a
        group (None, NaN) are counted and left out of comparisons.
    tasks : array-like of shape (N,), optional
        The task of each row.  If most rows are in tasks with one group only, tasks are
        the independent units (clusters) of all intervals.
    task_predictions : array-like of shape (N,), or dict of them, optional
        Predictions for figures within tasks, named as in ``y_pred``.  Where that leaves
        each row out of its own fit, rows of a small task are ordered against their own
        values: pass what the fit predicts for its training rows.
    sample_weight : array-like of shape (N,), optional
        Weights, of a survey for instance.  A row of weight 2 counts twice but is one
        observation: intervals use the effective sample size.
    frequency_weights : bool, default=False
        Read ``sample_weight`` as how often each row was seen.  A row of weight 2 is
        then two observations; weights must be whole numbers.
    intersect : bool, default=False
        Also compare the combined groups of several features (``sex × race``).
    reference : label or list of labels, optional
        The group that others are compared with, one a feature; by default the largest.
    controls : data frame, dict of columns or array of shape (N, p), optional
        Columns that may explain a gap: the gap is split into the part that they explain
        and the part that they do not.  Text is encoded.
    close_to : float, optional
        Also find the least raises that bring the unexplained gap to this share of the
        reference group's mean.  With controls, raises that bring it to 0 are found
        anyway.
    layout : {"audit", "pay-transparency"}, default="audit"
        With "pay-transparency" the page starts with figures that Article 9 of the
        directive (EU) 2023/970 lists.
    complementary : array-like of shape (N,), optional
        Complementary or variable pay of each row, for that page.
    unit : str, default="row"
        What a row is, for the headline: "person".
    confidence : float, default=0.95
        Confidence level of all intervals, from 0.5 to below 1.
    min_group : int, default=5
        Groups with fewer rows, in all or within a task, get no interval and no test.
    command : str, optional
        The command that made the audit; the page shows it.
    title : str, optional
        The title of the page.
    random_state : int or None, default=0
        Seed of random draws and permutations.
    on_step : callable, optional
        Called before each comparison with its name, its number and the number of all.

    Returns
    -------
    Audit
        Records, with ``to_dict``, ``to_frame``, ``to_html``, ``gate`` and ``verdict``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = np.where(rng.random(400) < 0.5, "F", "M")
    >>> y = rng.normal(size=400) + (sex == "M")
    >>> found = audit(y, {"before": y, "after": y - (sex == "M")},
    ...               sensitive_features=sex)
    >>> found.gap < 0.1, found.passes(0.1)
    (True, True)
    """
    confidence = check_confidence(confidence)
    min_group = check_count("min_group", min_group, 1)
    check_flag("intersect", intersect)
    check_flag("frequency_weights", frequency_weights)
    check_seed("random_state", random_state)
    check_choice("layout", layout, LAYOUTS)
    if close_to is not None:
        close_to = check_number("close_to", close_to, 0.0, 1.0)
    rows = read_audited(
        y_true,
        y_pred,
        sensitive_features,
        tasks,
        sample_weight,
        intersect,
        frequency_weights,
        reference,
        controls,
        complementary,
        task_predictions,
    )
    settings = AuditSettings(confidence, min_group, random_state)
    return Audit(
        **_measured(rows, settings, on_step),
        **in_units(rows, settings, close_to, layout),
        provenance=_provenance(rows, command, random_state),
        confidence=confidence,
        min_group=min_group,
        title=title or "Rank audit",
        backend=rows.backend,
        unit=unit,
        layout=layout,
    )


def _measured(
    rows: ScoredRows,
    to: AuditSettings,
    on_step: Callable[[str, int, int], None] | None,
) -> dict[str, Any]:
    """Measure every model: one sort each, then a few passes for each comparison."""
    n_pairs = sum(len(pairs_of(grouping)) for grouping in rows.groupings)
    edges, steps = _edges_of(rows), count(1)
    given = rows.tasks, rows.weights, to.confidence
    comparisons: list[Comparison] = []
    tasks: list[TaskLine] = []

    def on_pair(pair: Pair) -> None:
        if on_step is not None:
            on_step(" v ".join(pair.labels), next(steps), n_pairs * len(rows.predicted))

    for name in rows.predicted:
        model = ModelRows.of(name, rows, to)
        for grouping in model.data.groupings:
            found, lines = model.compared(grouping, on_pair)
            comparisons += found
            tasks += lines
    return {
        "models": tuple(
            ModelLine(name, *errors(rows.target, predicted, *given))
            for name, predicted in rows.predicted.items()
        ),
        "sensitive_features": tuple(
            _feature_of(grouping, rows, comparisons, to.min_group)
            for grouping in rows.groupings
        ),
        "comparisons": tuple(comparisons),
        "tasks": tuple(tasks),
        "histograms": tuple(
            each
            for name in rows.predicted
            for grouping in rows.groupings
            for each in _histograms(name, grouping, edges, rows)
        ),
    }


def _feature_of(
    grouping: SensitiveGroups,
    rows: ScoredRows,
    comparisons: list[Comparison],
    min_group: int,
) -> SensitiveFeature:
    """Describe a sensitive feature and its groups."""
    above: dict[tuple[str, str], float] = {}
    for c in comparisons:
        if c.sensitive_feature == grouping.name:
            above[c.model, c.group] = c.share_above_median.value
            of_other = c.share_above_median_against.value
            above.setdefault((c.model, c.against), of_other)
    models = [*rows.predicted]
    most = {m: max(above[m, it] for it in grouping.labels) for m in models}
    groups = []
    for g, label in enumerate(grouping.labels):
        here = np.flatnonzero(grouping.codes == g)
        own = None if rows.weights is None else rows.weights[here]
        target = math.nan if rows.target is None else average(rows.target[here], own)
        means = {name: average(p[here], own) for name, p in rows.predicted.items()}
        shares = {m: above[m, label] for m in models}
        ratios = {
            m: v / most[m] if most[m] > 0 else math.nan for m, v in shares.items()
        }
        weight = rows.unit * float(len(here) if own is None else own.sum())
        groups.append(Group(label, len(here), weight, target, means, shares, ratios))
    small = [group.label for group in groups if group.n_rows < min_group]
    notes = [f"fewer than {min_group} rows: {', '.join(small)}"] if small else []
    if len(groups) > MOST_PAIRED:
        notes.append(REST_ONLY)
    return SensitiveFeature(
        name=grouping.name,
        groups=tuple(groups),
        n_missing=int((grouping.codes < 0).sum()),
        constant_in_tasks=_is_constant(grouping, rows.tasks),
        note="; ".join(notes),
        reference=grouping.labels[grouping.reference],
    )


def _is_constant(grouping: SensitiveGroups, tasks: Codes | None) -> bool:
    """Tell whether no task has rows of two groups."""
    if tasks is None:
        return False
    known, n = grouping.codes >= 0, len(grouping.labels)
    cells = np.flatnonzero(np.bincount(tasks[known] * n + grouping.codes[known]))
    return not (np.diff(cells // n) == 0).any()


def _edges_of(rows: ScoredRows, bins: int = 40) -> Floats:
    """Return edges of bins that hold the predictions of all models."""
    low = min(float(p.min()) for p in rows.predicted.values())
    high = max(float(p.max()) for p in rows.predicted.values())
    # A median of two rows could overflow.
    predicted = rows.predicted.values()
    middle = max(float(np.quantile(p, 0.5, method="lower")) for p in predicted)
    if 0.0 < 10.0 * low < high < np.inf and middle - low < 0.25 * (high - low):
        # Most are small, as pay is: even on a scale of logarithms.
        return np.geomspace(low, high, bins + 1)
    steps: Floats = np.linspace(0.0, 1.0, bins + 1)
    edges: Floats = low * (1.0 - steps) + high * steps  # high − low may overflow
    if (edges[1:] > edges[:-1]).all():
        return edges
    half = max(0.5, 1e-9 * abs(low))
    return np.asarray((low - half) * (1.0 - steps) + (high + half) * steps)


def _histograms(
    name: str, grouping: SensitiveGroups, edges: Floats, rows: ScoredRows
) -> list[Histogram]:
    """Return the share of each group's predictions in each bin."""
    found, at = [], tuple(edges.tolist())
    for g, label in enumerate(grouping.labels):
        own = grouping.codes == g
        weights = None if rows.weights is None else rows.weights[own]
        counts, _ = np.histogram(rows.predicted[name][own], edges, weights=weights)
        shares = tuple((counts / counts.sum()).tolist())
        found.append(Histogram(name, grouping.name, label, at, shares))
    return found


def _provenance(rows: ScoredRows, command: str | None, seed: int | None) -> Provenance:
    versions = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return Provenance(
        n_rows=rows.n_given,
        n_tasks=0 if rows.tasks is None else int((np.bincount(rows.tasks) > 0).sum()),
        fingerprint=rows.fingerprint,
        versions={"rankfair": __version__, "python": python_version(), **versions},
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=int(seed) if isinstance(seed, Integral) else None,
    )
