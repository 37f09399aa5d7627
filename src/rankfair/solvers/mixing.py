"""Fixed-point iterations that learn from their last steps (Anderson mixing)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Mixer:
    """Proposes the next point of ``b ← b + gap(b)`` from the points seen so far.

    The first step moves ``damping`` of the gap.  Later ones first combine the last
    points so that their combined gap is smallest, then do the same.  A gap that grew
    throws the history away.
    """

    def __init__(self, damping: float = 0.8, history: int = 4) -> None:
        self.damping = damping
        self.history = history
        self._points: list[Floats] = []
        self._gaps: list[Floats] = []

    def next(self, point: Floats, gap: Floats) -> Floats:
        """The next point, given this one and its gap."""
        size = np.linalg.norm(gap)
        if self._gaps and size > 1.5 * np.linalg.norm(self._gaps[-1]):
            self._points, self._gaps = [], []
        self._points = [*self._points, point][-self.history :]
        self._gaps = [*self._gaps, gap][-self.history :]
        plain = point + self.damping * gap
        if len(self._gaps) == 1:
            return plain
        F = np.stack([(gap - f).ravel() for f in self._gaps[:-1]], axis=1)
        P = np.stack([(point - p).ravel() for p in self._points[:-1]], axis=1)
        weights = np.linalg.lstsq(F, gap.ravel(), rcond=1e-6)[0]
        step: Floats = ((P + self.damping * F) @ weights).reshape(point.shape)
        return plain - step
