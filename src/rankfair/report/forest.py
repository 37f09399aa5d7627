"""The section of single tasks: what stands in the page, and the data beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankfair.report.cells import STRIP, View, place_of
from rankfair.report.scales import Scale
from rankfair.report.tasks import GRAIN, Payload
from rankfair.report.text import DASH, between, chance, count, decimal

if TYPE_CHECKING:
    from rankfair.audit.records import Audit

__all__ = ["forest"]

FIRST_ROWS = 25


def forest(payload: Payload, audit: Audit) -> View:
    """Return the first tasks, drawn before any script runs, and the data for all.

    Parameters
    ----------
    payload : Payload
        The lines that fit into the page.
    audit : Audit
        Where they come from.

    Returns
    -------
    dict
        What the template shows of it.
    """
    data = payload.data
    width, _, room = STRIP
    x = Scale(data["low"], data["high"], room, width - room)
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
        "first": _first_rows(payload, x),
        "set": data["sets"][0],
        "several_sets": len(data["sets"]) > 1,
    }


def _first_rows(payload: Payload, x: Scale) -> list[View]:
    data = payload.data
    first = data["sets"][0]
    return [
        {
            "task": task,
            "sizes": f"{count(first['a'][i])} v {count(first['b'][i])}",
            "lines": [
                _line(by, i, data["notes"], x, model)
                for by, model in zip(first["by"], data["models"], strict=True)
            ],
        }
        for i, task in enumerate(first["task"][:FIRST_ROWS])
    ]


def _line(by: View, i: int, notes: list[str], x: Scale, model: str) -> View:
    low, auc, high = (by[key][i] for key in ("low", "auc", "high"))
    values = [math.nan if v is None else v / GRAIN for v in (low, auc, high)]
    low_x, auc_x, high_x = (place_of(v, x) for v in values)
    text = decimal(values[1])
    interval = between(decimal(values[0]), decimal(values[2]))
    return {
        "x": auc_x,
        "low": low_x,
        "high": high_x,
        "title": f"{model}: {text} ({interval})" if interval else f"{model}: {text}",
        "text": text,
        "interval": interval,
        "p": chance(by["p"][i]) or DASH,
        "flagged": by["flag"][i] == "1",
        "note": notes[by["note"][i]],
    }
