"""The tilt of any estimator: two fits make a line, one refit comes near, it lands.

m₀ = fit(y),  d = fit(g)          out of fold, so that what is counted is honest
λ:  m₀ − λ d in the band          on exact counts, every λ from two fits
m₁ = fit(y − λ g)                 fits better than m₀ − λ d
δ:  m₁ − δ d in the band          what the refit left of the gap, often nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankfair._frames import Floats
from rankfair.constraints import Constraint
from rankfair.core.blocks import CONSTANT, resolution_of, rounded
from rankfair.core.problem import Groups
from rankfair.reduction.refits import Models, Refits
from rankfair.solvers.base import OnStep, Status, Step
from rankfair.solvers.counted import Counted, Demand, Units
from rankfair.solvers.joint import inside_bands, search_on
from rankfair.solvers.line import Curved

__all__ = ["Found", "Target", "search"]


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

    def directions(self) -> list[Floats]:
        """The direction of every demand, a row each."""
        return [each.direction() for each in self.demands]

    def error(self, m: Floats) -> float:
        """The squared error relative to that of one constant."""
        squares = (m - self.y) ** 2
        return float(np.average(squares, weights=self.weights))


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
    """A tilt, the predictions it makes, counted, and what is left to take off."""

    lam: Floats  # (r,) the tilt of the refit
    left: Floats  # (r,) what is taken off its predictions along the directions
    m: Floats  # predictions that were counted, in standard units
    values: tuple[float, ...]
    status: Status
    trace: tuple[Step, ...]

    def shown(self, target: Target) -> list[float]:
        """The values as people read them."""
        return [
            each.constraint.show(value, each.groups)
            for each, value in zip(target.demands, self.values, strict=True)
        ]


def search(refits: Refits, target: Target, on_step: OnStep | None = None) -> Found:
    """Look for the least tilt whose counts are in their bands."""
    trace: list[Step] = []

    def fitted(t: Floats) -> Floats:
        m = refits.fit(t * target.unit + target.centre)[1]
        return (rounded(m, target.units.resolution) - target.centre) / target.unit

    def counted(m: Floats, E: Floats) -> Counted:
        return Counted(m, E, target.demands, target.units)

    def note(rows: Counted, lam: Floats) -> list[float]:
        values = rows.values(lam)
        (first, *_), (value, *_) = target.demands, values
        shown = first.constraint.show(value, first.groups)
        m = rows.q - lam @ rows.E
        step = Step(len(trace) + 1, target.error(m), shown, 0.0)
        trace.append(step)
        if on_step is not None:
            on_step(step)
        return values

    none = np.zeros(len(target.demands))
    m0 = fitted(target.y)
    free = counted(m0, np.zeros((len(none), len(m0))))
    values = note(free, none)
    if inside_bands(free, values):
        return Found(none, none, m0, tuple(values), Status.INACTIVE, tuple(trace))
    g = np.array(target.directions())
    d = np.array([_direction(refits, each) for each in g])
    line = counted(m0, d)
    lam, _, _ = search_on(PredictedLine(target, line), line)
    note(line, lam)
    m1 = fitted(target.y - lam @ g)
    again = counted(m1, d)
    values, left = note(again, none), none
    inside = inside_bands(again, values)
    if not inside:
        left, values, inside = search_on(PredictedLine(target, again), again)
        note(again, left)
    m = m1 - left @ d
    status = Status.SATISFIED if inside else Status.INFEASIBLE
    return Found(lam, left, m, tuple(values), status, tuple(trace))


def _direction(refits: Refits, g: Floats) -> Floats:
    """What the features say of a direction, out of fold."""
    return refits.fit(g)[1]


def final_models(
    refits: Refits, target: Target, found: Found
) -> tuple[Models, list[Models]]:
    """The models of all rows: that of the tilted target, and of directions if used."""
    g = np.array(target.directions()).reshape(len(found.lam), -1)
    tilted = target.y - found.lam @ g
    models = refits.whole(tilted * target.unit + target.centre)
    if not found.left.any():
        return models, []
    return models, [refits.whole(each) for each in g]
