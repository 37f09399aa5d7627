"""One attribute on the page: pictures, groups and comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rankfair.report import words
from rankfair.report.cells import View, axis, cell, strip
from rankfair.report.distributions import panels
from rankfair.report.scales import Scale
from rankfair.report.text import amount, count, decimal

if TYPE_CHECKING:
    from rankfair.audit.records import Attribute, Audit, Comparison, Group, ModelLine

__all__ = ["section"]

# With many groups the later tables are folded, and open on paper.
OPEN_TABLES = 3


def section(audit: Audit, attribute: Attribute, number: int) -> View:
    """Return an attribute: its groups, their pictures, and every comparison.

    Parameters
    ----------
    audit : Audit
        What was measured.
    attribute : Attribute
        One of it.
    number : int
        Its place, from 1.

    Returns
    -------
    dict
        What the template shows of it.
    """
    pairs = _pairs(audit, attribute)
    x, marks = axis(
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


def _group(group: Group, audit: Audit, colour: int | None) -> View:
    return {
        "label": group.label,
        "colour": colour,
        "rows": count(group.n_rows),
        "target": amount(group.mean_target),
        "lines": [
            {
                "model": model.name,
                "mean": _of(group.mean_predicted, model, amount),
                "above": _of(group.share_above_median, model, decimal),
                "ratio": _of(group.impact_ratio, model, decimal),
            }
            for model in audit.models
        ],
    }


def _of(
    values: Mapping[str, float], model: ModelLine, form: Callable[[float], str]
) -> str:
    return form(values.get(model.name, math.nan))


def _comparison(by_model: dict[str, Comparison], x: Scale, place: int) -> View:
    first = next(iter(by_model.values()))
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
            for metric in words.METRICS
        ],
    }
