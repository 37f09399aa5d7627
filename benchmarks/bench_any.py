"""Raised groups of Wine and Student: refits to tilted targets against a constant shift.

Ten splits of 70/30 rows.  No model sees the group.  Errors are in standard deviations
of the target, all figures are held out and averaged over the splits, with the standard
error of the RMSE.  The shift is what one does without this library: move the
predictions of the plain model by a constant for each group, learnt on the training rows
or on predictions out of fold; it needs the group of new rows, refits do not.  "linear"
is RankFairRegressor on the same rows.

    python benchmarks/bench_any.py                      all regressors, ten splits
    python benchmarks/bench_any.py ridge trees --seeds 2

AUC alone can be had cheaply: read |MD|, the difference of the group means, and KS, the
distance of their distributions, beside it.

How the rows are split moves the AUC of 1,950 new rows by 0.02 (a standard deviation, of
any method that is level on average), so ten splits tell |AUC - 0.5| to about 0.005.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tilts import EPSILON, Made, level_steps, out_of_fold, tilted

from rankfair import RankFairRegressor
from rankfair.datasets.student import load_student
from rankfair.datasets.wine import load_wine
from rankfair.metrics import mean_difference, rank_auc, rmse

COLUMNS = ("RMSE", "±", "|AUC-.5|", "AUC", "|MD|", "KS", "refits", "s")
DATA: dict[str, Callable[..., Any]] = {"wine": load_wine, "student": load_student}

REGRESSORS: dict[str, Callable[[], Any]] = {
    "trees": HistGradientBoostingRegressor,
    # On these noisy targets the default ones predict no better than a line.
    "small-trees": lambda: HistGradientBoostingRegressor(
        learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=40
    ),
    "ridge": lambda: make_pipeline(StandardScaler(), Ridge()),
    "forest": lambda: RandomForestRegressor(
        40, min_samples_leaf=20, max_features=0.5, random_state=0
    ),
    "mlp": lambda: make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(16,), alpha=1.0, max_iter=40, random_state=0),
    ),
}


def split(name: str, seed: int) -> tuple[Any, ...]:
    """Features without the group, targets in standard deviations, groups 0 and 1."""
    data = DATA[name](biased=True, random_state=seed)
    group = (data.sensitive == data.group_a).astype(int)
    y = (data.target - data.target.mean()) / data.target.std()
    return train_test_split(data.X, y, group, test_size=0.3, random_state=seed)


def predictions(plain: Any, rows: tuple[Any, ...], seed: int) -> Iterator[Made]:
    """Held-out predictions of each method, its refits and seconds."""
    X, new, y, _, group, new_group = rows
    start = time.perf_counter()
    model = clone(plain).fit(X, y)
    m = model.predict(new)
    yield "plain", m, 0, time.perf_counter() - start
    yield "shift", m + level_steps(model.predict(X), group)[new_group], 0, 0.0
    unseen = out_of_fold(plain, X, y, group, seed)
    yield "shift, out of fold", m + level_steps(unseen, group)[new_group], 0, 0.0
    yield from tilted(plain, X, y, group, new, seed, time.perf_counter)
    start = time.perf_counter()
    linear = RankFairRegressor(EPSILON).fit(X, y, sensitive_features=group)
    yield "linear", linear.predict(new), 0, time.perf_counter() - start


def measures(name: str, plain: Any, seeds: int) -> dict[str, np.ndarray]:
    """Method → a row of figures for each split."""
    table: dict[str, list[list[float]]] = {}
    for seed in range(seeds):
        rows = split(name, seed)
        y, group = rows[3], rows[5]
        for method, m, refits, seconds in predictions(plain, rows, seed):
            auc = rank_auc(y, m, sensitive_features=group)
            gap = mean_difference(y, m, sensitive_features=group)
            far = ks_2samp(m[group == 1], m[group == 0]).statistic
            figures = [rmse(y, m), 0.0, abs(auc - 0.5), auc, abs(gap), far]
            table.setdefault(method, []).append([*figures, refits, seconds])
    return {method: np.array(figures) for method, figures in table.items()}


def report(data: str, name: str, seeds: int) -> None:
    table = measures(data, REGRESSORS[name](), seeds)
    title = f"{data}, {name}"
    print(f"\n{title:20s}" + "".join(f"{column:>10s}" for column in COLUMNS))
    for method, figures in table.items():
        means, spread = figures.mean(axis=0), figures[:, 0].std(ddof=1)
        means[1] = spread / np.sqrt(seeds)
        cells = "".join(f"{value:10.4f}" for value in means[:6])
        rest = "".join(f"{value:10.1f}" for value in means[6:])
        print(f"{method:20s}{cells}{rest}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("regressors", nargs="*", metavar="|".join(REGRESSORS))
    parser.add_argument("--seeds", type=int, default=10)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # networks stopped early
    warnings.filterwarnings("ignore", "predictor .* tells the groups apart alone")
    for data in DATA:
        for name in asked.regressors or REGRESSORS:
            report(data, name, asked.seeds)


if __name__ == "__main__":
    main()
