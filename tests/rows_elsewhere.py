"""The same rows in memory, in Parquet files and on a cluster, and fits of them."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from rankfair import RankFairRegressor, stream
from rankfair.engines.chunked import Sizes

BY = {"tasks": "task", "sensitive_features": "group"}
LARGE = {"few_rows": 0}  # rows stay where they are, however few
HUGE = {"few_rows": 0, "exact_rows": 0}  # predictions too: they are counted in bins


def random_rows(n_rows=12_000, n_tasks=12, n_features=4, seed=0):
    """A frame with a task and a group column, and its target; tasks are uneven."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(n_tasks, 3.0))
    task = rng.choice(n_tasks, n_rows, p=share)
    group = rng.random(n_rows) < 0.35
    X = rng.standard_normal((n_rows, n_features)) * 10.0 ** rng.integers(-2, 3)
    X[:, 0] += X[:, 0].std() * group
    slopes = rng.standard_normal(n_features) / X.std(axis=0)
    y = X @ slopes + group + rng.standard_normal(n_tasks)[task]
    y += rng.standard_normal(n_rows)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n_features)])
    labels = [f"t{i:03d}" for i in task]
    return frame.assign(task=labels, group=np.where(group, "b", "a")), 50.0 + 7.0 * y


def written(folder, *given, files=2, **named):
    """Random rows in some files, with their target ``y``; all of them as a frame."""
    frame, y = random_rows(*given, **named)
    frame["y"] = y
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), files)):
        frame.iloc[rows].to_parquet(folder / f"{i}.parquet", index=False)
    return frame


def sized(rows, **sizes):
    """The same stream, which an engine takes to be large from other sizes on."""
    return replace(rows, sizes=Sizes(**sizes))


def in_memory(frame, y, weights=None, sizes=None, **settings):
    return RankFairRegressor(**settings).fit(frame, y, sample_weight=weights)


def in_files(folder, frame, y, weights=None, sizes=None, **settings):
    """Three files of uneven sizes, columns in another order in one, one file empty."""
    rows = _beside(frame, y, weights)
    cut = len(rows) // 5
    parts = [rows[:cut], rows[cut:cut], rows[cut:][rows.columns[::-1]]]
    for i, part in enumerate(parts):
        part.to_parquet(folder / f"{i}.parquet", row_group_size=1 + len(rows) // 7)
    weight = None if weights is None else "the w"
    files = stream(folder, target="the y", sample_weight=weight)
    return RankFairRegressor(**settings).fit(sized(files, **(sizes or {})))


def on_cluster(frame, y, weights=None, sizes=None, **settings):
    """Uneven partitions, one of them empty."""
    import dask
    import dask.dataframe as dd

    rows = _beside(frame, y, weights)
    edges = (np.array([0, 0.1, 0.1, 0.6, 0.65, 1]) * len(rows)).astype(int)
    parts = [dask.delayed(rows.iloc[i:j]) for i, j in pairwise(edges)]
    there = dd.from_delayed(parts, meta=rows.iloc[:0])
    weight = None if weights is None else "the w"
    with dask.config.set({"rankfair.sizes": sizes or {}}):
        return RankFairRegressor(**settings).fit(there, "the y", sample_weight=weight)


def _beside(frame, y, weights):
    """One frame with target and weights in it."""
    rows = frame.assign(**{"the y": np.asarray(y)}).reset_index(drop=True)
    return rows if weights is None else rows.assign(**{"the w": weights})
