"""Predictions of the rows of a chunk, each by the fit without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfair.core.blocks import Floats, batches_of
from rankfair.engines.chunk import Chunk, Held
from rankfair.engines.summary import Sorted

__all__ = ["LeftOut"]


@dataclass(frozen=True)
class LeftOut:
    """What predicts rows by the fits without them: arrays by code of the task."""

    centre: Floats  # (k, n)
    W: Floats  # (1 + r, k, n + 1) of y and of the directions, intercept at the centre
    K: tuple[Floats, Floats] | None  # (k, n + 1, n + 1) each; None: training rows
    levels: Floats  # (r, 2): the directions of groups B and A
    single: NDArray[np.bool_]  # (k,): tasks of one row, which are not left out
    y_centre: float
    y_unit: float
    most: float  # leverage of a row that can be left out

    def __call__(self, chunk: Chunk) -> Held:
        """``q`` and ``e`` of the rows of a chunk that can be left out."""
        by_task, n = Sorted.of(chunk.codes), len(chunk.columns)
        M = np.empty((len(self.W), len(chunk)))
        H = np.zeros((2, len(chunk)))
        rows = chunk.rows()
        for within, places, size in batches_of(by_task.sizes):
            tasks = by_task.tasks[places]
            at = by_task.order[within]
            Z3 = rows[at].reshape(-1, size, n) - self.centre[tasks][:, None]
            for m, W in zip(M, self.W[:, tasks], strict=True):
                m3 = np.matmul(Z3, W[:, :-1, None])[:, :, 0] + W[:, -1:]
                m[at] = m3.ravel()
            for h, K in zip(H, self.K or (), strict=False):
                own = K[tasks]
                bent = np.matmul(Z3, own[:, :-1, :-1]) + 2.0 * own[:, None, -1, :-1]
                h3 = np.einsum("kif,kif->ki", bent, Z3) + own[:, -1, -1, None]
                h[at] = h3.ravel()
        if chunk.weights is not None:
            H *= np.minimum(chunk.weights, 1.0)
        return self._held(chunk, M, H)

    def _held(self, chunk: Chunk, M: Floats, H: Floats) -> Held:
        g = self.levels[:, chunk.in_a.view(np.int8)]
        y = chunk.y / self.y_unit - self.y_centre
        ok = np.ones(len(y), bool)
        if self.K is not None:
            ok = (self.most > H).all(axis=0) & ~self.single[chunk.codes]
            H = np.where(ok, H, 0.0)
        q = (M[0] - H[0] * y) / (1.0 - H[0])
        e = (M[1:] - H[1] * g) / (1.0 - H[1])
        weights = chunk.weights
        return Held(
            q[ok],
            e[0][ok] if len(e) else None,
            chunk.in_a[ok],
            None if weights is None else weights[ok],
        )
