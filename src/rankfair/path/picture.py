"""The picture of a path: error against rank gap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankfair.path.records import Path

__all__ = ["draw"]

# As in the other pictures: after Okabe and Ito, darker for text.
INK, PALE, HELD_OUT, TRAIN = "#222222", "#8a8a8a", "#0072B2", "#C04F00"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw(path: Path) -> Figure:
    """Draw RMSE against ``|AUC − 1/2|``: held-out rows with intervals, and training."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.2), dpi=150, layout="constrained")
        axes = figure.subplots()
        axes.set_xlabel("rank gap  |AUC − 1/2|")
        axes.set_ylabel("error  (RMSE)")
        axes.grid(color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        _draw_curves(axes, path)
        _mark_knee(axes, path)
        axes.legend(frameon=False)
    return figure


def _draw_curves(axes: Axes, path: Path) -> None:
    x, error = path.column("gap"), path.column("rmse")
    span = [error - path.column("rmse_low"), path.column("rmse_high") - error]
    axes.errorbar(x, error, span, color=HELD_OUT, fmt="none", alpha=0.35)
    axes.plot(x, error, "-o", color=HELD_OUT, markersize=4, label="held-out rows")
    axes.plot(
        path.column("train_gap"),
        path.column("train_rmse"),
        "--s",
        color=TRAIN,
        markersize=4,
        label="training rows",
    )


def _mark_knee(axes: Axes, path: Path) -> None:
    knee = path.knee()
    row = next(row for row in path.rows if row.epsilon == knee)
    axes.annotate(
        f"knee, ε = {knee:.3g}",
        (row.gap, row.rmse),
        xytext=(12, 14),
        textcoords="offset points",
        arrowprops={"arrowstyle": "-", "color": PALE},
    )
