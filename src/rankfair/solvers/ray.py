"""Where every solver starts, the fits along one direction, and the exact landing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from rankfair.balances import Balance, Band
from rankfair.balances.base import Field
from rankfair.engines import Moving
from rankfair.problem import Groups
from rankfair.solvers.base import Fitter, Floats
from rankfair.solvers.landing import Landing, land

REACH = 1e6  # multiples of the first step after which a direction is given up


@dataclass(frozen=True)
class Origin:
    """The unconstrained fit: its moments, coefficients, predictions and imbalance."""

    fitter: Fitter
    balance: Balance
    groups: Groups
    B0: Floats
    W0: Floats
    rest: Moving
    band: Band  # where the value has to get
    value: float
    bound: float  # the most that ``value`` can be off

    @classmethod
    def of(
        cls,
        fitter: Fitter,
        balance: Balance,
        B0: Floats | None = None,
        W0: Floats | None = None,
    ) -> Origin:
        """Fit without the balance, unless that fit is given."""
        problem = fitter.problem
        groups = problem.groups
        assert groups is not None
        B0 = problem.target_moments if B0 is None else B0
        W0 = fitter.solve(B0) if W0 is None else W0
        rest, band = problem.line(W0), balance.band(groups)
        value, bound = rest.estimate(balance, 0.0)
        return cls(fitter, balance, groups, B0, W0, rest, band, value, bound)

    def objective(self, W: Floats) -> float:
        """The error and penalty of a fit to the same target."""
        return self.fitter.objective(W, self.B0)

    def thinned(self) -> Origin:
        """The same on fewer rows, or this one if there are few already."""
        thin = self.fitter.problem.thinned()
        if thin is self.fitter.problem:
            return self
        if thin.n_tasks == self.fitter.problem.n_tasks:
            fitter = replace(self.fitter, problem=thin)
            small = Origin.of(fitter, self.balance, self.B0, self.W0)
        else:
            small = Origin.of(self.fitter.on(thin), self.balance)
        return replace(small, band=self._band_for(small))

    def _band_for(self, small: Origin) -> Band:
        """The band as far from ``small``'s value as ours is from our own value."""
        show = self.balance.show
        drift = show(small.value, small.groups) - show(self.value, self.groups)
        drift /= show(1.0, small.groups)
        return Band(small.band.low + drift, small.band.high + drift)

    def exactly(self) -> Landing:
        """The unconstrained fit, counted exactly unless it is clearly outside."""
        miss = self.band.miss(self.value)
        if abs(miss) > self.bound:
            return Landing(0.0, self.value, miss)
        return Ray.along(self, 0 * self.B0).count(0.0)


@dataclass(frozen=True)
class Curve:
    """Predictions of a fit that has to be made anew at every ``x``."""

    line_of: Callable[[Floats], Moving]
    fit: Callable[[float], Floats]

    def estimate(self, balance: Balance, x: float) -> tuple[float, float]:
        """The balance's value at ``x``, quickly, and the most it can be off."""
        return self.line_of(self.fit(x)).estimate(balance, 0.0)

    def bend(self, balance: Balance, x: float) -> tuple[Field, Floats]:
        """The balance's direction at ``x``, and its moments there."""
        return self.line_of(self.fit(x)).bend(balance, 0.0)


