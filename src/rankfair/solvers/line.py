"""The fair fits of all ε lie on one straight line.

With a quadratic penalty ``fit(y − λ g) = W₀ − λ D``: two ordinary regressions, of y
and of the direction g, and one number to look for.  Counted as if left out, the
predictions are a line as well:

    m(λ) = m₀ − λ d,    h = leverage,    q(λ) = (m₀ − h y)/(1 − h) − λ (d − h g)/(1 − h)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from rankfair.constraints.base import ROUNDING
from rankfair.core.blocks import Floats, Ints
from rankfair.core.problem import Problem
from rankfair.engines import Engine
from rankfair.engines.chunked import ChunkedEngine
from rankfair.penalties import Penalty
from rankfair.solvers.base import Fitter, Solution, Status, Step, package
from rankfair.solvers.counted import Counted, Demand, Units
from rankfair.solvers.roots import CLOSE, CLOSEST, Bracket, Root, close_in, first_beyond
from rankfair.solvers.streamed import counted_elsewhere

MOST_LEVERAGE = 0.999  # rows above it cannot be left out
PROBES = 16  # of the first look along the line, on either side of 0


class Curved(ABC):
    """A line of fits whose squared error on training rows is known."""

    @property
    @abstractmethod
    def curve(self) -> tuple[float, Floats, Floats]:
        """``c, b, A`` with the squared error ``c + 2 bᵀλ + λᵀAλ`` on training rows."""

    @property
    @abstractmethod
    def squares(self) -> float:
        """The squared error of one constant."""

    def error(self, lam: Floats) -> float:
        """The squared error of the training rows at ``λ``."""
        c, b, A = self.curve
        return float(c + 2 * b @ lam + lam @ A @ lam)

    def cap(self, way: Floats) -> tuple[float, float]:
        """The ``x`` between which ``x·way`` errs no more than one constant."""
        c, b, A = self.curve
        a, half = float(way @ A @ way), float(b @ way)
        if not a > 0:
            return 0.0, 0.0
        root = np.sqrt(max(half * half - a * (c - self.squares), 0.0))
        return float((-half - root) / a), float((-half + root) / a)


@dataclass(frozen=True)
class Line(Curved):
    """``W(λ) = W₀ − λ D``, and how it is counted."""

    problem: Engine
    fitter: Fitter  # with the penalties of y
    W0: Floats  # (k or k + 1, n + 1)
    D: Floats  # (r, k or k + 1, n + 1)
    left_out: Counted | None  # None where rows cannot be left out
    trained: Counted
    rows: Ints | None  # the sorted rows that can be left out; None if all can
    alone: int  # rows that are the only one of their task

    def counted(self, count: str) -> Counted:
        """The predictions to count: left out, or of training rows if that is asked for.

        Training rows are counted as well where most rows cannot be left out.
        """
        left_out, trained = self.left_out, self.trained
        if count == "train" or left_out is None:
            return trained
        return trained if 2 * left_out.n_rows < trained.n_rows else left_out

    @property
    def in_memory(self) -> bool:
        """Whether the rows are."""
        return isinstance(self.problem, Problem)

    def coefficients(self, lam: Floats) -> Floats:
        """The coefficients at ``λ``."""
        found: Floats = self.W0 - np.tensordot(lam, self.D, 1)
        return found

    @property
    def squares(self) -> float:
        """The squared error of one constant."""
        return self.problem.y_squares

    @cached_property
    def curve(self) -> tuple[float, Floats, Floats]:
        """``c, b, A`` with the squared error ``c + 2 bᵀλ + λᵀAλ`` on training rows."""
        problem, own = self.problem, slice(self.problem.n_tasks)
        B0 = problem.target_moments
        left = B0 - bent(problem, self.W0[own])  # Xᵀ(y − m₀)
        b = np.array([(D[own] * left).sum() for D in self.D])
        sides = [bent(problem, D[own]) for D in self.D]
        A = np.array([[(D[own] * side).sum() for side in sides] for D in self.D])
        c = problem.y_squares - (self.W0[own] * (B0 + left)).sum()
        return max(float(c), 0.0), b, A


def bent(problem: Engine, W: Floats) -> Floats:
    """``XᵀX w`` of every task: (k, n + 1)."""
    out = np.empty_like(W)
    out[:, :-1] = np.matmul(problem.gram, W[:, :-1, None])[:, :, 0]
    out[:, -1] = problem.counts * W[:, -1]
    return out


@dataclass(frozen=True)
class TiltedFits:
    """How y and the directions are fitted, and what is asked of which rows.

    A given β serves both fitters, which are then one.
    """

    fitter: Fitter  # of y
    of_g: Fitter  # of directions
    demands: Sequence[Demand]
    count: str

    def line(self, directions: Sequence[Any], sums: Floats) -> Line:
        """Fit y and the directions, and predict every row with and without itself.

        ``sums`` (k, n + 1, 1 + r) are the moments of y and of the directions.
        """
        W0 = self.fitter.solve(sums[:, :, 0])
        D = np.zeros((len(directions), *W0.shape))
        for i in range(len(directions)):
            D[i] = self.of_g.solve(sums[:, :, i + 1])
        return self.through(W0, D, directions)

    def through(
        self,
        W0: Floats,
        D: Floats,
        directions: Sequence[Any],
        at: Floats | None = None,
    ) -> Line:
        """The line of these coefficients, ``W₀`` of y and ``D`` of the directions.

        ``at`` is where leverages are taken, ``W₀`` unless told; it matters where fits
        bend.
        """
        fitter, engine, K = self.fitter, self.fitter.problem, list[Floats]()
        single = engine.row_counts <= 1.0
        whole = isinstance(engine, Problem)
        if fitter.penalty.leverages and (whole or self.count == "loo"):
            K.append(fitter.inverse_blocks(W0 if at is None else at))
            if self.of_g is not fitter and len(D):
                K.append(self.of_g.inverse_blocks(D[0]))
        rows: Ints | None = None
        if isinstance(engine, ChunkedEngine):
            ((a, b),) = directions
            own = [each[: engine.n_tasks] for each in (W0, *D)]
            kept = engine.kept_line(own, K, np.array([b, a]), MOST_LEVERAGE)
            lines = [counted_elsewhere(engine, it, self.demands) for it in kept]
        else:
            M, H = fitter.rows.along([W0, *D], K)
            lines = [_trained(fitter.rows, W0, D, M, self.demands)]
            if K:
                ok = (H < MOST_LEVERAGE).all(axis=0)
                ok &= np.repeat(~single, fitter.rows.blocks.sizes)
                rows = None if ok.all() else np.flatnonzero(ok)
                H[:, ~ok] = 0.0
                lines.append(
                    _left_out(fitter.rows, M, H, directions, self.demands, rows)
                )
        trained, left_out = (*lines, None)[:2]
        assert trained is not None
        alone = int(np.count_nonzero(single))
        return Line(engine, fitter, W0, D, left_out, trained, rows, alone)


def _trained(
    problem: Problem, W0: Floats, D: Floats, M: Floats, demands: Sequence[Demand]
) -> Counted:
    """The training predictions, ``M`` in standard units."""

    def seen(lam: Floats) -> Floats:
        return problem.user_predict(W0 - np.tensordot(lam, D, 1))[problem.order]

    asked = tuple(each.of_rows(None, problem.y) for each in demands)
    return Counted(M[0], M[1:], asked, Units.of(problem), seen)


def _left_out(
    problem: Problem,
    M: Floats,
    H: Floats,
    directions: Sequence[Floats],
    demands: Sequence[Demand],
    rows: Ints | None,
) -> Counted | None:
    """The predictions of rows by the fits without them.

    ``M`` and ``H`` are predictions and leverages of y and of directions.  Rows that are
    alike are at their mean.  None where a group has no row that can be left out.
    """
    some = tuple(it.of_rows(rows, problem.y) for it in demands)
    if not all(it.groups.both for it in some):
        return None
    at = slice(None) if rows is None else rows
    q = _without(M[0], problem.y, H[0])[at]
    E = np.empty((len(directions), len(q)))
    for e, d, g in zip(E, M[1:], directions, strict=True):
        e[:] = _without(d, g, H[-1])[at]
    twins = problem.twins(problem.order[at])
    if twins is not None:
        s = None if problem.weights is None else problem.weights[at]
        for each in (q, *E):
            each[:] = _joined(each, twins, s)
    return Counted(q, E, some, Units.of(problem))


def _without(m: Floats, target: Floats, h: Floats) -> Floats:
    """``(m − h t)/(1 − h)``: the prediction of each row by the fit without it."""
    out: Floats = h * target
    np.subtract(m, out, out=out)
    out /= 1.0 - h
    return out


def _joined(values: Floats, twins: Ints, weights: Floats | None) -> Floats:
    """Rows that are alike, ids from 0 and −1 for rows without twins, at their mean."""
    at = np.flatnonzero(twins >= 0)
    ids, w = twins[at], None if weights is None else weights[at]
    own = values[at] if w is None else values[at] * w
    out = values.copy()
    out[at] = (np.bincount(ids, own) / np.bincount(ids, w))[ids]
    return out


@dataclass(frozen=True)
class FoundFit:
    """Where a search on a line ended: ``λ``, and what the demands came to there."""

    line: Line
    counted: Counted
    lam: Floats  # (r,)
    values: tuple[float, ...]  # exact, as they are counted
    inside: bool  # whether all are in their bands
    settled: bool = True
    trace: tuple[Step, ...] = ()

    @property
    def tilted(self) -> bool:
        """Whether this is another fit than the unconstrained one."""
        return bool(self.lam.any())

    @property
    def W(self) -> Floats:  # noqa: N802
        """The coefficients there."""
        return self.line.coefficients(self.lam)

    @cached_property
    def objective(self) -> float:
        """Half the squared error plus the penalty, in standard units."""
        fitter = self.line.fitter
        return fitter.objective(self.W, fitter.problem.target_moments)

    @property
    def gap(self) -> float:
        """How far the worst value is outside its band, as people read it."""
        pairs = zip(self.counted.demands, self.values, strict=True)
        return max(each.gap(value) for each, value in pairs)

    @property
    def shown(self) -> tuple[float, ...]:
        """The values as people read them."""
        pairs = zip(self.counted.demands, self.values, strict=True)
        return tuple(each.show(value) for each, value in pairs)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps taken; a line is one."""
        return self.trace or (Step(1, self.objective, self.shown[0], 0.0),)

    @property
    def status(self) -> Status:
        """How the search ended."""
        if not self.inside:
            return Status.INFEASIBLE
        if not self.tilted:
            return Status.INACTIVE
        return Status.SATISFIED if self.settled else Status.MAX_ITER

    def solution(self, penalty: Penalty) -> Solution:
        """The model found; ``penalty`` is that of y in the user's units."""
        left_out, aucs = self.line.left_out, self.shown
        pairs = all(each.constraint.pairs for each in self.counted.demands)
        if left_out is not None and (left_out is not self.counted or not pairs):
            aucs = tuple(left_out.aucs(self.lam))
        return package(
            self.line.fitter,
            self.W,
            self.status,
            penalty,
            self.steps,
            values=self.shown,
            multipliers=tuple(self.lam.tolist()),
            line=self.line,
            left_out_aucs=() if left_out is None else aucs,
            proxy_aucs=() if left_out is None else left_out.proxies(),
        )


