"""Records in, a plain dict for the template out; no arithmetic but places on paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankfair.report import words
from rankfair.report.cells import View, cell
from rankfair.report.forest import forest
from rankfair.report.frontier import Dot, draw
from rankfair.report.sections import section
from rankfair.report.tasks import MOST_BYTES, pack
from rankfair.report.text import amount, between, count, decimal, round_number

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, FrontierPoint, ModelLine, Provenance

__all__ = ["dots_of", "origin", "view"]


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
        "sections": [section(audit, it, i) for i, it in enumerate(audit.attributes, 1)],
        "errors": _errors(audit.models),
        "frontier": _frontier(audit.frontier),
        "tasks": None if payload is None else forest(payload, audit),
        "notes": [_filled(note, audit) for note in words.NOTES],
        "methods": _methods(audit),
        "limits": words.LIMITS,
        "provenance": origin(
            audit.provenance, ("Smallest group judged", f"{audit.min_group} rows")
        ),
        "confidence": _percent(audit),
    }


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


def dots_of(points: Iterable[FrontierPoint]) -> list[Dot]:
    """Return the points of a path as they are drawn."""
    return [
        Dot(
            p.auc_gap,
            p.rmse,
            p.gap_low,
            p.gap_high,
            p.rmse_low,
            p.rmse_high,
            p.label or (f"ε = {round_number(p.epsilon)}" if p.chosen else ""),
            p.chosen,
        )
        for p in points
    ]


def _frontier(points: Sequence[FrontierPoint]) -> View | None:
    picture = draw((), dots_of(points))
    if picture is None:
        return None
    rows = [
        {
            "epsilon": round_number(p.epsilon),
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


def _methods(audit: Audit) -> list[tuple[str, list[str]]]:
    """Which figures were made in the same ways, and the ways; every one once."""
    ways: dict[str, dict[str, None]] = {}
    for comparison in audit.comparisons:
        for metric in words.METRICS:
            method = getattr(comparison, metric.field).method
            if method:
                ways.setdefault(metric.plain_name, {})[method] = None
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, methods in ways.items():
        alike.setdefault(tuple(methods), []).append(name)
    return [(", ".join(names), list(methods)) for methods, names in alike.items()]


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
