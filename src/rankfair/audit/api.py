"""`audit`: predictions and groups in, records out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np

from rankfair import __version__
from rankfair.audit import records
from rankfair.audit.comparisons import (
    AuditSettings,
    PairRows,
    SortedModel,
    compare,
    pairs_of,
    task_lines,
)
from rankfair.audit.describe import (
    edges_of,
    feature_of,
    histograms,
    model_line,
    shares,
)
from rankfair.audit.records import Audit, Provenance
from rankfair.audit.units import (
    controls_of,
    gap_parts,
    measured_pairs,
    pay_bands,
    remedy_cost,
    units_gaps,
)
from rankfair.input.errors import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
)
from rankfair.input.scored_rows import ScoredRows, read_audited
from rankfair.stats.estimate import check_confidence

LAYOUTS = ("audit", "pay-transparency")


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    tasks: Any = None,
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
    )
    settings = AuditSettings(confidence, min_group, random_state)
    return Audit(
        **_measured(rows, settings, on_step),
        **_in_units(rows, settings, close_to, layout),
        provenance=_provenance(rows, command, random_state),
        confidence=confidence,
        min_group=min_group,
        title=title or "Rank audit",
        backend=rows.backend,
        unit=unit,
        layout=layout,
    )


def _in_units(
    rows: ScoredRows, to: AuditSettings, close_to: float | None, layout: str
) -> dict[str, Any]:
    """Measure gaps in units of the target, their parts, and what closes them."""
    pairs = measured_pairs(rows)
    found: dict[str, Any] = {
        "units": tuple(
            gap for pair in pairs for gap in units_gaps(pair, rows.task_labels, to)
        )
    }
    large = [
        p for p in pairs if min(p.groups.a.n, p.groups.b.n) >= max(to.min_group, 2)
    ]
    if rows.controls is not None:
        found["parts"] = tuple(
            gap_parts(pair, controls_of(pair, rows), to) for pair in large
        )
    goals = {0.0} if rows.controls is not None else set()
    goals |= set() if close_to is None else {close_to}
    costs = [
        remedy_cost(pair, controls_of(pair, rows), rows, goal)
        for pair in large
        for goal in sorted(goals)
    ]
    found["remedies"] = tuple(cost for cost in costs if cost is not None)
    if layout == "pay-transparency":
        found["bands"] = tuple(
            pay_bands(grouping, rows, to) for grouping in rows.groupings
        )
    return found


def _measured(
    rows: ScoredRows,
    to: AuditSettings,
    on_step: Callable[[str, int, int], None] | None,
) -> dict[str, Any]:
    """Measure every model: one sort each, then a few passes for each comparison."""
    pairs = {grouping.name: pairs_of(grouping) for grouping in rows.groupings}
    steps = len(rows.predicted) * sum(map(len, pairs.values()))
    edges = edges_of(rows)
    models: list[records.ModelLine] = []
    comparisons: list[records.Comparison] = []
    tasks: list[records.TaskLine] = []
    pictures: list[records.Histogram] = []
    above: dict[str, dict[str, list[float]]] = {name: {} for name in pairs}
    for name, predicted in rows.predicted.items():
        model = SortedModel.of(name, rows)
        models.append(model_line(name, predicted, rows, to.confidence))
        for grouping in rows.groupings:
            above[grouping.name][name] = shares(
                model.above_median, grouping, rows.weights
            )
            pictures += histograms(name, grouping, edges, rows)
            for pair in pairs[grouping.name]:
                if on_step is not None:
                    on_step(" v ".join(pair.labels), len(comparisons) + 1, steps)
                ordered = pair.among(model.by_value)
                both = PairRows(model, pair, rows, to, ordered)
                lines, within = task_lines(both)
                comparisons.append(compare(replace(both, within=within)))
                tasks += lines
    return {
        "models": tuple(models),
        "sensitive_features": tuple(
            feature_of(grouping, rows, above[grouping.name], to.min_group)
            for grouping in rows.groupings
        ),
        "comparisons": tuple(comparisons),
        "tasks": tuple(tasks),
        "histograms": tuple(pictures),
    }


def _provenance(rows: ScoredRows, command: str | None, seed: int | None) -> Provenance:
    python = ".".join(map(str, sys.version_info[:3]))
    versions = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    return Provenance(
        n_rows=rows.n_given,
        n_tasks=0 if rows.tasks is None else len(np.unique(rows.tasks)),
        fingerprint=rows.fingerprint,
        versions={"rankfair": __version__, "python": python, **versions},
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=int(seed) if isinstance(seed, Integral) else None,
    )
