"""Speed and memory of the main estimator, as ratios measured in one run.

Every case runs in a process of its own, with one thread.  Times are CPU time, medians
of seven calls, the first call of the process included; reference and ours are called in
turn on the same data.  Ours is `RankFairRegressor()` as it is, unless a case says so.

    python benchmarks/bench_heart.py                 all cases
    python benchmarks/bench_heart.py fit-easy auc    some of them
    python benchmarks/bench_heart.py --write docs/scale.md   and put the table there
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from marks import put, row
from memory import forget_peak, peak, resident

REPEATS = 7
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
MEASURED = "measured only"


def uneven_tasks(n_rows: int, n_tasks: int, rng: np.random.Generator) -> np.ndarray:
    """The task of each row: rows in no order, tasks of uneven sizes."""
    share = 0.9 * rng.dirichlet(np.full(n_tasks, 2.0)) + 0.1 / n_tasks
    return rng.choice(n_tasks, n_rows, p=share)


def easy_rows(n_rows: int, n_features: int, n_tasks: int) -> tuple[np.ndarray, ...]:
    """Independent predictors, one of which tells of the group; the group shifts y."""
    rng = np.random.default_rng(0)
    tasks = uneven_tasks(n_rows, n_tasks, rng)
    group = rng.random(n_rows) < 0.5
    X = np.empty((n_rows, n_features))
    rng.standard_normal(out=X)
    X[:, 1] += 0.5 * group
    y = rng.standard_normal(n_rows)
    y += 1.5 * group
    y += 0.3 * rng.standard_normal(n_tasks)[tasks]
    slopes = 0.5 * np.abs(rng.standard_normal(n_features))
    for column, slope in zip(X.T, slopes, strict=True):
        y += slope * column
    return X, y, tasks, group


def hard_rows(n_rows: int, n_features: int, n_tasks: int) -> tuple[np.ndarray, ...]:
    """Predictors that each carry the target, `0.5 y + noise`; the group shifts y."""
    rng = np.random.default_rng(0)
    tasks = uneven_tasks(n_rows, n_tasks, rng)
    group = rng.random(n_rows) < 0.5
    y = rng.standard_normal(n_rows)
    y += 1.5 * group
    y += 0.3 * rng.standard_normal(n_tasks)[tasks]
    X = np.empty((n_rows, n_features))
    rng.standard_normal(out=X)
    for column in X.T:
        column += 0.5 * y
    return X, y, tasks, group


DESIGNS = {"easy": easy_rows, "hard": hard_rows}


def seconds(call: Callable[[], object]) -> float:
    """The CPU time of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def linear_regression() -> Any:
    """One ordinary regression of all rows."""
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def ridge_cv() -> Any:
    """What a user would call who wants the penalty to be chosen."""
    from sklearn.linear_model import RidgeCV

    return RidgeCV(alphas=np.logspace(-1, 4, 11))


def fit_ratio(
    design: str = "easy",
    n_rows: int = 1_000_000,
    n_tasks: int = 1000,
    reference: Callable[[], Any] = linear_regression,
    status: str = "satisfied",
    **settings: Any,
) -> dict[str, float]:
    """Our fit over one of scikit-learn's, called in turn."""
    from rankfair import RankFairRegressor

    X, y, tasks, group = DESIGNS[design](n_rows, 10, n_tasks)
    ours, theirs = [], []
    for _ in range(REPEATS):
        theirs.append(seconds(lambda: reference().fit(X, y)))
        model = RankFairRegressor(**settings)
        ours.append(
            seconds(lambda m=model: m.fit(X, y, tasks=tasks, sensitive_features=group))
        )
    assert model.status_ == status, model.status_
    return {
        "ratio": statistics.median(ours) / statistics.median(theirs),
        "seconds": statistics.median(ours),
        "reference seconds": statistics.median(theirs),
        "rounds": model.n_iter_,
        "auc": model.rank_auc_,
    }


def growth() -> dict[str, float]:
    """The largest factor by which time grows from one power of ten to the next.

    Medians of three calls: the largest takes most of the time of this script.
    """
    from rankfair import RankFairRegressor

    def median(n_rows: int) -> float:
        X, y, tasks, group = easy_rows(n_rows, 10, 1000)
        model = RankFairRegressor()
        return statistics.median(
            seconds(lambda: model.fit(X, y, tasks=tasks, sensitive_features=group))
            for _ in range(3)
        )

    times = [median(n_rows) for n_rows in (10**5, 10**6, 10**7)]
    return {
        "ratio": max(times[1] / times[0], times[2] / times[1]),
        "seconds at 1e5": times[0],
        "seconds at 1e6": times[1],
        "seconds at 1e7": times[2],
    }


