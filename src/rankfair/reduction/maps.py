"""The last stage: a monotone map of the predictions of each group."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from rankfair._frames import Codes, Floats
from rankfair.reduction.demand import Demand, Fit
from rankfair.reduction.loop import Found, solve
from rankfair.reduction.refits import Refits

WIDTH = 1.0  # of the kernel, in standard deviations: steep maps carry over badly
PIECES = 4  # of each map, with as many predictions of the group on each
STEPS = 20  # refits of the maps, which cost no more than a sort


@dataclass(frozen=True)
class Maps:
    """A continuous piecewise linear map for each of the groups B and A.

    Attributes
    ----------
    knots : pair of ndarrays, where the pieces of each group meet
    start : pair of floats, the value of each map at its first knot
    slopes : pair of ndarrays, one longer than the knots; none is negative

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([0.0])
    >>> maps = Maps((one, one), (0.0, 5.0), (np.array([1.0, 2.0]), np.zeros(2)))
    >>> maps(np.array([-1.0, 3.0, 3.0]), np.array([0, 0, 1])).tolist()
    [-1.0, 6.0, 5.0]
    """

    knots: tuple[Floats, Floats]
    start: tuple[float, float]
    slopes: tuple[Floats, Floats]

    def __call__(self, m: Floats, of_group: Codes) -> Floats:
        """The mapped predictions; ``of_group`` is 0 for rows of B, 1 for A."""
        moved = np.empty(len(m))
        for group in (0, 1):
            rows = of_group == group
            parts = pieces(m[rows], self.knots[group])
            moved[rows] = self.start[group] + parts @ self.slopes[group]
        return moved

    @classmethod
    def read(cls, line: Any, knots: tuple[Floats, Floats], shift: Any) -> Maps:
        """What a fit to `design` says, moved by the shift of each group."""
        n = 2 + len(knots[0]) + 1
        of_b, of_a = line.coef_[2:n], line.coef_[n:]
        start = line.intercept_ + line.coef_[:2] + np.asarray(shift)
        return cls(knots, (float(start[0]), float(start[1])), (of_b, of_a))


def pieces(m: Floats, knots: Floats) -> Floats:
    """How far a prediction reaches into each piece, of shape (N, len(knots) + 1).

    Weighted by slopes these add up to the map, from its value at the first knot.  The
    outer pieces have no end.

    Examples
    --------
    >>> import numpy as np
    >>> pieces(np.array([-1.0, 1.5, 9.0]), np.array([1.0, 2.0])).tolist()
    [[-2.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 1.0, 7.0]]
    """
    inner = [np.clip(m, low, high) - low for low, high in pairwise(knots)]
    return np.column_stack(
        [np.minimum(m - knots[0], 0.0), *inner, np.maximum(m - knots[-1], 0.0)]
    )


def design(m: Floats, of_group: Codes, knots: tuple[Floats, Floats]) -> Floats:
    """Columns of the maps: a constant and the pieces, of group B, then of A."""
    rows = [(of_group == group)[:, np.newaxis] for group in (0, 1)]
    parts = [rows[group] * pieces(m, knots[group]) for group in (0, 1)]
    return np.hstack([*rows, *parts]).astype(np.float64)


def find_knots(m: Floats, of_group: Codes) -> tuple[Floats, Floats]:
    """Quantiles of the predictions of each group."""
    shares = np.arange(1, PIECES) / PIECES
    return (
        np.quantile(m[of_group == 0], shares),
        np.quantile(m[of_group == 1], shares),
    )


def fit_maps(m: Floats, demand: Demand) -> tuple[Maps, Found]:
    """The maps of ``m`` with the least error whose balance is in its band.

    They are fitted to tilted targets as models are, by least squares with slopes of
    one sign, so that nobody overtakes anybody of the same group.  Predictions that
    follow noise of the training rows are drawn towards their group's mean on the way.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.balances import Rank
    >>> from rankfair.problem import Groups
    >>> y = np.arange(8.0)
    >>> demand = Demand.of(Rank(0.0), y, Groups(y > 3), shifts=True)
    >>> maps, found = fit_maps(y, demand)
    >>> demand.count(maps(y, (y > 3).astype(int))).inside
    True
    """
    of_group = demand.groups.in_a.astype(np.intp)
    knots = find_knots(m, of_group)
    weights = demand.groups.weights
    line = Refits(
        LinearRegression(positive=True),
        design(m, of_group, knots),
        np.zeros(len(m), np.intp),
        1,
        None if weights is None else weights.astype(np.float64),
    )
    found = solve(line, demand, STEPS, lambda step: None)
    return Maps.read(found.fit.models[0], knots, found.fit.shift), found


def with_maps(demand: Demand, tilt: Floats, m: Floats, models: Any = None) -> Fit:
    """A refit judged after its maps; the first one that needs none has none."""
    at = demand.count(m)
    if at.inside and not tilt.any():
        return demand.judged(tilt, m, models)
    maps, found = fit_maps(m, demand)
    of_maps = found.fit
    return Fit(
        tilt,
        of_maps.m + demand.by_group(of_maps.shift),
        at,
        (0.0, 0.0),
        of_maps.shifted,
        of_maps.objective,
        models,
        maps,
        of_maps.tilt,
    )
