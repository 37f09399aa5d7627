"""The search for the tilt of several groups at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rankfair._frames import Floats
from rankfair.reduction.asked import Fit
from rankfair.reduction.loop import ENOUGH, GAIN, LANDING, PATIENCE, Found, Search
from rankfair.reduction.refits import Refits
from rankfair.reduction.several import Demands, Landings
from rankfair.reduction.steer import Way, short_of
from rankfair.solvers.base import OnStep
from rankfair.solvers.mixing import Mixer
from rankfair.solvers.ray import relative

SPARE = 1  # refits remembered beyond those that the demands need
FAR = 2.0  # how much further than any refit a combination of them may move rows


@dataclass(frozen=True)
class Hull:
    """Refits whose predictions are taken to mix as their tilts do.

    For a linear learner ``fit(y − Σ c_i t_i)`` is ``free + Σ c_i (m_i − free)``
    exactly, so that all counts at any mixture are known without a refit.  For another
    one it is a secant in as many dimensions as there are refits.
    """

    demands: Demands
    fits: tuple[Fit, ...]

    def joined(self, fit: Fit) -> Hull:
        """One refit more; the oldest goes, but never the first, untilted one."""
        kept = len(self.demands.each) - 1 + SPARE
        first, *rest = (*self.fits, replace(fit, models=None))
        return replace(self, fits=(first, *rest[-kept:]))

    def settled(self, anchor: Fit) -> tuple[Floats, Way]:
        """The tilt of the mixture nearest to one refit whose counts are in the bands.

        Its predictions and counts are those of the `Way`.
        """
        others = [fit for fit in self.fits if fit is not anchor]
        ways = np.array([fit.m - anchor.m for fit in others])
        way = self.demands.along(anchor.m, ways.T)
        moved = np.linalg.norm(way.m - anchor.m)
        most = FAR * np.linalg.norm(ways, axis=1).max()
        part = 1.0 if moved <= most else most / moved
        x = part * way.x
        tilt = anchor.tilt + x @ np.array([fit.tilt - anchor.tilt for fit in others])
        if part < 1:
            m = anchor.m + x @ ways
            way = Way(x, m, self.demands.count(m))
        return tilt, way


def solve_jointly(
    refits: Refits,
    demands: Demands,
    max_refits: int,
    on_step: OnStep,
    fresh: Refits | None = None,
) -> Found:
    """Search for the tilt with the least error that levels all groups.

        tilt ← what a shift of each group would take off
        repeat: m ← fit(y − tilt)
                tilt, m ← the mixture of refits nearest to the free one in all bands
                tilt ← mix of tilt and Σ λ_g ∇_g(m), and what the mixture still misses
        then refit around the nearest refit until the exact counts are in their bands

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from rankfair._groups import Groups
    >>> from rankfair.balances import Mean
    >>> z, y = np.array([0, 0, 1, 1, 2, 2]), np.array([0.0, 1.0, 3.0, 4.0, 5.0, 8.0])
    >>> X = (z[:, None] == np.arange(3)).astype(float)
    >>> refits = Refits(LinearRegression(), X, np.zeros(6, np.intp), 1)
    >>> demands = Demands.of(Mean(0.0), y, Groups(z, np.arange(3)), shifts=False)
    >>> found = solve_jointly(refits, demands, 5, lambda step: None)
    >>> found.fit.m.round(6).tolist(), str(found.status)
    ([3.5, 3.5, 3.5, 3.5, 3.5, 3.5], 'satisfied')
    """
    search = Search(refits, demands, max_refits, on_step, demands.judged)
    rounds, land = partial(_rounds, search, demands), partial(_land, search, demands)
    return search.run(rounds, land, fresh)


def _rounds(search: Search, demands: Demands, free: Fit) -> Floats:
    """The tilt that promises the least error: one refit a round."""
    hull, mixer = Hull(demands, (free,)), Mixer()
    tilt = best = -demands.by_group(demands.closing_shift(free.m)[0])
    least, calm = (np.inf, np.inf), 0
    while search.left > min(LANDING, search.budget // 2):
        hull = hull.joined(search.fit(tilt))
        tilt, way = hull.settled(free)
        merit = way.at.miss, demands.objective(way.m)
        better = merit[0] < least[0] or merit[1] < least[1] * (1 - GAIN)
        calm = 0 if better else calm + 1
        if merit < least:
            least, best = merit, tilt
        gap = demands.bent(tilt, way.m) - tilt + _missing(demands, way.m, way.at)
        if relative(demands.root * gap, demands.root * tilt) <= ENOUGH:
            break
        if calm >= PATIENCE:
            break
        tilt = mixer.next(demands.root * tilt, demands.root * gap) / demands.root
    return best


def _missing(demands: Demands, m: Floats, at: Landings) -> Floats:
    """The tilt along the gradients for what predictions still miss.

    As much as were due if the model followed its targets; what it does shows next.
    """
    if at.inside:
        return np.zeros(len(m))
    g = demands.gradients(m)
    return -(demands.along(m, g.T).x @ g)


def _land(search: Search, demands: Demands, free: Fit, tilt: Floats) -> None:
    """Refit around the nearest refit until all counts are in their bands.

    By mixtures of refits, and where these mislead, because predictions jump, by what
    the nearest one misses; each goes on as long as it brings something.
    """
    hull, nearest, mixing, calm = Hull(demands, (free,)), free, True, 0
    while search.left and calm < LANDING:
        found = search.fit(tilt)
        if found.at.inside:
            return
        hull = hull.joined(found)
        if short_of(found.at) < short_of(nearest.at):
            nearest, calm = hull.fits[-1], 0
        else:
            mixing, calm = not mixing, calm + 1
        if mixing:
            tilt, way = hull.settled(nearest)
            tilt = tilt + _missing(demands, way.m, way.at)
        else:
            tilt = nearest.tilt + _missing(demands, nearest.m, nearest.at)
