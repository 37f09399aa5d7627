"""Penalties with what tasks share held still: each task can then be fitted alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rankfair.blocks import Ints
from rankfair.penalties.base import Factor, Floats, Separable
from rankfair.penalties.ridge import Ridge, RidgeFactor
from rankfair.penalties.task import Task


def _nothing() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True)
class Widened(Separable):
    """``½ β Σ_f w_f²/η_f`` in every task; a feature without width stays at 0.

    With ``η_f`` the norm of a feature over all tasks it touches ``feature`` from above,
    up to a constant.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Widened(5.0, np.array([5.0])).factorise(np.ones((2, 1, 1)))
    >>> factor.solve(np.array([[6.0], [8.0]])).round(9).tolist()
    [[3.0], [4.0]]
    """

    widths: Floats = field(default_factory=_nothing)  # (n,)

    def by_task(self, W: Floats) -> Floats:
        """``½ β Σ_f w_f²/η_f``."""
        shares = np.zeros_like(W)
        np.divide(W * W, self.widths, out=shares, where=self.widths > 0)
        out: Floats = 0.5 * self.beta * shares.sum(axis=1)
        return out

    def factorise(self, G: Floats) -> Factor:
        """``D½ (I + D½ G D½)⁻¹ D½`` with ``D = diag(η/β)``."""
        if self.beta == 0:
            return Ridge(0.0).factorise(G)
        root = np.sqrt(self.widths / self.beta)
        middle = G * root * root[:, None]
        middle += np.eye(len(root)) * (1.0 + 1e-15 * np.abs(middle).max(initial=0.0))
        inverse = np.linalg.inv(middle).astype(float, copy=False)
        return RidgeFactor(inverse * root * root[:, None])


@dataclass(frozen=True)
class Around(Separable):
    """``β ||w^j − w⁰||₂`` in every task, for a given ``w⁰``.

    Examples
    --------
    >>> import numpy as np
    >>> factor = Around(1e3, np.array([2.0])).factorise(np.ones((2, 1, 1)))
    >>> factor.solve(np.array([[1.0], [3.0]])).round(9).tolist()
    [[2.0], [2.0]]
    """

    centre: Floats = field(default_factory=_nothing)  # (n,)

    def by_task(self, W: Floats) -> Floats:
        """``β ||w^j − w⁰||₂``."""
        return Task(self.beta).by_task(W - self.centre)

    def factorise(self, G: Floats) -> AroundFactor:
        """That of ``task``, for what ``w⁰`` leaves."""
        return AroundFactor(Task(self.beta).factorise(G), G, self.centre)


@dataclass(frozen=True)
class AroundFactor(Factor):
    """The ``task`` fit to what ``w⁰`` leaves, and ``w⁰`` again."""

    own: Factor
    G: Floats
    centre: Floats

    @cached_property
    def pull(self) -> Floats:
        """``G_j w⁰`` of every task."""
        out: Floats = np.matmul(self.G, self.centre)
        return out

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """``w⁰ + v^j``."""
        left = B - self.pull
        first = None if start is None else start - self.centre
        return self.centre + self.own.solve(left, first)

    def take(self, tasks: Ints) -> AroundFactor | None:
        """The same around the same ``w⁰``."""
        own = self.own.take(tasks)
        return None if own is None else AroundFactor(own, self.G[tasks], self.centre)
