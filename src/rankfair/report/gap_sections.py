"""Sections on gaps in units of the target: their size, parts, price, and pay bands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rankfair.report import text
from rankfair.report.text import STRIP, Scale, View, percent, round_number

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, GapParts, PayBands, RemedyCost, UnitsGap
    from rankfair.stats.estimate import Estimate

ARTICLE_10 = 0.05  # from here on employers must explain a gap, or assess pay jointly
QUARTERS = ("Lowest quarter", "Second quarter", "Third quarter", "Highest quarter")


def units_sections(audit: Audit) -> list[View]:
    """Return a section for each thing measured and each pair: its gap, also by task."""
    by_pair: dict[tuple[str, ...], list[UnitsGap]] = {}
    for gap in audit.units:
        by_pair.setdefault((gap.of, *gap.pair), []).append(gap)
    several = len(by_pair) > 1
    return [
        _units_section(gaps, audit, number, several)
        for number, gaps in enumerate(by_pair.values(), 1)
    ]


def _units_section(
    gaps: list[UnitsGap], audit: Audit, number: int, several: bool
) -> View:
    """The gap over all rows, then that of each task, the largest first."""
    whole, *tasks = gaps
    relative = not math.isnan(whole.mean_gap_share.value)
    form = percent if relative else text.alike

    def mean(gap: UnitsGap) -> Estimate:
        return gap.mean_gap_share if relative else gap.mean_gap

    gaps = [whole, *sorted(tasks, key=lambda gap: -abs(mean(gap).value))]
    law = [-ARTICLE_10, ARTICLE_10] if relative and audit.layout != "audit" else []
    x, ticks = _axis([mean(gap) for gap in gaps], relative, law)
    units = text.alike([gap.mean_gap.value for gap in gaps])
    levels = ("mean_group", "mean_against", "median_group", "median_against")
    amounts = iter(text.alike([getattr(gap, name) for gap in gaps for name in levels]))
    medians = [g.median_gap_share if relative else g.median_gap for g in gaps]
    return text.section(
        "gap",
        f"Gap in {whole.of}" + (f": {whole.group}" if several else ""),
        number,
        of=whole.of,
        group=whole.group,
        against=whole.against,
        relative=relative,
        axis=ticks,
        zero=x(0.0),
        law=[x(line) for line in law],
        lines=[
            {
                "gap": gap,
                "strip": text.strip(mean(gap), x, gap.task or "all rows", form),
                "mean": text.cell(mean(gap), form, audit.confidence) | {"p": ""},
                "median": form([median.value])[0],
                "units": unit,
                "levels": [next(amounts) for _ in levels],
            }
            for gap, median, unit in zip(gaps, medians, units, strict=True)
        ],
    )


def _axis(
    estimates: list[Estimate], relative: bool = False, law: Iterable[float] = ()
) -> tuple[Scale, list[tuple[float, str]]]:
    """The scale of strips that hold all estimates and 0, and its ticks."""
    low, high = text.covering([0.0, *law, *text.numbers_of(estimates)], 0.02)
    if not relative:
        return text.axis(low, high)
    return text.axis(low, high, lambda v: f"{round_number(round(100 * v, 9))}\u00a0%")


def in_short(audit: Audit) -> str:
    """Say what controls leave of the verdict's gap, and what closing it costs."""
    worst = audit.worst()

    def elsewhere(gap: GapParts | RemedyCost) -> tuple[bool, bool]:
        """Whether other groups than those of the verdict are compared."""
        pair = gap.pair if worst is None else worst.pair
        return gap.pair != pair, gap.group not in pair

    said = []
    for parts in sorted(audit.parts, key=elsewhere)[:1]:
        gap, share = abs(parts.unexplained.value), abs(parts.share(parts.unexplained))
        size = f"{percent([share])[0]} ({text.alike([gap])[0]})"
        side = "below" if parts.unexplained.value < 0.0 else "above"
        sure = parts.unexplained.significant(audit.confidence)
        chance = "" if sure else ", which may be chance"
        whose = f"{parts.group} is {size} {side} {parts.against}{chance}."
        said.append(f"With the same {', '.join(parts.controls)}, {whose}")
    for remedy in sorted(audit.remedies, key=elsewhere)[:1]:
        total, part = text.alike([remedy.total])[0], percent([remedy.share], 2)[0]
        to = f" to {percent([remedy.close_to])[0]}" if remedy.close_to else ""
        who = text.number_of(remedy.n_raised, audit.unit)
        cost = f"{total}, {part} of all {remedy.of}"
        said.append(
            f"Closing it{to} takes raises for {who} in group {remedy.raised}: {cost}."
        )
    return " ".join(said)


