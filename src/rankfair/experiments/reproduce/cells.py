"""A cell is a unit of work: a method on a dataset in a repeat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rankfair.experiments.reproduce.cases import DEALT
from rankfair.experiments.reproduce.methods import METHODS, RANDOM
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.tuning import PARAMETERS

__all__ = [
    "CV",
    "PATH",
    "SIZES",
    "STEPS",
    "TABLE",
    "Cell",
    "plan",
]

CV, TABLE, PATH, STEPS = "cv", "table", "path", "steps"

# Rough ratios of times, measured once: they only move the bar and order the work.
SIZES = {"crime": 30.0, "income": 30.0, "wine": 6.0, "student": 3.0}
WEIGHTS = {"beta_paper": 9.0, "epsilon": 3.0, "Rank (paper)": 0.1}


class Cell(NamedTuple):
    """What is to be done; `method` is a parameter where the kind is "cv"."""

    kind: str
    data: str
    method: str
    repeat: int = 0
    epsilon: float | None = None

    @property
    def stage(self) -> int:
        """Cells of a stage need only what earlier stages found."""
        if self.kind == CV:
            return 0 if self.method.startswith("beta") else 1
        return 2

    @property
    def weight(self) -> float:
        """How long it takes compared with others, for the time that is left."""
        return SIZES.get(self.data, 1.0) * WEIGHTS.get(
            self.method, 0.5 if self.kind == CV else 0.03
        )

    @property
    def label(self) -> str:
        """A few words for the progress bar."""
        what = f"choosing {self.method}" if self.kind == CV else self.method
        return f"{self.data}: {what}"


def plan(settings: Settings, found: Iterable[str]) -> list[Cell]:
    """Return all cells, in the order in which records are written.

    Parameters
    ----------
    settings : Settings
    found : iterable of str
        The datasets whose files are there.

    Returns
    -------
    list of Cell

    Examples
    --------
    >>> cells = plan(Settings(repeats=2, figures=False), ["crime"])
    >>> sum(cell.kind == "cv" for cell in cells)
    5
    >>> [cell.repeat for cell in cells if cell.method == "Rank (paper)"]
    [0, 1]
    """
    return [cell for name in found for cell in _of(name, settings)]


def _of(name: str, settings: Settings) -> list[Cell]:
    again = settings.repeats if name in DEALT else 1
    cells = [Cell(CV, name, parameter) for parameter in PARAMETERS]
    for repeat in range(settings.repeats):
        cells += [
            Cell(TABLE, name, method, repeat)
            for method in METHODS
            if repeat < again or method in RANDOM
        ]
    if settings.figures:
        cells += [
            Cell(PATH, name, "Rank", repeat, epsilon)
            for repeat in range(again)
            for epsilon in settings.path
        ]
        cells.append(Cell(STEPS, name, "Rank (paper)"))
    return cells
