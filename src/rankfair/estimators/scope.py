"""What `scope` adds to an estimator: checks, the solver, attributes, warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfair._frames import counted, shown
from rankfair._groups import plain_labels
from rankfair._validation import Rows, is_pair
from rankfair.constraints import Constraint
from rankfair.core.problem import Problem
from rankfair.solvers import OnStep, Request, Solution, Solver, Tilt
from rankfair.solvers.by_task import (
    TaskSolution,
    TaskStatus,
    solve_tasks,
)

__all__ = [
    "SCOPES",
    "check_scope",
    "groups_there",
    "solve_scope",
    "task_attributes",
    "warn_tasks",
]

SCOPES = ("global", "task", "both")
NAMED = 3  # tasks that a warning names


def check_scope(
    scope: str, solver: Solver, constraints: tuple[Constraint, ...]
) -> None:
    """Refuse what bands in tasks cannot go with."""
    if scope == "global":
        return
    if not isinstance(solver, Tilt):
        raise ValueError(
            f'scope="{scope}" searches one multiplier a task, as solver="tilt" does; '
            f'got solver={solver!r}. Use solver="tilt", or scope="global".'
        )
    if not constraints[0].by_task:
        name = type(constraints[0]).__name__.lower()
        raise ValueError(
            f'scope="{scope}" has no constraints="{name}": it cannot be asked of every '
            'task. Use scope="global", or constraints="rank".'
        )
    if len(constraints) > 1:
        raise ValueError(
            f'scope="{scope}" keeps one constraint in each task; got '
            f"{len(constraints)}. Use "
            'scope="global", or one constraint.'
        )


def solve_scope(
    scope: str,
    rows: Rows,
    problem: Problem,
    request: Request,
    constraint: Constraint,
    on_step: OnStep,
) -> TaskSolution:
    """Fit with a band in every task and, for "both", one over all rows."""
    if not is_pair(rows.attributes):
        raise ValueError(
            f'scope="{scope}" constraints two groups of one attribute, known for all '
            f"rows; sensitive_features has {groups_there(rows)}. {_cure(rows)}"
        )
    penalty = request.of_targets(problem, *problem.sums(()))[0]
    return solve_tasks(problem, penalty, constraint, on_step, scope == "both")


def _cure(rows: Rows) -> str:
    if len(rows.attributes) > 1:
        return 'Use scope="global", or name one attribute.'
    if len(rows.attributes[0].labels) > 2:
        return 'Use scope="global", or merge groups.'
    return 'Leave these rows out, or use scope="global".'


def groups_there(rows: Rows) -> str:
    """Say what is there where two known groups were expected."""
    if len(rows.attributes) > 1:
        return f"{len(rows.attributes)} attributes"
    (only,) = rows.attributes
    if len(only.labels) > 2:
        return f"{len(only.labels)}"
    return f"{counted(only.n_unknown, 'row')} of unknown group"


def task_attributes(solution: Solution, rows: Rows) -> dict[str, Any]:
    """Return what became of each task; None where tasks were not asked."""
    if not isinstance(solution, TaskSolution):
        names = ("auc", "values", "status")
        return {f"task_{name}_": None for name in names} | {"unbalanced_tasks_": None}
    words = {each: str(each) for each in TaskStatus}
    return {
        "task_auc_": solution.task_aucs,
        "task_values_": solution.task_values,
        "task_status_": np.array([words[each] for each in solution.task_status]),
        "unbalanced_tasks_": _unbalanced(solution, rows),
    }


def _unbalanced(solution: TaskSolution, rows: Rows) -> dict[Any, str]:
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


def warn_tasks(solution: Solution, rows: Rows) -> None:
    """Say how many tasks are outside their band, or that none has one."""
    if not isinstance(solution, TaskSolution):
        return
    states, names = solution.task_status, rows.layout.tasks.tolist()
    alone = states.count(TaskStatus.ONE_GROUP_ONLY)
    if alone == len(states):
        warnings.warn(
            "no task has rows of both groups: there is nothing to balance within "
            'tasks. scope="global" constraints all rows together.',
            UserWarning,
            stacklevel=4,
        )
    outside = states.count(TaskStatus.INFEASIBLE)
    if outside:
        far = [names[j] for j, s in enumerate(states) if s is TaskStatus.INFEASIBLE]
        warnings.warn(
            f"{outside} of {len(states) - alone} tasks with both groups are outside "
            f"their band, {', '.join(map(shown, far[:NAMED]))}"
            f"{' and others' if outside > NAMED else ''}; see unbalanced_tasks_.",
            ConvergenceWarning,
            stacklevel=4,
        )
