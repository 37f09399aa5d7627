"""``β`` by generalised cross-validation, ``RSS / (1 − df/n)²``, from moments alone.

No pass over the rows is needed, so every engine chooses the same numbers.  They lie on
a fixed grid of powers of ten.  Among values that agree to six digits the largest ``β``
is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from rankfair.core.blocks import Ints
from rankfair.engines.base import with_intercepts
from rankfair.penalties.base import Floats, Penalty, pseudo_inverse, shrunk_inverse
from rankfair.penalties.pool import Pool

Logs = tuple[float, float]  # exponents of β and β₀

STEP = 0.5  # between the exponents of the grid
LEAST, MOST = -1.0, 6.0  # exponents of β
LEAST_COMMON = -3.0  # of β₀ and β_c
START = (2.0, 1.0)  # exponents of β and β₀ where the search starts
SIX = 1e-6  # relative differences that do not count


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of some tasks, for one or more targets.

    ``G`` (k, n, n) is about each task's own mean, ``centre`` (k, n) is that mean about
    the mean of all rows, and ``B`` (k, n + 1, r) holds the moments of r targets with
    their total last.  ``rows`` counts rows as if each weighed at least one.
    ``targets`` are those to choose for; ``known`` keeps what one choice finds out for
    the next, since both look at many of the same places.
    """

    G: Floats
    centre: Floats
    counts: Floats  # (k,)
    B: Floats
    squares: Floats  # (r,)
    rows: float
    targets: slice
    known: dict[Logs, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def unit(self) -> float:
        """The mean weight, in which ``β`` is measured."""
        return float(self.counts.sum()) / self.rows

    def score(self, rss: Floats, df: Floats) -> Floats:
        """``RSS / (1 − df/n)²`` relative to the targets' squares, ∞ where df is n."""
        shares = np.maximum(rss / np.maximum(self.squares, 1e-300), 1e-10)
        share = shares[..., self.targets].sum(axis=-1)
        left, least = 1.0 - df / self.rows, 0.02  # below it a fit interpolates
        return np.where(left > least, share / np.maximum(left, least) ** 2, np.inf)


def some_tasks(n_tasks: int, n_columns: int, work: float = 4e8) -> Ints:
    """Which tasks to look at, evenly by label: at most 200.

    They are fewer where tasks × columns³ would be more than ``work``.
    """
    most = int(np.clip(work / max(n_columns, 1) ** 3, 8, 200))
    if n_tasks <= most:
        return np.arange(n_tasks)
    return np.linspace(0, n_tasks - 1, most).round().astype(np.intp)


def automatic(penalty: Penalty, sums: Moments, chosen: float | None = None) -> Penalty:
    """The penalty with the numbers that cross-validation chooses.

    ``chosen`` is a ``β`` that is given: `Pool` then looks for its other two numbers.
    """
    if not isinstance(penalty, Pool):
        if chosen is None:
            chosen = sums.unit * 10.0 ** _scanned(penalty, sums, LEAST)
        return replace(penalty, beta=chosen)
    if len(sums.G) == 1:  # one task is ridge regression with β_c
        if chosen is None:
            chosen = sums.unit * 10.0 ** _scanned(penalty, sums, LEAST_COMMON)
        return replace(penalty, beta=chosen, beta_common=chosen)
    return _pool(penalty, sums, chosen)


def _pool(penalty: Pool, sums: Moments, chosen: float | None) -> Pool:
    """Descend in ``β`` and ``β₀``, with the best ``β_c`` of each."""
    G, B = with_intercepts(sums.G, sums.centre, sums.counts, sums.B)
    P, C = replace(penalty, beta_common=1.0).pulls(G.shape[1])
    grid = _grid(LEAST_COMMON)

    def score(logs: Logs) -> tuple[float, float]:
        """The least score over β_c, and where it is."""
        if logs not in sums.known:
            P[:-1] = sums.unit * 10.0 ** logs[0] if chosen is None else chosen
            P[-1] = sums.unit * 10.0 ** logs[1]
            pulls = C * sums.unit * 10.0 ** grid[:, None]
            sums.known[logs] = _pool_errors(sums.squares, G, B, P, pulls)
        return _least(sums.score(*sums.known[logs]), grid)

    first = (LEAST, MOST) if chosen is None else (START[0], START[0])
    *logs, third = _descend(score, *zip(first, (LEAST_COMMON, MOST), strict=True))
    beta, beta_intercept, beta_common = sums.unit * 10.0 ** np.array([*logs, third])
    return replace(
        penalty,
        beta=float(beta) if chosen is None else chosen,
        beta_intercept=float(beta_intercept),
        beta_common=float(beta_common),
    )


def _pool_errors(
    squares: Floats, G: Floats, B: Floats, P: Floats, C: Floats
) -> tuple[Floats, Floats]:
    """RSS and df for every row of ``C``, which alone does not need ``A`` again.

    ``W = V + A P w⁰`` with ``V = A B``, so that RSS is quadratic in ``w⁰``.
    """
    k, n, _ = G.shape
    A, side = shrunk_inverse(G, P), P[:, None]
    V, of_all, rows = np.matmul(A, B), A.sum(axis=0), A.reshape(k * n, n)
    # With A G = I − A P no other product with every task is needed.
    H = side * (k * np.eye(n) - of_all * P)
    APV = rows.T @ (side * V).reshape(k * n, -1)
    Q = side * (of_all - rows.T @ (side * A).reshape(k * n, n)) * P
    b = side * V.sum(axis=0)
    linear = -2.0 * side * APV
    constant = squares - (V * (B + side * V)).sum(axis=(0, 1))
    S = pseudo_inverse((H + H.T) / 2 + C[:, :, None] * np.eye(n))
    w0 = np.matmul(S, b)
    rss = constant + (w0 * (linear + np.matmul(Q, w0))).sum(axis=1)
    df = k * n - of_all.diagonal() @ P + np.einsum("cfg,gf->c", S, Q)
    return rss, df


def _scanned(penalty: Penalty, sums: Moments, least: float) -> float:
    """The exponent of the best ``β`` on the grid, each fitted by the penalty itself."""
    if penalty.intercepts:
        G, B = with_intercepts(sums.G, sums.centre, sums.counts, sums.B)
        total, df = sums.squares, 0.0
    else:
        G, B = sums.G, sums.B[:, :-1]
        total = sums.squares - (sums.B[:, -1] ** 2 / sums.counts[:, None]).sum(axis=0)
        df = float(len(G))

    def score(log: float) -> float:
        beta = sums.unit * 10.0**log
        factor = penalty.scaled(beta / penalty.beta).factorise(G)
        rss, W = total.copy(), np.zeros(0)
        for i in range(B.shape[2])[sums.targets]:
            W = factor.solve(B[:, :, i])
            own = W[: len(G)]
            rss[i] += (own * (np.matmul(G, own[:, :, None])[:, :, 0])).sum()
            rss[i] -= 2.0 * (own * B[:, :, i]).sum()
        used = np.einsum("jfg,jgf->", factor.inverse_blocks(W), G, optimize=True)
        return float(sums.score(rss, df + used))

    grid = _grid(least)
    return _least(np.array([score(log) for log in grid]), grid)[1]


def _grid(least: float) -> Floats:
    return np.arange(least, MOST + STEP / 2, STEP)


def _least(scores: Floats, places: Floats) -> tuple[float, float]:
    """The least score and its place, the largest place of those that agree."""
    least = float(scores.min())
    if np.isinf(least):  # every fit interpolates: pull as hard as can be
        return least, float(places[-1])
    last = np.flatnonzero(scores <= least * (1 + SIX))[-1]
    return float(scores[last]), float(places[last])


def _descend(
    score: Callable[[Logs], tuple[float, float]], low: Logs, high: Logs
) -> tuple[float, float, float]:
    """Walk to the best of four neighbours, then with half the step."""
    known: dict[Logs, tuple[float, float]] = {}

    def at(place: Logs) -> tuple[float, float]:
        if place not in known:
            known[place] = score(place)
        return known[place]

    best, step = START, 2.0
    while step >= STEP:
        ways = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]]) * step
        near = [(a, b) for a, b in np.clip(best + ways, low, high).tolist()]
        next_best = min(near, key=lambda place: at(place)[0])
        if at(next_best)[0] < at(best)[0] * (1 - SIX):
            best = next_best
        elif np.isinf(at(best)[0]):
            return *high, MOST
        else:
            step /= 2
    return *best, at(best)[1]
