"""The explorer of a path: what a slider over ε shows, made beforehand as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from rankfair.input.errors import clipped
from rankfair.paths import Path, PathRow, PathView, PathViews
from rankfair.report import text
from rankfair.report.distributions import COLOURS
from rankfair.report.privacy import small
from rankfair.report.text import Scale, View, round_number, shown, whole

UNIT = 10_000  # places on a picture, and shares, are whole numbers up to this
LONGEST = 22  # letters of a name in a picture


def explorer(path: Path, reference: str = "", suppress: int = 5) -> View | None:
    """Return what the template of the explorer reads; None where a path has no views.

    The reference group has the first colour, as in an audit.  Groups and tasks of
    fewer rows than ``suppress``, and the next smallest, are not drawn.

    The data are one state for each ε, with places on pictures as whole numbers and
    with all texts made, so that the page itself does no arithmetic.
    """
    path = path.distinct()
    views = path.views
    if views is None or len(path.rows) < 2:
        return None
    few, small_tasks = _hidden(path, views, suppress)
    groups = [g for g, name in enumerate(path.groups) if name not in few]
    tasks = [i for i, task in enumerate(views.tasks) if task not in small_tasks]
    names, last = [path.groups[g] for g in groups], path.rows[-1]
    order = sorted(names, key=lambda name: name != reference)
    colours = [order.index(name) % COLOURS + 1 for name in names]
    data = _data(path, views, groups, tasks)
    return {
        "n_tasks": views.n_tasks,
        "n_hidden": len(small_tasks),
        "n_hidden_groups": len(few),
        "least": suppress,
        "group": views.group,
        "against": views.against,
        "last": f"{last.epsilon:.3g}",
        "is_free": last.status == "inactive",
        "n_states": len(path.rows),
        "colours": [*zip(names, colours, strict=True)],
        "data": text.as_json({**data, "colours": colours}),
    }


def not_drawn(path: Path | None, suppress: int) -> list[str]:
    """Return the names of the groups and tasks that the explorer leaves out."""
    if path is None or path.views is None:
        return []
    return sorted(frozenset().union(*_hidden(path, path.views, suppress)))


def _hidden(
    path: Path, views: PathViews, least: int
) -> tuple[frozenset[str], frozenset[str]]:
    """Small groups, and the tasks in which a group has few rows."""
    groups = zip(path.groups, views.group_sizes, strict=True)
    hidden: frozenset[str] = frozenset()
    for side in zip(*views.task_sizes, strict=True):
        left = {t: n for t, n in zip(views.tasks, side, strict=True) if t not in hidden}
        hidden |= small(left, least, sum(side) - sum(left.values()))
    return small(dict(groups), least), hidden


def _data(
    path: Path, views: PathViews, groups: Sequence[int], tasks: Sequence[int]
) -> dict[str, Any]:
    """What the script reads; groups and tasks are places of those that are shown."""
    x = Scale(views.edges[0], views.edges[-1], 0, UNIT)
    rows, every = path.rows, views.views
    errors = [(row.rmse_ci_low, row.rmse, row.rmse_ci_high) for row in rows]
    y = Scale(*text.covering(v for ends in errors for v in ends), 0, UNIT)
    shares = [v for view in every for g in groups for v in view.shares[g]]
    most = max(shares, default=0.0) or 1.0
    aucs = [
        [row.auc, view.within.value, *(view.task_aucs[i] for i in tasks)]
        for row, view in zip(rows, every, strict=True)
    ]
    auc = Scale(*text.around_half(v for each in aucs for v in each), 0, UNIT)
    marked = next((i for i, row in enumerate(rows) if row.no_worse), None)
    return {
        # Where nothing moves there is nothing to see.
        "start": 0 if marked in (None, len(rows) - 1) else marked,
        "marked": marked,
        "x": x.ticks(),
        "y": y.ticks(3),
        "auc": auc.ticks(4),
        "tasks": [clipped(shown(views.tasks[i]), LONGEST) for i in tasks],
        "nRows": path.n_held_out,
        "steps": [f"more than {step}" for step in map(round_number, views.steps)],
        "states": [
            {
                "shares": [
                    [round(UNIT * v / most) for v in view.shares[g]] for g in groups
                ],
                "means": [whole(x.clipped(view.means[g])) for g in groups],
                "error": [whole(y.clipped(v)) for v in errors[i]],
                "aucs": [whole(auc.clipped(v)) for v in aucs[i]],
                "moved": list(view.moved),
                **said,
            }
            for i, (view, said) in enumerate(
                zip(every, _texts(path, views, groups), strict=True)
            )
        ],
    }


def _texts(path: Path, views: PathViews, groups: Sequence[int]) -> list[dict[str, Any]]:
    """What is said of each ε."""
    rows, last = path.rows, len(path.rows) - 1
    errors, least = (
        text.alike([row.rmse for row in rows]),
        min(row.rmse for row in rows),
    )
    moves = iter(text.alike([view.moves[g] for view in views.views for g in groups]))
    states = zip(rows, views.views, errors, strict=True)
    return [
        {
            "epsilon": f"{row.epsilon:.3g}",
            "status": "" if row.status in ("satisfied", "inactive") else row.status,
            "rmse": error,
            "said": " ".join(
                (
                    _of_error(row, error, least),
                    _of_pairs(row, view, path.groups, views.group),
                    "All other ε are compared with this one."
                    if i == last
                    else _of_moves(view, views.steps, path.n_held_out, rows[last]),
                )
            ),
            "moves": [_signed(next(moves)) for _ in groups],
        }
        for i, (row, view, error) in enumerate(states)
    ]


def _signed(move: str) -> str:
    return move if move[0] in "−0" else f"+{move}"


def _of_error(row: PathRow, error: str, least: float) -> str:
    above = 100 * (row.rmse / least - 1) if least > 0 else 0.0
    if above < 0.05:
        return f"The error is {error}, the least."
    sure = "within one standard error" if row.no_worse else "more than chance explains"
    return f"The error is {error}, {above:.1f} % above the least: {sure}."


def _of_pairs(row: PathRow, view: PathView, groups: Sequence[str], of: str) -> str:
    """Who is predicted above whom, overall and, of one group, within tasks."""
    others = [name for name in groups if name != row.group]
    against = isolated(others[0]) if len(others) == 1 else "the rest"
    said = f"{isolated(row.group)} above {against}: {100 * row.auc:.1f} % of pairs"
    within = view.within.value
    if math.isnan(within):
        return f"{said}."
    whose = "" if row.group == of else f" ({isolated(of)})"
    return f"{said}, {100 * within:.1f} % within tasks{whose}."


def _of_moves(
    view: PathView, steps: Sequence[float], n_rows: int, last: PathRow
) -> str:
    at = f"ε\u00a0=\u00a0{last.epsilon:.3g}"
    if not steps:
        return f"No row moves, compared with {at}."
    moved = f"{text.count(view.moved[0])} of {text.number_of(n_rows)}"
    return f"{moved} move by more than {round_number(steps[0])} from {at}."


def isolated(name: str) -> str:
    """Return a name that keeps its direction of writing to itself."""
    return f"\u2068{shown(name)}\u2069"
