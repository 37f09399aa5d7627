"""Which cells are left: those not done, or done with parameters that changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rankfair.experiments.reproduce.cells import Cell
from rankfair.experiments.reproduce.journal import Done
from rankfair.experiments.reproduce.methods import Choices
from rankfair.experiments.reproduce.tuning import choose

__all__ = ["STAGES", "chosen_before", "unfinished"]

STAGES = (0, 1, 2)
Finished = Mapping[Cell, Done]


def chosen_before(
    stage: int, data: Iterable[str], done: Finished
) -> dict[str, Choices]:
    """Return what the stages before have chosen for each dataset.

    Parameters
    ----------
    stage : int
        One of `STAGES`.
    data : iterable of str
        The datasets.
    done : mapping
        Finished cells.

    Returns
    -------
    dict

    Examples
    --------
    >>> chosen_before(0, ["wine"], {})["wine"] == Choices()
    True
    """
    earlier = (it for it in done.values() if it.cell.stage < stage)
    known = [row for it in earlier for row in it.records]
    return {name: choose(known, name) for name in dict.fromkeys(data)}


def unfinished(cells: Iterable[Cell], done: Finished) -> list[Cell]:
    """Return the cells that are to be run, as far as is known by now.

    Parameters
    ----------
    cells : iterable of Cell
        All that there are to be.
    done : mapping
        Finished cells; one that was run with other parameters than cross-validation
        chooses now does not count.

    Returns
    -------
    list of Cell

    Examples
    --------
    >>> cell = Cell("table", "wine", "Rank")
    >>> unfinished([cell], {cell: Done(cell, [], 0.1)})
    []
    >>> unfinished([cell], {cell: Done(cell, [], 0.1, Choices(beta=7.0))}) == [cell]
    True
    """
    wanted = list(cells)
    names = {cell.data for cell in wanted}
    chosen = {stage: chosen_before(stage, names, done) for stage in STAGES}
    return [
        cell
        for cell in wanted
        if cell not in done or done[cell].chosen != chosen[cell.stage][cell.data]
    ]
