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

CHUNK = 1 << 17  # numbers handled at a time: small enough to stay in the cache
CONSTANT = 1e-15  # a spread below this share of the values is their last digit
FAR = 1e-6  # with a spread below this share, rounding of the mean shows
PARTS = 16  # that threads share out, where a batch holds as many tasks on average
FINE, DIGITS = 40, 50  # bits: parts of the range of a target, and of its size


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
        return cls.in_order(X, *sorted_by_task(codes, n_tasks), weights)

    @classmethod
    def in_order(
        cls,
        X: Floats,
        order: Ints,
        tasks: Ints,
        sizes: Ints,
        weights: Floats | None = None,
    ) -> Blocks:
        """``from_rows`` once the order of the rows is known."""
        n, n_tasks = X.shape[1], len(tasks)
        batches = tuple(batches_of(sizes))
        unit = _units(X)
        scaled = bool((unit != 1.0).any())
        Z, centre = np.empty(X.shape), np.empty((n_tasks, n))
        gram = np.empty((n_tasks, n, n))

        def gather(start: int) -> None:
            rows = slice(start, start + CHUNK)
            np.take(X, order[rows], axis=0, out=Z[rows], mode="clip")

        each(gather, range(0, len(X), CHUNK), len(X))

        def fill(batch: Batch) -> None:
            rows, places, size = batch
            Z3 = Z[rows].reshape(-1, size, n)
            if scaled:
                Z3 *= unit
            w3 = None if weights is None else weights[order[rows]].reshape(-1, size)
            centre[places] = centred(Z3, w3, gram[places])

        each_batch(fill, batches)
        return cls(Z, tasks, batches, centre, gram, unit)

    def moments(self, target: Floats) -> Floats:
        """``Zᵀ t`` and the sum of ``t`` of every task: (k, n + 1)."""
        n = self.Z.shape[1]
        out = np.empty((len(self.tasks), n + 1))

        def fill(batch: Batch) -> None:
            rows, places, size = batch
            Z, t = self.Z[rows], target[rows]
            if len(t) == size:  # one task: a plain product has less overhead
                out[places.start, :-1] = np.dot(t, Z)
                return
            t3 = t.reshape(-1, 1, size)
            np.matmul(t3, Z.reshape(-1, size, n), out=out[places, None, :-1])

        each_batch(fill, self.batches)
        out[:, -1] = self.totals(target)
        return out

    def apply(self, W: Floats) -> Floats:
        """``Z w + a`` of every row; ``a`` is the last column of ``W`` (k, n + 1)."""
        m: Floats = along(self.Z, self.batches, [W], [])[0][0]
        return m

    def totals(self, weights: Floats | None) -> Floats:
        """The sum of ``weights``, or the number of rows, of every task: (k,)."""
        sizes = self.sizes
        if weights is None or not len(weights):
            return sizes.astype(float)
        out = np.zeros(len(sizes))
        out[sizes > 0] = np.add.reduceat(weights, (np.cumsum(sizes) - sizes)[sizes > 0])
        return out

    @property
    def sizes(self) -> Ints:
        """How many rows each place holds: (k,)."""
        return np.repeat(
            [batch.size for batch in self.batches],
            [batch.places.stop - batch.places.start for batch in self.batches],
        )


