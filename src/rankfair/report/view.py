"""Records in, a plain dict for the template out; no arithmetic beyond places on paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rankfair.report import words
from rankfair.report.distributions import panels
from rankfair.report.frontier import Dot, draw
from rankfair.report.scales import Scale, around_half, ticks
from rankfair.report.tasks import MOST_BYTES, Payload, pack
from rankfair.report.text import DASH, amount, between, chance, count, decimal

if TYPE_CHECKING:
    from rankfair.audit.records import (
        Attribute,
        Audit,
        Comparison,
        FrontierPoint,
        ModelLine,
    )

__all__ = ["STRIP", "cell", "strip", "view"]

STRIP = (280, 26, 12)  # width, height a line, and room at the sides
FIRST_ROWS = 25
OPEN_TABLES = 3

View = dict[str, Any]


def view(audit: Audit, *, most_bytes: int = MOST_BYTES) -> View:
    """Return all that the page shows, as strings, numbers, lists and dicts.

    Parameters
    ----------
    audit : Audit
        What was measured.
    most_bytes : int
        What the data of single tasks may take in the page.

    Returns
    -------
    dict
        What ``audit.html.j2`` reads.
    """
    payload = pack(audit, most_bytes)
    return {
        "title": audit.title,
        "verdict": audit.verdict,
        "facts": _facts(audit),
        "models": [model.name for model in audit.models],
        "sections": [_section(audit, attribute, i) for i, attribute in _each(audit)],
        "errors": _errors(audit.models),
        "frontier": _frontier(audit.frontier),
        "tasks": None if payload is None else _tasks(payload, audit),
        "notes": [_filled(note, audit) for note in words.NOTES],
        "methods": _methods(audit),
        "limits": words.LIMITS,
        "provenance": _provenance(audit),
        "confidence": _percent(audit),
    }


def _each(audit: Audit) -> Iterable[tuple[int, Attribute]]:
    return enumerate(audit.attributes, start=1)


def _percent(audit: Audit) -> str:
    return f"{100 * audit.confidence:g} %"


def _filled(note: str, audit: Audit) -> str:
    confidence = f"{100 * audit.confidence:g}"
    return note.format(confidence=confidence, min_group=audit.min_group)


def _facts(audit: Audit) -> list[str]:
    made = audit.provenance
    facts = [f"{count(made.n_rows)} rows"]
    if made.n_tasks:
        facts.append(f"{count(made.n_tasks)} tasks")
    return [*facts, f"{_percent(audit)} intervals", made.created[:10]]


def cell(estimate: Any, form: Callable[[float], str] = decimal) -> View:
    """Return an estimate in words: number, interval, p-value, and why one is missing.

    Parameters
    ----------
    estimate : Estimate, float or None
        A bare number has no interval.
    form : callable
        Turns a number into text.

    Returns
    -------
    dict
        With ``text``, ``interval``, ``p`` and ``note``.

    Examples
    --------
    >>> cell(0.25)
    {'text': '0.250', 'interval': '', 'p': '', 'note': ''}
    """
    if estimate is None or isinstance(estimate, int | float):
        value = math.nan if estimate is None else float(estimate)
        return {"text": form(value), "interval": "", "p": "", "note": ""}
    interval = between(form(estimate.low), form(estimate.high))
    note = estimate.note
    if not interval and not note:
        note = "not estimable"
    return {
        "text": form(estimate.value),
        "interval": interval,
        "p": chance(estimate.p_value),
        "note": note,
    }


def strip(estimate: Any, x: Scale, name: str) -> View:
    """Return the places of an estimate and its interval on a line.

    Parameters
    ----------
    estimate : Estimate
        An AUC.
    x : Scale
        Of the line.
    name : str
        What is said to those who do not see the picture.

    Returns
    -------
    dict
        With ``x``, ``low``, ``high`` (None where there is none) and ``title``.
    """
    said = cell(estimate)
    numbers = f"{said['text']} ({said['interval']})" if said["interval"] else said["text"]
    return {
        "x": _place(estimate.value, x),
        "low": _place(estimate.low, x),
        "high": _place(estimate.high, x),
        "title": f"{name}: {numbers}",
    }


def _place(value: float, x: Scale) -> float | None:
    return x.clipped(value) if math.isfinite(value) else None


def _axis(values: Iterable[float]) -> tuple[Scale, list[tuple[float, str]]]:
    width, _, room = STRIP
    x = Scale(*around_half(values), room, width - room)
    return x, [(x(v), f"{v:g}") for v in ticks(x.low, x.high, 4)]


def _section(audit: Audit, attribute: Attribute, number: int) -> View:
    """One attribute: its groups, their pictures, and every comparison."""
    pairs = _pairs(audit, attribute)
    x, marks = _axis(
        v
        for by_model in pairs.values()
        for c in by_model.values()
        for v in (c.auc.value, c.auc.low, c.auc.high)
    )
    drawn = panels(audit, attribute)
    colours = {s.group: s.colour for panel in drawn for s in panel.shapes}
    return {
        "id": f"attribute-{number}",
        "name": attribute.name,
        "groups": [_group(g, audit, colours.get(g.label)) for g in attribute.groups],
        "n_drawn": len(colours),
        "missing": count(attribute.n_missing) if attribute.n_missing else "",
        "constant": attribute.constant_in_tasks,
        "note": attribute.note,
        "panels": drawn,
        "axis": marks,
        "half": x(0.5),
        "comparisons": [
            _comparison(by_model, x, i) for i, by_model in enumerate(pairs.values())
        ],
    }


def _pairs(
    audit: Audit, attribute: Attribute
) -> dict[tuple[str, str], dict[str, Comparison]]:
    """Comparisons of an attribute by their groups, then by model."""
    pairs: dict[tuple[str, str], dict[str, Comparison]] = {}
    for found in audit.comparisons:
        if found.attribute == attribute.name:
            by_model = pairs.setdefault((found.group, found.against), {})
            by_model[found.model] = found
    return pairs


def _group(group: Any, audit: Audit, colour: int | None) -> View:
    means: Mapping[str, float] = group.mean_predicted
    return {
        "label": group.label,
        "colour": colour,
        "rows": count(group.n_rows),
        "target": amount(group.mean_target),
        "predicted": [amount(means.get(m.name, math.nan)) for m in audit.models],
    }


def _comparison(by_model: dict[str, Comparison], x: Scale, place: int) -> View:
    first = next(iter(by_model.values()))
    asked = [m for m in words.METRICS if getattr(first, m.field, None) is not None]
    return {
        "group": first.group,
        "against": first.against,
        "kind": first.kind,
        "n_group": count(first.n_group),
        "n_against": count(first.n_against),
        "open": place < OPEN_TABLES,
        "models": list(by_model),
        "strips": [strip(c.auc, x, c.model) for c in by_model.values()],
        "aucs": [cell(c.auc) for c in by_model.values()],
        "rows": [
            {
                "name": metric.name,
                "meaning": metric.meaning,
                "level": metric.level,
                "cells": [
                    cell(getattr(c, metric.field), metric.form)
                    for c in by_model.values()
                ],
            }
            for metric in asked
        ],
    }


def _errors(models: Iterable[ModelLine]) -> View:
    lines = list(models)
    return {
        "names": [(name, meaning) for _, name, meaning in words.ERRORS],
        "rows": [
            {
                "model": line.name,
                "cells": [cell(getattr(line, f), amount) for f, _, _ in words.ERRORS],
            }
            for line in lines
        ],
    }


def _frontier(points: Iterable[FrontierPoint]) -> View | None:
    points = list(points)
    dots = [
        Dot(
            p.auc_gap,
            p.rmse,
            p.gap_low,
            p.gap_high,
            p.rmse_low,
            p.rmse_high,
            p.label or (f"ε = {amount(p.epsilon)}" if p.chosen else ""),
            p.chosen,
        )
        for p in points
    ]
    picture = draw(dots)
    if picture is None:
        return None
    rows = [
        {
            "epsilon": amount(p.epsilon),
            "label": p.label,
            "chosen": p.chosen,
            "rmse": amount(p.rmse),
            "rmse_interval": between(amount(p.rmse_low), amount(p.rmse_high)),
            "gap": decimal(p.auc_gap),
            "gap_interval": between(decimal(p.gap_low), decimal(p.gap_high)),
        }
        for p in points
    ]
    return {"picture": picture, "rows": rows}


def _tasks(payload: Payload, audit: Audit) -> View:
    """The first lines, drawn before any script runs, and the data for all."""
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
    values = [math.nan if v is None else v / 10_000 for v in (low, auc, high)]
    low_x, auc_x, high_x = (_place(v, x) for v in values)
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


def _methods(audit: Audit) -> list[tuple[str, list[str]]]:
    """Which way each interval was made; every way once a figure."""
    found: dict[str, dict[str, None]] = {}
    for comparison in audit.comparisons:
        for metric in words.METRICS:
            method = getattr(getattr(comparison, metric.field, None), "method", "")
            if method:
                name = metric.name.replace("{group}", "a group")
                name = name.replace("{against}", "the other group")
                found.setdefault(name, {})[method] = None
    return [(name, list(methods)) for name, methods in found.items()]


def _provenance(audit: Audit) -> View:
    made = audit.provenance
    return {
        "facts": [
            ("Rows", count(made.n_rows)),
            ("Tasks", count(made.n_tasks) if made.n_tasks else "none given"),
            ("Made", made.created),
            ("Seed", str(made.seed)),
            ("Smallest group judged", f"{audit.min_group} rows"),
            ("Versions", ", ".join(f"{k} {v}" for k, v in made.versions.items())),
        ],
        "fingerprint": made.fingerprint,
        "command": made.command or "",
    }
