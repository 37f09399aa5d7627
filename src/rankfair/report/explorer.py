"""The explorer of a path: what a slider over ε shows, made beforehand as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rankfair.input.errors import clipped
from rankfair.paths import Path, PathRow, PathView, PathViews
from rankfair.report.distributions import COLOURS
from rankfair.report.privacy import small
from rankfair.report.text import (
    Scale,
    View,
    alike,
    around_half,
    as_json,
    count,
    covering,
    number_of,
    round_number,
    shown,
)

UNIT = 10_000  # places on a picture, and shares, are whole numbers up to this
LONGEST = 22  # letters of a name in a picture


def explorer(path: Path, reference: str = "", suppress: int = 5) -> View | None:
    """Return what the template of the explorer reads; None where a path has no views.

    The reference group has the first colour, as in an audit.  Groups and tasks of
    fewer rows than ``suppress``, and the next smallest, are not drawn.

    The data are one state for each ε, with places on pictures as whole numbers and
    with all texts made, so that the page itself does no arithmetic.
    """
    if path.views is None:
        return None
    path = path.distinct()
    if len(path.rows) < 2:
        return None
    assert path.views is not None
    hidden = hidden_groups(path, suppress)
    groups = [name for name in path.groups if name not in hidden]
    places = [path.groups.index(name) for name in groups]
    views, last = _shown(path.views, places, suppress), path.rows[-1]
    epsilons = [f"{row.epsilon:.3g}" for row in path.rows]
    order = sorted(groups, key=lambda name: name != reference)
    colours = [order.index(name) % COLOURS + 1 for name in groups]
    return {
        "n_tasks": views.n_tasks,
        "n_hidden": len(path.views.tasks) - len(views.tasks),
        "n_hidden_groups": len(hidden),
        "least": suppress,
        "group": views.group,
        "against": views.against,
        "last": epsilons[-1],
        "is_free": last.status == "inactive",
        "n_states": len(path.rows),
        "colours": [*zip(groups, colours, strict=True)],
        "data": as_json({**_data(path, views, epsilons), "colours": colours}),
    }


def hidden_groups(path: Path, suppress: int) -> frozenset[str]:
    """The groups that the page does not draw."""
    assert path.views is not None
    sizes = zip(path.groups, path.views.group_sizes, strict=True)
    return small(dict(sizes), suppress)


def small_tasks(views: PathViews, suppress: int) -> frozenset[str]:
    """The tasks that the page does not show."""
    sides = zip(*views.task_sizes, strict=True)
    few = (small(dict(zip(views.tasks, n, strict=True)), suppress) for n in sides)
    return frozenset().union(*few)


def _shown(views: PathViews, groups: Sequence[int], suppress: int) -> PathViews:
    """The views of some groups, without tasks of few rows."""
    hidden = small_tasks(views, suppress)
    kept = [i for i, task in enumerate(views.tasks) if task not in hidden]
    return replace(
        views,
        tasks=tuple(views.tasks[i] for i in kept),
        task_sizes=tuple(views.task_sizes[i] for i in kept),
        views=tuple(
            replace(
                view,
                shares=tuple(view.shares[g] for g in groups),
                means=tuple(view.means[g] for g in groups),
                moves=tuple(view.moves[g] for g in groups),
                task_aucs=tuple(view.task_aucs[i] for i in kept),
            )
            for view in views.views
        ),
    )


def _data(path: Path, views: PathViews, epsilons: Sequence[str]) -> dict[str, Any]:
    x = Scale(views.edges[0], views.edges[-1], 0, UNIT)
    rows, errors = path.rows, [row.rmse for row in path.rows]
    ends = [v for row in rows for v in (row.rmse_ci_low, row.rmse_ci_high)]
    y = Scale(*covering([*errors, *ends]), 0, UNIT)
    shares = [v for view in views.views for each in view.shares for v in each]
    most = max(shares, default=0.0) or 1.0
    aucs = [v for view in views.views for v in (*view.task_aucs, view.within.value)]
    auc = Scale(*around_half([*aucs, *(row.auc for row in rows)]), 0, UNIT)
    texts = _texts(path, views, epsilons)
    marked = next((i for i, row in enumerate(rows) if row.no_worse), None)
    return {
        # Where nothing moves there is nothing to see.
        "start": 0 if marked in (None, len(rows) - 1) else marked,
        "marked": marked,
        "x": x.ticks(),
        "y": y.ticks(3),
        "auc": auc.ticks(4),
        "tasks": [clipped(shown(name), LONGEST) for name in views.tasks],
        "nRows": path.n_held_out,
        "steps": [f"more than {step}" for step in map(round_number, views.steps)],
        "states": [
            {**_state(row, view, (x, y, auc), most), **text}
            for row, view, text in zip(rows, views.views, texts, strict=True)
        ],
    }


def _state(
    row: PathRow, view: PathView, scales: tuple[Scale, Scale, Scale], most: float
) -> dict[str, Any]:
    """Places on the pictures of one ε."""
    x, y, auc = scales
    band = row.rmse_ci_low, row.rmse, row.rmse_ci_high
    aucs = row.auc, view.within.value, *view.task_aucs
    return {
        "shares": [[round(UNIT * v / most) for v in each] for each in view.shares],
        "means": [_placed(x, mean) for mean in view.means],
        "error": [_placed(y, v) for v in band],
        "aucs": [_placed(auc, v) for v in aucs],
        "moved": list(view.moved),
    }


def _placed(scale: Scale, value: float) -> int | None:
    return round(scale.clipped(value)) if math.isfinite(value) else None


def _texts(
    path: Path, views: PathViews, epsilons: Sequence[str]
) -> list[dict[str, Any]]:
    """What is said of each ε."""
    errors = alike([row.rmse for row in path.rows])
    moves = alike([move for view in views.views for move in view.moves])
    n, least = len(views.views[0].moves), min(row.rmse for row in path.rows)
    return [
        {
            "epsilon": epsilons[i],
            "status": "" if row.status in ("satisfied", "inactive") else row.status,
            "rmse": errors[i],
            "said": " ".join(
                (
                    _of_error(row, errors[i], least),
                    _of_pairs(row, path, views, i),
                    _of_moves(views, i, path.n_held_out, epsilons[-1]),
                )
            ),
            "moves": [
                text if text[0] in "−0" else f"+{text}"
                for text in moves[n * i : n * (i + 1)]
            ],
        }
        for i, row in enumerate(path.rows)
    ]


def _of_error(row: PathRow, error: str, least: float) -> str:
    above = 100 * (row.rmse / least - 1) if least > 0 else 0.0
    if above < 0.05:
        return f"The error is {error}, the least."
    sure = "within one standard error" if row.no_worse else "more than chance explains"
    return f"The error is {error}, {above:.1f} % above the least: {sure}."


def _of_pairs(row: PathRow, path: Path, views: PathViews, i: int) -> str:
    """Who is predicted above whom, overall and within tasks."""
    others = [name for name in path.groups if name != row.group]
    against = isolated(others[0]) if len(others) == 1 else "the rest"
    said = f"{isolated(row.group)} above {against}: {100 * row.auc:.1f} % of pairs"
    within = views.views[i].within.value
    if math.isnan(within):
        return f"{said}."
    whose = "" if row.group == views.group else f" ({isolated(views.group)})"
    return f"{said}, {100 * within:.1f} % within tasks{whose}."


def _of_moves(views: PathViews, i: int, n_rows: int, last: str) -> str:
    if i == len(views.views) - 1:
        return "All other ε are compared with this one."
    if not views.steps:
        return f"No row moves, compared with ε\u00a0=\u00a0{last}."
    moved, step = views.views[i].moved[0], round_number(views.steps[0])
    rows = number_of(n_rows)
    return (
        f"{count(moved)} of {rows} move by more than {step} from ε\u00a0=\u00a0{last}."
    )


def isolated(name: str) -> str:
    """Return a name that keeps its direction of writing to itself."""
    return f"\u2068{shown(name)}\u2069"
