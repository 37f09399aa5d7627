"""Dask frames: what is taken, what is refused, and a worker that is lost."""

import itertools
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest

from clusters import one_worker, scheduler, started
from rankfair import RankFairRegressor
from rankfair.engines import cluster as engine

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

BY = {"tasks": "task", "sensitive_features": "group"}


def rows(n_rows=6000):
    rng = np.random.default_rng(0)
    group = rng.random(n_rows) < 0.4
    frame = pd.DataFrame(rng.standard_normal((n_rows, 3)), columns=["a", "b", "c"])
    frame["a"] += group
    pay = frame.sum(axis=1) + group + rng.standard_normal(n_rows)
    return frame.assign(pay=pay, task=rng.integers(0, 5, n_rows), group=group)


def test_a_series_and_predictions(cluster):
    frame = rows(600)
    there = dd.from_pandas(frame, npartitions=3)
    X = there.drop(columns="pay")
    model = RankFairRegressor(0.02, **BY).fit(X, there["pay"])
    known = RankFairRegressor(0.02, **BY).fit(frame.drop(columns="pay"), frame["pay"])
    np.testing.assert_allclose(model.coef_, known.coef_, rtol=1e-9)
    assert list(model.feature_names_in_) == ["a", "b", "c", "task", "group"]
    found = model.predict(X)
    assert isinstance(found, dd.Series)
    done = found.compute()
    np.testing.assert_allclose(done, known.predict(frame.drop(columns="pay")))
    assert done.index.equals(frame.index)


@pytest.mark.parametrize(
    ("change", "y", "words"),
    [
        (lambda f: f, None, 'fit needs the target: name its column, fit.frame, "pay"'),
        (lambda f: f, "pai", '"pai" is no column of the frame. Did you mean "pay"'),
        (
            lambda f: f,
            np.zeros(600),
            "y is a ndarray, but the rows are in a Dask",
        ),
        (
            lambda f: f.rename(columns={"a": 3}),
            "pay",
            "column 3 of the frame has no",
        ),
        (
            lambda f: f.set_axis(["a", "b", "a", *f.columns[3:]], axis=1),
            "pay",
            'the frame has several columns called "a": give each',
        ),
        (lambda f: f.assign(a="x"), "pay", 'column "a" holds .*: predictors, target'),
        (lambda f: f.drop(columns="task"), "pay", '"task" is no column of the frame'),
        (lambda f: f.assign(group=1), "pay", "has one group only"),
        (
            lambda f: f.assign(a=np.nan),
            "pay",
            "partition .: column 'a' has 300 ",
        ),
        (lambda f: f[:0], "pay", "there are no rows: there is nothing to fit"),
    ],
)
def test_what_cannot_be_fitted(cluster, change, y, words):
    there = dd.from_pandas(change(rows(600)), npartitions=2)
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(**BY).fit(there, y)


def test_places_of_columns_and_columns_that_are_gone(cluster):
    there = dd.from_pandas(rows(600), npartitions=2)
    with pytest.raises(ValueError, match=r"tasks=3: columns .* by their names"):
        RankFairRegressor(tasks=3, sensitive_features="group").fit(there, "pay")
    known = rows(600).drop(columns="pay")
    model = RankFairRegressor(0.02, **BY).fit(known, rows(600)["pay"])
    with pytest.raises(ValueError, match='a column "b", which the frame does not'):
        model.predict(there.drop(columns="b"))


def test_shares_are_even(cluster):
    parts = [pd.DataFrame({"a": np.zeros(size)}) for size in (50, 3, 40, 0, 7, 100)]
    worker = sorted(cluster.nthreads())[0]
    futures = cluster.scatter(parts, workers=[worker])
    shares = engine.shares_of(engine.Cluster(cluster), futures)
    assert sorted(itertools.chain(*shares)) == list(range(6))
    assert len(shares) == 2
    sizes = [sum(len(parts[i]) for i in share) for share in shares]
    assert max(sizes) <= 1.25 * 100


def test_what_is_large_is_lent(cluster, monkeypatch):
    small, large = partial(np.add, 1.0), partial(np.add, np.zeros(200_000))
    here = engine.Cluster(cluster)
    assert engine.lend(here, small) is small
    monkeypatch.setattr(engine, "LARGE", 1 << 10)
    futures = engine.asked(here, large, [1.0, 2.0])
    assert [float(each[0]) for each in cluster.gather(futures)] == [1.0, 2.0]
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": 10_000}):
        (found,) = engine.said(here, large, [3.0])
    assert found[-1] == 3.0


