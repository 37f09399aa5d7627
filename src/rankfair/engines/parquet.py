"""Rows in Parquet files, read batch by batch, as often as a fit needs them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from rankfair.blocks import Ints
from rankfair.engines.chunk import Chunk, Held
from rankfair.engines.chunked import Kept, Rows
from rankfair.engines.coding import Coding
from rankfair.engines.scratch import OnDisk, ahead
from rankfair.engines.summary import Summary, summarise

__all__ = ["ParquetRows"]

T = TypeVar("T")
BATCH = 1 << 22  # numbers a batch


@dataclass(frozen=True)
class ParquetRows(Rows):
    """Rows of some files; codes of tasks and groups are places in sorted labels."""

    files: tuple[Path, ...]
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
            batches = ParquetFile(path).iter_batches(
                size, columns=self.coding.roles.columns
            )
            for batch in batches:
                yield self.coding.chunk(batch, first)
                first += batch.num_rows
