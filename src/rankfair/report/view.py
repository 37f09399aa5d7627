"""The records of an audit as the plain dict that its template reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankfair.report import text, words
from rankfair.report.frontier import Dot, draw
from rankfair.report.sections import has_target, section
from rankfair.report.tasks import forest, pack
from rankfair.report.text import View

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, FrontierPoint, ModelLine, Provenance


def view(audit: Audit, *, most_bytes: int = 900_000) -> View:
    """Return everything that ``audit.html.j2`` shows, as text, numbers and lists.

    The data of single tasks take at most ``most_bytes``.
    """
    payload = pack(audit, most_bytes)
    confidence = f"{100 * audit.confidence:g}"
    # An audit of one column alone is called by its name.
    alone = len(audit.models) == 1 and not has_target(audit)
    return {
        "title": audit.title,
        # A percent sign never starts a line.
        "verdict": audit.verdict.replace(" %", "\u00a0%"),
        "facts": facts_of(audit.provenance, f"{confidence} %"),
        "models": list(audit.model_names),
        "names_width": _width(audit),
        "sections": [
            section(audit, feature, i)
            for i, feature in enumerate(audit.sensitive_features, 1)
        ],
        "has_target": has_target(audit),
        "what": audit.model_names[0] if alone else "",
        "errors": _errors(audit.models if has_target(audit) else ()),
        "frontier": _frontier(audit.frontier),
        "tasks": None if payload is None else forest(payload, audit),
        "notes": [
            note.format(confidence=confidence, min_group=audit.min_group)
            for note in words.NOTES
        ],
        "methods": _methods(audit),
        "caveats": words.CAVEATS,
        "provenance": origin(
            audit.provenance, ("Smallest group judged", text.number_of(audit.min_group))
        ),
        "confidence": f"{confidence} %",
    }


def _width(audit: Audit) -> int:
    """The width of a column of model names: 4 to 16 characters, an even number."""
    longest = max(map(len, audit.model_names), default=0)
    return min(max(4, longest + longest % 2), 16)


def facts_of(made: Provenance, confidence: str) -> list[str]:
    """Return the facts below a title: rows, tasks if any, confidence, date."""
    facts = [text.number_of(made.n_rows)]
    if made.n_tasks:
        facts.append(text.number_of(made.n_tasks, "task"))
    return [*facts, f"{confidence} confidence intervals", made.created[:10]]


def _errors(models: Iterable[ModelLine]) -> View:
    return {
        "names": [(name, meaning) for _, name, meaning in words.ERRORS],
        "rows": [
            {
                "model": line.name,
                "cells": [
                    text.cell(getattr(line, f), text.alike) for f, _, _ in words.ERRORS
                ],
            }
            for line in models
        ],
    }


def dots_of(points: Sequence[FrontierPoint]) -> list[Dot]:
    """Return the points of a path; the ends and the chosen point have labels."""
    ends = {0, len(points) - 1}
    return [
        Dot(
            p.auc_gap,
            p.rmse,
            f"ε = {_short(p.epsilon)}" if p.chosen or i in ends else "",
            p.chosen,
        )
        for i, p in enumerate(points)
    ]


def _short(epsilon: float) -> str:
    return text.round_number(float(f"{epsilon:.3g}"))


def _frontier(points: Sequence[FrontierPoint]) -> View | None:
    picture = draw((), dots_of(points))
    if picture is None:
        return None
    labels = Counter(p.label for p in points)
    # All errors have the same decimals.
    values = [v for p in points for v in (p.rmse.value, p.rmse.ci_low, p.rmse.ci_high)]
    errors = iter(text.alike(values))
    rows = [
        {
            "epsilon": _short(p.epsilon),
            # A label that most points share is not shown.
            "label": p.label if 2 * labels[p.label] <= len(points) else "",
            "chosen": p.chosen,
            "rmse": {
                **text.cell(p.rmse),
                "text": next(errors),
                "interval": text.between(next(errors), next(errors)),
            },
            "gap": text.cell(p.auc_gap),
        }
        for p in points
    ]
    return {"picture": picture, "rows": rows}


def _methods(audit: Audit) -> list[tuple[str, list[str]]]:
    """Names of figures that share their methods, and the methods."""
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
    """Return where a page comes from, as names and values; empty ones are not shown."""
    return {
        "facts": [
            ("Rows", text.count(made.n_rows)),
            ("Tasks", text.count(made.n_tasks) if made.n_tasks else "none given"),
            ("Made", made.created),
            ("Seed", "" if made.seed is None else str(made.seed)),
            *more,
            ("Versions", ", ".join(f"{k} {v}" for k, v in made.versions.items())),
        ],
        "fingerprint": made.fingerprint,
        "command": made.command or "",
    }
