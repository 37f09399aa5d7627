"""Two groups or several: what is asked of them, and the search for it."""

from __future__ import annotations

import numpy as np

from rankfair.balances import Balance, refuse_upper
from rankfair.problem import Groups, counted_weights
from rankfair.reduction.asked import Asked
from rankfair.reduction.demand import Demand
from rankfair.reduction.joint import solve_jointly
from rankfair.reduction.loop import Found, solve
from rankfair.reduction.reading import Rows
from rankfair.reduction.refits import Refits
from rankfair.reduction.several import Demands
from rankfair.solvers.base import OnStep

__all__ = ["ask", "solve_either"]


def ask(balance: Balance, rows: Rows, shifts: bool) -> Asked:
    """Return what is asked of these rows; ``shifts`` if groups may move as wholes.

    Examples
    --------
    >>> from rankfair.balances import Rank
    >>> from rankfair.reduction.reading import read_rows
    >>> from rankfair._validation import Columns
    >>> named = Columns(sensitive_features=0, several=True)
    >>> rows = read_rows([[0], [1], [2]], [1.0, 2.0, 4.0], named)
    >>> type(ask(Rank(0.1), rows, shifts=True)).__name__
    'Demands'
    """
    groups, weights = rows.groups, rows.weights
    assert groups is not None
    refuse_upper([balance], len(groups.labels))
    if len(groups.labels) > 2:
        return Demands.of(balance, rows.y, groups, shifts, weights)
    pair = Groups(groups.in_a, counted_weights(weights, groups.known))
    if groups.known is not None and weights is None:
        weights = np.ones(len(rows.y))  # in the loss rows of unknown group count too
    return Demand.of(balance, rows.y, pair, shifts, weights)


def solve_either(
    refits: Refits,
    asked: Asked,
    max_refits: int,
    on_step: OnStep,
    fresh: Refits | None = None,
) -> Found:
    """Search for the tilt of two groups, or of several."""
    if isinstance(asked, Demands):
        return solve_jointly(refits, asked, max_refits, on_step, fresh)
    assert isinstance(asked, Demand)
    return solve(refits, asked, max_refits, on_step, fresh)
