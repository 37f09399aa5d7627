"""What a reproduction is asked for: a frozen record, and nothing about how it went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from typing import Any

__all__ = [
    "DATASETS",
    "REAL",
    "SYNTHETIC",
    "TABLES",
    "Settings",
    "chosen_data",
    "command",
    "make",
]

SYNTHETIC = tuple(f"synthetic {alpha}" for alpha in (0.9, 0.8, 0.7, 0.6))
REAL = ("crime", "income", "wine", "student")
DATASETS = (*SYNTHETIC, *REAL)
TABLES = {2: SYNTHETIC, 3: REAL}

GRID = tuple(10.0**power for power in range(-4, 5))
EPSILONS = (0.0, 0.001, 0.002, 0.005)
PATH = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


@dataclass(frozen=True)
class Settings:
    """All that the records depend on, beside the data files and the library.

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
    >>> Settings(("wine",)).repeats, Settings.quick(("wine",)).repeats
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

    @classmethod
    def quick(
        cls, data: tuple[str, ...] = DATASETS, seed: int = 0, figures: bool = True
    ) -> Settings:
        """Two repeats, coarse grids, three folds, a tenth of Crime and Income."""
        return cls(
            data,
            seed,
            repeats=2,
            figures=figures,
            grid=GRID[::2],
            epsilons=EPSILONS[::3],
            folds=3,
            path=PATH[::2],
            keep=10,
        )

    def as_dict(self) -> dict[str, Any]:
        """The settings as they go to run.json."""
        found = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }
        return found


def make(
    data: tuple[str, ...],
    seed: int = 0,
    figures: bool = True,
    quick: bool = False,
    repeats: int | None = None,
) -> Settings:
    """Return the settings of a whole or a quick run.

    Parameters
    ----------
    data : tuple of str
        As `chosen_data` returns it.
    seed : int, default=0
    figures : bool, default=True
    quick : bool, default=False
    repeats : int, optional
        Other than 20, or 2 for a quick run.

    Returns
    -------
    Settings

    Examples
    --------
    >>> make(("wine",), quick=True, repeats=3).repeats
    3
    """
    found = Settings.quick(data, seed, figures) if quick else Settings(data, seed)
    if repeats is not None:
        found = replace(found, repeats=repeats)
    return replace(found, figures=figures)


def command(settings: Settings) -> str:
    """Return the command that asks for these settings.

    Parameters
    ----------
    settings : Settings
        As `make` returns them.

    Returns
    -------
    str

    Examples
    --------
    >>> command(make(("synthetic 0.9", "wine"), figures=False))
    'rankfair reproduce --data synthetic-0.9,wine --no-figures --seed 0 --repeats 20'
    """
    words = ["rankfair reproduce"]
    table = next((it for it in TABLES if TABLES[it] == settings.data), None)
    if table is not None:
        words.append(f"--tables {table}")
    elif settings.data != DATASETS:
        words.append("--data " + ",".join(it.replace(" ", "-") for it in settings.data))
    # With --tables alone there are none.
    if settings.figures == (table is not None):
        words.append("--figures" if settings.figures else "--no-figures")
    if settings.keep > 1:
        words.append("--quick")
    return " ".join([*words, f"--seed {settings.seed} --repeats {settings.repeats}"])


def chosen_data(
    tables: tuple[int, ...] = (2, 3), names: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the datasets of some tables, or those of them that are named.

    Parameters
    ----------
    tables : tuple of int
        2 is the paper's table of synthetic data, 3 that of real data.
    names : tuple of str
        "synthetic" for all four, "synthetic 0.9" for one, "crime", "income", "wine",
        "student", in capitals or not; everything if there is none.

    Returns
    -------
    tuple of str
        In the order of the paper.

    Examples
    --------
    >>> chosen_data((3,))
    ('crime', 'income', 'wine', 'student')
    >>> chosen_data(names=("wine", "synthetic 0.9"))
    ('synthetic 0.9', 'wine')
    >>> chosen_data((2,), ("wine",))
    Traceback (most recent call last):
    ValueError: table 2 holds no wine data: wine is in table 3
    """
    for table in tables:
        if table not in TABLES:
            raise ValueError(f"the paper's tables of results are 2 and 3, got {table}")
    wanted = {one for name in names for one in _expanded(name)} or set(DATASETS)
    found = [one for one in DATASETS if one in wanted and _table_of(one) in tables]
    for name in names:
        if not set(_expanded(name)) & set(found):
            where = _table_of(_expanded(name)[0])
            raise ValueError(
                f"table {' and '.join(map(str, tables))} holds no {name} data: "
                f"{name} is in table {where}"
            )
    return tuple(found)


def _expanded(name: str) -> tuple[str, ...]:
    """The datasets of a name, in capitals or not."""
    plain, known = name.lower(), ("synthetic", *DATASETS)
    if plain == "synthetic":
        return SYNTHETIC
    if plain not in known:
        near = get_close_matches(plain, known, 1)
        meant = f" (did you mean {near[0]!r}?)" if near else ""
        raise ValueError(
            f"there is no data called {name!r}{meant}; there is: {', '.join(known)}"
        )
    return (plain,)


def _table_of(name: str) -> int:
    return 2 if name in SYNTHETIC else 3
