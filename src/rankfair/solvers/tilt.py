"""A fair fit is an ordinary fit to tilted targets: ``W = fit(y − λ g)``.

With a quadratic penalty all fits lie on one straight line, ``W₀ − λ D``: two ordinary
regressions, of y and of the direction g, and one number to look for.  Counted as if
left out, the predictions are a line as well:

    m(λ) = m₀ − λ d,    h = leverage,    q(λ) = (m₀ − h y)/(1 − h) − λ (d − h g)/(1 − h)

Other penalties are fitted again at every ``λ``, on lines through neighbouring fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rankfair.core.blocks import Floats, Ints
from rankfair.core.problem import Direction, Problem
from rankfair.engines.base import Engine
from rankfair.engines.chunked import ChunkedEngine
from rankfair.penalties.base import Penalty
from rankfair.solvers.base import (
    Fitter,
    Line,
    OnStep,
    Request,
    Solution,
    Status,
    Step,
    noted_in,
    package,
    relative,
    training_rows,
)
from rankfair.solvers.counted import (
    CLOSEST,
    Counted,
    Curve,
    Demand,
    Place,
    Units,
    counted_elsewhere,
)
from rankfair.solvers.joint import JointSearch, level, shared, solve_joint
from rankfair.solvers.line import nearest

MOST_LEVERAGE = 0.999  # rows above it cannot be left out

Find = Callable[[Curve, Counted], Place]
Blocks = Callable[[slice], Floats]  # of the inverse Hessian, of some tasks
Lines = tuple[Counted, Counted | None, Ints | None]  # the last three parts of a `Line`


@dataclass(frozen=True)
class Tilt:
    """Look for the ``λ`` nearest to 0 with every demand in its band.

    ``count`` says which predictions are counted: those of each row by the fit without
    it, ``"loo"``, or of training rows, ``"train"``.  ``direction`` is ``"mean"``, or
    ``"density"`` for rounds in which ``g`` turns towards the gradient of AUC.

    Examples
    --------
    >>> Tilt(count="train").direction
    'mean'
    """

    count: str = "loo"
    direction: str = "mean"
    max_iter: int = 50
    tol: float = 1e-4
    given: ClassVar = ("count", "direction", "max_iter", "tol")

    def solve(
        self,
        problem: Engine,
        request: Request,
        demands: Sequence[Demand],
        on_step: OnStep | None = None,
    ) -> Solution:
        """Fit y and each direction once, then count along the line between them."""
        fits = TiltedFits.of(problem, request, demands, self.count)
        tried = [fits]
        if len(demands) > 1 and shared(demands).any():
            own = density_directions(fits)
            tried = [fits.along(own)]
            if fits.of_g is not fits.fitter:  # other directions, other penalties
                tried += [TiltedFits.of(problem, request, demands, self.count, own)]
        ways = [search_along(each, on_step) for each in tried]
        found = min(ways, key=lambda it: (not it.place.inside, it.objective))
        if self.direction == "density" and found.tilted:
            found = density_rounds(fits, found, self.tol, on_step)
        elif on_step is not None and not found.trace:
            on_step(found.steps[0])
        return found.solution()


def solve_linear(
    problem: Problem, penalty: Penalty, demands: Sequence[Demand]
) -> Solution:
    """The least error with every linear value at 0, or as near as can be.

    Unlike `Tilt` it has no cap: it may err more than one constant.
    """
    fits = TiltedFits.of(problem, Request(penalty, fixed=True), demands, "train")
    return search_along(fits, find=level).solution()


def unconstrained(problem: Engine, request: Request) -> Solution:
    """The fit with nothing asked of it, and its left-out predictions."""
    fits = TiltedFits.of(problem, request, (), "loo")
    if isinstance(problem, Problem):
        line = fits.line()
        return package(fits.fitter, line.W0, Status.INACTIVE, line=line)
    W = fits.fitter.solve(problem.target_moments)
    return package(fits.fitter, W, Status.INACTIVE)


@dataclass(frozen=True)
class TiltedFits:
    """How y and the directions are fitted, and what is asked of which rows.

    A given β serves both fitters, which are then one.
    """

    fitter: Fitter  # of y
    of_g: Fitter  # of directions
    demands: Sequence[Demand]
    count: str
    directions: Sequence[Any]  # of every row; on streams, of all of A and of B
    sums: Floats  # (k, n + 1, 1 + r), the moments of y and of the directions

    @classmethod
    def of(
        cls,
        problem: Engine,
        request: Request,
        demands: Sequence[Demand],
        count: str,
        directions: Sequence[Any] | None = None,
    ) -> TiltedFits:
        """Choose the penalties; the directions are those of the demands unless told."""
        if directions is None:
            whole = isinstance(problem, Problem)
            directions = [
                it.direction()
                if whole and it.groups is not problem.groups
                else it.levels()
                for it in demands
            ]
        B, squares = problem.sums(directions)
        of_y, of_g = request.of_targets(problem, B, squares)
        fitter = Fitter.of(problem, of_y)
        fitter_g = fitter if of_g is of_y else Fitter.of(problem, of_g)
        return cls(fitter, fitter_g, demands, count, directions, B)

    def along(self, directions: Sequence[Any]) -> TiltedFits:
        """The same penalties along other directions."""
        sums = self.fitter.problem.sums(directions)[0]
        return replace(self, directions=directions, sums=sums)

    def line(self) -> Line:
        """Fit y and the directions, and predict every row with and without itself."""
        W0 = self.fitter.solve(self.sums[:, :, 0])
        D = np.zeros((len(self.directions), *W0.shape))
        for i in range(len(D)):
            D[i] = self.of_g.solve(self.sums[:, :, i + 1])
        return self.through(W0, D, W0)

    def through(self, W0: Floats, D: Floats, at: Floats) -> Line:
        """The line of these coefficients; leverages are taken ``at`` others.

        That matters where fits bend.
        """
        fitter, engine, K = self.fitter, self.fitter.problem, list[Blocks]()
        elsewhere = isinstance(engine, ChunkedEngine)
        if fitter.penalty.leverages and (self.count == "loo" or not elsewhere):
            K.append(fitter.blocks_at(at))
            if self.of_g is not fitter and len(D):
                K.append(self.of_g.blocks_at(D[0]))
        lines = self._elsewhere(W0, D, K) if elsewhere else self._lines_of(W0, D, K)
        return Line(fitter, W0, D, *lines)

    def _elsewhere(self, W0: Floats, D: Floats, K: Sequence[Blocks]) -> Lines:
        """What `_lines_of` makes, of rows in files or on a cluster."""
        engine = self.fitter.problem
        assert isinstance(engine, ChunkedEngine)
        ((a, b),) = self.directions
        own = [each[: engine.n_tasks] for each in (W0, *D)]
        every = [each(slice(0, engine.n_tasks)) for each in K]
        kept = engine.kept_line(own, every, np.array([b, a]), MOST_LEVERAGE)
        lines = [counted_elsewhere(engine, it, self.demands) for it in kept]
        assert lines[0] is not None
        return lines[0], lines[1] if K else None, None

    def _lines_of(self, W0: Floats, D: Floats, K: Sequence[Blocks]) -> Lines:
        """The predictions of training rows and, with ``K``, by the fits without them.

        Rows that are alike are at their mean.  None where a group has no row that can
        be left out.  The rows that can be are returned too, unless all can.
        """
        problem = self.fitter.rows
        M = np.empty((1 + len(D), len(problem.y)))
        Q = np.empty(M.shape if K else (1, 0))
        fine = np.repeat(problem.row_counts > 1.0, problem.blocks.sizes)

        def visit(rows: slice, m: Floats, h: Floats) -> None:
            M[:, rows] = m
            if not K:
                return
            ok = (h < MOST_LEVERAGE).all(axis=0)
            if not ok.all():
                fine[rows] &= ok
                h[:, ~ok] = 0.0
            for i, target in enumerate((problem.y, *self.directions)):
                own = h[-1 if i else 0]
                left = m[i] - own * _part(target, rows, problem)
                np.divide(left, 1.0 - own, out=Q[i, rows])

        problem.each_along([W0, *D], K, visit)
        trained = training_rows(problem, W0, D, M, self.demands)
        if not K:
            return trained, None, None
        rows = None if fine.all() else np.flatnonzero(fine)
        some = tuple(it.of_rows(rows, problem.y) for it in self.demands)
        if not all(it.groups.both for it in some):
            return trained, None, rows
        twins = problem.twins()
        if twins is not None:
            alike = np.flatnonzero((twins >= 0) & fine)
            ids, w = twins[alike], np.ones(len(alike))
            if problem.weights is not None:
                w = problem.weights[alike]
            for q in Q:
                own = np.bincount(ids, w * q[alike])[ids]
                q[alike] = own / np.bincount(ids, w)[ids]
        Q = Q if rows is None else Q[:, rows]
        return trained, Counted(Q[0], Q[1:], some, Units.of(problem)), rows


def _part(target: Direction, rows: slice, problem: Problem) -> Floats:
    """A target of some rows, whether told row by row or group by group."""
    if isinstance(target, np.ndarray):
        return target[rows]
    assert problem.groups is not None
    return np.where(problem.groups.in_a[rows], *target)


@dataclass(frozen=True)
class FoundFit:
    """Where a search on a line ended."""

    line: Line
    counted: Counted
    place: Place
    settled: bool = True
    trace: tuple[Step, ...] = ()

    @property
    def tilted(self) -> bool:
        """Whether this is another fit than the unconstrained one."""
        return bool(self.place.lam.any())

    @property
    def W(self) -> Floats:  # noqa: N802
        """The coefficients there."""
        return self.line.coefficients(self.place.lam)

    @cached_property
    def objective(self) -> float:
        """Half the squared error plus the penalty, in standard units."""
        return self.line.fitter.objective(self.W)

    @property
    def gap(self) -> float:
        """How far the worst value is outside its band, as people read it."""
        return max(self.counted.gaps(self.place.values))

    @property
    def shown(self) -> tuple[float, ...]:
        """The values as people read them."""
        return tuple(self.counted.shown(self.place.values))

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps taken; a line is one."""
        return self.trace or (Step(1, self.objective, self.shown[0], 0.0),)

    @property
    def status(self) -> Status:
        """How the search ended."""
        if not self.place.inside:
            return Status.INFEASIBLE
        if not self.tilted:
            return Status.INACTIVE
        return Status.SATISFIED if self.settled else Status.MAX_ITER

    def solution(self) -> Solution:
        """The model found."""
        left_out, aucs = self.line.left_out, self.shown
        pairs = all(each.constraint.pairs for each in self.counted.demands)
        if left_out is not None and (left_out is not self.counted or not pairs):
            aucs = tuple(left_out.aucs(self.place.lam))
        return package(
            self.line.fitter,
            self.W,
            self.status,
            self.steps,
            values=self.shown,
            multipliers=tuple(self.place.lam.tolist()),
            line=self.line,
            left_out_aucs=() if left_out is None else aucs,
            proxy_aucs=() if left_out is None else tuple(left_out.proxies()),
        )


