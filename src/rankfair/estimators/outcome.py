"""What a fit came to: attributes of every estimator, the fits of all ε, and warnings.

A warning is an object; `tell` shows all that a fit has collected.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from rankfair.constraints.base import Constraint
from rankfair.constraints.distribution import Distribution
from rankfair.constraints.linear import Linear, Mean
from rankfair.constraints.rank import Rank
from rankfair.core.blocks import Ints, linear_predict
from rankfair.core.problem import Groups, Problem, counted_weights
from rankfair.core.ranks import Duels, counts_of
from rankfair.estimators.base import FairSettings, Progress, name_of
from rankfair.input.arrays import Floats
from rankfair.input.errors import (
    Argument,
    InputWarning,
    check_number,
    counted,
    listed,
    shown,
    values_to_try,
)
from rankfair.input.groups import SensitiveGroups, plain_labels
from rankfair.input.training import Named, TrainingRows, feature_record
from rankfair.paths import (
    LINE_POINTS,
    Judge,
    Path,
    PathRow,
    TriedEpsilon,
    measured,
    place_of,
)
from rankfair.penalties.pool import Pool
from rankfair.solvers.base import Line, Solution, Status
from rankfair.solvers.by_task import TaskSolution, TaskStatus
from rankfair.solvers.counted import CLOSEST, SURE, Counted
from rankfair.solvers.line import nearest
from rankfair.solvers.tilt import Tilt
from rankfair.stats.auc import auc_of_rows
from rankfair.stats.estimate import Estimate

GIVEN_AWAY = 0.95  # the AUC of predictors that give the group away
SAMPLE = 1 << 12  # rows that say whether all are worth counting
FEW_DISTINCT = 16
EXPENSIVE = 1.05  # left-out error of the fit over that of the unconstrained one
POINTS = 201  # ε of the table in a model file
TABLE_ROWS = 1 << 14  # rows that its errors and distances are taken from
MANY_ROWS = 1 << 17  # of more its tightest ε is above 0, by 1e-5

# Attributes


def groups_of(attributes: Iterable[SensitiveGroups], weights: Any) -> list[Groups]:
    """Return what is balanced: each group against the rest, in every attribute."""
    return [
        Groups(mask, counted_weights(weights, each.known))
        for each in attributes
        for mask in each.masks()
    ]


def store_linear(
    model: Any,
    solution: Solution,
    rows: TrainingRows,
    X: Any,
    own: dict[str, Any],
) -> None:
    """Store the attributes of all linear estimators, and those of this one alone."""
    penalty, line, left_out = solution.penalty, solution.line, None
    if line is not None and line.left_out is not None and line.in_memory:
        m = line.left_out.at(np.array(solution.multipliers))
        left_out = spread(m, *_left_out_places(line, rows))
    fitted = {
        **feature_record(X),
        "_layout": rows.layout,
        "predictors_": np.array(rows.layout.names, dtype=object),
        "tasks_": rows.layout.tasks,
        "coef_": solution.coef,
        "intercept_": solution.intercept,
        "shared_coef_": solution.shared_coef,
        "shared_intercept_": solution.shared_intercept,
        "resolution_": solution.resolution,
        "beta_": penalty.numbers if isinstance(penalty, Pool) else penalty.beta,
        "objective_": solution.objective,
        "n_iter_": solution.n_iter,
        "loo_predictions_": left_out,
        **own,
    }
    Progress(model).close(fitted)
    model._store(fitted)


def finish(
    model: Any,
    settings: FairSettings,
    solution: Solution,
    rows: TrainingRows,
    X: Any,
    advice: str = "",
) -> list[Warning]:
    """Store what a fit came to; return what is to be said of that."""
    asked, values = settings.constraints if rows.attributes else (), solution.values
    if isinstance(X, Named) and solution.line is not None and asked:
        (auc,) = solution.line.trained.aucs(np.array(solution.multipliers))
        aucs = pair_attributes(auc, rows.attributes[0].labels)
    else:
        linear = solution.coef, solution.intercept, solution.resolution
        aucs = auc_attributes(rows, linear_predict(rows.X, rows.codes, *linear))
    multiplier = max(solution.multipliers, key=abs, default=math.nan)
    own = {
        **group_attributes(model, rows),
        **aucs,
        "status_": str(solution.status),
        "constraint_values_": farthest_values(values, asked),
        "loo_auc_": max(solution.left_out_aucs, key=_off_half, default=math.nan),
        "proxy_auc_": max((0.5, *solution.proxy_aucs)) if asked else math.nan,
        "multiplier_": 0.0 if solution.status is Status.INACTIVE else multiplier,
        "_trade_off": trade_off_of(solution, settings, rows),
        **_task_attributes(solution, rows),
        "trace_": [(step.objective, step.auc) for step in solution.trace],
    }
    store_linear(model, solution, rows, X, own)
    status, advice = solution.status, other_ways(solution, asked) + advice
    said = not_reached(status, values, asked, rows.attributes, advice)
    return [*said, *outside_in_tasks(solution, rows)]


def group_attributes(model: Any, rows: TrainingRows) -> dict[str, Any]:
    """Return what a fit knows of groups, as its settings were."""
    attributes = rows.attributes
    return {
        "groups_": _by_name(attributes, [each.labels for each in attributes], None),
        "n_unknown_": _by_name(attributes, [it.n_unknown for it in attributes], 0),
        "bin_edges_": dict(rows.edges),
        "_group_columns": model.sensitive_features,
        "_intersect": bool(model.intersect),
    }


def auc_attributes(rows: TrainingRows, m: Floats) -> dict[str, Any]:
    """Return the AUC of each group over the rest and over each other one."""
    weights = None if rows.weights is None else counts_of(rows.weights)
    aucs, pairs = [], []
    for each in rows.attributes:
        labels = each.labels.tolist()
        duels = Duels.of(m, each.codes, len(labels), weights)
        aucs.append(dict(zip(labels, duels.of_rest().tolist(), strict=True)))
        pairs.append(duels.by_label(labels))
    return {
        "rank_auc_": rank_auc(aucs),
        "group_auc_": _by_name(rows.attributes, aucs, {}),
        "pairwise_auc_": _by_name(rows.attributes, pairs, {}),
    }


def pair_attributes(auc: float, labels: NDArray[Any]) -> dict[str, Any]:
    """Return the same of two groups, from the AUC of A."""
    b, a = labels.tolist()
    return {
        "rank_auc_": auc,
        "group_auc_": {b: 1 - auc, a: auc},
        "pairwise_auc_": {b: {a: 1 - auc}, a: {b: auc}},
    }


def rank_auc(aucs: Sequence[dict[Any, float]]) -> float:
    """Return the AUC of A, of two groups the last; of several the farthest off."""
    off = [[*it.values()][-1:] if len(it) == 2 else it.values() for it in aucs]
    return max(itertools.chain(*off), key=_off_half, default=math.nan)


def _off_half(auc: float) -> float:
    return abs(auc - 0.5)


def _by_name(
    attributes: tuple[SensitiveGroups, ...], values: list[Any], none: Any
) -> Any:
    """Return the value of the only attribute, or of several a dict by name."""
    if len(attributes) < 2:
        return values[0] if values else none
    return {each.name: value for each, value in zip(attributes, values, strict=True)}


def farthest_values(
    values: Sequence[float], asked: Sequence[Constraint]
) -> dict[str, float]:
    """Return what each constraint came to, of several groups the farthest off."""
    if not len(values):
        return {}
    by_constraint = np.reshape(values, (len(asked), -1))
    pairs = zip(asked, by_constraint, strict=True)
    return {name_of(each): _farthest(each, row) for each, row in pairs}


def _farthest(constraint: Constraint, values: Floats) -> float:
    at = np.abs(values - constraint.middle).argmax()
    return float(values[at])


def attributes_at(trade_off: TradeOff, asked: Constraint, model: Any) -> dict[str, Any]:
    """Return the attributes that another ε changes."""
    x, value, inside = trade_off.multiplier(asked)
    coef, intercept = trade_off.coefficients(x)
    k, unknown = len(model.tasks_), ("rank_auc_", "loo_auc_", "objective_")
    fitted: dict[str, Any] = {
        "coef_": coef[:k],
        "intercept_": intercept[:k],
        "shared_coef_": coef[k] if len(coef) > k else None,
        "shared_intercept_": float(intercept[k]) if len(coef) > k else None,
        "status_": _status(x, inside),
        "multiplier_": x,
        "constraint_values_": {name_of(asked): value},
        "loo_predictions_": None,
        "group_auc_": {},
        "pairwise_auc_": {},
        "trace_": [],
        **dict.fromkeys(unknown, math.nan),
    }
    by_row = trade_off.by_row
    if by_row is None:
        return fitted
    lam = np.array([x])
    (auc,) = by_row.trained.aucs(lam)
    fitted |= pair_attributes(auc, model.groups_)
    if trade_off.left_out:
        m = by_row.counted.at(lam)
        fitted["loo_auc_"] = by_row.counted.aucs(lam)[0]
        fitted["loo_predictions_"] = spread(m, by_row.places, by_row.n)
    return fitted


def _left_out_places(line: Line, rows: TrainingRows) -> tuple[Ints, int]:
    """Return where rows that can be left out were given, and how many rows were."""
    order = line.fitter.rows.order
    places = order if line.rows is None else order[line.rows]
    if rows.kept is None:
        return places, len(order)
    return np.flatnonzero(rows.kept)[places], len(rows.kept)


def spread(values: Floats, places: Ints, n_rows: int) -> Floats:
    """Return the values of some rows where the user had them, NaN elsewhere."""
    found = np.full(n_rows, np.nan)
    found[places] = values
    return found


def _task_attributes(solution: Solution, rows: TrainingRows) -> dict[str, Any]:
    """Return what became of each task, and why some have no band or are outside it."""
    names = ("task_auc_", "task_values_", "task_status_", "unbalanced_tasks_")
    if not isinstance(solution, TaskSolution):
        return dict.fromkeys(names)
    assert rows.layout.groups is not None
    groups, found = rows.layout.groups.tolist(), {}
    labels = plain_labels(rows.layout.tasks.tolist())
    for j, status in enumerate(solution.task_status):
        if status is TaskStatus.ONE_GROUP_ONLY:
            totals = zip(groups, solution.task_totals[j], strict=True)
            absent = [shown(group) for group, total in totals if not total > 0]
            found[labels[j]] = f"It has no rows of group {' or '.join(absent)}."
        elif status is TaskStatus.INFEASIBLE:
            came = f"{solution.task_values[j]:.4g}"
            found[labels[j]] = f"{status.value} It came to {came}."
    states = np.array([str(each) for each in solution.task_status])
    values = (solution.task_aucs, solution.task_values, states, found)
    return dict(zip(names, values, strict=True))


# The fits of all ε


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
class TradeOffRows:
    """The rows of a fit, sorted: what a model file does not hold."""

    counted: Counted
    trained: Counted
    judge: Judge  # of all rows, its target in standard units
    rows: Ints | None  # those that are counted; None if all are
    places: Ints  # of left-out rows among those given
    n: int  # how many were given


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
    by_row: TradeOffRows | None = None
    table: Floats | None = None  # (points, fields of TradeOffRow), ε ascending

    def with_epsilon(self, epsilon: Any, argument: str = "epsilon") -> Constraint:
        """Return the constraint of another ε."""
        checked = check_number(argument, epsilon, 0.0, self.constraint.widest)
        return replace(self.constraint, epsilon=checked)

    def multiplier(self, constraint: Constraint) -> tuple[float, float, bool]:
        """Return λ for a constraint, its value, and whether that is in the band."""
        if self.by_row is None:
            row = self._looked_up(constraint.epsilon)
            return row.multiplier, row.value, row.epsilon <= constraint.epsilon
        counted = self.by_row.counted
        known = counted.demand
        if isinstance(constraint, Linear) and isinstance(known.constraint, Linear):
            # What is due between the groups does not depend on ε.
            constraint = replace(constraint, due=known.constraint.due)
        demand = replace(known, constraint=constraint)
        found = nearest(replace(counted, demands=(demand,)), self.cap)
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
        moved = x * self.coef_slope, x * self.intercept_slope
        return self.coef - moved[0], self.intercept - moved[1]

    def without_rows(self) -> TradeOff:
        """Return the same for a file: a table of many ε instead of the rows."""
        if self.by_row is None:
            return self
        # Ties of many rows jump over 0 itself, and a search for it is long.
        many = self.constraint.pairs and len(self.by_row.counted.q) > MANY_ROWS
        least = SURE if many else 0.0
        last, _, reached = self.multiplier(self.with_epsilon(least))
        if not reached:  # the least gap may lie farther on
            last = self.cap[0 if last < 0 else 1]
        rows = [self._row(x, self.by_row) for x in np.linspace(0.0, last, POINTS)]
        if reached:
            rows[-1] = rows[-1]._replace(epsilon=least)
        return replace(self, by_row=None, table=np.array(sorted(rows)))

    def _row(self, x: float, by_row: TradeOffRows) -> TradeOffRow:
        """What ``λ = x`` comes to; error and distances on some rows where many are."""
        counted, demand, lam = by_row.counted, by_row.counted.demand, np.array([x])
        value, off = counted.estimate(x)
        came = demand.show(value)
        doubt = abs(demand.show(value + off) - came)
        some = np.arange(len(counted.q))[:: max(1, len(counted.q) // TABLE_ROWS)]
        m = counted.units.of_user(counted.q[some] - x * counted.E[0, some])
        at = some if by_row.rows is None else by_row.rows[some]
        units, judge = by_row.trained.units, by_row.judge.take(at)
        left = (judge.y + units.centre) * units.unit - m
        groups, means, apart = demand.groups.take(some), Mean(), Distribution()
        return TradeOffRow(
            self._epsilon_for(came) + doubt,
            float(x),
            came,
            came if demand.constraint.pairs else counted.aucs(lam)[0],
            float(np.sqrt(np.average(left**2, weights=judge.weights))),
            means.show(means.value(m, groups), groups),
            apart.show(apart.value(m, groups), groups),
        )

    def path(
        self,
        epsilons: Sequence[float] | None,
        labels: Sequence[Any],
        tasks: Sequence[Any],
        reference: str | None = None,
    ) -> Path:
        """Return a row for each ε, measured on left-out predictions."""
        if epsilons is None:
            grid = np.linspace(0.0, 1.0, LINE_POINTS) ** 2 * self._free_gap()
            asked = [self.with_epsilon(e) for e in grid]
        else:
            given = values_to_try("epsilons", epsilons)
            several = {self.with_epsilon(e, "each of epsilons") for e in given}
            asked = sorted(several, key=lambda each: each.epsilon)
        groups = tuple(map(str, labels))
        place = place_of(reference, groups)
        if self.by_row is None:
            rows = tuple(self._stored(each, groups, place) for each in asked)
            return Path(rows, *self.n_rows, groups=groups, left_out=self.left_out)
        counted, trained = self.by_row.counted, self.by_row.trained
        fitted, units, at = self.by_row.judge, trained.units, self.by_row.rows
        fitted = replace(
            fitted,
            y=(fitted.y + units.centre) * units.unit,
            groups=fitted.groups.astype(np.intp),
            labels=groups,
            tasks=None if fitted.tasks is None else fitted.tasks.astype(np.intp),
            reference=place,
            task_labels=tuple(map(str, tasks)),
        )
        held_out = fitted if at is None else fitted.take(at)
        tried = []
        for each in asked:
            x, _, inside = self.multiplier(each)
            m, fit = (it.at(np.array([x])) for it in (counted, trained))
            tried.append(TriedEpsilon(each.epsilon, m, fit, _status(x, inside)))
        return replace(measured(tried, held_out, fitted), left_out=self.left_out)

    def _free_gap(self) -> float:
        """The least ε that asks for nothing."""
        if self.by_row is None:
            assert self.table is not None
            free = float(self.table[np.abs(self.table[:, 1]).argmin(), 0])
        else:
            demand = self.by_row.counted.demand
            free = self._epsilon_for(demand.show(self.by_row.counted.value(0.0)))
        return min(free, self.constraint.widest)

    def _stored(
        self, constraint: Constraint, groups: Sequence[str], reference: int
    ) -> PathRow:
        """What a table says of an ε: no intervals, and nothing of training rows."""
        row = self._looked_up(constraint.epsilon)
        if reference == 1:
            row = row._replace(auc=1.0 - row.auc, md=-row.md)
        return PathRow(
            constraint.epsilon,
            rmse=row.rmse,
            auc=row.auc,
            gap=abs(row.auc - 0.5),
            md=row.md,
            ks=row.ks,
            group=groups[1 - reference],
            status=_status(row.multiplier, row.epsilon <= constraint.epsilon),
        )

    def _epsilon_for(self, shown: float) -> float:
        """The least ε whose band holds a shown value; infinite if none does."""
        off, side = shown - self.constraint.middle, self.constraint.side
        return math.inf if side == "upper" and off < 0 else abs(off)


def _status(x: float, inside: bool) -> str:
    return "infeasible" if not inside else "satisfied" if x else "inactive"


def trade_off_of(
    solution: Solution, settings: FairSettings, rows: TrainingRows
) -> TradeOff | None:
    """Return the trade-off of a fit with one constraint on a line, else None."""
    line, solver = solution.line, settings.solver
    straight = isinstance(solver, Tilt) and solver.direction == "mean"
    if line is None or not straight or not line.in_memory or len(line.D) != 1:
        return None
    if not line.fitter.penalty.quadratic:
        return None
    problem = line.fitter.rows
    start = _coefficients(problem, line.W0)
    moved = _coefficients(problem, line.W0 - line.D[0])
    trained, counted = line.trained, line.counted(settings.counted_on)
    left_out = counted is not trained
    trained = replace(trained, seen=None)  # which needs X
    groups = trained.demand.groups
    codes: Any = groups.in_a.astype(np.int8)  # a byte a row
    if groups.known is not None:
        codes[~groups.known] = -1
    tasks: Any = problem.blocks.tasks.astype(problem.codes.dtype)
    tasks = np.repeat(tasks, problem.blocks.sizes) if tasks.any() else None
    by_row = TradeOffRows(
        counted if left_out else trained,
        trained,
        Judge(problem.y, codes, (), tasks, problem.weights),
        line.rows if left_out else None,
        *_left_out_places(line, rows),
    )
    return TradeOff(
        *start,
        start[0] - moved[0],
        start[1] - moved[1],
        line.curve.cap,
        settings.constraints[0],
        left_out,
        (len(problem.y), len(counted.q)),
        by_row,
    )


def _coefficients(problem: Problem, W: Floats) -> tuple[Floats, Floats]:
    """Coefficients and intercepts in the user's units, the shared ones last."""
    coef, intercept = problem.user_coef(W)
    shared = problem.user_shared(W)
    if shared is None:
        return coef, intercept
    return np.vstack((coef, shared[0])), np.append(intercept, shared[1])


