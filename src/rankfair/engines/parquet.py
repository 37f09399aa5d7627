"""Rows in Parquet files, read batch by batch, as often as a fit needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from rankfair.engines.chunk import Chunk, Held, LeftOut
from rankfair.engines.chunked import Kept, Rows, added
from rankfair.engines.files import Unchanged, n_rows_of
from rankfair.engines.labels import Coding, Roles, checked, coded, tally
from rankfair.engines.summary import Summary

__all__ = ["OnRows", "ParquetRows", "batches_of_files", "read_coding"]

T = TypeVar("T")
OnRows = Callable[[str, int, int], None]

BATCH = 1 << 21  # numbers a batch


@dataclass(frozen=True)
class ParquetRows(Rows):
    """Rows of some files; codes of tasks and groups are places in sorted labels."""

    files: Unchanged
    coding: Coding
    folder: Path  # for what is kept beside the rows
    on_rows: OnRows | None = None

    def scan(self) -> Summary:
        """Sums over all rows."""
        total = self.no_rows()
        for chunk in self._chunks("reading"):
            total.take(checked(chunk, self.coding.roles))
        return total

    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""
        for chunk in self._chunks("reading"):
            yield function(checked(chunk, self.coding.roles))

    def keep(self, design: LeftOut) -> list[Kept]:
        """The lines of each chunk, in files of the folder."""
        paths = [self.folder / uuid4().hex for _ in range(design.n_lines)]
        with ExitStack() as files:
            out = [files.enter_context(path.open("wb")) for path in paths]
            for chunk in self._chunks("predicting"):
                for file, held in zip(out, design(chunk), strict=True):
                    _write(file, held)
        return [OnDisk(path) for path in paths]

    def _chunks(self, what: str) -> Iterator[Chunk]:
        """The rows, batch by batch, the next one read while one is worked on."""
        return ahead(self._read(what))

    def _read(self, what: str) -> Iterator[Chunk]:
        columns = self.coding.roles.columns
        # What is done for each task that occurs is then done once a row at most.
        least = self.n_tasks
        batches = batches_of_files(self.files, columns, what, self.on_rows, least)
        for batch, source in batches:
            yield self.coding.chunk(batch, source)


@dataclass(frozen=True)
class OnDisk(Kept):
    """What is kept of every chunk, one after another in a file."""

    path: Path

    def total(self, function: Callable[[Held], NDArray[Any]]) -> NDArray[Any]:
        """The sum of what a function says of what is kept of each chunk."""
        return added(self.each(function))

    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk, in order."""
        return map(function, ahead(self._read()))

    def _read(self) -> Iterator[Held]:
        with self.path.open("rb") as source:
            while (head := np.fromfile(source, np.int64, 2)).size:
                size, weighs = head.tolist()
                m, d = (np.fromfile(source, float, size) for _ in range(2))
                in_a = np.fromfile(source, bool, size)
                weights = np.fromfile(source, float, size) if weighs else None
                yield Held(m, d, in_a, weights)


def _write(out: Any, held: Held) -> None:
    """A head of two numbers, then the arrays there are."""
    head = np.array([len(held.m), held.weights is not None], np.int64)
    for part in (head, held.m, held.d, held.in_a, held.weights):
        if part is not None:
            part.tofile(out)


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The items, each made while the one before it is worked on."""
    source = iter(items)
    with ThreadPoolExecutor(1) as aside:
        coming = aside.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = aside.submit(next, source, None)
            yield item


def read_coding(
    files: Unchanged, roles: Roles, on_rows: OnRows | None = None
) -> Coding:
    """Read the columns of labels once and return what they hold."""
    columns = roles.counted or [roles.target]
    batches = batches_of_files(files, columns, "labels", on_rows)
    return coded((tally(batch, roles, source) for batch, source in batches), roles)


def batches_of_files(
    files: Unchanged,
    columns: list[str],
    what: str,
    on_rows: OnRows | None,
    least: int = 4096,
) -> Iterator[tuple[Any, str]]:
    """The rows of some columns of all files, in batches, and where each is from.

    A batch has ``least`` rows or more, if its file has.  Files that cannot be read, or
    are not what they were, before the first batch or after the last, are named.
    """
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    files.check()
    size = max(4096, least, BATCH // max(len(columns), 1))
    total = n_rows_of(files.files)
    done = 0
    for path in files.files:
        try:
            for batch in ParquetFile(path).iter_batches(size, columns=columns):
                yield batch, str(path)
                done += batch.num_rows
                if on_rows is not None:
                    on_rows(what, done, total)
        except (ArrowException, OSError) as error:
            files.check()
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise ValueError(f"{path} is broken: {why}") from error
    files.check()
