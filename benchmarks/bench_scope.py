"""A band in every task against one over all rows: time as a ratio, in one run.

The two fits are called in turn on the same data; times are medians of five calls.
"outside" counts tasks with both groups that exact counts of the predictions put outside
their band, "listed" those without both groups.  A fit over all rows that has nothing to
do is marked: its time is that of reading and fitting without any constraint.

    python benchmarks/bench_scope.py                    all cases
    python benchmarks/bench_scope.py crime-sized --repeats 3
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rankfair import RankFairRegressor
from rankfair.constraints import Rank
from rankfair.constraints.by_task import in_every_task
from rankfair.core.blocks import sorted_by_task
from rankfair.core.by_task import Segments
from rankfair.core.problem import Groups
from rankfair.datasets.crime import load_crime
from rankfair.datasets.synthetic import make_biased_tasks

EPSILON, GOAL = 0.01, 5.0
PENALTIES = ("pool", "task", "ridge", "feature", "shared")
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def coded(labels: np.ndarray) -> np.ndarray:
    return np.unique(labels, return_inverse=True)[1]


def synthetic(n_tasks: int, n_per_task: int) -> Rows:
    data = make_biased_tasks(n_tasks, n_per_task, random_state=0)
    return data.X, data.target, coded(data.tasks), data.sensitive == "1"


def wide(n_tasks: int, n_per_task: int, n_features: int) -> Rows:
    """As many features as Crime has; groups vary by row and differ in the target."""
    rng = np.random.default_rng(0)
    n = n_tasks * n_per_task
    tasks, in_a = np.repeat(np.arange(n_tasks), n_per_task), rng.random(n) < 0.4
    X = rng.standard_normal((n, n_features))
    X[:, 0] += in_a
    slopes = rng.uniform(0, 0.5, n_features)
    y = X @ slopes + 0.5 * in_a + rng.standard_normal(n_tasks)[tasks]
    return X, y + rng.standard_normal(n), tasks, in_a


def crime(biased: bool) -> Rows:
    """The real rows, with a group drawn by row: at random, or the likelier the more
    crimes."""
    data = load_crime()
    rng = np.random.default_rng(0)
    pull = (data.target > np.median(data.target)) * 0.4 if biased else 0.2
    in_a = rng.random(len(data.target)) < 0.3 + pull
    return data.X, data.target, coded(data.tasks), in_a


def small(n_tasks: int) -> Rows:
    """Tasks of 3 to 20 rows."""
    sizes = np.random.default_rng(0).integers(3, 21, n_tasks)
    data = make_biased_tasks(n_tasks, sizes.tolist(), random_state=0)
    return data.X, data.target, coded(data.tasks), data.sensitive == "1"


CASES: dict[str, Callable[[], Rows]] = {
    "crime-sized": lambda: wide(801, 52, 14),
    "synthetic 801 × 52": lambda: synthetic(801, 52),
    "synthetic 1000 × 1000": lambda: synthetic(1000, 1000),
    "40,000 small tasks": lambda: small(40_000),
    "Crime, groups by crimes": lambda: crime(biased=True),
    "Crime, random groups": lambda: crime(biased=False),
}


def seconds(model: Any, rows: Rows) -> float:
    X, y, tasks, in_a = rows
    start = time.perf_counter()
    model.fit(X, y, tasks=tasks, sensitive_features=in_a)
    return time.perf_counter() - start


def outside(model: Any, rows: Rows) -> int:
    """Tasks outside their band by counts of what the fitted model predicts."""
    X, _, tasks, in_a = rows
    order, _, sizes = sorted_by_task(tasks, len(model.tasks_))
    segments = Segments(sizes, Groups(in_a[order]))
    every = in_every_task(Rank(EPSILON), segments, np.zeros(len(order)))
    values = every.values(model.predict(X, tasks=tasks)[order])
    return int(np.count_nonzero(~every.kept(values)))


def compare(name: str, rows: Rows, penalty: str, repeats: int) -> bool:
    every = RankFairRegressor(EPSILON, penalty=penalty, count="train")
    task = RankFairRegressor(EPSILON, penalty=penalty, count="train", scope="task")
    pairs = [(seconds(every, rows), seconds(task, rows)) for _ in range(repeats)]
    of_all, of_tasks = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio, out = of_tasks / of_all, outside(task, rows)
    rest = " (nothing to do)" if every.status_ == "inactive" else ""
    listed = len(task.unbalanced_tasks_)
    print(
        f"{name:24} {penalty:8} {of_all:8.3f} {of_tasks:8.3f} {ratio:6.2f} "
        f"{out:8} {listed:7}  {task.status_}{rest}",
        flush=True,
    )
    return ratio <= GOAL and out == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--penalties", nargs="*", default=PENALTIES)
    options = parser.parse_args()
    print(
        f"{'case':24} {'penalty':8} {'global':>8} {'task':>8} {'ratio':>6} "
        f"{'outside':>8} {'listed':>7}"
    )
    missed = []
    for name in options.cases or CASES:
        try:
            rows = CASES[name]()
        except FileNotFoundError:
            print(f"{name:24} skipped: the file is not here")
            continue
        for penalty in options.penalties:
            if not compare(name, rows, penalty, options.repeats):
                missed.append(f"{name} ({penalty})")
    print(f"goal: ratio at most {GOAL:g}, none outside; missed: {missed or 'none'}")


if __name__ == "__main__":
    main()