# Warnings


def tell(found: Iterable[Warning]) -> None:
    """Show warnings where the user has called ``fit``."""
    for each in found:
        warnings.warn(each, stacklevel=3)


def no_groups(then: str = "the fit is unconstrained") -> InputWarning:
    """Say that there is nothing to balance."""
    return InputWarning(
        "sensitive_features",
        f"was not given: there is nothing to balance, and {then}",
        cure="Name a column of X in the constructor or pass labels to fit.",
    )


def not_reached(
    status: Status,
    values: Sequence[float],
    asked: Sequence[Constraint],
    attributes: Sequence[SensitiveGroups],
    advice: str = "",
) -> Iterator[Warning]:
    """Say that a band was not reached: what came instead, and what can help."""
    if status not in (Status.INFEASIBLE, Status.MAX_ITER):
        return
    ends = np.cumsum([len(each.masks()) for each in attributes])[:-1]
    several, said = len(attributes) > 1, []
    for constraint, row in zip(
        asked, np.reshape(values, (len(asked), -1)), strict=True
    ):
        digits = ".4g" if constraint.linear else ".4f"
        worst = [
            f"{_farthest(constraint, part):{digits}}" + several * f" for {own.name}"
            for part, own in zip(np.split(row, ends), attributes, strict=True)
        ]
        name, wanted = name_of(constraint), f"{constraint.epsilon:g}"
        measure = {"distribution": "KS"}.get(name, f"{name} gap")
        if constraint.pairs:
            near = f"within {wanted} of 0.5" if constraint.epsilon else "exactly 0.5"
            measure, wanted = "AUC", near
        said.append(f"{measure} {', '.join(worst)}, asked for {wanted}")
    yield ConvergenceWarning(f"{status.value} Reached: {'; '.join(said)}.{advice}")


