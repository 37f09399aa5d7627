"""What a fit came to: attributes of every estimator, and warnings.

A warning is an object; `tell` shows all that a fit has collected.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from rankfair.constraints.base import Constraint
from rankfair.constraints.rank import Rank
from rankfair.core.blocks import linear_predict
from rankfair.core.problem import Groups as RowGroups
from rankfair.core.ranks import Duels, counts_of
from rankfair.estimators.settings import FairSettings, name_of
from rankfair.estimators.trade_off import TradeOff, trade_off_of
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import Argument, InputWarning, counted, listed, shown
from rankfair.input.groups import SensitiveGroups, plain_labels
from rankfair.input.training import TrainingRows, feature_record
from rankfair.penalties.pool import Pool
from rankfair.solvers.base import Line, Solution, Status
from rankfair.solvers.by_task import TaskSolution, TaskStatus
from rankfair.solvers.counted import Counted
from rankfair.stats.auc import auc_estimate
from rankfair.stats.estimate import Estimate, TwoGroups
from rankfair.stats.ordered import placements

GIVEN_AWAY = 0.95  # the AUC of a predictor that tells the groups apart alone
SAMPLE = 4096  # rows on which predictors are looked at first
FEW_DISTINCT = 16
EXPENSIVE = 1.05  # left-out error of the fit over that of the unconstrained one

# Attributes


def linear_attributes(solution: Solution, rows: TrainingRows, X: Any) -> dict[str, Any]:
    """Return the fitted attributes that all estimators have."""
    penalty = solution.penalty
    return {
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
        "loo_predictions_": _left_out_predictions(solution, rows.kept),
    }


def fitted_attributes(
    model: Any,
    settings: FairSettings,
    solution: Solution,
    rows: TrainingRows,
    X: Any,
    auc: float | None = None,
) -> dict[str, Any]:
    """Return all attributes of a fitted `RankFairRegressor`.

    ``auc`` is that of two groups in training rows that are not in memory.
    """
    asked = settings.constraints
    linear = solution.coef, solution.intercept, solution.resolution
    if auc is not None:
        aucs = pair_attributes(auc, rows.attributes[0].labels)
    else:
        aucs = auc_attributes(rows, linear_predict(rows.X, rows.codes, *linear))
    return {
        **linear_attributes(solution, rows, X),
        **group_attributes(model, rows),
        **aucs,
        "status_": str(solution.status),
        "constraint_values_": farthest_values(solution.values, asked),
        "loo_auc_": max(solution.left_out_aucs, key=_off_half, default=math.nan),
        "proxy_auc_": max((0.5, *solution.proxy_aucs)) if asked else math.nan,
        "multiplier_": _multiplier(solution),
        "_trade_off": trade_off_of(solution, settings.solver, *asked),
        "_rows": _user_rows(solution, rows),
        **_task_attributes(solution, rows),
        "trace_": [(step.objective, step.auc) for step in solution.trace],
    }


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
    if not asked:
        return {}
    by_constraint = np.reshape(values, (len(asked), -1))
    return {
        name_of(each): _farthest(each, row)
        for each, row in zip(asked, by_constraint, strict=True)
    }


def _farthest(constraint: Constraint, values: Floats) -> float:
    at = np.abs(values - constraint.middle).argmax()
    return float(values[at])


def attributes_at(trade_off: TradeOff, asked: Constraint, model: Any) -> dict[str, Any]:
    """Return the attributes that another ε changes."""
    x, value, inside = trade_off.multiplier(asked)
    coef, intercept = trade_off.coefficients(x)
    k = len(model.tasks_)
    status = Status.SATISFIED if x else Status.INACTIVE
    fitted: dict[str, Any] = {
        "coef_": coef[:k],
        "intercept_": intercept[:k],
        "shared_coef_": coef[k] if len(coef) > k else None,
        "shared_intercept_": float(intercept[k]) if len(coef) > k else None,
        "status_": str(status if inside else Status.INFEASIBLE),
        "multiplier_": x,
        "constraint_values_": {name_of(asked): value},
        "rank_auc_": math.nan,
        "loo_auc_": math.nan,
        "loo_predictions_": None,
        "group_auc_": {},
        "pairwise_auc_": {},
        "objective_": math.nan,
        "trace_": [],
    }
    if trade_off.counted is None or trade_off.trained is None:
        return fitted
    lam = np.array([x])
    (auc,) = trade_off.trained.aucs(lam)
    fitted |= pair_attributes(auc, model.groups_)
    if trade_off.left_out:
        fitted["loo_auc_"] = trade_off.counted.aucs(lam)[0]
        places, n_rows = model._rows
        rows = slice(None) if trade_off.rows is None else trade_off.rows
        found = np.full(n_rows, np.nan)
        found[places[rows]] = trade_off.counted.at(lam)
        fitted["loo_predictions_"] = found
    return fitted


def _left_out_predictions(solution: Solution, kept: Any) -> Floats | None:
    """Return the prediction of each row by the fit without it, NaN where there is none.

    ``kept`` are the rows of those given that weigh something.  None if no row can be
    left out.
    """
    line = solution.line
    if line is None or line.left_out is None or not line.in_memory:
        return None
    order = line.fitter.rows.order
    found = np.full(len(order), np.nan)
    rows = slice(None) if line.rows is None else line.rows
    found[order[rows]] = line.left_out.at(np.array(solution.multipliers))
    return spread(found, kept)


def spread(values: Floats, kept: Any = None) -> Floats:
    """Return a value for every row that was given, NaN for those not ``kept``."""
    if kept is None:
        return values
    every = np.full(len(kept), np.nan)
    every[kept] = values
    return every


def _user_rows(
    solution: Solution, rows: TrainingRows
) -> tuple[NDArray[np.intp], int] | None:
    """Return the place of each sorted row among those given, and how many these are."""
    if solution.line is None or not solution.line.in_memory:
        return None
    order = solution.line.fitter.rows.order.astype(np.intp)
    if rows.kept is None:
        return order, len(order)
    return np.flatnonzero(rows.kept)[order], len(rows.kept)


def _multiplier(solution: Solution) -> float:
    """Return the multiplier of the constraint, of several the largest; NaN if none."""
    if solution.status is Status.INACTIVE:
        return 0.0
    return max(solution.multipliers, key=abs, default=math.nan)


def _task_attributes(solution: Solution, rows: TrainingRows) -> dict[str, Any]:
    """Return what became of each task; None where tasks were not asked."""
    names = ("task_auc_", "task_values_", "task_status_", "unbalanced_tasks_")
    if not isinstance(solution, TaskSolution):
        return dict.fromkeys(names)
    status = np.array([str(each) for each in solution.task_status])
    unbalanced = _unbalanced(solution, rows)
    values = (solution.task_aucs, solution.task_values, status, unbalanced)
    return dict(zip(names, values, strict=True))


def _unbalanced(solution: TaskSolution, rows: TrainingRows) -> dict[Any, str]:
    """Return the tasks without a band, or outside it, and why."""
    assert rows.layout.groups is not None
    groups = rows.layout.groups.tolist()
    found = {}
    labels = plain_labels(rows.layout.tasks.tolist())
    for j, status in enumerate(solution.task_status):
        if status is TaskStatus.ONE_GROUP_ONLY:
            absent = [
                shown(group)
                for group, total in zip(groups, solution.task_totals[j], strict=True)
                if not total > 0
            ]
            found[labels[j]] = f"It has no rows of group {' or '.join(absent)}."
        elif status is TaskStatus.INFEASIBLE:
            came = f"{solution.task_values[j]:.4g}"
            found[labels[j]] = f"{status.value} It came to {came}."
    return found


# Warnings


def tell(found: Iterable[Warning], depth: int = 1) -> None:
    """Show warnings where the user has called ``fit``.

    ``depth`` is how many calls lie between: scikit-learn's callbacks are one.
    """
    for each in found:
        warnings.warn(each, stacklevel=depth + 3)


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
    pairs = zip(reached(values, asked, attributes), asked, strict=True)
    came = "; ".join(f"{it}, asked for {_asked_for(each)}" for it, each in pairs)
    yield ConvergenceWarning(f"{status.value} Reached: {came}.{advice}")


def reached(
    values: Sequence[float],
    asked: Sequence[Constraint],
    attributes: Sequence[SensitiveGroups],
) -> list[str]:
    """Return what each constraint came to, in each attribute."""
    ends = np.cumsum([len(each.masks()) for each in attributes])[:-1]
    rows = np.reshape(values, (len(asked), -1))
    said = []
    for constraint, row in zip(asked, rows, strict=True):
        digits = ".4g" if constraint.linear else ".4f"
        worst = [_farthest(constraint, part) for part in np.split(row, ends)]
        each = [f"{value:{digits}}" for value in worst]
        if len(attributes) > 1:
            names = [it.name for it in attributes]
            each = [f"{it} for {name}" for it, name in zip(each, names, strict=True)]
        said.append(f"{_measure(constraint)} {', '.join(each)}")
    return said


def _measure(constraint: Constraint) -> str:
    """What the value of a constraint is called."""
    if constraint.pairs:
        return "AUC"
    return f"{name_of(constraint)} gap" if constraint.linear else "KS"


def _asked_for(constraint: Constraint) -> str:
    if not constraint.pairs:
        return f"{constraint.epsilon:g}"
    within = f"within {constraint.epsilon:g} of 0.5"
    return within if constraint.epsilon else "exactly 0.5"


def other_ways(solution: Solution, asked: Sequence[Constraint]) -> str:
    """Say what is left to do where no fit was found."""
    if solution.status is not Status.INFEASIBLE:
        return ""
    said = ""
    if not any(name_of(each) == "residual" for each in asked):
        said = " A constant prediction would satisfy the constraint; it was not used."
    if any(each.two_groups_only for each in asked):
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
        return
    if model.blind:
        for each in rows.attributes:
            yield from one_group_note(_by_task(rows, each), _of(each, rows))
            yield from _tellers(rows, each)
    line, count = solution.line, settings.counted_on
    if line is None or not isinstance(line.trained, Counted) or model.scope != "global":
        return
    yield from _within_noise(solution, line, count)
    if count == "train":
        return
    if 2 * line.alone > len(rows.y):
        yield UserWarning(
            f"{counted(line.alone, 'row')} of {len(rows.y)} are the only one of their "
            "task: left out, they are of no task, so training rows were counted. The "
            "task column looks like an identifier."
        )
    elif line.left_out is not None:
        yield from _in_steps(rows)
        if len(rows.attributes) == 1 and len(rows.attributes[0].labels) == 2:
            yield from _even_shares(_by_task(rows, rows.attributes[0]))


def _of(each: SensitiveGroups, rows: TrainingRows) -> str:
    """Name the attribute where there are several."""
    return f" of {each.name}" if len(rows.attributes) > 1 else ""


def _by_task(rows: TrainingRows, groups: SensitiveGroups) -> Floats:
    """How many rows each task has of each group: (k, groups)."""
    k, g = len(rows.layout.tasks), len(groups.labels)
    cells = g * rows.codes + groups.codes
    if groups.known is not None:
        cells = cells[groups.known]
    return np.bincount(cells, minlength=k * g).reshape(k, g).astype(np.float64)


def one_group_note(table: Floats, of: str = "") -> Iterator[Warning]:
    """Most rows in tasks of one group, from the rows of each task and group."""
    sizes = table.sum(axis=1)
    alone = sizes[table.max(axis=1) == sizes].sum()
    shares = table.sum(axis=0) / sizes.sum()
    chance = (sizes * (shares ** sizes[:, None]).sum(axis=1)).sum()
    share, by_chance = alone / sizes.sum(), chance / sizes.sum()
    if share > max(0.5, by_chance + 0.25):
        yield UserWarning(
            f"{share:.0%} of rows are in tasks of one group{of}: a task's intercept is "
            "the group there, and the model is blind in name only."
        )


def _tellers(rows: TrainingRows, groups: SensitiveGroups) -> Iterator[Warning]:
    """Predictors that tell a group from the others alone."""
    labels, masks = groups.labels.tolist(), groups.masks()
    named = labels if len(masks) > 1 else [None]
    known: Any = slice(None)
    own = {*rows.group_predictors}
    if groups.known is not None:
        known = groups.known
    for f, name in enumerate(rows.layout.names):
        if f in own:
            continue
        for label, mask in zip(named, masks, strict=True):
            auc = _told_apart(rows.X[known, f], mask[known])
            if max(auc, 1 - auc) < GIVEN_AWAY:
                continue
            who = "the groups" if label is None else f"group {shown(label)}"
            yield UserWarning(
                f"predictor {shown(name)} tells {who}{_of(groups, rows)} apart alone "
                f"(AUC {auc:.3f}): the model is blind in name only. Leave the column "
                "out of X."
            )


def _told_apart(column: Floats, mask: Any) -> float:
    """The AUC of one column, all rows counted only where a sample is near an end."""
    rank, auc = Rank(), 0.5
    for step in (max(1, len(column) // SAMPLE), 1):
        groups = RowGroups(mask[::step])
        if min(groups.total_a, groups.total_b) < 10:
            continue
        auc = rank.show(rank.value(column[::step], groups), groups)
        if max(auc, 1 - auc) < GIVEN_AWAY or step == 1:
            break
    return auc


def counted_error(line: Line, count: str, lam: Floats) -> tuple[float, str]:
    """Return the root mean squared error at ``λ``, and of which rows it is."""
    problem, rows = line.fitter.rows, _counted(line, count)
    off = rows.standard(lam) - problem.y[_places(line, count)]
    w = None if problem.weights is None else problem.weights[_places(line, count)]
    error = float(np.sqrt(np.average(off * off, weights=w))) * problem.y_unit
    return error, "training" if rows is line.trained else "left-out"


def _counted(line: Line, count: str) -> Counted:
    """The rows in memory that are counted."""
    rows = line.counted(count)
    assert isinstance(rows, Counted)
    return rows


def _places(line: Line, count: str) -> Any:
    """Where these rows are among the sorted ones."""
    every = line.counted(count) is line.trained or line.rows is None
    return slice(None) if every else line.rows


def _within_noise(solution: Solution, line: Line, count: str) -> Iterator[Warning]:
    """Free gaps that chance explains, where meeting the band costs something."""
    rows, lam = _counted(line, count), np.array(solution.multipliers)
    free = np.zeros(len(lam))
    if not (lam.any() and line.fitter.penalty.quadratic):
        return
    if not all(each.constraint.pairs for each in rows.demands):
        return
    (before, which), (after, _) = (counted_error(line, count, x) for x in (free, lam))
    if not after > EXPENSIVE * before > 0:
        return
    problem = line.fitter.rows
    tasks = problem.codes[problem.order][_places(line, count)]
    found = []
    for demand in rows.demands:
        groups, constraint = demand.groups, demand.constraint
        low, high = 0.5 - constraint.epsilon, 0.5 + constraint.epsilon
        low = 0.5 if constraint.side == "upper" else low
        auc = Rank().show(Rank().estimate(rows.q, groups)[0], groups)
        if low <= auc <= high:
            continue
        predicted = rows.at(free)
        for step in (max(1, len(tasks) >> 15), 1):  # a sample of large data first
            at = slice(None, None, step)
            if not (sample := groups.take(at)).both:
                continue
            own = _auc(predicted[at], sample, tasks[at])
            if own.ci_low > high or own.ci_high < low:
                return
        found.append(own)
    if not found:
        return
    worst = max(found, key=lambda each: abs(each.value - 0.5))
    yield UserWarning(
        f"what is outside the band may be chance: without the constraint the AUC is "
        f"{worst.value:.3f} (95 % confidence interval {worst.ci_low:.3f} to "
        f"{worst.ci_high:.3f}). The constraint costs {after / before - 1:.1%} of "
        f"error on {which} rows (RMSE {before:.4g} before, {after:.4g} after); a "
        "larger epsilon costs less."
    )


def _auc(predicted: Floats, groups: RowGroups, tasks: Codes) -> Estimate:
    """The AUC with its confidence interval, tasks as clusters as in an audit."""
    known = np.ones(len(tasks), bool) if groups.known is None else groups.known
    in_a, own = groups.in_a[known], tasks[known].astype(np.intp)
    weights = None if groups.weights is None else groups.weights[known].astype(float)
    placed = placements(predicted[known], in_a, weights)
    sides = TwoGroups.of(in_a, ~in_a, own if tasks.any() else None, weights)
    return auc_estimate(*placed, sides, 0.95)


def _in_steps(rows: TrainingRows) -> Iterator[Warning]:
    """Few distinct rows: ranks move in steps."""
    head = np.column_stack((rows.codes[:SAMPLE], rows.X[:SAMPLE]))
    if len(np.unique(head[: 4 * FEW_DISTINCT], axis=0)) >= FEW_DISTINCT:
        return
    every = np.column_stack((rows.codes, rows.X))
    distinct = len(np.unique(every, axis=0))
    if distinct < min(FEW_DISTINCT, len(every) / 2):
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
            "has groups whose shares of tasks vary less than by chance, as if by "
            "design: left-out counts are 0.01 to 0.02 low then",
            cure=(Argument("count", "train"), " does not have this bias."),
        )
