"""Fits that also keep linear demands: ``Σ_i g_i m_i`` of each demand in its band."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, nnls

from rankfair.constraints import Linear
from rankfair.core.problem import Problem
from rankfair.penalties import Penalty
from rankfair.solvers.base import Fitter, Floats, Solution, Status, package

STEPS = 40
PATIENCE = 3  # steps that bring nothing before the search ends
FAR = 1e6  # multiples of a step after which a direction is given up
EXACT = 1e-13  # a miss, in standard deviations of y, that is rounding
CLOSE = 1e-9  # a miss so small that searches along a line meet little but rounding
PROBE = 1e-5  # of a standard deviation: how far targets move to measure a response
KEPT = 1e-6  # of a standard deviation: how far off a demand may end and be kept
SAME = 1e-9  # directions closer than this are one direction
SLACK = 1e-4  # how much a demand gives way where it contradicts others


class Push(NamedTuple):
    """Multipliers, the fit they make, its values, and how far from an optimum."""

    x: Floats
    W: Floats
    v: Floats
    off: float


def _moments(problem: Problem, demand: Linear) -> Floats:
    """The moments of a demand's direction, nil where they are but rounding."""
    assert problem.groups is not None
    A = problem.moments(demand.direction(problem.groups))
    squares = np.einsum("kff->f", problem.gram) / problem.counts.sum()
    A[np.abs(A) <= EXACT * np.sqrt(np.append(squares, 1.0))] = 0.0
    return A


