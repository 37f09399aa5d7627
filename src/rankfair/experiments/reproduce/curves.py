"""Curves: the error along ε, and the steps of the published algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankfair.experiments.records import HELD_OUT, TRAIN
from rankfair.experiments.reproduce.canvas import (
    frame,
    legend_below,
    new_figure,
    short,
)
from rankfair.experiments.reproduce.settings import DATASETS, SYNTHETIC
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import title_of
from rankfair.report.pictures import BLUE, GREEN, INK, PALE, PURPLE, RUST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_epsilon", "draw_steps"]

LOOKS = ((BLUE, "o"), (RUST, "s"), (GREEN, "^"), (PURPLE, "D"))
ROWS = {TRAIN: ("training rows", "-"), HELD_OUT: ("held-out rows", "--")}
COLUMNS = 4


def draw_epsilon(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw the error along ε: synthetic data in one panel, others in one each.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        Datasets, all synthetic or none.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> len(draw_epsilon(Summary([]), ["wine", "crime"]).axes)
    2
    """
    together = data[0] in SYNTHETIC
    size = (6.8, 4.2) if together else (2.7 * len(data) + 0.4, 3.2)
    figure, panels = new_figure(1, 1 if together else len(data), size)
    for place, name in enumerate(data):
        axes = panels[0 if together else place]
        frame(axes, "Synthetic data" if together else title_of(name))
        _draw_path(axes, summary, name)
    for axes in panels:
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
        axes.set_xlabel("ε")
    panels[0].set_ylabel("RMSE (standard deviations of y)")
    if together:
        figure.legend(loc="outside right center", frameon=False, fontsize=9)
    else:
        # Dashes only: panels have their own colours.
        legend_below(figure, [_dash(panels[0], *look) for look in ROWS.values()])
    return figure


def _draw_path(axes: Axes, summary: Summary, data: str) -> None:
    colour, marker = LOOKS[DATASETS.index(data) % len(LOOKS)]
    for rows, (label, dash) in ROWS.items():
        curve = summary.path(data, rows)
        axes.errorbar(
            curve.x,
            [stat.mean for stat in curve.stats],
            yerr=[stat.sd or 0.0 for stat in curve.stats],
            color=colour,
            linestyle=dash,
            marker=marker,
            markersize=4,
            markerfacecolor=colour if rows == TRAIN else "white",
            linewidth=1.6,
            elinewidth=0.8,
            label=f"{short(data)}, {label}",
        )


def _dash(axes: Axes, label: str, dash: str) -> Any:
    return axes.plot([], [], dash, color=INK, label=label)[0]


def draw_steps(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw the AUC of ``XW`` and of ``M_S`` in each step, a panel a dataset.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets, row by row.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> len(draw_steps(Summary([]), ["wine", "crime"]).axes)
    2
    """
    columns = min(COLUMNS, len(data))
    rows = -(-len(data) // columns)
    size = (2.8 * columns + 0.6, 2.2 * rows + 0.7)
    figure, panels = new_figure(rows, columns, size, sharex=True, sharey=True)
    for axes, name in zip(panels, data, strict=False):
        frame(axes, title_of(name))
        _draw_steps(axes, summary, name)
    for axes in panels[len(data) :]:
        axes.set_axis_off()
    for axes in panels[max(0, len(data) - columns) :]:
        axes.set_xlabel("step")
        axes.tick_params(labelbottom=True)
    for axes in panels[::columns]:
        axes.set_ylabel("AUC")
    legend_below(figure, panels[0].get_legend_handles_labels()[0])
    return figure


def _draw_steps(axes: Axes, summary: Summary, data: str) -> None:
    axes.axhline(0.5, color=PALE, linewidth=1)
    steps = summary.steps(data)
    x = [row["step"] for row in steps]
    for key, label, (colour, _), dash in (
        ("auc", "predictions XW", LOOKS[1], "-"),
        ("projected_auc", "projected copy M_S", LOOKS[0], "--"),
    ):
        y = [row[key] for row in steps]
        axes.plot(x, y, dash, color=colour, linewidth=1.8, label=label)
