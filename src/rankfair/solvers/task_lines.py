"""Straight lines of coefficients, one a task, and where each meets its band.

A task's value depends on its own coefficients alone.  So all tasks are searched at
once: a probe is one count of the tasks that are still open, each at its own place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints import Constraint
from rankfair.constraints.by_task import ByTask, in_every_task
from rankfair.core.blocks import Floats, Ints
from rankfair.core.by_task import Segments
from rankfair.core.linear import linear_predict, rounded
from rankfair.core.problem import Problem
from rankfair.penalties import Penalty
from rankfair.solvers.base import Fitter
from rankfair.solvers.line import TIED
from rankfair.solvers.roots import Bracket, close_in_all

Bools = NDArray[np.bool_]
Count = Callable[[Ints, Floats], Floats]  # some tasks, each at its own place

AHEAD = np.array([0.04, 0.16, 0.36, 0.64, 1.0])  # shares of the way to the cap
BEHIND = np.array([0.25, 1.0])  # the same on the side that as a rule leads away
SHORT = 1e-2  # a bracket this short, as a share of x, has nothing in it
NONE = 1e-12  # a correlation with the groups that is rounding
ON_EDGE = 1e-3  # of what is forgiven: a value on the edge of its band, but for rounding
STEPS = 8.0  # the most that a guess of a tilt is corrected by, either way


class Places(NamedTuple):
    """Where the search on every line ended."""

    x: Floats  # (k,), in the band, or the closest to it that was met
    inside: Bools
    values: Floats  # there


@dataclass(frozen=True)
class TaskLines:
    """``W_j − x_j D_j`` of every task, and what is asked of it.

    ``W = fit(y)`` and ``D = fit(h)``, ``h = ±n_j/n_group`` within every task: where all
    ``x`` are equal, this is the fit to ``y − x h``.
    """

    fitter: Fitter
    demands: ByTask
    B0: Floats  # (k, n + 1), the moments of y
    spread: Floats  # (k,), the squared error of one constant in each task
    W: Floats  # (k or k + 1, n + 1)
    D: Floats  # (k or k + 1, n + 1)

    @classmethod
    def of(
        cls, problem: Problem, penalty: Penalty, constraint: Constraint
    ) -> TaskLines:
        """Fit y, and how the fit answers where all tasks are tilted alike."""
        assert problem.groups is not None
        segments = Segments.of_blocks(problem.blocks, problem.groups)
        demands = in_every_task(constraint, segments, problem.y)
        h = demands.start * segments.each_row(problem.counts)
        B, squares = problem.sums([h])
        mean = B[:, -1, 0] / np.maximum(problem.counts, 1e-300)
        spread = np.maximum(squares[:, 0] - mean * B[:, -1, 0], 0.0)
        # Columns that do not tell the groups apart say nothing: this is rounding.
        inside = np.einsum("kff->kf", problem.gram) * squares[:, 1:]
        b = np.zeros(B.shape[:2])
        b[:, :-1] = np.where(B[:, :-1, 1] ** 2 > NONE**2 * inside, B[:, :-1, 1], 0.0)
        fitter, total = Fitter.of(problem, penalty), squares[:, 1].sum()
        guess = float(np.sqrt(spread.sum() / total)) if total > 0 else 0.0
        W, D = _fitted(fitter, B[:, :, 0], b, guess)
        return cls(fitter, demands, B[:, :, 0], spread, W, D)

    def at(self, x: Floats, on: Bools) -> Floats:
        """The coefficients at ``x``, with what tasks share at the mean of some."""
        counts = self.fitter.problem.counts * on
        mean = float(counts @ x) / max(float(counts.sum()), 1e-300)
        every = np.append(x, np.full(len(self.W) - len(x), mean))
        return self.W - every[:, None] * self.D

    @cached_property
    def constants(self) -> Floats:
        """Coefficients that predict the mean of each task: (k, n + 1)."""
        W = np.zeros_like(self.B0)
        W[:, -1] = self.B0[:, -1] / np.maximum(self.fitter.problem.counts, 1e-300)
        return W

    def excess(self, W: Floats) -> Floats:
        """How much more each task errs, in squares, than with one constant: (k,)."""
        off = W[: len(self.B0)] - self.constants
        bent = self._bent(off)
        bent[:, :-1] -= 2.0 * self.B0[:, :-1]
        out: Floats = (off * bent).sum(axis=1)
        return out

    def search(self) -> Places:
        """The ``x`` nearest to 0, of either sign, whose values are in their bands.

        The predictions that the user will see have other last bits.  That matters
        where rows meet, and such tasks are searched again.
        """
        every = np.ones(len(self.B0), bool)
        found = self._nearest(self._quick, every)
        values = self._seen(np.flatnonzero(every), found.x)
        off = found.inside & ~self.demands.kept(values)
        if not off.any():
            return found._replace(values=values)
        again = self._nearest(self._seen, off)
        pairs = zip(again, found, strict=True)
        return Places(*(np.where(off, new, old) for new, old in pairs))

    def _some(self, places: Ints) -> tuple[ByTask, Ints | slice]:
        """The demands on some tasks, and their rows."""
        if len(places) == len(self.B0):
            return self.demands, slice(None)
        segments, rows = self.demands.segments.take(places)
        return self.demands.of_tasks(places, segments, rows), rows

    @cached_property
    def _rows(self) -> tuple[Floats, Floats]:
        """The predictions of ``W`` and of ``D``."""
        return self.fitter.rows.predict(self.W), self.fitter.rows.predict(self.D)

    def _quick(self, places: Ints, x: Floats) -> Floats:
        demands, rows = self._some(places)
        m, d = self._rows
        x = demands.segments.each_row(x)
        return demands.values(rounded(m[rows] - x * d[rows], TIED))

    def _seen(self, places: Ints, x: Floats) -> Floats:
        demands, rows = self._some(places)
        W = self.W.copy()
        W[places] -= x[:, None] * self.D[places]
        return demands.values(seen(self.fitter.rows, W, rows))

    def _bent(self, W: Floats) -> Floats:
        """``XᵀX W`` of every task."""
        problem, out = self.fitter.problem, np.empty_like(W)
        out[:, :-1] = np.matmul(problem.gram, W[:, :-1, None])[:, :, 0]
        out[:, -1] = problem.counts * W[:, -1]
        return out

    @cached_property
    def _cap(self) -> tuple[Floats, Floats]:
        """The ``x`` between which a task errs no more than its constant, and 0."""
        W, D = self.W[: len(self.B0)], self.D[: len(self.B0)]
        a = (D * self._bent(D)).sum(axis=1)
        half = (D * (self.B0 - self._bent(W))).sum(axis=1)
        root = np.sqrt(np.maximum(half * half - a * self.excess(W), 0.0))
        size = np.where(a > 0, a, np.inf)
        low, high = (-half - root) / size, (-half + root) / size
        return np.minimum(low, 0.0), np.maximum(high, 0.0)

    def _nearest(self, count: Count, on: Bools) -> Places:
        """Look from 0 outwards on both sides, then close in; in the tasks ``on``."""
        demands = self.demands
        low, high = demands.band
        values = count(np.arange(len(on)), np.zeros(len(on)))
        miss = demands.misses(values)
        sign, edge = np.sign(miss), np.where(miss > 0, high, low)
        start = np.where(demands.kept(values) | ~on, 0.0, np.abs(miss))
        width = np.where(start > 0, high - low, 0.0) + demands.forgiven
        fine = demands.resolution()
        if demands.forgiven == 0:  # counts: a step of few pairs is worth closing in on
            fine = np.where(fine > 2.0 * demands.segments.pair, fine, -1.0)
        ahead, behind = np.where(sign > 0, self._cap[::-1], self._cap)[:, :, None]
        places = np.concatenate((ahead * AHEAD, behind * BEHIND), axis=1)

        def beyond(which: Ints, x: Floats) -> Floats:
            """How far values have to go on to their bands; 0 or less beyond an edge."""
            out: Floats = sign[which] * (count(which, x) - edge[which])
            return np.where(np.abs(out) <= ON_EDGE * demands.forgiven, 0.0, out)

        def enough(at: Bracket) -> Bools:
            near = np.abs(at.b - at.a) <= SHORT * np.abs(at.b)
            inside = (at.fb >= -width) & (near | (at.fb >= -fine))
            out: Bools = inside | (at.fb > 0)
            return out

        at = close_in_all(beyond, _first(beyond, places, start), enough)
        inside = (at.fb <= 0) & (at.fb >= -width)
        return Places(at.b, inside, np.where(start > 0, edge + sign * at.fb, values))


def seen(problem: Problem, W: Floats, rows: Ints | slice = slice(None)) -> Floats:
    """Predictions of sorted rows as the user will see them, in standard deviations."""
    if isinstance(rows, slice):
        m = problem.user_predict(W)[problem.order]
    else:
        own = problem.order[rows]
        X, codes = problem.X[own], problem.codes[own]
        m = linear_predict(X, codes, *problem.user_coef(W), problem.resolution)
    return m / problem.y_unit


def _fitted(
    fitter: Fitter, B0: Floats, b: Floats, guess: float
) -> tuple[Floats, Floats]:
    """``fit(y)``, and ``fit(h)`` or, where fits bend, a chord in its place.

    The chord leads to the fit that levels the mean gap over all tasks, or thereabouts.
    """
    W = fitter.solve(B0)
    if fitter.penalty.quadratic:
        return W, fitter.solve(b)
    if not guess > 0:
        return W, np.zeros_like(W)
    gap = float((b * W[: len(b)]).sum())
    step = np.copysign(guess, gap)
    near = fitter.solve(B0 - step * b, W)
    closed = gap - float((b * near[: len(b)]).sum())
    step *= np.clip(gap / closed, 1 / STEPS, STEPS) if closed * gap > 0 else 1.0
    return W, (W - fitter.solve(B0 - step * b, near)) / step


def _first(beyond: Count, places: Floats, start: Floats) -> Bracket:
    """The first of each row of places, by distance from 0, beyond the edge of a band.

    ``a`` is the last place before it on its side.  Where there is none, ``b`` is the
    place closest to the band, and ``fb`` is positive.  Places at 0 are left out.
    """
    far = np.where(places == 0, np.inf, np.abs(places))
    places = np.take_along_axis(places, np.argsort(far, axis=1, kind="stable"), axis=1)
    n = np.count_nonzero(places, axis=1)
    last, f_last = np.zeros((len(n), 2)), np.column_stack((start, start))
    a, fa, b, fb = np.zeros(len(n)), start.copy(), np.zeros(len(n)), start.copy()
    still = np.flatnonzero(start > 0)
    for i in range(places.shape[1]):
        still = still[n[still] > i]
        if not len(still):
            break
        x = places[still, i]
        fx, side = beyond(still, x), (x > 0).astype(int)
        closer = fx < fb[still]
        at = still[closer]
        b[at], fb[at] = x[closer], fx[closer]
        hit = fx <= 0
        at = still[hit]
        a[at], fa[at] = last[at, side[hit]], f_last[at, side[hit]]
        last[still, side], f_last[still, side] = x, fx
        still = still[~hit]
    return Bracket(a, fa, b, fb)
