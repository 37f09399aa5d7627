"""The lines of single tasks as compact data, small enough to stand in the page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankfair.report.scales import around_half, ticks
from rankfair.report.text import as_json, shown

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, TaskLine

__all__ = ["Payload", "pack"]

MOST_BYTES = 900_000
GRAIN = 10_000
# No line of one model takes less.
LEAST_BYTES = 12


@dataclass(frozen=True)
class Payload:
    """What the script of the page reads, how many lines it holds and how many were.

    ``data`` has ``models``, ``notes``, the limits and ticks of the AUC axis and
    ``sets``, one a comparison: columns ``task``, ``a``, ``b`` (rows of the groups) and,
    for each model, ``auc``, ``low``, ``high`` in ten-thousandths (null: none), ``p``,
    ``flag`` (a string of 0, 1 and - where there is no line) and ``note``, an index.
    """

    data: dict[str, Any]
    text: str
    n_shown: int
    n_all: int


def pack(audit: Audit, most_bytes: int = MOST_BYTES) -> Payload | None:
    """Return the lines of all tasks, or those that fit, or None if there are none.

    Where the lines would make the page too large, those with flags stay first, then
    those with the largest rank gaps.

    Parameters
    ----------
    audit : Audit
        With its task lines.
    most_bytes : int
        What the data may take in the page.

    Returns
    -------
    Payload or None
    """
    if not audit.tasks:
        return None
    sets = _grouped(audit.tasks)
    n_all = sum(map(len, sets.values()))
    # Lines that could not fit however short they are need not be written to see it.
    share = most_bytes / (LEAST_BYTES * len(audit.tasks))
    kept, ranked = sets, dict[Key, list[str]]()
    while True:
        if share < 1:
            ranked = ranked or {key: _ranked(rows) for key, rows in sets.items()}
            kept = {key: _kept(sets[key], ranked[key], share) for key in sets}
        data = _data(audit, kept)
        text = as_json(data)
        size, n_shown = len(text.encode()), sum(map(len, kept.values()))
        if size <= most_bytes or n_shown <= len(sets):
            return Payload(data, text, n_shown, n_all)
        share *= 0.97 * most_bytes / size


Key = tuple[str, str, str]
Rows = dict[str, dict[str, "TaskLine"]]


def _grouped(lines: Sequence[TaskLine]) -> dict[Key, Rows]:
    """Lines by comparison, then by task, then by model, in their order."""
    sets: dict[Key, Rows] = {}
    for line in lines:
        rows = sets.setdefault((line.attribute, line.group, line.against), {})
        rows.setdefault(line.task, {})[line.model] = line
    return sets


def _ranked(rows: Rows) -> list[str]:
    """Tasks in the order in which they stay: flagged, then by their largest gap."""
    return sorted(rows, key=lambda task: _weight(rows[task]), reverse=True)


def _kept(rows: Rows, ranked: list[str], share: float) -> Rows:
    chosen = set(ranked[: max(1, math.floor(share * len(rows)))])
    return {task: by_model for task, by_model in rows.items() if task in chosen}


def _weight(by_model: dict[str, TaskLine]) -> tuple[bool, float]:
    gaps = [abs(line.auc.value - 0.5) for line in by_model.values()]
    known = [gap for gap in gaps if not math.isnan(gap)]
    return any(line.flagged for line in by_model.values()), max(known, default=-1.0)


def _data(audit: Audit, sets: dict[Key, Rows]) -> dict[str, Any]:
    notes = _notes(sets)
    models = [model.name for model in audit.models]
    reached = (
        value
        for rows in sets.values()
        for by_model in rows.values()
        for line in by_model.values()
        for value in (line.auc.value, line.auc.ci_low, line.auc.ci_high)
    )
    low, high = around_half(reached)
    return {
        "models": [shown(model) for model in models],
        "notes": [shown(note) for note in notes],
        "low": low,
        "high": high,
        "ticks": ticks(low, high, 4),
        "sets": [_columns(key, rows, models, notes) for key, rows in sets.items()],
    }


def _notes(sets: dict[Key, Rows]) -> dict[str, int]:
    """Each remark once, the frequent ones with the short numbers; 0 is no remark."""
    found = Counter(
        _note(line)
        for rows in sets.values()
        for by_model in rows.values()
        for line in by_model.values()
    )
    del found[""]
    return {note: i for i, note in enumerate(["", *dict(found.most_common())])}


def _note(line: TaskLine) -> str:
    return line.note or line.auc.note


def _columns(
    key: Key, rows: Rows, models: Sequence[str], notes: dict[str, int]
) -> dict[str, Any]:
    attribute, group, against = map(shown, key)
    first = [next(iter(by_model.values())) for by_model in rows.values()]
    return {
        "attribute": attribute,
        "group": group,
        "against": against,
        "task": [shown(task) for task in rows],
        "a": [line.n_group for line in first],
        "b": [line.n_against for line in first],
        "by": [
            _lines([by_model.get(model) for by_model in rows.values()], notes)
            for model in models
        ],
    }


def _lines(lines: Sequence[TaskLine | None], notes: dict[str, int]) -> dict[str, Any]:
    aucs = [None if line is None else line.auc for line in lines]
    return {
        "auc": [None if auc is None else _grains(auc.value) for auc in aucs],
        "low": [None if auc is None else _grains(auc.ci_low) for auc in aucs],
        "high": [None if auc is None else _grains(auc.ci_high) for auc in aucs],
        "p": [None if line is None else _figures(line.adjusted_p) for line in lines],
        "flag": "".join("-" if line is None else str(+line.flagged) for line in lines),
        "note": [0 if line is None else notes[_note(line)] for line in lines],
    }


def _grains(value: float) -> int | None:
    return round(GRAIN * value) if math.isfinite(value) else None


def _figures(value: float | None) -> float | None:
    """Three figures of a p-value are enough to sort and to read."""
    if value is None or math.isnan(value):
        return None
    return float(f"{value:.3g}")
