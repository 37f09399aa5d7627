"""The picture: error against rank gap, and the fair methods from nearer."""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rankfair._looks import BLUE, INK, PALE, RUST, STYLE, plain_axes
from rankfair.experiments.methods import Floats
from rankfair.experiments.records import HELD_OUT, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

__all__ = ["as_bytes", "draw"]

NEAR = 0.05  # a rank gap below it is that of a fair method
Z = 1.96  # standard errors to either side


class Look(NamedTuple):
    """How the marks of a method are drawn, and what that means."""

    marker: str
    colour: str
    fill: str
    words: str


# Told apart by shape as well as by colour.
LOOKS = {
    "no": Look("o", BLUE, BLUE, "predicts without the group"),
    "yes": Look("s", RUST, "white", "needs the group to predict"),
    "-": Look("D", INK, INK, "known to nobody"),
}
PANELS = (
    ("rmse", "RMSE", None),
    ("auc", "AUC", 0.5),
    ("md", "MD", 0.0),
    ("ks", "KS", 0.0),
)
# Where a name may stand: how many points off its mark, and to which side.
REACHES = (9, 14, 20, 28, 38)
SIDES = ((1, 0), (-1, 0), (-1, 1), (-1, -1), (1, 1), (1, -1), (0, 1), (0, -1))
MARK = 10  # points


def draw(summary: Sequence[Summary], paths: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the paths of tilt with all methods, and the fair ones from nearer.

    Parameters
    ----------
    summary : sequence of Summary
        Means of the methods; those of held-out rows are drawn, with 95 % intervals.
    paths : sequence of dict
        Rows of `model.path()`, each with the "seed" of its draw.

    Returns
    -------
    matplotlib.figure.Figure
        Not shown and not saved.

    Examples
    --------
    >>> from rankfair.experiments.records import Mean
    >>> one = Summary("tilt", "no", "held-out", *[Mean(0.5, 0.01)] * 4)
    >>> path = [{"seed": 0, "gap": 0.0, "rmse": 0.8}, {"seed": 0, "gap": 0.3,
    ...     "rmse": 0.6}]
    >>> len(draw([one], path).axes)
    5
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [row for row in summary if row.rows == HELD_OUT]
    fair = [row for row in rows if _gap(row) < NEAR]
    with rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), dpi=150, layout="constrained")
        parts: Any = figure.subfigures(1, 2, width_ratios=(0.8, 1))
        whole, nearer = parts
        strong: Any = {"x": 0.02, "ha": "left", "fontsize": 11, "fontweight": "bold"}
        whole.suptitle("All methods, on held-out rows", **strong)
        nearer.suptitle("The fair ones, from nearer", **strong)
        axes = whole.subplots()
        _paths(axes, paths)
        for row in rows:
            _mark(axes, row, _gap(row), row.rmse.value, row.auc.error, row.rmse.error)
        panels = nearer.subplots(1, len(PANELS), sharey=True)
        _nearer(panels, fair)
        _legend(figure)
        # Names look for room, which is known once everything else has its place.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        _names(axes, rows, fair, paths)
    return figure


def as_bytes(figure: Figure, kind: Literal["png", "svg"]) -> bytes:
    """Return the content of an image file, the same for the same figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to save.
    kind : {"png", "svg"}
        The format.

    Returns
    -------
    bytes
        Without date or name of a program.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> as_bytes(Figure(), "png")[1:4]
    b'PNG'
    """
    from matplotlib import rc_context

    stamp = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[kind]
    content = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(content, format=kind, metadata=stamp, facecolor="white")
    return content.getvalue()


def _gap(row: Summary) -> float:
    return abs(row.auc.value - 0.5)


def _paths(axes: Axes, paths: Sequence[Mapping[str, Any]]) -> None:
    """The path of each draw, pale, and their mean."""
    axes.set_xlabel("rank gap  |AUC − 1/2|")
    axes.set_ylabel("error  (RMSE, standard deviations of y)")
    plain_axes(axes)
    axes.margins(x=0.08, y=0.12)
    for seed in dict.fromkeys(row["seed"] for row in paths):
        own = [row for row in paths if row["seed"] == seed]
        x, y = ([row[name] for row in own] for name in ("gap", "rmse"))
        axes.plot(x, y, color=BLUE, alpha=0.2, linewidth=0.8, zorder=2)
    axes.plot(*_mean_path(paths), color=BLUE, linewidth=2.4, zorder=3)


def _mean_path(paths: Sequence[Mapping[str, Any]]) -> Floats:
    """Gap and error, mean over draws at the same share of each one's path."""
    of: dict[int, list[tuple[float, float]]] = {}
    for row in paths:
        of.setdefault(row["seed"], []).append((row["gap"], row["rmse"]))
    mean: Floats = np.mean([*of.values()], axis=0)
    return mean.T


