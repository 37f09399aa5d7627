"""``λ`` where every probe is a fit of its own: penalties whose fits bend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankfair.core.blocks import Floats
from rankfair.solvers.base import Fitter, OnStep, Step, noted_in
from rankfair.solvers.counted import Demand
from rankfair.solvers.joint import inside_bands, search
from rankfair.solvers.line import FoundFit, Line, line_through, make_line
from rankfair.solvers.roots import CLOSEST, Bracket, close_in

Find = Callable[[Line, str], FoundFit]

ROUNDS = 8  # of chords
PROBES = 16  # refits that close in on the edge of the band
STEP = 0.05  # of λ, or of a unit, between the two fits of the first chord
SHORT = 1e-4  # the same of the shortest chord
WIDER = 12  # times that a chord is made four times as long, until its ends differ
NARROW = 1e-4  # of λ: a bracket this narrow is closed
SAME = 1e-9  # of λ: the same of linear values


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

    def at(self, lam: Floats, chord: Floats | None = None) -> FoundFit:
        """The fit at ``λ``; with ``chord`` on the line to the fits this far away."""
        self.W = W = self.fit(lam)
        D = np.zeros((len(lam), *W.shape))
        for s, size in enumerate(() if chord is None else chord):
            for _ in range(WIDER):  # a penalty may hold the fit at 0
                moved = lam.copy()
                moved[s] += np.copysign(size, lam[s])
                D[s] = (W - self.fit(moved)) / (moved - lam)[s]
                if D[s].any():
                    break
                size *= 4
        base = W + np.tensordot(lam, D, 1)
        fitter, count = self.fitter, self.count
        line = line_through(
            fitter, fitter, base, D, self.demands, self.directions, count, W
        )
        counted = line.counted(count)
        values = counted.values(lam)
        inside = inside_bands(counted, values)
        found = FoundFit(line, counted, lam, tuple(values), inside)
        self.note(Step(len(self.trace) + 1, found.objective, found.shown[0], 0.0))
        return found


def chord(
    fitter: Fitter, demands: Sequence[Demand], directions: Sequence[Any], count: str
) -> Line:
    """The line through the free fit and its neighbours."""
    refits = Refits(fitter, demands, directions, count, None)
    return refits.at(np.zeros(len(demands)), np.full(len(demands), STEP)).line


def search_along(
    fitter: Fitter,
    of_g: Fitter,
    demands: Sequence[Demand],
    directions: Sequence[Any],
    count: str,
    on_step: OnStep | None = None,
    find: Find = search,
    sums: Floats | None = None,
) -> FoundFit:
    """The fit found along some directions: on a line, or by refits where fits bend.

    ``sums`` are the moments of y and of the directions, where they are known.
    """
    if not fitter.penalty.quadratic:
        return search_refits(fitter, demands, directions, count, on_step, find)
    if sums is None:
        sums = fitter.problem.sums(directions)[0]
    return find(make_line(fitter, of_g, demands, directions, sums, count), count)


def search_refits(
    fitter: Fitter,
    demands: Sequence[Demand],
    directions: Sequence[Any],
    count: str,
    on_step: OnStep | None = None,
    find: Find = search,
) -> FoundFit:
    """Search the line through neighbouring fits, refit there, and repeat.

    One demand that is counted ends with exact refits around the edge of its band.
    """
    refits = Refits(fitter, demands, directions, count, on_step)
    lam = np.zeros(len(demands))
    found = [refits.at(lam, np.full(len(lam), STEP))]
    if found[0].inside:
        return found[0]
    linear = found[0].counted.linear
    for _ in range(ROUNDS):
        lam = find(found[-1].line, count).lam
        change, size = np.abs(lam - found[-1].lam), np.maximum(np.abs(lam), 1.0)
        if (change <= (SAME if linear else NARROW) * np.abs(lam).max()).all():
            break
        found.append(refits.at(lam, np.clip(change, SHORT * size, STEP * size)))
    if len(demands) == 1 and not linear:
        found.append(_closed_in(refits, found))
    least = min(it.gap for it in found)
    met = [it for it in found if it.inside]
    close = [it for it in found if it.gap <= least + CLOSEST]
    best = min(met or close, key=lambda it: (linear and it.gap, it.objective))
    return replace(best, trace=tuple(refits.trace))


def _closed_in(refits: Refits, found: list[FoundFit]) -> FoundFit:
    """The fit nearest to the edge of the band, between one outside and one beyond."""
    band = found[0].counted.demand.band
    sign = 1.0 if band.miss(found[0].values[0]) > 0 else -1.0

    def beyond(it: FoundFit) -> float:
        band = it.counted.demand.band
        return sign * (it.values[0] - (band.high if sign > 0 else band.low))

    def refitted(x: float) -> float:
        return beyond(refits.at(np.array([x])))

    def enough(at: Bracket) -> bool:
        width = band.high - band.low
        return bool(at.fb >= -width and abs(at.b - at.a) <= NARROW * abs(at.b))

    places = {float(it.lam[0]): beyond(it) for it in found}
    x = float(found[-1].lam[0])
    for _ in range(4):  # a little further
        if min(places.values()) <= 0:
            break
        x *= 1 + STEP
        places[x] = refitted(x)
    else:
        return found[-1]
    b = min((x for x, f in places.items() if f <= 0), key=abs)
    a = max((x for x in places if x * b >= 0 and abs(x) < abs(b)), key=abs)
    bracket = close_in(refitted, Bracket(a, places[a], b, places[b]), enough, PROBES)
    return refits.at(np.array([float(bracket.b)]), np.array([STEP]))
