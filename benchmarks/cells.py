"""Cells of a simulation: drawn in parts by several processes, and added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

PROCESSES = 2


def parts_of(sets: int, parts: int) -> list[int]:
    """Data sets in parts as even as can be."""
    return [sets // parts + (i < sets % parts) for i in range(parts)]


def tasks_of(n_rows: int, n_tasks: int, first: float = 0.0) -> np.ndarray:
    """The task of each row: of one size, or the first with that share of the rows."""
    if not first:
        return np.arange(n_rows) * n_tasks // n_rows
    rest = n_rows - round(first * n_rows)
    others = 1 + np.arange(rest) * (n_tasks - 1) // rest
    return np.concatenate((np.zeros(n_rows - rest, int), others))


def added(tallies: Iterable[Any]) -> Any:
    """The sum, field by field, of tallies of one kind (named tuples)."""
    first, *rest = tallies
    return type(first)(*map(sum, zip(first, *rest, strict=True)))


def simulated(
    simulate: Callable[..., Any],
    wanted: Mapping[Any, Sequence[tuple[Any, ...]]],
    show: Callable[[dict[Any, Any]], Sequence[str]],
) -> dict[Any, Any]:
    """Call ``simulate`` for each part of each cell; return the tally of each cell.

    The last line of ``show`` is printed as a cell is done.
    """
    found = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        begun = {
            cell: [pool.submit(simulate, *part) for part in parts]
            for cell, parts in wanted.items()
        }
        for cell, parts in begun.items():
            found[cell] = added(part.result() for part in parts)
            print(show({cell: found[cell]})[-1], flush=True)
    return found