@pytest.mark.parametrize("n_tasks", [5, 400])
def test_workers_in_this_process(monkeypatch, n_tasks):
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 1 << 10)
    frame = rows()
    frame["task"] = np.arange(len(frame)) % n_tasks
    frame["w"] = np.arange(len(frame)) % 3
    by = {**BY, "penalty": "ridge"}
    X = frame.drop(columns=["pay", "w"])
    known = RankFairRegressor(0.5, **by).fit(X, frame["pay"], sample_weight=frame["w"])
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=2, dashboard_address=":0"
    ):
        there = dd.from_pandas(frame, npartitions=5)
        found = RankFairRegressor(0.5, **by).fit(there, "pay", sample_weight="w")
        fair = RankFairRegressor(0.02, **by).fit(there, "pay", sample_weight="w")
        out = fair.predict(there.drop(columns=["pay", "w"])).compute()
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(out, fair.predict(X))
    assert fair.status_ == "satisfied"


@pytest.mark.parametrize("large", [1 << 20, 0])
def test_a_worker_is_lost(monkeypatch, large):
    """The fit ends with the model that it would have given anyway."""
    monkeypatch.setattr(engine, "LARGE", large)
    monkeypatch.setattr("rankfair.engines.chunked.FEW_ROWS", 1 << 10)
    frame = rows()
    known = RankFairRegressor(0.02, **BY).fit(frame.drop(columns="pay"), frame["pay"])
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as made,
        distributed.Client(made) as client,
    ):
        there = dd.from_pandas(frame, npartitions=6)
        whole = RankFairRegressor(0.02, **BY).fit(there, "pay")
        killed = threading.Event()
        each = engine.OnWorkers.each

        def kill_first(self, function):
            """Kill a worker that has rows and lines, before it is asked for them."""
            if not killed.is_set():
                killed.set()
                pid = client.run(os.getpid)
                os.kill(next(iter(pid.values())), signal.SIGKILL)
            return each(self, function)

        monkeypatch.setattr(engine.OnWorkers, "each", kill_first)
        found = RankFairRegressor(0.02, **BY).fit(there, "pay")
    assert killed.is_set()
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-7)
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-6)
    assert found.status_ == "satisfied"


NO_WORKERS = {"distributed.scheduler.no-workers-timeout": "3s"}


def dying(frame):
    """Rows that end the worker that has them."""
    # Workers get a nameless function as it is, and do not import this module for it.
    return frame.map_partitions(lambda _: os.kill(os.getpid(), 9), meta=frame)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_all_workers_are_lost(when):
    with one_worker() as (client, worker), dask.config.set(NO_WORKERS):
        there = dd.from_pandas(rows(600), npartitions=3)
        if when == "before":
            worker.kill()
            worker.wait()
        else:
            there = dying(there)
        start, model = time.monotonic(), RankFairRegressor(**BY)
        words = f"the cluster at {client.scheduler.address} failed: no workers for 3 s"
        with pytest.raises(ConnectionError, match=words):
            model.fit(there, "pay")
        assert time.monotonic() - start < 30
        assert not hasattr(model, "coef_")


def test_rows_that_end_every_worker():
    allowed = {"distributed.scheduler.allowed-failures": 0}
    with one_worker(**allowed), dask.config.set(NO_WORKERS):
        there = dd.from_pandas(rows(600), npartitions=1)
        with pytest.raises(ConnectionError, match="but all those workers died while"):
            RankFairRegressor(**BY).fit(dying(there), "pay")


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGKILL"])
def test_the_scheduler_is_lost(tmp_path, name):
    there = dd.from_pandas(rows(600), npartitions=3)
    with (
        dask.config.set({**NO_WORKERS, "distributed.comm.timeouts.connect": "3s"}),
        scheduler(tmp_path) as (process, address),
        distributed.Client(address) as client,
    ):
        assert client.scheduler.address == address
        process.send_signal(getattr(signal, name))
        start = time.monotonic()
        with pytest.raises(ConnectionError, match=f"the cluster at {address} failed"):
            RankFairRegressor(**BY).fit(there, "pay")
        assert time.monotonic() - start < 30


def test_a_worker_that_comes_late_is_waited_for(tmp_path):
    frame = rows(600)
    there = dd.from_pandas(frame, npartitions=3)
    with (
        scheduler(tmp_path) as (_, address),
        distributed.Client(address),
        ThreadPoolExecutor(1) as aside,
    ):
        coming = aside.submit(RankFairRegressor(**BY).fit, there, "pay")
        with started("worker", address, "--nthreads", "1", "--no-nanny"):
            found = coming.result(timeout=60)
    known = RankFairRegressor(**BY).fit(frame.drop(columns="pay"), frame["pay"])
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-9)


def test_an_error_of_the_rows_is_no_error_of_the_cluster(cluster):
    """Nor is a function that takes long, or says that something took too long."""
    here = engine.Cluster(cluster)
    assert list(engine.said(here, time.sleep, [1.2, 0.0])) == [None, None]
    error = TimeoutError("too long")
    with pytest.raises(TimeoutError, match="too long"):
        list(engine.said(here, lambda it: (_ for _ in ()).throw(it), [error]))