@dataclass(frozen=True)
class Pinned(Fitter):
    """``fit(target)`` under demands whose values have to lie in ``[low, high]``.

    With ``A_s`` the moments of the direction of a demand, its value is ``⟨A_s, W⟩``
    less what is due, and the fit is an ordinary one to tilted targets,

        W = fit(B − Σ_s λ_s A_s),    λ_s = 0 or the value at an edge of its band,

    with as many multipliers as demands: one Newton step where the fit is linear.
    """

    demands: tuple[Linear, ...]
    A: Floats  # (r, k, n + 1)
    due: Floats  # (r,)
    low: Floats
    high: Floats

    @classmethod
    def around(cls, fitter: Fitter, demands: tuple[Linear, ...]) -> Pinned:
        """The same fit among those ``W`` that keep the demands."""
        bands = [each.allowed() for each in demands]
        shape = (len(demands), fitter.problem.n_tasks, fitter.problem.n_features + 1)
        moments = [_moments(fitter.rows, each) for each in demands]
        return cls(
            fitter.problem,
            fitter.penalty,
            fitter.factor,
            demands,
            np.reshape(moments, shape),
            np.array([each.due for each in demands]),
            np.array([band.low for band in bands]),
            np.array([band.high for band in bands]),
        )

    def values(self, W: Floats) -> Floats:
        """The value of each demand."""
        own = W[: self.problem.n_tasks]
        found: Floats = (self.A * own).sum(axis=(1, 2)) - self.due
        return found

    def miss(self, values: Floats) -> float:
        """How far the worst value is outside its band."""
        off = np.maximum(values - self.high, self.low - values)
        return float(off.max(initial=0.0))

    def solve(self, B: Floats, start: Floats | None = None) -> Floats:
        """``W`` from the moments of a target: Newton's method on the multipliers."""
        return self.multipliers(B, start)[1]

    def multipliers(
        self, B: Floats, start: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """``λ`` and the ``W`` it makes; the closest found if the bands are apart."""
        W0 = self.free_fit(B, start)

        def pushed(x: Floats) -> Push:
            # A sum of answers keeps digits that a fit to a sum would lose.
            W = (
                W0 - np.tensordot(x, self.answers, 1)
                if self.factor.linear
                else self.free_fit(B - np.tensordot(x, self.A, 1), start)
            )
            v = self.values(W)
            return Push(x, W, v, self._off(x, v))

        best = here = pushed(np.zeros(len(self.due)))
        K, stale = self.response, 0
        for _ in range(STEPS):
            if best.off <= EXACT or stale == PATIENCE:
                break
            aim = to_bands(K, here.v + K @ here.x, self.low, self.high)
            new = pushed(aim)
            if not self.factor.linear:
                if not new.off < here.off and here.off > CLOSE:
                    new = self._climbed(pushed, here, aim - here.x)
                if new.off > here.off / 4:
                    K = self._measured(B - np.tensordot(new.x, self.A, 1), new.W)
            stale = 0 if new.off < best.off else stale + 1
            here = new
            best = min(best, here, key=lambda push: push.off)
        return best.x, best.W

    def _off(self, x: Floats, v: Floats) -> float:
        """How far pushes and values are from an optimum.

        There a demand inside its band is not pushed, and one that is lies at the edge.
        """
        moved = v + x / float(self.problem.counts.sum())
        return float(np.linalg.norm(v - np.clip(moved, self.low, self.high)))

    def _climbed(
        self, pushed: Callable[[Floats], Push], here: Push, step: Floats
    ) -> Push:
        """Where the dual, which is concave, rises no further along the step.

        Where the fit does not answer to small pushes (a penalty holds it at 0) there is
        no Newton step, and the way is along the slope of the dual.
        """
        up = self._rise(here)
        if not up @ step > 0:
            step = up * float(self.problem.counts.sum())
        if not up @ step > 0:
            return here

        def rise(t: float) -> float:
            return float(step @ self._rise(pushed(here.x + t * step)))

        near, far = 0.0, 1.0
        while rise(far) > 0:
            if far > FAR:
                return here
            near, far = far, 4 * far
        t = brentq(rise, near, far, xtol=1e-14 * far, maxiter=100, disp=False)
        return pushed(here.x + t * step)

    def _rise(self, push: Push) -> Floats:
        """The slope of the dual in each multiplier."""
        edge = np.clip(push.v, self.low, self.high)
        edge = np.where(push.x > 0, self.high, np.where(push.x < 0, self.low, edge))
        rise: Floats = push.v - edge
        return rise

    def free_fit(self, B: Floats, start: Floats | None = None) -> Floats:
        """The fit without the demands."""
        return super().solve(B, start)

    @cached_property
    def answers(self) -> Floats:
        """``fit(A_s)`` of every demand, where the fit is linear."""
        return np.array([self.free_fit(a) for a in self.A])

    @cached_property
    def response(self) -> Floats:
        """``K``: how much a unit of each multiplier takes off each value."""
        return self._measured(self.problem.target_moments, None)

    def _measured(self, B: Floats, start: Floats | None) -> Floats:
        """``K`` around the fit to ``B``, by small differences unless it is linear."""
        if self.factor.linear:
            return np.array([self.values(W) + self.due for W in self.answers]).T
        size = PROBE * float(self.problem.counts.sum())
        here = self.values(self.free_fit(B, start))
        there = [self.values(self.free_fit(B - size * a, start)) for a in self.A]
        K = (here - np.array(there)).T / size
        K[np.abs(K) * float(self.problem.counts.sum()) < SAME] = 0.0
        return K


def solve_linear(
    problem: Problem, penalty: Penalty, demands: tuple[Linear, ...]
) -> Solution:
    """The least error that keeps the demands, or comes closest; as many multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.constraints import Mean
    >>> from rankfair.penalties import Ridge
    >>> from rankfair.core.problem import Problem
    >>> X, in_a = np.array([[0.0], [1.0], [2.0]]), np.array([True, True, False])
    >>> y, codes = np.array([1.0, 2.0, 6.0]), np.zeros(3, int)
    >>> problem = Problem.from_rows(X, y, codes, 1, in_a=in_a)
    >>> solve_linear(problem, Ridge(0.0), (Mean(0.0),)).coef.round(12).tolist()
    [[0.0]]
    """
    assert problem.groups is not None
    known = tuple(each.on(problem.y, problem.groups) for each in demands)
    fitter = Pinned.around(Fitter.of(problem, penalty), known)
    x, W = fitter.multipliers(problem.target_moments)
    values = fitter.values(W)
    status = Status.SATISFIED if x.any() else Status.INACTIVE
    if fitter.miss(values) > KEPT:
        status = Status.INFEASIBLE
    shown, multipliers = values.tolist(), x.tolist()
    return package(
        fitter, W, status, penalty=penalty, values=shown, multipliers=multipliers
    )


def repeated(A: Floats) -> NDArray[np.bool_]:
    """Which of the directions ``A`` (r, …) follow from those before them.

    Examples
    --------
    >>> import numpy as np
    >>> repeated(np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])).tolist()
    [False, True, True, False]
    """
    basis: list[Floats] = []
    found = np.zeros(len(A), bool)
    for s, row in enumerate(map(np.ravel, A)):
        left = row
        for _ in range(2):  # once more for what rounding left
            for unit in basis:
                left = left - (unit @ left) * unit
        size = float(np.linalg.norm(left))
        found[s] = not size > max(SAME * float(np.linalg.norm(row)), EXACT)
        if not found[s]:
            basis.append(left / size)
    return found


def to_bands(K: Floats, h: Floats, low: Floats, high: Floats) -> Floats:
    """``λ`` with ``v = h − Kλ`` inside ``[low, high]``: 0 inside, a push at an edge.

    With ``K = L Lᵀ`` and ``u = Lᵀλ`` it is the shortest ``u`` that brings ``h − L u``
    inside, a problem of nonnegative least squares (Lawson and Hanson 1974, ch. 23).
    Demands that repeat each other share the push; those that contradict each other
    are missed by as little as can be.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    >>> to_bands(np.eye(2), np.array([3.0, 0.5]), low, high).round(12).tolist()
    [2.0, 0.0]
    """
    push = np.where(low == high, np.inf, 0.0)
    if not np.isinf(push).all():
        push += _signs(K, h, low, high)
    held = push != 0
    edge = np.where(push > 0, high, low)
    x = np.zeros(len(h))
    within = K[np.ix_(held, held)]
    x[held] = np.linalg.lstsq(within, (h - edge)[held], SAME)[0]
    return x


def _signs(K: Floats, h: Floats, low: Floats, high: Floats) -> Floats:
    """Which values are held at an edge: 1 the upper, −1 the lower, 0 neither."""
    out = float(np.maximum(h - high, low - h).max())
    if out <= 0:
        return np.zeros(len(h))
    sizes, Q = np.linalg.eigh(K / (np.abs(K).max() or 1.0))
    L = Q * np.sqrt(np.where(sizes > SAME, sizes, 0.0))
    g = np.concatenate((h - high, low - h)) / out
    for slack in (0.0, SLACK):  # some, where no push keeps all demands
        soft = np.hstack((L, slack * np.eye(len(h))))
        E = np.vstack((np.vstack((soft, -soft)).T, g))
        z = nnls(E, np.eye(len(E))[-1], maxiter=100 * len(g))[0]
        if 1 - g @ z > 1e-3 * SLACK**2:
            break
    signs: Floats = np.sign(z[: len(h)] - z[len(h) :])
    return signs
