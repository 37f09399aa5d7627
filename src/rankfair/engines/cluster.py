"""Rows in the partitions of a Dask frame: functions go there, sums come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from rankfair.blocks import Ints
from rankfair.engines.chunk import Chunk, Held
from rankfair.engines.chunked import Kept, Rows
from rankfair.engines.coding import Coding
from rankfair.engines.summary import Summary, summarise

__all__ = ["DaskRows"]

T = TypeVar("T")


@dataclass(frozen=True)
class DaskRows(Rows):
    """Chunks that stay in the memory of the workers.

    The scheduler knows how each was made: those of a worker that is lost are made again
    by another.
    """

    client: Any
    chunks: list[Any]  # futures
    n_rows: int
    coding: Coding

    @classmethod
    def of(cls, client: Any, partitions: list[Any], coding: Coding) -> DaskRows:
        """Turn partitions into chunks, where they are."""
        sizes = client.gather(client.map(len, partitions, pure=False))
        first = [sum(sizes[:i]) for i in range(len(sizes))]
        make = partial(chunk_of, coding=coding)
        chunks = client.map(make, partitions, first, pure=False)
        return cls(client, chunks, sum(sizes), coding)

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
        for each in self.each(summarise):
            total.add(each)
            parts.append((each.tasks, each.rows))
        return total, parts

    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""
        return said(self.client, function, self.chunks)

    def each_with(self, given: list[Any], function: Callable[..., T]) -> Iterator[T]:
        """The same for a function of a chunk and what is given for it alone."""
        return said(self.client, function, self.chunks, given)

    def keep(self, function: Callable[[Chunk], Held]) -> Kept:
        """What a function makes of each chunk, kept by the worker that has it."""
        held = self.client.map(function, self.chunks, pure=False)
        return OnWorkers(self.client, self.chunks, held)


@dataclass(frozen=True)
class OnWorkers(Kept):
    """What is kept beside the chunks by the workers that have them."""

    client: Any
    chunks: list[Any]
    held: list[Any]

    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk."""
        return said(self.client, function, self.held)

    def beside(self, function: Callable[[Chunk, Held], T]) -> Iterator[T]:
        """The same for a function of the chunk and what is kept of it."""
        return said(self.client, function, self.chunks, self.held)

    def drop(self) -> None:
        """Forget the futures: the workers let go of what nobody asks for."""
        self.held.clear()


def chunk_of(partition: Any, first: int, coding: Coding) -> Chunk:
    """A partition, a pandas frame, as a chunk."""
    import pyarrow as pa

    frame = partition[coding.roles.columns]
    batch = pa.Table.from_pandas(frame, preserve_index=False).combine_chunks()
    return coding.chunk(batch, first)


def said(client: Any, function: Callable[..., T], *parts: list[Any]) -> Iterator[T]:
    """What the workers answer, in the order of the chunks."""
    for future in client.map(function, *parts, pure=False):
        yield future.result()
