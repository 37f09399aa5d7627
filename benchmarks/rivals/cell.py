"""One cell: a method on a dataset, cost and quality, a line of JSON for each point."""

from __future__ import annotations

import json
import os
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from rankfair.experiments.methods import Rows
from rankfair.experiments.records import measure

from . import ours, theirs
from .cases import CASES, Base, Case, draw
from .methods import Method, Setting

METHODS: dict[str, Method] = {
    method.key: method for method in (*ours.METHODS, *theirs.METHODS)
}
REFERENCE_FITS = 5
WARM_UP = Case("", "synthetic", 1, (4, 60))


@dataclass(frozen=True)
class Job:
    """A method, by its key, on a dataset; `limit` is in seconds of processor time."""

    case: str
    method: str
    base: Base
    seeds: int
    settings: tuple[Setting, ...]
    limit: int


def resident() -> int:
    """Bytes of memory in use now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def peak_of(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call returns, and the most bytes it needed beyond those in use before."""
    before = resident()
    Path("/proc/self/clear_refs").write_text("5")
    found = call()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return found, max(int(line.split()[1]) * 1024 - before, 0)
    raise RuntimeError("no VmHWM in /proc/self/status")


def reference(rows: Rows) -> dict[str, float]:
    """Time and added memory of ``LinearRegression().fit`` on the same rows."""
    _, added = peak_of(lambda: LinearRegression().fit(rows.X, rows.y))
    spent = []
    for _ in range(REFERENCE_FITS):
        start = time.perf_counter()
        LinearRegression().fit(rows.X, rows.y)
        spent.append(time.perf_counter() - start)
    return {"seconds": statistics.median(spent), "bytes": added + rows.X.nbytes}


def run(job: Job, say: Callable[..., None]) -> None:
    """First setting on all seeds, cost on the first one; then the other settings."""
    method, base, case = METHODS[job.method], job.base, CASES[job.case]
    small, _ = draw(WARM_UP, 0)
    method.fit(small, base, method.settings[0])(small)
    reference(small)
    for setting in job.settings:
        for seed in range(job.seeds):
            train, held_out = rows_of(case, seed)
            first = seed == 0 and setting == job.settings[0]
            found = reference(train) if first else None
            start = time.perf_counter()
            predict, added = peak_of(lambda r=train, s=setting: method.fit(r, base, s))
            fitted = time.perf_counter()
            predicted = predict(held_out)
            spent = time.perf_counter() - fitted
            if not np.isfinite(predicted).all():
                raise FloatingPointError("predictions are not finite")
            if found is not None:
                say(
                    fit=(fitted - start) / found["seconds"],
                    predict=spent / found["seconds"],
                    memory=(added + train.X.nbytes) / found["bytes"],
                    seconds=fitted - start,
                )
            figures = measure(held_out.y, predicted, held_out.in_a)
            say(
                setting=setting,
                seed=seed,
                rmse=figures["rmse"],
                gap=figures["gap"],
                md=abs(figures["md"]),
                ks=float(figures["ks"]),
            )


rows_of = lru_cache(maxsize=5)(draw)


def main(job: Job, path: Path) -> None:
    """Write a cell; its last line says how it ended, unless time ran out."""
    # Processor time: other work on the machine does not decide what is too slow.
    resource.setrlimit(resource.RLIMIT_CPU, (job.limit, job.limit + 5))
    warnings.simplefilter("ignore")
    np.random.seed(0)  # noqa: NPY002  some draw from the global state
    # What a method prints is no part of the run's own lines.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    with path.open("w", encoding="utf-8") as lines:

        def say(**record: Setting | str) -> None:
            lines.write(json.dumps(record) + "\n")
            lines.flush()

        try:
            run(job, say)
            say(note="")
        except Exception as error:
            said = " ".join(str(error).split())[:160].replace("|", "/")
            say(note=f"failed: {type(error).__name__}: {said}")
