"""The largest slack whose maps put AUC into its band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

from rankfair.projections.chains import least_movement
from rankfair.projections.samples import Floats, Sample, Standing

THINNED = 1 << 10  # steps a group on which a slack is looked for first
PROBES = 60  # of a slack, at most; these are where a straight line says:
LINES = range(0, 16, 2)
NEAR = 1e-3  # of the band's width: so near to its edge is at its edge
GUESS = 1e-4  # how well the slack is found on few steps


class Placed(Protocol):
    """Where steps move to, and how the groups stand then."""

    @property
    def values(self) -> list[Floats]:
        """Where each step moves to."""

    @property
    def standing(self) -> Standing:
        """How the groups stand."""


@dataclass(frozen=True)
class Free:
    """Steps where they moved to, on no common levels."""

    samples: Sequence[Sample]
    values: list[Floats]

    @cached_property
    def standing(self) -> Standing:
        """How the groups stand, counted on all rows."""
        return Standing.of(self.values, self.samples)


@dataclass(frozen=True)
class Probe:
    """The values at a slack; ``excess`` is above 0 if the groups are still apart."""

    slack: float
    moved: list[Floats]
    placed: Placed
    excess: float
    outside: float


ProbeAt = Callable[[float], Probe]


@dataclass(frozen=True)
class Search:
    """The largest slack at which every AUC is within its band.

    ``place`` is what becomes of moved steps before they are judged.  The search ends
    at an AUC that is ``near`` to the band's edge, in widths of the band, or when the
    slack is known up to ``finest``.
    """

    samples: Sequence[Sample]
    epsilon: float
    place: Callable[[list[Floats]], Placed] | None = None
    near: float = NEAR
    finest: float = 1e-14

    def best(self, high: float) -> Probe:
        """Return what the largest slack below ``high`` gives, or the closest."""
        probe_at = lru_cache(maxsize=4)(self._probe)
        low, high = self._bracket(high, probe_at)
        found = self._narrow(low, high, probe_at)
        parts = len(self.samples) == 2 and self.place is None
        for rows in (4, 1, 16, 64) if parts else ():
            if found.outside > 0:
                found = self._between(found, rows)
        return found

    def _bracket(self, high: float, probe_at: ProbeAt) -> tuple[float, float]:
        """Slacks at which the groups are together, and apart."""
        thin = [sample.thinned(THINNED) for sample in self.samples]
        if any(t is not s for t, s in zip(thin, self.samples, strict=True)):
            first = Search(thin, self.epsilon, finest=GUESS)
            few = lru_cache(maxsize=4)(first._probe)
            guess = first._narrow(*first._bracket(high, few), few).slack
            # A slack counts from the end of one step to the start of another.
            guess += _step(self.samples) - _step(thin)
            return self._around(guess, self._lowest, high, probe_at)
        if self._lowest < 0 and probe_at(0.0).excess > 0:
            # As far below as needed and no further: far below all values are one.
            row = max(sample.row for sample in self.samples)
            return self._around(-row, self._lowest, 0.0, probe_at)
        return 0.0, high

    @property
    def _lowest(self) -> float:
        """Only a pair can be asked for more than equal distributions."""
        return -1.0 if len(self.samples) == 2 else 0.0

    def _probe(self, slack: float) -> Probe:
        return self._judge(slack, least_movement(self.samples, slack))

    def _judge(self, slack: float, moved: list[Floats]) -> Probe:
        placed = self.place(moved) if self.place else Free(self.samples, moved)
        standing = placed.standing
        excess = outside = standing.auc_excess(self.epsilon)
        if len(moved) == 2:
            excess = standing.lead(0) - standing.width(0, self.epsilon)
        return Probe(slack, moved, placed, excess, max(outside, 0.0))

    def _around(
        self, guess: float, low: float, high: float, probe_at: ProbeAt
    ) -> tuple[float, float]:
        """A short bracket near the guess: together at its low end, apart at its top."""
        width = max(1e-2 * abs(guess), GUESS)
        bottom, top = max(guess - width, low), min(guess + width, high)
        while bottom > low and probe_at(bottom).excess > 0:
            width *= 4
            bottom, top = max(bottom - width, low), bottom
        while not self._at_edge(probe_at(bottom)):
            if top >= high or probe_at(top).excess > 0:
                break
            width *= 4
            bottom, top = top, min(top + width, high)
        return bottom, top

    def _at_edge(self, probe: Probe) -> bool:
        return -self.near * self.epsilon <= probe.excess <= 0

    def _narrow(self, low: float, high: float, probe_at: ProbeAt) -> Probe:
        """Cut the bracket, by straight lines first, until AUC is at its band's edge."""
        best = lower = probe_at(low)
        for turn in range(PROBES):
            if self._at_edge(best) or high - low < self.finest:
                break
            share = 0.5
            if turn in LINES and lower.excess <= 0 < (above := probe_at(high).excess):
                goal = -self.near / 2 * self.epsilon - lower.excess
                share = goal / (above - lower.excess)
            cut = low + min(max(share, 1e-3), 1 - 1e-3) * (high - low)
            probe = probe_at(cut)
            if probe.excess > 0:
                high = cut
            else:
                low, lower = cut, probe
            if probe.outside <= best.outside:
                best = probe
        return best

    def _between(self, found: Probe, rows: int) -> Probe:
        """Blend the maps of two slacks, some rows around one at which AUC jumps.

        Values that tie across groups part at once; those of a blend part one by one.
        """
        reach = rows * max(sample.row for sample in self.samples)
        near, far = (self._probe(found.slack + step) for step in (-reach, reach))

        def blend(share: float) -> Probe:
            pairs = zip(near.moved, far.moved, strict=True)
            values = [(1 - share) * a + share * b for a, b in pairs]
            return self._judge(found.slack, values)

        return min(
            found,
            self._narrow(0.0, 1.0, lru_cache(maxsize=4)(blend)),
            key=lambda each: each.outside,
        )


def _step(samples: Sequence[Sample]) -> float:
    """How wide the steps of these samples are, in levels."""
    return sum(1 / len(sample.values) for sample in samples) / len(samples)
