"""The fair fits of all ε lie on one straight line.

With a quadratic penalty ``fit(y − λ g) = W₀ − λ D``: two ordinary regressions, of y
and of the direction g, and one number to look for.  Counted as if left out, the
predictions are a line as well:

    m(λ) = m₀ − λ d,    h = leverage,    q(λ) = (m₀ − h y)/(1 − h) − λ (d − h g)/(1 − h)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rankfair.constraints import Band, Constraint, Rank
from rankfair.core.blocks import Floats, Ints
from rankfair.core.linear import rounded
from rankfair.core.problem import Groups, Part, Problem
from rankfair.engines import Engine
from rankfair.penalties import Penalty
from rankfair.solvers.base import Fitter, Solution, Status, Step, package
from rankfair.solvers.roots import Bracket, close_in

TIED = 2.0**-40  # of a standard deviation of y: predictions this close are ties
MOST_LEVERAGE = 0.999  # rows above it cannot be left out
FEW_ROWS = 1 << 14  # rows that are sorted as fast as they are binned
ROUGH_ROWS = 1 << 12  # rows that the first look along the line is taken on
PROBES = 16  # of that look, on either side of 0
COARSE = 1e-3  # of a shown value: quick counts that are further off are not used
CLOSE = 1e-7  # of a shown value, or a share of λ: how near to the edge a search ends
CLOSEST = 1e-3  # of a shown value: gaps this much above the least count as least


@dataclass(frozen=True)
class Demand:
    """A constraint between two groups of the sorted rows.

    Rows of neither group weigh nothing in ``groups``.
    """

    constraint: Constraint
    groups: Groups

    def direction(self) -> Floats:
        """``g`` of every row, per unit of weight, in units of the mean direction."""
        total = self.groups.total_a + self.groups.total_b
        unknown = np.zeros(len(self.groups.in_a))
        g = self.constraint.start(self.groups)(unknown, self.groups)
        return self.groups.of_known(g) * total

    def levels(self) -> tuple[float, float]:
        """The direction of every row of A, and of B, where that is all there is."""
        a, b = self.groups.total_a, self.groups.total_b
        both = Part(np.array([True, False]), None, a, b, 1)
        of_a, of_b = self.constraint.start(both)(np.zeros(2), both) * (a + b)
        return float(of_a), float(of_b)

    def of_rows(self, rows: Ints | None, y: Floats) -> Demand:
        """The same between some rows, and what is due to them."""
        if rows is None:
            return Demand(self.constraint.on(y, self.groups), self.groups)
        groups = self.groups.take(rows)
        return Demand(self.constraint.on(y[rows], groups), groups)


@dataclass(frozen=True)
class Units:
    """What predictions in standard units are to the user."""

    unit: float = 1.0
    centre: float = 0.0
    resolution: float = TIED

    def of_user(self, m: Floats) -> Floats:
        """Predictions as the user sees them, ties decided."""
        seen = m + self.centre
        seen *= self.unit
        return rounded(seen, self.resolution)


class Along(ABC):
    """The value of one demand along a line, exactly and quickly."""

    demands: tuple[Demand, ...]

    @abstractmethod
    def value(self, x: float) -> float:
        """The exact value at one ``λ``."""

    def values(self, lam: Floats) -> list[float]:
        """The exact value of every demand."""
        return [self.value(float(lam[0]))]

    def at(self, lam: Floats) -> Floats:
        """The predictions at ``λ`` in the user's units, where they are in memory."""
        raise NotImplementedError

    @abstractmethod
    def nearest(self, cap: tuple[float, float]) -> Landing:
        """The ``λ`` within ``cap`` nearest to 0 whose value is in the band."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows are counted."""

    @abstractmethod
    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of every demand, whatever its constraint."""

    @abstractmethod
    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups of every demand."""

    @cached_property
    def band(self) -> Band:
        """The values allowed."""
        (demand,) = self.demands
        return demand.constraint.band(demand.groups)

    @cached_property
    def unit(self) -> float:
        """How much of the value is one unit as people read it."""
        (demand,) = self.demands
        show = demand.constraint.show
        return 1.0 / abs(show(1.0, demand.groups) - show(0.0, demand.groups))

    def gap(self, x: float) -> float:
        """How far the value is outside the band, as people read it."""
        return self.band.miss(self.value(x)) / self.unit

    def beyond(self, x: float, sign: float) -> float:
        """How far the value has to go on to the band; 0 or less beyond its edge."""
        return sign * (self.value(x) - (self.band.high if sign > 0 else self.band.low))


