"""Rows in Parquet files, read batch by batch, as often as a fit needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from rankfair.engines.chunk import Chunk, Held
from rankfair.engines.coding import Coding, Roles, checked
from rankfair.engines.files import Unchanged, n_rows_of
from rankfair.engines.rows import Kept, Rows, Summand, added
from rankfair.engines.scratch import OnDisk, ahead
from rankfair.engines.summary import Sorted, Summary
from rankfair.engines.tally import coded, tally

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
        total = Summary.empty(self.n_tasks, self.n_features)
        for chunk in self.chunks("reading"):
            total.take(chunk, Sorted.of(checked(chunk, self.coding.roles).codes))
        return total

    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""
        for chunk in self.chunks("reading"):
            yield function(checked(chunk, self.coding.roles))

    def total(self, function: Callable[[Chunk], Summand]) -> NDArray[Any]:
        """The sum of what a function says of each chunk."""
        return added(map(function, self.chunks("summing")))

    def keep(self, function: Callable[[Chunk], Held]) -> Kept:
        """What a function makes of each chunk, in a file of the folder."""
        return OnDisk(self.folder, self.chunks, function)

    def chunks(self, what: str) -> Iterator[Chunk]:
        """The rows, batch by batch, the next one read while one is worked on."""
        return ahead(self._read(what))

    def _read(self, what: str) -> Iterator[Chunk]:
        first, columns = 0, self.coding.roles.columns
        # What is done for each task that occurs is then done once a row at most.
        least = self.n_tasks
        batches = batches_of_files(self.files, columns, what, self.on_rows, least)
        for batch, source in batches:
            yield self.coding.chunk(batch, first, source)
            first += batch.num_rows


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