def other_ways(solution: Solution, asked: Sequence[Constraint]) -> str:
    """Say what is left to do where no fit was found."""
    said, names = "", [name_of(each) for each in asked]
    if solution.status is Status.INFEASIBLE and "residual" not in names:
        said = " A constant prediction would satisfy the constraint; it was not used."
    if solution.status is Status.INFEASIBLE and "distribution" in names:
        said += " RankFairPostprocessor on an unconstrained fit reaches any KS."
    return said


def outside_in_tasks(solution: Solution, rows: TrainingRows) -> Iterator[Warning]:
    """Say how many tasks are outside their band, or that none has one."""
    if not isinstance(solution, TaskSolution):
        return
    states, names = solution.task_status, rows.layout.tasks.tolist()
    alone = states.count(TaskStatus.ONE_GROUP_ONLY)
    if alone == len(states):
        yield InputWarning(
            "tasks",
            "has no task with rows of both groups: there is nothing to balance within "
            "tasks",
            cure=(Argument("scope", "global"), " balances all rows together."),
        )
    far = [names[j] for j, s in enumerate(states) if s is TaskStatus.INFEASIBLE]
    if far:
        yield ConvergenceWarning(
            f"{len(far)} of {len(states) - alone} tasks with both groups are outside "
            f"their band: {listed(far, 3)}; see unbalanced_tasks_."
        )


