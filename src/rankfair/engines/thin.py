"""Some of the rows of all chunks, brought together as a problem in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankfair import problem as limits
from rankfair.blocks import Blocks, Floats, Ints, batches_of, runs
from rankfair.engines.chunk import Chunk, joined, taken
from rankfair.engines.summary import Sorted
from rankfair.problem import Groups, Problem

if TYPE_CHECKING:
    from rankfair.engines.chunked import ChunkedEngine
    from rankfair.engines.rows import Rows

__all__ = ["Picked", "Thin", "collected", "picked"]

FEW_TASKS = 8  # rows a task in a thinned problem, from which on rows are thinned

Picked = tuple[Ints, Ints] | NDArray[np.bool_]  # task and local row, or whole tasks


@dataclass(frozen=True)
class Thin:
    """Which rows a thinned `Problem` of all rows would have.

    One row in ``step`` of each task, those that `Blocks.fewer_rows` would take, or
    every ``step``-th task with all its rows, as `Blocks.fewer_tasks` takes them.
    """

    sizes: Ints  # (k,) rows of each task

    @cached_property
    def step(self) -> int:
        """How many rows one of them stands for."""
        return int(self.sizes.sum()) // limits.THIN_ROWS

    @property
    def by_rows(self) -> bool:
        """Whether tasks are thinned, instead of left out."""
        return FEW_TASKS * len(self.sizes) <= limits.THIN_ROWS

    @cached_property
    def tasks(self) -> Ints:
        """The tasks by size, as a problem has them."""
        found: Ints = np.argsort(self.sizes, kind="stable")
        return found

    @property
    def places(self) -> Ints:
        """The places of the tasks that are in it."""
        k = len(self.sizes)
        return np.arange(k) if self.by_rows else np.arange(self.step // 2, k, self.step)

    @cached_property
    def kept(self) -> Ints:
        """How many rows of each of these it has."""
        sizes = self.sizes[self.tasks[self.places]]
        found: Ints = -(-sizes // self.step) if self.by_rows else sizes
        return found

    @cached_property
    def share(self) -> Floats:
        """How many rows each of its rows stands for."""
        return np.repeat(self.sizes[self.tasks[self.places]] / self.kept, self.kept)

    @cached_property
    def rows(self) -> tuple[Ints, Ints]:
        """The task of each row, and which of the task's rows it is, as they come."""
        sizes, kept = self.sizes[self.tasks], self.kept
        starts = np.cumsum(sizes) - sizes
        position = runs(starts, kept, self.share) - np.repeat(starts, kept)
        return np.repeat(self.tasks, kept), position

    @cached_property
    def wanted(self) -> NDArray[np.bool_]:
        """Whether a task is in it: (k,)."""
        found = np.zeros(len(self.sizes), bool)
        found[self.tasks[self.places]] = True
        return found

    def within(self, seen: Ints, tasks: Ints, sizes: Ints) -> Picked:
        """Those of a chunk, ``seen`` rows of each task after the first."""
        if not self.by_rows:
            return self.wanted
        here = np.zeros(len(self.sizes), np.int64)
        here[tasks] = sizes
        task, position = self.rows
        local = position - seen[task]
        inside = (local >= 0) & (local < here[task])
        return task[inside], local[inside]

    def problem(self, engine: ChunkedEngine, found: Chunk) -> Problem:
        """The rows found as a problem in the units of all rows."""
        whole, places = engine.blocks, self.places
        # Chunks come in order, and so do the rows of a task: a stable sort is enough.
        rank = np.argsort(self.tasks)
        order = np.argsort(rank[found.codes], kind="stable")
        weights = None if found.weights is None else found.weights[order]
        if self.by_rows:
            weights = self.share if weights is None else self.share * weights
        centre, X = whole.centre[places], found.rows()
        blocks = Blocks(
            Z=X[order] - np.repeat(centre, self.kept, axis=0),
            tasks=whole.tasks[places],
            batches=tuple(batches_of(self.kept)),
            centre=centre,
            gram=whole.gram[places],
            unit=whole.unit,
        )
        return Problem(
            blocks=blocks,
            scale=engine.scale,
            varies=engine.varies[places],
            y_centre=engine.y_centre,
            y_unit=engine.y_unit,
            beta_unit=engine.beta_unit,
            counts=engine.counts[places],
            groups=Groups(found.in_a[order], weights),
            user_groups=engine.user_groups,
            X=X[:0],
            codes=found.codes[:0],
            y=found.y[order] / engine.y_unit - engine.y_centre,
            weights=weights,
        )


def picked(chunk: Chunk, by_task: Sorted, wanted: Picked) -> Chunk:
    """The ``local``-th row of each of some tasks, or all rows of some tasks."""
    if isinstance(wanted, np.ndarray):
        return taken(chunk, np.flatnonzero(wanted[chunk.codes]))
    task, local = wanted
    start = np.zeros(int(chunk.codes.max(initial=0)) + 1, np.int64)
    start[by_task.tasks] = by_task.starts
    return taken(chunk, np.sort(by_task.order[start[task] + local]))


def collected(rows: Rows, standardize: bool) -> Problem:
    """All rows, where they are few enough."""
    found = joined(rows.each(_itself))
    return Problem.from_rows(
        found.rows(),
        found.y,
        found.codes,
        rows.n_tasks,
        in_a=found.in_a if rows.coding.roles.group is not None else None,
        weights=found.weights,
        standardize=standardize,
        names=rows.coding.roles.predictors,
    )


def _itself(chunk: Chunk) -> Chunk:
    return chunk
