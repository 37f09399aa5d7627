"""The page that compares methods: error against rank gap as a picture, and a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rankfair.audit.records import Provenance
from rankfair.input.errors import clipped
from rankfair.paths import Path
from rankfair.report import text
from rankfair.report.explorer import explorer
from rankfair.report.page import about, fill
from rankfair.report.text import Scale, View, alike
from rankfair.report.words import Metric
from rankfair.stats.estimate import Estimate

WIDTH, HEIGHT = 440, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 18, 28, 46
LETTER, LINE = 7.0, 13.0  # width of a letter, height of a line
MARK = 6.0  # half the width of the largest point

Box = tuple[float, float, float, float]  # left, top, right, bottom
MOST_NAMES = 3  # at points; of more methods the points have numbers

COLUMNS = (
    Metric("rmse", "RMSE", "root of the mean squared error", form=alike),
    Metric("auc_gap", "Rank gap", "distance of the rank AUC from 0.5"),
    Metric(
        "mean_difference",
        "Difference of means",
        "mean prediction, one group less the other",
        form=alike,
    ),
    Metric("ks", "KS distance", "largest difference of the shares above any cut-off"),
    Metric(
        "within_task_auc", "AUC within tasks", "the rank AUC among rows of one task"
    ),
)
UNKNOWN = Estimate(math.nan)


@dataclass(frozen=True)
class MethodLine:
    """One method: its error, and the gaps it leaves between the groups.

    ``auc_gap`` is ``|AUC − 1/2|``, ``note`` a caution, and ``groups`` the groups that
    the gaps are between ("M v F").
    """

    method: str
    rmse: Estimate
    auc_gap: Estimate = UNKNOWN
    mean_difference: Estimate = UNKNOWN
    ks: Estimate = UNKNOWN
    chosen: bool = False
    note: str = ""
    groups: str = ""
    within_task_auc: Estimate = UNKNOWN

    @property
    def drawn(self) -> bool:
        """Whether it has a point in the picture."""
        return math.isfinite(self.auc_gap.value + self.rmse.value)


@dataclass(frozen=True)
class MethodTable:
    """Methods on one dataset, side by side.

    Attributes
    ----------
    lines : tuple of MethodLine
        In the order in which they are shown.
    provenance : Provenance
        Where the numbers come from.
    summary : str
        The main result, in one sentence.
    curve : bool
        The lines are one method with several ε: points of a curve.
    title : str
        The title of the page.
    notes : tuple of str
        How the figures were made, in paragraphs.
    """

    lines: tuple[MethodLine, ...]
    provenance: Provenance
    summary: str = ""
    curve: bool = False
    title: str = "Methods compared"
    notes: tuple[str, ...] = ()

    @property
    def of_groups(self) -> str:
        """The groups of all lines; empty if they differ or are not named."""
        named = {line.groups for line in self.lines if line.groups}
        return next(iter(named)) if len(named) == 1 else ""


def render_comparison(
    table: MethodTable, path: Path | None = None, reference: str = "", suppress: int = 5
) -> str:
    """Return methods side by side as one HTML page that needs no other file.

    The lines of a path can be explored on it, where the path has views; the reference
    group has the first colour.  Tasks of fewer than ``suppress`` rows of a group, and
    the next smallest, are not shown.

    Examples
    --------
    >>> from rankfair.audit.records import Provenance
    >>> from rankfair.stats.estimate import Estimate
    >>> one = Estimate(0.1, 0.05, 0.15)
    >>> line = MethodLine("tilt", one, one, one, one)
    >>> page = render_comparison(MethodTable((line,), Provenance(100, 4, "9f2c")))
    >>> "0.0500 to 0.1500" in page
    True
    """
    explored = None if path is None else explorer(path, reference, suppress)
    more = () if explored is None else ("explorer",)
    return fill("methods.html.j2", {**_view(table), "explorer": explored}, *more)


def _view(table: MethodTable) -> View:
    known = [
        column
        for column in COLUMNS
        if not all(
            math.isnan(getattr(line, column.field).value) for line in table.lines
        )
    ]
    return {
        "title": table.title,
        "summary": text.tied(table.summary),
        "picture": draw(table),
        "curve": table.curve,
        "columns": known or COLUMNS,
        "lines": table.lines,
        "numbers": {k: v for k, v in labels(table).items() if v.isdigit()},
        "of_groups": table.of_groups,
        "notes": table.notes,
        **about(table.provenance),
    }


@dataclass(frozen=True)
class Spot:
    """A point on paper: its whiskers (``x1, y1, x2, y2``), and its text."""

    x: float
    y: float
    chosen: bool
    bars: tuple[Box, ...]
    label: str = ""


@dataclass(frozen=True)
class Label:
    """A text and the box that it fills; ``y`` is its baseline."""

    text: str
    x: float
    y: float
    box: Box


@dataclass(frozen=True)
class Picture:
    """Error against rank gap on paper."""

    spots: tuple[Spot, ...]
    labels: tuple[Label, ...]
    curve: str
    band: str
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    width: int = WIDTH
    height: int = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    base: float = HEIGHT - BOTTOM


def draw(table: MethodTable) -> Picture | None:
    """Return error (up) against rank gap (right), or None without a finite point.

    Errors of very different sizes are on a scale of logarithms.  Points of a curve are
    joined, in their order; if all intervals of their errors are known, a band shows
    them instead of whiskers.
    """
    dots = {line: label for line, label in labels(table).items() if line.drawn}
    if not dots:
        return None
    gaps = text.numbers_of(line.auc_gap for line in dots)
    errors = text.numbers_of(line.rmse for line in dots)
    # The axis of gaps starts at 0; the inset leaves room for a number to its left.
    x = Scale(0.0, max(text.covering([0.0, *gaps])[1], 0.01), LEFT + 18, WIDTH - RIGHT)
    y = Scale(*text.covering(errors, 0.1), HEIGHT - BOTTOM, TOP)
    known = [v for v in errors if math.isfinite(v)]
    if 0.0 < 4.0 * min(known) < max(known):
        y = Scale(0.9 * min(known), 1.1 * max(known), y.start, y.end, log=True)
    band = _band([*dots], x, y) if table.curve else ""
    spots = tuple(
        Spot(
            x(line.auc_gap.value),
            y(line.rmse.value),
            line.chosen,
            () if band else _bars(line, x, y),
            label,
        )
        for line, label in dots.items()
    )
    at = [f"{spot.x:g} {spot.y:g}" for spot in spots] if table.curve else []
    return Picture(
        spots,
        tuple(place(spots)),
        "M" + "L".join(at) if len(at) > 1 else "",
        band,
        x.ticks(),
        y.ticks(),
    )


def labels(table: MethodTable) -> dict[MethodLine, str]:
    """Return the text at the point of each line: a name or, of many, a number.

    Of a curve only the ends and the chosen point are named.
    """
    lines = [line for line in table.lines if line.drawn]
    if table.curve:
        named = [line for line in lines if line.chosen] + lines[:1] + lines[-1:]
        return {line: line.method if line in named else "" for line in table.lines}
    if len(lines) <= MOST_NAMES:
        return {line: line.method for line in table.lines}
    return {line: str(i) for i, line in enumerate(lines, 1)}


def _band(path: Sequence[MethodLine], x: Scale, y: Scale) -> str:
    """The upper ends of the errors from left to right, and the lower ones back."""
    across = sorted(path, key=lambda dot: dot.auc_gap.value)
    upper = [(x(dot.auc_gap.value), y(dot.rmse.ci_high)) for dot in across]
    lower = [(x(dot.auc_gap.value), y(dot.rmse.ci_low)) for dot in across]
    around = [*upper, *reversed(lower)]
    if len(path) < 2 or not all(math.isfinite(v) for _, v in around):
        return ""
    return "M" + "L".join(f"{u:g} {v:g}" for u, v in around) + "Z"


def _bars(dot: MethodLine, x: Scale, y: Scale) -> tuple[Box, ...]:
    u, v = x(dot.auc_gap.value), y(dot.rmse.value)
    across = (x.clipped(dot.auc_gap.ci_low), v, x.clipped(dot.auc_gap.ci_high), v)
    upright = (u, y.clipped(dot.rmse.ci_low), u, y.clipped(dot.rmse.ci_high))
    return tuple(bar for bar in (across, upright) if all(map(math.isfinite, bar)))


def place(spots: Sequence[Spot]) -> list[Label]:
    """Return a place for the text of each point, off all points and other texts.

    Examples
    --------
    >>> spot = Spot(50.0, 50.0, False, (), "a")
    >>> one, two = place([spot, spot])
    >>> one.box == two.box
    False
    """
    placed: list[Label] = []
    taken = [(s.x - MARK, s.y - MARK, s.x + MARK, s.y + MARK) for s in spots]
    for spot in spots:
        if not spot.label:
            continue
        name = clipped(spot.label, 34)
        boxes = list(_boxes(spot, LETTER * len(name)))
        free = (it for it in boxes if not any(_overlap(it, other) for other in taken))
        box = next(free, boxes[0])
        taken.append(box)
        placed.append(Label(name, round(box[0], 1), round(box[1] + 11, 1), box))
    return placed


def _boxes(spot: Spot, wide: float) -> Iterator[Box]:
    """Boxes on the paper for the text of a point, the nearest first."""
    right, left = min(spot.x + 10, WIDTH - wide), max(spot.x - 10 - wide, 0.0)
    for away in range(int(HEIGHT / LINE)):
        above, below = spot.y - (away + 1) * LINE, spot.y + 2 + away * LINE
        # To the right above and to the left below a falling curve is not.
        corners = [(right, above), (left, below), (right, below), (left, above)]
        for x, top in corners:
            if 0.0 <= top <= HEIGHT - BOTTOM - LINE:
                yield x, top, x + wide, top + LINE


def _overlap(one: Box, other: Box) -> bool:
    across = one[0] < other[2] and other[0] < one[2]
    return across and one[1] < other[3] and other[1] < one[3]
