"""The paper's figures: bars beside the printed values, and curves."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from paper.cells import HELD_OUT, TRAIN
from paper.methods import STRATA
from paper.printed import best_printed
from paper.settings import DATASETS, REAL, SYNTHETIC, title_of
from paper.summary import IDEAL, Stat, Summary

# Colours after Okabe and Ito, and hatches: told apart with any colour vision.
INK, PALE = "#222222", "#8a8a8a"
BLUE, RUST, GREEN, PURPLE = "#0072B2", "#C04F00", "#00785A", "#A3357A"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.hashsalt": "rankfair",  # otherwise ids in the file are random
}
# Without the day on which a file was made.
STAMP: Any = {"Date": None, "Creator": None}


class Bar(NamedTuple):
    """What a bar stands for; of several methods the best is taken, as in the paper."""

    label: str
    methods: tuple[str, ...]
    colour: str
    hatch: str = ""


BARS = (
    Bar("Rank", ("Rank",), BLUE),
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
LOOKS = ((BLUE, "o"), (RUST, "s"), (GREEN, "^"), (PURPLE, "D"))
ROWS = {TRAIN: ("training rows", "-"), HELD_OUT: ("held-out rows", "--")}
ERROR = "RMSE (standard deviations of y)"
COLUMNS = 4


def draw_figures(summary: Summary, data: Sequence[str]) -> dict[str, Figure]:
    """Return the figures that can be drawn of some datasets, by name.

    "bars-synthetic", "bars-real", "epsilon-synthetic", "epsilon-real", "rmse" and
    "steps", without those that would be empty.
    """
    synthetic = [name for name in SYNTHETIC if name in data]
    real = [name for name in REAL if name in data]
    paths = [name for name in data if summary.path(name, TRAIN).x]
    wanted: dict[str, tuple[Callable[..., Figure], list[str]]] = {
        "bars-synthetic": (draw_bars, synthetic),
        "bars-real": (draw_bars, real),
        "epsilon-synthetic": (draw_epsilon, [it for it in synthetic if it in paths]),
        "epsilon-real": (draw_epsilon, [it for it in real if it in paths]),
        "rmse": (draw_errors, real),
        "steps": (draw_steps, [name for name in data if summary.steps(name)]),
    }
    with rc_context(STYLE):
        return {
            name: draw(summary, members)
            for name, (draw, members) in wanted.items()
            if members
        }


def as_svg(figure: Figure) -> bytes:
    """Return the content of an SVG file, the same for the same figure."""
    content = io.BytesIO()
    with rc_context(STYLE):
        figure.savefig(content, format="svg", metadata=STAMP, facecolor="white")
    return content.getvalue()


def draw_bars(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw AUC, MD, BR and IRR, a panel each.

    Whiskers are standard deviations, diamonds the best values that the paper prints for
    the methods of a bar, in the orientation of the bars.
    """
    figure, panels = _new_figure(2, 2, (11, 6.4))
    for axes, (metric, title) in zip(panels, TITLES.items(), strict=True):
        _frame(axes, title)
        _draw_bars(axes, summary, data, metric, BARS, TRAIN)
        axes.axhline(IDEAL[metric], color=INK, linewidth=1)
    mark = Line2D([], [], linestyle="", color=INK, label="in the paper", **PRINTED)
    _legend_below(figure, [*panels[0].get_legend_handles_labels()[0], mark])
    return figure


