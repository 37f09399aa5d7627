"""
Why rows are counted as if they had been left out
=================================================

A constraint that holds on training rows drifts on new ones, the more the fewer rows a
task has.  ``count="loo"``, the default, counts the prediction of each row by the fit
without it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from rankfair import RankFairRegressor
from rankfair.metrics import rank_auc

# Three of the 48 models, with ten rows a task, do not reach the band and warn of it.
warnings.filterwarnings("ignore", message="No fit reached the band")
SIZES, SEEDS, TASKS, NEW = (10, 25, 50, 100), range(6), 50, 100


def draw(size, level, rng):
    """Tasks of unlike level; the first of three columns carries the group."""
    task = np.repeat(np.arange(TASKS), size)
    group = rng.random(len(task)) < 0.4
    X = rng.standard_normal((len(task), 3))
    X[:, 0] += group
    y = X @ [0.7, 0.4, 0.2] + level[task] + 0.6 * group
    return X, y + 0.7 * rng.standard_normal(len(task)), task, group


def auc_of_new_rows(size, seed, **settings):
    """AUC on new rows of a model whose band is ε = 0."""
    rng = np.random.default_rng(seed)
    level = 0.8 * rng.standard_normal(TASKS)
    X, y, task, group = draw(size, level, rng)
    model = RankFairRegressor(0.0, penalty="ridge", beta=1.0, **settings)
    model.fit(X, y, tasks=task, sensitive_features=group)
    X, _, task, group = draw(NEW, level, rng)
    return rank_auc(None, model.predict(X, tasks=task), sensitive_features=group)


# %%
# Nearly all of these models satisfy the constraint, each as it counts.  Only those that
# count left-out rows still do on new rows.
figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
for label, count in {
    "training rows": "train",
    "left-out rows (default)": "loo",
}.items():
    found = np.array(
        [[auc_of_new_rows(size, seed, count=count) for seed in SEEDS] for size in SIZES]
    )
    error = found.std(axis=1, ddof=1) / len(SEEDS) ** 0.5
    axis.errorbar(
        SIZES, found.mean(axis=1), 2 * error, marker="o", capsize=4, lw=2, label=label
    )
    print(label, found.mean(axis=1).round(3))
axis.axhline(0.5, color="0.5", lw=1)
axis.set(xscale="log", xlabel="training rows a task", ylabel="AUC on new rows")
axis.set_xticks(SIZES, map(str, SIZES))
axis.minorticks_off()
axis.set_title("Every task on its own, ε = 0 (bars: two standard errors)")
axis.legend(frameon=False, title="counted on")
