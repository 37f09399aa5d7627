"""``β Σ_f ||(w^1_f … w^k_f)||₂``: a feature is kept, or dropped, for all tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from rankfair.penalties.base import (
    NIL,
    Factor,
    Floats,
    Penalty,
    eigen,
    least_squares,
    out_of,
    pseudo_inverse,
)


@dataclass(frozen=True)
class Feature(Penalty):
    """``R(W) = Σ_f ||W[:, f]||₂``, the text of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Feature(beta=5.0).factorise(np.ones((2, 1, 1)))
    >>> factor.solve(np.array([[6.0], [8.0]])).round(9).tolist()
    [[3.0], [4.0]]
    """

    copies: ClassVar[int] = 9  # measured
    leverages: ClassVar[bool] = True

    def value(self, W: Floats) -> float:
        """``β Σ_f ||W[:, f]||₂``."""
        return self.beta * float(np.linalg.norm(W, axis=0).sum())

    def factorise(self, G: Floats) -> FeatureFactor:
        """Keep the Gram matrices: the fit works on one width for each feature."""
        return FeatureFactor(self.beta, G)


class Widths(NamedTuple):
    """A place ``η`` of the search, with what is known there."""

    eta: Floats  # (n,)
    value: float  # F(η)
    r: Floats  # (k, n), what the fit leaves of the moments
    K: Floats  # (k, n, n), (I + G D)⁻¹ G


@dataclass(frozen=True)
class FeatureFactor(Factor):
    """Newton's method on the n widths ``η_f = ||W[:, f]||``.

    Since ``||w_f|| = min over η of (||w_f||²/η + η)/2``, the fit is the minimum over
    ``η ≥ 0`` of ``F(η) = ½ Σ_f β η_f − ½ Σ_j b_jᵀ D (I + G_j D)⁻¹ b_j`` with
    ``D = diag(η/β)``: convex and smooth in n numbers, whatever the number of tasks.
    With ``r_j = (I + G_j D)⁻¹ b_j``, what the fit leaves of ``b_j``, ``w^j = D r_j``,

        ∂F/∂η_f = (β − ||r_f||²/β) / 2,   ∂²F = Σ_j (r_j r_jᵀ) ∘ (I + G_j D)⁻¹G_j / β².
    """

    beta: float
    G: Floats

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """Descend by projected Newton steps until the gap is nil."""
        if self.beta == 0:
            return least_squares(*eigen(self.G), B)
        if np.linalg.norm(B, axis=0).max(initial=0.0) <= self.beta:
            return np.zeros_like(B)
        eta = self._first(B) if start is None else np.linalg.norm(start, axis=0)
        at = self._evaluate(eta, B)
        for _ in range(200):
            slope = (self.beta - (at.r**2).sum(axis=0) / self.beta) / 2
            if self._done(at, slope):
                break
            step = self._newton_step(at, slope)
            moved = self._descend(at, step, slope, B)
            if moved is None:  # a step to the widths of the fit can only lower F
                widths = np.linalg.norm(at.r, axis=0) * at.eta / self.beta
                moved = self._descend(at, widths - at.eta, 0 * slope, B)
            if moved is None:
                break
            at = moved
        W: Floats = at.r * (at.eta / self.beta)
        if self._done(at, slope) and self.beta > 1e-7 * np.abs(B).max():
            return W
        # Rounding has the last word here: least squares may be the better answer.
        other = least_squares(*eigen(self.G), B)
        return min(W, other, key=lambda C: self._objective(C, B))

    def inverse_blocks(self, W: Floats) -> Floats:
        """``D + D U S U D`` over the features that are used, 0 for the others.

        ``D = (G + diag β/η)⁻¹``, ``U_j = diag(w^j/η √(β/η))``, ``S = (I − Σ U D U)⁻¹``.
        """
        if self.beta == 0:
            return pseudo_inverse(self.G)
        eta = np.linalg.norm(W, axis=0)
        live = np.flatnonzero(eta > NIL)
        out = np.zeros_like(self.G)
        if not len(live):
            return out
        eta, at = eta[live], np.ix_(np.arange(len(W)), live, live)
        D = pseudo_inverse(self.G[at] + np.diag(self.beta / eta))
        U = W[:, live] / eta * np.sqrt(self.beta / eta)
        left = np.eye(len(live)) - np.einsum("jf,jfg,jg->fg", U, D, U, optimize=True)
        S = pseudo_inverse(left[None])[0]
        DU = D * U[:, None, :]
        out[at] = D + np.matmul(np.matmul(DU, S), DU.swapaxes(1, 2))
        return out

    def _objective(self, W: Floats, B: Floats) -> float:
        quadratic = 0.5 * (W * out_of(self.G, W)).sum() - (B * W).sum()
        return float(quadratic + self.beta * np.linalg.norm(W, axis=0).sum())

    def _first(self, B: Floats) -> Floats:
        """Where one pass over independent features would end."""
        size = np.maximum(np.linalg.norm(B, axis=0) - self.beta, 0.0)
        scale = np.einsum("kff->f", self.G) / len(B)
        out: Floats = size / np.maximum(scale, 1e-300)
        return out

    def _evaluate(self, eta: Floats, B: Floats) -> Widths:
        root = np.sqrt(eta / self.beta)
        both = np.concatenate((B[:, :, None], self.G), axis=2) * root[:, None]
        middle = self.G * root * root[:, None]
        # One, and a trace more where one would be lost in rounding.
        middle += np.eye(len(eta)) * (1.0 + 1e-15 * np.abs(middle).max(initial=0.0))
        inner = np.linalg.solve(middle, both).astype(float, copy=False) * root[:, None]
        W, shrunk = inner[:, :, 0], inner[:, :, 1:]
        value = 0.5 * self.beta * float(eta.sum()) - 0.5 * float((B * W).sum())
        return Widths(
            eta, value, B - out_of(self.G, W), self.G - np.matmul(self.G, shrunk)
        )

    def _done(self, at: Widths, slope: Floats) -> bool:
        """Whether the optimality conditions hold to rounding."""
        used = np.abs(at.eta * slope).sum() <= 1e-11 * abs(at.value) + self._noise(at)
        unused = slope[at.eta == 0].min(initial=0.0) >= -1e-9 * self.beta
        return bool(used and unused)

    def _noise(self, at: Widths) -> float:
        """What rounding can do to ``F``, whose terms may cancel to nearly nothing."""
        return 1e-15 * self.beta * float(at.eta.sum())

    def _newton_step(self, at: Widths, slope: Floats) -> Floats:
        """Newton's step in the widths that are not about to vanish."""
        free = (slope <= 0) | (at.eta > 1e-3 * at.eta.max())
        H = np.einsum("kf,kg,kfg->fg", at.r, at.r, at.K, optimize=True)
        H = H[np.ix_(free, free)] / self.beta**2
        # A trace of ridge, for duplicate columns.
        H += (1e-12 * np.trace(H) / len(H) + 1e-300) * np.eye(len(H))
        step = -at.eta
        step[free] = -np.linalg.solve(H, slope[free])
        return step

    def _descend(
        self, at: Widths, step: Floats, slope: Floats, B: Floats
    ) -> Widths | None:
        """The first halving of the step that lowers ``F``, or nothing."""
        rounding = 1e-13 * abs(at.value) + self._noise(at)
        for _ in range(40):
            new = self._evaluate(np.maximum(at.eta + step, 0.0), B)
            promised = 1e-4 * float(slope @ (new.eta - at.eta))
            if new.value <= at.value + promised + rounding:
                return new
            step = step / 2
        return None