@dataclass(frozen=True)
class Ray:
    """``W(x) = fit(y − x g)`` from the moments ``b`` of ``g``.

    ``slope`` is ``fit(g)`` where the fit is linear: ``W(x) = W0 − x slope`` is then a
    line, and a probe of ``x`` costs one histogram.
    """

    origin: Origin
    b: Floats
    slope: Floats | None
    start: Floats  # a fit nearby, from which all others are found
    last: list[tuple[float, Floats]] = field(default_factory=list)  # the last fit made
    chord: list[tuple[float, Floats, Floats]] = field(default_factory=list)

    @classmethod
    def along(cls, origin: Origin, b: Floats, start: Floats | None = None) -> Ray:
        """The ray from ``origin`` in the direction whose moments are ``b``."""
        fitter = origin.fitter
        slope = fitter.slope(b) if fitter.linear else None
        return cls(origin, b, slope, origin.W0 if start is None else start)

    def fit(self, x: float) -> Floats:
        """The coefficients at ``x``."""
        if self.slope is not None:
            return self.origin.W0 - x * self.slope
        if self.last and self.last[0][0] == x:
            return self.last[0][1]
        # Always from the same start: a fit once counted must come out again to the bit.
        W = self.origin.fitter.solve(self.origin.B0 - x * self.b, self.start)
        self.last[:] = [(x, W)]
        return W

    def line(self, chord: float = 0.0) -> Moving | Curve:
        """Predictions in standard units as a function of ``x``.

        With ``chord`` they follow the straight line through the fits at ``chord`` and a
        little beyond, which saves a fit a probe where the fit is not linear.
        """
        if self.slope is not None:
            return self.origin.rest.along(self.slope)
        fitter = self.origin.fitter
        if not chord:
            return Curve(fitter.problem.line, self.fit)
        here = self.fit(chord)
        beyond = fitter.solve(self.origin.B0 - 1.05 * chord * self.b, here)
        slope = (here - beyond) / (0.05 * chord)
        self.chord[:] = [(chord, here, slope)]
        return fitter.problem.line(here, slope, chord)

    def near(self, x: float) -> Floats:
        """The coefficients at ``x``, on the chord where there is one."""
        if not self.chord:
            return self.fit(x)
        at, W, slope = self.chord[0]
        return W - (x - at) * slope

    def land(
        self,
        first: float,
        coarse: float = 1.0,
        chord: float = 0.0,
        fine: float | None = None,
    ) -> tuple[Landing, Moving | Curve]:
        """Where quick counts enter the band, and the predictions along the way.

        ``fine`` is the share of the resolution to which the landing is to be sure.  A
        count is a staircase: engines land at the same place because they look at the
        same places on the way, not because they come as near.
        """
        line, balance, value = self.line(chord), self.origin.balance, self.origin.value
        resolution = coarse * balance.resolution(self.origin.groups)
        band = self.origin.band.at_least(resolution)
        if band.miss(value) == 0:
            band = self.origin.band
        start = Landing(0.0, value, band.miss(value))
        if start.inside:
            return start, line
        found = land(
            lambda x: line.estimate(balance, x)[0],
            band,
            min(resolution, band.high - band.low),
            start,
            first,
            REACH * first,
            None if fine is None else fine * resolution,
        )
        return found, line

    def count(self, x: float) -> Landing:
        """The balance of the user's own predictions at ``x``."""
        problem, balance = self.origin.fitter.problem, self.origin.balance
        groups = problem.user_groups
        assert groups is not None
        value = problem.count(balance, self.fit(x))
        return Landing(x, value, balance.band(groups).miss(value))

    def land_exactly(self, x: float) -> Landing:
        """From a quick landing at ``x`` to one the user's own predictions confirm."""
        near = self.count(x)
        if near.inside or near.value == self.origin.value:
            return near
        groups = self.origin.groups
        band = self.origin.band
        slope = (near.value - self.origin.value) / x
        return land(
            lambda at: self.count(at).value,
            band,
            min(self.origin.balance.resolution(groups), band.high - band.low),
            near,
            -1.1 * near.miss / slope,
            x,
        )


def nearest_multiple(bend: Floats, force: Floats) -> float:
    """The multiple of ``bend`` nearest to ``force``."""
    size = float((bend * bend).sum())
    return float((bend * force).sum()) / size if size > 0 else 0.0


def relative(gap: Floats, force: Floats) -> float:
    """``||gap|| / ||force||``, and 0 where there is no force."""
    size = float((force * force).sum())
    return float(np.sqrt((gap * gap).sum() / size)) if size > 0 else 0.0