def least_tilt(curve: Curve, counted: Counted) -> Place:
    """The ``λ`` nearest to 0 with every demand in its band, or the closest to it."""
    if len(counted.demands) == 1:
        return nearest(counted, curve.cap)
    return solve_joint(curve, counted)


def search_along(
    fits: TiltedFits, on_step: OnStep | None = None, find: Find = least_tilt
) -> FoundFit:
    """The fit found: on the line, or by refits where fits bend."""
    if not fits.fitter.penalty.quadratic:
        return search_refits(fits, on_step, find)
    line = fits.line()
    counted = line.counted(fits.count)
    return FoundFit(line, counted, find(line.curve, counted))


# Penalties whose fits bend


def search_refits(fits: TiltedFits, on_step: OnStep | None, find: Find) -> FoundFit:
    """Search the line through neighbouring fits, refit there, and repeat."""
    trace: list[Step] = []
    bent = BentFits(fits, noted_in(trace, on_step))
    found = [bent.free()]
    if found[0].place.inside:
        return found[0]
    linear = found[0].counted.linear
    for _ in range(bent.most):
        last = found[-1]
        lam = find(last.line.curve, last.counted).lam
        step = np.abs(lam - last.place.lam).max() / max(np.abs(lam).max(), 1e-300)
        near = step <= bent.narrow and last.place.inside and not linear
        if step <= bent.same or near:
            break
        found.append(bent.after(last, lam))
    if find is least_tilt:  # which errs no more than one constant
        curves = [(it, it.line.curve) for it in found]
        found = [it for it, c in curves if c.error(it.place.lam) <= c.constant]
    met = [it for it in found if it.place.inside]
    least = min(it.gap for it in found)
    close = [it for it in found if it.gap <= least + CLOSEST]
    best = min(met or close, key=lambda it: (linear and it.gap, it.objective))
    return replace(best, trace=tuple(trace))


