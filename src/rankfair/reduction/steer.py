"""The least move along given ways that brings several exact counts into their bands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import eigh

from rankfair._frames import Floats
from rankfair.solvers.pinned import to_bands

STEPS = 20  # by slopes
PARTS = (1.0, 0.5, 0.25, 0.1, 0.03)  # of a step that are tried
NUDGES = 200  # tries in vain to bring the last pairs into their bands, at most:
COUNTED = 1 << 21  # rows that may be counted for them
STIR = (-1.0, 1.5)  # powers of ten: how many pairs nudges go astray
ROOM = 0.01  # of a band is left free at either side
SAME = 1e-10  # ways whose squares are this much shorter than the longest are none
CALM = 0.99  # a move that is not shorter than this part of the last one is the least


class Counted(Protocol):
    """What steering asks of demands."""

    @property
    def root(self) -> Any:
        """The roots of the weights of rows."""

    @property
    def pairs(self) -> Floats:
        """What a pair of rows is worth of each value."""

    @property
    def bands(self) -> tuple[Floats, Floats]:
        """The least and the largest values allowed."""

    def count(self, m: Floats) -> Any:
        """Values as ``shown``, and how far ``off`` their bands."""

    def slopes(self, m: Floats, ways: Floats) -> Floats:
        """How much each value grows along each of the ways (N, r)."""


@dataclass(frozen=True)
class Way:
    """How far along each way, where that leads, and what is counted there."""

    x: Floats
    m: Floats
    at: Any


@dataclass(frozen=True)
class Steer:
    """``m + E u`` for ways E at right angles, so that |u| is how far rows move."""

    demands: Counted
    m: Floats
    E: Floats
    low: Floats
    high: Floats

    def to(self, u: Floats) -> Way:
        """Go there and count."""
        m = self.m + self.E @ u
        return Way(u, m, self.demands.count(m))

    def step(self, here: Way, low: Floats, high: Floats) -> Floats:
        """The shortest u at which the slopes here promise values from low to high."""
        J = self.demands.slopes(here.m, self.E)
        push = to_bands(J @ J.T, here.at.shown - J @ here.x, low, high)
        u: Floats = -J.T @ push
        return u

    def slid(self, here: Way, part: float) -> Way:
        """Follow the slopes until the counts are inside, and the move is short.

        It aims at that part of each band around its middle.
        """
        middle, half = (self.low + self.high) / 2, part * (self.high - self.low) / 2
        for _ in range(STEPS):
            aim = self.step(here, middle - half, middle + half)
            better = self._first_better(here, aim)
            if better is None:
                break
            calm = here.at.inside and _length(better) > CALM * _length(here)
            here = better
            if calm:
                break
        return here

    def _first_better(self, here: Way, aim: Floats) -> Way | None:
        for part in PARTS:
            tried = self.to(here.x + part * (aim - here.x))
            if here.at.inside:
                # Inside already: only a shorter move is worth another step.
                if tried.at.inside and _length(tried) < _length(here):
                    return tried
            elif short_of(tried.at) < short_of(here.at):
                return tried
        return None

    def nudged(self, here: Way) -> Way:
        """Try places around for the last pairs, at a fixed seed."""
        rng = np.random.default_rng(0)
        J = self.demands.slopes(here.m, self.E)
        back = np.linalg.pinv(J, 1e-6)
        # Chance goes by size and height of the groups: their names must not matter.
        place = np.argsort(np.lexsort((here.at.shown, self.demands.pairs)))
        left = tries = min(NUDGES, max(COUNTED // len(self.m), 20))
        while left and not here.at.inside:
            left -= 1
            astray = self.demands.pairs * 10 ** rng.uniform(*STIR)
            goal = (self.low + self.high) / 2 + astray * rng.normal(size=len(J))[place]
            tried = self.to(here.x + back @ (goal - here.at.shown))
            if short_of(tried.at) < short_of(here.at):
                here, left = tried, tries
        return here


def steered(demands: Counted, m: Floats, ways: Floats) -> Way:
    """Move ``m`` along the ways (N, r), as little as brings all counts to their bands.

        repeat: u ← the shortest with counts + slopes · (u − u_now) in their bands
        then places around, where single pairs decide

    Where the bands cannot be reached it is the closest place that was met.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair._groups import Groups
    >>> from rankfair.balances import Mean
    >>> from rankfair.reduction.several import Demands
    >>> z = np.array([0, 0, 1, 1, 2, 2])
    >>> y = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 7.0])
    >>> asked = Demands.of(Mean(0.0), y, Groups(z, np.arange(3)), shifts=True)
    >>> way = steered(asked, y, (z[:, None] == np.arange(3)).astype(float))
    >>> way.x.round(6).tolist(), way.at.inside
    ([2.5, 0.5, -3.0], True)
    """
    tall = demands.root * ways.T
    H = tall @ tall.T
    sizes, turned = eigh(H)
    kept = sizes > SAME * max(float(sizes[-1]), 1e-300)
    Q = turned[:, kept] / np.sqrt(sizes[kept])
    steer = Steer(demands, m, ways @ Q, *demands.bands)
    found = steer.slid(steer.to(np.zeros(Q.shape[1])), 1 - ROOM)
    if not found.at.inside and Q.size:
        found = steer.nudged(steer.slid(found, 0.0))
    return Way(Q @ found.x, found.m, found.at)


def short_of(at: Any) -> float:
    """How far all counts together are outside their bands."""
    return float(np.linalg.norm(at.off))


def _length(way: Way) -> float:
    return float(np.linalg.norm(way.x))