def cautions(
    model: Any, settings: FairSettings, solution: Solution, rows: TrainingRows
) -> Iterator[Warning]:
    """Return what a user should know of this fit."""
    if rows.weights is not None and rows.weights.mean() > 10:
        yield InputWarning(
            "sample_weight",
            f"has a mean of {rows.weights.mean():.3g}: whole weights mean repeated "
            "rows",
            cure="Divide survey weights by their mean.",
        )
    if not rows.attributes:
        yield no_groups()
        return
    if model.blind:
        yield from one_group_note(_by_task(rows, it) for it in rows.attributes)
        yield from _tellers(rows)
    line, count = solution.line, settings.counted_on
    if line is None:
        return
    yield from _within_noise(solution, line, count)
    if count == "train":
        return
    if 2 * line.alone > len(rows.y):
        yield UserWarning(
            f"{line.alone} of {counted(len(rows.y), 'row')} are alone in their task. "
            "Such a row has no task when it is left out, so training rows were counted "
            "instead. The task column looks like an identifier."
        )
    elif line.left_out is not None:
        yield from _in_steps(rows)
        if len(rows.attributes) == 1 and len(rows.attributes[0].labels) == 2:
            yield from _even_shares(_by_task(rows, rows.attributes[0]))


def _by_task(rows: TrainingRows, groups: SensitiveGroups) -> Floats:
    """How many rows each task has of each group: (k, groups)."""
    k, g = len(rows.layout.tasks), len(groups.labels)
    cells = g * rows.codes + groups.codes
    if groups.known is not None:
        cells = cells[groups.known]
    return np.bincount(cells, minlength=k * g).reshape(k, g).astype(np.float64)


