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
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]
T = TypeVar("T")

LEAST = 3  # arrays of n × n numbers a task that a fit keeps, whatever the penalty
CHUNK = 1 << 17  # numbers handled at a time, on one of several threads
PIECE = 1 << 16  # numbers gathered at a time: they stay in the cache
PADDED = 256  # rows of padding that cost less than another batch
SOME = 32  # rows of a task that tell about where its mean is
CONSTANT = 1e-15  # a spread below this share of the values is their last digit
PARTS = 16  # that threads share out, where a batch holds as many tasks on average
FINE, DIGITS = 40, 50  # bits: parts of the range of a target, and of its size


class Batch(NamedTuple):
    """Tasks side by side: where their rows lie and which places they take."""

    rows: slice
    places: slice
    size: int  # rows of each, or of the largest


@dataclass(frozen=True)
class Padded:
    """Tasks side by side, padded to the size of the largest; or some rows of one."""

    rows: slice
    n_tasks: int
    size: int  # rows of the largest
    at: Ints | slice  # the sorted rows of the padded tasks
    padding: NDArray[np.bool_] | None  # (t, size): no rows of the task; None if none

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of sorted rows, task by task: (t, size)."""
        if isinstance(self.at, slice):
            return values[self.at].reshape(-1, self.size)
        return values.take(self.at).reshape(-1, self.size)

    def packed(self, values: Floats) -> Floats:
        """Values (r, t, size) of the padded tasks, without the padding: (r, rows)."""
        flat = values.reshape(len(values), -1)
        if self.padding is None:
            return flat
        return flat.take(np.flatnonzero(~self.padding), axis=1)


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


class TaskProducts(NamedTuple):
    """Of some tasks: sums of products about a value near the mean, with r targets."""

    near: Floats  # (t, n)
    gram: Floats  # (t, n, n)
    cross: Floats  # (t, r + 1, n), with the targets and with 1
    sums: Floats  # (t, r + 1, r + 1), of the targets and of 1 with each other

    @property
    def weight(self) -> Floats:
        """What the rows of each task weigh: (t,)."""
        return self.sums[:, -1, -1]

    def centred(self) -> Floats:
        """Bring products to the mean, in place.

        Returns it and what rounding left of it, (2, t, n).
        """
        weight = np.maximum(self.weight[:, None], np.finfo(float).tiny)
        off = self.cross[:, -1] / weight
        self.gram[:] -= self.cross[:, -1, :, None] * off[:, None]
        self.cross[:] -= self.sums[:, :, -1:] * off[:, None]
        mean = self.near + off
        return np.stack([mean, self.near - mean + off])


@dataclass(frozen=True)
class SortedRows:
    """The rows of an array by task: gathered when they are needed, and never kept.

    Every pass gathers some tasks, or some rows of a large one, into one small buffer
    that stays in the cache.
    """

    X: Any  # (N, n), row after row, or sparse in that way
    order: Ints  # (N,): the row of X behind each sorted row
    sizes: Ints  # (k,) rows of every task, ascending
    unit: Floats | None = None  # (n,): what columns are multiplied by

    @property
    def n_features(self) -> int:
        """How many columns."""
        n: int = self.X.shape[1]
        return n

    @property
    def most(self) -> int:
        """How many rows are gathered at a time."""
        return PIECE // max(self.n_features, 1) + 1

    @cached_property
    def starts(self) -> Ints:
        """The first sorted row of each task, and the end: (k + 1,)."""
        return np.concatenate(([0], np.cumsum(self.sizes)))

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Tasks of nearly one size, as many as stay in the cache."""
        most, n = self.most, self.n_features
        starts, found, longest = self.starts.tolist(), list[Batch](), 0
        first = end = int(np.searchsorted(self.sizes, 0, "right"))

        def close() -> None:
            rows = slice(starts[first], starts[end])
            found.append(Batch(rows, slice(first, end), longest))

        for _, places, size in batches_of(self.sizes):
            fit = most // max(size, n, 1)
            while end < places.stop:
                count, rows = end - first, starts[end] - starts[first]
                room = fit - count
                if count and (room < 1 or count * size - rows > max(PADDED, rows // 8)):
                    close()
                    first, room = end, fit
                end, longest = min(end + max(room, 1), places.stop), size
        if end > first:
            close()
        return tuple(found)

    def parts(self, batch: Batch) -> Iterator[Padded]:
        """The batch in one part, or one large task in several."""
        rows, places, size = batch
        n_rows, n_tasks = rows.stop - rows.start, places.stop - places.start
        if n_tasks > 1 and n_rows < n_tasks * size:
            ends = self.starts[1:][places, None]
            at = self.starts[places, None] + np.arange(size)
            yield Padded(
                rows, n_tasks, size, np.minimum(at, ends - 1).ravel(), at >= ends
            )
        elif n_tasks > 1:
            yield Padded(rows, n_tasks, size, rows, None)
        else:
            for start in range(rows.start, rows.stop, self.most):
                own = slice(start, min(start + self.most, rows.stop))
                yield Padded(own, 1, own.stop - own.start, own, None)

    def gatherer(self) -> Callable[[Padded], Floats]:
        """What gathers the rows of a part: (t, size, n), till it gathers the next."""
        n = self.n_features
        buffer = np.empty((self.most, n))

        def gathered(part: Padded) -> Floats:
            own = self.order[part.at]
            Z = buffer[: len(own)]
            if isinstance(self.X, np.ndarray):
                np.take(self.X, own, axis=0, out=Z, mode="clip")
            else:
                self.X[own].toarray(out=Z)
            if self.unit is not None:
                Z *= self.unit
            return Z.reshape(-1, part.size, n)

        return gathered

    def products(
        self,
        batches: Sequence[Batch],
        weights: Floats | None,
        targets: Sequence[NDArray[Any]],
        off: Floats | None = None,
    ) -> Iterator[tuple[slice, TaskProducts]]:
        """Some places and the sums over their rows, batch by batch.

        ``weights`` and ``targets`` are of the sorted rows.  With ``off`` (j, k, n),
        what is taken off the rows of each task step by step, no Gram matrix is made.
        """
        gathered = self.gatherer()
        for batch in batches:
            near, gram, cross, sums = None, *(np.zeros(()),) * 3
            for part in self.parts(batch):
                Z3, (T3, U3) = gathered(part), _stacked(targets, weights, part)
                if near is None:
                    near = _near_mean(Z3, T3[:, -1]) if off is None else off[0]
                    steps = near[None] if off is None else off[:, batch.places]
                for step in steps:
                    Z3 -= step[:, None]
                if part.padding is not None:
                    Z3[part.padding] = 0.0
                if off is None:
                    Z3t = Z3.transpose(0, 2, 1)
                    left = Z3t if weights is None else Z3t * T3[:, -1:]
                    gram = gram + np.matmul(left, Z3)
                cross = cross + np.matmul(T3, Z3)
                sums = sums + np.matmul(T3, U3.transpose(0, 2, 1))
            if near is not None:
                yield batch.places, TaskProducts(near, gram, cross, sums)

    def all_products(
        self,
        weights: Floats | None,
        targets: Sequence[NDArray[Any]],
        off: Floats | None = None,
    ) -> TaskProducts:
        """The sums over the rows of all tasks, as `products` makes them."""
        k, n, r = len(self.sizes), self.n_features, len(targets) + 1
        made = k if off is None else 0
        shapes = (made, n), (made, n, n), (k, r, n), (k, r, r)
        out = TaskProducts(*map(np.zeros, shapes))

        def fill(batches: Sequence[Batch]) -> None:
            for at, found in self.products(batches, weights, targets, off):
                first = 0 if off is None else 2
                for all_of, some in zip(out[first:], found[first:], strict=True):
                    all_of[at] = some

        share_out(fill, self.batches)
        return out

    def each_along(
        self,
        W: Sequence[Floats],
        K: Sequence[Callable[[slice], Floats]],
        off: Floats,
        visit: Callable[[slice, Floats, Floats], None],
    ) -> None:
        """Give ``z w + a`` (r, rows) and ``z̃ᵀ K_j z̃`` (s, rows) to a visitor.

        ``z̃`` is ``(z, 1)``; each ``W`` is (k, n + 1), and each ``K`` makes those of
        some tasks, (t, n + 1, n + 1).  All share one product with every row; ``off`` is
        as in `products`.
        """
        n, r, s = self.n_features, len(W), len(K)

        def fill(batches: Sequence[Batch]) -> None:
            gathered, buffers = self.gatherer(), np.empty((2, 0))
            for batch in batches:
                at = batch.places
                t = at.stop - at.start
                left = np.empty((t, r + s + s * n, n))
                ones = np.empty((t, r + s, 1))
                for i, w in enumerate(W):
                    left[:, i], ones[:, i, 0] = w[at, :-1], w[at, -1]
                for i, block in enumerate(K):
                    own = block(at)
                    left[:, r + i] = 2.0 * own[:, :-1, -1]
                    left[:, r + s + i * n : r + s + (i + 1) * n] = own[:, :-1, :-1]
                    ones[:, r + i, 0] = own[:, -1, -1]
                for part in self.parts(batch):
                    size = t * part.size * max(n, len(left[0]))
                    if size > buffers.shape[1]:  # the same memory for every part
                        buffers = np.empty((2, size))
                    # With rows last all sums run over contiguous numbers.
                    Z3 = _shaped(buffers[0], t, n, part.size)
                    np.copyto(Z3, gathered(part).transpose(0, 2, 1))
                    for step in off:
                        Z3 -= step[at, :, None]
                    P = _shaped(buffers[1], t, len(left[0]), part.size)
                    np.matmul(left, Z3, out=P)
                    P[:, : r + s] += ones
                    for i in range(s):
                        bent = P[:, r + s + i * n : r + s + (i + 1) * n]
                        P[:, r + i] += np.einsum("tfi,tfi->ti", bent, Z3)
                    found = part.packed(P[:, : r + s].transpose(1, 0, 2))
                    visit(part.rows, found[:r], found[r:])

        share_out(fill, self.batches)

    def along(
        self, W: Sequence[Floats], K: Sequence[Floats], off: Floats
    ) -> tuple[Floats, Floats]:
        """What `each_along` gives, of all rows: (r, N) and (s, N)."""
        M, H = np.empty((len(W), len(self.order))), np.empty((len(K), len(self.order)))

        def visit(rows: slice, m: Floats, h: Floats) -> None:
            M[:, rows], H[:, rows] = m, h

        self.each_along(W, [each.__getitem__ for each in K], off, visit)
        return M, H


def _shaped(buffer: Floats, *shape: int) -> Floats:
    """The start of a buffer in a shape."""
    return buffer[: math.prod(shape)].reshape(shape)


def _near_mean(Z3: Floats, w3: Floats) -> Floats:
    """The (weighted) mean of some rows of each task: (t, n)."""
    step = max(1, Z3.shape[1] // SOME)
    Z3, w3 = Z3[:, ::step], w3[:, ::step]
    weight = w3.sum(axis=1)[:, None]
    near: Floats = np.matmul(w3[:, None], Z3)[:, 0]
    np.divide(near, weight, out=near, where=weight > 0)
    return near


def _stacked(
    targets: Sequence[NDArray[Any]], weights: Floats | None, part: Padded
) -> tuple[Floats, Floats]:
    """Targets and 1 of the rows, (t, r + 1, size): times what rows weigh, and plain."""
    plain = np.ones((part.n_tasks, len(targets) + 1, part.size))
    for i, target in enumerate(targets):
        plain[:, i] = part.spread(target)
    if weights is None and part.padding is None:
        return plain, plain
    weighted = plain if weights is None else plain * part.spread(weights)[:, None]
    if part.padding is not None:
        weighted = weighted * ~part.padding[:, None]
    return weighted, plain


def blocks_of(length: int, size: int = PIECE) -> Iterator[slice]:
    """Slices that cover ``length`` values, a block each."""
    return (slice(i, i + size) for i in range(0, length, size))


def sorted_by_task(codes: Ints, n_tasks: int) -> tuple[Ints, Ints, Ints]:
    """The rows by task, small tasks first; the tasks in that order; their sizes."""
    sizes = np.bincount(codes, minlength=n_tasks)
    tasks = np.argsort(sizes, kind="stable")
    place = np.empty(n_tasks, np.int64)
    place[tasks] = np.arange(n_tasks)
    return _order_of(place, codes), tasks, sizes[tasks]


def _order_of(place: Ints, codes: Ints) -> Ints:
    """Rows by the place of their task, stable: 16 bits are sorted quickest."""
    order = np.argsort(place.astype(np.uint16)[codes], kind="stable")
    if len(place) > 1 << 16:
        high = (place >> 16).astype(np.uint16)[codes[order]]
        order = order[np.argsort(high, kind="stable")]
    return order.astype(np.int32 if len(codes) < 1 << 31 else np.int64)


def each(function: Callable[[T], None], items: Iterable[T], n_rows: int) -> None:
    """Call ``function`` on each item, on several threads when there are many rows."""
    if n_rows < CHUNK or (threads := _threads()) == 1:
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


def dense_rows(X: Any, rows: Ints | slice) -> Floats:
    """Some rows of an array, which may be sparse."""
    found: Floats = X[rows]
    return found if isinstance(found, np.ndarray) else found.toarray()


def units_of(X: Any) -> Floats:
    """One, or for a column of extreme size a power of two that brings it near one."""
    some = slice(None, None, max(1, X.shape[0] // 4096))
    sample = np.abs(dense_rows(X, some)).max(axis=0, initial=0.0)
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
    for rows in blocks_of(len(m)):
        with np.errstate(over="ignore"):
            whole = np.rint(m[rows] / resolution)
        whole *= resolution
        whole += 0.0  # there is one zero, and its sign is plus
        out[rows] = np.where(np.isfinite(whole), whole, m[rows])
    return out


def linear_predict(
    X: Any, codes: Ints, coef: Floats, intercept: Floats, resolution: float = 0.0
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
    n_rows, n = X.shape
    out = np.empty(n_rows)

    def fill(rows: slice) -> None:
        code, block = codes[rows], np.ascontiguousarray(dense_rows(X, rows))
        # einsum sums each row by itself, in an order that only the columns decide.
        total = np.einsum("ij,ij->i", block, coef.take(code, axis=0))
        total += intercept[code]
        out[rows] = rounded(total, resolution)

    each(fill, blocks_of(n_rows, 4 * PIECE // max(n, 1) + 1), n_rows)
    return out
