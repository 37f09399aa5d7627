"""The fair fits of all ε lie on one straight line.

With a quadratic penalty ``fit(y − λ g) = W₀ − λ D``: two ordinary regressions, of y
and of the direction g, and one number to look for.  Counted as if left out, the
predictions are a line as well:

    m(λ) = m₀ − λ d,    h = leverage,    q(λ) = (m₀ − h y)/(1 − h) − λ (d − h g)/(1 − h)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from rankfair.solvers.roots import CLOSE, CLOSEST, Bracket, Root, close_in
from rankfair.solvers.streamed import FewPasses, Streamed, counted_elsewhere

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


def make_line(
    fitter: Fitter,
    of_g: Fitter,
    demands: Sequence[Demand],
    directions: Sequence[Any],
    sums: Floats,
    count: str = "loo",
) -> Line:
    """Fit y and the directions, and predict every row with and without itself.

    ``sums`` (k, n + 1, 1 + r) are the moments of y and of the directions.
    """
    W0 = fitter.solve(sums[:, :, 0])
    D = np.zeros((len(directions), *W0.shape))
    for i in range(len(directions)):
        D[i] = of_g.solve(sums[:, :, i + 1])
    return line_through(fitter, of_g, W0, D, demands, directions, count)


def line_through(
    fitter: Fitter,
    of_g: Fitter,
    W0: Floats,
    D: Floats,
    demands: Sequence[Demand],
    directions: Sequence[Any],
    count: str = "loo",
    at: Floats | None = None,
) -> Line:
    """The line of these coefficients, ``W₀`` of y and ``D`` of the directions.

    ``at`` is where leverages are taken, ``W₀`` unless told; it matters where fits bend.
    """
    engine, K = fitter.problem, list[Floats]()  # of y and, if it differs, of g
    alone = int(np.count_nonzero(engine.row_counts <= 1.0))
    if fitter.penalty.leverages and (count == "loo" or isinstance(engine, Problem)):
        K.append(fitter.inverse_blocks(W0 if at is None else at))
        if of_g is not fitter and len(D):
            K.append(of_g.inverse_blocks(D[0]))
    if isinstance(engine, ChunkedEngine):
        ((a, b),) = directions
        own = [each[: engine.n_tasks] for each in (W0, *D)]
        kept = engine.kept_line(own, K, np.array([b, a]), MOST_LEVERAGE)
        trained, *others = (counted_elsewhere(engine, it, demands) for it in kept)
        assert trained is not None
        left_out = others[0] if others else None
        return Line(engine, fitter, W0, D, left_out, trained, None, alone)
    problem = fitter.rows
    M, H = problem.along([W0, *D], K)
    m, d = M[0], M[1:]
    units = Units(problem.y_unit, problem.y_centre, problem.resolution)

    def seen(lam: Floats) -> Floats:
        return problem.user_predict(W0 - np.tensordot(lam, D, 1))[problem.order]

    asked = tuple(each.of_rows(None, problem.y) for each in demands)
    trained = Counted(m, d, asked, units, seen)
    if not K:
        return Line(problem, fitter, W0, D, None, trained, None, alone)
    h, h_g = H[0], H[-1]
    ok = (h < MOST_LEVERAGE) & (h_g < MOST_LEVERAGE)
    ok &= np.repeat(problem.row_counts > 1.0, problem.blocks.sizes)
    rows = None if ok.all() else np.flatnonzero(ok)
    if rows is not None:
        h, h_g = np.where(ok, h, 0.0), np.where(ok, h_g, 0.0)
    E = np.empty_like(d)
    for e, own_d, g in zip(E, d, directions, strict=True):
        e[:] = _without(own_d, g, h_g)
    left_out = _left_out(problem, _without(m, problem.y, h), E, demands, rows, units)
    return Line(problem, fitter, W0, D, left_out, trained, rows, alone)


def _without(m: Floats, target: Floats, h: Floats) -> Floats:
    """``(m − h t)/(1 − h)``: the prediction of each row by the fit without it."""
    out: Floats = h * target
    np.subtract(m, out, out=out)
    out /= 1.0 - h
    return out


def _left_out(
    problem: Problem,
    q: Floats,
    E: Floats,
    demands: Sequence[Demand],
    rows: Ints | None,
    units: Units,
) -> Counted | None:
    """The rows that can be left out, or nothing where a group has none of them."""
    some = tuple(each.of_rows(rows, problem.y) for each in demands)
    if not all(it.groups.total_a > 0 and it.groups.total_b > 0 for it in some):
        return None
    at = slice(None) if rows is None else rows
    q, E = q[at], E[:, at]
    twins = problem.twins(problem.order[at])
    if twins is not None:
        s = None if problem.weights is None else problem.weights[at]
        q, E = _joined(q, twins, s), np.array([_joined(e, twins, s) for e in E])
    return Counted(q, E.reshape(len(demands), len(q)), some, units)


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
    demand = counted.demand
    if isinstance(counted, Streamed) and demand.constraint.pairs:
        guess = nearest(counted.some, cap).x
        return FewPasses(counted, cap, _probes(cap)).root(guess)
    start = counted.sure_value(0.0)
    miss = demand.band.miss(start)
    if miss == 0:
        return _root_at(counted, 0.0)
    sign, edge = (1.0, demand.band.high) if miss > 0 else (-1.0, demand.band.low)

    def beyond(x: float) -> float:
        """How far the value has to go on to the band; 0 or less beyond its edge."""
        return sign * (counted.sure_value(x) - edge)

    if demand.constraint.linear:
        answer = start - counted.value(1.0)
        x = (start - edge + sign * ROUNDING) / answer if answer else np.inf
        return _root_at(counted, x) if cap[0] <= x <= cap[1] else _closest(counted, cap)
    near, width = CLOSE * demand.unit, demand.band.high - demand.band.low

    def enough(at: Bracket) -> bool:
        narrow = abs(at.b - at.a) <= CLOSE * abs(at.b)
        if narrow and not counted.ties_hold:
            return True
        return bool(at.fb >= -width and (at.fb >= -2 * near or narrow))

    for a, b in _brackets(counted, cap, sign):
        fa, fb = beyond(a), beyond(b)
        if fa <= 0 and a != 0:  # fewer rows told otherwise
            a, b, fa, fb = 0.0, a, beyond(0.0), fa
        if fa > 0 >= fb:
            bracket = Bracket(a, fa, b, fb)
            found = _root_at(counted, close_in(beyond, bracket, enough).b)
            if found.inside:
                return found
    return _closest(counted, cap)


def _root_at(counted: Counted, x: float) -> Root:
    """What an exact count says of a place."""
    value = counted.value(float(x))
    return Root(float(x), value, counted.demand.band.miss(value) == 0)


def _brackets(
    counted: Counted, cap: tuple[float, float], sign: float
) -> Iterator[tuple[float, float]]:
    """Pairs of places, outside and beyond the edge of the band by a count of few rows.

    Those nearest to 0 come first, on either side.
    """
    rough = counted.fewer()
    band, unit = rough.demand.band, rough.demand.unit
    edge = band.high if sign > 0 else band.low
    doubt = 0.0 if rough is counted else 2 * unit / np.sqrt(len(rough.q))
    last = dict.fromkeys((True, False), 0.0)
    for x in _probes(cap):
        if sign * (rough.value(x) - edge) <= doubt:
            yield last[x > 0], x
        last[x > 0] = x


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
