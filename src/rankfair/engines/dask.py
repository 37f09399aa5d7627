"""Rows in the partitions of a Dask frame: functions go there, sums come back.

Partitions that one worker has are a *share*.  A pass is one call a share, which answers
with one sum: as many messages as workers have threads, however many rows there are.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from rankfair.engines.chunked import (
    Chunk,
    ChunkedRows,
    Kept,
    LeftOut,
    Pieces,
    Sizes,
)
from rankfair.engines.labels import (
    Coding,
    StreamRoles,
    coded,
    one_column,
    refuse_unknown,
    tally,
)
from rankfair.input.errors import InputError, shown

P = TypeVar("P")
T = TypeVar("T")
Many = list[Any]  # futures

TARGET = "rankfair target"  # no column of a user's is likely to be called that
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


@dataclass(frozen=True)
class Cluster:
    """A client of a scheduler, and how long it waits where nobody works.

    Work on rows takes as long as it takes.
    """

    client: Any
    patience: float = 60.0  # seconds without a worker, or an answer of the scheduler

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
class OnWorkers(Pieces[P]):
    """Pieces that stay in the memory of the workers, in shares.

    The scheduler knows how each was made: those of a worker that is lost are made again
    by another.
    """

    cluster: Cluster
    shares: Many  # futures of lists of pieces

    def gather(self, function: Callable[[Iterable[P]], T]) -> Iterator[T]:
        """What a function says of the pieces of each share."""
        return said(self.cluster, function, self.shares)


@dataclass(frozen=True)
class DaskRows(OnWorkers[Chunk], ChunkedRows):
    """The rows of a Dask frame."""

    coding: Coding
    sizes: Sizes

    def keep(self, design: LeftOut) -> list[Kept]:
        """The lines of each chunk, kept by the worker that has it."""
        held = asked(self.cluster, partial(_each, design), self.shares)
        ways = [partial(_each, itemgetter(i)) for i in range(design.n_lines)]
        return [OnWorkers(self.cluster, asked(self.cluster, it, held)) for it in ways]


def _chunks(partitions: list[Any], numbers: list[int], coding: Coding) -> list[Chunk]:
    """The partitions of a share as chunks."""
    return [
        coding.chunk(arrow(part, coding.roles.columns), f"partition {i}", i)
        for part, i in zip(partitions, numbers, strict=True)
    ]


def _each(function: Callable[[Any], T], parts: list[Any]) -> list[T]:
    return [function(part) for part in parts]


def shares_of(cluster: Cluster, partitions: Many) -> list[list[int]]:
    """Partitions by the worker that has them, in as many shares as it has threads."""
    threads = cluster.threads()
    places = cluster.ask("who_has", keys=[each.key for each in partitions])
    by_worker: dict[str, list[int]] = {}
    for i, each in enumerate(partitions):
        homes = [one for one in places.get(each.key, ()) if one in threads]
        by_worker.setdefault(min(homes or threads), []).append(i)
    shares = (
        own[i :: threads[one]]
        for one, own in by_worker.items()
        for i in range(threads[one])
    )
    return [each for each in shares if each]


def lend(cluster: Cluster, thing: Any) -> Any:
    """A future of a thing, which goes to one worker and from there to the others.

    It may be large, and does not go with every task.  The scheduler knows it, as it
    knows all others: it outlives any worker.
    """
    import dask

    # What Dask warns of is a graph that has a large thing in many tasks.
    with dask.config.set({LARGE_GRAPH: 1 << 60}):
        return cluster.client.submit(_itself, thing, pure=False)


def asked(cluster: Cluster, function: Callable[..., Any], *parts: list[Any]) -> Many:
    """Futures of what a function says of the parts, where they are."""
    functions = [lend(cluster, function)] * len(parts[0])
    found: Many = cluster.client.map(operator.call, functions, *parts, pure=False)
    return found


def said(
    cluster: Cluster, function: Callable[..., T], *parts: list[Any]
) -> Iterator[T]:
    """What the workers answer, in the order of the parts."""
    futures = asked(cluster, function, *parts)
    for i, future in enumerate(futures):
        yield cluster.result(future)
        futures[i] = None  # so that its worker lets go of it


def _itself(thing: T) -> T:
    return thing


def arrow(partition: Any, columns: list[str]) -> Any:
    """Columns of a pandas frame as an Arrow table of one piece."""
    import pyarrow as pa

    frame = partition[columns]
    return pa.Table.from_pandas(frame, preserve_index=False).combine_chunks()


def open_frame(X: Any, y: Any, weight: str | None, named: Any) -> DaskRows:
    """The partitions of a Dask frame as rows for an engine.

    ``named`` has the columns that the constructor of the estimator names.
    """
    import dask
    from pandas.api.types import is_numeric_dtype

    cluster = _cluster_here()
    target, frame = _with_target(X, y)
    roles = StreamRoles(
        tuple(name for name in X.columns if name not in (target, weight)),
        target,
        one_column("tasks", named.tasks),
        one_column("sensitive_features", named.sensitive_features),
        weight,
        named.blind,
    )
    refuse_unknown(roles.counted, list(X.columns), "the frame")
    kinds = frame.dtypes.items()
    roles.check({name: kind for name, kind in kinds if not is_numeric_dtype(kind)})
    partitions = cluster.client.compute(frame.to_delayed())
    numbers = list(range(len(partitions)))
    tallies = said(cluster, partial(_tally, roles), partitions, numbers)
    coding = coded(tallies, roles)
    lent = lend(cluster, coding)
    made = [
        cluster.client.submit(
            _chunks, [partitions[i] for i in share], share, lent, pure=False
        )
        for share in shares_of(cluster, partitions)
    ]
    sizes = Sizes(**dask.config.get("rankfair.sizes", {}))
    return DaskRows(cluster, made, coding, sizes)


def _tally(roles: StreamRoles, partition: Any, number: int) -> Any:
    return tally(arrow(partition, roles.counted), roles, f"partition {number}")


def _cluster_here() -> Cluster:
    """The cluster at work, as patient as Dask is configured to be."""
    import dask
    from dask.utils import parse_timedelta
    from distributed import get_client

    try:
        client = get_client()
    except ValueError:
        raise InputError(
            "X",
            "is a Dask frame, which is fitted where its partitions are",
            cure="Start a cluster first: client = dask.distributed.Client(…).",
        ) from None
    asked = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    return Cluster(client) if asked is None else Cluster(client, parse_timedelta(asked))


def _with_target(X: Any, y: Any) -> tuple[str, Any]:
    """The name of the target, and the frame that has it."""
    names = list(X.columns)
    for name in names:
        if not isinstance(name, str):
            cure = "Rename it: frame.rename(columns=str)."
            found = f"a column {shown(name)}"
            raise InputError("X", "must have names in text", found, cure)
        if names.count(name) > 1:
            raise InputError("X", f"has several columns called {shown(name)}")
    if isinstance(y, str):
        refuse_unknown([y], names, "the frame")
        return y, X
    if not hasattr(y, "to_delayed"):
        raise InputError(
            "y",
            "must be a column or a Dask series where rows are in a Dask frame",
            "none" if y is None else f"a {type(y).__name__}",
            'Name the column: fit(frame, "pay").',
        )
    return TARGET, X.assign(**{TARGET: y})
