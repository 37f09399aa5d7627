"""The fits of all ε: one line of coefficients, kept with a fitted model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankfair.constraints.base import Constraint
from rankfair.constraints.distribution import Distribution
from rankfair.constraints.linear import Linear
from rankfair.core.blocks import Ints
from rankfair.core.problem import Groups, Problem
from rankfair.input.arrays import Floats
from rankfair.input.errors import check_number, values_to_try
from rankfair.paths import (
    LINE_POINTS,
    Judge,
    Path,
    PathRow,
    PathViews,
    TriedEpsilon,
    measured,
)
from rankfair.solvers.base import Solution
from rankfair.solvers.counted import CLOSEST, Counted
from rankfair.solvers.line import nearest
from rankfair.solvers.tilt import Tilt

POINTS = 256  # ε of the table in a model file
SAMPLE = 1 << 14  # rows that its errors and distances are taken from


class TradeOffRow(NamedTuple):
    """What one ε comes to, as it is counted; ``md`` is in the units of y."""

    epsilon: float
    multiplier: float
    value: float
    auc: float
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
    constraint: Constraint  # with the ε of the fit
    left_out: bool  # whether rows are counted as if left out
    n_rows: tuple[int, int]  # all, and those that are counted
    counted: Counted | None = None
    trained: Counted | None = None
    y: Floats | None = None  # of all rows, in the user's units
    weights: Floats | None = None  # of all rows
    tasks: Ints | None = None  # codes of all rows
    rows: Ints | None = None  # those that are counted; None if all are
    table: Floats | None = None  # (points, fields of TradeOffRow), ε ascending

    def with_epsilon(self, epsilon: Any, argument: str = "epsilon") -> Constraint:
        """Return the constraint of another ε."""
        checked = check_number(argument, epsilon, 0.0, self.constraint.widest)
        return replace(self.constraint, epsilon=checked)

    def multiplier(self, constraint: Constraint) -> tuple[float, float, bool]:
        """Return λ for a constraint, its value, and whether that is in the band."""
        if self.counted is None:
            row = self._looked_up(constraint.epsilon)
            return row.multiplier, row.value, row.epsilon <= constraint.epsilon
        rows = _between(self.counted, constraint)
        found = nearest(rows, self.cap)
        (demand,) = rows.demands
        ((x,), (value,)) = found.lam.tolist(), found.values
        return x, demand.show(value), found.inside

    def _looked_up(self, epsilon: float) -> TradeOffRow:
        """Return the next tighter ε of the table, or the tightest."""
        assert self.table is not None
        least = float(self.table[0, 0])
        width = epsilon if epsilon >= least else least + CLOSEST
        within = self.table[self.table[:, 0] <= width]
        return TradeOffRow(*within[np.abs(within[:, 1]).argmin()].tolist())

    def coefficients(self, x: float) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts at ``λ = x``."""
        return (
            self.coef - x * self.coef_slope,
            self.intercept - x * self.intercept_slope,
        )

    def without_rows(self) -> TradeOff:
        """Return the same for a file: a table of many ε instead of the rows."""
        if self.counted is None:
            return self
        last, _, reached = self.multiplier(self.with_epsilon(0.0))
        if not reached:  # the least gap may lie farther on
            last = self.cap[0 if last < 0 else 1]
        rows = [self._row(x) for x in np.linspace(0.0, last, POINTS)]
        if reached:
            rows[-1] = rows[-1]._replace(epsilon=0.0)
        bare = replace(self, counted=None, trained=None, y=None, weights=None)
        return replace(bare, tasks=None, rows=None, table=np.array(sorted(rows)))

    def _row(self, x: float) -> TradeOffRow:
        """What ``λ = x`` comes to; error and distances on some rows where many are."""
        assert self.counted is not None and self.y is not None
        (demand,) = self.counted.demands
        q = self.counted.q - x * self.counted.E[0]
        show, (value, off) = demand.constraint.show, self.counted.estimate(x)
        came = show(value, demand.groups)
        doubt = abs(show(value + off, demand.groups) - came)
        some = np.arange(len(q))[:: max(1, len(q) // SAMPLE)]
        m = self.counted.units.of_user(q[some])
        at = some if self.rows is None else self.rows[some]
        w = None if self.weights is None else self.weights[at]
        groups = demand.groups.take(some)
        apart = Distribution()
        auc = came
        if not demand.constraint.pairs:
            (auc,) = self.counted.aucs(np.array([x]))
        return TradeOffRow(
            _epsilon_for(self.constraint, came) + doubt,
            float(x),
            came,
            auc,
            float(np.sqrt(np.average((m - self.y[at]) ** 2, weights=w))),
            _mean_gap(m, groups),
            apart.show(apart.value(m, groups), groups),
        )

    def path(
        self,
        epsilons: Sequence[float] | None,
        labels: Sequence[Any],
        tasks: Sequence[Any],
    ) -> Path:
        """Return a row for each ε, measured on left-out predictions."""
        if epsilons is None:
            gap = self._free_gap()
            asked = [
                self.with_epsilon(gap * (i / (LINE_POINTS - 1)) ** 2)
                for i in range(LINE_POINTS)
            ]
        else:
            given = values_to_try("epsilons", epsilons)
            several = {self.with_epsilon(e, "each of epsilons") for e in given}
            asked = sorted(several, key=lambda each: each.epsilon)
        names = tuple(map(str, labels))
        if self.counted is None:
            views, clusters = None, None
            rows = tuple(self._stored(each, names[-1]) for each in asked)
        else:
            task_labels = tuple(map(str, tasks))
            rows, views, clusters = self._measured(asked, names, task_labels)
        n_train, n_counted = self.n_rows
        return Path(
            rows=rows,
            n_train=n_train,
            n_held_out=n_counted,
            n_clusters=clusters,
            groups=names,
            left_out=self.left_out,
            views=views,
        )

    def _free_gap(self) -> float:
        """The least ε that asks for nothing."""
        if self.counted is None:
            assert self.table is not None
            free = self.table[np.abs(self.table[:, 1]).argmin(), 0]
        else:
            (demand,) = self.counted.demands
            value = self.counted.value(0.0)
            shown = demand.constraint.show(value, demand.groups)
            free = _epsilon_for(self.constraint, shown)
        return min(float(free), self.constraint.widest)

    def _stored(self, constraint: Constraint, group: str) -> PathRow:
        """What a table says of an ε: no limits, and nothing of training rows."""
        row, none = self._looked_up(constraint.epsilon), math.nan
        return PathRow(
            epsilon=constraint.epsilon,
            rmse=row.rmse,
            rmse_ci_low=none,
            rmse_ci_high=none,
            auc=row.auc,
            auc_ci_low=none,
            auc_ci_high=none,
            gap=abs(row.auc - 0.5),
            md=row.md,
            train_rmse=none,
            train_auc=none,
            train_gap=none,
            train_md=none,
            status=_status(row.multiplier, row.epsilon <= constraint.epsilon),
            group=group,
            ks=row.ks,
        )

    def _measured(
        self, asked: list[Constraint], names: tuple[str, ...], tasks: tuple[str, ...]
    ) -> tuple[tuple[PathRow, ...], PathViews, int | None]:
        """The rows of a path with their limits, and how many clusters there are."""
        assert self.counted is not None and self.trained is not None
        held_out = self._judge(self.counted, names, self.rows, tasks)
        fitted = self._judge(self.trained, names, None, tasks)
        counted, every = np.arange(len(held_out.y)), np.arange(len(fitted.y))
        tried = []
        for each in asked:
            x, _, inside = self.multiplier(each)
            lam = np.array([x])
            of_rows = self.counted.at(lam), self.trained.at(lam)
            tried.append(TriedEpsilon(each.epsilon, *of_rows, _status(x, inside)))
        found = measured(tried, (held_out, counted), (fitted, every))
        return *found, held_out.n_clusters(counted)

    def _judge(
        self,
        counted: Counted,
        names: tuple[str, ...],
        rows: Ints | None,
        task_labels: tuple[str, ...],
    ) -> Judge:
        """What measures the predictions of these rows."""
        assert self.y is not None and self.tasks is not None
        (demand,) = counted.demands
        groups = demand.groups.in_a.astype(np.intp)
        if demand.groups.known is not None:
            groups[~demand.groups.known] = -1
        at = slice(None) if rows is None else rows
        tasks = self.tasks[at].astype(np.intp) if self.tasks.any() else None
        weights = None if self.weights is None else self.weights[at]
        y = self.y[at]
        return Judge(y, groups, names, tasks, weights, task_labels=task_labels)


def _epsilon_for(constraint: Constraint, shown: float) -> float:
    """The least ε whose band holds a shown value; infinite if none does."""
    off = shown - constraint.middle
    return math.inf if constraint.side == "upper" and off < 0 else abs(off)


def _status(x: float, inside: bool) -> str:
    return "infeasible" if not inside else "satisfied" if x else "inactive"


def _mean_gap(m: Floats, groups: Groups) -> float:
    """The mean of A less that of B; rows of no group weigh nothing."""
    w = np.ones(len(m)) if groups.weights is None else groups.weights
    a, b = groups.in_a, ~groups.in_a
    return float(np.average(m[a], weights=w[a]) - np.average(m[b], weights=w[b]))


def _between(counted: Counted, constraint: Constraint) -> Counted:
    """The same rows with another constraint."""
    (demand,) = counted.demands
    if isinstance(constraint, Linear) and isinstance(demand.constraint, Linear):
        # What is due between the groups does not depend on ε.
        constraint = replace(constraint, due=demand.constraint.due)
    return replace(counted, demands=(replace(demand, constraint=constraint),))


def trade_off_of(
    solution: Solution, solver: Any, *constraints: Constraint
) -> TradeOff | None:
    """Return the trade-off of a fit with one demand on a line; None of any other."""
    line = solution.line
    if line is None or len(line.D) != 1 or not line.fitter.penalty.quadratic:
        return None
    if not isinstance(solver, Tilt) or solver.direction != "mean":
        return None
    if not line.in_memory or len(constraints) != 1:
        return None
    problem = line.fitter.rows
    start = _coefficients(problem, line.W0)
    moved = _coefficients(problem, line.W0 - line.D[0])
    counted, trained = line.counted(solver.count), line.trained
    assert isinstance(counted, Counted) and isinstance(trained, Counted)
    left_out = counted is not line.trained
    trained = replace(trained, seen=None)
    return TradeOff(
        *start,
        start[0] - moved[0],
        start[1] - moved[1],
        line.curve.cap,
        constraints[0],
        left_out,
        (len(problem.y), len(counted.q)),
        counted if left_out else trained,
        trained,
        (problem.y + problem.y_centre) * problem.y_unit,
        problem.weights,
        np.repeat(problem.blocks.tasks, problem.blocks.sizes),
        line.rows if left_out else None,
    )


def _coefficients(problem: Problem, W: Floats) -> tuple[Floats, Floats]:
    """Coefficients and intercepts in the user's units, the shared ones last."""
    coef, intercept = problem.user_coef(W)
    shared = problem.user_shared(W)
    if shared is None:
        return coef, intercept
    return np.vstack((coef, shared[0])), np.append(intercept, shared[1])
