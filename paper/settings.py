"""What a reproduction is asked for: a frozen record, and nothing about how it went."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

SYNTHETIC = tuple(f"synthetic {alpha}" for alpha in (0.9, 0.8, 0.7, 0.6))
REAL = ("crime", "income", "wine", "student")
DATASETS = (*SYNTHETIC, *REAL)

GRID = tuple(10.0**power for power in range(-4, 5))
EPSILONS = (0.0, 0.001, 0.002, 0.005)
PATH = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
# Two repeats, coarse grids, three folds, a tenth of Crime and Income.
QUICK: dict[str, Any] = {
    "repeats": 2,
    "grid": GRID[::2],
    "epsilons": EPSILONS[::3],
    "folds": 3,
    "path": PATH[::2],
    "keep": 10,
}


@dataclass(frozen=True)
class Settings:
    """All that the records depend on, beside the data files and the code.

    Attributes
    ----------
    data : tuple of str
        Names out of `DATASETS`.
    seed : int
        Repeat r draws everything from ``seed + r``.
    repeats : int
        For what is random; anything else runs once.
    figures : bool
        Whether to follow the ε path and the steps of the paper's solver.
    grid, epsilons : tuple of float
        Candidates for β and the trade-off, and for ε, of the cross-validation.
    folds : int
        At most so many; never more than the rows of the smallest task.
    path : tuple of float
        The ε of the ε-RMSE curves.
    n_tasks : int
        Tasks of the synthetic data.
    keep : int
        Of Crime and Income every so many-th task is kept; 1 keeps all.

    Examples
    --------
    >>> Settings(("wine",)).repeats, Settings(("wine",), **QUICK).repeats
    (20, 2)
    """

    data: tuple[str, ...] = DATASETS
    seed: int = 0
    repeats: int = 20
    figures: bool = True
    grid: tuple[float, ...] = GRID
    epsilons: tuple[float, ...] = EPSILONS
    folds: int = 10
    path: tuple[float, ...] = PATH
    n_tasks: int = 40
    keep: int = 1

    @property
    def of_each_cell(self) -> Settings:
        """The same, without what only says which cells there are.

        The cache knows cells by this, so that a longer run takes over a shorter one.
        """
        return replace(self, data=(), repeats=0, figures=False, path=())

    @property
    def command(self) -> str:
        """The command that asks for these settings.

        Examples
        --------
        >>> Settings(("synthetic 0.9", "wine"), figures=False).command
        'python -m paper --data synthetic-0.9 wine --no-figures --seed 0 --repeats 20'
        """
        words = ["python -m paper"]
        if self.data != DATASETS:
            words += ["--data", *(option_of(name) for name in self.data)]
        if not self.figures:
            words.append("--no-figures")
        if self.keep > 1:
            words.append("--quick")
        return " ".join([*words, f"--seed {self.seed} --repeats {self.repeats}"])


def option_of(data: str) -> str:
    """Return how a dataset is named on the command line."""
    return data.replace(" ", "-")


def chosen_data(options: Iterable[str]) -> tuple[str, ...]:
    """Return the datasets of some options, in the order of the paper.

    Examples
    --------
    >>> chosen_data(["wine", "synthetic-0.9"])
    ('synthetic 0.9', 'wine')
    >>> chosen_data(["synthetic"]) == SYNTHETIC
    True
    """
    asked = set(options)
    if "synthetic" in asked:
        asked.update(map(option_of, SYNTHETIC))
    return tuple(name for name in DATASETS if option_of(name) in asked)


def title_of(data: str) -> str:
    """Return how a dataset is called on pages.

    Examples
    --------
    >>> title_of("synthetic 0.9"), title_of("wine")
    ('Synthetic, α = 0.9', 'Wine')
    """
    if data in SYNTHETIC:
        return f"Synthetic, α = {data.split()[1]}"
    return data.capitalize()
