"""One sensitive feature on the page: pictures, groups and comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rankfair.report import text, words
from rankfair.report.distributions import panels
from rankfair.report.text import Scale, View

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Comparison, SensitiveFeature

Pairs = dict[tuple[str, str], dict[str, "Comparison"]]  # by groups, then by model


def has_target(audit: Audit) -> bool:
    """Return whether the audit knows a target."""
    return any(line.rmse.estimable for line in audit.models) or any(
        not math.isnan(group.mean_target)
        for feature in audit.sensitive_features
        for group in feature.groups
    )


def section(audit: Audit, feature: SensitiveFeature, number: int) -> View:
    """Return a sensitive feature: its groups, their pictures, and every comparison.

    Of many tables only three are open, and only 24 with the largest gaps are shown.
    """
    pairs: Pairs = {}
    for found in audit.comparisons:
        if found.sensitive_feature == feature.name:
            by_model = pairs.setdefault((found.group, found.against), {})
            by_model[found.model] = found
    x, marks = text.axis(
        v
        for by_model in pairs.values()
        for c in by_model.values()
        for v in (c.auc.value, c.auc.ci_low, c.auc.ci_high)
    )
    drawn = panels(audit, feature)
    colours = {s.group: s.colour for panel in drawn for s in panel.shapes}
    return {
        "id": f"feature-{number}",
        "name": feature.name,
        "groups": _groups(feature, audit, colours),
        "n_drawn": len(colours),
        "missing": text.count(feature.n_missing) if feature.n_missing else "",
        "constant": feature.constant_in_tasks,
        "note": feature.note,
        "n_open": 3,
        "panels": drawn,
        "axis": marks,
        "half": x(0.5),
        "comparisons": [_comparison(by_model, x) for by_model in pairs.values()],
        "tables": [
            _table(by_model, has_target(audit)) for by_model in _largest_gaps(pairs, 24)
        ],
    }


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


def _largest_gaps(pairs: Pairs, most: int) -> list[dict[str, Comparison]]:
    """The comparisons with the largest gaps of the last model, in their order."""

    def gap(pair: tuple[str, str]) -> float:
        last = list(pairs[pair].values())[-1].gap
        return -1.0 if math.isnan(last) else last

    kept = set(sorted(pairs, key=gap, reverse=True)[:most])
    return [by_model for pair, by_model in pairs.items() if pair in kept]


def _comparison(by_model: dict[str, Comparison], x: Scale) -> View:
    return {
        **_names(by_model),
        "strips": [text.strip(c.auc, x, c.model) for c in by_model.values()],
        "aucs": [text.cell(c.auc) for c in by_model.values()],
    }


def _names(by_model: dict[str, Comparison]) -> View:
    first = next(iter(by_model.values()))
    return {
        "group": first.group,
        "against": first.against,
        "n_group": text.count(first.n_group),
        "n_against": text.count(first.n_against),
        "rows_group": text.number_of(first.n_group),
        "rows_against": text.number_of(first.n_against),
        "models": list(by_model),
    }


def _table(by_model: dict[str, Comparison], target: bool) -> View:
    return {
        **_names(by_model),
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