def draw_errors(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw the errors, on training and on held-out rows."""
    figure, panels = _new_figure(1, 2, (11, 3.9), sharey=True)
    kinds = ((TRAIN, "Training rows"), (HELD_OUT, "Held-out rows"))
    for axes, (rows, title) in zip(panels, kinds, strict=True):
        _frame(axes, title)
        _draw_bars(axes, summary, data, "rmse", (*BARS, FREE), rows)
    panels[0].set_ylabel(ERROR)
    _legend_below(figure, panels[0].get_legend_handles_labels()[0])
    return figure


def _draw_bars(
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
                _draw_bar(axes, at + left, width, bar, ours)
            if theirs is not None:
                axes.plot(at + left, theirs, color=INK, **PRINTED)
    axes.set_xticks(range(len(data)), [_short(name) for name in data])
    axes.tick_params(axis="x", length=0)


def _ours(summary: Summary, data: str, bar: Bar, metric: str, rows: str) -> Stat | None:
    """The figure of the method that is best on training rows, of any rows."""
    best = summary.best(data, bar.methods, metric)
    return None if best is None else summary.shown(data, best[0], metric, rows)


def _draw_bar(axes: Axes, x: float, width: float, bar: Bar, stat: Stat) -> None:
    named = {text.get_label() for text in axes.containers}
    axes.bar(
        x,
        stat.mean,
        width * 0.92,
        yerr=stat.sd,
        color=bar.colour,
        hatch=bar.hatch,
        edgecolor="white",
        linewidth=0.5,
        ecolor=INK,
        capsize=2,
        label=bar.label if bar.label not in named else None,
    )


def draw_epsilon(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw the error along ε: synthetic data in one panel, others in one each."""
    together = data[0] in SYNTHETIC
    size = (6.8, 4.2) if together else (2.7 * len(data) + 0.4, 3.2)
    figure, panels = _new_figure(1, 1 if together else len(data), size)
    for place, name in enumerate(data):
        axes = panels[0 if together else place]
        _frame(axes, "Synthetic data" if together else title_of(name))
        _draw_path(axes, summary, name)
    for axes in panels:
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
        axes.set_xlabel("ε")
    panels[0].set_ylabel(ERROR)
    if together:
        figure.legend(loc="outside right center", frameon=False, fontsize=9)
    else:
        # Dashes only: panels have their own colours.
        _legend_below(
            figure,
            [
                panels[0].plot([], [], dash, color=INK, label=label)[0]
                for label, dash in ROWS.values()
            ],
        )
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
            label=f"{_short(data)}, {label}",
        )


def draw_steps(summary: Summary, data: Sequence[str]) -> Figure:
    """Draw the AUC of ``XW`` and of ``M_S`` in each step, a panel a dataset."""
    columns = min(COLUMNS, len(data))
    rows = -(-len(data) // columns)
    size = (2.8 * columns + 0.6, 2.2 * rows + 0.7)
    figure, panels = _new_figure(rows, columns, size, sharex=True, sharey=True)
    for axes, name in zip(panels, data, strict=False):
        _frame(axes, title_of(name))
        _draw_steps(axes, summary, name)
    for axes in panels[len(data) :]:
        axes.set_axis_off()
    for axes in panels[max(0, len(data) - columns) :]:
        axes.set_xlabel("step")
        axes.tick_params(labelbottom=True)
    for axes in panels[::columns]:
        axes.set_ylabel("AUC")
    _legend_below(figure, panels[0].get_legend_handles_labels()[0])
    return figure


def _draw_steps(axes: Axes, summary: Summary, data: str) -> None:
    axes.axhline(0.5, color=PALE, linewidth=1)
    steps = summary.steps(data)
    x = [row["step"] for row in steps]
    for key, label, colour, dash in (
        ("auc", "predictions XW", RUST, "-"),
        ("projected_auc", "projected copy M_S", BLUE, "--"),
    ):
        y = [row[key] for row in steps]
        axes.plot(x, y, dash, color=colour, linewidth=1.8, label=label)


def _new_figure(
    rows: int, columns: int, size: tuple[float, float], **how: Any
) -> tuple[Figure, Any]:
    """A figure and its panels, row by row."""
    figure = Figure(figsize=size, dpi=130, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **how).ravel()


def _frame(axes: Axes, title: str) -> None:
    """Give a panel its title, a pale grid, and no frame above or to the right."""
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    axes.grid(color="#e6e6e6", linewidth=0.8, axis="y")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _legend_below(figure: Figure, handles: Sequence[Any]) -> None:
    """Name what is drawn, in one line below the panels."""
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=len(handles),
            frameon=False,
        )


def _short(data: str) -> str:
    """The name of a dataset where "synthetic" is said elsewhere."""
    return title_of(data).removeprefix("Synthetic, ")
