"""``β Σ_f ||(w^1_f … w^k_f)||₂``: a feature is kept, or dropped, for all tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankfair.penalties.base import Factor, Floats, Penalty, eigen, into, out_of
from rankfair.penalties.base import least_squares as _least_squares


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

    def value(self, W: Floats) -> float:
        """``β Σ_f ||W[:, f]||₂``."""
        return self.beta * float(np.linalg.norm(W, axis=0).sum())

    def factorise(self, G: Floats) -> FeatureFactor:
        """Keep the Gram matrices: the fit works on one width for each feature."""
        return FeatureFactor(self.beta, G)


@dataclass(frozen=True)
class FeatureFactor(Factor):
    """Newton's method on the n widths ``η_f = ||W[:, f]||``.

    Since ``||w_f|| = min over η of (||w_f||²/η + η)/2``, the fit is the minimum over
    ``η ≥ 0`` of ``F(η) = ½ Σ_f β η_f − ½ Σ_j b_jᵀ D (I + G_j D)⁻¹ b_j`` with
    ``D = diag(η/β)``: convex and smooth in n numbers, whatever the number of tasks.
    With ``r_j = (I + G_j D)⁻¹ b_j`` (what the fit leaves of ``b_j``), ``w^j = D r_j``,

        ∂F/∂η_f = (β − ||r_f||²/β) / 2,    ∂²F = Σ_j (r_j r_jᵀ) ∘ (I + G_j D)⁻¹ G_j / β².
    """

    beta: float
    G: Floats

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """Descend by projected Newton steps until the gap is nil."""
        if self.beta == 0:
            values, Q = eigen(self.G)
            return out_of(Q, _least_squares(values, into(Q, B)))
        if np.linalg.norm(B, axis=0).max(initial=0.0) <= self.beta:
            return np.zeros_like(B)
        eta = self._first(B) if start is None else np.linalg.norm(start, axis=0)
        value, r, K = self._evaluate(eta, B)
        for _ in range(200):
            slope = (self.beta - (r**2).sum(axis=0) / self.beta) / 2
            if self._done(eta, slope, value):
                break
            moved = self._newton(eta, slope, value, r, K, B)
            if moved is None:
                moved = self._halve(eta, self._widths(eta, r) - eta, value, 0 * slope, B)
            if moved is None:
                break
            eta, value, r, K = moved
        return r * (eta / self.beta)

    def _done(self, eta: Floats, slope: Floats, value: float) -> bool:
        """Whether the optimality conditions hold to rounding."""
        used = np.abs(eta * slope).sum() <= 1e-11 * abs(value)
        return bool(used and slope[eta == 0].min(initial=0.0) >= -1e-9 * self.beta)

    def _widths(self, eta: Floats, r: Floats) -> Floats:
        """``||W[:, f]||`` of the present fit: a step that can only lower ``F``."""
        return np.linalg.norm(r, axis=0) * (eta / self.beta)

    def _newton(
        self, eta: Floats, slope: Floats, value: float, r: Floats, K: Floats, B: Floats
    ) -> tuple[Floats, float, Floats, Floats] | None:
        """A Newton step in the widths that are not held at zero."""
        held = (slope > 0) & (eta <= 1e-3 * eta.max())
        free = ~held
        H = np.einsum("kf,kg,kfg->fg", r, r, K, optimize=True) / self.beta**2
        step = -eta
        step[free] = _solve(H[np.ix_(free, free)], slope[free])
        return self._halve(eta, step, value, slope, B)

    def _first(self, B: Floats) -> Floats:
        """Where one pass over independent features would end."""
        size = np.linalg.norm(B, axis=0)
        scale = np.einsum("kff->f", self.G) / len(B)
        return np.maximum(size - self.beta, 0.0) / np.maximum(scale, 1e-300)

    def _evaluate(self, eta: Floats, B: Floats) -> tuple[float, Floats, Floats]:
        """``F``, the residual moments ``r`` (k, n) and ``K`` (k, n, n)."""
        root = np.sqrt(eta / self.beta)
        both = np.concatenate((B[:, :, None], self.G), axis=2) * root[:, None]
        middle = self.G * root * root[:, None]
        # One, and a trace more where one would be lost in rounding.
        middle += np.eye(len(eta)) * (1.0 + 1e-15 * np.abs(middle).max(initial=0.0))
        inner = np.linalg.solve(middle, both) * root[:, None]
        W, shrunk = inner[:, :, 0], inner[:, :, 1:]
        r = B - out_of(self.G, W)
        value = 0.5 * self.beta * float(eta.sum()) - 0.5 * float((B * W).sum())
        return value, r, self.G - np.matmul(self.G, shrunk)

    def _halve(
        self, eta: Floats, step: Floats, value: float, slope: Floats, B: Floats
    ) -> tuple[Floats, float, Floats, Floats] | None:
        """The first halving of the step that lowers ``F``, or nothing."""
        size, rounding = 1.0, 1e-13 * abs(value)
        for _ in range(40):
            new = np.maximum(eta + size * step, 0.0)
            trial, r, K = self._evaluate(new, B)
            if trial <= value + 1e-4 * float(slope @ (new - eta)) + rounding:
                return new, trial, r, K
            size /= 2
        return None


def _solve(H: Floats, slope: Floats) -> Floats:
    """``−H⁻¹ slope``, with a trace of ridge for duplicate columns."""
    ridge = 1e-12 * np.trace(H) / len(H) + 1e-300
    step: Floats = -np.linalg.solve(H + ridge * np.eye(len(H)), slope)
    return step
