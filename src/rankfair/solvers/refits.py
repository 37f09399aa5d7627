"""``λ`` where every probe is a fit of its own: penalties whose fits bend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankfair.core.blocks import Floats
from rankfair.solvers.base import Fitter, OnStep, Step, noted_in
from rankfair.solvers.joint import inside_bands, land
from rankfair.solvers.line import Demand, Landed, Line
from rankfair.solvers.roots import Bracket, close_in
from rankfair.solvers.streamed import line_through

ROUNDS = 6  # of chords, before exact refits close in
PROBES = 16  # refits that close in on the edge of the band
STEP = 0.05  # of λ, or of a unit, between the two fits of a chord
NARROW = 1e-4  # of λ: a bracket this narrow is closed


@dataclass
class Refits:
    """Fits to ``y − λ g``, each counted exactly and told of."""

    fitter: Fitter
    demands: Sequence[Demand]
    directions: Sequence[Any]
    count: str
    on_step: OnStep | None
    trace: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Take the moments of y and of the directions."""
        sums = self.fitter.problem.sums(self.directions)[0]
        self.B0, self.Bg = sums[:, :, 0], np.moveaxis(sums[:, :, 1:], 2, 0)
        self.W: Floats | None = None  # the last fit, where the next one starts
        self.note = noted_in(self.trace, self.on_step)

    def fit(self, lam: Floats) -> Floats:
        """``fit(y − λ g)``."""
        return self.fitter.solve(self.B0 - np.tensordot(lam, self.Bg, 1), self.W)

    def at(self, lam: Floats, chord: bool = False) -> Landed:
        """The fit at ``λ``; on a line through its neighbours if ``chord``."""
        self.W = W = self.fit(lam)
        D = np.zeros((len(lam), *W.shape))
        if chord:
            for s, size in enumerate(STEP * np.maximum(np.abs(lam), 1.0)):
                moved = lam.copy()
                moved[s] += size
                D[s] = (W - self.fit(moved)) / size
        base = W + np.tensordot(lam, D, 1)
        fitter, count = self.fitter, self.count
        line = line_through(
            fitter, fitter, base, D, self.demands, self.directions, count, W
        )
        counted = line.counted(count)
        values = counted.values(lam)
        inside = inside_bands(counted, values)
        found = Landed(line, counted, lam, tuple(values), inside)
        self.note(Step(len(self.trace) + 1, found.objective, found.shown[0], 0.0))
        return found


def chord(
    fitter: Fitter, demands: Sequence[Demand], directions: Sequence[Any], count: str
) -> Line:
    """The line through the free fit and its neighbours."""
    refits = Refits(fitter, demands, directions, count, None)
    return refits.at(np.zeros(len(demands)), chord=True).line


def search_refits(
    fitter: Fitter,
    demands: Sequence[Demand],
    directions: Sequence[Any],
    count: str,
    on_step: OnStep | None = None,
) -> Landed:
    """Land on the line through neighbouring fits, refit there, and repeat.

    One demand ends with exact refits around the edge of its band.
    """
    refits = Refits(fitter, demands, directions, count, on_step)
    found = [refits.at(np.zeros(len(demands)), chord=True)]
    if found[0].inside:
        return found[0]
    for _ in range(ROUNDS):
        lam = land(found[-1].line, count).lam
        near = np.abs(lam - found[-1].lam).max() <= NARROW * np.abs(lam).max()
        if near and (found[-1].inside or len(found) > 1):
            break
        found.append(refits.at(lam, chord=True))
    if len(demands) == 1:
        found.append(_closed_in(refits, found))
    best = min(found[1:] or found, key=lambda it: (not it.inside, _worst(it, count)))
    return replace(best, trace=tuple(refits.trace))


def _closed_in(refits: Refits, found: list[Landed]) -> Landed:
    """The fit nearest to the edge of the band, between one outside and one beyond."""
    counted = found[-1].line.counted(refits.count)
    sign = 1.0 if counted.band.miss(found[0].values[0]) > 0 else -1.0
    edge = counted.band.high if sign > 0 else counted.band.low
    places = [(float(it.lam[0]), sign * (it.values[0] - edge)) for it in found]
    beyond = [place for place in places if place[1] <= 0]
    if not beyond:
        x, fx = places[-1]
        for _ in range(4):  # a little further
            x *= 1 + STEP
            fx = sign * (refits.at(np.array([x])).values[0] - edge)
            if fx <= 0:
                break
            places.append((x, fx))
        else:
            return found[-1]
        beyond = [(x, fx)]
    b, fb = min(beyond, key=lambda place: abs(place[0]))
    same = [p for p in places if p[1] > 0 and p[0] * b >= 0 and abs(p[0]) < abs(b)]
    a, fa = max(same, key=lambda place: abs(place[0]))
    width = counted.band.high - counted.band.low

    def enough(at: Bracket) -> bool:
        return bool(at.fb >= -width and abs(at.b - at.a) <= NARROW * abs(at.b))

    def f(x: float) -> float:
        return sign * (refits.at(np.array([x])).values[0] - edge)

    bracket = close_in(f, Bracket(a, fa, b, fb), enough, PROBES)
    return refits.at(np.array([float(bracket.b)]), chord=True)


def _worst(found: Landed, count: str) -> float:
    """How far the worst demand is outside, and the objective of those inside."""
    if found.inside:
        return found.objective
    counted = found.line.counted(count)
    return max(
        abs(each.constraint.band(each.groups).miss(value))
        for each, value in zip(counted.demands, found.values, strict=True)
    )
