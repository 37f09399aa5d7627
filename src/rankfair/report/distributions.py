"""Histograms of the predictions of each group: overlaid, or in rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankfair.input.errors import clipped
from rankfair.report.text import Scale

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Histogram, SensitiveFeature

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 440, 40, 24, 12, 42
HEIGHT, ROW, NAMES, LONGEST = 236, 46, 118, 17
# At most so many groups are overlaid, have different colours, and are in rows.
OVERLAID, COLOURS, MOST_ROWS = 3, 6, 12


@dataclass(frozen=True)
class Shape:
    """The outline of one group: its path, colour (from 1), baseline, top and mean."""

    group: str
    label: str
    colour: int
    path: str
    base: float
    top: float
    mean: float


@dataclass(frozen=True)
class Panel:
    """One picture: the predictions of one model by group."""

    model: str
    height: int
    rows: bool
    shapes: tuple[Shape, ...]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    left: float
    base: float
    log: bool
    right: float = WIDTH - RIGHT
    width: int = WIDTH


def panels(audit: Audit, feature: SensitiveFeature) -> list[Panel]:
    """Return a picture for each model, all on the same scales.

    Up to three groups lie over each other; more are in rows, the twelve largest.
    """
    groups = _largest(feature)
    drawn = {
        (h.model, h.group): h
        for h in audit.histograms
        if h.sensitive_feature == feature.name and h.group in groups
    }
    if not drawn:
        return []
    edges = next(iter(drawn.values())).edges
    rows = len(groups) > OVERLAID
    log = edges[0] > 0.0 and edges[-1] - edges[-2] > 1.5 * (edges[1] - edges[0])
    x = Scale(edges[0], edges[-1], NAMES if rows else LEFT, WIDTH - RIGHT, log)
    most = max(max(h.shares) for h in drawn.values())
    height = TOP + BOTTOM + ROW * len(groups) if rows else HEIGHT
    base = height - BOTTOM
    shares = [] if rows else Scale(0, 100 * most, base, TOP).ticks(4)
    scales = [Scale(0, most, base, TOP)] * len(groups)
    if rows:
        tops = [TOP + ROW * place for place in range(len(groups))]
        scales = [Scale(0, most, top + ROW, top + 8) for top in tops]
    means = {group.label: group.mean_predicted for group in feature.groups}
    return [
        Panel(
            model,
            height,
            rows,
            tuple(
                _shape(drawn[model, group], colour, means[group][model], x, y)
                for (group, colour), y in zip(groups.items(), scales, strict=True)
            ),
            x_ticks=x.ticks(),
            y_ticks=[(place, f"{share} %") for place, share in shares],
            left=x.start,
            base=base,
            log=log,
        )
        for model in audit.model_names
    ]


def _largest(feature: SensitiveFeature) -> dict[str, int]:
    """Groups that are drawn, each with its colour; the reference group is first."""
    by_size = sorted(feature.groups, key=lambda group: -group.n_rows)[:MOST_ROWS]
    kept = {group.label for group in by_size}
    labels = [group.label for group in feature.groups if group.label in kept]
    labels.sort(key=lambda label: label != feature.reference)
    return {label: place % COLOURS + 1 for place, label in enumerate(labels)}


def _shape(histogram: Histogram, colour: int, mean: float, x: Scale, y: Scale) -> Shape:
    """A closed outline of steps: along the baseline at both ends."""
    steps = [f"M{x(histogram.edges[0]):g} {y.start:g}"]
    for share, right in zip(histogram.shares, histogram.edges[1:], strict=True):
        steps.append(f"V{y(share):g}H{x(right):g}")
    path, group = "".join([*steps, f"V{y.start:g}Z"]), histogram.group
    label = clipped(group, LONGEST)
    return Shape(group, label, colour, path, y.start, y.end, x.clipped(mean))
