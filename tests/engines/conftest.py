"""Every engine behind one fixture: rows in memory, in Parquet files, on a cluster."""

from itertools import pairwise

import numpy as np
import pytest

from rankfair import RankFairRegressor, stream
from rankfair.engines import chunked
from rankfair.solvers import streamed


@pytest.fixture(scope="session")
def cluster():
    """Two processes of one thread each."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture
def large(monkeypatch):
    """Rows stay where they are, however few; their predictions come together."""
    monkeypatch.setattr(chunked, "FEW_ROWS", 0)


@pytest.fixture
def huge(large, monkeypatch):
    """Predictions stay where they are too, and are counted in bins."""
    monkeypatch.setattr(streamed, "EXACT_ROWS", 0)


@pytest.fixture(params=["memory", "parquet", "dask"])
def engine(request, tmp_path):
    """A function that fits a frame and its target on one of the engines."""
    if request.param == "memory":
        return in_memory
    if request.param == "parquet":
        return lambda *given, **more: in_files(tmp_path, *given, **more)
    return lambda *given, **more: on_cluster(
        request.getfixturevalue("cluster"), *given, **more
    )


def in_memory(frame, y, weights=None, **settings):
    return RankFairRegressor(**settings).fit(frame, y, sample_weight=weights)


def in_files(folder, frame, y, weights=None, **settings):
    """Three files of uneven sizes, columns in another order in one, one file empty."""
    rows = beside(frame, y, weights)
    cut = len(rows) // 5
    parts = [rows[:cut], rows[cut:cut], rows[cut:][rows.columns[::-1]]]
    for i, part in enumerate(parts):
        part.to_parquet(folder / f"{i}.parquet", row_group_size=1 + len(rows) // 7)
    weight = None if weights is None else "the w"
    files = stream(folder, target="the y", sample_weight=weight)
    return RankFairRegressor(**settings).fit(files)


def on_cluster(client, frame, y, weights=None, **settings):
    """Uneven partitions, one of them empty."""
    import dask.dataframe as dd
    from dask import delayed

    rows = beside(frame, y, weights)
    edges = (np.array([0, 0.1, 0.1, 0.6, 0.65, 1]) * len(rows)).astype(int)
    parts = [rows.iloc[i:j] for i, j in pairwise(edges)]
    there = dd.from_delayed([delayed(part) for part in parts], meta=rows.iloc[:0])
    weight = None if weights is None else "the w"
    return RankFairRegressor(**settings).fit(there, "the y", sample_weight=weight)


def beside(frame, y, weights):
    """One frame with target and weights in it."""
    rows = frame.assign(**{"the y": np.asarray(y)}).reset_index(drop=True)
    return rows if weights is None else rows.assign(**{"the w": weights})