@dataclass(frozen=True)
class BentFits:
    """Fits to ``y − λ g`` of a penalty that is not quadratic, counted and told of."""

    fits: TiltedFits
    note: OnStep
    most: int = 12  # refits, after the first fits
    first: float = 0.05  # step of λ, between the free fit and its neighbours
    wider: int = 12  # times that a step is made four times as long
    narrow: float = 1e-4  # of λ: a step this short is none
    same: float = 1e-9  # of λ: the same of linear values

    def fit(self, lam: Floats, start: Floats | None = None) -> Floats:
        """``fit(y − λ g)``, from an earlier fit on."""
        return self.fits.fitter.solve(self.fits.sums @ np.append(1.0, -lam), start)

    def at(self, lam: Floats, W: Floats, D: Floats) -> FoundFit:
        """The fit ``W`` at ``λ``, on the line through it along ``D``."""
        line = self.fits.through(W + np.tensordot(lam, D, 1), D, W)
        counted = line.counted(self.fits.count)
        found = FoundFit(line, counted, counted.place(lam))
        self.note(Step(1, found.objective, found.shown[0], 0.0))
        return found

    def moved(self, W: Floats, lam: Floats, step: Floats) -> tuple[Floats, Floats]:
        """A step of ``λ`` away from the fit ``W``, and the fit there.

        A penalty may hold the fit where it is; the step is then made longer.
        """
        for _ in range(self.wider):
            new = self.fit(lam + step, W)
            if (new != W).any():
                break
            step = 4 * step
        return step, new

    def free(self) -> FoundFit:
        """The free fit, on the line through its neighbours."""
        none = np.zeros(len(self.fits.demands))
        W = self.fit(none)
        D = np.zeros((len(none), *W.shape))
        for s, way in enumerate(np.eye(len(none))):
            step, new = self.moved(W, none, self.first * way)
            D[s] = (W - new) / step[s]
        return self.at(none, W, D)

    def after(self, last: FoundFit, lam: Floats) -> FoundFit:
        """The fit at ``λ``; the line through it passes through the last one as well.

        Directions change as little as they must for that (Broyden).
        """
        start = last.place.lam
        step, W = self.moved(last.W, start, lam - start)
        D = last.line.D
        missed = last.W - np.tensordot(step, D, 1) - W
        D = D + np.multiply.outer(step / (step @ step), missed)
        return self.at(start + step, W, D)


