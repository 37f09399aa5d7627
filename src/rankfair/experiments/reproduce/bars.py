"""Bars: a measure of every method on every dataset, beside the printed values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankfair.experiments.records import HELD_OUT, TRAIN
from rankfair.experiments.reproduce.agreement import best_printed
from rankfair.experiments.reproduce.canvas import (
    frame,
    legend_below,
    new_figure,
    short,
)
from rankfair.experiments.reproduce.methods import STRATA
from rankfair.experiments.reproduce.summary import IDEAL, Stat, Summary
from rankfair.report.pictures import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_bars", "draw_errors"]


class Bar(NamedTuple):
    """What a bar stands for; of several methods the best is taken, as in the paper."""

    label: str
    methods: tuple[str, ...]
    colour: str
    hatch: str = ""


# Colours after Okabe and Ito, and hatches: told apart with any colour vision.
BARS = (
    Bar("Rank", ("Rank",), "#0072B2"),
    Bar("Rank + Mean", ("Rank + Mean",), "#56B4E9"),
    Bar("SSEM, best s", tuple(f"SSEM s={s}" for s in STRATA), "#E69F00", "//"),
    Bar("SSBR, best s", tuple(f"SSBR s={s}" for s in STRATA), "#009E73", ".."),
    Bar("SDBC", ("SDBC",), "#CC79A7", "xx"),
)
FREE = Bar("unconstrained", ("unconstrained",), "#B0B0B0")
TITLES = {
    "auc": "AUC (level: 0.5)",
    "md": "Mean difference (level: 0)",
    "br": "Balanced residuals (level: 0)",
    "irr": "Impact rank ratio (level: 1)",
}
PRINTED: Any = {"marker": "D", "markersize": 4.5, "markerfacecolor": "white"}


def draw_bars(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw AUC, MD, BR and IRR, a panel each.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets, from left to right.

    Returns
    -------
    matplotlib.figure.Figure
        Whiskers are standard deviations, diamonds the best values that the paper
        prints for the methods of a bar, in the orientation of the bars.

    Examples
    --------
    >>> len(draw_bars(Summary([]), ["wine"]).axes)
    4
    """
    from matplotlib.lines import Line2D

    figure, panels = new_figure(2, 2, (11, 6.4))
    for axes, (metric, title) in zip(panels, TITLES.items(), strict=True):
        frame(axes, title)
        _draw(axes, summary, data, metric, BARS, TRAIN)
        axes.axhline(IDEAL[metric], color=INK, linewidth=1)
    mark = Line2D([], [], linestyle="", color=INK, label="in the paper", **PRINTED)
    drawn = panels[0].get_legend_handles_labels()[0]
    legend_below(figure, [*drawn, mark])
    return figure


def draw_errors(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw the errors, on training and on held-out rows.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets, from left to right.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> len(draw_errors(Summary([]), ["wine"]).axes)
    2
    """
    figure, panels = new_figure(1, 2, (11, 3.9), sharey=True)
    kinds = ((TRAIN, "Training rows"), (HELD_OUT, "Held-out rows"))
    for axes, (rows, title) in zip(panels, kinds, strict=True):
        frame(axes, title)
        _draw(axes, summary, data, "rmse", (*BARS, FREE), rows)
    panels[0].set_ylabel("RMSE (standard deviations of y)")
    legend_below(figure, panels[0].get_legend_handles_labels()[0])
    return figure


def _draw(
    axes: Axes,
    summary: Summary,
    data: Sequence[str],
    metric: str,
    bars: Sequence[Bar],
    rows: str,
) -> None:
    width = 0.84 / len(bars)
    for place, bar in enumerate(bars):
        left = (place - (len(bars) - 1) / 2) * width
        for at, name in enumerate(data):
            ours = _ours(summary, name, bar, metric, rows)
            theirs = best_printed(name, bar.methods, metric)
            if ours is not None:
                _draw_one(axes, at + left, width, bar, ours.mean, ours.sd)
            if theirs is not None:
                axes.plot(at + left, theirs, color=INK, **PRINTED)
    axes.set_xticks(range(len(data)), [short(name) for name in data])
    axes.tick_params(axis="x", length=0)


def _ours(summary: Summary, data: str, bar: Bar, metric: str, rows: str) -> Stat | None:
    """The figure of the method that is best on training rows, of any rows."""
    best = summary.best(data, bar.methods, metric)
    return None if best is None else summary.shown(data, best[0], metric, rows)


def _draw_one(
    axes: Axes, x: float, width: float, bar: Bar, height: float, sd: float | None
) -> None:
    named = {text.get_label() for text in axes.containers}
    axes.bar(
        x,
        height,
        width * 0.92,
        yerr=sd,
        color=bar.colour,
        hatch=bar.hatch,
        edgecolor="white",
        linewidth=0.5,
        ecolor=INK,
        capsize=2,
        label=bar.label if bar.label not in named else None,
    )
