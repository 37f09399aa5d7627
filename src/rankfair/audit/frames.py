"""An audit as data frames: a row for each comparison, or for each task of each."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import narwhals as nw

from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Comparison

__all__ = ["comparisons_frame", "measures", "tasks_frame"]

LABELS = ("model", "attribute", "group", "against", "kind", "n_group", "n_against")
MEASURES = (
    "auc",
    "within_task_auc",
    "between_task_auc",
    "mean_difference",
    "balanced_residuals",
    "impact_rank_ratio",
    "ks",
    "wasserstein",
    "share_above_median",
    "share_above_median_against",
    "impact_ratio",
)


def measures(comparison: Comparison) -> dict[str, Estimate]:
    """Return the estimates of a comparison by name, in the order of tables."""
    return {name: getattr(comparison, name) for name in MEASURES}


def comparisons_frame(audit: Audit) -> Any:
    """Return a row for each comparison: labels, then value, low, high and p of each."""
    columns: dict[str, list[Any]] = {
        name: [getattr(c, name) for c in audit.comparisons] for name in LABELS
    }
    for name in MEASURES:
        columns |= _spread(name, [getattr(c, name) for c in audit.comparisons])
    return _frame(columns, audit.backend)


def tasks_frame(audit: Audit) -> Any:
    """Return a row for each task of each comparison."""
    names = ("model", "attribute", "group", "against", "task", "n_group", "n_against")
    columns: dict[str, list[Any]] = {
        name: [getattr(line, name) for line in audit.tasks] for name in names
    }
    columns |= _spread("auc", [line.auc for line in audit.tasks])
    for name in ("adjusted_p", "flagged", "note"):
        columns[name] = [getattr(line, name) for line in audit.tasks]
    return _frame(columns, audit.backend)


def _spread(name: str, estimates: list[Estimate]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        name: [e.value for e in estimates],
        f"{name}_ci_low": [e.ci_low for e in estimates],
        f"{name}_ci_high": [e.ci_high for e in estimates],
    }
    if any(e.p_value is not None for e in estimates):
        columns[f"{name}_p"] = [e.p_value for e in estimates]
    return columns


def _frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    names = (backend, "pandas", "polars")
    here = next((name for name in names if name and find_spec(name)), None)
    if here is None:
        return columns
    return nw.from_dict(columns, backend=here).to_native()  # type: ignore[arg-type]
