"""The picture of a path: error against rank gap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankfair._looks import BLUE, PALE, RUST, STYLE, need_matplotlib, plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rankfair.path.records import Path

__all__ = ["draw"]


def draw(path: Path) -> Figure:
    """Draw RMSE against ``|AUC − 1/2|``: held-out rows with intervals, and training."""
    need_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.2), dpi=150, layout="constrained")
        axes = figure.subplots()
        axes.set_xlabel("rank gap  |AUC − 1/2|")
        axes.set_ylabel("error  (RMSE)")
        plain_axes(axes)
        _draw_curves(axes, path)
        if path.has_knee:
            _mark_knee(axes, path)
        axes.legend(frameon=False)
    return figure


def _draw_curves(axes: Axes, path: Path) -> None:
    x, error = path.column("gap"), path.column("rmse")
    span = [error - path.column("rmse_ci_low"), path.column("rmse_ci_high") - error]
    axes.errorbar(x, error, span, color=BLUE, fmt="none", alpha=0.35)
    axes.plot(x, error, "-o", color=BLUE, markersize=4, label="held-out rows")
    axes.plot(
        path.column("train_gap"),
        path.column("train_rmse"),
        "--s",
        color=RUST,
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