def parts_sections(audit: Audit) -> list[View]:
    """Return what controls explain, and what closing a gap costs."""
    both: tuple[GapParts | RemedyCost, ...] = (*audit.parts, *audit.remedies)
    names = dict.fromkeys((record.of, *record.pair) for record in both)
    found = []
    for number, key in enumerate(names, 1):
        parts = [_parts_view(p, audit) for p in audit.parts if (p.of, *p.pair) == key]
        of, _, group, against = key
        title = "Explained and unexplained" if parts else "Closing the gap"
        found.append(
            text.section(
                "parts",
                title + (f": {group}" if len(names) > 1 else ""),
                number,
                of=of,
                group=group,
                against=against,
                unit=audit.unit,
                parts=parts[0] if parts else None,
                remedies=[r for r in audit.remedies if (r.of, *r.pair) == key],
            )
        )
    return found


def _parts_view(parts: GapParts, audit: Audit) -> View:
    rows = [
        ("The whole gap", "gap", parts.gap),
        ("Explained by the controls", "explained", parts.explained),
        *((name, "single", e) for name, e in parts.by_control.items()),
        ("Unexplained", "unexplained", parts.unexplained),
    ]
    x, ticks = _axis([e for _, _, e in rows])
    sizes = [e.value for _, _, e in rows]

    def amounts(values: Sequence[float]) -> list[str]:
        return text.alike([*values, *sizes])[: len(values)]

    shares = [parts.share(e) for _, _, e in rows]
    return {
        "axis": ticks,
        "zero": x(0.0),
        "dropped": ", ".join(parts.dropped),
        "rows": [
            {
                "name": name,
                "kind": kind,
                "bar": _bar(e, x),
                "strip": text.strip(e, x, name, amounts),
                "cell": text.cell(e, amounts, audit.confidence) | {"p": ""},
                "share": "" if math.isnan(share) else percent([share])[0],
            }
            for (name, kind, e), share in zip(rows, shares, strict=True)
        ],
        "of": parts,
    }


def _bar(e: Estimate, x: Scale) -> View:
    """The bar from 0 to a number."""
    low, high = sorted((x(0.0), x(e.value)))
    return {"x": low, "width": round(high - low, 2)}


def bands_sections(audit: Audit) -> list[View]:
    """Return the figures of Article 9 that are not in other sections."""
    return [_bands_section(bands, audit, i) for i, bands in enumerate(audit.bands, 1)]


def _bands_section(bands: PayBands, audit: Audit, number: int) -> View:
    name = bands.sensitive_feature
    (feature,) = (f for f in audit.sensitive_features if f.name == name)
    order = sorted(
        (g.label for g in feature.groups), key=lambda label: label != feature.reference
    )
    ends = iter(text.alike([v for band in bands.bands for v in (band.low, band.high)]))
    return text.section(
        "bands",
        "Pay transparency" if number == 1 else name,
        number,
        bands=bands,
        labels=order,
        gaps=[g for g in audit.units if g.sensitive_feature == name and g.task is None],
        rows=[
            (quarter, next(ends), next(ends), band, _shares(band.shares, order))
            for quarter, band in zip(QUARTERS, bands.bands, strict=False)
        ],
    )


def _shares(shares: dict[str, float], order: list[str]) -> list[View]:
    """Bars side by side, one a group, which fill a strip."""
    width, start, found = STRIP[0], 0.0, []
    for place, label in enumerate(order):
        size = shares[label] * width
        box = {"x": round(start, 2), "width": round(size, 2)}
        found.append({**box, "colour": place % 6 + 1})
        start += size
    return found