def nearest(counted: Counted, cap: tuple[float, float]) -> Root:
    """The ``λ`` nearest to 0, of either sign, whose exact count is in the band.

    ``cap`` are the ends of the search.  Where no count between them is in the band, the
    smallest ``|λ|`` whose gap is nearly the least is returned.
    """
    band, start = counted.demand.band, counted.quick_value(0.0)
    if band.miss(start) == 0:
        free = _root_at(counted, 0.0)
        if free.inside:
            return free
        start = free.value
    sign, edge = (1.0, band.high) if band.miss(start) > 0 else (-1.0, band.low)
    if counted.linear:
        answer = start - counted.value(1.0)
        x = (start - edge + sign * ROUNDING) / answer if answer else np.inf
        return _root_at(counted, x) if cap[0] <= x <= cap[1] else _closest(counted, cap)
    # Counts from histograms lead to the edge; where they do not, exact ones may.
    for value in counted.ways:
        found = _edge(counted, cap, sign, start, value)
        if found is not None:
            return found
    return _closest(counted, cap)


def _edge(
    counted: Counted,
    cap: tuple[float, float],
    sign: float,
    start: float,
    value: Callable[[float], float],
) -> Root | None:
    """The place where a value that comes from above, or below, enters the band."""
    demand = counted.demand
    edge = demand.band.high if sign > 0 else demand.band.low

    @cache
    def beyond(x: float) -> float:
        """How far the value has to go on to the band; 0 or less beyond its edge."""
        return sign * (value(x) - edge)

    for places in _places(counted, cap, sign):
        bracket = first_beyond(beyond, places, sign * (start - edge))
        if bracket is None:
            continue
        at = close_in(beyond, bracket, partial(_enough, counted))
        # A little deeper, where histograms were off by chance.
        step = CLOSE * demand.unit * (at.b - at.a) / (at.fa - at.fb)
        for x in (at.b, at.b + step):
            found = _root_at(counted, x)
            if found.inside:
                return found
            if value == counted.value:
                break
    return None


