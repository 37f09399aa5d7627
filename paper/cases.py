"""Datasets as the experiments see them: standardised, and split into two."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paper.settings import SYNTHETIC, Settings
from rankfair.datasets.base import Dataset
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.datasets.wine import load_wine

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Data that is drawn or dealt anew in every repeat.
DEALT = (*SYNTHETIC, "wine", "student")
ROWS_PER_TASK = 25
TRAIN_SHARE = 0.7
LAST_WEEKS = 12


@dataclass(frozen=True)
class Rows:
    """Rows of a dataset as the methods see them: the group is the last feature."""

    X: Floats
    y: Floats
    tasks: NDArray[Any]
    in_a: Bools

    @classmethod
    def of(cls, data: Dataset) -> Rows:
        """All rows of a dataset."""
        in_a = data.sensitive == data.group_a
        return cls(np.column_stack((data.X, in_a)), data.target, data.tasks, in_a)

    @property
    def group_column(self) -> int:
        """Where in X the group is."""
        return int(self.X.shape[1]) - 1

    def take(self, chosen: Bools) -> Rows:
        """The chosen rows."""
        X, y = self.X[chosen], self.y[chosen]
        return Rows(X, y, self.tasks[chosen], self.in_a[chosen])


@dataclass(frozen=True)
class Case:
    """One dataset of one repeat.

    `full` gives the figures of training rows, as the paper appears to do; a second fit
    on `train` is judged on `held_out`.  For synthetic data `full` is `train`.
    `clustered` says that rows of a task are not independent.
    """

    name: str
    full: Rows
    train: Rows
    held_out: Rows
    clustered: bool

    @property
    def tuning(self) -> Rows:
        """Rows for cross-validation: never held-out ones, unless too few are left."""
        smallest = np.unique(self.train.tasks, return_counts=True)[1].min()
        return self.train if smallest >= 3 else self.full

    @property
    def fingerprint(self) -> str:
        """A short hash of all its numbers."""
        found = hashlib.sha256()
        for rows in (self.full, self.held_out):
            for part in (rows.X, rows.y, rows.in_a):
                found.update(np.ascontiguousarray(part).tobytes())
            found.update("\n".join(map(str, rows.tasks)).encode())
        return found.hexdigest()[:16]


def make_case(name: str, repeat: int, settings: Settings) -> Case:
    """Return the rows of a dataset in a repeat, counted from 0.

    Features and target have mean 0 and variance 1 over all rows of `full`.  Crime and
    Income are the same in all repeats.

    Examples
    --------
    >>> case = make_case("synthetic 0.9", 0, Settings(n_tasks=4))
    >>> len(case.train.y), len(case.held_out.y), case.full is case.train
    (100, 100, True)
    """
    return _cached(name, repeat if name in DEALT else 0, settings.of_each_cell)


@lru_cache(maxsize=4)
def _cached(name: str, repeat: int, settings: Settings) -> Case:
    seed = settings.seed + repeat
    if name in SYNTHETIC:
        return _synthetic(name, seed, settings.n_tasks)
    data = LOADERS[name](seed)
    rows = Rows.of(data)
    if name in DEALT:
        return _split(name, rows, _within_tasks(rows.tasks, seed))
    assert data.period is not None
    last = LAST_WEEKS if name == "crime" else 1
    codes = np.unique(rows.tasks, return_inverse=True)[1]
    kept = codes % settings.keep == 0
    early = data.period <= data.period.max() - last
    return _split(name, rows.take(kept), early[kept])


def _synthetic(name: str, seed: int, n_tasks: int) -> Case:
    """Every other row to learn from: the paper's size, and as many held out."""
    alpha = float(name.split()[1])
    data = make_biased_tasks(n_tasks, 2 * ROWS_PER_TASK, auc=alpha, random_state=seed)
    rows = Rows.of(data)
    even = np.arange(len(rows.y)) % 2 == 0
    scaled = _standardised(rows, even)
    train, held_out = scaled.take(even), scaled.take(~even)
    return Case(name, train, train, held_out, clustered=False)


