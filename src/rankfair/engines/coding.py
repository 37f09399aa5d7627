"""Columns of an Arrow batch as numbers and codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Floats, Ints
from rankfair.engines.chunk import Chunk

__all__ = ["Coding", "Roles", "in_order", "labels_of"]

TURNED = 4096  # rows turned from columns at a time, within the cache


@dataclass(frozen=True)
class Roles:
    """What the columns of the files are for."""

    predictors: tuple[str, ...]
    target: str
    tasks: tuple[str, ...] = ()
    group: str | None = None
    weight: str | None = None

    @property
    def columns(self) -> list[str]:
        """All that are read, each once."""
        found = [*self.predictors, self.target, *self.tasks]
        found += [each for each in (self.group, self.weight) if each is not None]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Coding:
    """Labels of each task column and of the groups, sorted, and the cells in use."""

    roles: Roles
    tasks: tuple[list[Any], ...]
    groups: list[Any]
    cells: NDArray[np.int64] | None = None  # combinations that occur, of several

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        if self.cells is not None:
            return len(self.cells)
        return len(self.tasks[0]) if self.tasks else 1

    def chunk(self, batch: Any, first: int) -> Chunk:
        """The rows of an Arrow batch as numbers and codes."""
        roles, in_a = self.roles, np.zeros(batch.num_rows, bool)
        if roles.group is not None:
            in_a = codes_of(batch.column(roles.group), self.groups) == 1
        columns = [
            in_a.astype(float) if name == roles.group else numbers(batch.column(name))
            for name in roles.predictors
        ]
        weights = None if roles.weight is None else numbers(batch.column(roles.weight))
        return Chunk(
            turned(columns, batch.num_rows),
            numbers(batch.column(roles.target)),
            self._task_codes(batch),
            in_a,
            weights,
            first,
        )

    def cells_of(self, batch: Any) -> Ints:
        """The combination of task labels of each row, as one number."""
        cells: Ints = np.zeros(batch.num_rows, np.int64)
        for name, labels in zip(self.roles.tasks, self.tasks, strict=True):
            cells = cells * len(labels) + codes_of(batch.column(name), labels)
        return cells

    def _task_codes(self, batch: Any) -> Ints:
        cells = self.cells_of(batch)
        if self.cells is not None:
            cells = np.searchsorted(self.cells, cells)
        narrow = np.uint16 if self.n_tasks <= 1 << 16 else np.int64
        return cells.astype(narrow, copy=False)


def numbers(column: Any) -> Floats:
    """A column of an Arrow batch as floats; missing values are NaN."""
    found: Floats = column.to_numpy(zero_copy_only=False)
    return found.astype(float, copy=False)


def codes_of(column: Any, labels: list[Any]) -> Ints:
    """The place of each cell among the sorted labels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(labels, type=column.type)
    found: Ints = pc.index_in(column, value_set=known).to_numpy(zero_copy_only=False)
    return found


def turned(columns: list[Floats], n_rows: int) -> Floats:
    """Columns side by side as rows, block by block to stay in the cache."""
    out = np.empty((n_rows, len(columns)))
    for start in range(0, n_rows, TURNED):
        rows = slice(start, start + TURNED)
        np.stack([each[rows] for each in columns], axis=1, out=out[rows])
    return out


def labels_of(column: Any, name: str) -> set[Any]:
    """The labels of a column, none of them missing."""
    missing = column.null_count
    if missing:
        raise ValueError(
            f"column {name!r} has {missing} missing labels in {len(column)} rows: "
            "tasks and groups must be known. Leave such rows out."
        )
    return set(column.unique().to_pylist())


def in_order(labels: set[Any]) -> list[Any]:
    """Labels sorted as the estimators sort them."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=str)
