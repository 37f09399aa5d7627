"""What the commands found as tables to write, and as plain JSON types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfair.audit import Audit
from rankfair.audit.frames import LABELS, MEASURES, estimate_columns
from rankfair.audit.records import plain
from rankfair.files.table import Table
from rankfair.paths import PathRow

if TYPE_CHECKING:
    from rankfair.jobs.compares import Compared
    from rankfair.jobs.fits import Fitted
    from rankfair.jobs.paths import Priced

__all__ = [
    "audit_sheet",
    "compared_dict",
    "compared_sheet",
    "fitted_dict",
    "priced_dict",
    "priced_sheet",
]

METHOD = ("rmse", "auc_gap", "mean_difference", "ks")


def audit_sheet(audit: Audit) -> Table:
    """Return a row for each comparison: labels, then values and intervals."""
    found = audit.comparisons
    columns = {name: _column([getattr(c, name) for c in found]) for name in LABELS}
    return Table({**columns, **_spread(found, MEASURES)})


def priced_sheet(done: Priced) -> Table:
    """Return a row for each ε."""
    return Table({n: _column(done.path.column(n).tolist()) for n in PathRow._fields})


def compared_sheet(done: Compared) -> Table:
    """Return a row for each method that was run."""
    lines = done.page.lines
    return Table(
        {
            "method": _column([line.method for line in lines]),
            **_spread(lines, METHOD),
            "groups": _column([line.groups for line in lines]),
            "note": _column([line.note for line in lines]),
        }
    )


def fitted_dict(done: Fitted) -> dict[str, Any]:
    """Return what `docs/fit.schema.json` describes."""
    model = done.model
    return {
        "format": "rankfair-fit",
        "version": 2,
        "model": None if done.path is None else str(done.path),
        "status": model.status_,
        "rank_auc": plain(float(model.rank_auc_)),
        "constraints": plain(
            {k: float(v) for k, v in model.constraint_values_.items()}
        ),
        "beta": plain(model.beta_),
        "unbalanced_tasks": plain(getattr(model, "unbalanced_tasks_", None) or {}),
        "held_out": done.measured != "fitted",
        "notes": list(done.notes),
        "encoding": done.details,
        "audit": None if done.audit is None else done.audit.to_dict(),
    }


def priced_dict(done: Priced) -> dict[str, Any]:
    """Return what `docs/path.schema.json` describes."""
    return {
        "format": "rankfair-path",
        "version": 2,
        "knee": done.path.knee() if done.path.has_knee else None,
        "summary": done.page.summary,
        "n_held_out": done.path.n_held_out,
        "rows": [plain(row._asdict()) for row in done.path.rows],
        "notes": list(done.notes),
    }


def compared_dict(done: Compared) -> dict[str, Any]:
    """Return what `docs/compare.schema.json` describes."""
    return {
        "format": "rankfair-compare",
        "version": 2,
        "summary": done.page.summary,
        "methods": plain(done.page.lines),
        "not_run": dict(done.refused),
        "notes": list(done.notes),
    }


def _spread(records: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Return values of estimates and the ends of their intervals as columns."""
    columns: dict[str, list[Any]] = {}
    for name in names:
        columns |= estimate_columns(name, [getattr(record, name) for record in records])
    return {name: np.array(values, float) for name, values in columns.items()}


def _column(values: list[Any]) -> Any:
    if all(isinstance(value, int | float) for value in values):
        return np.array(values)
    out = np.empty(len(values), object)
    out[:] = [str(value) for value in values]
    return out