def _split(name: str, rows: Rows, early: Bools) -> Case:
    full = _standardised(rows, np.ones(len(rows.y), dtype=bool))
    constant = _is_constant(full)
    return Case(name, full, full.take(early), full.take(~early), constant)


def _standardised(rows: Rows, by: Bools) -> Rows:
    """All rows in the units of the rows `by`; the group stays 0/1."""
    X = rows.X.copy()
    own = slice(None, rows.group_column)
    X[:, own] = (X[:, own] - X[by, own].mean(axis=0)) / _spread(X[by, own])
    y = (rows.y - rows.y[by].mean()) / _spread(rows.y[by])
    return replace(rows, X=X, y=y)


def _spread(values: Floats) -> Any:
    """Standard deviations; a constant column is left as it is."""
    found = values.std(axis=0)
    return np.where(found > 0, found, 1.0)


def _is_constant(rows: Rows) -> bool:
    """Whether most tasks are of one group: then rows of a task are not independent."""
    codes = np.unique(rows.tasks, return_inverse=True)[1]
    share = np.bincount(codes, rows.in_a) / np.bincount(codes)
    return bool(((share == 0) | (share == 1)).mean() > 0.5)


class Dealt(NamedTuple):
    """Rows of each task in a random order: their places, and the sizes of tasks."""

    place: NDArray[np.int64]
    size: NDArray[np.int64]


def dealt(tasks: NDArray[Any], seed: list[int]) -> Dealt:
    """Return each row's random place within its task, and the size of that task.

    Examples
    --------
    >>> found = dealt(np.array(["a", "b", "a", "a"]), [0])
    >>> sorted(found.place[[0, 2, 3]].tolist()), found.size.tolist()
    ([0, 1, 2], [3, 1, 3, 3])
    """
    order = np.lexsort((np.random.default_rng(seed).random(len(tasks)), tasks))
    _, starts, sizes = np.unique(tasks[order], return_index=True, return_counts=True)
    place, size = np.empty((2, len(tasks)), dtype=np.int64)
    place[order] = np.arange(len(tasks)) - np.repeat(starts, sizes)
    size[order] = np.repeat(sizes, sizes)
    return Dealt(place, size)


def _within_tasks(tasks: NDArray[Any], seed: int) -> Bools:
    """A share of `TRAIN_SHARE` of the rows of each task, at random."""
    place, size = dealt(tasks, [seed, 1])
    early: Bools = place < np.round(TRAIN_SHARE * size)
    return early


# Files are fetched once, by `fetch`; here they are there.
LOADERS: dict[str, Callable[[int], Dataset]] = {
    "crime": lambda seed: load_crime(),
    "income": lambda seed: load_income(biased=True),
    "wine": lambda seed: load_wine(random_state=seed, download=False),
    "student": lambda seed: load_student(random_state=seed, download=False),
}


def fetch(name: str) -> None:
    """Download the files of Wine or Student, if they are not there."""
    if name == "wine":
        load_wine()
    elif name == "student":
        load_student()


class Found(NamedTuple):
    """Fingerprints of the data that is there, and why other data is not."""

    fingerprints: dict[str, str]
    errors: dict[str, Exception]

    @property
    def missing(self) -> dict[str, str]:
        """Why data is not there, without the folders of this machine."""
        return {name: _short(name, error) for name, error in self.errors.items()}


def find_data(settings: Settings) -> Found:
    """Look for all data that is asked for; fetch what may be downloaded."""
    found = Found({}, {})
    for name in settings.data:
        try:
            fetch(name)
            found.fingerprints[name] = make_case(name, 0, settings).fingerprint
        except (OSError, ValueError) as error:
            found.errors[name] = error
    return found


def _short(name: str, error: Exception) -> str:
    what = "its files are damaged or of another version"
    if isinstance(error, FileNotFoundError):
        what = str(error).partition(":")[0]
    elif isinstance(error, OSError):
        what = "its files could not be had"
    return f"{what}; the variable RANKFAIR_DATA names the folder that holds {name}/"
