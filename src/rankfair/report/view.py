"""Records in, a plain dict for the template out; no arithmetic but places on paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankfair.report import words
from rankfair.report.cells import View, cell
from rankfair.report.forest import forest
from rankfair.report.frontier import Dot, draw
from rankfair.report.sections import has_target, section
from rankfair.report.tasks import MOST_BYTES, pack
from rankfair.report.text import alike, between, count, decimal, round_number, rows_of

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, FrontierPoint, ModelLine, Provenance

__all__ = ["dots_of", "facts_of", "origin", "view"]


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
        # No line begins with a lonely sign.
        "verdict": audit.verdict.replace(" %", "\u00a0%"),
        "facts": facts_of(audit.provenance, _percent(audit)),
        "models": [model.name for model in audit.models],
        "names_width": _width(audit),
        "sections": [section(audit, it, i) for i, it in enumerate(audit.attributes, 1)],
        "has_target": has_target(audit),
        "what": audit.models[0].name if _lone(audit) else "",
        "errors": _errors(audit.models if has_target(audit) else ()),
        "frontier": _frontier(audit.frontier),
        "tasks": None if payload is None else forest(payload, audit),
        "notes": [_filled(note, audit) for note in words.NOTES],
        "methods": _methods(audit),
        "limits": words.LIMITS,
        "provenance": origin(
            audit.provenance, ("Smallest group judged", rows_of(audit.min_group))
        ),
        "confidence": _percent(audit),
    }


def _lone(audit: Audit) -> bool:
    """Whether one column is audited by itself, and is called by its name."""
    return len(audit.models) == 1 and not has_target(audit)


def _width(audit: Audit) -> int:
    """Letters that the names of models need in a column, 4 to 16, even."""
    longest = max((len(model.name) for model in audit.models), default=0)
    return min(max(4, longest + longest % 2), 16)


def _percent(audit: Audit) -> str:
    return f"{100 * audit.confidence:g} %"


def _filled(note: str, audit: Audit) -> str:
    confidence = f"{100 * audit.confidence:g}"
    return note.format(confidence=confidence, min_group=audit.min_group)


def facts_of(made: Provenance, confidence: str) -> list[str]:
    """Return the line of facts below a title: rows, tasks if any, intervals, day."""
    facts = [rows_of(made.n_rows)]
    if made.n_tasks:
        facts.append("1 task" if made.n_tasks == 1 else f"{count(made.n_tasks)} tasks")
    return [*facts, f"{confidence} intervals", made.created[:10]]


def _errors(models: Iterable[ModelLine]) -> View:
    lines = list(models)
    return {
        "names": [(name, meaning) for _, name, meaning in words.ERRORS],
        "rows": [
            {
                "model": line.name,
                "cells": [cell(getattr(line, f), alike) for f, _, _ in words.ERRORS],
            }
            for line in lines
        ],
    }


def dots_of(points: Sequence[FrontierPoint]) -> list[Dot]:
    """Return the points of a path as they are drawn; ends and choice have names."""
    ends = {0, len(points) - 1}
    return [
        Dot(
            p.auc_gap,
            p.rmse,
            p.gap_ci_low,
            p.gap_ci_high,
            p.rmse_ci_low,
            p.rmse_ci_high,
            f"ε = {_short(p.epsilon)}" if p.chosen or i in ends else "",
            p.chosen,
        )
        for i, p in enumerate(points)
    ]


def _short(epsilon: float) -> str:
    return round_number(float(f"{epsilon:.3g}"))


def _frontier(points: Sequence[FrontierPoint]) -> View | None:
    picture = draw((), dots_of(points))
    if picture is None:
        return None
    labels = Counter(p.label for p in points)
    errors = iter(
        alike([v for p in points for v in (p.rmse, p.rmse_ci_low, p.rmse_ci_high)])
    )
    rows = [
        {
            "epsilon": _short(p.epsilon),
            # What most points share says nothing about one of them.
            "label": p.label if 2 * labels[p.label] <= len(points) else "",
            "chosen": p.chosen,
            "rmse": next(errors),
            "rmse_interval": between(next(errors), next(errors)),
            "gap": decimal(p.auc_gap),
            "gap_interval": between(decimal(p.gap_ci_low), decimal(p.gap_ci_high)),
        }
        for p in points
    ]
    return {"picture": picture, "rows": rows}


def _methods(audit: Audit) -> list[tuple[str, list[str]]]:
    """Which figures were made in the same ways, and the ways; every one once."""
    ways: dict[str, dict[str, None]] = {}
    for comparison in audit.comparisons:
        for metric in words.METRICS:
            method = getattr(comparison, metric.field).method
            if method:
                ways.setdefault(metric.plain_name, {})[method] = None
    names_of: dict[tuple[str, ...], list[str]] = {}
    for name, methods in ways.items():
        names_of.setdefault(tuple(methods), []).append(name)
    return [(", ".join(names), list(methods)) for methods, names in names_of.items()]


def origin(made: Provenance, *more: tuple[str, str]) -> View:
    """Return where a page comes from, as names and values.

    Parameters
    ----------
    made : Provenance
        Of the records shown.
    *more : tuple of str
        Further names with their values.

    Returns
    -------
    dict
        With ``facts``, ``fingerprint`` and ``command``; an empty value is not shown.
    """
    return {
        "facts": [
            ("Rows", count(made.n_rows)),
            ("Tasks", count(made.n_tasks) if made.n_tasks else "none given"),
            ("Made", made.created),
            ("Seed", "" if made.seed is None else str(made.seed)),
            *more,
            ("Versions", ", ".join(f"{k} {v}" for k, v in made.versions.items())),
        ],
        "fingerprint": made.fingerprint,
        "command": made.command or "",
    }
