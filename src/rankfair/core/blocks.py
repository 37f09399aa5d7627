"""Rows grouped by task once, and the operations a fit needs over the groups.

Tasks are ordered by their number of rows.  Tasks of one size then lie side by side and
form a *batch*: a (tasks, rows, features) view handled by one call.  ``N`` rows have at
most ``sqrt(2 N)`` different sizes, so no loop here is longer than that, however many
tasks there are and however uneven they come.

Predictions that are equal in exact arithmetic differ in their last bits, and how they
do depends on the processor and on the order of sums.  Ranks would count that.  So every
model has a resolution, and predicts multiples of it: what ties is decided here.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
T = TypeVar("T")

LEAST = 3  # arrays of n × n numbers a task that a fit keeps, whatever the penalty
CHUNK = 1 << 17  # numbers handled at a time, on one of several threads
PIECE = 1 << 15  # numbers gathered at a time: they stay in the cache
SOME = 32  # rows of a task that tell about where its mean is
CONSTANT = 1e-15  # a spread below this share of the values is their last digit
PARTS = 16  # that threads share out, where a batch holds as many tasks on average
FINE, DIGITS = 40, 50  # bits: parts of the range of a target, and of its size


class Batch(NamedTuple):
    """Tasks of one size: where their rows lie and which places they take."""

    rows: slice
    places: slice
    size: int


Piece = tuple[list[Batch], Callable[[Batch], Floats]]  # parts, and what gathers one


@dataclass(frozen=True)
class Blocks:
    """Where tasks lie, and the sums over their rows: ``z = x * unit - centre``.

    Everything here is in *places*: place ``p`` holds task ``tasks[p]``.
    """

    tasks: Ints  # (k,)
    sizes: Ints  # (k,) rows of each, ascending
    centre: Floats  # (k, n) in units
    gram: Floats  # (k, n, n), Zᵀ S Z of every task
    unit: Floats  # (n,) powers of two, so that no square overflows

    def totals(self, weights: Floats | None) -> Floats:
        """The sum of ``weights``, or the number of rows, of every task: (k,)."""
        sizes = self.sizes
        if weights is None or not len(weights):
            return sizes.astype(float)
        out = np.zeros(len(sizes))
        out[sizes > 0] = np.add.reduceat(weights, (np.cumsum(sizes) - sizes)[sizes > 0])
        return out


class TaskProducts(NamedTuple):
    """Of some tasks: sums of products about a value near the mean, with r targets."""

    near: Floats  # (t, n)
    gram: Floats  # (t, n, n)
    cross: Floats  # (t, r + 1, n), with the targets and with 1
    sums: Floats  # (t, r + 1), of the targets and of what rows weigh

    def centred(self) -> Floats:
        """Bring products to the mean, in place.

        Returns it and what rounding left of it, (2, t, n).
        """
        weight = np.maximum(self.sums[:, -1:], np.finfo(float).tiny)
        off = self.cross[:, -1] / weight
        self.gram[:] -= self.cross[:, -1, :, None] * off[:, None]
        self.cross[:] -= self.sums[:, :, None] * off[:, None]
        mean = self.near + off
        return np.stack([mean, self.near - mean + off])


@dataclass(frozen=True)
class SortedRows:
    """The rows of an array by task: gathered when they are needed, and never kept.

    Every pass gathers some tasks, or some rows of a large one, into one small buffer
    that stays in the cache.
    """

    X: Floats  # (N, n), row after row
    order: Ints  # (N,): the row of X behind each sorted row
    batches: tuple[Batch, ...]
    unit: Floats | None = None  # (n,): what columns are multiplied by

    def pieces(self, batches: Sequence[Batch], least: int = 1) -> Iterator[Piece]:
        """The rows of some batches, piece by piece; a task has ``least`` rows or more.

        A piece is all rows of some tasks in one part, or of one large task in several.
        """
        n = self.X.shape[1]
        buffer = np.empty((min(len(self.order), PIECE // max(n, 1) + 1), n))

        def gathered(part: Batch) -> Floats:
            rows, places, size = part
            Z = buffer[: rows.stop - rows.start]
            np.take(self.X, self.order[rows], axis=0, out=Z, mode="clip")
            if self.unit is not None:
                Z *= self.unit
            return Z.reshape(places.stop - places.start, size, n)

        for batch in batches:
            for parts in _parts(batch, n, least):
                yield parts, gathered

    def products(
        self,
        batches: Sequence[Batch],
        weights: Floats | None,
        targets: Sequence[NDArray[Any]],
    ) -> Iterator[tuple[slice, TaskProducts]]:
        """Some places and the sums over their rows, piece by piece.

        ``weights`` and ``targets`` are of the sorted rows.
        """
        for parts, gathered in self.pieces(batches, self.X.shape[1]):
            near, gram, cross, sums = None, *(np.zeros(()),) * 3
            for part in parts:
                Z3, T3 = gathered(part), _stacked(targets, weights, part)
                near = _near_mean(Z3, T3[:, -1]) if near is None else near
                Z3 -= near[:, None]
                Z3t = Z3.transpose(0, 2, 1)
                gram = gram + np.matmul(
                    Z3t if weights is None else Z3t * T3[:, -1:], Z3
                )
                cross, sums = cross + np.matmul(T3, Z3), sums + T3.sum(axis=2)
            assert near is not None
            yield parts[0].places, TaskProducts(near, gram, cross, sums)

    def all_products(
        self, weights: Floats | None, targets: Sequence[NDArray[Any]]
    ) -> TaskProducts:
        """The sums over the rows of all tasks."""
        k, n = self.batches[-1].places.stop, self.X.shape[1]
        r = len(targets)
        shapes = (k, n), (k, n, n), (k, r + 1, n), (k, r + 1)
        out = TaskProducts(*map(np.empty, shapes))

        def fill(batches: Sequence[Batch]) -> None:
            for at, found in self.products(batches, weights, targets):
                for all_of, some in zip(out, found, strict=True):
                    all_of[at] = some

        share_out(fill, self.batches)
        return out

    def cross(
        self, targets: Sequence[NDArray[Any]], weights: Floats | None, off: Floats
    ) -> Floats:
        """``Zᵀ S t`` of every task and target: (k, r, n).

        ``off`` (j, k, n) is what is taken off the rows of each task, step by step.
        """
        out = np.zeros((off.shape[1], len(targets), off.shape[2]))

        def fill(batches: Sequence[Batch]) -> None:
            for parts, gathered in self.pieces(batches):
                for part in parts:
                    Z3, T3 = gathered(part), _stacked(targets, weights, part)
                    for each in off:
                        Z3 -= each[part.places, None]
                    out[part.places] += np.matmul(T3[:, :-1], Z3)

        share_out(fill, self.batches)
        return out

    def along(
        self, W: Sequence[Floats], K: Sequence[Floats], off: Floats
    ) -> tuple[Floats, Floats]:
        """``Z w + a`` (r, N) of each ``W``, and ``z̃ᵀ K_j z̃`` (s, N) of each ``K``.

        ``z̃`` is ``(z, 1)``; each ``W`` is (k, n + 1), each ``K`` (k, n + 1, n + 1), and
        all of them share one product with every row.  ``off`` is as in `cross`.
        """
        n, r, s = self.X.shape[1], len(W), len(K)
        M, H = np.empty((r, len(self.order))), np.empty((s, len(self.order)))

        def fill(batches: Sequence[Batch]) -> None:
            for parts, gathered in self.pieces(batches):
                at = parts[0].places
                left = np.empty((at.stop - at.start, r + s, n))
                for i, w in enumerate(W):
                    left[:, i] = w[at, :-1]
                for i, each in enumerate(K):
                    left[:, r + i] = 2.0 * each[at, :-1, -1]
                for part in parts:
                    # With rows last all sums run over contiguous numbers.
                    Z3 = gathered(part).transpose(0, 2, 1).copy()
                    for each in off:
                        Z3 -= each[at, :, None]
                    P = np.matmul(left, Z3)
                    for i, w in enumerate(W):
                        M[i, part.rows] = (P[:, i] + w[at, -1, None]).ravel()
                    for i, each in enumerate(K):
                        bent = np.matmul(each[at, :-1, :-1], Z3)
                        bent *= Z3
                        h = bent.sum(axis=1)
                        h += P[:, r + i]
                        h += each[at, -1, -1, None]
                        H[i, part.rows] = h.ravel()

        share_out(fill, self.batches)
        return M, H


def _near_mean(Z3: Floats, w3: Floats) -> Floats:
    """The (weighted) mean of some rows of each task: (t, n)."""
    step = max(1, Z3.shape[1] // SOME)
    Z3, w3 = Z3[:, ::step], w3[:, ::step]
    weight = w3.sum(axis=1)[:, None]
    near: Floats = np.matmul(w3[:, None], Z3)[:, 0]
    np.divide(near, weight, out=near, where=weight > 0)
    return near


def _stacked(
    targets: Sequence[NDArray[Any]], weights: Floats | None, part: Batch
) -> Floats:
    """Targets and 1, times the weights, of the rows of a part: (t, r + 1, size)."""
    rows, places, size = part
    out = np.ones((places.stop - places.start, len(targets) + 1, size))
    for i, target in enumerate(targets):
        out[:, i] = target[rows].reshape(-1, size)
    if weights is not None:
        out *= weights[rows].reshape(-1, 1, size)
    return out


def _parts(batch: Batch, n: int, least: int) -> Iterator[list[Batch]]:
    """The batch in parts that stay in the cache: tasks, or the rows of a large one."""
    rows, places, size = batch
    most = PIECE // max(n, 1) + 1
    step = max(1, most // max(size, least))
    for first in range(places.start, places.stop, step):
        own = slice(first, min(first + step, places.stop))
        start = rows.start + (first - places.start) * size
        end = start + (own.stop - own.start) * size
        cuts = [start, end] if size <= most else [*range(start, end, most), end]
        yield [
            Batch(slice(a, b), own, (b - a) // (own.stop - own.start))
            for a, b in itertools.pairwise(cuts)
        ]


def sorted_by_task(codes: Ints, n_tasks: int) -> tuple[Ints, Ints, Ints]:
    """The rows by task, small tasks first; the tasks in that order; their sizes."""
    sizes = np.bincount(codes, minlength=n_tasks)
    tasks = np.argsort(sizes, kind="stable")
    place = np.empty(n_tasks, np.uint16 if n_tasks <= 1 << 16 else np.int64)
    place[tasks] = np.arange(n_tasks)
    short = np.int32 if len(codes) < 1 << 31 else np.int64
    order: Ints = np.argsort(place[codes], kind="stable").astype(short)
    return order, tasks, sizes[tasks]


def each(function: Callable[[T], None], items: Iterable[T], n_rows: int) -> None:
    """Call ``function`` on each item, on several threads when there are many rows."""
    threads = _threads()
    if threads == 1 or n_rows < CHUNK:
        for item in items:
            function(item)
        return
    heed = partial(np.seterr, **np.geterr())  # np.errstate is each thread's own
    with ThreadPoolExecutor(threads, initializer=heed) as pool:
        for _ in pool.map(function, items):
            pass


def share_out(
    function: Callable[[Sequence[Batch]], None], batches: Sequence[Batch]
) -> None:
    """Call ``function`` on the batches, on threads where each holds many tasks.

    A batch of one task is short, or BLAS has threads of its own for it.
    """
    if len(batches) < 2 or batches[-1].places.stop < PARTS * len(batches):
        return function(batches)
    n_rows = batches[-1].rows.stop
    cuts = np.linspace(0, n_rows, PARTS, endpoint=False)
    firsts = np.searchsorted([batch.rows.start for batch in batches], cuts)
    edges = itertools.pairwise([*firsts.tolist(), len(batches)])
    each(function, [batches[i:j] for i, j in edges if i < j], n_rows)


def _threads() -> int:
    """How many threads this process may use, at most four."""
    allowed = os.environ.get("OMP_NUM_THREADS", "")
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return max(1, min(4, cores, int(allowed) if allowed.isdigit() else cores))


def batches_of(sizes: Ints) -> Iterable[Batch]:
    """The runs of equal sizes in the ascending ``sizes``."""
    edges = np.flatnonzero(np.diff(sizes, prepend=-1, append=-1))
    ends = np.concatenate(([0], np.cumsum(sizes)))
    for first, last in itertools.pairwise(edges.tolist()):
        yield Batch(
            slice(int(ends[first]), int(ends[last])),
            slice(first, last),
            int(sizes[first]),
        )


def power_of_two(size: float) -> float:
    """That of a size, to divide by: no digit changes, and no square overflows.

    Examples
    --------
    >>> power_of_two(5.0), power_of_two(0.0)
    (4.0, 1.0)
    """
    return math.ldexp(1.0, math.frexp(size)[1] - 1) if size > 0 else 1.0


def runs(starts: Ints, lengths: Ints) -> Ints:
    """``starts[i] + (0, 1, … lengths[i] − 1)`` of every i, in one array."""
    rank = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    out: Ints = np.repeat(starts, lengths) + rank
    return out


def units_of(X: Floats) -> Floats:
    """One, or for a column of extreme size a power of two that brings it near one."""
    sample = np.abs(X[:: max(1, len(X) // 4096)]).max(axis=0, initial=0.0)
    exponent = np.where(sample > 0, np.frexp(sample)[1], 0)
    return np.ldexp(1.0, np.where(np.abs(exponent) < 200, 0, -exponent))


def resolution_of(y: Floats) -> float:
    """What predictions of a target are multiples of: a power of two.

    It is about 2⁻⁴⁰ of the range of ``y``, 10⁻¹¹ of a standard deviation, and at least
    2⁻⁵⁰ of the largest value, which is 8 units in its last place.  The least and the
    largest value say it: neither the order of rows nor rounding has a part in it.  It
    is 0 for a target of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> resolution_of(np.array([0.0, 3.0, 1.0])) == 2.0**-38
    True
    >>> resolution_of(np.array([3e13, 3e13 + 8])) == 2.0**-5
    True
    """
    low, high = float(y.min()), float(y.max())
    sizes = (high / 2 - low / 2, FINE - 1), (max(abs(low), abs(high)), DIGITS)
    powers = [round(math.log2(size)) - bits for size, bits in sizes if size > 0]
    return math.ldexp(1.0, max(powers)) if powers else 0.0


def rounded(m: Floats, resolution: float) -> Floats:
    """The nearest multiples of a power of two, exact and in the same order.

    Numbers so large that all of them are multiples stay as they are, and so do all if
    the resolution is 0.

    Examples
    --------
    >>> import numpy as np
    >>> same = rounded(np.array([0.1 + 0.2, 0.3, -1e-20, 1e300]), 2.0**-40)
    >>> bool(same[0] == same[1]), same[2:].tolist()
    (True, [0.0, 1e+300])
    """
    if not resolution:
        return m
    out = np.empty_like(m)
    for start in range(0, len(m), CHUNK):
        block = m[start : start + CHUNK]
        with np.errstate(over="ignore"):
            whole = block / resolution
        np.rint(whole, out=whole)
        whole *= resolution
        whole += 0.0  # there is one zero, and its sign is plus
        fine = np.isfinite(whole)
        out[start : start + CHUNK] = (
            whole if fine.all() else np.where(fine, whole, block)
        )
    return out


def linear_predict(
    X: Floats, codes: Ints, coef: Floats, intercept: Floats, resolution: float = 0.0
) -> Floats:
    """``x_i · coef[codes_i] + intercept[codes_i]``, the same bits for any rows.

    Each row is summed by itself and `rounded`, so a prediction does not depend on the
    other rows of ``X`` nor on how they lie in memory: counts made on it hold for ever
    after.

    Examples
    --------
    >>> import numpy as np
    >>> X, codes = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0])
    >>> linear_predict(X, codes, np.eye(2), np.array([0.0, 10.0])).tolist()
    [12.0, 3.0]
    """
    out = np.empty(len(X))
    step = max(1, 2 * CHUNK // max(X.shape[1], 1))

    def fill(start: int) -> None:
        rows = slice(start, start + step)
        code = codes[rows]
        terms = np.take(coef, code, axis=0)
        # einsum sums each row by itself, in an order that only the columns decide.
        total = np.einsum("ij,ij->i", np.ascontiguousarray(X[rows]), terms)
        total += intercept[code]
        out[rows] = rounded(total, resolution)

    each(fill, range(0, len(X), step), len(X))
    return out
