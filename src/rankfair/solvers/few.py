"""Bands in every task where rows are few: fits inside them of a lower objective."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankfair.balances import Band
from rankfair.balances.by_task import RankByTask
from rankfair.problem import Groups
from rankfair.solvers.base import Floats
from rankfair.solvers.lines import Part
from rankfair.solvers.polish import Search, Sieve, is_small, slope_of
from rankfair.solvers.pushes import task_values
from rankfair.solvers.ray import relative
from rankfair.solvers.separate import Found, bent
from rankfair.solvers.whole import Whole


def searched(
    whole: Whole, part: Part, found: Found, W: Floats
) -> tuple[Floats, Found] | None:
    """A fit of a lower objective than ``W``, with its multipliers; None if none is.

    At random, and only where that costs little.  Task by task, if they share nothing:
    those free of their bands stay as they are.
    """
    fitter, demands = whole.fitter, whole.demands
    if not isinstance(demands, RankByTask) or not is_small(fitter):
        return None

    def inside(V: Floats) -> bool:
        return bool(demands.kept(task_values(whole, V)).all())

    if not inside(W):
        return None
    W0, lower = fitter.solve(whole.target), W
    around = Search.around(fitter, whole.target, W0, found.force).sloped()
    if whole.apart:
        for task in np.flatnonzero(~found.free).tolist():
            sieve = Sieve((_asked(demands, task),))
            lower = around.on(task, lower).lower(lower, inside, sieve)
    else:
        both = np.flatnonzero(demands.segments.both).tolist()
        sieve = Sieve(tuple(_asked(demands, task) for task in both))
        lower = around.lower(lower, inside, sieve)
    if lower is W:
        return None
    lower = whole.centred(lower)
    pull = slope_of(fitter, lower, whole.target)
    gap, multiples = bent(part, lower, pull)
    settled = relative(gap, pull)
    return lower, replace(found, multipliers=multiples, stationarity=settled)


def _asked(demands: RankByTask, task: int) -> tuple[slice, Groups, Band]:
    """The rows of a task, their groups and its band."""
    s = demands.segments
    rows = slice(s.starts[task], s.starts[task] + s.sizes[task])
    low, high = demands.band
    own = s.groups.take(np.arange(rows.start, rows.stop))
    return rows, own, Band(low[task], high[task])
