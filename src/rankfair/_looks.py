"""The look of all pictures: colours after Okabe and Ito, and plain axes.

Darker than theirs, so that they also serve for text; told apart with any kind of colour
vision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "GREEN",
    "INK",
    "PALE",
    "PURPLE",
    "RUST",
    "STYLE",
    "need_matplotlib",
    "plain_axes",
]

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


def need_matplotlib() -> None:
    """Raise, with what to install, where matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            'Pictures need an extra: pip install "rankfair[plot]"',
            name=error.name,
        ) from error


def plain_axes(axes: Axes, grid: Literal["both", "y"] = "both") -> None:
    """Draw a pale grid behind everything, and no frame above or to the right."""
    axes.grid(color="#e6e6e6", linewidth=0.8, axis=grid)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
