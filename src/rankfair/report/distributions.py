"""Histograms of the predictions of each group: overlaid, or in rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    left = NAMES if len(groups) > OVERLAID else LEFT
    log = edges[0] > 0.0 and edges[-1] - edges[-2] > 1.5 * (edges[1] - edges[0])
    x = Scale(edges[0], edges[-1], left, WIDTH - RIGHT, log)
    most = max(max(h.shares) for h in drawn.values())
    return [
        _panel(model, feature, groups, drawn, x, most) for model in audit.model_names
    ]


def _panel(
    model: str,
    feature: SensitiveFeature,
    groups: Mapping[str, int],
    drawn: Mapping[tuple[str, str], Histogram],
    x: Scale,
    most: float,
) -> Panel:
    rows = len(groups) > OVERLAID
    height = TOP + BOTTOM + ROW * len(groups) if rows else HEIGHT
    shapes = []
    means = {group.label: group.mean_predicted[model] for group in feature.groups}
    for place, (group, colour) in enumerate(groups.items()):
        base = TOP + ROW * (place + 1) if rows else height - BOTTOM
        y = Scale(0, most, base, base - (ROW - 8) if rows else TOP)
        path, label = _outline(drawn[model, group], x, y), clipped(group, LONGEST)
        mean = x.clipped(means[group])
        shapes.append(Shape(group, label, colour, path, base, y.end, mean))
    y = Scale(0, 100 * most, height - BOTTOM, TOP)
    return Panel(
        model,
        height,
        rows,
        tuple(shapes),
        x.ticks(),
        [] if rows else [(place, f"{share} %") for place, share in y.ticks(4)],
        left=x.start,
        base=height - BOTTOM,
        log=x.log,
    )


def _largest(feature: SensitiveFeature) -> dict[str, int]:
    """Groups that are drawn, each with its colour; the reference group is first."""
    by_size = sorted(feature.groups, key=lambda group: -group.n_rows)[:MOST_ROWS]
    kept = {group.label for group in by_size}
    labels = [group.label for group in feature.groups if group.label in kept]
    labels.sort(key=lambda label: label != feature.reference)
    return {label: place % COLOURS + 1 for place, label in enumerate(labels)}


def _outline(histogram: Histogram, x: Scale, y: Scale) -> str:
    """A closed outline of steps: along the baseline at both ends."""
    edges: Sequence[float] = histogram.edges
    steps = [f"M{x(edges[0]):g} {y.start:g}"]
    for share, right in zip(histogram.shares, edges[1:], strict=True):
        steps.append(f"V{y(share):g}H{x(right):g}")
    return "".join([*steps, f"V{y.start:g}Z"])
