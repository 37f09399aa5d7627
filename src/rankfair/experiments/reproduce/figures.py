"""The paper's figures: which there are, and of which data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rankfair.experiments.records import TRAIN
from rankfair.experiments.reproduce.bars import draw_bars, draw_errors
from rankfair.experiments.reproduce.curves import draw_epsilon, draw_steps
from rankfair.experiments.reproduce.settings import REAL, SYNTHETIC
from rankfair.experiments.reproduce.summary import Summary
from rankfair.report.pictures import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_figures"]


def draw_figures(summary: Summary, data: Sequence[str]) -> dict[str, Figure]:
    """Return the figures that can be drawn of some datasets, by name.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets whose records are there.

    Returns
    -------
    dict
        "bars-synthetic", "bars-real", "epsilon-synthetic", "epsilon-real", "rmse" and
        "steps", without those that would be empty.

    Examples
    --------
    >>> draw_figures(Summary([]), [])
    {}
    """
    from matplotlib import rc_context

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
