"""The page of an audit: its records as sections, each with a template of its own.

A new section is a function in `SECTIONS` that returns views, and the template that each
view names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rankfair.report import text, words
from rankfair.report.distributions import panels
from rankfair.report.gap_sections import (
    bands_sections,
    parts_sections,
    units_sections,
)
from rankfair.report.page import environment, facts_of, fill, origin
from rankfair.report.tasks import forest, pack
from rankfair.report.text import View

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Comparison, SensitiveFeature

Pairs = dict[tuple[str, str], dict[str, "Comparison"]]  # by groups, then by model


def render(audit: Audit, most_bytes: int = 1_000_000) -> str:
    """Return an audit as one HTML page that needs no other file and no network.

    Names are escaped, control characters are spelt out, and the content policy of the
    page allows only its own style and script.

    Parameters
    ----------
    audit : Audit
        The records.
    most_bytes : int, default=1_000_000
        If the page is larger, lines of tasks are left out.

    Returns
    -------
    str
        A whole HTML document.

    Examples
    --------
    >>> from rankfair import audit
    >>> found = audit(None, [3.0, 1.0, 2.0], sensitive_features=["M", "F", "<b>"])
    >>> page = render(found)
    >>> page.count("Content-Security-Policy"), "<b>" in page, "&lt;b&gt;" in page
    (1, False, True)
    """
    values = view(AuditPage(audit))
    page = fill("audit.html.j2", values)
    excess = len(page.encode()) - most_bytes
    if excess <= 0 or not values["task_data"]:
        return page
    left = len(values["task_data"].encode()) - excess
    return fill("audit.html.j2", view(AuditPage(audit, left)))


def render_fragment(audit: Audit) -> str:
    """Return an audit for a notebook: verdict, a small table, and the page folded.

    The table has no style and no script.  The page is in a frame that can reach nothing
    else.

    Parameters
    ----------
    audit : Audit
        The records.

    Returns
    -------
    str
        A part of an HTML document.

    Examples
    --------
    >>> from rankfair import audit
    >>> found = audit(None, [3.0, 1.0], sensitive_features=["M", "F"], title="Pay")
    >>> "<strong" in render_fragment(found)
    True
    """
    shortened = view(AuditPage(audit, most_bytes=60_000))
    page = fill("audit.html.j2", shortened)
    return environment().get_template("fragment.html.j2").render(shortened, page=page)


@dataclass(frozen=True)
class AuditPage:
    """An audit, and what all sections of its page say in the same way.

    The data of single tasks take at most ``most_bytes``.
    """

    audit: Audit
    most_bytes: int = 900_000

    @property
    def confidence(self) -> str:
        """The level of the intervals, in percent."""
        return f"{100 * self.audit.confidence:g}"

    @cached_property
    def has_target(self) -> bool:
        """Whether the audit knows a target."""
        return any(line.rmse.estimable for line in self.audit.models) or any(
            not math.isnan(group.mean_target)
            for feature in self.audit.sensitive_features
            for group in feature.groups
        )

    def pairs(self, feature: SensitiveFeature) -> Pairs:
        """Return the comparisons of a feature, by groups and then by model."""
        found: Pairs = {}
        for each in self.audit.comparisons:
            if each.sensitive_feature == feature.name:
                by_model = found.setdefault((each.group, each.against), {})
                by_model[each.model] = each
        return found


def view(page: AuditPage) -> View:
    """Return everything that ``audit.html.j2`` shows, as text, numbers and lists."""
    audit = page.audit
    longest = max(map(len, audit.model_names), default=0)
    sections = [found for make in SECTIONS for found in make(page)]
    # An audit of one column alone is called by its name.
    alone = len(audit.models) == 1 and not page.has_target
    least = ("Smallest group judged", text.number_of(audit.min_group))
    return {
        "title": audit.title,
        # A percent sign never starts a line.
        "verdict": audit.verdict.replace(" %", "\u00a0%"),
        "facts": facts_of(audit.provenance, f"{page.confidence} %"),
        "models": list(audit.model_names),
        # Of a column of model names, in characters: an even number.
        "names_width": min(max(4, longest + longest % 2), 16),
        "sections": sections,
        "task_data": next((s["json"] for s in sections if "json" in s), ""),
        "has_target": page.has_target,
        "what": audit.model_names[0] if alone else "",
        "provenance": origin(audit.provenance, least),
        "confidence": f"{page.confidence} %",
    }


def _features(page: AuditPage) -> list[View]:
    """Every sensitive feature: its groups, their pictures, and its comparisons."""
    return [
        _feature(page, feature, number)
        for number, feature in enumerate(page.audit.sensitive_features, 1)
    ]


def _feature(page: AuditPage, feature: SensitiveFeature, number: int) -> View:
    pairs = page.pairs(feature).values()
    x, marks = text.axis(
        v
        for by_model in pairs
        for c in by_model.values()
        for v in (c.auc.value, c.auc.ci_low, c.auc.ci_high)
    )
    drawn = panels(page.audit, feature)
    colours = {s.group: s.colour for panel in drawn for s in panel.shapes}
    return {
        "id": f"feature-{number}",
        "name": feature.name,
        "template": "feature.html.j2",
        "groups": _groups(feature, page.audit, colours),
        "n_drawn": len(colours),
        "missing": text.count(feature.n_missing) if feature.n_missing else "",
        "constant": feature.constant_in_tasks,
        "note": feature.note,
        "panels": drawn,
        "axis": marks,
        "half": x(0.5),
        "comparisons": [
            {
                **_names(by_model),
                "strips": [text.strip(c.auc, x, c.model) for c in by_model.values()],
                "aucs": [_auc_cell(c, page.audit) for c in by_model.values()],
            }
            for by_model in pairs
        ],
    }


def _auc_cell(c: Comparison, audit: Audit) -> View:
    """An AUC and, where it may be 1/2, the smallest gap that would have been found."""
    cell = text.cell(c.auc)
    sure = c.auc.p_value is None or c.auc.p_value <= 1.0 - audit.confidence
    if sure or not c.auc.estimable:
        return cell
    found = min(c.auc.detectable(audit.confidence), 0.5)
    note = f"not significant; a gap of {text.decimal(found)} would have been found"
    return cell | {"note": cell["note"] or note}


def _groups(
    feature: SensitiveFeature, audit: Audit, colours: Mapping[str, int]
) -> list[View]:
    """The groups; all means have the same decimals."""
    models = audit.model_names
    found = [g.mean_predicted[m] for g in feature.groups for m in models]
    means = iter(text.alike(found))
    targets = text.alike([group.mean_target for group in feature.groups])
    return [
        {
            "label": group.label,
            "colour": colours.get(group.label),
            "rows": text.count(group.n_rows),
            "target": target,
            "lines": [
                {
                    "model": model,
                    "mean": next(means),
                    "above": text.decimal(group.share_above_median[model]),
                    "ratio": text.decimal(group.impact_ratio[model]),
                }
                for model in models
            ],
        }
        for group, target in zip(feature.groups, targets, strict=True)
    ]


def _names(by_model: dict[str, Comparison]) -> View:
    first = next(iter(by_model.values()))
    return {
        "group": first.group,
        "against": first.against,
        "n_group": text.count(first.n_group),
        "n_against": text.count(first.n_against),
        "models": list(by_model),
    }


def _tasks(page: AuditPage) -> list[View]:
    """Single tasks, if there are any."""
    payload = pack(page.audit, page.most_bytes)
    if payload is None:
        return []
    head = {"id": "tasks", "name": "Tasks", "template": "tasks.html.j2"}
    return [head | forest(payload, page.audit)]


def _figures(page: AuditPage) -> list[View]:
    """All errors, and all figures of the comparisons with the largest gaps."""
    models = page.audit.models if page.has_target else ()
    errors = {
        "names": [(name, meaning) for _, name, meaning in words.ERRORS],
        "rows": [
            {
                "model": line.name,
                "cells": [
                    text.cell(getattr(line, field), text.alike)
                    for field, _, _ in words.ERRORS
                ],
            }
            for line in models
        ],
    }
    features = [
        {
            "name": feature.name,
            "n_comparisons": len(pairs),
            "tables": [_table(c, page.has_target) for c in _largest_gaps(pairs)],
        }
        for feature in page.audit.sensitive_features
        for pairs in (page.pairs(feature),)
    ]
    head = {"id": "figures", "name": "All figures", "template": "figures.html.j2"}
    return [head | {"errors": errors, "features": features}]


def _largest_gaps(pairs: Pairs, most: int = 24) -> list[dict[str, Comparison]]:
    """The comparisons with the largest gaps of the last model, in their order."""

    def gap(pair: tuple[str, str]) -> float:
        last = list(pairs[pair].values())[-1].gap
        return -1.0 if math.isnan(last) else last

    kept = set(sorted(pairs, key=gap, reverse=True)[:most])
    return [by_model for pair, by_model in pairs.items() if pair in kept]


def _table(by_model: dict[str, Comparison], target: bool) -> View:
    first = next(iter(by_model.values()))
    return {
        **_names(by_model),
        "rows_group": text.number_of(first.n_group),
        "rows_against": text.number_of(first.n_against),
        "rows": [
            {
                "name": metric.name,
                "meaning": metric.meaning,
                "parity": metric.parity,
                "cells": [
                    text.cell(getattr(c, metric.field), metric.form)
                    for c in by_model.values()
                ],
            }
            for metric in words.METRICS
            # Without a target there are no residuals.
            if target or metric.field != "balanced_residuals"
        ],
    }


def _method(page: AuditPage) -> list[View]:
    """How to read the figures, and how they were made."""
    audit = page.audit
    ways: dict[str, dict[str, None]] = {}
    for comparison in audit.comparisons:
        for metric in words.METRICS:
            method = getattr(comparison, metric.field).method
            if method:
                ways.setdefault(metric.plain_name, {})[method] = None
    names_of: dict[tuple[str, ...], list[str]] = {}  # figures that share their methods
    for name, methods in ways.items():
        names_of.setdefault(tuple(methods), []).append(name)
    notes = [
        note.format(confidence=page.confidence, min_group=audit.min_group)
        for note in words.NOTES
    ]
    return [
        {
            "id": "method",
            "name": "Method",
            "template": "method.html.j2",
            "notes": notes,
            "methods": [(", ".join(n), list(ways)) for ways, n in names_of.items()],
        }
    ]


def _caveats(page: AuditPage) -> list[View]:
    head = {"id": "caveats", "name": "Caveats", "template": "caveats.html.j2"}
    return [head | {"caveats": words.CAVEATS}]


def _bands(page: AuditPage) -> list[View]:
    return bands_sections(page.audit)


def _units(page: AuditPage) -> list[View]:
    return units_sections(page.audit)


def _parts(page: AuditPage) -> list[View]:
    return parts_sections(page.audit)


SECTIONS: tuple[Callable[[AuditPage], list[View]], ...] = (
    _bands,
    _units,
    _parts,
    _features,
    _tasks,
    _figures,
    _method,
    _caveats,
)
