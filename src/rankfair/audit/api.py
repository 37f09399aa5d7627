"""`audit`: predictions and groups in, records out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from numbers import Integral
from typing import Any

import numpy as np

from rankfair import __version__
from rankfair.audit.measure import measure
from rankfair.audit.records import Audit, FrontierPoint, Provenance, gap_interval
from rankfair.input.scored_rows import AuditedRows, read_audited
from rankfair.input.settings import check_count, check_flag, check_number, check_seed

__all__ = ["audit"]


def audit(
    y_true: Any,
    y_pred: Any,
    *,
    sensitive_features: Any,
    tasks: Any = None,
    sample_weight: Any = None,
    frequency_weights: bool = False,
    intersect: bool = False,
    confidence: float = 0.95,
    min_group: int = 5,
    path: Any = None,
    command: str | None = None,
    title: str | None = None,
    random_state: int | None = 0,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Audit:
    """Measure how predictions rank protected groups, with intervals of every number.

    Parameters
    ----------
    y_true : array-like of shape (N,) or None
        What was observed; without it errors and residuals are not estimable.
    y_pred : array-like of shape (N,), or dict of them
        Predictions, or those of several models by name; the last one is judged.
    sensitive_features : array-like of shape (N,), data frame or dict of columns
        The group of each row, for one or several attributes.  Rows without a group
        (None, NaN) are counted and left out of comparisons.
    tasks : array-like of shape (N,), optional
        The task of each row.  Where most rows are in tasks of one group only, tasks
        are taken as clusters.
    sample_weight : array-like of shape (N,), optional
        How much a row counts, in a survey say.  A row of weight 2 counts twice but is
        one observation; intervals follow the effective size.
    frequency_weights : bool, default=False
        Take ``sample_weight``, whole numbers then, as how often each row was seen: a
        row of weight 2 is two observations.
    intersect : bool, default=False
        Also compare groups of several attributes together (``sex × race``).
    confidence : float, default=0.95
        Of all intervals, from 0.5 to below 1.
    min_group : int, default=5
        A group of fewer rows, in all or within a task, is not judged.
    path : Path, optional
        What `fairness_path` returned, for the frontier.
    command : str, optional
        The command that made the audit, to be shown.
    title : str, optional
        A title to be shown.
    random_state : int or None, default=0
        Seed of permutations, where not all of them can be counted.
    on_step : callable, optional
        Told of each comparison before it is made: its name, its number and how many
        there are.

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
    confidence = check_number("confidence", confidence, 0.5, 1.0)
    if confidence == 1.0:
        raise ValueError("confidence must be below 1; got 1: nothing is that sure.")
    min_group = check_count("min_group", min_group, 1)
    check_flag("intersect", intersect)
    check_flag("frequency_weights", frequency_weights)
    check_seed("random_state", random_state)
    rows = read_audited(
        y_true,
        y_pred,
        sensitive_features,
        tasks,
        sample_weight,
        intersect,
        frequency_weights,
    )
    parts = measure(rows, confidence, min_group, random_state, on_step)
    return Audit(
        **parts,
        frontier=_frontier(path),
        provenance=_provenance(rows, command, random_state),
        confidence=confidence,
        min_group=min_group,
        title=title or "Rank audit",
        backend=rows.backend,
    )


def _frontier(path: Any) -> tuple[FrontierPoint, ...]:
    if path is None:
        return ()
    knee = path.knee() if path.has_knee else None
    return tuple(_point(row, row.epsilon == knee) for row in path.rows)


def _point(row: Any, chosen: bool) -> FrontierPoint:
    gap_ci_low, gap_ci_high = gap_interval(row.auc_ci_low, row.auc_ci_high)
    return FrontierPoint(
        epsilon=row.epsilon,
        rmse=row.rmse,
        rmse_ci_low=row.rmse_ci_low,
        rmse_ci_high=row.rmse_ci_high,
        auc_gap=row.gap,
        gap_ci_low=gap_ci_low,
        gap_ci_high=gap_ci_high,
        label=row.status,
        chosen=chosen,
    )


def _provenance(rows: AuditedRows, command: str | None, seed: int | None) -> Provenance:
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
