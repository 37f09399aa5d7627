"""Rows grouped by task once, and the operations a fit needs over the groups.

Tasks are ordered by their number of rows.  Tasks of one size then lie side by side and
form a *batch*: a (tasks, rows, features) view handled by one call.  ``N`` rows have at
most ``sqrt(2 N)`` different sizes, so no loop here is longer than that, however many
tasks there are and however uneven they come.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
T = TypeVar("T")

SPAN = 1 << 14  # rows gathered at a time, while others are worked on
CHUNK = 1 << 17  # numbers handled at a time: small enough to stay in the cache


class Batch(NamedTuple):
    """Tasks of one size: where their rows lie and which places they take."""

    rows: slice
    places: slice
    size: int


@dataclass(frozen=True)
class Blocks:
    """The features sorted by task, centred in each task: ``z = x * unit - centre``.

    Everything here is in *places*: place ``p`` holds task ``tasks[p]``.
    """

    Z: Floats  # (N, n)
    order: Ints  # (N,) Z's row i is the user's row order[i]
    tasks: Ints  # (k,)
    batches: tuple[Batch, ...]
    centre: Floats  # (k, n) in units
    gram: Floats  # (k, n, n), Zᵀ S Z of every task
    unit: Floats  # (n,) powers of two, so that no square overflows

    @classmethod
    def from_rows(
        cls, X: Floats, codes: Ints, n_tasks: int, weights: Floats | None = None
    ) -> Blocks:
        """Sort and centre ``X`` (N, n) into a new array, task by task."""
        n = X.shape[1]
        sizes = np.bincount(codes, minlength=n_tasks)
        tasks = np.argsort(sizes, kind="stable")
        place = np.empty(n_tasks, np.uint16 if n_tasks <= 1 << 16 else np.int64)
        place[tasks] = np.arange(n_tasks)
        short = np.int32 if len(codes) < 1 << 31 else np.int64
        order: Ints = np.argsort(place[codes], kind="stable").astype(short)
        batches = tuple(_batches(sizes[tasks]))
        unit = _units(X)
        scaled = bool((unit != 1.0).any())
        Z, centre = np.empty(X.shape), np.empty((n_tasks, n))
        gram = np.empty((n_tasks, n, n))

        def gather(span: tuple[Batch, ...]) -> None:
            rows = slice(span[0].rows.start, span[-1].rows.stop)
            np.take(X, order[rows], axis=0, out=Z[rows], mode="clip")

        for span in ahead(gather, _spans(batches), len(X)):
            for rows, places, size in span:
                Z3 = Z[rows].reshape(-1, size, n)
                if scaled:
                    Z3 *= unit
                w3 = None
                if weights is not None:
                    w3 = weights[order[rows]].reshape(-1, size)
                centre[places] = _mean(Z3, w3)
                Z3 -= centre[places][:, None]
                Z3t = Z3.transpose(0, 2, 1)
                if w3 is not None:
                    Z3t = Z3t * w3[:, None, :]
                np.matmul(Z3t, Z3, out=gram[places])
        return cls(Z, order, tasks, batches, centre, gram, unit)

    def moments(self, target: Floats) -> Floats:
        """``Zᵀ t`` and the sum of ``t`` of every task: (k, n + 1)."""
        n = self.Z.shape[1]
        out = np.empty((len(self.tasks), n + 1))
        for rows, places, size in self.batches:
            t3 = target[rows].reshape(-1, 1, size)
            out[places, -1] = t3.sum(axis=(1, 2))
            out[places, :-1] = np.matmul(t3, self.Z[rows].reshape(-1, size, n))[:, 0]
        return out

    def apply(self, W: Floats) -> Floats:
        """``Z w + a`` of every row; ``a`` is the last column of ``W`` (k, n + 1)."""
        n = self.Z.shape[1]
        out = np.empty(len(self.Z))
        for rows, places, size in self.batches:
            w = W[places]
            m3 = np.matmul(self.Z[rows].reshape(-1, size, n), w[:, :-1, None])
            m3 += w[:, -1:, None]
            out[rows] = m3.reshape(-1)
        return out

    def totals(self, weights: Floats | None) -> Floats:
        """The sum of ``weights``, or the number of rows, of every task: (k,)."""
        out = np.empty(len(self.tasks))
        for rows, places, size in self.batches:
            out[places] = (
                size if weights is None else weights[rows].reshape(-1, size).sum(axis=1)
            )
        return out

    def fewer_rows(self, step: int) -> tuple[Blocks, Ints, Floats]:
        """Every ``step``-th row of each task, which they are, how many each is for."""
        sizes = self._sizes()
        first = np.minimum(step // 2, sizes - 1)
        kept = (sizes - first + step - 1) // step
        index = _runs(np.cumsum(sizes) - sizes + first, kept, step)
        share = np.repeat(sizes / kept, kept)
        thin = replace(
            self,
            Z=self.Z[index],
            order=self.order[index],
            batches=tuple(_batches(kept)),
        )
        return thin, index, share

    def fewer_tasks(self, step: int) -> tuple[Blocks, Ints, Ints]:
        """Every ``step``-th task with all its rows, which rows, and which places."""
        sizes = self._sizes()
        places = np.arange(step // 2, len(sizes), step)
        index = _runs((np.cumsum(sizes) - sizes)[places], sizes[places], 1)
        few = Blocks(
            self.Z[index],
            self.order[index],
            self.tasks[places],
            tuple(_batches(sizes[places])),
            self.centre[places],
            self.gram[places],
            self.unit,
        )
        return few, index, places

    def _sizes(self) -> Ints:
        return self.totals(None).astype(np.intp)


def each(function: Callable[[T], None], items: Iterable[T], n_rows: int) -> None:
    """Call ``function`` on each item, on several threads when there are many rows."""
    threads = _threads()
    if threads == 1 or n_rows < CHUNK:
        for item in items:
            function(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(function, items):
            pass


def ahead(prepare: Callable[[T], None], items: Iterable[T], n_rows: int) -> Iterator[T]:
    """Each item once it is prepared; the next is prepared meanwhile if that pays."""
    if _threads() == 1 or n_rows < CHUNK:
        for item in items:
            prepare(item)
            yield item
        return
    with ThreadPoolExecutor(1) as pool:
        started = [(item, pool.submit(prepare, item)) for item in items]
        for item, done in started:
            done.result()
            yield item


def _threads() -> int:
    """How many threads this process may use, at most four."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(4, cores, int(allowed) if allowed.isdigit() else cores))


