"""Dask frames: what is taken, what is refused, and a worker that is lost."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clusters import one_worker, scheduler, started
from rankfair import RankFairRegressor
from rankfair.engines import dask as engine
from rows_elsewhere import BY, LARGE, in_memory, on_cluster, random_rows

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


def rows(n_rows=6000):
    """Numbers ``a``, ``b``, ``c``, a task, a group and what they are paid."""
    frame, pay = random_rows(n_rows, 5, 3)
    return frame.set_axis([*"abc", "task", "group"], axis=1).assign(pay=pay)


def split(frame):
    return frame.drop(columns="pay"), frame["pay"]


def test_a_series_and_predictions(cluster):
    frame = rows(600)
    there = dd.from_pandas(frame, npartitions=3)
    X = there.drop(columns="pay")
    model = RankFairRegressor(0.02, **BY).fit(X, there["pay"])
    known = in_memory(*split(frame), epsilon=0.02, **BY)
    np.testing.assert_allclose(model.coef_, known.coef_, rtol=1e-9)
    assert list(model.feature_names_in_) == ["a", "b", "c", "task", "group"]
    found = model.predict(X)
    assert isinstance(found, dd.Series)
    done = found.compute()
    np.testing.assert_allclose(done, known.predict(split(frame)[0]))
    assert done.index.equals(frame.index)
    with pytest.raises(ValueError, match='"b" is no column of the frame, but'):
        model.predict(there.drop(columns="b"))


CHANGED = {
    "X must have names in text; got a column 3": lambda f: f.rename(columns={"a": 3}),
    'X has several columns called "a"': lambda f: f.rename(columns={"c": "a"}),
    'features must be numbers; got column "a", which': lambda f: f.assign(a="x"),
    '"task" is no column of the frame': lambda f: f.drop(columns="task"),
    'partition .* has 300 NaN in column "a"': lambda f: f.assign(a=np.nan),
}
TARGETS = {
    'y must be .*; got none. Name the column: fit.frame, "pay"': None,
    '"pai" is no column of the frame. Did you mean "pay"': "pai",
    "y must be a column or a Dask series .*; got a ndarray": np.zeros(600),
}


@pytest.mark.parametrize(("words", "change"), CHANGED.items())
def test_frames_that_cannot_be_fitted(cluster, words, change):
    there = dd.from_pandas(change(rows(600)), npartitions=2)
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(**BY).fit(there, "pay")


@pytest.mark.parametrize(("words", "y"), TARGETS.items())
def test_targets_that_cannot_be_fitted(cluster, words, y):
    with pytest.raises(ValueError, match=words):
        RankFairRegressor(**BY).fit(dd.from_pandas(rows(600), npartitions=2), y)


def test_no_cluster():
    """In a process of its own: this one may have a client."""
    code = (
        "import dask.dataframe as dd, pandas as pd, rankfair;"
        "rows = dd.from_pandas(pd.DataFrame({'a': [1.0], 'y': [1.0]}), npartitions=1);"
        "rankfair.RankFairRegressor().fit(rows, 'y')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "InputError: X is a Dask frame, which is fitted where" in done.stderr
    assert "Start a cluster first: client = dask.distributed.Client(" in done.stderr


@pytest.mark.parametrize("n_tasks", [5, 400])
def test_workers_in_this_process(n_tasks):
    frame = rows()
    frame["task"] = np.arange(len(frame)) % n_tasks
    w = np.arange(len(frame)) % 3
    X, y = split(frame)
    by = {**BY, "penalty": "ridge"}
    known = in_memory(X, y, w, epsilon=0.5, **by)
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=2, dashboard_address=":0"
    ):
        found = on_cluster(X, y, w, LARGE, epsilon=0.5, **by)
        out = found.predict(dd.from_pandas(X, npartitions=5)).compute()
    scale = np.abs(known.coef_).max()
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=0, atol=1e-8 * scale)
    np.testing.assert_array_equal(out, found.predict(X))


def test_a_worker_is_lost(monkeypatch):
    """The fit ends with the model that it would have given anyway."""
    X, y = split(rows())
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as made,
        distributed.Client(made) as client,
    ):
        killed = threading.Event()
        gather = engine.OnWorkers.gather

        def kill_first(self, function):
            """Kill a worker that has rows and lines, before it is asked for them."""
            if type(self) is engine.OnWorkers and not killed.is_set():
                killed.set()
                pid = client.run(os.getpid)
                os.kill(next(iter(pid.values())), signal.SIGKILL)
            return gather(self, function)

        monkeypatch.setattr(engine.OnWorkers, "gather", kill_first)
        found = on_cluster(X, y, sizes=LARGE, epsilon=0.02, **BY)
    assert killed.is_set()
    known = in_memory(X, y, epsilon=0.02, **BY)
    scale = np.abs(known.coef_).max()
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=0, atol=1e-6 * scale)
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
    known = in_memory(*split(frame), **BY)
    np.testing.assert_allclose(found.coef_, known.coef_, rtol=1e-9)


def test_an_error_of_the_rows_is_no_error_of_the_cluster(cluster):
    """Nor is a function that takes long, or says that something took too long."""
    here = engine.Cluster(cluster)
    assert list(engine.said(here, time.sleep, [1.2, 0.0])) == [None, None]
    error = TimeoutError("too long")
    with pytest.raises(TimeoutError, match="too long"):
        list(engine.said(here, lambda it: (_ for _ in ()).throw(it), [error]))