def _root_at(counted: Counted, x: float) -> Root:
    """What an exact count says of a place."""
    value = counted.value(float(x))
    return Root(float(x), value, counted.demand.band.miss(value) == 0)


def _enough(counted: Counted, at: Bracket) -> bool:
    """Whether the end beyond the edge is near to it, or nothing more can be had."""
    demand = counted.demand
    narrow = abs(at.b - at.a) <= CLOSE * abs(at.b)
    if narrow and not counted.ties_hold:
        return True
    inside = at.fb >= demand.band.low - demand.band.high
    return bool(inside and (narrow or at.fb >= -2 * CLOSE * demand.unit))


def _places(
    counted: Counted, cap: tuple[float, float], sign: float
) -> Iterator[list[float]]:
    """Places between which few rows have the edge of the band, or nearly so.

    Those nearest to 0 come first, on either side.
    """
    rough = counted.fewer()
    demand = rough.demand
    edge = demand.band.high if sign > 0 else demand.band.low
    doubt = 0.0 if rough is counted else 2 * demand.unit / np.sqrt(len(rough.q))
    last = dict.fromkeys((True, False), (0.0, sign * (rough.value(0.0) - edge)))
    for x in _probes(cap):
        (a, fa), f = last[x > 0], sign * (rough.value(x) - edge)
        if f <= doubt and fa >= -doubt:
            chord = a + (x - a) * (fa + np.array([-doubt, doubt])) / max(fa - f, doubt)
            window = np.clip(chord, min(a, x), max(a, x)) if doubt else np.array([a])
            yield sorted({*window.tolist(), x} - {0.0}, key=abs)
        last[x > 0] = x, f


def _probes(cap: tuple[float, float]) -> list[float]:
    """Places on both sides of 0, those nearest to it first."""
    shares = np.arange(1, PROBES + 1)[:, None] / PROBES
    both = (shares * np.array(cap)).ravel()
    return sorted(both[both != 0].tolist(), key=abs)


def _closest(counted: Counted, cap: tuple[float, float]) -> Root:
    """The smallest ``|λ|`` whose gap is within 0.001 of the least that is met."""
    rough = counted.fewer()

    def gaps(rows: Counted, places: Floats) -> Floats:
        return np.array([rows.demand.gap(rows.quick_value(x)) for x in places])

    places = np.array([0.0, *_probes(cap)])
    found = gaps(rough, places)
    # The least may lie between two probes.
    wide = np.linspace(-1.0, 1.0, 2 * PROBES + 1) * np.abs(cap).max() / PROBES
    near = np.clip(places[found.argmin()] + wide, *cap)
    places, found = np.append(places, near), np.append(found, gaps(rough, near))
    if rough is not counted:
        places = places[found <= found.min() + 2 / np.sqrt(len(rough.q))]
        found = gaps(counted, places)
    good = places[found <= found.min() + CLOSEST]
    return _root_at(counted, good[np.abs(good).argmin()])