def _batches(sizes: Ints) -> Iterable[Batch]:
    """The runs of equal sizes in the ascending ``sizes``."""
    edges = np.flatnonzero(np.diff(sizes, prepend=-1, append=-1))
    ends = np.concatenate(([0], np.cumsum(sizes)))
    for first, last in itertools.pairwise(edges.tolist()):
        yield Batch(
            slice(int(ends[first]), int(ends[last])),
            slice(first, last),
            int(sizes[first]),
        )


def _spans(batches: tuple[Batch, ...]) -> Iterator[tuple[Batch, ...]]:
    """Neighbouring batches, together about half a cache each."""
    span: list[Batch] = []
    for batch in batches:
        span.append(batch)
        if batch.rows.stop - span[0].rows.start >= SPAN:
            yield tuple(span)
            span = []
    if span:
        yield tuple(span)


def _runs(starts: Ints, lengths: Ints, step: int) -> Ints:
    """``starts[i] + step * (0, 1, … lengths[i] − 1)`` of every i, in one array."""
    before = np.cumsum(lengths) - lengths
    first = np.repeat(starts - step * before, lengths)
    out: Ints = first + step * np.arange(lengths.sum())
    return out


def _mean(Z3: Floats, w3: Floats | None) -> Floats:
    """The (weighted) mean row of each task; zero where nothing weighs."""
    if w3 is None:
        ones = np.ones(Z3.shape[1])
        mean: Floats = np.matmul(ones, Z3) / Z3.shape[1]
        return mean
    total = w3.sum(axis=1)[:, None]
    weighted = np.matmul(w3[:, None, :], Z3)[:, 0]
    out: Floats = np.zeros_like(weighted)
    np.divide(weighted, total, out=out, where=total > 0)
    return out


def _units(X: Floats) -> Floats:
    """One, or for a column of extreme size a power of two that brings it near one."""
    sample = np.abs(X[:: max(1, len(X) // 4096)]).max(axis=0, initial=0.0)
    exponent = np.where(sample > 0, np.frexp(sample)[1], 0)
    return np.ldexp(1.0, np.where(np.abs(exponent) < 200, 0, -exponent))
