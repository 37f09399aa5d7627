"""Five times twofold cross-validation of all methods on all datasets."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.marks import put

from .cases import CASES, Rows, read
from .methods import METHODS, Method
from .results import FIGURES, Results, measure, page

PAGE = Path(__file__).parents[2] / "docs" / "citizen.md"
PACKAGES = ("rankfair", "scikit-learn", "lightgbm", "fairlearn", "equipy", "numpy")


def splits(rows: Rows, times: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Halves with the same tasks and groups, each fitted and each held out."""
    strata = [f"{task} {a}" for task, a in zip(rows.tasks, rows.in_a, strict=True)]
    return [
        half
        for seed in range(times)
        for half in StratifiedKFold(2, shuffle=True, random_state=seed).split(
            np.zeros(len(strata)), strata
        )
    ]


def figures_of(
    rows: Rows,
    train: np.ndarray,
    test: np.ndarray,
    methods: Sequence[Method] = METHODS,
) -> list[list[float]]:
    """The figures of every method on one split."""
    fitted, new = rows.take(train), rows.take(test)
    unit, found = float(fitted.y.std()), []
    for method in methods:
        start = time.process_time()
        m = np.asarray(method.fit(fitted)(new), dtype=float)
        seconds = time.process_time() - start
        found.append(measure(m, new, unit, seconds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.citizen")
    parser.add_argument("names", nargs="*", help=f"datasets: {', '.join(CASES)}")
    parser.add_argument(
        "--quick", action="store_true", help="twofold once; prints the page"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    start, names = time.process_time(), tuple(arguments.names or CASES)
    values, n_rows = [], []
    for name in names:
        rows = read(CASES[name])
        halves = splits(rows, 1 if arguments.quick else 5)
        values.append([figures_of(rows, *half) for half in halves])
        n_rows.append(len(rows.y))
        minutes = (time.process_time() - start) / 60
        print(f"{name}: {len(rows.y):,} rows, {minutes:.1f} minutes", flush=True)
    # (datasets, splits, methods, figures) as they came
    found = Results(names, tuple(n_rows), np.swapaxes(np.array(values), 1, 2))
    assert found.values.shape[-1] == len(FIGURES)
    versions = [f"{package} {version(package)}" for package in PACKAGES]
    text = page(found, (time.process_time() - start) / 60, versions)
    if arguments.quick or arguments.names:
        print(text)
    else:
        put(PAGE, "citizen", text)


if __name__ == "__main__":
    main()
