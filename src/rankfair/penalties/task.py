"""``β Σ_j ||w^j||₂``: whole tasks may fall back to their intercept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankfair.core.blocks import Ints, each
from rankfair.penalties.base import (
    NIL,
    Factor,
    Floats,
    Penalty,
    dots,
    eigen,
    into,
    least_squares,
    out_of,
    shifted,
    tridiagonal,
)

MANY, FEW = 2000, 32  # tasks, and features, where tridiagonal forms are quicker
PIECE = 1 << 21  # numbers of Gram matrices handled at a time: fewer, and threads wait
ENOUGH = 3e-4  # a relative step whose cube is nothing
CLEAR = 1e-6  # of the trace: a shift that stands clear of rounding


@dataclass(frozen=True)
class Task(Penalty):
    """``R(W) = Σ_j ||w^j||₂``, the formula of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Task(beta=2.0).factorise(np.array([[[3.0]], [[3.0]]]))
    >>> factor.solve(np.array([[8.0], [1.0]])).tolist()
    [[2.0], [0.0]]
    """

    leverages: ClassVar[bool] = True

    def value(self, W: Floats) -> float:
        """``β Σ_j ||w^j||₂``."""
        return self.beta * float(np.linalg.norm(W, axis=1).sum())

    def factorise(self, G: Floats) -> Factor:
        """Keep the eigenvalues of every ``G_j``, or less where tasks are many."""
        if self.beta > 0 and len(G) >= MANY and 0 < G.shape[1] <= FEW:
            return ManyTasksFactor.of(self.beta, G)
        return TaskFactor(self.beta, *eigen(G))


@dataclass(frozen=True)
class TaskFactor(Factor):
    """``G_j = Q Λ Qᵀ`` of every task."""

    beta: float
    values: Floats  # (k, n)
    vectors: Floats  # (k, n, n)

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """``(G + β/||w|| I) w = b``, a scalar equation in ``||w||`` for each task."""
        if self.beta == 0:
            return least_squares(self.values, self.vectors, B)
        C = np.where(self.values > 0, into(self.vectors, B), 0.0)
        first = None if start is None else np.linalg.norm(start, axis=1)
        r = norm_of_solution(self.values, C, self.beta, first)[:, None]
        return out_of(self.vectors, r * C / (r * self.values + self.beta))

    def inverse_blocks(self, W: Floats) -> Floats:
        """``(G + β/r (I − ŵŵᵀ))⁻¹`` with ``r = ||w||``, and 0 where ``w = 0``."""
        r = np.linalg.norm(W, axis=1)[:, None]
        alive = (r > NIL) | (self.beta == 0)
        pull = np.divide(self.beta, r, out=np.zeros_like(r), where=r > NIL)
        a = np.divide(
            1.0, self.values + pull, out=np.zeros(W.shape), where=self.values > 0
        )
        a *= alive
        c = into(self.vectors, np.divide(W, r, out=np.zeros(W.shape), where=r > NIL))
        u = a * c
        left = np.maximum(1.0 - pull * (u * c).sum(axis=1, keepdims=True), NIL)
        K = (pull / left)[:, :, None] * u[:, :, None] * u[:, None, :]
        np.einsum("kff->kf", K)[:] += a
        Q = self.vectors
        found: Floats = np.matmul(np.matmul(Q, K), Q.swapaxes(1, 2))
        return found


def norm_of_solution(
    values: Floats, C: Floats, beta: float, start: Floats | None = None
) -> Floats:
    """``r = ||w||`` where ``Σ_i (c_i / (r λ_i + β))² = 1``, and 0 where ``||c|| ≤ β``.

    Examples
    --------
    >>> import numpy as np
    >>> norm_of_solution(np.array([[3.0], [3.0]]), np.array([[8.0], [1.0]]), 2.0)
    array([2., 0.])
    """
    C = np.where(values > 0, C, 0.0)
    alive = np.linalg.norm(C, axis=1) > beta
    r = np.zeros(len(C))
    L, c = values[alive].T.copy(), C[alive].T.copy()
    x = np.zeros(len(c[0])) if start is None else start[alive]
    for _ in range(100):
        q = x * L
        q += beta
        u = c / q
        t = L * u
        t /= q
        new = np.maximum(x + halley(dots(u, u), dots(u, t), dots(t, t)), 0.0)
        settled = np.abs(new - x) <= ENOUGH * new
        x = new
        if settled.all():
            break
    r[alive] = x
    return r


def halley(uu: Floats, ut: Floats, tt: Floats) -> Floats:
    """The step of Halley's method on ``1/||u(r)|| = 1``.

    ``u = (r G + β I)⁻¹ b`` and ``t = −du/dr``.  The function is concave and rising and
    its second and third derivatives are at most 3 and 12 times ``r⁻¹`` and ``r⁻²`` of
    the first, so that after a step of the share δ of r an error of about δ³ is left.
    """
    p = ut / uu
    newton: Floats = (np.sqrt(uu) - 1.0) / p
    newton /= np.maximum(1.0 + 1.5 * newton * (p - tt / uu / p), 0.5)
    return newton


@dataclass(frozen=True)
class ManyTasksFactor(Factor):
    """The same for very many tasks, in pieces, each with operations across its tasks.

    Eigenvalues are expensive.  ``G = Q T Qᵀ`` with a tridiagonal ``T`` costs a fifth,
    and a shifted ``T`` is solved in a few operations a row.
    """

    step: int  # tasks a piece
    pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, beta: float, G: Floats) -> ManyTasksFactor:
        """Bring every ``G_j`` to tridiagonal form."""
        step = PIECE // G.shape[1] ** 2 + 1
        pieces: dict[int, Piece] = {}

        def make(start: int) -> None:
            pieces[start] = Piece.of(beta, G[start : start + step])

        each(make, range(0, len(G), step), G.size)
        return cls(step, tuple(pieces[start] for start in sorted(pieces)))

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """``(G + β/||w|| I) w = b``, a scalar equation in ``||w||`` for each task."""
        W = np.zeros(B.shape)

        def fill(i: int) -> None:
            own = slice(i * self.step, (i + 1) * self.step)
            first = None if start is None else np.linalg.norm(start[own], axis=1)
            self.pieces[i].solve(B[own], first, W[own])

        with np.errstate(all="ignore"):
            each(fill, range(len(self.pieces)), B.size)
        return W

    def inverse_blocks(self, W: Floats) -> Floats:
        """As `TaskFactor` has them, piece by piece."""
        cuts = range(self.step, len(W), self.step)
        parts = zip(self.pieces, np.split(W, cuts), strict=True)
        return np.concatenate(
            [
                TaskFactor(piece.beta, *piece.eigen).inverse_blocks(own)
                for piece, own in parts
            ]
        )


@dataclass(frozen=True)
class Piece:
    """``G = g Q T Qᵀ``: ``d`` on and ``e`` beside the diagonal of ``T``."""

    beta: float
    G: Floats  # (k, n, n)
    g: Floats  # (k,) the traces, so that no square overflows; r below is g ||w||
    d: Floats  # (n, k)
    e: Floats  # (n − 1, k)
    Q: Floats  # (n, n, k)

    @classmethod
    def of(cls, beta: float, G: Floats) -> Piece:
        """Bring ``G`` (k, n, n) to tridiagonal form."""
        trace = np.einsum("kff->k", G)
        g = np.where(trace > 0, trace, 1.0)
        return cls(beta, G, g, *tridiagonal(G / g[:, None, None]))

    def solve(self, B: Floats, first: Floats | None, W: Floats) -> None:
        """Fill ``W``, which is zero; ``first`` is a guess of its norms."""
        c = np.einsum("ijk,ik->jk", self.Q, B.T.copy())
        alive = np.flatnonzero(np.sqrt(dots(c, c)) > self.beta)
        d, e, c = (take(A, alive) for A in (self.d, self.e, c))
        g = self.g[alive]
        r = self._norms(d, e, c, 0.0 if first is None else g * first[alive])
        u = np.zeros(self.d.shape)
        u[:, alive] = r / g * shifted(d, e, r, self.beta)(c)
        W[:] = np.einsum("ijk,jk->ik", self.Q, u).T
        # Where the steps did not settle, or rounding has a say, the sure way decides.
        unsure = alive[~(self.beta > CLEAR * r)]
        if len(unsure):
            values, vectors = self.eigen
            sure = TaskFactor(self.beta, values[unsure], vectors[unsure])
            W[unsure] = sure.solve(B[unsure])

    @cached_property
    def eigen(self) -> tuple[Floats, Floats]:
        """Eigenvalues and vectors after all."""
        return eigen(self.G)

    def _norms(self, d: Floats, e: Floats, c: Floats, x: Floats | float) -> Floats:
        """``g ||w||`` of every task, NaN where the steps do not settle."""
        at, beta = np.arange(d.shape[1]), self.beta
        r = np.full(len(at), np.nan)
        size = np.sqrt(dots(c, c))
        bend = dots(d * c, c) + 2.0 * dots(e * c[:-1], c[1:])
        low = size * size * (size - beta) / bend  # Newton's step from 0: no r is less
        x = np.maximum(x, low)
        for _ in range(20):
            solve = shifted(d, e, x, beta)
            u = solve(c)
            z = solve(u)
            uu, uz = dots(u, u), beta * dots(u, z)
            # t = (u − β z) / x
            tt = (uu - 2.0 * uz + beta * beta * dots(z, z)) / (x * x)
            new = np.maximum(x + halley(uu, (uu - uz) / x, tt), low)
            near = np.abs(new - x) <= ENOUGH * new
            r[at[near]] = new[near]
            rest, x = np.flatnonzero(~near), new
            if not len(rest):
                break
            if 2 * len(rest) < len(x):
                at, x, low = at[rest], x[rest], low[rest]
                d, e, c = (take(A, rest) for A in (d, e, c))
        return r


def take(A: Floats, tasks: Ints) -> Floats:
    """Some tasks of an array that has them last."""
    return A if len(tasks) == A.shape[-1] else A.take(tasks, axis=-1)
