"""``β Σ_j ||w^j||₂``: whole tasks may fall back to their intercept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankfair.penalties.base import (
    NIL,
    Factor,
    Floats,
    Penalty,
    eigen,
    filled,
    into,
    least_squares,
    out_of,
)

ENOUGH = 3e-4  # a relative step whose cube is nothing


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

    def factorise(self, G: Floats) -> TaskFactor:
        """Keep the eigenvalues of every ``G_j``."""
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
        return filled(self.blocks_at(W), self.vectors.shape)

    def blocks_at(self, W: Floats) -> Callable[[slice], Floats]:
        """The same of some tasks at a time."""

        def of_tasks(at: slice) -> Floats:
            return TaskFactor(self.beta, self.values[at], self.vectors[at])._all(W[at])

        return of_tasks

    def _all(self, W: Floats) -> Floats:
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

    Halley's method on ``1/||u(r)|| = 1`` with ``u = (r Λ + β I)⁻¹ c`` and
    ``t = −du/dr``.  The function is concave and rising and its second and third
    derivatives are at most 3 and 12 times ``r⁻¹`` and ``r⁻²`` of the first, so that
    after a step of the share δ of r an error of about δ³ is left.

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
        pairs = (u, u), (u, t), (t, t)
        uu, ut, tt = (np.einsum("ik,ik->k", one, other) for one, other in pairs)
        p = ut / uu
        step = (np.sqrt(uu) - 1.0) / p
        step /= np.maximum(1.0 + 1.5 * step * (p - tt / uu / p), 0.5)
        new = np.maximum(x + step, 0.0)
        settled = np.abs(new - x) <= ENOUGH * new
        x = new
        if settled.all():
            break
    r[alive] = x
    return r
