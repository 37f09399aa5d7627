"""The fits of all ε: one line of coefficients, kept with a fitted model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankfair._frames import Floats
from rankfair.constraints import Constraint, Distribution, Linear
from rankfair.core.blocks import Ints
from rankfair.core.problem import Problem
from rankfair.solvers import Solution
from rankfair.solvers.counted import Counted
from rankfair.solvers.line import nearest

__all__ = ["TradeOff", "TradeOffRow", "trade_off_of"]

POINTS = 256  # ε of the table in a model file
SAMPLE = 1 << 14  # rows that its errors and distances are taken from


class TradeOffRow(NamedTuple):
    """What one ε comes to, as it is counted; ``md`` is in the units of y."""

    epsilon: float
    multiplier: float
    value: float
    rmse: float
    md: float
    ks: float


@dataclass(frozen=True)
class TradeOff:
    """``coef − λ coef_slope`` for every λ, and how λ follows from ε.

    The last row of the coefficients is the shared model, where there is one.  In a
    model file there are no rows, and the table says which λ an ε needs.
    """

    coef: Floats
    intercept: Floats
    coef_slope: Floats
    intercept_slope: Floats
    cap: tuple[float, float]
    resolution: float
    counted: Counted | None = None
    trained: Counted | None = None
    y: Floats | None = None  # of all rows, in the user's units
    tasks: Ints | None = None  # codes of all rows
    rows: Ints | None = None  # those that are counted; None if all are
    asked: Constraint | None = None
    table: Floats | None = None  # (points, fields of TradeOffRow), ε ascending

    @property
    def left_out(self) -> bool:
        """Whether rows are counted as if left out."""
        return self.counted is not None and self.counted is not self.trained

    def multiplier(self, constraint: Constraint) -> tuple[float, float, bool]:
        """λ for a constraint, its value there, and whether that is in the band."""
        if self.counted is None:
            return self._looked_up(constraint.epsilon)
        rows = _asked(self.counted, constraint)
        found = nearest(rows, self.cap)
        (demand,) = rows.demands
        shown = demand.constraint.show(found.value, demand.groups)
        return found.x, shown, found.inside

    def _looked_up(self, epsilon: float) -> tuple[float, float, bool]:
        """The next tighter ε of the table, or the tightest."""
        assert self.table is not None
        tighter = np.flatnonzero(self.table[:, 0] <= epsilon)
        row = TradeOffRow(*self.table[tighter[-1] if len(tighter) else 0].tolist())
        return row.multiplier, row.value, bool(len(tighter))

    def coefficients(self, x: float) -> tuple[Floats, Floats]:
        """Coefficients and intercepts at ``λ = x``."""
        return (
            self.coef - x * self.coef_slope,
            self.intercept - x * self.intercept_slope,
        )

    def row(self, epsilon: float, x: float) -> TradeOffRow:
        """What ``λ = x`` comes to on the counted rows, or on some where they are many.

        A negative ``epsilon`` stands for the gap that there is.
        """
        assert self.counted is not None and self.y is not None
        (demand,) = self.counted.demands
        show, middle = demand.constraint.show, demand.constraint.middle
        value = show(self.counted.quick_value(x), demand.groups)
        y = self.y if self.rows is None else self.y[self.rows]
        some = slice(None, None, max(1, len(y) // SAMPLE))
        m = self.counted.units.of_user((self.counted.q - x * self.counted.E[0])[some])
        groups = demand.groups.take(np.arange(len(y))[some])
        known = np.ones(len(m), bool) if groups.known is None else groups.known
        w = np.ones(len(m)) if groups.weights is None else groups.weights
        a, b = known & groups.in_a, known & ~groups.in_a
        apart = Distribution()
        return TradeOffRow(
            abs(value - middle) if epsilon < 0 else epsilon,
            x,
            value,
            float(np.sqrt(np.average((m - y[some]) ** 2, weights=w))),
            float(np.average(m[a], weights=w[a]) - np.average(m[b], weights=w[b])),
            apart.show(apart.value(m, groups), groups),
        )

    def without_rows(self) -> TradeOff:
        """The same for a file: a table of many ε instead of the rows."""
        if self.counted is None:
            return self
        assert self.asked is not None
        last = self.multiplier(replace(self.asked, epsilon=0.0))[0]
        rows = [self.row(-1.0, x) for x in np.linspace(0.0, last, POINTS)]
        bare = replace(self, counted=None, trained=None, y=None, tasks=None, rows=None)
        return replace(bare, table=np.array(sorted(rows)))


def _asked(counted: Counted, constraint: Constraint) -> Counted:
    """The same rows with another constraint."""
    (demand,) = counted.demands
    if isinstance(constraint, Linear) and isinstance(demand.constraint, Linear):
        # What is due between the groups does not depend on ε.
        constraint = replace(constraint, due=demand.constraint.due)
    return replace(counted, demands=(replace(demand, constraint=constraint),))


def trade_off_of(solution: Solution, model: Any, asked: Constraint) -> TradeOff | None:
    """The trade-off of a fit with one demand on a line; None of any other."""
    line = solution.line
    if line is None or len(line.D) != 1 or not line.fitter.penalty.quadratic:
        return None
    if not line.in_memory or model.direction != "mean":
        return None
    problem = line.fitter.rows
    start = _coefficients(problem, line.W0)
    moved = _coefficients(problem, line.W0 - line.D[0])
    counted, trained = line.counted(model.count), line.trained
    assert isinstance(counted, Counted) and isinstance(trained, Counted)
    trained = replace(trained, seen=None)
    return TradeOff(
        *start,
        start[0] - moved[0],
        start[1] - moved[1],
        line.cap(np.ones(1)),
        problem.resolution,
        trained if counted is line.trained else counted,
        trained,
        (problem.y + problem.y_centre) * problem.y_unit,
        np.repeat(problem.blocks.tasks, problem.blocks.sizes),
        None if counted is line.trained else line.rows,
        asked,
    )


def _coefficients(problem: Problem, W: Floats) -> tuple[Floats, Floats]:
    """Coefficients and intercepts in the user's units, the shared ones last."""
    coef, intercept = problem.user_coef(W)
    shared = problem.user_shared(W)
    if shared is None:
        return coef, intercept
    return np.vstack((coef, shared[0])), np.append(intercept, shared[1])
