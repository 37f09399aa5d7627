"""Rows in the partitions of a Dask frame: functions go there, sums come back.

Partitions that one worker has are a *share*.  A pass is one call a share, which answers
with one sum: as many messages as workers have threads, however many rows there are.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from numpy.typing import NDArray

from rankfair.engines.chunk import Chunk, Held, LeftOut
from rankfair.engines.chunked import Kept, Rows, added
from rankfair.engines.labels import Coding, checked
from rankfair.engines.summary import Summary

__all__ = ["Cluster", "DaskRows", "arrow", "said"]

T = TypeVar("T")
Many = list[Any]  # futures

UNEVEN = 1.25  # times an equal share that a worker may have before others help
LARGE = 1 << 20  # bytes from which on something goes to the workers once, by itself


@dataclass(frozen=True)
class Cluster:
    """A client of a scheduler, and how long it waits where nobody works.

    Work on rows takes as long as it takes.
    """

    client: Any
    patience: float = 60.0  # seconds without a worker, or an answer of the scheduler

    @classmethod
    def of(cls, client: Any) -> Cluster:
        """The cluster of a client, as patient as Dask is configured to be."""
        import dask
        from dask.utils import parse_timedelta

        asked = dask.config.get("distributed.scheduler.no-workers-timeout", None)
        return cls(client) if asked is None else cls(client, parse_timedelta(asked))

    def result(self, future: Any) -> Any:
        """What a worker answers."""
        tick = 1.0
        while True:
            try:
                return future.result(timeout=tick)
            except TimeoutError:
                if future.status == "error":
                    raise  # that of the function itself
            except Exception as error:
                if type(error).__module__.startswith("distributed"):
                    raise self.failed(str(error)) from error
                raise
            self.threads()
            # An answer that is under way may be long.
            tick = 2 * tick if future.status == "finished" else 1.0

    def threads(self) -> dict[str, int]:
        """How many threads each worker has; while there is none, one is waited for."""
        end = time.monotonic() + self.patience
        while not (found := self.ask("ncores")):
            if time.monotonic() > end:
                raise self.failed(f"no workers for {self.patience:g} s")
            time.sleep(0.1)
        return dict(found)

    def ask(self, question: str, **given: Any) -> Any:
        """What the scheduler answers."""
        ask = partial(getattr(self.client.scheduler, question), **given)
        try:
            return self.client.sync(ask, callback_timeout=self.patience)
        except (OSError, TimeoutError) as error:
            raise self.failed("the scheduler does not answer") from error

    def failed(self, why: str) -> ConnectionError:
        """An error that names the cluster."""
        first = why.partition(". ")[0].splitlines()[0].rstrip(".")
        where = self.client.scheduler.address
        return ConnectionError(f"the cluster at {where} failed: {first}.")


@dataclass(frozen=True)
class DaskRows(Rows):
    """Chunks that stay in the memory of the workers.

    The scheduler knows how each was made: those of a worker that is lost are made again
    by another.
    """

    cluster: Cluster
    shares: Many  # futures of lists of chunks
    numbers: list[list[int]]  # which partitions each has
    coding: Coding

    @classmethod
    def of(cls, cluster: Cluster, partitions: Many, coding: Coding) -> DaskRows:
        """Turn partitions into chunks, where they are."""
        numbers = shares_of(cluster, partitions)
        lent = lend(cluster, coding)
        made = [
            cluster.client.submit(
                _chunks, [partitions[i] for i in share], share, lent, pure=False
            )
            for share in numbers
        ]
        return cls(cluster, made, numbers, coding)

    def scan(self) -> Summary:
        """Sums over all rows."""
        total = self.no_rows()
        scan = partial(_scan, self.n_tasks, self.n_features, self.n_rows)
        for summary in said(self.cluster, scan, self.shares):
            total.add(summary)
        return total

    def each(self, function: Callable[[Chunk], T]) -> Iterator[T]:
        """What a function says of each chunk, in order."""
        answers = said(self.cluster, partial(_each, function), self.shares)
        return iter(self._in_order(list(answers)))

    def keep(self, design: LeftOut) -> list[Kept]:
        """The lines of each chunk, kept by the worker that has it."""
        held = asked(self.cluster, partial(_each, design), self.shares)
        return [OnWorkers(self.cluster, held, i) for i in range(design.n_lines)]

    def _in_order(self, answers: list[list[T]]) -> list[T]:
        """What shares answered, partition by partition."""
        numbers = itertools.chain.from_iterable(self.numbers)
        found = dict(zip(numbers, itertools.chain.from_iterable(answers), strict=True))
        return [found[i] for i in sorted(found)]


@dataclass(frozen=True)
class OnWorkers(Kept):
    """A line that is kept beside the chunks by the workers that have them."""

    cluster: Cluster
    held: Many  # futures: for each chunk of a share its lines
    line: int  # which of them

    def total(self, function: Callable[[Held], NDArray[Any]]) -> NDArray[Any]:
        """The sum of what a function says of what is kept of each chunk."""
        return added(
            said(self.cluster, partial(_total, function, self.line), self.held)
        )

    def each(self, function: Callable[[Held], T]) -> Iterator[T]:
        """What a function says of what is kept of each chunk, share by share."""
        of_line = partial(_of_line, function, self.line)
        answers = said(self.cluster, of_line, self.held)
        return itertools.chain.from_iterable(answers)


def shares_of(cluster: Cluster, partitions: Many) -> list[list[int]]:
    """Partitions by the worker, and its thread, that has them, none much too large."""
    sizes = list(said(cluster, len, partitions))
    places = cluster.ask("who_has", keys=[each.key for each in partitions])
    threads = [
        (address, i)
        for address, number in sorted(cluster.threads().items())
        for i in range(number)
    ]
    most = UNEVEN * sum(sizes) / len(threads)
    load = dict.fromkeys(threads, 0)
    shares: dict[tuple[str, int], list[int]] = {thread: [] for thread in threads}
    for i, size in enumerate(sizes):
        homes = places.get(partitions[i].key, ())
        near = [each for each in threads if each[0] in homes]
        one = min(near, key=load.__getitem__, default=threads[0])
        if load[one] + size > most:
            one = min(threads, key=load.__getitem__)
        load[one] += size
        shares[one].append(i)
    return [each for each in shares.values() if each]


def lend(cluster: Cluster, thing: Any) -> Any:
    """The thing, or a future of it where it is large.

    It then goes to one worker, from which the others have it, and not with every task.
    The scheduler knows it, as it knows all others: it outlives any worker.
    """
    import dask
    from distributed.protocol.pickle import dumps

    parts: list[Any] = []
    size = len(dumps(thing, buffer_callback=parts.append))  # type: ignore[no-untyped-call]
    size += sum(part.raw().nbytes for part in parts)
    if size <= LARGE:
        return thing
    # What is meant by a large graph is one that has the same thing in many tasks.
    most = "distributed.admin.large-graph-warning-threshold"
    with dask.config.set({most: size + (1 << 20)}):
        return cluster.client.submit(_itself, thing, pure=False)


def asked(cluster: Cluster, function: Callable[..., Any], *parts: list[Any]) -> Many:
    """Futures of what a function says of the parts, where they are."""
    lent = lend(cluster, function)
    if lent is not function:
        parts, function = ([lent] * len(parts[0]), *parts), _call
    found: Many = cluster.client.map(function, *parts, pure=False)
    return found


def said(
    cluster: Cluster, function: Callable[..., T], *parts: list[Any]
) -> Iterator[T]:
    """What the workers answer, in the order of the parts."""
    futures = asked(cluster, function, *parts)
    for i, future in enumerate(futures):
        yield cluster.result(future)
        futures[i] = None  # so that its worker lets go of it


def arrow(partition: Any, columns: list[str]) -> Any:
    """Columns of a pandas frame as an Arrow table of one piece."""
    import pyarrow as pa

    frame = partition[columns]
    return pa.Table.from_pandas(frame, preserve_index=False).combine_chunks()


def _chunks(partitions: list[Any], numbers: list[int], coding: Coding) -> list[Chunk]:
    """The partitions of a share as chunks, whose numbers are all finite."""
    found = []
    for part, i in zip(partitions, numbers, strict=True):
        chunk = coding.chunk(arrow(part, coding.roles.columns), f"partition {i}")
        found.append(checked(chunk, coding.roles))
    return found


def _itself(thing: T) -> T:
    return thing


def _call(function: Callable[..., T], *parts: Any) -> T:
    return function(*parts)


def _each(function: Callable[[Any], T], parts: list[Any]) -> list[T]:
    return [function(part) for part in parts]


def _of_line(
    function: Callable[[Held], T], line: int, parts: list[list[Held]]
) -> list[T]:
    return [function(part[line]) for part in parts]


def _total(
    function: Callable[[Held], NDArray[Any]], line: int, parts: list[list[Held]]
) -> NDArray[Any]:
    return added(function(part[line]) for part in parts)


def _scan(n_tasks: int, n_features: int, n_rows: int, chunks: list[Chunk]) -> Summary:
    """The sums of a share."""
    total = Summary.empty(n_tasks, n_features, n_rows)
    for chunk in chunks:
        total.take(chunk)
    return total
