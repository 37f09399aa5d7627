"""The section of single tasks: its first rows, and the data for its script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankfair.report.text import (
    DASH,
    STRIP,
    Scale,
    View,
    around_half,
    as_json,
    cell,
    chance,
    count,
    shown,
    strip,
    ticks,
)

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, TaskLine

GRAIN = 10_000  # AUCs are whole numbers of 1 / GRAIN in the data

Key = tuple[str, str, str]  # sensitive feature, group, against
ByTask = dict[str, dict[str, "TaskLine"]]  # by task, then by model


@dataclass(frozen=True)
class Payload:
    """The data that the script of the page reads, as JSON.

    ``data`` has ``models``, ``notes``, the range and ticks of the AUC axis and
    ``sets``, one a comparison.  A set has the columns ``task``, ``a``, ``b`` (rows of
    the groups) and for each model ``auc``, ``low``, ``high`` in ten-thousandths (null:
    unknown), ``p``, ``flag`` (a string of 0 and 1) and ``note``, an index. ``first``
    holds the lines of the first set; ``n_shown`` of ``n_all`` tasks fit.
    """

    data: dict[str, Any]
    text: str
    first: ByTask
    n_shown: int
    n_all: int


def pack(audit: Audit, most_bytes: int = 900_000) -> Payload | None:
    """Return the lines of all tasks as data, or None if there are none.

    If the data would be larger than ``most_bytes``, flagged tasks stay first, then
    those with the largest rank gaps.
    """
    if not audit.tasks:
        return None
    sets = _grouped(audit.tasks)
    n_all = sum(map(len, sets.values()))
    share = most_bytes / (12 * len(audit.tasks))  # no line takes less than 12 bytes
    ranked = {key: _ranked(rows) for key, rows in sets.items()}
    while True:
        kept = {key: _kept(sets[key], ranked[key], share) for key in sets}
        data = _data(audit, kept)
        text = as_json(data)
        size, n_shown = len(text.encode()), sum(map(len, kept.values()))
        if size <= most_bytes or n_shown <= len(sets):
            return Payload(data, text, next(iter(kept.values())), n_shown, n_all)
        share *= 0.97 * most_bytes / size


def forest(payload: Payload, audit: Audit, n_first: int = 25) -> View:
    """Return the section: data for the script, and the first rows without it."""
    data = payload.data
    width, _, margin = STRIP
    x = Scale(data["low"], data["high"], margin, width - margin)
    lines = [t for t in audit.tasks if t.model == audit.models[-1].name]
    return {
        "json": payload.text,
        "n_shown": count(payload.n_shown),
        "n_all": count(payload.n_all),
        "trimmed": payload.n_shown < payload.n_all,
        "flagged": count(sum(line.flagged for line in lines)),
        "judged": count(sum(line.adjusted_p is not None for line in lines)),
        "level": f"{1 - audit.confidence:.3g}",
        "axis": [(x(v), f"{v:g}") for v in data["ticks"]],
        "half": x(0.5),
        "first": [
            _first_row(task, by_model, x)
            for task, by_model in list(payload.first.items())[:n_first]
        ],
        "set": data["sets"][0],
        "several_sets": len(data["sets"]) > 1,
    }


def _first_row(task: str, by_model: dict[str, TaskLine], x: Scale) -> View:
    line = next(iter(by_model.values()))
    return {
        "task": shown(task),
        "sizes": f"{count(line.n_group)} v {count(line.n_against)}",
        "lines": [
            {
                **cell(line.auc.mapped(_rounded)),
                **strip(line.auc.mapped(_rounded), x, model),
                "p": chance(line.adjusted_p) or DASH,
                "flagged": line.flagged,
            }
            for model, line in by_model.items()
        ],
    }


def _grouped(lines: Sequence[TaskLine]) -> dict[Key, ByTask]:
    """Lines by comparison, then by task, then by model, in their order."""
    sets: dict[Key, ByTask] = {}
    for line in lines:
        rows = sets.setdefault((line.sensitive_feature, line.group, line.against), {})
        rows.setdefault(line.task, {})[line.model] = line
    return sets


def _ranked(rows: ByTask) -> list[str]:
    """Tasks in the order in which they are kept: flagged, then by their largest gap."""

    def weight(task: str) -> tuple[bool, float]:
        lines = rows[task].values()
        gaps = [abs(line.auc.value - 0.5) for line in lines]
        known = [gap for gap in gaps if not math.isnan(gap)]
        return any(line.flagged for line in lines), max(known, default=-1.0)

    return sorted(rows, key=weight, reverse=True)


def _kept(rows: ByTask, ranked: list[str], share: float) -> ByTask:
    chosen = set(ranked[: max(1, math.floor(share * len(rows)))])
    return {task: by_model for task, by_model in rows.items() if task in chosen}


def _data(audit: Audit, sets: dict[Key, ByTask]) -> dict[str, Any]:
    lines = [
        line
        for rows in sets.values()
        for by_model in rows.values()
        for line in by_model.values()
    ]
    # Each note once, frequent ones with short numbers; 0 is no note.
    frequent = Counter(line.auc.note for line in lines if line.auc.note).most_common()
    notes = {note: i for i, note in enumerate(["", *dict(frequent)])}
    low, high = around_half(
        value
        for line in lines
        for value in (line.auc.value, line.auc.ci_low, line.auc.ci_high)
    )
    return {
        "models": [shown(model) for model in audit.model_names],
        "notes": [shown(note) for note in notes],
        "low": low,
        "high": high,
        "ticks": ticks(low, high, 4),
        "sets": [
            _columns(key, rows, audit.model_names, notes) for key, rows in sets.items()
        ],
    }


def _columns(
    key: Key, rows: ByTask, models: Sequence[str], notes: dict[str, int]
) -> dict[str, Any]:
    feature, group, against = map(shown, key)
    first = [next(iter(by_model.values())) for by_model in rows.values()]
    return {
        "feature": feature,
        "group": group,
        "against": against,
        "task": [shown(task) for task in rows],
        "a": [line.n_group for line in first],
        "b": [line.n_against for line in first],
        "by": [
            _lines([by_model[model] for by_model in rows.values()], notes)
            for model in models
        ],
    }


def _lines(lines: Sequence[TaskLine], notes: dict[str, int]) -> dict[str, Any]:
    """The lines of one model as columns."""
    return {
        "auc": [_grains(line.auc.value) for line in lines],
        "low": [_grains(line.auc.ci_low) for line in lines],
        "high": [_grains(line.auc.ci_high) for line in lines],
        "p": [_figures(line.adjusted_p) for line in lines],
        "flag": "".join(str(+line.flagged) for line in lines),
        "note": [notes[line.auc.note] for line in lines],
    }


def _rounded(value: float) -> float:
    """A number as the script reads it, so that both show the same digits."""
    grains = _grains(value)
    return math.nan if grains is None else grains / GRAIN


def _grains(value: float) -> int | None:
    return round(GRAIN * value) if math.isfinite(value) else None


def _figures(value: float | None) -> float | None:
    """A p-value with three figures, enough to sort and to read."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.3g}")