@dataclass(frozen=True)
class Counted(Along):
    """Predictions ``q − E λ`` of the rows that are counted, in standard units.

    ``seen`` gives those that the user will see, where they are made in another way.
    """

    q: Floats  # (M,)
    E: Floats  # (r, M)
    demands: tuple[Demand, ...]  # of these rows
    units: Units
    seen: Callable[[Floats], Floats] | None = None

    def at(self, lam: Floats) -> Floats:
        """The predictions at ``λ`` in the user's units, ties decided."""
        if self.seen is not None:
            return self.seen(lam)
        return self.units.of_user(self.standard(lam))

    def values(self, lam: Floats) -> list[float]:
        """The exact value of every demand, those of one constraint together."""
        m, unit = self.at(lam), self.units.unit
        found: dict[int, float] = {}
        for constraint, places in self._by_constraint:
            several = [self.demands[i].groups for i in places]
            counts = (
                constraint.values(m, several, unit)
                if len(several) > 1
                else [constraint.value(m, several[0], unit)]
            )
            found.update(zip(places, counts, strict=True))
        return [found[i] for i in range(len(self.demands))]

    @cached_property
    def _by_constraint(self) -> list[tuple[Constraint, list[int]]]:
        """Each constraint and the places of its demands."""
        places: dict[int, list[int]] = {}
        for i, demand in enumerate(self.demands):
            places.setdefault(id(demand.constraint), []).append(i)
        return [(self.demands[some[0]].constraint, some) for some in places.values()]

    def standard(self, lam: Floats) -> Floats:
        """The predictions at ``λ`` in standard units."""
        found: Floats = lam @ self.E
        return np.subtract(self.q, found, out=found)

    @property
    def n_rows(self) -> int:
        """How many rows are counted."""
        return len(self.q)

    @property
    def ties_hold(self) -> bool:
        """Whether rows that tie here tie among new rows, too."""
        return self.seen is not None

    # Of one demand:

    @property
    def binned(self) -> bool:
        """Whether rows are so many that quick counts are worth while."""
        return len(self.q) > FEW_ROWS

    def value(self, x: float) -> float:
        """The exact value at one ``λ``."""
        return self.values(np.array([x]))[0]

    def quick_value(self, x: float) -> float:
        """The value from histograms, or the exact one where these cannot tell."""
        if not self.binned:
            return self.value(x)
        if x not in self._quick:
            (demand,) = self.demands
            m = self.standard(np.array([x]))
            value, off = demand.constraint.estimate(m, demand.groups)
            if off > COARSE * self.unit:
                value = demand.constraint.value(m, demand.groups)
            self._quick[x] = value
        return self._quick[x]

    @cached_property
    def _quick(self) -> dict[float, float]:
        return {}

    def nearest(self, cap: tuple[float, float]) -> Landing:
        """The ``λ`` within ``cap`` nearest to 0 whose value is in the band."""
        return nearest(self, cap)

    # As people read them:

    def aucs(self, lam: Floats) -> list[float]:
        """The AUC of every demand, whatever its constraint."""
        m, rank = self.at(lam), Rank()
        return [
            rank.show(rank.value(m, each.groups), each.groups) for each in self.demands
        ]

    def proxies(self) -> list[float]:
        """How well ``e`` ranks the groups of every demand."""
        rank = Rank()
        return [
            rank.show(rank.estimate(e, each.groups)[0], each.groups)
            for each, e in zip(self.demands, self.E, strict=True)
        ]

    def fewer(self) -> Counted:
        """Some of the rows, for a rough look."""
        step = len(self.q) // ROUGH_ROWS
        if step < 2:
            return self
        rows = np.arange(step // 2, len(self.q), step)
        demands = tuple(
            Demand(each.constraint, each.groups.take(rows)) for each in self.demands
        )
        if not all(d.groups.total_a > 0 and d.groups.total_b > 0 for d in demands):
            return self
        return Counted(self.q[rows], self.E[:, rows], demands, Units())


class Curved(ABC):
    """A line of fits whose squared error on training rows is known."""

    trained: Along

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
    left_out: Along | None  # None where rows cannot be left out
    trained: Along
    rows: Ints | None  # the sorted rows that can be left out; None if all can
    alone: int  # rows that are the only one of their task

    def counted(self, count: str) -> Along:
        """The predictions to count: left out, or of training rows if that is asked for.

        Training rows are counted as well where most rows cannot be left out.
        """
        left_out, trained = self.left_out, self.trained
        if count == "train" or left_out is None:
            return trained
        if 2 * left_out.n_rows < trained.n_rows:
            return trained
        return left_out

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

        def bent(W: Floats) -> Floats:
            out = np.empty((problem.n_tasks, problem.n_features + 1))
            out[:, :-1] = np.matmul(problem.gram, W[own, :-1, None])[:, :, 0]
            out[:, -1] = problem.counts * W[own, -1]
            return out

        B0 = problem.target_moments
        left = B0 - bent(self.W0)  # Xᵀ(y − m₀)
        b = np.array([(D[own] * left).sum() for D in self.D])
        sides = [bent(D) for D in self.D]
        A = np.array([[(D[own] * side).sum() for side in sides] for D in self.D])
        c = problem.y_squares - (self.W0[own] * (B0 + left)).sum()
        return max(float(c), 0.0), b, A


def line_of(
    fitter: Fitter,
    of_g: Fitter,
    W0: Floats,
    D: Floats,
    demands: Sequence[Demand],
    directions: Sequence[Floats],
    at: Floats | None = None,
) -> Line:
    """The line of these coefficients: ``W₀`` fits y, ``D`` the directions.

    ``at`` is where leverages are taken, ``W₀`` unless told; it matters where fits bend.
    """
    problem = fitter.rows
    K = []
    if fitter.penalty.leverages:
        K = [fitter.inverse_blocks(W0 if at is None else at)]
        if of_g is not fitter and len(D):
            K.append(of_g.inverse_blocks(D[0]))
    M, H = problem.along([W0, *D], K)
    m0, d = M[0], M[1:]
    units = Units(problem.y_unit, problem.y_centre, problem.resolution)

    def seen(lam: Floats) -> Floats:
        return problem.user_predict(W0 - np.tensordot(lam, D, 1))[problem.order]

    asked = tuple(each.of_rows(None, problem.y) for each in demands)
    trained = Counted(m0, d, asked, units, seen)
    left_out, rows, alone = None, None, 0
    if K:
        h, h_g = H[0], H[-1]
        single = np.repeat(problem.row_counts <= 1.0, problem.blocks.sizes)
        ok = (h < MOST_LEVERAGE) & (h_g < MOST_LEVERAGE) & ~single
        alone = int(np.count_nonzero(single))
        if not ok.all():
            rows = np.flatnonzero(ok)
            h, h_g = np.where(ok, h, 0.0), np.where(ok, h_g, 0.0)
        E = np.empty_like(d)
        for e, own, g in zip(E, d, directions, strict=True):
            e[:] = _without(own, g, h_g)
        q = _without(m0, problem.y, h)
        left_out = _left_out(problem, q, E, demands, rows, units)
    return Line(problem, fitter, W0, D, left_out, trained, rows, alone)


def _without(m: Floats, t: Floats, h: Floats) -> Floats:
    """``(m − h t) / (1 − h)``: the predictions by the fits without each row."""
    out = h * t
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
    if rows is not None:
        q, E = q[rows], E[:, rows]
    blocks = _twins_of(problem, rows)
    if blocks is not None:
        weights = None if problem.weights is None else problem.weights
        s = weights if weights is None or rows is None else weights[rows]
        q, E = _joined(q, blocks, s), np.array([_joined(e, blocks, s) for e in E])
    return Counted(q, E, some, units)


def _joined(values: Floats, blocks: Ints, weights: Floats | None) -> Floats:
    """Rows of one block, ids from 0 and −1 for rows without twins, at their mean."""
    at = np.flatnonzero(blocks >= 0)
    ids, w = blocks[at], None if weights is None else weights[at]
    own = values[at] if w is None else values[at] * w
    out = values.copy()
    out[at] = (np.bincount(ids, own) / np.bincount(ids, w))[ids]
    return out


def _twins_of(problem: Problem, some: Ints | None) -> Ints | None:
    """Ids of sorted rows that share task and predictors with others, else −1.

    Left out, such rows are ordered against their own targets; new rows like them have
    one prediction.  So they are counted at the mean of their left-out predictions.
    """
    blocks = problem.blocks
    ways = np.random.default_rng(0).uniform(1.0, 2.0, problem.n_features + 1)
    # einsum sums each row by itself: rows that are alike have the same key.
    keys = np.einsum("ij,j->i", blocks.Z, ways[:-1])
    if not any(
        _repeats(keys[rows].reshape(-1, size)) for rows, _, size in blocks.batches
    ):
        return None
    keys += ways[-1] * np.repeat(blocks.tasks, blocks.sizes)
    order = problem.order if some is None else problem.order[some]
    keys = keys if some is None else keys[some]
    ordered = np.sort(keys)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(repeated):
        return None
    rows = np.flatnonzero(np.isin(keys, repeated))
    rows = rows[np.lexsort((problem.codes[order[rows]], keys[rows]))]
    X, codes = problem.X[order[rows]], problem.codes[order[rows]]
    new = (codes[1:] != codes[:-1]) | (X[1:] != X[:-1]).any(axis=1)
    ids = np.full(len(keys), -1)
    ids[rows] = np.append(0, np.cumsum(new))
    return ids


def _repeats(keys: Floats) -> bool:
    """Whether a row of keys has one of them twice."""
    ordered = np.sort(keys, axis=1)
    return bool((ordered[:, 1:] == ordered[:, :-1]).any())


@dataclass(frozen=True)
class Landed:
    """Where a search on a line ended: ``λ``, and what the demands came to there."""

    line: Line
    counted: Along
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
    def shown(self) -> tuple[float, ...]:
        """The values as people read them."""
        return tuple(
            each.constraint.show(value, each.groups)
            for each, value in zip(self.counted.demands, self.values, strict=True)
        )

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
        left_out = self.line.left_out
        aucs = self.shown
        if left_out is None:
            aucs = ()
        elif left_out is not self.counted or not all(
            each.constraint.pairs for each in left_out.demands
        ):
            aucs = tuple(left_out.aucs(self.lam))
        return package(
            self.line.fitter,
            self.W,
            self.status,
            penalty=penalty,
            values=self.shown,
            multipliers=self.lam.tolist(),
            trace=self.steps,
            line=self.line,
            left_out_aucs=aucs,
            proxy_aucs=() if left_out is None else left_out.proxies(),
        )


class Landing(NamedTuple):
    """A place on the line, the value of the demand there, and whether it is inside."""

    x: float
    value: float
    inside: bool


def nearest(counted: Counted, cap: tuple[float, float]) -> Landing:
    """The ``λ`` nearest to 0, of either sign, whose exact count is in the band.

    ``cap`` are the ends of the search.  Where no count between them is in the band, the
    smallest ``|λ|`` whose gap is nearly the least is returned.
    """
    miss = counted.band.miss(counted.quick_value(0.0))
    if abs(miss) <= COARSE * counted.unit:  # too near for a quick count to tell
        start = counted.value(0.0)
        miss = counted.band.miss(start)
        if miss == 0:
            return Landing(0.0, start, True)
    sign = 1.0 if miss > 0 else -1.0
    rough = counted.fewer()
    doubt = 0.0 if rough is counted else 2 * rough.unit / np.sqrt(len(rough.q))
    last = dict.fromkeys((1, -1), 0.0)
    for x in probes(cap):
        side = 1 if x > 0 else -1
        if rough.beyond(x, sign) <= doubt:
            found = _land(counted, sign, last[side], x)
            if found is not None and found.inside:
                return found
        last[side] = x
    return _closest(counted, rough, cap)


def probes(cap: tuple[float, float]) -> Floats:
    """Places on both sides of 0, those nearest to it first."""
    shares = np.arange(1, PROBES + 1)[:, None] / PROBES
    both = (shares * np.array(cap)).ravel()
    both = both[both != 0]
    found: Floats = both[np.argsort(np.abs(both), kind="stable")]
    return found


def _land(counted: Counted, sign: float, a: float, b: float) -> Landing | None:
    """The end of the band between ``a``, outside, and ``b``, said to be beyond it."""

    edge = counted.band.high if sign > 0 else counted.band.low
    exact: dict[float, float] = {}

    def quick(x: float) -> float:
        return sign * (counted.quick_value(x) - edge)

    def sharp(x: float) -> float:
        exact[x] = counted.value(x)
        return sign * (exact[x] - edge)

    fa, fb = quick(a), quick(b)
    if fa <= 0 and a != 0:  # fewer rows told otherwise
        a, b, fa, fb = 0.0, a, quick(0.0), fa
    if not fa > 0 >= fb:
        return None
    bracket = Bracket(a, fa, b, fb)
    near = CLOSE * counted.unit
    if counted.binned:  # to the middle of where exact counts may end
        inside = Bracket(a, fa + near, b, fb + near)
        close_in(lambda x: quick(x) + near, inside, lambda at: at.fb >= -near / 2)
        bracket = inside
        bracket = _around(sharp, bracket, (fb - fa) / (b - a), near)
    width = counted.band.high - counted.band.low

    def enough(at: Bracket) -> bool:
        narrow = abs(at.b - at.a) <= CLOSE * abs(at.b)
        if narrow and not counted.ties_hold:
            return True
        return bool(at.fb >= -width and (at.fb >= -2 * near or narrow))

    close_in(sharp, bracket, enough)
    x = float(bracket.b)
    value = exact[x] if x in exact else counted.value(x)
    return Landing(x, value, counted.band.miss(value) == 0)


def _around(
    f: Callable[[float], float], guess: Bracket, slope: float, near: float
) -> Bracket:
    """A bracket by exact counts around the place that quick ones found."""
    x = float(guess.b - guess.fb / slope)
    fx = f(x)
    ends = {fx > 0: (x, fx)}
    reach = 1.0
    while len(ends) < 2 and not -2 * near <= fx <= 0:
        x -= reach * (fx + near) / slope
        fx = f(x)
        ends[fx > 0] = (x, fx)
        reach *= 1.5
    if -2 * near <= fx <= 0:
        return Bracket(x, fx, x, fx)
    return Bracket(*ends[True], *ends[False])


def _closest(counted: Counted, rough: Counted, cap: tuple[float, float]) -> Landing:
    """The smallest ``|λ|`` whose gap is within 0.001 of the least that is met."""
    places = np.append(0.0, probes(cap))
    gaps = np.array([abs(rough.gap(x)) for x in places])
    best = float(places[gaps.argmin()])
    wide = max(np.abs(cap)) / PROBES
    for _ in range(10):  # the least may lie between two probes
        near = best + wide * np.array([0.0, -0.5, 0.5])
        near = np.clip(near, *cap)
        best = float(near[np.argmin([abs(rough.gap(x)) for x in near])])
        wide /= 2
    places, gaps = np.append(places, best), np.append(gaps, abs(rough.gap(best)))
    if rough is not counted:
        places = places[gaps <= gaps.min() + 2 / np.sqrt(len(rough.q))]
        gaps = np.array([abs(counted.gap(x)) for x in places])
    good = np.flatnonzero(gaps <= gaps.min() + CLOSEST)
    x = float(places[good[np.abs(places[good]).argmin()]])
    value = counted.value(x)
    return Landing(x, value, counted.band.miss(value) == 0)
