"""Methods side by side on a page: one picture, one table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rankfair.report.cells import View, cell
from rankfair.report.frontier import Dot, draw
from rankfair.report.page import fill
from rankfair.report.records import MethodLine, MethodTable
from rankfair.report.text import alike, decimals
from rankfair.report.view import dots_of, facts_of, origin
from rankfair.stats.estimate import Estimate

__all__ = ["render_comparison"]

# More names than this beside their points run into each other: numbers do not.
MOST_NAMES = 3

COLUMNS = (
    ("RMSE", "root of the mean squared error"),
    ("Rank gap", "distance of the rank AUC from 0.5"),
    ("Difference of means", "mean prediction, one group less the other"),
    ("KS distance", "largest difference of the shares above any cut-off"),
)
FORMS = (alike, decimals, alike, decimals)


def render_comparison(table: MethodTable) -> str:
    """Return methods side by side as one page that needs no other file.

    Parameters
    ----------
    table : MethodTable
        Error and distances of each method, and a path if there is one.

    Returns
    -------
    str
        A whole HTML document.

    Examples
    --------
    >>> from rankfair.audit.records import Provenance
    >>> from rankfair.stats.estimate import Estimate
    >>> one = Estimate(0.1, 0.05, 0.15)
    >>> line = MethodLine("tilt", one, one, one, one)
    >>> page = render_comparison(MethodTable((line,), Provenance(100, 4, "9f2c")))
    >>> "0.0500 to 0.1500" in page
    True
    """
    return fill("methods.html.j2", _view(table))


def _view(table: MethodTable) -> View:
    made = table.provenance
    confidence = f"{100 * table.confidence:g} %"
    on_path = {(p.auc_gap, p.rmse) for p in table.path}
    alone = [
        line
        for line in table.lines
        if (line.auc_gap.value, line.rmse.value) not in on_path
    ]
    numbers = _numbers(alone)
    picture = draw([_dot(line, numbers) for line in alone], dots_of(table.path))
    shown = _columns(table.lines)
    return {
        "title": table.title,
        "summary": table.summary,
        "facts": facts_of(made, confidence),
        "picture": picture,
        "only_path": bool(table.path) and not alone,
        "has_path": len(table.path) > 1,
        "columns": [COLUMNS[i] for i in shown],
        "rows": [
            {
                **_row(line, numbers, shown),
                "groups": "" if table.of_groups else line.groups,
            }
            for line in table.lines
        ],
        "of_groups": table.of_groups,
        "notes": table.notes,
        "confidence": confidence,
        "provenance": origin(made),
    }


def _numbers(lines: Sequence[MethodLine]) -> dict[str, int]:
    """Numbers of the methods that have a point, where there are many."""
    drawn = [
        line.method
        for line in lines
        if math.isfinite(line.auc_gap.value) and math.isfinite(line.rmse.value)
    ]
    if len(drawn) <= MOST_NAMES:
        return {}
    return {method: i for i, method in enumerate(drawn, 1)}


def _columns(lines: Sequence[MethodLine]) -> list[int]:
    """The columns that some line has a figure for; all of them if there is none."""
    found = [
        i
        for i in range(len(COLUMNS))
        if any(not math.isnan(_figures(line)[i].value) for line in lines)
    ]
    return found or list(range(len(COLUMNS)))


def _figures(line: MethodLine) -> tuple[Estimate, ...]:
    return line.rmse, line.auc_gap, line.mean_difference, line.ks


def _dot(line: MethodLine, numbers: Mapping[str, int]) -> Dot:
    gap, error = line.auc_gap, line.rmse
    return Dot(
        gap.value,
        error.value,
        gap.ci_low,
        gap.ci_high,
        error.ci_low,
        error.ci_high,
        line.method,
        line.chosen,
        numbers.get(line.method, 0),
    )


def _row(line: MethodLine, numbers: Mapping[str, int], shown: Sequence[int]) -> View:
    return {
        # A limit stays on one line with its sign.
        "method": line.method.replace("ε = ", "ε\u00a0=\u00a0"),
        "chosen": line.chosen,
        "note": line.note,
        "number": numbers.get(line.method, 0),
        "cells": [cell(_figures(line)[i], FORMS[i]) for i in shown],
    }
