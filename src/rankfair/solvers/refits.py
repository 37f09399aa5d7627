"""``λ`` where every probe is a fit of its own: penalties whose fits bend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rankfair.core.blocks import Floats
from rankfair.solvers.base import OnStep, Step, noted_in
from rankfair.solvers.joint import found_at, search
from rankfair.solvers.line import FoundFit, Line, TiltedFits
from rankfair.solvers.roots import CLOSEST

Find = Callable[[Line, str], FoundFit]


@dataclass(frozen=True)
class BentFits:
    """Fits to ``y − λ g`` of a penalty that is not quadratic, counted and told of."""

    fits: TiltedFits
    directions: Sequence[Any]
    note: OnStep
    most: int = 12  # refits, after the first fits
    first: float = 0.05  # step of λ, between the free fit and its neighbours
    wider: int = 12  # times that a step is made four times as long
    narrow: float = 1e-4  # of λ: a step this short is none
    same: float = 1e-9  # of λ: the same of linear values

    @cached_property
    def moments(self) -> Floats:
        """Those of y and of the directions: (k, n + 1, 1 + r)."""
        return self.fits.fitter.problem.sums(self.directions)[0]

    def fit(self, lam: Floats, start: Floats | None = None) -> Floats:
        """``fit(y − λ g)``, from an earlier fit on."""
        return self.fits.fitter.solve(self.moments @ np.append(1.0, -lam), start)

    def at(self, lam: Floats, W: Floats, D: Floats) -> FoundFit:
        """The fit ``W`` at ``λ``, on the line through it along ``D``."""
        base = W + np.tensordot(lam, D, 1)
        line = self.fits.through(base, D, self.directions, W)
        found = found_at(line, line.counted(self.fits.count), lam)
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
        step, W = self.moved(last.W, last.lam, lam - last.lam)
        D = last.line.D
        missed = last.W - np.tensordot(step, D, 1) - W
        D = D + np.multiply.outer(step / (step @ step), missed)
        return self.at(last.lam + step, W, D)


def search_along(
    fits: TiltedFits,
    directions: Sequence[Any],
    on_step: OnStep | None = None,
    find: Find = search,
    sums: Floats | None = None,
) -> FoundFit:
    """The fit found along some directions: on a line, or by refits where fits bend.

    ``sums`` are the moments of y and of the directions, where they are known.
    """
    if not fits.fitter.penalty.quadratic:
        return search_refits(fits, directions, on_step, find)
    if sums is None:
        sums = fits.fitter.problem.sums(directions)[0]
    return find(fits.line(directions, sums), fits.count)


def search_refits(
    fits: TiltedFits, directions: Sequence[Any], on_step: OnStep | None, find: Find
) -> FoundFit:
    """Search the line through neighbouring fits, refit there, and repeat."""
    trace: list[Step] = []
    bent = BentFits(fits, directions, noted_in(trace, on_step))
    found = [bent.free()]
    if found[0].inside:
        return found[0]
    linear = found[0].counted.linear
    for _ in range(bent.most):
        last = found[-1]
        lam = find(last.line, fits.count).lam
        step = np.abs(lam - last.lam).max() / max(np.abs(lam).max(), 1e-300)
        if step <= bent.same or (step <= bent.narrow and last.inside and not linear):
            break
        found.append(bent.after(last, lam))
    if find is search:  # which errs no more than one constant
        found = [it for it in found if it.line.error(it.lam) <= it.line.squares]
    met = [it for it in found if it.inside]
    least = min(it.gap for it in found)
    close = [it for it in found if it.gap <= least + CLOSEST]
    best = min(met or close, key=lambda it: (linear and it.gap, it.objective))
    return replace(best, trace=tuple(trace))
