"""What a user should know of a fit: groups that predictors give away, counts in steps.

Each caution is a sentence or nothing; `cautions` collects those of one fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rankfair._frames import Floats, counted, shown
from rankfair._validation import Rows
from rankfair.constraints import Rank
from rankfair.core.problem import Groups
from rankfair.solvers import Solution

__all__ = ["cautions"]

GIVEN_AWAY = 0.95  # the AUC of a predictor that tells the groups apart alone
MOSTLY = 0.5  # the share of rows in tasks of one group that makes a model blind in name
BY_CHANCE = 0.25  # how far that share has to exceed what chance would give
SAMPLE = 4096  # rows on which predictors are looked at first
FEW_DISTINCT = 16
HEAVY = 10.0  # mean weight
MANY_TASKS = 10
EVEN = 3.0  # standard deviations below chance of shares that are equal by design


def cautions(model: Any, solution: Solution, rows: Rows) -> Iterator[str]:
    """Return what a user should know of this fit."""
    if rows.weights is not None and rows.weights.mean() > HEAVY:
        yield (
            f"sample_weight has a mean of {rows.weights.mean():.3g}: whole weights "
            "mean repeated rows. Divide survey weights by their mean."
        )
    if rows.in_a is None:
        return
    if model.blind:
        yield from _blind_in_name(rows)
    line = solution.line
    if model.count == "train" or line is None or model.scope != "global":
        return
    if 2 * line.alone > len(rows.y):
        yield (
            f"{counted(line.alone, 'row')} of {len(rows.y)} are the only one of their "
            "task: left out, they are of no task, so training rows were counted. The "
            "task column looks like an identifier."
        )
    elif line.left_out is not None:
        yield from _in_steps(rows)
        yield from _even_shares(rows)


def _blind_in_name(rows: Rows) -> Iterator[str]:
    """Tasks that hold one group, and predictors that are the group."""
    share, chance = _one_group_share(rows)
    if share > MOSTLY and share > chance + BY_CHANCE:
        yield (
            f"{share:.0%} of rows are in tasks of one group: a task's intercept is the "
            "group there, and the model is blind in name only."
        )
    for name, auc in _tellers(rows):
        yield (
            f"predictor {shown(name)} tells the groups apart alone (AUC {auc:.3f}): "
            "the model is blind in name only. Leave the column out of X."
        )


def _one_group_share(rows: Rows) -> tuple[float, float]:
    """The share of rows in tasks of one group, and what chance would give."""
    table = _by_task(rows)
    sizes = table.sum(axis=1)
    alone = sizes[table.max(axis=1) == sizes].sum()
    shares = table.sum(axis=0) / sizes.sum()
    chance = (sizes * (shares ** sizes[:, None]).sum(axis=1)).sum()
    return float(alone / sizes.sum()), float(chance / sizes.sum())


def _by_task(rows: Rows) -> Floats:
    """How many rows each task has of each group: (k, 2)."""
    assert rows.in_a is not None
    k = len(rows.layout.tasks)
    cells = np.bincount(2 * rows.codes + rows.in_a, minlength=2 * k)
    return cells.reshape(k, 2).astype(float)


def _tellers(rows: Rows) -> Iterator[tuple[str, float]]:
    """Predictors that tell the groups apart alone; a sample is looked at first."""
    assert rows.in_a is not None
    rank, own = Rank(), {*rows.group_predictors}
    some = slice(None, None, max(1, len(rows.y) // SAMPLE))
    for f, name in enumerate(rows.layout.names):
        if f in own:
            continue
        auc = 0.5
        for at in (some, slice(None)):
            groups = Groups(rows.in_a[at])
            if not (groups.total_a and groups.total_b):
                break
            value = rank.value(np.ascontiguousarray(rows.X[at, f]), groups)
            auc = rank.show(value, groups)
            if max(auc, 1 - auc) < GIVEN_AWAY:
                break
        if max(auc, 1 - auc) >= GIVEN_AWAY:
            yield name, auc


def _in_steps(rows: Rows) -> Iterator[str]:
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


def _even_shares(rows: Rows) -> Iterator[str]:
    """Groups in equal shares of every task, which left-out counts do not expect."""
    table = _by_task(rows)
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
