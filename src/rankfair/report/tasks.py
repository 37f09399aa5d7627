"""The section of single tasks: what surrounds its table, and the data of its script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankfair.audit.summary import would_be_found
from rankfair.report import text
from rankfair.report.text import View, shown, whole

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, TaskLine

GRAIN = 10_000  # AUCs are whole numbers of 1 / GRAIN in the data

Key = tuple[str, str, str]  # sensitive feature, group, against
ByModel = dict[str, "TaskLine"]  # the lines of one task


def forest(audit: Audit, most: int = 20_000) -> View | None:
    """Return the section, or None without tasks; the worst tasks are first.

    ``json`` is what the script of the page reads: ``models``, ``notes``, the range and
    ticks of the AUC axis, and ``sets``, one a comparison.  A set has the columns
    ``task``, ``a``, ``b`` (rows of the groups) and for each model ``auc``, ``low``,
    ``high`` in ten-thousandths (null: unknown), ``p``, ``flag`` (a string of 0 and 1)
    and ``note``, an index.  Of more than ``most`` lines the last tasks are left out.
    """
    if not audit.tasks:
        return None
    sets = _worst_first(audit.tasks)
    share = min(most / len(audit.tasks), 1.0)
    kept = {key: rows[: math.ceil(share * len(rows))] for key, rows in sets.items()}
    data = _data(audit, kept)
    n_all, n_shown = (sum(map(len, each.values())) for each in (sets, kept))
    x, marks = text.axis(data["low"], data["high"])
    lines = [t for t in audit.tasks if t.model == audit.models[-1].name]
    return text.section(
        "tasks",
        "Tasks",
        json=text.as_json(data),
        n_shown=text.count(n_shown),
        n_all=text.count(n_all),
        trimmed=n_shown < n_all,
        flagged=text.count(sum(line.flagged for line in lines)),
        judged=text.count(sum(line.adjusted_p is not None for line in lines)),
        hidden=would_be_found(lines, audit.confidence),
        level=f"{1 - audit.confidence:.3g}",
        axis=marks,
        half=x(0.5),
    )


def _worst_first(lines: Sequence[TaskLine]) -> dict[Key, list[ByModel]]:
    """Tasks of each comparison: flagged ones, then those with the largest gaps."""
    sets: dict[Key, dict[str, ByModel]] = {}
    for line in lines:
        rows = sets.setdefault(line.pair, {})
        rows.setdefault(line.task, {})[line.model] = line

    def weight(by_model: ByModel) -> tuple[bool, float]:
        gaps = [abs(line.auc.value - 0.5) for line in by_model.values()]
        known = [gap for gap in gaps if not math.isnan(gap)]
        return any(t.flagged for t in by_model.values()), max(known, default=-1.0)

    return {
        key: sorted(rows.values(), key=weight, reverse=True)
        for key, rows in sets.items()
    }


def _data(audit: Audit, sets: dict[Key, list[ByModel]]) -> dict[str, Any]:
    lines = [t for rows in sets.values() for by in rows for t in by.values()]
    # Each note once, frequent ones with short numbers; 0 is no note.
    frequent = Counter(line.auc.note for line in lines if line.auc.note).most_common()
    notes = {note: i for i, note in enumerate(["", *dict(frequent)])}
    low, high = text.around_half(text.numbers_of(line.auc for line in lines))
    return {
        "models": [shown(model) for model in audit.model_names],
        "notes": [shown(note) for note in notes],
        "low": low,
        "high": high,
        "ticks": text.ticks(low, high, 4),
        "sets": [
            _columns(key, rows, audit.model_names, notes) for key, rows in sets.items()
        ],
    }


def _columns(
    key: Key, rows: list[ByModel], models: Sequence[str], notes: dict[str, int]
) -> dict[str, Any]:
    feature, group, against = map(shown, key)
    first = [next(iter(by_model.values())) for by_model in rows]
    return {
        "feature": feature,
        "group": group,
        "against": against,
        "task": [shown(line.task) for line in first],
        "a": [line.n_group for line in first],
        "b": [line.n_against for line in first],
        "by": [
            _lines([by_model[model] for by_model in rows], notes) for model in models
        ],
    }


def _lines(lines: Sequence[TaskLine], notes: dict[str, int]) -> dict[str, Any]:
    """The lines of one model as columns; three figures of p are enough to read."""
    ps = [line.adjusted_p for line in lines]
    return {
        "auc": [whole(GRAIN * line.auc.value) for line in lines],
        "low": [whole(GRAIN * line.auc.ci_low) for line in lines],
        "high": [whole(GRAIN * line.auc.ci_high) for line in lines],
        "p": [None if p is None or math.isnan(p) else float(f"{p:.3g}") for p in ps],
        "flag": "".join(str(+line.flagged) for line in lines),
        "note": [notes[line.auc.note] for line in lines],
    }
