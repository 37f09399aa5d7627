"""``β/2 ||W||²``: shrinks every coefficient; the fit is one linear map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankfair.penalties.base import (
    Factor,
    Floats,
    Penalty,
    eigen,
    filled,
    out_of,
)


@dataclass(frozen=True)
class Ridge(Penalty):
    """``R(W) = ½ Σ_j ||w^j||²``.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Ridge(beta=1.0).factorise(np.array([[[3.0]]]))
    >>> factor.solve(np.array([[8.0]])).tolist()
    [[2.0]]
    """

    degree: ClassVar[int] = 2
    quadratic: ClassVar[bool] = True
    leverages: ClassVar[bool] = True

    def value(self, W: Floats) -> float:
        """``β/2 ||W||²``."""
        return 0.5 * self.beta * float((W * W).sum())

    def factorise(self, G: Floats) -> RidgeFactor:
        """Invert ``G_j + β I`` once."""
        top = np.einsum("kff->kf", G).max(initial=1.0)
        invert = self._plain if self.beta > 1e-9 * top else self._careful
        return RidgeFactor(filled(lambda at: invert(G[at]), G.shape))

    def _plain(self, G: Floats) -> Floats:
        shifted = G + self.beta * np.eye(G.shape[1])
        return np.linalg.inv(shifted).astype(float, copy=False)

    def _careful(self, G: Floats) -> Floats:
        """Zero in directions of no data."""
        values, Q = eigen(G)
        shares = np.zeros_like(values)
        np.divide(1.0, values + self.beta, out=shares, where=values > 0.0)
        found: Floats = np.matmul(Q * shares[:, None, :], Q.transpose(0, 2, 1))
        return found


@dataclass(frozen=True)
class RidgeFactor(Factor):
    """``(G_j + β I)⁻¹`` of every task."""

    inverse: Floats

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """``w^j = (G_j + β I)⁻¹ b_j``."""
        return out_of(self.inverse, B)

    def inverse_blocks(self, W: Floats) -> Floats:
        """``(G_j + β I)⁻¹``, exact."""
        return self.inverse
