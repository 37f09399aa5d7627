"""The last stage: a monotone map of the predictions of each group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression

from rankfair._frames import Codes, Floats
from rankfair.balances import Rank
from rankfair.reduction.asked import Asked, Fit
from rankfair.reduction.either import solve_either
from rankfair.reduction.refits import Refits

WIDTH = 1.0  # of the kernel, in standard deviations: steep maps carry over badly
PIECES = 4  # of each map, with as many predictions of the group on each
STEPS = 20  # refits of the maps, which cost no more than a sort


@dataclass(frozen=True)
class Maps:
    """A continuous piecewise linear map for each of the groups, B and A of two.

    Rows of unknown group have the average of the maps.

    Attributes
    ----------
    knots : tuple of ndarrays, where the pieces of each group meet
    start : tuple of floats, the value of each map at its first knot
    slopes : tuple of ndarrays, one longer than the knots; none is negative
    shares : tuple of floats, the weight of each group in the average; none if all alike

    Examples
    --------
    >>> import numpy as np
    >>> one = np.array([0.0])
    >>> maps = Maps((one, one), (0.0, 5.0), (np.array([1.0, 2.0]), np.zeros(2)))
    >>> maps(np.array([-1.0, 3.0, 3.0, 3.0]), np.array([0, 0, 1, -1])).tolist()
    [-1.0, 6.0, 5.0, 5.5]
    """

    knots: tuple[Floats, ...]
    start: tuple[float, ...]
    slopes: tuple[Floats, ...]
    shares: tuple[float, ...] = ()

    def __call__(self, m: Floats, of_group: Codes) -> Floats:
        """The mapped predictions; ``of_group`` is −1 for rows of unknown group."""
        moved = np.zeros(len(m))
        unknown = of_group < 0
        shares = self.shares or (1 / len(self.knots),) * len(self.knots)
        for group, share in enumerate(shares):
            for rows, part in ((of_group == group, 1.0), (unknown, share)):
                if rows.any():
                    moved[rows] += part * self._map(group, m[rows])
        return moved

    def _map(self, group: int, m: Floats) -> Floats:
        parts = pieces(m, self.knots[group])
        return self.start[group] + parts @ self.slopes[group]

    @classmethod
    def read(
        cls, line: Any, knots: tuple[Floats, ...], shift: Any, shares: Floats
    ) -> Maps:
        """What a fit to `design` says, moved by the shift of each group."""
        n = len(knots)
        start = line.intercept_ + line.coef_[:n] + np.asarray(shift)
        slopes = np.split(line.coef_[n:], n)
        return cls(knots, tuple(start.tolist()), tuple(slopes), tuple(shares.tolist()))


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


def design(
    m: Floats, of_group: Codes, knots: tuple[Floats, ...], shares: Floats
) -> Floats:
    """Columns of the maps: a constant of each group, then the pieces of each.

    A row of unknown group is a share of each.
    """
    rows = (of_group[:, np.newaxis] == np.arange(len(knots))).astype(np.float64)
    rows[of_group < 0] = shares
    parts = [rows[:, [g]] * pieces(m, own) for g, own in enumerate(knots)]
    return np.hstack([rows, *parts])


def find_knots(m: Floats, of_group: Codes, n_groups: int) -> tuple[Floats, ...]:
    """Quantiles of the predictions of each group."""
    shares = np.arange(1, PIECES) / PIECES
    return tuple(np.quantile(m[of_group == g], shares) for g in range(n_groups))


def fit_maps(m: Floats, demand: Asked) -> tuple[Maps, Fit]:
    """The maps of ``m`` with the least error whose balance is in its band.

    They are fitted to tilted targets as models are, by least squares with slopes of
    one sign, so that nobody overtakes anybody of the same group.  Predictions that
    follow noise of the training rows are drawn towards their group's mean on the way.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfair.balances import Rank
    >>> from rankfair.problem import Groups
    >>> from rankfair.reduction.demand import Demand
    >>> y = np.arange(8.0)
    >>> demand = Demand.of(Rank(0.0), y, Groups(y > 3), shifts=True)
    >>> maps, fit = fit_maps(y, demand)
    >>> demand.count(maps(y, (y > 3).astype(int))).inside
    True
    """
    shares, weights = demand.shares, demand.weights
    knots = find_knots(m, demand.codes, len(shares))
    line = Refits(
        LinearRegression(positive=True),
        design(m, demand.codes, knots, shares),
        np.zeros(len(m), np.intp),
        1,
        None if weights is None else weights.astype(np.float64),
    )
    found = solve_either(line, replace(demand, sweeps=False), STEPS, lambda step: None)
    fit = found.fit
    if not fit.shifted.inside:
        fit = demand.judged(fit.tilt, fit.m, fit.models)
    maps = Maps.read(fit.models[0], knots, fit.shift, shares)
    if isinstance(demand.kind, Rank):
        # Counted where `predict` will be, to the last bit: ties are.
        fit = replace(fit, shifted=demand.count(maps(m, demand.codes)))
    return maps, fit


def with_maps(demand: Asked, tilt: Floats, m: Floats, models: Any = None) -> Fit:
    """A refit judged after its maps; the first one that needs none has none."""
    at = demand.count(m)
    if at.inside and not tilt.any():
        return demand.judged(tilt, m, models)
    maps, of_maps = fit_maps(m, demand)
    return Fit(
        tilt,
        maps(m, demand.codes),
        at,
        (0.0,) * len(demand.shares),
        of_maps.shifted,
        of_maps.objective,
        models,
        maps,
        of_maps.tilt,
    )
