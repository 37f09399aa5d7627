"""An audit as data frames: a row for each comparison, or for each task of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

import narwhals as nw

from rankfair.audit.records import Audit, Comparison, TaskLine
from rankfair.stats.estimate import Estimate

MEASURES = tuple(f.name for f in fields(Comparison) if f.type == "Estimate")
LABELS = tuple(f.name for f in fields(Comparison) if f.type != "Estimate")


def comparisons_frame(audit: Audit) -> Any:
    """Return a row for each comparison: labels, then every estimate."""
    return _frame(_columns(Comparison, audit.comparisons), audit.backend)


def tasks_frame(audit: Audit) -> Any:
    """Return a row for each task of each comparison."""
    columns = _columns(TaskLine, audit.tasks)
    columns["note"] = [line.auc.note for line in audit.tasks]
    return _frame(columns, audit.backend)


def _columns(kind: type[Any], records: Sequence[Any]) -> dict[str, list[Any]]:
    """All fields of records as columns; an estimate has several columns."""
    columns: dict[str, list[Any]] = {}
    for field in fields(kind):
        values = [getattr(record, field.name) for record in records]
        if field.type != "Estimate":
            columns[field.name] = values
            continue
        columns |= estimate_columns(field.name, values)
        if any(e.p_value is not None for e in values):
            columns[f"{field.name}_p"] = [e.p_value for e in values]
    return columns


def estimate_columns(name: str, estimates: Sequence[Estimate]) -> dict[str, list[Any]]:
    """Return the values of estimates, and the ends of their intervals, as columns."""
    return {
        name: [e.value for e in estimates],
        f"{name}_ci_low": [e.ci_low for e in estimates],
        f"{name}_ci_high": [e.ci_high for e in estimates],
    }


def _frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    names = (backend, "pandas", "polars")
    here = next((name for name in names if name and find_spec(name)), None)
    if here is None:
        return columns
    return nw.from_dict(columns, backend=here).to_native()  # type: ignore[arg-type]
