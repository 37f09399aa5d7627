"""Sections on gaps in units of the target: their size, parts, price, and pay bands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankfair.report import text
from rankfair.report.text import DASH, STRIP, Scale, View

if TYPE_CHECKING:
    from rankfair.audit.records import (
        Audit,
        GapParts,
        PayBands,
        RemedyCost,
        UnitsGap,
    )
    from rankfair.stats.estimate import Estimate

BAR = (5, 11)  # top and height of a bar in a strip
ARTICLE_10 = 0.05  # from here on employers must explain a gap, or assess pay jointly


def percent(values: Iterable[float]) -> list[str]:
    r"""Return shares in percent.

    Examples
    --------
    >>> percent([-0.1224, 0.0001, float("nan")])
    ['−12.2\xa0%', '0.0\xa0%', '–']
    """
    found = (text.decimal(100.0 * value, 1) for value in values)
    return [each if each == DASH else f"{each}\u00a0%" for each in found]


def units_sections(audit: Audit) -> list[View]:
    """Return a section for each thing measured and each pair: its gap, also by task."""
    by_pair: dict[tuple[str, ...], list[UnitsGap]] = {}
    for gap in audit.units:
        key = gap.of, gap.sensitive_feature, gap.group, gap.against
        by_pair.setdefault(key, []).append(gap)
    several = len(by_pair) > 1
    return [
        {
            "id": f"gap-{number}",
            "name": f"Gap in {key[0]}" + (f": {key[2]}" if several else ""),
            "template": "gap.html.j2",
            **_units_view(gaps, audit),
        }
        for number, (key, gaps) in enumerate(by_pair.items(), 1)
    ]


def _units_view(gaps: list[UnitsGap], audit: Audit) -> View:
    whole, *tasks = gaps
    relative = not math.isnan(whole.mean_gap_share.value)
    tasks.sort(key=lambda gap: -abs(_mean(gap, relative).value))
    gaps = [whole, *tasks]
    estimates = [_mean(gap, relative) for gap in gaps]
    x, ticks = _axis(estimates, relative, law=audit.layout != "audit")
    level = 1.0 - audit.confidence
    lines = []
    for gap in gaps:
        mean = _mean(gap, relative)
        sure = mean.p_value is not None and mean.p_value <= level
        form = percent if relative else text.alike
        lines.append(
            {
                "task": gap.task,
                "sizes": f"{text.count(gap.n_group)} v {text.count(gap.n_against)}",
                "strip": text.strip(mean, x, gap.task or "all rows", form),
                "mean": text.cell(mean, form) | {"p": ""},
                "units": text.alike([gap.mean_gap.value])[0],
                "median": form([_median(gap, relative).value])[0],
                "detectable": "" if sure else _detectable(gap, relative),
            }
        )
    levels = text.alike([v for gap in gaps for v in _levels(gap)])
    return {
        "of": whole.of,
        "group": whole.group,
        "against": whole.against,
        "relative": relative,
        "axis": ticks,
        "zero": x(0.0),
        "law": _law(x, relative) if audit.layout != "audit" else [],
        "lines": lines,
        "levels": [
            {"task": gap.task, "cells": levels[4 * i : 4 * i + 4]}
            for i, gap in enumerate(gaps)
        ],
    }


def _levels(gap: UnitsGap) -> tuple[float, float, float, float]:
    return gap.mean_group, gap.mean_against, gap.median_group, gap.median_against


def _mean(gap: UnitsGap, relative: bool) -> Estimate:
    return gap.mean_gap_share if relative else gap.mean_gap


def _median(gap: UnitsGap, relative: bool) -> Estimate:
    return gap.median_gap_share if relative else gap.median_gap


def _detectable(gap: UnitsGap, relative: bool) -> str:
    """The smallest gap that would have been found."""
    if math.isnan(gap.detectable):
        return ""
    if not relative:
        return text.alike([gap.detectable])[0]
    return percent([gap.detectable / gap.mean_against])[0]


def _axis(
    estimates: list[Estimate], relative: bool, law: bool
) -> tuple[Scale, list[tuple[float, str]]]:
    """The scale of strips that hold all estimates and 0, and its ticks."""
    width, _, room = STRIP
    ends = [v for e in estimates for v in (e.value, e.ci_low, e.ci_high)]
    lines = [-ARTICLE_10, ARTICLE_10] if law and relative else []
    x = Scale(*text.covering([0.0, *lines, *ends], 0.02), room, width - room)
    times, sign = (100.0, "\u00a0%") if relative else (1.0, "")
    marks = text.ticks(x.low, x.high, 4)
    return x, [(x(v), f"{text.round_number(round(times * v, 9))}{sign}") for v in marks]


def _law(x: Scale, relative: bool) -> list[float]:
    """Places of the lines of Article 10, at 5 % on both sides."""
    return [x(-ARTICLE_10), x(ARTICLE_10)] if relative else []


def parts_sections(audit: Audit) -> list[View]:
    """Return what controls explain, and what closing a gap costs."""
    names = dict.fromkeys([*map(_key, audit.parts), *map(_key, audit.remedies)])
    found = []
    for number, key in enumerate(names, 1):
        parts = [p for p in audit.parts if _key(p) == key]
        remedies = [r for r in audit.remedies if _key(r) == key]
        title = "Explained and unexplained" if parts else "Closing the gap"
        found.append(
            {
                "id": f"parts-{number}",
                "name": title + (f": {key[2]}" if len(names) > 1 else ""),
                "template": "parts.html.j2",
                "of": key[0],
                "group": key[2],
                "against": key[3],
                "unit": audit.unit,
                "parts": _parts_view(parts[0], audit) if parts else None,
                "remedies": [_remedy_view(r) for r in remedies],
            }
        )
    return found


def _key(record: GapParts | RemedyCost) -> tuple[str, str, str, str]:
    return record.of, record.sensitive_feature, record.group, record.against


def _parts_view(parts: GapParts, audit: Audit) -> View:
    rows = [
        ("The whole gap", "gap", parts.gap),
        ("Explained by the controls", "explained", parts.explained),
        *((name, "single", e) for name, e in parts.by_control.items()),
        ("Unexplained", "unexplained", parts.unexplained),
    ]
    x, ticks = _axis([e for _, _, e in rows], relative=False, law=False)
    sizes = text.alike([e.value for _, _, e in rows])
    sure = parts.unexplained.p_value is not None and (
        parts.unexplained.p_value <= 1.0 - audit.confidence
    )
    mean = parts.unexplained.value / parts.unexplained_share.value
    return {
        "axis": ticks,
        "zero": x(0.0),
        "dropped": ", ".join(parts.dropped),
        "rows": [
            {
                "name": name,
                "kind": kind,
                "bars": _bars(parts, kind, e, x),
                "strip": text.strip(e, x, name, text.alike),
                "cell": text.cell(e, text.alike) | {"text": size, "p": ""},
                "share": percent([e.value / mean])[0] if mean == mean else "",
            }
            for (name, kind, e), size in zip(rows, sizes, strict=True)
        ],
        "figures": [
            (name, meaning, text.cell(e, form))
            for name, meaning, e, form in _figures(parts)
        ],
        "unexplained": text.cell(parts.unexplained, text.alike),
        "detectable": "" if sure else text.alike([parts.detectable])[0],
    }


def _bars(parts: GapParts, kind: str, e: Estimate, x: Scale) -> list[View]:
    """The bar of a row; that of the whole gap is split into its two parts."""
    if kind != "gap":
        return [_bar(0.0, e.value, x, kind, 0, 1)]
    explained, gap = parts.explained.value, parts.gap.value
    if explained * parts.unexplained.value >= 0.0:
        return [
            _bar(0.0, explained, x, "explained", 0, 1),
            _bar(explained, gap, x, "unexplained", 0, 1),
        ]
    # They go in opposite directions: one below the other.
    return [
        _bar(0.0, explained, x, "explained", 0, 2),
        _bar(explained, gap, x, "unexplained", 1, 2),
    ]


def _bar(start: float, end: float, x: Scale, kind: str, place: int, n: int) -> View:
    low, high = sorted((x(start), x(end)))
    top, height = BAR
    return {
        "x": low,
        "width": round(high - low, 2),
        "y": top + place * height / n,
        "height": height / n,
        "kind": kind,
    }


def _figures(parts: GapParts) -> list[tuple[str, str, Estimate, text.Form]]:
    return [
        (
            "Unexplained, in percent",
            "Of the mean of {against}.",
            parts.unexplained_share,
            percent,
        ),
        (
            "Unexplained, in percent, by logarithms",
            "The same of a regression of logarithms, where a percent is a percent at "
            "every level (Kennedy's estimate).",
            parts.unexplained_log,
            percent,
        ),
        (
            "Rank AUC of what the controls leave",
            "Of all pairs, the share in which {group} is higher after the controls are "
            "taken into account; 0.5 is parity.",
            parts.residual_auc,
            text.decimals,
        ),
        (
            "Rank AUC among rows that are alike",
            "The same within five strata of the chance to be in {group}, by the "
            "controls.",
            parts.stratified_auc,
            text.decimals,
        ),
    ]


def _remedy_view(remedy: RemedyCost) -> View:
    totals = text.alike([remedy.total, *(t.total for t in remedy.by_task)])
    tasks = [
        {"task": t.task, "n": text.count(t.n_raised), "total": total}
        for t, total in zip(remedy.by_task, totals[1:], strict=True)
    ]
    return {
        "close_to": percent([remedy.close_to])[0],
        "left": percent([abs(remedy.left)])[0],
        "n": text.count(remedy.n_raised),
        "total": totals[0],
        "share": f"{100.0 * remedy.share:.2f}\u00a0%",
        "largest": text.alike([remedy.largest])[0],
        "tasks": tasks,
        "reached": abs(remedy.left) <= remedy.close_to + 1e-9,
    }


def bands_sections(audit: Audit) -> list[View]:
    """Return the figures of Article 9 that are not in other sections."""
    return [
        {
            "id": f"bands-{number}",
            "name": "Pay transparency" if number == 1 else bands.sensitive_feature,
            "template": "bands.html.j2",
            **_bands_view(bands, audit),
        }
        for number, bands in enumerate(audit.bands, 1)
    ]


def _bands_view(bands: PayBands, audit: Audit) -> View:
    feature = next(
        f for f in audit.sensitive_features if f.name == bands.sensitive_feature
    )
    order = sorted(
        (g.label for g in feature.groups), key=lambda g: g != feature.reference
    )
    whole = [
        gap
        for gap in audit.units
        if gap.of == bands.of
        and gap.sensitive_feature == bands.sensitive_feature
        and gap.task is None
    ]
    ends = iter(text.alike([v for band in bands.bands for v in (band.low, band.high)]))
    names = ("Lowest quarter", "Second quarter", "Third quarter", "Highest quarter")
    return {
        "feature": bands.sensitive_feature,
        "of": bands.of,
        "labels": order,
        "gaps": [(bands.of, gap.group, gap.against, *_cells(gap)) for gap in whole]
        + [
            ("complementary pay", gap.group, gap.against, *_cells(gap))
            for gap in bands.complementary
        ],
        "receiving": [
            (label, percent([bands.receiving[label]])[0])
            for label in order
            if label in bands.receiving
        ],
        "bands": [
            {
                "name": name,
                "range": f"{next(ends)} to {next(ends)}",
                "rows": text.count(band.n_rows),
                "bars": _shares(band.shares, order),
                "shares": [percent([band.shares[label]])[0] for label in order],
            }
            for name, band in zip(names, bands.bands, strict=False)
        ],
    }


def _cells(gap: UnitsGap) -> tuple[View, View]:
    return (
        text.cell(gap.mean_gap_share, percent),
        text.cell(gap.median_gap_share, percent),
    )


def _shares(shares: dict[str, float], order: list[str]) -> list[View]:
    """Bars side by side, one a group, which fill a strip."""
    width, start, found = STRIP[0], 0.0, []
    for place, label in enumerate(order):
        size = shares[label] * width
        found.append(
            {"x": round(start, 2), "width": round(size, 2), "colour": place % 6 + 1}
        )
        start += size
    return found
