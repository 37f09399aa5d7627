"""Datasets as the experiments see them: standardised, and split into two."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from rankfair.datasets.base import Dataset
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.datasets.wine import load_wine
from rankfair.experiments.methods import Bools, Rows
from rankfair.experiments.reproduce.settings import SYNTHETIC, Settings

__all__ = [
    "DEALT",
    "LAST_WEEKS",
    "ROWS_PER_TASK",
    "TRAIN_SHARE",
    "Case",
    "fetch",
    "fingerprint",
    "make_case",
]

# Data that is drawn or dealt anew in every repeat.
DEALT = (*SYNTHETIC, "wine", "student")
ROWS_PER_TASK = 25
TRAIN_SHARE = 0.7
LAST_WEEKS = 12


@dataclass(frozen=True)
class Case:
    """One dataset of one repeat.

    `full` gives the figures of training rows, as the paper appears to do; a second fit
    on `train` is judged on `held_out`.  For synthetic data `full` is `train`.
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


def make_case(name: str, repeat: int, settings: Settings) -> Case:
    """Return the rows of a dataset in a repeat.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    repeat : int
        Counted from 0; Crime and Income are the same in all of them.
    settings : Settings
        Seed and sizes.

    Returns
    -------
    Case
        Features and target have mean 0 and variance 1 over all rows of `full`.

    Examples
    --------
    >>> case = make_case("synthetic 0.9", 0, Settings(n_tasks=4))
    >>> len(case.train.y), len(case.held_out.y), case.full is case.train
    (100, 100, True)
    """
    return _cached(name, repeat if name in DEALT else 0, settings)


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
    kept = _every(rows.tasks, settings.keep)
    early = data.period <= data.period.max() - last
    return _split(name, rows.take(kept), early[kept])


def _synthetic(name: str, seed: int, n_tasks: int) -> Case:
    """Every other row to learn from: the paper's size, and as many held out."""
    alpha = float(name.split()[1])
    data = make_biased_tasks(n_tasks, 2 * ROWS_PER_TASK, auc=alpha, random_state=seed)
    rows = Rows.of(data)
    even = np.arange(len(rows.y)) % 2 == 0
    train, held_out = _standardised(rows, even)
    return Case(name, train, train, held_out, clustered=False)


def _split(name: str, rows: Rows, early: Bools) -> Case:
    everything = np.ones(len(rows.y), dtype=bool)
    full, _ = _standardised(rows, everything)
    return Case(name, full, full.take(early), full.take(~early), _constant(full))


def _standardised(rows: Rows, by: Bools) -> tuple[Rows, Rows]:
    """The rows `by` and the others, in the units of the former; the group stays 0/1."""
    X = rows.X.copy()
    own = slice(None, rows.group_column)
    X[:, own] = (X[:, own] - X[by, own].mean(axis=0)) / _spread(X[by, own])
    y = (rows.y - rows.y[by].mean()) / _spread(rows.y[by])
    scaled = replace(rows, X=X, y=y, fair=None)
    return scaled.take(by), scaled.take(~by)


def _spread(values: Any) -> Any:
    """Standard deviations; a constant column is left as it is."""
    found = values.std(axis=0)
    return np.where(found > 0, found, 1.0)


def _constant(rows: Rows) -> bool:
    """Whether most tasks are of one group: then rows of a task are not independent."""
    codes = np.unique(rows.tasks, return_inverse=True)[1]
    share = np.bincount(codes, rows.in_a) / np.bincount(codes)
    return bool(((share == 0) | (share == 1)).mean() > 0.5)


def _within_tasks(tasks: Any, seed: int) -> Bools:
    """A share of `TRAIN_SHARE` of the rows of each task, at random."""
    rng = np.random.default_rng([seed, 1])
    order = np.lexsort((rng.random(len(tasks)), tasks))
    _, starts, sizes = np.unique(tasks[order], return_index=True, return_counts=True)
    place = np.arange(len(tasks)) - np.repeat(starts, sizes)
    early = np.empty(len(tasks), dtype=bool)
    early[order] = place < np.round(TRAIN_SHARE * np.repeat(sizes, sizes))
    return early


def _every(tasks: Any, step: int) -> Bools:
    codes = np.unique(tasks, return_inverse=True)[1]
    kept: Bools = codes % step == 0
    return kept


# Files are fetched once, by `fetch`; here they are there.
LOADERS: dict[str, Callable[[int], Dataset]] = {
    "crime": lambda seed: load_crime(),
    "income": lambda seed: load_income(biased=True),
    "wine": lambda seed: load_wine(random_state=seed, download=False),
    "student": lambda seed: load_student(random_state=seed, download=False),
}


def fetch(name: str) -> None:
    """Download the files of a dataset that may be downloaded and are not there.

    Parameters
    ----------
    name : str
        One of `DATASETS`; only Wine and Student have an address.

    Raises
    ------
    OSError
        If that fails, with a sentence that says where to put the files.

    Examples
    --------
    >>> fetch("synthetic 0.9")
    """
    if name == "wine":
        load_wine()
    elif name == "student":
        load_student()


def fingerprint(case: Case) -> str:
    """Return a short hash of all numbers of a case.

    Parameters
    ----------
    case : Case
        As `make_case` returns it.

    Returns
    -------
    str
        Sixteen hexadecimal digits.

    Examples
    --------
    >>> len(fingerprint(make_case("synthetic 0.9", 0, Settings(n_tasks=4))))
    16
    """
    found = hashlib.sha256()
    for rows in (case.full, case.held_out):
        for part in (rows.X, rows.y, rows.in_a):
            found.update(np.ascontiguousarray(part).tobytes())
        found.update("\n".join(map(str, rows.tasks)).encode())
    return found.hexdigest()[:16]
