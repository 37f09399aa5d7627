"""Some of the rows of all chunks, brought together as a problem in memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Blocks, Floats, Ints, batches_of, runs
from rankfair.engines.chunk import Chunk
from rankfair.problem import Groups, Problem

if TYPE_CHECKING:
    from rankfair.engines.chunked import ChunkedEngine, Rows

__all__ = ["collected", "few_rows", "few_tasks"]


def collected(rows: Rows, standardize: bool) -> Problem:
    """All rows, where they are few enough."""
    all_rows = joined(list(rows.each(itself)))
    return Problem.from_rows(
        all_rows.X,
        all_rows.y,
        all_rows.codes,
        rows.n_tasks,
        in_a=all_rows.in_a,
        weights=all_rows.weights,
        standardize=standardize,
    )


def few_rows(engine: ChunkedEngine, step: int) -> Problem:
    """One row in ``step`` of each task, those that `Blocks.fewer_rows` would take."""
    tasks = engine.blocks.tasks
    sizes = engine.total.rows[tasks]
    kept = -(-sizes // step)
    share = np.repeat(sizes / kept, kept)
    starts = np.cumsum(sizes) - sizes
    task = np.repeat(tasks, kept)
    # Which row of its task each is, in the order in which they come.
    position = runs(starts, kept, share) - np.repeat(starts, kept)
    found = joined(list(_picked(engine, task, position)))
    # Chunks come in order, and so do the rows of a task: a stable sort restores all.
    place = _places(tasks)
    order = np.argsort(place[found.codes], kind="stable")
    weights = share if found.weights is None else share * found.weights[order]
    return _problem(engine, found, order, weights, np.arange(len(tasks)), kept)


def few_tasks(engine: ChunkedEngine, step: int) -> Problem:
    """Every ``step``-th task with all its rows, as `Blocks.fewer_tasks` takes them."""
    tasks = engine.blocks.tasks
    places: Ints = np.arange(step // 2, len(tasks), step)
    wanted = np.zeros(len(tasks), bool)
    wanted[tasks[places]] = True
    found = joined(list(engine.rows.each(partial(of_tasks, wanted=wanted))))
    order = np.argsort(_places(tasks)[found.codes], kind="stable")
    weights = None if found.weights is None else found.weights[order]
    sizes = engine.total.rows[tasks[places]]
    return _problem(engine, found, order, weights, places, sizes)


def _problem(
    engine: ChunkedEngine,
    found: Chunk,
    order: Ints,
    weights: Floats | None,
    places: Ints,
    sizes: Ints,
) -> Problem:
    """The rows found as a problem in the units of all rows."""
    whole = engine.blocks
    centre = whole.centre[places]
    blocks = Blocks(
        Z=found.X[order] - np.repeat(centre, sizes, axis=0),
        tasks=whole.tasks[places],
        batches=tuple(batches_of(sizes)),
        centre=centre,
        gram=whole.gram[places],
        unit=whole.unit,
    )
    groups = Groups(found.in_a[order], weights)
    return Problem(
        blocks=blocks,
        scale=engine.scale,
        varies=engine.varies[places],
        y_centre=engine.y_centre,
        y_unit=engine.y_unit,
        beta_unit=engine.beta_unit,
        counts=engine.counts[places],
        groups=groups,
        user_groups=engine.user_groups,
        X=found.X[:0],
        codes=found.codes[:0],
        y=found.y[order] / engine.y_unit - engine.y_centre,
        weights=weights,
    )


def _picked(engine: ChunkedEngine, task: Ints, position: Ints) -> Any:
    """The rows at these positions of these tasks, chunk by chunk."""
    seen = np.zeros(engine.n_tasks, np.int64)
    given = []
    for tasks, rows in engine.parts:
        here = np.zeros(engine.n_tasks, np.int64)
        here[tasks] = rows
        local = position - seen[task]
        inside = (local >= 0) & (local < here[task])
        given.append((task[inside], local[inside]))
        seen += here
    return engine.rows.each_with(given, picked)


def _places(tasks: Ints) -> Ints:
    place: Ints = np.empty_like(tasks)
    place[tasks] = np.arange(len(tasks))
    return place


def itself(chunk: Chunk) -> Chunk:
    """The chunk."""
    return chunk


def picked(chunk: Chunk, wanted: tuple[Ints, Ints]) -> Chunk:
    """The ``local``-th row of each of some tasks."""
    task, local = wanted
    order = np.argsort(chunk.codes, kind="stable")
    sizes = np.bincount(chunk.codes, minlength=int(task.max(initial=0)) + 1)
    return taken(chunk, np.sort(order[(np.cumsum(sizes) - sizes)[task] + local]))


def of_tasks(chunk: Chunk, wanted: NDArray[np.bool_]) -> Chunk:
    """The rows of the tasks that are wanted."""
    return taken(chunk, np.flatnonzero(wanted[chunk.codes]))


def taken(chunk: Chunk, rows: Ints) -> Chunk:
    """Some rows of a chunk."""
    weights = None if chunk.weights is None else chunk.weights[rows]
    return Chunk(
        chunk.X[rows], chunk.y[rows], chunk.codes[rows], chunk.in_a[rows], weights
    )


def joined(chunks: list[Chunk]) -> Chunk:
    """Chunks one after another."""
    weights = [each.weights for each in chunks if each.weights is not None]
    return Chunk(
        np.concatenate([each.X for each in chunks]),
        np.concatenate([each.y for each in chunks]),
        np.concatenate([each.codes for each in chunks]),
        np.concatenate([each.in_a for each in chunks]),
        np.concatenate(weights) if weights else None,
    )
