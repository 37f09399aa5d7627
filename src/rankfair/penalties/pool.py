"""``½ Σ_j (w^j − w⁰)ᵀP(w^j − w⁰) + ½ w⁰ᵀC w⁰``: tasks are pulled to a common model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankfair.core.blocks import blocks_of
from rankfair.penalties.base import (
    Factor,
    Floats,
    Penalty,
    pseudo_inverse,
    shrunk_inverse,
)

STEP = 256  # tasks at a time: their matrices stay in the cache


@dataclass(frozen=True)
class Pool(Penalty):
    """Quadratic partial pooling of slopes and intercepts; the default.

    ``P = diag(β, …, β, β₀)`` pulls slopes and intercepts of a task towards the common
    ones, ``C = diag(β_c, …, β_c, 0)`` pulls the common slopes towards 0.  One task
    alone is ridge regression with ``β_c``.  ``G``, ``B`` and ``W`` have the intercept
    as their last column; the last row of ``W`` (k + 1, n + 1) is ``w⁰``.

    ``exempt`` are columns whose common slope is not pulled towards 0.

    Examples
    --------
    >>> import numpy as np
    >>> G = np.array([[[2.0, 0.0], [0.0, 2.0]]] * 2)
    >>> B = np.array([[2.0, 4.0], [6.0, 4.0]])
    >>> Pool(1e9, 1e9, 0.0).factorise(G).solve(B).round(6).tolist()
    [[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]
    """

    beta_intercept: float = 1.0
    beta_common: float = 1.0
    exempt: tuple[int, ...] = ()
    degree: ClassVar[int] = 2
    copies: ClassVar[int] = 5
    quadratic: ClassVar[bool] = True
    intercepts: ClassVar[bool] = True
    shares: ClassVar[bool] = True
    leverages: ClassVar[bool] = True

    @property
    def numbers(self) -> tuple[float, float, float]:
        """``β, β₀, β_c``."""
        return self.beta, self.beta_intercept, self.beta_common

    def scaled(self, factor: float) -> Pool:
        """The same penalty with all three numbers multiplied."""
        beta, of_intercepts, common = (factor * each for each in self.numbers)
        return Pool(beta, of_intercepts, common, self.exempt)

    def pulls(self, n_columns: int) -> tuple[Floats, Floats]:
        """The diagonals of ``P`` and ``C`` for so many columns, the intercept last."""
        P = np.append(np.full(n_columns - 1, self.beta), self.beta_intercept)
        C = np.append(np.full(n_columns - 1, self.beta_common), 0.0)
        C[list(self.exempt)] = 0.0
        return P, C

    def value(self, W: Floats) -> float:
        """``½ Σ_j (w^j − w⁰)ᵀP(w^j − w⁰) + ½ w⁰ᵀC w⁰``."""
        P, C = self.pulls(W.shape[1])
        common = 0.5 * float(C @ W[-1] ** 2)
        if len(W) == 2:  # one task: it is the common model
            return common
        return 0.5 * float((P * (W[:-1] - W[-1]) ** 2).sum()) + common

    def factorise(self, G: Floats) -> PoolFactor:
        """``A_j = (G_j + P)⁻¹`` and ``S = (Σ_j P A_j G_j + C)⁻¹``."""
        P, C = self.pulls(G.shape[1])
        if len(G) == 1:  # the pull between a task and itself is nothing
            S = pseudo_inverse(G + np.diag(C))
            return PoolFactor(P, np.zeros_like(G), S[0])
        A, H = np.empty_like(G), np.diag(C)
        for at in blocks_of(len(G), STEP):
            A[at] = shrunk_inverse(G[at], P)
            flat = A[at].reshape(-1, len(P))  # A_j is symmetric: one product for all
            H += P[:, None] * (flat.T @ G[at].reshape(-1, len(P)))
        return PoolFactor(P, A, pseudo_inverse((H + H.T)[None] / 2)[0])


@dataclass(frozen=True)
class PoolFactor(Factor):
    """``w⁰ = S P Σ_j A_j b_j`` and ``w^j = A_j (b_j + P w⁰)``."""

    P: Floats  # (n + 1,)
    A: Floats  # (k, n + 1, n + 1); 0 for one task alone, which is w⁰
    S: Floats  # (n + 1, n + 1)

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """Coefficients of every task, and the common ones last."""
        if len(B) == 1:
            w0 = B @ self.S
            return np.vstack((w0, w0))
        V = np.matmul(self.A, B[:, :, None])[:, :, 0]
        w0 = self.S @ (self.P * V.sum(axis=0))
        return np.vstack((V + np.matmul(self.A, self.P * w0), w0))

    def inverse_blocks(self, W: Floats) -> Floats:
        """``A_j + A_j P S P A_j``, exact."""
        return self.blocks_at(W)(slice(None))

    def blocks_at(self, W: Floats) -> Callable[[slice], Floats]:
        """The same of some tasks at a time."""
        if len(self.A) == 1:
            return self.S[None].__getitem__
        PSP = self.P[:, None] * self.S * self.P

        def of(at: slice) -> Floats:
            A = self.A[at]
            found: Floats = np.matmul(np.matmul(A, PSP), A)
            found += A
            return found

        return of