def one_group_note(tables: Iterable[Floats]) -> Iterator[Warning]:
    """Say that tasks tell the groups of most rows.

    A table of each feature says how many rows each task has of each group.
    """
    for table in tables:
        sizes = table.sum(axis=1)
        alone = sizes[table.max(axis=1) == sizes].sum()
        shares = table.sum(axis=0) / sizes.sum()
        chance = (sizes * (shares ** sizes[:, None]).sum(axis=1)).sum()
        share, by_chance = alone / sizes.sum(), chance / sizes.sum()
        if share > max(0.5, by_chance + 0.25):
            yield UserWarning(
                f"{share:.0%} of rows are in tasks of one group only: the task "
                "tells the group there, and the model is blind in name only."
            )
            return


def _tellers(rows: TrainingRows) -> Iterator[Warning]:
    """Predictors that tell a group from the others alone."""
    for each in rows.attributes:
        known: Any = slice(None) if each.known is None else each.known
        masks = [mask[known] for mask in each.masks()]
        for f, name in enumerate(rows.layout.names):
            column = rows.predictor(f)[known]
            auc = max((_told_apart(column, it) for it in masks), key=_off_half)
            if _off_half(auc) >= GIVEN_AWAY - 0.5:
                yield UserWarning(
                    f"predictor {shown(name)} tells the groups apart alone (AUC "
                    f"{auc:.3f}): the model is blind in name only. Leave the column "
                    "out of X."
                )


