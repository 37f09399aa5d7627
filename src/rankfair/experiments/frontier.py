"""The picture: error against rank gap, a path as a curve, other methods as marks."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from rankfair._looks import BLUE, GREEN, INK, PALE, PURPLE, RUST, STYLE, plain_axes
from rankfair.experiments.records import HELD_OUT, TRAIN, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

__all__ = ["as_bytes", "draw"]

TITLES = {TRAIN: "Training rows", HELD_OUT: "Held-out rows"}
LOOKS = (("o", INK), ("s", RUST), ("D", GREEN), ("^", PURPLE))
# Where a name may stand: how many points off its mark, and to which side.
REACHES = (9, 14, 20, 28, 38)
SIDES = ((1, 0), (1, 1), (-1, -1), (-1, 0), (1, 2.4), (0, 1), (0, -1), (0.4, -2.4))
MARK = 10  # points


def draw(dots: Sequence[Record], curve: Sequence[Record]) -> Figure:
    """Draw RMSE against ``|AUC − 1/2|``, a panel for training and for held-out rows.

    Parameters
    ----------
    dots : sequence of dict
        Records of methods that are one point each.
    curve : sequence of dict
        Records of one method along its values of ε, in order.

    Returns
    -------
    matplotlib.figure.Figure
        Not shown and not saved.

    Examples
    --------
    >>> from rankfair.experiments.records import Record
    >>> one = Record(
    ...     method="tilt", rows="train", epsilon=0.0, rmse=0.75, auc=0.5, gap=0.0,
    ...     md=0.1, br=1.2, irr=1.0, ks=0.1, seconds=0.1, note="",
    ... )
    >>> len(draw([], [one, {**one, "rows": "held-out"}]).axes)
    2
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.2), dpi=150, layout="constrained")
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        chosen = [(_of(kind, dots), _of(kind, curve)) for kind in TITLES]
        for axes, title, rows in zip(panels, TITLES.values(), chosen, strict=True):
            _frame(axes, title)
            _marks(axes, *rows)
        panels[0].set_ylabel("error  (RMSE, standard deviations of y)")
        # Names look for room, which is known once everything else has its place.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axes, rows in zip(panels, chosen, strict=True):
            _names(axes, *rows)
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


def _of(kind: str, records: Sequence[Record]) -> list[Record]:
    return [row for row in records if row["rows"] == kind]


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel("rank gap  |AUC − 1/2|")
    plain_axes(axes)
    axes.margins(x=0.05, y=0.18)


def _marks(axes: Axes, dots: Sequence[Record], curve: Sequence[Record]) -> None:
    """The path from ε = 0 on, and open marks, so that one does not hide another."""
    x, y = [row["gap"] for row in curve], [row["rmse"] for row in curve]
    axes.plot(x, y, "-o", color=BLUE, linewidth=2.2, markersize=4, zorder=3)
    for row, (marker, colour) in zip(dots, itertools.cycle(LOOKS), strict=False):
        axes.plot(
            row["gap"],
            row["rmse"],
            marker,
            color=colour,
            markerfacecolor="none",
            markeredgewidth=2,
            markersize=9,
            zorder=4,
        )


def _names(axes: Axes, dots: Sequence[Record], curve: Sequence[Record]) -> None:
    """Each name beside its mark; the curve has its name beside its middle."""
    room = _Room(axes, [*dots, *curve])
    for row, (_, colour) in zip(dots, itertools.cycle(LOOKS), strict=False):
        room.write(row["method"], row, colour)
    middle = curve[len(curve) // 2]
    name = f"{middle['method']}, ε from 0 to {curve[-1]['epsilon']:.2f}"
    room.write(name, middle, BLUE, fontweight="bold")


def _against(way: float, ahead: Any, behind: Any) -> Any:
    """Which edge of a name faces its mark when the name stands that way of it."""
    return ahead if way > 0 else behind if way < 0 else "center"


class _Room:
    """The places of a panel that marks and names already take."""

    def __init__(self, axes: Axes, rows: Sequence[Record]):
        self.axes = axes
        points = [(row["gap"], row["rmse"]) for row in rows]
        self.taken = [self._around(x, y) for x, y in axes.transData.transform(points)]

    def _around(self, x: float, y: float) -> Bbox:
        from matplotlib.transforms import Bbox

        size = MARK / 72 * self.axes.figure.dpi
        return Bbox.from_bounds(x - size / 2, y - size / 2, size, size)

    def write(self, name: str, row: Record, colour: str, **style: Any) -> None:
        """Put a name at the nearest place where it touches nothing, or at the last."""
        at: Any = {"xy": (row["gap"], row["rmse"]), "textcoords": "offset points"}
        text = self.axes.annotate(name, **at, xytext=(0, 0), color=colour, **style)
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
