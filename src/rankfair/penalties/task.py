"""``β Σ_j ||w^j||₂``: whole tasks may fall back to their intercept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfair.penalties.base import (
    Factor,
    Floats,
    Penalty,
    eigen,
    into,
    least_squares,
    out_of,
)


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
        C = np.where(self.values > 0, into(self.vectors, B), 0.0)
        if self.beta == 0:
            return out_of(self.vectors, least_squares(self.values, C))
        first = None if start is None else np.linalg.norm(start, axis=1)
        r = norm_of_solution(self.values, C, self.beta, first)[:, None]
        return out_of(self.vectors, r * C / (r * self.values + self.beta))


def norm_of_solution(
    values: Floats, C: Floats, beta: float, start: Floats | None = None
) -> Floats:
    """``r = ||w||`` where ``Σ_i (c_i / (r λ_i + β))² = 1``, and 0 where ``||c|| ≤ β``.

    With ``s(r)`` the square root of that sum, ``1/s`` is concave and rising in r, so
    Newton's step on ``1/s(r) = 1`` from below never passes the root.
    """
    C = np.where(values > 0, C, 0.0)
    alive = np.linalg.norm(C, axis=1) > beta
    r = np.zeros(len(C))
    L, c = values[alive], C[alive]
    x = np.zeros(len(c)) if start is None else start[alive].copy()
    for _ in range(100):
        q = x[:, None] * L + beta
        u = c / q
        s2 = np.einsum("kf,kf->k", u, u)
        slope = np.einsum("kf,kf,kf->k", u, u, L / q)
        step = s2 * (np.sqrt(s2) - 1.0) / slope
        new = np.maximum(x + step, 0.0)
        # Convergence is quadratic: after a step this small the next is nil.
        settled = np.abs(new - x) <= 1e-9 * new
        x = new
        if settled.all():
            break
    r[alive] = x
    return r