def _told_apart(column: Floats, mask: Any) -> float:
    """The AUC of one column, all rows counted only where a sample is near an end."""
    rank, auc = Rank(), 0.5
    for step in (max(1, len(column) // SAMPLE), 1):
        groups = Groups(mask[::step])
        if min(groups.total_a, groups.total_b) < 10:
            continue
        auc = rank.show(rank.value(column[::step], groups), groups)
        if _off_half(auc) < GIVEN_AWAY - 0.5:
            break
    return auc


def _within_noise(solution: Solution, line: Line, count: str) -> Iterator[Warning]:
    """Free gaps that chance explains, where meeting the band costs something.

    Of large data some rows, which tell of most gaps, are looked at before all.
    """
    rows, problem = line.counted(count), line.fitter.rows
    lam, free = np.array(solution.multipliers), np.zeros(len(solution.multipliers))
    pairs = all(each.constraint.pairs for each in rows.demands)
    if not (lam.any() and pairs and line.fitter.penalty.quadratic):
        return
    at = slice(None) if rows is line.trained or line.rows is None else line.rows
    y, tasks = problem.y[at], problem.codes[problem.order][at]
    weights = None if problem.weights is None else problem.weights[at]
    for step in dict.fromkeys((max(1, len(y) >> 15), 1)):
        some = slice(None, None, step)
        w = None if weights is None else weights[some]
        off = [rows.standard(x, some) - y[some] for x in (free, lam)]
        before, after = (math.sqrt(np.average(it * it, weights=w)) for it in off)
        if not after > EXPENSIVE * before > 0:
            return
        m = rows.units.of_user(rows.standard(free, some))
        asked = [(it.constraint, it.groups.take(some)) for it in rows.demands]
        found = [_near_band(*it, m, tasks[some]) for it in asked if it[1].both]
        near = [each for each in found if each is not None]
        if len(near) < len(found):
            return
    worst, unit = max(near, key=lambda each: _off_half(each.value)), problem.y_unit
    which = "training" if rows is line.trained else "left-out"
    yield UserWarning(
        f"the gap may be chance: without the constraint the AUC is "
        f"{worst.value:.3f} (95 % confidence interval {worst.ci_low:.3f} to "
        f"{worst.ci_high:.3f}). The constraint costs {after / before - 1:.1%} of "
        f"error on {which} rows (RMSE {before * unit:.4g} before, {after * unit:.4g} "
        "after); a larger epsilon costs less."
    )


def _near_band(
    constraint: Constraint, groups: Groups, predicted: Floats, tasks: Ints
) -> Estimate | None:
    """The AUC with its interval as in an audit, if that reaches into the band."""
    epsilon = constraint.epsilon
    low = 0.5 if constraint.side == "upper" else 0.5 - epsilon
    rows = np.arange(len(tasks))
    if groups.known is not None:
        rows = np.flatnonzero(groups.known)
        groups = groups.take(rows)
    own = tasks[rows].astype(np.intp) if tasks.any() else None
    weights = None if groups.weights is None else groups.weights.astype(float)
    found = auc_of_rows(predicted[rows], groups.in_a, own, weights, 0.95)
    return found if found.ci_low <= 0.5 + epsilon and found.ci_high >= low else None


def _in_steps(rows: TrainingRows) -> Iterator[Warning]:
    """Few distinct rows: ranks move in steps."""
    for n in (4 * FEW_DISTINCT, len(rows.y)):  # a few rows may be enough to tell
        seen = rows.X[:n]
        if issparse(seen):  # equal rows have equal sums, and others have others
            seen = seen @ np.random.default_rng(0).normal(size=seen.shape[1])
        some = np.column_stack((rows.codes[:n], seen))
        distinct = len(np.unique(some, axis=0))
        if distinct >= min(FEW_DISTINCT, len(rows.y) / 2):
            return
    yield InputWarning(
        "X",
        f"has {distinct} distinct rows: ranks move in steps, and a band may be met "
        "by ties alone",
    )


def _even_shares(table: Floats) -> Iterator[Warning]:
    """Groups in equal shares of every task, which left-out counts do not expect."""
    table = table[table.sum(axis=1) > 1]
    if len(table) < 10:
        return
    sizes, share = table.sum(axis=1), table[:, 1].sum() / table.sum()
    expected = share * sizes
    spread = ((table[:, 1] - expected) ** 2 / (expected * (1 - share))).sum()
    free = len(table) - 1
    if spread < free - 3 * np.sqrt(2 * free):  # three standard deviations
        yield InputWarning(
            "sensitive_features",
            "has groups whose shares in the tasks vary less than by chance, as if by "
            "design: counts on left-out rows are 0.01 to 0.02 too low then",
            cure=(Argument("count", "train"), " does not have this bias."),
        )
