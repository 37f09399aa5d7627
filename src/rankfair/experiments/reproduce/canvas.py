"""What the figures share: their paper, frames and short names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankfair.experiments.reproduce.tables import title_of
from rankfair.report.pictures import plain_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["frame", "legend_below", "new_figure", "short"]


def new_figure(
    rows: int, columns: int, size: tuple[float, float], **how: Any
) -> tuple[Figure, Any]:
    """Return a figure and its panels, row by row.

    Parameters
    ----------
    rows, columns : int
        Of panels.
    size : tuple of float
        Width and height in inches.
    **how
        Handed to `Figure.subplots`.

    Returns
    -------
    tuple
        The figure, and an array of its axes.

    Examples
    --------
    >>> len(new_figure(2, 3, (6, 4))[1])
    6
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=130, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **how).ravel()


def frame(axes: Axes, title: str) -> None:
    """Give a panel its title and its grid.

    Examples
    --------
    >>> _, (axes,) = new_figure(1, 1, (3, 2))
    >>> frame(axes, "AUC")
    >>> axes.get_title("left")
    'AUC'
    """
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    plain_axes(axes, "y")


def legend_below(figure: Figure, handles: Sequence[Any]) -> None:
    """Name what is drawn, in one line below the panels.

    Examples
    --------
    >>> figure, (axes,) = new_figure(1, 1, (3, 2))
    >>> legend_below(figure, axes.plot([1, 2], label="AUC"))
    >>> len(figure.legends)
    1
    """
    if handles:
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=len(handles),
            frameon=False,
        )


def short(data: str) -> str:
    """Return the name of a dataset where "synthetic" is said elsewhere.

    Examples
    --------
    >>> short("synthetic 0.9"), short("wine")
    ('α = 0.9', 'Wine')
    """
    return title_of(data).removeprefix("Synthetic, ")