def memory(**settings: str) -> dict[str, float]:
    """Peak memory of the process during a fit of 10⁷ rows, X itself included."""
    from rankfair import RankFairRegressor

    X, y, tasks, group = easy_rows(1000, 10, 10)
    RankFairRegressor(**settings).fit(X, y, tasks=tasks, sensitive_features=group)
    base = resident()
    X, y, tasks, group = easy_rows(10**7, 10, 1000)
    before = resident()
    forget_peak()  # building the data does not count
    RankFairRegressor(**settings).fit(X, y, tasks=tasks, sensitive_features=group)
    most = peak()
    return {
        "ratio": 1 + (most - before) / X.nbytes,
        "peak over X alone": (most - base) / X.nbytes,
        "added by the fit": (most - before) / X.nbytes,
    }


def auc() -> dict[str, float]:
    """scikit-learn's ``roc_auc_score`` over our ``rank_auc`` at a million rows."""
    from sklearn.metrics import roc_auc_score

    from rankfair.metrics import rank_auc

    rng = np.random.default_rng(0)
    group, score = rng.random(10**6) < 0.5, rng.standard_normal(10**6)
    ours, theirs = [], []
    for _ in range(REPEATS):
        theirs.append(seconds(lambda: roc_auc_score(group, score)))
        ours.append(seconds(lambda: rank_auc(score, score, sensitive_features=group)))
    return {
        "ratio": statistics.median(theirs) / statistics.median(ours),
        "seconds": statistics.median(ours),
        "reference seconds": statistics.median(theirs),
    }


CASES: dict[str, tuple[str, str, Callable[[], dict[str, float]]]] = {
    "fit-easy": (
        "fit, 10⁶ rows × 10 × 1,000 uneven tasks / LinearRegression",
        "≤ 1.0",
        lambda: fit_ratio("easy"),
    ),
    "fit-hard": (
        "the same, columns `0.5 y + noise`",
        "≤ 1.0",
        lambda: fit_ratio("hard"),
    ),
    "cv-easy": (
        "fit, 10⁶ rows × 10 × 1,000 uneven tasks / RidgeCV of 11 penalties",
        "≤ 0.3",
        lambda: fit_ratio("easy", reference=ridge_cv),
    ),
    "cv-hard": (
        "the same, columns `0.5 y + noise`",
        "≤ 0.3",
        lambda: fit_ratio("hard", reference=ridge_cv),
    ),
    "small-easy": (
        "fit, 10⁵ rows × 10 × 300 uneven tasks / LinearRegression",
        "≤ 4",
        lambda: fit_ratio("easy", n_rows=10**5, n_tasks=300),
    ),
    "small-hard": (
        "the same, columns `0.5 y + noise`",
        "≤ 4",
        lambda: fit_ratio("hard", n_rows=10**5, n_tasks=300),
    ),
    "fit-ridge": (
        '10⁶ rows, hard, penalty="ridge", beta=1.0, count="train" / LinearRegression',
        "≤ 0.8",
        lambda: fit_ratio("hard", penalty="ridge", beta=1.0, count="train"),
    ),
    "many": (
        "fit, 10⁶ rows × 10 × 40,000 uneven tasks / LinearRegression",
        "≤ 3",
        lambda: fit_ratio(n_tasks=40_000),
    ),
    "many-ridge": (
        'the same, penalty="ridge", which ends infeasible: 25 rows a task, not pooled',
        MEASURED,
        lambda: fit_ratio(n_tasks=40_000, penalty="ridge", status="infeasible"),
    ),
    "growth": ("time, ten times the rows (10⁵ to 10⁷), worst", "≤ 12", growth),
    "memory": ("peak memory at 10⁷ × 10 / bytes of X, X included", "≤ 1.8", memory),
    "memory-ridge": (
        'the same, penalty="ridge"',
        "≤ 1.8",
        lambda: memory(penalty="ridge"),
    ),
    "auc": ("roc_auc_score / rank_auc, 10⁶ rows", "≥ 3", auc),
}


def run(names: list[str]) -> list[dict[str, object]]:
    """Each case in a process of its own."""
    rows = []
    for name in names:
        environment = {**os.environ, **ONE_THREAD, "PYTHONWARNINGS": "ignore"}
        out = subprocess.run(
            [sys.executable, __file__, "--case", name],
            check=True,
            capture_output=True,
            text=True,
            env=environment,
        )
        result = json.loads(out.stdout)
        rows.append({"case": name, **result})
        rest = ", ".join(f"{k} {v:.3g}" for k, v in result.items() if k != "ratio")
        label, target, _ = CASES[name]
        print(f"{result['ratio']:7.3g}  ({target})  {label}: {rest}", flush=True)
    return rows


def table(rows: list[dict[str, object]]) -> str:
    """The results as a Markdown table."""
    lines = ["| measured in one run | ratio | target |", "|---|---|---|"]
    for found in rows:
        label, target, _ = CASES[str(found["case"])]
        lines.append(row((label, f"{found['ratio']:.3g}", target)))
    return "\n".join(lines)


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*CASES, []], help="cases to run")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help="a Markdown file with the marks")
    arguments = parser.parse_args()
    if arguments.case:
        print(json.dumps(CASES[arguments.case][2]()))
        return
    rows = run(arguments.names or list(CASES))
    if arguments.write:
        put(arguments.write, "bench", table(rows))


if __name__ == "__main__":
    main()
