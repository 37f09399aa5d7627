"""Engines behind one fixture, to compare with memory: Parquet files, a cluster."""

from functools import partial

import pytest

from rows_elsewhere import in_files, on_cluster


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


@pytest.fixture(params=["parquet", "dask"])
def engine(request, tmp_path):
    """A function that fits a frame and its target where the rows are not in memory."""
    if request.param == "parquet":
        return partial(in_files, tmp_path)
    request.getfixturevalue("cluster")
    return on_cluster
