"""Where a ray landed: a fit, how good it is, and how settled."""

from __future__ import annotations

from dataclasses import dataclass

from rankfair.balances.base import Field
from rankfair.engines import Moving
from rankfair.solvers.base import Floats
from rankfair.solvers.landing import Landing
from rankfair.solvers.ray import Curve, Ray, nearest_multiple, relative


@dataclass(frozen=True)
class Candidate:
    """A fit in the band (or not), the ``∇AUC`` there, and how settled it is."""

    force: Floats  # moments of λ g, so that the fit is at x = 1
    W: Floats
    landing: Landing
    objective: float
    field: Field
    multiplier: float  # λ̂, with λ̂ ∇AUC nearest to λ g
    gap: Floats  # moments of the difference of these two
    stationarity: float  # its size relative to the force

    @classmethod
    def at(
        cls, ray: Ray, landing: Landing, line: Moving | Curve, W: Floats
    ) -> Candidate:
        """The fit ``W`` where the ray landed on ``line``."""
        origin = ray.origin
        field, bend = line.bend(origin.balance, landing.x)
        fitter = origin.fitter
        bend, force = fitter.without_pins(bend), fitter.without_pins(landing.x * ray.b)
        multiplier = nearest_multiple(bend, force)
        gap = multiplier * bend - force
        return cls(
            force,
            W,
            landing,
            origin.objective(W),
            field,
            multiplier,
            gap,
            relative(gap, force),
        )


def ranked(candidates: list[Candidate], tol: float) -> list[Candidate]:
    """Inside before outside; of those as good as the best, the most settled first."""
    inside = [c.objective for c in candidates if c.landing.inside]
    good = min(inside, default=0.0) * (1 + tol)
    return sorted(
        candidates,
        key=lambda c: (abs(c.landing.miss), max(c.objective, good), c.stationarity),
    )
