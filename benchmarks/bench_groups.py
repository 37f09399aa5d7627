"""Three groups: refits to tilted targets against a constant shift of each group.

Each split has 1,400 rows to learn from and 4,600 new ones of synthetic data, 730 and
314 of Student.  Errors are in standard deviations of the target, all figures are held
out and averaged over the splits; "gap" is the largest |AUC - 0.5| of a group against
the rest, and KS the largest of any two groups.  No model sees the group.  The shift is
what one does without a refit: predictions of the plain model are moved by a constant
for each group, which closes the gap on the training rows, or on predictions out of
fold; it needs the group of new rows, refits do not.

    python benchmarks/bench_groups.py                   both datasets, ten splits
    python benchmarks/bench_groups.py student --seeds 2
    python benchmarks/bench_groups.py --write docs/python.md

Groups of Student are the mother's education: none to middle school, secondary, higher.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from marks import put, row
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tilts import Made, level_steps, out_of_fold, tilted

from rankfair.datasets.student import load_student
from rankfair.metrics import rank_gap, rmse

TRAINING = {"synthetic": 1400, "student": 730}
COLUMNS = ("RMSE", "/shift", "gap", "KS", "refits", "s")


def synthetic(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three groups of unlike size, apart in features, targets and spread."""
    rng = np.random.default_rng(seed)
    z = rng.choice(3, 6000, p=[0.5, 0.3, 0.2])
    X = rng.normal(size=(6000, 5)) + np.outer(z, [0.5, 0.0, 0.25, 0.0, -0.2])
    y = X[:, :3] @ [1.0, 0.5, -0.3] + np.sin(2 * X[:, 1]) + 0.4 * z
    y += (0.5 + 0.25 * z) * rng.normal(size=6000)
    return X, y, z


def student(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Final grades; the mother's education is the group, and out of the features."""
    data = load_student()
    at = data.feature_names.index("Medu")
    z = np.searchsorted([2.5, 3.5], data.X[:, at])
    return np.delete(data.X, at, 1), data.target, z


DATA: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray, np.ndarray]]] = {
    "synthetic": synthetic,
    "student": student,
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
    "trees": HistGradientBoostingRegressor,
}


def predictions(plain: Any, rows: tuple[Any, ...], seed: int) -> Iterator[Made]:
    """Held-out predictions of each method, its refits and seconds."""
    X, new, y, _, z, new_z = rows
    start = time.process_time()
    model = clone(plain).fit(X, y)
    m = model.predict(new)
    yield "plain", m, 0, time.process_time() - start
    yield "shift", m + level_steps(model.predict(X), z)[new_z], 0, 0.0
    unseen = out_of_fold(plain, X, y, z, seed)
    yield "shift, out of fold", m + level_steps(unseen, z)[new_z], 0, 0.0
    yield from tilted(plain, X, y, z, new, seed, time.process_time)


def farthest(m: np.ndarray, z: np.ndarray) -> float:
    """The largest KS of any two groups."""
    sides = [m[z == g] for g in range(3)]
    return max(ks_2samp(a, b).statistic for a, b in combinations(sides, 2))


def measure(dataset: str, name: str, seeds: int) -> dict[str, np.ndarray]:
    """The figures of `COLUMNS` for each method, means over the splits."""
    table: dict[str, list[list[float]]] = {}
    for seed in range(seeds):
        X, y, z = DATA[dataset](seed)
        y = (y - y.mean()) / y.std()
        rows = train_test_split(
            X, y, z, train_size=TRAINING[dataset], random_state=seed, stratify=z
        )
        new_z = rows[5]
        for method, m, refits, seconds in predictions(REGRESSORS[name](), rows, seed):
            gap, ks = rank_gap(None, m, sensitive_features=new_z), farthest(m, new_z)
            figures = [rmse(rows[3], m), 0.0, gap, ks, refits, seconds]
            table.setdefault(method, []).append(figures)
    means = {method: np.mean(rows, axis=0) for method, rows in table.items()}
    for figures in means.values():
        figures[1] = figures[0] / means["shift"][0]
    return means


def show(dataset: str, name: str, means: dict[str, np.ndarray]) -> None:
    print(f"\n{dataset}, {name:10s}".ljust(21) + "".join(f"{c:>10s}" for c in COLUMNS))
    for method, figures in means.items():
        cells = "".join(f"{value:10.4f}" for value in figures[:4])
        rest = "".join(f"{value:10.1f}" for value in figures[4:])
        print(f"{method:20s}{cells}{rest}", flush=True)


def page(results: dict[tuple[str, str], dict[str, np.ndarray]], seeds: int) -> str:
    """A Markdown table of all results, and how many splits they are means of."""
    lines = [
        f"Means over {seeds} split{'s' if seeds > 1 else ''}:",
        "",
        "| data | model | method | RMSE | of the shift's | rank gap | KS | refits |",
        "|---|---|---|--:|--:|--:|--:|--:|",
    ]
    for (dataset, name), means in results.items():
        for method, figures in means.items():
            error, part, gap, ks, refits, _ = figures
            cells = [f"{error:.3f}", f"{part:.3f}", f"{gap:.4f}", f"{ks:.3f}"]
            lines.append(row([dataset, name, method, *cells, f"{refits:.1f}"]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", nargs="*", metavar="|".join(DATA))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--write", type=Path, help="a page to put the table into")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = {}
    for dataset in asked.datasets or DATA:
        for name in REGRESSORS:
            means = results[dataset, name] = measure(dataset, name, asked.seeds)
            show(dataset, name, means)
    if asked.write:
        put(asked.write, "groups", page(results, asked.seeds))


if __name__ == "__main__":
    main()
