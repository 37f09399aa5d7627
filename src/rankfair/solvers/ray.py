"""Where every solver starts, the fits along one direction, and the exact landing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankfair.balances import Balance, Band
from rankfair.blocks import Ints
from rankfair.problem import Groups
from rankfair.solvers.base import Fitter, Floats
from rankfair.solvers.landing import Landing, land

DOUBLE_ROWS = 1 << 17
SAMPLE = 16  # one row in so many gives a first landing
REACH = 1e6  # multiples of the first step after which a direction is given up


@dataclass(frozen=True)
class Origin:
    """The unconstrained fit: its moments, coefficients, predictions and imbalance."""

    fitter: Fitter
    balance: Balance
    groups: Groups
    B0: Floats
    W0: Floats
    m0: Floats
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
        B0 = problem.moments(problem.y) if B0 is None else B0
        W0 = fitter.solve(B0) if W0 is None else W0
        m0, band = problem.predict(W0), balance.band(groups)
        value, bound = balance.estimate(m0, groups)
        return cls(fitter, balance, groups, B0, W0, m0, band, value, bound)

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
class Line:
    """``m − (x − start) p`` as a function of ``x``.

    In single precision for many rows: counts are then binned, far coarser than that,
    and memory is time.
    """

    m: Floats
    p: Floats
    start: float

    @classmethod
    def of(cls, m: Floats, p: Floats, start: float) -> Line:
        """The line, in single precision if there are many rows."""
        if len(m) <= DOUBLE_ROWS:
            return cls(m, p, start)
        short: Any = p.astype(np.float32)
        del p  # before the next array is made
        return cls(m.astype(np.float32), short, start)

    def take(self, rows: Ints) -> Line:
        """The line of some of the rows."""
        return Line(self.m[rows], self.p[rows], self.start)

    def __call__(self, x: float) -> Floats:
        """The predictions at ``x``."""
        step = (x - self.start) * self.p
        return np.subtract(self.m, step, out=step)


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

    def predictor(self, chord: float = 0.0) -> Callable[[float], Floats]:
        """Predictions in standard units as a function of ``x``.

        With ``chord`` they follow the straight line through the fits at ``chord`` and a
        little beyond, which saves a fit a probe where the fit is not linear.
        """
        predict = self.origin.fitter.problem.predict
        if self.slope is not None:
            return Line.of(self.origin.m0, predict(self.slope), 0.0)
        if not chord:
            return lambda x: predict(self.fit(x))
        here, fitter = self.fit(chord), self.origin.fitter
        beyond = fitter.solve(self.origin.B0 - 1.05 * chord * self.b, here)
        slope = (here - beyond) / (0.05 * chord)
        self.chord[:] = [(chord, here, slope)]
        return Line.of(predict(here), predict(slope), chord)

    def near(self, x: float) -> Floats:
        """The coefficients at ``x``, on the chord where there is one."""
        if not self.chord:
            return self.fit(x)
        at, W, slope = self.chord[0]
        return W - (x - at) * slope

    def land(
        self, first: float, coarse: float = 1.0, chord: float = 0.0
    ) -> tuple[Landing, Callable[[float], Floats]]:
        """Where quick counts enter the band, and the predictions along the way."""
        predict = self.predictor(chord)
        if isinstance(predict, Line) and len(predict.m) > DOUBLE_ROWS:
            rows = _some(len(predict.m))
            groups = self.origin.groups.take(rows)
            if groups.total_a > 0 and groups.total_b > 0:
                first = (
                    self._land(predict.take(rows), groups, first, 10 * coarse).x
                    or first
                )
        return self._land(predict, self.origin.groups, first, coarse), predict

    def _land(
        self,
        predict: Callable[[float], Floats],
        groups: Groups,
        first: float,
        coarse: float,
    ) -> Landing:
        """Where the counts of these rows enter the band."""
        balance = self.origin.balance
        resolution = coarse * balance.resolution(groups)
        own = self.origin.band if groups is self.origin.groups else balance.band(groups)
        value = self.origin.value
        if groups is not self.origin.groups:
            value = balance.estimate(predict(0.0), groups)[0]
        band = own.at_least(resolution)
        if band.miss(value) == 0:
            band = own
        if band.miss(value) == 0:
            return Landing(0.0, value, 0.0)
        return land(
            lambda x: balance.estimate(predict(x), groups)[0],
            band,
            min(resolution, band.high - band.low),
            Landing(0.0, value, band.miss(value)),
            first,
            REACH * first,
        )

    def count(self, x: float) -> Landing:
        """The balance of the user's own predictions at ``x``."""
        problem, balance = self.origin.fitter.problem, self.origin.balance
        groups = problem.user_groups
        assert groups is not None
        m = problem.user_predict(self.fit(x))
        value = balance.value(m, groups, problem.y_unit)
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


def _some(n_rows: int) -> Ints:
    """A random one of every ``SAMPLE`` rows, at a fixed seed."""
    start = np.arange(0, n_rows - SAMPLE + 1, SAMPLE)
    return start + np.random.default_rng(0).integers(SAMPLE, size=len(start))


def nearest_multiple(bend: Floats, force: Floats) -> float:
    """The multiple of ``bend`` nearest to ``force``."""
    size = float((bend * bend).sum())
    return float((bend * force).sum()) / size if size > 0 else 0.0


def relative(gap: Floats, force: Floats) -> float:
    """``||gap|| / ||force||``, and 0 where there is no force."""
    size = float((force * force).sum())
    return float(np.sqrt((gap * gap).sum() / size)) if size > 0 else 0.0
