"""The comparison on synthetic data: every method once, and tilt along its ε path."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rankfair.datasets import Dataset, make_biased_tasks
from rankfair.experiments import files, frontier
from rankfair.experiments.methods import METHODS, Rows
from rankfair.experiments.records import Record, compare

__all__ = ["CURVE", "Demo", "OnStep", "run"]

AUC = 0.9
FREE, CURVE = "unconstrained", "tilt"

OnStep = Callable[[str, int, int], None]


class Demo(NamedTuple):
    """All records, those of the table among them, and the files written."""

    records: list[Record]
    table: list[Record]
    files: list[Path]


def run(
    out: Path,
    seed: int = 0,
    *,
    n_tasks: int = 40,
    n_per_task: int = 25,
    points: int = 12,
    on_step: OnStep | None = None,
) -> Demo:
    """Compare all methods at ε = 0 and write records and pictures.

    Of the rows of each task half are learnt from and half are held out.

    Parameters
    ----------
    out : Path
        Folder for records.json, records.csv, frontier.png and frontier.svg.
    seed : int, default=0
        Seed of the data.
    n_tasks, n_per_task : int
        Tasks, and rows of each to learn from; as many more are held out.
    points : int, default=12
        How many ε, from 0 to the rank gap of the unconstrained fit, make the curve.
    on_step : callable, optional
        Told the method, the number of the fit and the number of fits before each fit.

    Returns
    -------
    Demo
        Records and paths.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run(Path(folder), n_tasks=4, points=3)
    ...     [path.name for path in done.files]
    ['frontier.png', 'frontier.svg', 'records.csv', 'records.json']
    >>> len(done.table) == 2 * len(METHODS)
    True
    """
    data = make_biased_tasks(n_tasks, 2 * n_per_task, auc=AUC, random_state=seed)
    table, path = _compare(*_halves(data), points, on_step)
    records = table + path
    tilt = [row for row in records if row["method"] == CURVE]
    others = [row for row in table if row["method"] != CURVE]
    picture = frontier.draw(others, tilt)
    contents: dict[str, str | bytes] = {
        "frontier.png": frontier.as_bytes(picture, "png"),
        "frontier.svg": frontier.as_bytes(picture, "svg"),
        "records.csv": files.as_csv(records),
        "records.json": files.as_json(records),
    }
    written = [files.write_whole(out / name, it) for name, it in contents.items()]
    return Demo(records, table, written)


def _halves(data: Dataset) -> tuple[Rows, Rows]:
    """Every other row of each task to learn from, the rest held out."""
    rows = Rows.of(data)
    # Rows come task by task and every task has an even number of them.
    even = np.arange(len(rows.y)) % 2 == 0
    return rows.take(even), rows.take(~even)


def _compare(
    train: Rows, held_out: Rows, points: int, on_step: OnStep | None
) -> tuple[list[Record], list[Record]]:
    """Every method at ε = 0, and `CURVE` at the other ε of its path."""
    number, fits = itertools.count(1), len(METHODS) + points - 1

    def measured(name: str, epsilon: float) -> list[Record]:
        if on_step is not None:
            on_step(name, next(number), fits)
        return compare(name, METHODS[name], train, held_out, epsilon)

    table = [row for name in METHODS for row in measured(name, 0.0)]
    widest = next(row["gap"] for row in table if row["method"] == FREE)
    rest = np.linspace(0.0, widest, points)[1:].tolist()
    return table, [row for epsilon in rest for row in measured(CURVE, epsilon)]
