"""What a user should know of a fit: groups that predictors give away, counts in steps.

Each caution is a sentence or nothing; `cautions` collects those of one fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankfair.constraints import Rank
from rankfair.core.problem import Groups as RowGroups
from rankfair.estimators.settings import FairSettings
from rankfair.input.arrays import Codes, Floats
from rankfair.input.columns import TrainingRows
from rankfair.input.errors import counted, shown
from rankfair.input.groups import SensitiveGroups
from rankfair.solvers import Counted, Line, Solution
from rankfair.stats.auc import auc_estimate
from rankfair.stats.estimate import Estimate, TwoGroups
from rankfair.stats.ordered import placements

__all__ = ["cautions", "counted_error", "one_group_note"]

ENOUGH = 10  # rows of a group of which a predictor can tell
GIVEN_AWAY = 0.95  # the AUC of a predictor that tells the groups apart alone
MOSTLY = 0.5  # the share of rows in tasks of one group that makes a model blind in name
BY_CHANCE = 0.25  # how far that share has to exceed what chance would give
SAMPLE = 4096  # rows on which predictors are looked at first
FEW_DISTINCT = 16
HEAVY = 10.0  # mean weight
MANY_TASKS = 10
EVEN = 3.0  # standard deviations below chance of shares that are equal by design
EXPENSIVE = 1.05  # left-out error of the fit over that of the unconstrained one


def cautions(
    model: Any, settings: FairSettings, solution: Solution, rows: TrainingRows
) -> Iterator[str]:
    """Return what a user should know of this fit."""
    if rows.weights is not None and rows.weights.mean() > HEAVY:
        yield (
            f"sample_weight has a mean of {rows.weights.mean():.3g}: whole weights "
            "mean repeated rows. Divide survey weights by their mean."
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
        yield (
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


def one_group_note(table: Floats, of: str = "") -> Iterator[str]:
    """Most rows in tasks of one group, from the rows of each task and group."""
    sizes = table.sum(axis=1)
    alone = sizes[table.max(axis=1) == sizes].sum()
    shares = table.sum(axis=0) / sizes.sum()
    chance = (sizes * (shares ** sizes[:, None]).sum(axis=1)).sum()
    share, by_chance = alone / sizes.sum(), chance / sizes.sum()
    if share > MOSTLY and share > by_chance + BY_CHANCE:
        yield (
            f"{share:.0%} of rows are in tasks of one group{of}: a task's intercept is "
            "the group there, and the model is blind in name only."
        )


def _tellers(rows: TrainingRows, groups: SensitiveGroups) -> Iterator[str]:
    """Predictors that tell a group from the others alone."""
    labels, masks = groups.labels.tolist(), groups.masks()
    named = labels if len(masks) > 1 else [None]
    known, own = np.arange(len(rows.y)), {*rows.group_predictors}
    if groups.known is not None:
        known = known[groups.known]
    for f, name in enumerate(rows.layout.names):
        if f in own:
            continue
        for label, mask in zip(named, masks, strict=True):
            auc = _told_apart(rows.X[:, f], mask, known)
            if max(auc, 1 - auc) < GIVEN_AWAY:
                continue
            who = "the groups" if label is None else f"group {shown(label)}"
            yield (
                f"predictor {shown(name)} tells {who}{_of(groups, rows)} apart alone "
                f"(AUC {auc:.3f}): the model is blind in name only. Leave the column "
                "out of X."
            )


def _told_apart(column: Floats, mask: Any, known: Codes) -> float:
    """The AUC of one column, all rows counted only where a sample is near an end."""
    rank, auc = Rank(), 0.5
    for at in (known[:: max(1, len(known) // SAMPLE)], known):
        groups = RowGroups(mask[at])
        if min(groups.total_a, groups.total_b) < ENOUGH:
            continue
        auc = rank.show(rank.value(column[at], groups), groups)
        if max(auc, 1 - auc) < GIVEN_AWAY or len(at) == len(known):
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


def _within_noise(solution: Solution, line: Line, count: str) -> Iterator[str]:
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
    tasks = np.repeat(problem.blocks.tasks, problem.blocks.sizes)[_places(line, count)]
    found = []
    for demand in rows.demands:
        groups, constraint = demand.groups, demand.constraint
        low, high = 0.5 - constraint.epsilon, 0.5 + constraint.epsilon
        low = 0.5 if constraint.side == "upper" else low
        auc = Rank().show(Rank().estimate(rows.q, groups)[0], groups)
        if low <= auc <= high:
            continue
        if max(low - auc, auc - high) > 2 * _most_error(groups, tasks):
            return
        own = _auc(rows.at(free), groups, tasks)
        if own.ci_low > high or own.ci_high < low:
            return
        found.append(own)
    if not found:
        return
    worst = max(found, key=lambda each: abs(each.value - 0.5))
    yield (
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


def _most_error(groups: RowGroups, tasks: Codes) -> float:
    """The largest standard error that an AUC can have, tasks taken as clusters."""
    found = 0.0
    for own in (groups.in_a, ~groups.in_a):
        by_task = np.bincount(
            tasks, own if groups.weights is None else own * groups.weights
        )
        found += 0.25 * float((by_task**2).sum() / by_task.sum() ** 2)
    return float(np.sqrt(found))


def _in_steps(rows: TrainingRows) -> Iterator[str]:
    """Few distinct rows: ranks move in steps."""
    head = np.column_stack((rows.codes[:SAMPLE], rows.X[:SAMPLE]))
    if len(np.unique(head[: 4 * FEW_DISTINCT], axis=0)) >= FEW_DISTINCT:
        return
    every = np.column_stack((rows.codes, rows.X))
    distinct = len(np.unique(every, axis=0))
    if distinct < min(FEW_DISTINCT, len(every) / 2):
        yield (
            f"X has {distinct} distinct rows: ranks move in steps, and a band may be "
            "met by ties alone."
        )


def _even_shares(table: Floats) -> Iterator[str]:
    """Groups in equal shares of every task, which left-out counts do not expect."""
    table = table[table.sum(axis=1) > 1]
    if len(table) < MANY_TASKS:
        return
    sizes, share = table.sum(axis=1), table[:, 1].sum() / table.sum()
    expected = share * sizes
    spread = ((table[:, 1] - expected) ** 2 / (expected * (1 - share))).sum()
    free = len(table) - 1
    if spread < free - EVEN * np.sqrt(2 * free):
        yield (
            "the groups' shares of tasks vary less than chance would have it, as if by "
            'design: left-out counts are 0.01 to 0.02 low then. count="train" does not '
            "have this bias."
        )
