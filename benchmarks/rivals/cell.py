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
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from paper.cases import Rows
from paper.cells import measure

from ..memory import forget_peak, peak, resident
from . import ours, theirs
from .cases import CASES, Base, Case, draw
from .methods import Method, Mover, Predict, Setting
from .points import MEASURES, OURS

METHODS: dict[str, Method] = {
    method.key: method for method in (*ours.METHODS, *theirs.METHODS)
}
REFERENCE_FITS = 5
# Training rows, evenly spaced, on which a rival is measured as well; some are slow.
SOME = 5000
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


def peak_of(call: Callable[[], Any]) -> tuple[Any, int]:
    """What a call returns, and the most bytes it needed beyond those in use before."""
    before = resident()
    forget_peak()
    found = call()
    return found, max(peak() - before, 0)


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
    """First setting on all seeds, cost on the first one; then the other settings.

    At the end rivals are measured on training rows too: ours are set by that, and
    held-out rows are not looked at for it.
    """
    method, case = METHODS[job.method], CASES[job.case]
    small, _ = draw(WARM_UP, 0)
    method.fit(small, job.base, method.settings[0])(small)
    reference(small)
    fitted = []
    for setting in job.settings:
        for seed in range(job.seeds):
            train, held_out = rows_of(case, seed)
            found = None if fitted else reference(train)
            fit = partial(method.fit, train, job.base, setting)
            predict, predicted, cost = tried(fit, held_out)
            if found is not None:
                say(
                    fit=cost["fit"] / found["seconds"],
                    predict=cost["predict"] / found["seconds"],
                    memory=(cost["bytes"] + train.X.nbytes) / found["bytes"],
                    seconds=cost["fit"],
                )
            say(setting=setting, seed=seed, **figures_of(held_out, predicted))
            fitted.append((setting, seed, None if method.library == OURS else predict))
    say(note="", processor=time.process_time())
    for setting, seed, predict in fitted:
        if predict is None:
            continue
        train, _ = rows_of(case, seed)
        some = np.arange(0, len(train.y), -(-len(train.y) // SOME))
        rows = train.take(some)
        moves = isinstance(predict, Mover)
        predicted = predict.training(train, some) if moves else predict(rows)
        say(setting=setting, seed=seed, training=figures_of(rows, predicted))


def tried(
    fit: Callable[[], Predict], rows: Rows
) -> tuple[Predict, np.ndarray, dict[str, float]]:
    """Fit and predict: the predictor, its predictions, and what both cost."""
    start = time.perf_counter()
    predict, added = peak_of(fit)
    middle = time.perf_counter()
    predicted = predict(rows)
    end = time.perf_counter()
    cost = {"fit": middle - start, "predict": end - middle, "bytes": added}
    return predict, predicted, cost


def figures_of(rows: Rows, predicted: np.ndarray) -> dict[str, float]:
    """The four measures of predictions."""
    if not np.isfinite(predicted).all():
        raise FloatingPointError("predictions are not finite")
    found = measure(rows, predicted)
    found["md"] = abs(found["md"])
    return {name: float(found[name]) for name in MEASURES}


rows_of = lru_cache(maxsize=5)(draw)


def main(job: Job, path: Path) -> None:
    """Write a cell; a note says how it ended, unless time ran out."""
    # Processor time: other work on the machine does not decide what is too slow.
    resource.setrlimit(resource.RLIMIT_CPU, (job.limit, job.limit + 5))
    warnings.simplefilter("ignore")
    np.random.seed(0)  # noqa: NPY002  some draw from the global state
    # What a method prints is no part of the run's own lines.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    with path.open("w", encoding="utf-8") as lines:

        def say(**record: Any) -> None:
            lines.write(json.dumps(record) + "\n")
            lines.flush()

        try:
            run(job, say)
        except Exception as error:
            said = " ".join(str(error).split())[:160].replace("|", "/")
            say(note=f"failed: {type(error).__name__}: {said}")
