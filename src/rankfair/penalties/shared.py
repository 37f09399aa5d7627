"""``w^j = w⁰ + v^j`` with ``β Σ_j ||v^j||₂``: tasks lean on a common model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from rankfair.penalties.base import (
    Factor,
    Floats,
    Penalty,
    eigen,
    into,
    least_squares,
    out_of,
    pseudo_inverse,
)
from rankfair.penalties.task import TaskFactor

NIL = 1e-9  # the norm, in standard units, of a task without a part of its own


@dataclass(frozen=True)
class Shared(Penalty):
    """``R = Σ_j ||w^j − w⁰||₂``; the last row of ``W`` (k + 1, n) is ``w⁰``.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Shared(beta=1e3).factorise(np.ones((2, 1, 1)))
    >>> factor.solve(np.array([[1.0], [3.0]])).round(9).tolist()
    [[2.0], [2.0], [2.0]]
    """

    copies: ClassVar[int] = 8  # measured
    shares: ClassVar[bool] = True
    leverages: ClassVar[bool] = True

    def value(self, W: Floats) -> float:
        """``β Σ_j ||w^j − w⁰||₂``."""
        return self.beta * float(np.linalg.norm(W[:-1] - W[-1], axis=1).sum())

    def factorise(self, G: Floats) -> SharedFactor:
        """Keep the eigenvalues of every ``G_j``."""
        return SharedFactor(self.beta, G, *eigen(G))


@dataclass(frozen=True)
class SharedFactor(Factor):
    """Newton's method on the n numbers of ``w⁰``.

    For a given ``w⁰`` each task solves the ``"task"`` problem for ``v^j``.  The rest,
    ``φ(w⁰) = Σ_j min over w of ½wᵀG_j w − b_jᵀw + β||w − w⁰||``, is convex, smooth:

        ∇φ = Σ_j G_j w^j − b_j,    ∇²φ = Σ_j P_j − P_j v vᵀP_j / vᵀP_j v,

    with ``P = (G⁻¹ + ||v||/β I)⁻¹``, and only ``P_j = G_j`` where ``v = 0``.
    """

    beta: float
    G: Floats
    values: Floats
    vectors: Floats

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """Newton steps on ``w⁰``, each with one exact solve a task."""
        if start is None or self.beta == 0:
            # The one model for all tasks together, the smallest if there are several.
            w0 = least_squares(*eigen(self.total[None]), B.sum(axis=0)[None])[0]
            V = self._tasks(w0, B, None)
        else:
            w0 = start[-1]
            V = self._tasks(w0, B, start[:-1] - w0)
        if self.beta == 0:
            return np.vstack((V + w0, w0))
        value, damping = self._value(w0, V, B), 1e-6
        for _ in range(200):
            slope = (np.matmul(self.G, (w0 + V)[:, :, None])[:, :, 0] - B).sum(axis=0)
            step = self._newton(V, slope, damping)
            decrease = -float(slope @ step)
            if decrease <= 1e-13 * abs(value):
                break
            trial_V = self._tasks(w0 + step, B, V)
            trial = self._value(w0 + step, trial_V, B)
            if trial <= value - 1e-4 * decrease:
                w0, V, value = w0 + step, trial_V, trial
                damping = max(damping / 10, 1e-9)
            elif damping >= 10.0:
                break
            else:
                damping *= 10
        return np.vstack((w0 + V, w0))

    def inverse_blocks(self, W: Floats) -> Floats:
        """``A + A M S M A`` where a task has a part of its own, ``S`` elsewhere.

        ``M = β/||v|| (I − v̂v̂ᵀ)``, ``A = (G + M)⁻¹``, ``S = (Σ G A M + Σ_{v=0} G)⁻¹``.
        """
        if self.beta == 0:
            return pseudo_inverse(self.G)
        V = W[:-1] - W[-1]
        r = np.linalg.norm(V, axis=1)
        own = r > NIL
        u = V[own] / r[own, None]
        M = np.eye(V.shape[1]) - u[:, :, None] * u[:, None, :]
        M *= (self.beta / r[own])[:, None, None]
        A = pseudo_inverse(self.G[own] + M)
        AM = np.matmul(A, M)
        H = np.matmul(self.G[own], AM).sum(axis=0) + self.G[~own].sum(axis=0)
        S = pseudo_inverse((H + H.T)[None] / 2)[0]
        out = np.empty_like(self.G)
        out[own] = A + np.matmul(np.matmul(AM, S), AM.swapaxes(1, 2))
        out[~own] = S
        return out

    @cached_property
    def total(self) -> Floats:
        """``Σ_j G_j``."""
        G: Floats = self.G.sum(axis=0)
        return G

    @cached_property
    def columns(self) -> Floats:
        """All eigenvectors, one below the other: (k n, n)."""
        Q = self.vectors.swapaxes(1, 2)
        return Q.reshape(-1, Q.shape[2])

    def _tasks(self, w0: Floats, B: Floats, start: Floats | None) -> Floats:
        """``v^j``: the ``"task"`` fit to what ``w⁰`` leaves."""
        left = B - np.matmul(self.G, w0)
        return TaskFactor(self.beta, self.values, self.vectors).solve(left, start)

    def _value(self, w0: Floats, V: Floats, B: Floats) -> float:
        W = w0 + V
        quadratic = 0.5 * (W * out_of(self.G, W)).sum()
        length = np.linalg.norm(V, axis=1).sum()
        return float(quadratic - np.vdot(B, W) + self.beta * length)

    def _newton(self, V: Floats, slope: Floats, damping: float) -> Floats:
        """``−(∇²φ + damping ΣG)⁻¹ ∇φ``; ``ΣG`` bounds the curvature from above."""
        r = np.linalg.norm(V, axis=1)[:, None]
        p = self.values / (1.0 + r / self.beta * self.values)
        c = into(self.vectors, np.divide(V, r, out=np.zeros_like(V), where=r > 0))
        size = np.sqrt((p * c * c).sum(axis=1))[:, None]
        bend = out_of(self.vectors, p * c)
        np.divide(bend, size, out=bend, where=size > 0)
        H = (self.columns * p.reshape(-1, 1)).T @ self.columns
        H += damping * self.total - bend.T @ bend
        step: Floats = -np.linalg.lstsq(H, slope, rcond=1e-14)[0]
        return step
