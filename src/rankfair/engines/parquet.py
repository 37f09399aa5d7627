"""Rows in Parquet files, read batch by batch, as often as a fit needs them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rankfair.blocks import Ints
from rankfair.engines.chunk import Chunk, Held
from rankfair.engines.chunked import Kept, Rows
from rankfair.engines.coding import Coding, Roles, in_order, labels_of
from rankfair.engines.scratch import OnDisk, ahead
from rankfair.engines.summary import Summary, summarise

__all__ = ["ParquetRows", "batches_of_files", "unique_labels"]

T = TypeVar("T")
OnRows = Callable[[str, int, int], None]

BATCH = 1 << 22  # numbers a batch


@dataclass(frozen=True)
class ParquetRows(Rows):
    """Rows of some files; codes of tasks and groups are places in sorted labels."""

    files: tuple[Path, ...]
    coding: Coding
    scratch: Path
    on_rows: OnRows | None = None
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
        return len(self.coding.roles.predictors)

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
        return ahead(self._read(what))

    def _read(self, what: str) -> Iterator[Chunk]:
        first, columns = 0, self.coding.roles.columns
        for batch in batches_of_files(self.files, columns, what, self.on_rows):
            yield self.coding.chunk(batch, first)
            first += batch.num_rows


def unique_labels(
    files: tuple[Path, ...], roles: Roles, on_rows: OnRows | None = None
) -> Coding:
    """Read the label columns once and return their labels, sorted."""
    columns = [*roles.tasks, *((roles.group,) if roles.group is not None else ())]
    if not columns:
        return Coding(roles, (), [])
    found: dict[str, set[Any]] = {name: set() for name in columns}
    for batch in batches_of_files(files, columns, "labels", on_rows):
        for name in columns:
            found[name] |= labels_of(batch.column(name), name)
    tasks = tuple(in_order(found[name]) for name in roles.tasks)
    groups = [] if roles.group is None else in_order(found[roles.group])
    coding = Coding(roles, tasks, groups)
    if len(tasks) < 2:
        return coding
    cells: set[int] = set()
    for batch in batches_of_files(files, list(roles.tasks), "tasks", on_rows):
        cells |= set(np.unique(coding.cells_of(batch)).tolist())
    return replace(coding, cells=np.array(sorted(cells)))


def batches_of_files(
    files: tuple[Path, ...], columns: list[str], what: str, on_rows: OnRows | None
) -> Iterator[Any]:
    """The rows of some columns of all files, in batches; broken files are named."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    size = max(4096, BATCH // max(len(columns), 1))
    total = sum(ParquetFile(each).metadata.num_rows for each in files)
    done = 0
    for path in files:
        try:
            for batch in ParquetFile(path).iter_batches(size, columns=columns):
                yield batch
                done += batch.num_rows
                if on_rows is not None:
                    on_rows(what, done, total)
        except (ArrowException, OSError) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise ValueError(f"{path} is broken: {why}") from error
