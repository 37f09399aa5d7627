"""Schedulers and workers in processes of their own, for tests that end them."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager


@contextmanager
def started(what, *options):
    """A process of Dask, killed at the end."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard"]
    with subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def scheduler(folder):
    """A scheduler without workers: its process and its address."""
    file = folder / "scheduler.json"
    options = ("--port", "0", "--host", "127.0.0.1", "--scheduler-file", str(file))
    with started("scheduler", *options) as process:
        while not file.exists() or not file.read_text():
            time.sleep(0.05)
        yield process, json.loads(file.read_text())["address"]


@contextmanager
def one_worker(**config):
    """A cluster with one worker that nobody starts again: its scheduler's address."""
    import dask
    import distributed

    with (
        dask.config.set(config),
        distributed.LocalCluster(
            n_workers=0, processes=True, dashboard_address=":0"
        ) as made,
        started(
            "worker", made.scheduler_address, "--nthreads", "1", "--no-nanny"
        ) as process,
        distributed.Client(made) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        yield client, process
