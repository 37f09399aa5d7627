"""The comparison on synthetic data: every method on every draw, and the path of one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.experiments.files import as_csv
from rankfair.experiments.methods import METHODS, Rows, fit_linear
from rankfair.experiments.records import Record, Summary, compare, summarise
from rankfair.input.disk import write_whole
from rankfair.report.pictures import as_bytes, draw_methods

__all__ = ["Demo", "OnStep", "run"]

AUC = 0.9
PATH = "path of all ε"

OnStep = Callable[[str, int, int], None]


class Demo(NamedTuple):
    """Records of all draws, the paths of tilt, means of the records, files written."""

    records: list[Record]
    paths: list[dict[str, Any]]
    summary: list[Summary]
    files: list[Path]


def run(
    out: Path,
    seed: int = 0,
    *,
    draws: int = 20,
    n_tasks: int = 40,
    n_per_task: int = 25,
    n_held_out: int = 200,
    on_step: OnStep | None = None,
) -> Demo:
    """Compare all methods at ε = 0 and write records and pictures.

    Parameters
    ----------
    out : Path
        Folder for frontier.png, frontier.svg, paths.csv and records.csv.
    seed : int, default=0
        Seed of the first draw of the data; those that follow have the next ones.
    draws : int, default=20
        How often rows are drawn anew and every method is fitted to them.
    n_tasks, n_per_task, n_held_out : int
        Tasks, and rows of each to learn from and to hold out.
    on_step : callable, optional
        Told what comes, its number and the number of all before each fit.

    Returns
    -------
    Demo
        Records and paths.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = run(Path(folder), draws=2, n_tasks=4)
    ...     [path.name for path in done.files]
    ['frontier.png', 'frontier.svg', 'paths.csv', 'records.csv']
    >>> len(done.summary) == 2 * len(METHODS)
    True
    """
    number, steps = itertools.count(1), draws * (len(METHODS) + 1)

    def tell(name: str) -> None:
        if on_step is not None:
            on_step(name, next(number), steps)

    records: list[Record] = []
    paths: list[dict[str, Any]] = []
    for each in range(seed, seed + draws):
        train, held_out = _draw(each, n_tasks, n_per_task, n_held_out)
        for name, method in METHODS.items():
            tell(name)
            records += compare(name, method, train, held_out, 0.0, each)
        tell(PATH)
        path = fit_linear(train, 0.0).path()
        paths += [{"seed": each, **row._asdict()} for row in path.rows]
    summary = summarise(records)
    picture = draw_methods(summary, paths)
    contents: dict[str, str | bytes] = {
        "frontier.png": as_bytes(picture, "png"),
        "frontier.svg": as_bytes(picture, "svg"),
        "paths.csv": as_csv(paths),
        "records.csv": as_csv(records),
    }
    written = [write_whole(out / name, it) for name, it in contents.items()]
    return Demo(records, paths, summary, written)


def _draw(
    seed: int, n_tasks: int, n_per_task: int, n_held_out: int
) -> tuple[Rows, Rows]:
    """Rows to learn from, and rows of the same tasks that are held out."""
    each = n_per_task + n_held_out
    rows = Rows.of(make_biased_tasks(n_tasks, each, auc=AUC, random_state=seed))
    # Rows come task by task.
    first = np.arange(len(rows.y)) % each < n_per_task
    return rows.take(first), rows.take(~first)
