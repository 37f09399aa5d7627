"""One attribute on the page: pictures, groups and comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rankfair.report import words
from rankfair.report.cells import View, axis, cell, strip
from rankfair.report.distributions import panels
from rankfair.report.scales import Scale
from rankfair.report.text import alike, count, decimal, rows_of

if TYPE_CHECKING:
    from rankfair.audit.records import Attribute, Audit, Comparison

__all__ = ["has_target", "section"]

# With many groups the later tables are folded (and open on paper), and those of the
# smaller gaps left out: a page of hundreds of tables would be read by nobody.
OPEN_TABLES, MOST_TABLES = 3, 24


def has_target(audit: Audit) -> bool:
    """Return whether anything is known of a target besides what is audited."""
    return any(line.rmse.estimable for line in audit.models) or any(
        not math.isnan(group.mean_target)
        for attribute in audit.attributes
        for group in attribute.groups
    )


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
        for v in (c.auc.value, c.auc.ci_low, c.auc.ci_high)
    )
    drawn = panels(audit, attribute)
    colours = {s.group: s.colour for panel in drawn for s in panel.shapes}
    return {
        "id": f"attribute-{number}",
        "name": attribute.name,
        "groups": _groups(attribute, audit, colours),
        "n_drawn": len(colours),
        "missing": count(attribute.n_missing) if attribute.n_missing else "",
        "constant": attribute.constant_in_tasks,
        "note": attribute.note,
        "n_open": OPEN_TABLES,
        "panels": drawn,
        "axis": marks,
        "half": x(0.5),
        "comparisons": [_comparison(by_model, x) for by_model in pairs.values()],
        "tables": [
            _table(by_model, has_target(audit)) for by_model in _largest_gaps(pairs)
        ],
    }


Pairs = dict[tuple[str, str], dict[str, "Comparison"]]


def _pairs(audit: Audit, attribute: Attribute) -> Pairs:
    """Comparisons of an attribute by their groups, then by model."""
    pairs: Pairs = {}
    for found in audit.comparisons:
        if found.attribute == attribute.name:
            by_model = pairs.setdefault((found.group, found.against), {})
            by_model[found.model] = found
    return pairs


def _groups(
    attribute: Attribute, audit: Audit, colours: Mapping[str, int]
) -> list[View]:
    """The groups; means are written alike, so that they can be compared."""
    models = [model.name for model in audit.models]
    means = iter(alike([g.mean_predicted[m] for g in attribute.groups for m in models]))
    targets = alike([group.mean_target for group in attribute.groups])
    return [
        {
            "label": group.label,
            "colour": colours.get(group.label),
            "rows": count(group.n_rows),
            "target": target,
            "lines": [
                {
                    "model": model,
                    "mean": next(means),
                    "above": decimal(group.share_above_median[model]),
                    "ratio": decimal(group.impact_ratio[model]),
                }
                for model in models
            ],
        }
        for group, target in zip(attribute.groups, targets, strict=True)
    ]


def _largest_gaps(pairs: Pairs) -> list[dict[str, Comparison]]:
    """The comparisons with the largest gaps of the last model, in their order."""

    def gap(pair: tuple[str, str]) -> float:
        last = list(pairs[pair].values())[-1].gap
        return -1.0 if math.isnan(last) else last

    kept = set(sorted(pairs, key=gap, reverse=True)[:MOST_TABLES])
    return [by_model for pair, by_model in pairs.items() if pair in kept]


def _comparison(by_model: dict[str, Comparison], x: Scale) -> View:
    return {
        **_names(by_model),
        "strips": [strip(c.auc, x, c.model) for c in by_model.values()],
        "aucs": [cell(c.auc) for c in by_model.values()],
    }


def _names(by_model: dict[str, Comparison]) -> View:
    first = next(iter(by_model.values()))
    return {
        "group": first.group,
        "against": first.against,
        "n_group": count(first.n_group),
        "n_against": count(first.n_against),
        "rows_group": rows_of(first.n_group),
        "rows_against": rows_of(first.n_against),
        "models": list(by_model),
    }


def _table(by_model: dict[str, Comparison], target: bool) -> View:
    return {
        **_names(by_model),
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
            # Without a target there are no residuals to speak of.
            if target or metric.field != "balanced_residuals"
        ],
    }
