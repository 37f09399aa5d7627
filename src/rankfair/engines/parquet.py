"""Rows in Parquet files, read batch by batch, as often as a fit needs them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Floats, Ints
from rankfair.engines.chunk import Chunk, Held
from rankfair.engines.chunked import Kept, Rows
from rankfair.engines.scratch import OnDisk, ahead
from rankfair.engines.summary import Summary, summarise

__all__ = ["Coding", "ParquetRows", "Roles"]

T = TypeVar("T")
BATCH = 1 << 22  # numbers a batch
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

    tasks: tuple[list[Any], ...]
    groups: list[Any]
    cells: NDArray[np.int64] | None = None  # combinations that occur, of several

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        if self.cells is not None:
            return len(self.cells)
        return len(self.tasks[0]) if self.tasks else 1


@dataclass(frozen=True)
class ParquetRows(Rows):
    """Rows of some files; codes of tasks and groups are places in sorted labels."""

    files: tuple[Path, ...]
    roles: Roles
    coding: Coding
    scratch: Path
    on_rows: Callable[[str, int, int], None] | None = None
    serial: Any = field(default_factory=itertools.count, repr=False)

    @cached_property
    def n_rows(self) -> int:  # type: ignore[override]
        """Rows of all files."""
        from pyarrow.parquet import ParquetFile

        return sum(ParquetFile(each).metadata.num_rows for each in self.files)

    @property
    def n_tasks(self) -> int:  # type: ignore[override]
        """How many tasks there are."""
        return self.coding.n_tasks

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """How many predictors there are."""
        return len(self.roles.predictors)

    def summary(self) -> tuple[Summary, list[tuple[Ints, Ints]]]:
        """Sums over all rows; the tasks of each chunk and their rows."""
        total = Summary.empty(self.n_tasks, self.n_features)
        parts = []
        for each in map(summarise, self.chunks("reading")):
            total.add(each)
            parts.append((each.tasks, each.rows))
        return total, parts

    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""
        return map(function, self.chunks("summing"))

    def each_with(self, given: list[Any], function: Callable[..., T]) -> Iterator[T]:
        """The same for a function of a chunk and what is given for it alone."""
        return map(function, self.chunks("sampling"), given)

    def keep(self, function: Callable[[Chunk], Held]) -> Kept:
        """What a function makes of each chunk, in a file of the scratch folder."""
        path = self.scratch / f"kept-{next(self.serial)}.bin"
        return OnDisk.write(path, self.chunks, function)

    def chunks(self, what: str = "predicting") -> Iterator[Chunk]:
        """The rows, batch by batch, the next one read while one is worked on."""
        done = 0
        for chunk in ahead(self._read()):
            yield chunk
            done += len(chunk)
            if self.on_rows is not None:
                self.on_rows(what, done, self.n_rows)

    def _read(self) -> Iterator[Chunk]:
        from pyarrow.parquet import ParquetFile

        size = max(4096, BATCH // max(self.n_features, 1))
        first = 0
        for path in self.files:
            batches = ParquetFile(path).iter_batches(size, columns=self.roles.columns)
            for batch in batches:
                yield self._chunk(batch, first)
                first += batch.num_rows

    def _chunk(self, batch: Any, first: int) -> Chunk:
        roles, in_a = self.roles, np.zeros(batch.num_rows, bool)
        if roles.group is not None:
            in_a = codes_of(batch.column(roles.group), self.coding.groups) == 1
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

    def _task_codes(self, batch: Any) -> Ints:
        cells: Ints = np.zeros(batch.num_rows, np.int64)
        for name, labels in zip(self.roles.tasks, self.coding.tasks, strict=True):
            cells = cells * len(labels) + codes_of(batch.column(name), labels)
        if self.coding.cells is not None:
            cells = np.searchsorted(self.coding.cells, cells)
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
