"""The search in two stages: refits of the model, and maps of their predictions."""

from __future__ import annotations

from functools import partial

import numpy as np

from rankfair._frames import Floats
from rankfair.reduction.asked import Asked, Fit
from rankfair.reduction.loop import GAIN, Found, Search
from rankfair.reduction.maps import with_maps
from rankfair.reduction.refits import Refits
from rankfair.solvers.base import OnStep

ROUNDS = 4  # refits that bend the tilt, at most: later ones learn the folds by heart
PATIENCE = 2  # of them without less error before the search ends


def solve_in_stages(
    refits: Refits,
    demand: Asked,
    max_refits: int,
    on_step: OnStep,
    fresh: Refits | None = None,
) -> Found:
    """Search for the tilt with the least error after the maps.

        tilt ← 0
        repeat: m ← fit(y − tilt)
                maps, aim ← those of m with the least error in the band; they are
                            fitted to y − aim
                tilt ← half way to aim
        then the same with the best tilt on fresh folds: their maps are kept

    Where it ends both stages are fitted to one target.  The band is met by the maps,
    whatever the model does with its targets.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from rankfair.balances import Mean
    >>> from rankfair.problem import Groups
    >>> from rankfair.reduction.demand import Demand
    >>> X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 2.0, 3.0])
    >>> refits = Refits(LinearRegression(), X, np.zeros(4, np.intp), 1)
    >>> demand = Demand.of(Mean(0.0), y, Groups(X[:, 0] == 1), shifts=True)
    >>> found = solve_in_stages(refits, demand, 5, lambda step: None)
    >>> found.fit.m.round(6).tolist(), str(found.status)
    ([1.5, 1.5, 1.5, 1.5], 'satisfied')
    """
    judge = partial(with_maps, demand)
    search = Search(refits, demand, max_refits, on_step, judge)
    free = search.fit(np.zeros(len(demand.y)))
    if free.aim is None:
        return search.found
    tilt = _rounds(search, free.aim, min(max_refits - (fresh is not None), ROUNDS))
    if fresh is not None:
        _count_again(search, fresh, tilt)
    return search.found


def _rounds(search: Search, tilt: Floats, n: int) -> Floats:
    """Bend the tilt ``n`` times; return the best one, or the first if ``n`` is 0."""
    assert search.best is not None
    lowest, calm = search.best.objective, 0
    for _ in range(n):
        found = search.fit(tilt)
        calm = 0 if found.objective < lowest * (1 - GAIN) else calm + 1
        if calm == PATIENCE:
            break
        lowest = min(lowest, found.objective)
        assert found.aim is not None
        tilt = (tilt + found.aim) / 2
    return search.best.tilt if n else tilt


def _count_again(search: Search, fresh: Refits, tilt: Floats) -> None:
    """Refit on folds that the tilt does not know; they decide, if they can."""
    known = search.best
    search.refits, search.best = fresh, None
    search.fit(tilt)

    def far(fit: Fit | None) -> float:
        assert fit is not None
        return float(abs(fit.shifted.miss))

    search.best = min((search.best, known), key=far)