def _mark(
    axes: Axes, row: Summary, x: float, y: float, wide: float, high: float = 0.0
) -> None:
    """A method at its means, with intervals."""
    look = LOOKS[row.needs_group]
    axes.errorbar(
        x,
        y,
        xerr=Z * wide,
        yerr=Z * high if high else None,
        fmt=look.marker,
        color=look.colour,
        markerfacecolor=look.fill,
        markeredgewidth=1.6,
        markersize=7,
        elinewidth=1.4,
        zorder=4,
    )


def _nearer(panels: Sequence[Axes], fair: Sequence[Summary]) -> None:
    """A panel for each figure, a line for each method."""
    for axes, (name, title, goal) in zip(panels, PANELS, strict=True):
        axes.set_title(title, loc="left", fontsize=10)
        plain_axes(axes)
        axes.locator_params(axis="x", nbins=2)
        axes.tick_params(axis="x", labelsize=9)
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.15)
        if goal is not None:
            axes.axvline(goal, color=PALE, linewidth=1, zorder=1)
        for i, row in enumerate(fair):
            mean = getattr(row, name)
            _mark(axes, row, mean.value, i, mean.error)
    panels[0].set_yticks(range(len(fair)), [row.method for row in fair])
    panels[0].set_ylim(len(fair) - 0.5, -0.5)


def _legend(figure: Figure) -> None:
    """What shapes and colours mean, below."""
    from matplotlib.lines import Line2D

    marks = [
        Line2D(
            [], [], marker=it.marker, color=it.colour, markerfacecolor=it.fill,
            linestyle="none", label=it.words,
        )
        for it in LOOKS.values()
    ]  # fmt: skip
    bar = Line2D([], [], color=PALE, linewidth=1.4, label="95 % over draws")
    curve = Line2D(
        [], [], color=BLUE, linewidth=2.4, label="tilt, all ε, left-out rows"
    )
    figure.legend(
        handles=[curve, *marks, bar],
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=9.5,
    )


def _names(
    axes: Axes,
    rows: Sequence[Summary],
    fair: Sequence[Summary],
    paths: Sequence[Mapping[str, Any]],
) -> None:
    """The name of each method that is not fair, and one for all that are."""
    points = [(_gap(row), row.rmse.value) for row in rows]
    room = _Room(axes, [*points, *_mean_path(paths).T.tolist()])
    for row, at in zip(rows, points, strict=True):
        if row not in fair:
            room.write(row.method, at, LOOKS[row.needs_group].colour)
    if fair:
        at = points[rows.index(fair[0])]
        room.write("fair methods", at, INK)


def _against(way: float, ahead: Any, behind: Any) -> Any:
    """Which edge of a name faces its mark when the name stands that way of it."""
    return ahead if way > 0 else behind if way < 0 else "center"


class _Room:
    """The places of a panel that marks and names already take."""

    def __init__(self, axes: Axes, points: Sequence[Sequence[float]]):
        self.axes = axes
        self.taken = [self._around(x, y) for x, y in axes.transData.transform(points)]

    def _around(self, x: float, y: float) -> Bbox:
        from matplotlib.transforms import Bbox

        size = MARK / 72 * self.axes.get_figure(root=True).dpi  # type: ignore[union-attr]
        return Bbox.from_bounds(x - size / 2, y - size / 2, size, size)

    def write(self, name: str, place: tuple[float, float], colour: str) -> None:
        """Put a name at the nearest place where it touches nothing, or at the last."""
        at: Any = {"xy": place, "textcoords": "offset points"}
        text = self.axes.annotate(name, **at, xytext=(0, 0), color=colour)
        for reach, (right, up) in itertools.product(REACHES, SIDES):
            text.set_horizontalalignment(_against(right, "left", "right"))
            text.set_verticalalignment(_against(up, "bottom", "top"))
            text.xyann = (reach * right, reach * up)
            if self._free(text.get_window_extent()):
                break
        self.taken.append(text.get_window_extent())
        if reach > REACHES[0]:
            line = {"arrowstyle": "-", "color": PALE, "shrinkA": 2, "shrinkB": 6}
            self.axes.annotate("", **at, xytext=text.xyann, arrowprops=line)

    def _free(self, box: Bbox) -> bool:
        panel = self.axes.get_window_extent()
        inside = panel.contains(box.x0, box.y0) and panel.contains(box.x1, box.y1)
        return inside and not any(box.overlaps(other) for other in self.taken)
