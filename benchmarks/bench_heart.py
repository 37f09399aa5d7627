"""Speed and memory of the main estimator, as ratios measured in one run.

Every case runs in a process of its own.  Times are medians of five calls, the first
call of the process included; reference and ours are called in turn on the same data.

    python benchmarks/bench_heart.py                 all cases
    python benchmarks/bench_heart.py fit-ridge auc   some of them
    python benchmarks/bench_heart.py --write README.md   and put the table there
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

import numpy as np
from marks import put, row
from memory import forget_peak, peak, resident

REPEATS = 5


def biased_rows(n_rows: int, n_features: int, n_tasks: int) -> tuple[np.ndarray, ...]:
    """Rows in no order, tasks of uneven sizes, a group gap to be closed."""
    rng = np.random.default_rng(0)
    share = 0.9 * rng.dirichlet(np.full(n_tasks, 2.0)) + 0.1 / n_tasks
    tasks = rng.choice(n_tasks, n_rows, p=share)
    group = rng.random(n_rows) < 0.5
    X = np.empty((n_rows, n_features))
    rng.standard_normal(out=X)
    X[:, 0] = group
    X[:, 1] += 0.5 * group
    y = rng.standard_normal(n_rows)
    y += 1.5 * group
    y += 0.3 * rng.standard_normal(n_tasks)[tasks]
    slopes = 0.5 * np.abs(rng.standard_normal(n_features))
    for column, slope in zip(X.T, slopes, strict=True):
        y += slope * column
    return X, y, tasks, group


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes, after a pause.

    Threads of the last call's linear algebra keep a core busy for a while after it; the
    pause keeps either side from paying for the other's.
    """
    time.sleep(0.2)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def fit_ratio(penalty: str, n_tasks: int, n_rows: int = 1_000_000) -> dict[str, float]:
    """Our fit over one ``LinearRegression().fit``, called in turn."""
    from sklearn.linear_model import LinearRegression

    from rankfair import RankFairRegressor

    X, y, tasks, group = biased_rows(n_rows, 10, n_tasks)
    ours, theirs = [], []
    for _ in range(REPEATS):
        theirs.append(seconds(lambda: LinearRegression().fit(X, y)))
        model = RankFairRegressor(penalty=penalty)
        ours.append(
            seconds(lambda m=model: m.fit(X, y, tasks=tasks, sensitive_features=group))
        )
    assert model.status_ == "satisfied", model.status_
    return {
        "ratio": statistics.median(ours) / statistics.median(theirs),
        "seconds": statistics.median(ours),
        "reference seconds": statistics.median(theirs),
        "auc": model.rank_auc_,
    }


def growth() -> dict[str, float]:
    """The largest factor by which time grows from one power of ten to the next."""
    from rankfair import RankFairRegressor

    def median(n_rows: int) -> float:
        X, y, tasks, group = biased_rows(n_rows, 10, 1000)
        model = RankFairRegressor(penalty="ridge")
        return statistics.median(
            seconds(lambda: model.fit(X, y, tasks=tasks, sensitive_features=group))
            for _ in range(REPEATS)
        )

    times = [median(n_rows) for n_rows in (10**5, 10**6, 10**7)]
    return {
        "ratio": max(times[1] / times[0], times[2] / times[1]),
        "seconds at 1e5": times[0],
        "seconds at 1e6": times[1],
        "seconds at 1e7": times[2],
    }


def memory() -> dict[str, float]:
    """Peak memory of the process during a fit of 10⁷ rows, X itself included."""
    from rankfair import RankFairRegressor

    RankFairRegressor(penalty="ridge").fit(
        *biased_rows(1000, 10, 10)[:2],
        sensitive_features=biased_rows(1000, 10, 10)[3],
    )
    base = resident()
    X, y, tasks, group = biased_rows(10**7, 10, 1000)
    before = resident()
    forget_peak()  # building the data does not count
    RankFairRegressor(penalty="ridge").fit(X, y, tasks=tasks, sensitive_features=group)
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
    "fit-ridge": (
        "fit, 10⁶ rows × 10 × 1,000 uneven tasks, ridge / LinearRegression",
        "≤ 1.0",
        lambda: fit_ratio("ridge", 1000),
    ),
    "fit-task": (
        'the same with penalty="task"',
        "≤ 2.0",
        lambda: fit_ratio("task", 1000),
    ),
    "many-ridge": (
        "fit, 10⁶ rows × 10 × 40,000 uneven tasks, ridge / LinearRegression",
        "≤ 3.0",
        lambda: fit_ratio("ridge", 40_000),
    ),
    "many-task": (
        'the same with penalty="task"',
        "≤ 3.0",
        lambda: fit_ratio("task", 40_000),
    ),
    "growth": ("time, ten times the rows (10⁵ to 10⁷), worst", "≤ 12", growth),
    "memory": ("peak memory at 10⁷ × 10 / bytes of X, X included", "≤ 2.5", memory),
    "auc": ("roc_auc_score / rank_auc, 10⁶ rows", "≥ 3", auc),
}


def run(names: list[str]) -> list[dict[str, object]]:
    """Each case in a process of its own."""
    rows = []
    for name in names:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
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
