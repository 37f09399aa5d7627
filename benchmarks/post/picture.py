"""The picture: held-out error against KS, a panel for each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from .points import MEASURES, Point, Results

RMSE, KS = MEASURES.index("rmse"), MEASURES.index("ks")
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
CURVES = {
    "EquiPy": ("#a63603", "--", "^", "EquiPy, shares of the unmoved from 0 to 0.8"),
    "distribution": ("#c51b8a", "-", "o", "distribution, ε from 0 to 0.4"),
    "line": ("#2c7fb8", "-", ".", "line, ε from 0 to 0.4"),
}
# What may hide another is hollow.
FULL, HOLLOW = {"mec": "white", "mew": 0.8}, {"mfc": "none", "mew": 1.5}
MARKS = {
    Point("none", "unmoved"): ("0.2", "*", 11, FULL, "unmoved"),
    Point("AUC", "shift"): ("0.45", "X", 8.5, FULL, "constant shift, AUC gap 0.01"),
    Point("KS", "EquiPy"): ("#a63603", "^", 8.5, FULL, "EquiPy at KS ≤ 0.01"),
    Point("KS", "distribution"): ("#c51b8a", "o", 7, FULL, "distribution, ε = 0.01"),
    Point("AUC", "rank"): ("#54278f", "D", 8.5, HOLLOW, "rank, ε = 0.01"),
    Point("KS", "programme"): ("#b8860b", "s", 12, HOLLOW, "programme at KS ≤ 0.01"),
}


def picture(results: Sequence[Results], path: Path) -> None:
    """Draw four panels a row and save them."""
    height = -(-len(results) // 4)
    figure, axes = plt.subplots(
        height, 4, figsize=(12, 2.75 * height + 0.75), squeeze=False
    )
    for axis, each in zip(axes.flat, results, strict=False):
        _panel(axis, each)
    for axis in axes.flat[len(results) :]:
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel("held-out RMSE", fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("held-out KS", fontsize=9)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="upper center", ncols=4, fontsize=9, frameon=False
    )
    figure.tight_layout(rect=(0, 0, 1, 1 - 0.62 / figure.get_figheight()))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _panel(axis: Axes, each: Results) -> None:
    for method, (colour, style, mark, label) in CURVES.items():
        line = each.path(method)
        axis.plot(
            line[:, KS], line[:, RMSE], style, color=colour, lw=1.4, marker=mark, ms=3,
            label=label,
        )  # fmt: skip
    for point, (colour, mark, size, look, label) in MARKS.items():
        if point in each.figures:
            mean = each.mean(point)
            axis.plot(
                mean[KS], mean[RMSE], mark, color=colour, ms=size, ls="", label=label,
                zorder=3, **look,
            )  # fmt: skip
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(FixedLocator(TICKS))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_title(each.title, fontsize=10)
    axis.grid(alpha=0.25, lw=0.5)
    axis.tick_params(labelsize=8)