def along(
    Z: Floats, batches: Sequence[Batch], W: Sequence[Floats], K: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """``Z w + a`` (r, N) of each ``W``, and ``z̃ᵀ K_j z̃`` (s, N) of each ``K``.

    ``z̃`` is ``(z, 1)``; each ``W`` is (k, n + 1), each ``K`` (k, n + 1, n + 1), and all
    of them share one product with every row.
    """
    n, r, s = Z.shape[1], len(W), len(K)
    M, H = np.empty((r, len(Z))), np.empty((s, len(Z)))

    def fill(batch: Batch) -> None:
        rows, places, size = batch
        t = places.stop - places.start
        left = np.empty((t, r + s + s * n, n))
        for i, w in enumerate(W):
            left[:, i] = w[places, :-1]
        for i, each in enumerate(K):
            left[:, r + i] = 2.0 * each[places, :-1, -1]
            left[:, r + s + i * n : r + s + (i + 1) * n] = each[places, :-1, :-1]
        # With rows last all sums run over contiguous numbers.
        Z3 = Z[rows].reshape(t, size, n).transpose(0, 2, 1).copy()
        P = np.matmul(left, Z3)
        for i, w in enumerate(W):
            M[i, rows] = (P[:, i] + w[places, -1, None]).ravel()
        bent = P[:, r + s :].reshape(t, s, n, size)
        bent *= Z3[:, None]
        P[:, r : r + s] += bent.sum(axis=2)
        for i, each in enumerate(K):
            H[i, rows] = (P[:, r + i] + each[places, -1, -1, None]).ravel()

    each_batch(fill, [part for each in batches for part in _parts(each, n)])
    return M, H


def _parts(batch: Batch, n: int) -> Iterator[Batch]:
    """The batch in parts that stay in the cache: some tasks, or some rows of one."""
    rows, places, size = batch
    if (rows.stop - rows.start) * n <= CHUNK:
        yield batch
    elif size * n > CHUNK:
        step = CHUNK // n + 1
        for place in range(places.start, places.stop):
            end = rows.start + (place - places.start + 1) * size
            for at in range(end - size, end, step):
                own = slice(at, min(at + step, end))
                yield Batch(own, slice(place, place + 1), own.stop - own.start)
    else:
        step = CHUNK // (max(size, 1) * n)
        for first in range(places.start, places.stop, step):
            own = slice(first, min(first + step, places.stop))
            at = rows.start + (first - places.start) * size
            end = at + (own.stop - own.start) * size
            yield Batch(slice(at, end), own, size)


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


def each_batch(function: Callable[[Batch], None], batches: Sequence[Batch]) -> None:
    """Call ``function`` on each batch, on threads where each holds many tasks.

    A batch of one task is short, or BLAS has threads of its own for it.
    """

    def go(part: Sequence[Batch]) -> None:
        for batch in part:
            function(batch)

    if len(batches) < 2 or batches[-1].places.stop < PARTS * len(batches):
        return go(batches)
    n_rows = batches[-1].rows.stop
    cuts = np.linspace(0, n_rows, PARTS, endpoint=False)
    firsts = np.searchsorted([batch.rows.start for batch in batches], cuts)
    edges = itertools.pairwise([*firsts.tolist(), len(batches)])
    each(go, [batches[i:j] for i, j in edges], n_rows)


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


def centred(Z3: Floats, w3: Floats | None, gram: Floats) -> Floats:
    """Centre the rows of each task (t, size, n) and return their means, (t, n).

    ``Zᵀ S Z`` goes into ``gram`` (t, n, n).  A mean is rounded; where that shows,
    because values are far from zero, what is left of it is taken off as well.
    """
    mean = mean_rows(Z3, w3)
    Z3 -= mean[:, None]
    _fill_gram(Z3, w3, gram)
    weight = Z3.shape[1] if w3 is None else w3.sum(axis=1)[:, None]
    squares, size = np.einsum("tff->tf", gram), weight * mean * mean
    if ((squares < FAR**2 * size) & (squares > CONSTANT**2 * size)).any():
        rest = mean_rows(Z3, w3)
        Z3 -= rest[:, None]
        mean += rest
        _fill_gram(Z3, w3, gram)
    return mean


def _fill_gram(Z3: Floats, w3: Floats | None, gram: Floats) -> None:
    Z3t = Z3.transpose(0, 2, 1)
    np.matmul(Z3t if w3 is None else Z3t * w3[:, None, :], Z3, out=gram)


def mean_rows(Z3: Floats, w3: Floats | None) -> Floats:
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
    with np.errstate(over="ignore"):
        whole = m / resolution
    np.rint(whole, out=whole)
    whole *= resolution
    whole += 0.0  # there is one zero, and its sign is plus
    fine = np.isfinite(whole)
    return whole if fine.all() else np.where(fine, whole, m)


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