# Directions of density: those of the gradient of a constraint, as the paper has it


def density_rounds(
    fits: TiltedFits,
    start: FoundFit,
    tol: float,
    on_step: OnStep | None = None,
    rounds: int = 12,
    share: float = 0.6,
) -> FoundFit:
    """Rounds of ``g ← (1 − c) g + c ∇value(m)``, ``c`` the share; the best is kept.

    The gradient of AUC lowers the error further at the same AUC, by bending
    distributions: mean gaps and KS distances grow.  It solves the paper's problem to
    the letter.
    """
    trace: list[Step] = []
    note = noted_in(trace, on_step)
    best, last, g = start, start, start.line.trained.demand.direction()
    for i in range(rounds):
        turned = (1.0 - share) * g + share * _gradient(last, g)
        residual = relative(turned - g, g)
        note(Step(i + 1, last.objective, last.shown[0], residual))
        settled = residual <= 10 * tol
        if settled or i + 1 == rounds:
            break
        g = turned
        last = search_along(fits.along([g]), on_step)
        best = min(best, last, key=lambda it: (not it.place.inside, it.objective))
    return replace(best, settled=settled, trace=tuple(trace))


def _gradient(at: FoundFit, g: Floats) -> Floats:
    """The gradient at the training predictions, as large as its part of ``g``."""
    problem = at.line.fitter.rows
    slope = at.line.trained.demand.steepest(problem.predict(at.W))
    s = 1.0 if problem.weights is None else problem.weights
    size = float((s * g * slope).sum()) / max(float((s * slope * slope).sum()), 1e-300)
    return size * slope


def density_directions(fits: TiltedFits) -> list[Floats]:
    """The directions of a second line, where constraints would share one.

    A counted constraint between the groups of a linear one needs a direction of its
    own: its slope at the fit where the linear ones are met and, if they allow it,
    means are level.
    """
    bent = BentFits(fits, lambda step: None)
    line = fits.line() if fits.fitter.penalty.quadratic else bent.free().line
    rows, joint = line.trained, JointSearch.of(line.curve, line.counted(fits.count))
    m = rows.standard(joint.T @ joint.start())
    return [
        each.steepest(m) if dense else each.direction()
        for each, dense in zip(rows.demands, shared(rows.demands), strict=True)
    ]
