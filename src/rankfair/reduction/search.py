"""The tilt of any estimator: two fits make a line, and refits follow it to the band.

    m = fit(y),  d = fit(g)            out of fold, so that what is counted is honest
    repeat:  δ with m − δ d in the band, by exact counts
             λ ← λ + δ,  m ← fit(y − λ g)
             d ← the chord of the last two fits

The last fit is the model.  Where fits are linear the first refit is on the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rankfair._frames import Floats
from rankfair.constraints import Constraint
from rankfair.core.blocks import CONSTANT, resolution_of, rounded
from rankfair.core.problem import Groups
from rankfair.reduction.refits import Models, Refits
from rankfair.solvers.base import OnStep, Status, Step, noted_in
from rankfair.solvers.counted import Counted, Demand, Units
from rankfair.solvers.joint import inside_bands, search_on
from rankfair.solvers.line import Curved
from rankfair.solvers.roots import CLOSEST

__all__ = ["Found", "Target", "search"]

REFITS = 4  # to tilted targets, at most; one or two are the rule
MARGIN = 0.005  # of a shown value: how far inside a band refits are aimed at


@dataclass(frozen=True)
class Target:
    """The target in standard units, and what is asked of its predictions."""

    y: Floats
    unit: float
    centre: float
    weights: Floats | None
    demands: tuple[Demand, ...]

    @classmethod
    def of(
        cls,
        y: Floats,
        weights: Floats | None,
        asked: Sequence[Constraint],
        groups: Sequence[Groups],
    ) -> Target:
        """Standard units, and one demand a constraint and pair of groups."""
        centre = float(np.average(y, weights=weights))
        off = y - centre
        unit = float(np.sqrt(np.average(off * off, weights=weights)))
        if not unit > CONSTANT * float(np.abs(y).max()):
            off, unit = np.zeros(len(y)), 1.0
        standard = off / unit
        demands = tuple(
            Demand(each.on(standard, own), own) for each in asked for own in groups
        )
        return cls(standard, unit, centre, weights, demands)

    @cached_property
    def units(self) -> Units:
        """What predictions are to the user."""
        user = self.y * self.unit + self.centre
        return Units(self.unit, self.centre / self.unit, resolution_of(user))

    @cached_property
    def directions(self) -> Floats:
        """``g`` of every demand, a row each."""
        return np.array([each.direction() for each in self.demands])

    def tilted(self, lam: Floats) -> Floats:
        """``y − λ g`` in the user's units."""
        t: Floats = self.y - lam @ self.directions
        return t * self.unit + self.centre

    @property
    def narrower(self) -> tuple[Demand, ...]:
        """The demands with bands a little narrower, by half at most."""

        def of(each: Constraint) -> Constraint:
            return replace(each, epsilon=each.epsilon - min(each.epsilon / 2, MARGIN))

        return tuple(Demand(of(it.constraint), it.groups) for it in self.demands)

    def error(self, m: Floats) -> float:
        """The squared error relative to that of one constant."""
        squares = (m - self.y) ** 2
        return float(np.average(squares, weights=self.weights))

    def shown(self, values: Sequence[float]) -> list[float]:
        """Values of the demands as people read them."""
        return [
            each.constraint.show(value, each.groups)
            for each, value in zip(self.demands, values, strict=True)
        ]

    def gap(self, values: Sequence[float]) -> float:
        """How far the worst value is outside its band, as people read it."""
        bands = [each.constraint.band(each.groups) for each in self.demands]
        off = [band.miss(value) for band, value in zip(bands, values, strict=True)]
        level = self.shown([0.0] * len(off))
        return float(np.abs(np.subtract(self.shown(off), level)).max())


@dataclass(frozen=True)
class PredictedLine(Curved):
    """``m − λ d`` of predictions that nobody knows more of."""

    target: Target
    trained: Counted

    @cached_property
    def curve(self) -> tuple[float, Floats, Floats]:
        """``c, b, A`` with the squared error ``c + 2 bᵀλ + λᵀAλ``."""
        s = 1.0 if self.target.weights is None else self.target.weights
        r, E = self.target.y - self.trained.q, self.trained.E
        return float((s * r * r).sum()), (s * E) @ r, (s * E) @ E.T

    @property
    def squares(self) -> float:
        """The squared error of one constant."""
        s = 1.0 if self.target.weights is None else self.target.weights
        return float((s * self.target.y**2).sum())


@dataclass(frozen=True)
class Found:
    """A fit to a tilted target: its models, and its predictions, counted."""

    lam: Floats  # (r,)
    models: Models  # of all rows, once it is the one that is kept
    m: Floats  # what was counted, out of fold where there are folds; standard units
    values: tuple[float, ...]  # of the demands
    error: float  # relative to that of one constant
    inside: bool  # whether all values are in their bands
    trace: tuple[Step, ...] = ()

    @property
    def status(self) -> Status:
        """How the search ended."""
        if not self.inside:
            return Status.INFEASIBLE
        return Status.SATISFIED if self.lam.any() else Status.INACTIVE


def search(refits: Refits, target: Target, on_step: OnStep | None = None) -> Found:
    """Look for the least tilt whose counts are in their bands.

    A refit lands beside the place on the line that it was aimed at.  So the first one
    is aimed at the edge of the band, which is exact where fits are linear, and others,
    after a miss, a little inside.
    """
    trace: list[Step] = []
    note = noted_in(trace, on_step)

    def fit(lam: Floats) -> Found:
        models, m = refits.fit(target.tilted(lam))
        m = (rounded(m, target.units.resolution) - target.centre) / target.unit
        counted = Counted(m, np.zeros((len(lam), len(m))), target.demands, target.units)
        values, error = counted.values(lam), target.error(m)
        note(Step(1, error, target.shown(values)[0], 0.0))
        inside = inside_bands(counted, values)
        return Found(lam, models, m, tuple(values), error, inside)

    seen, aims = [fit(np.zeros(len(target.demands)))], target.demands
    if not seen[0].inside:
        g = target.directions * target.unit
        d = np.array([refits.fit(each)[1] for each in g]) / target.unit
    while not seen[-1].inside and len(seen) <= REFITS:
        last = seen[-1]
        line = Counted(last.m, d, aims, target.units)
        step = search_on(PredictedLine(target, line), line).lam
        if not step.any():
            break
        seen.append(fit(last.lam + step))
        aims = target.narrower
        # The least change of d after which m − δ d passes through both fits (Broyden).
        d += np.outer(step, last.m - step @ d - seen[-1].m) / (step @ step)
    best = _best(seen, target)
    models = best.models or refits.whole(target.tilted(best.lam))
    return replace(best, models=models, trace=tuple(trace))


def _best(seen: list[Found], target: Target) -> Found:
    """The last fit, if it is inside; else, of the closest, the one that errs least."""
    if seen[-1].inside:
        return seen[-1]
    gaps = [target.gap(each.values) for each in seen]
    near = min(gaps) + CLOSEST
    close = (it for it, gap in zip(seen, gaps, strict=True) if gap <= near)
    return min(close, key=lambda it: it.error)
