"""Fixed-point iterations that learn from their last steps (Anderson mixing)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfair.blocks import Ints

Floats = NDArray[np.float64]


class Mixer:
    """Proposes the next point of ``b ← b + gap(b)`` from the points seen so far.

    The first step moves ``damping`` of the gap.  Later ones first combine the last
    points so that their combined gap is smallest, then do the same.  A gap that grew
    throws the history away.
    """

    def __init__(self, damping: float = 0.8, history: int = 3) -> None:
        self.damping = damping
        self.history = history
        self._points: list[Floats] = []
        self._gaps: list[Floats] = []

    def next(self, point: Floats, gap: Floats) -> Floats:
        """The next point, given this one and its gap."""
        if self._gaps and _dot(gap, gap) > 2.25 * _dot(self._gaps[-1], self._gaps[-1]):
            self._points, self._gaps = [], []
        plain = point + self.damping * gap
        # How this point and gap differ from the earlier ones.
        P = [point - p for p in self._points]
        F = [gap - f for f in self._gaps]
        self._points = [*self._points, point][-self.history :]
        self._gaps = [*self._gaps, gap][-self.history :]
        if not F:
            return plain
        normal = np.array([[_dot(f, g) for g in F] for f in F])
        aim = np.array([_dot(f, gap) for f in F])
        weights = np.linalg.lstsq(normal, aim, rcond=1e-12)[0]
        for weight, p, f in zip(weights, P, F, strict=True):
            plain -= weight * (p + self.damping * f)
        return plain


class Mixers:
    """``Mixer`` for every task at once, with a memory of one step."""

    def __init__(self, damping: float = 0.8) -> None:
        self.damping = damping
        self.last: tuple[Floats, Floats] | None = None

    def next(self, point: Floats, gap: Floats) -> Floats:
        """The next point of each task, given this one and its gap."""
        out: Floats = point + self.damping * gap
        if self.last is not None:
            P, F = point - self.last[0], gap - self.last[1]
            size, before = (F * F).sum(axis=1), (self.last[1] ** 2).sum(axis=1)
            weight = ratio((F * gap).sum(axis=1), size, otherwise=0.0)
            weight[(gap * gap).sum(axis=1) > 2.25 * before] = 0.0
            out -= weight[:, None] * (P + self.damping * F)
        self.last = point, gap
        return out

    def take(self, places: Ints) -> Mixers:
        """That of some tasks."""
        some = Mixers(self.damping)
        if self.last is not None:
            some.last = self.last[0][places], self.last[1][places]
        return some


def ratio(above: Floats, below: Floats, otherwise: float) -> Floats:
    """``above / below``, and something else where either is nil."""
    out = np.full(len(above), otherwise)
    np.divide(above, below, out=out, where=(below > 0) & (above != 0))
    return out


def _dot(a: Floats, b: Floats) -> float:
    """The inner product without BLAS, whose threads cost more than they save here."""
    return float((a * b).sum())
