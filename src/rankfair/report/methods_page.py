"""The page that compares methods: one picture, one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankfair.audit.records import Provenance
from rankfair.paths import Path
from rankfair.report.explorer import explorer
from rankfair.report.frontier import Dot, draw
from rankfair.report.page import facts_of, fill, origin
from rankfair.report.text import View, alike, cell, decimals
from rankfair.stats.estimate import Estimate

COLUMNS = (
    ("RMSE", "root of the mean squared error"),
    ("Rank gap", "distance of the rank AUC from 0.5"),
    ("Difference of means", "mean prediction, one group less the other"),
    ("KS distance", "largest difference of the shares above any cut-off"),
    ("AUC within tasks", "the rank AUC among rows of one task"),
)
FORMS = (alike, decimals, alike, decimals, decimals)
NO_TASKS = Estimate(math.nan)


@dataclass(frozen=True)
class MethodLine:
    """One method: its error, and the gaps it leaves between the groups.

    ``auc_gap`` is ``|AUC − 1/2|``, ``note`` a caution, and ``groups`` the groups that
    the gaps are between ("M v F").
    """

    method: str
    rmse: Estimate
    auc_gap: Estimate
    mean_difference: Estimate
    ks: Estimate
    chosen: bool = False
    note: str = ""
    groups: str = ""
    within_task_auc: Estimate = NO_TASKS

    @property
    def figures(self) -> tuple[Estimate, ...]:
        """The estimates, in the order of the columns."""
        overall = self.rmse, self.auc_gap, self.mean_difference, self.ks
        return *overall, self.within_task_auc


@dataclass(frozen=True)
class MethodTable:
    """Methods on one dataset, side by side.

    Attributes
    ----------
    lines : tuple of MethodLine
        In the order in which they are shown.
    provenance : Provenance
        Where the numbers come from.
    summary : str
        The main result, in one sentence.
    curve : bool
        The lines are one method with several ε: points of a curve.
    confidence : float
        Confidence level of the intervals.
    title : str
        The title of the page.
    notes : tuple of str
        How the figures were made, in paragraphs.
    """

    lines: tuple[MethodLine, ...]
    provenance: Provenance
    summary: str = ""
    curve: bool = False
    confidence: float = 0.95
    title: str = "Methods compared"
    notes: tuple[str, ...] = ()

    @property
    def of_groups(self) -> str:
        """The groups of all lines; empty if they differ or are not named."""
        named = {line.groups for line in self.lines if line.groups}
        return next(iter(named)) if len(named) == 1 else ""


def render_comparison(
    table: MethodTable, path: Path | None = None, reference: str = ""
) -> str:
    """Return methods side by side as one HTML page that needs no other file.

    The lines of a path can be explored on it, where the path has views; the reference
    group has the first colour.

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
    explored = None if path is None else explorer(path, reference)
    more = () if explored is None else ("explorer",)
    return fill("methods.html.j2", {**_view(table), "explorer": explored}, *more)


def _view(table: MethodTable) -> View:
    made = table.provenance
    confidence = f"{100 * table.confidence:g} %"
    numbers = {} if table.curve else _numbers(table.lines)
    dots = _dots(table.lines, numbers, table.curve)
    columns = zip(*(line.figures for line in table.lines), strict=True)
    known = [not all(math.isnan(e.value) for e in column) for column in columns]
    shown = [i for i in range(len(COLUMNS)) if known[i] or not any(known)]
    return {
        "title": table.title,
        "summary": table.summary,
        "facts": facts_of(made, confidence),
        "picture": draw(dots, table.curve),
        "curve": table.curve,
        "columns": [COLUMNS[i] for i in shown],
        "rows": [
            {
                # "ε = 0.1" stays on one line.
                "method": line.method.replace("ε = ", "ε\u00a0=\u00a0"),
                "chosen": line.chosen,
                "note": line.note,
                "number": numbers.get(line.method, 0),
                "cells": [cell(line.figures[i], FORMS[i]) for i in shown],
                "groups": "" if table.of_groups else line.groups,
            }
            for line in table.lines
        ],
        "of_groups": table.of_groups,
        "notes": table.notes,
        "confidence": confidence,
        "provenance": origin(made),
    }


def _dots(
    lines: Sequence[MethodLine], numbers: dict[str, int], curve: bool
) -> list[Dot]:
    """The points; of a curve only the ends and the chosen one are named."""
    ends = {0, len(lines) - 1}
    return [
        Dot(
            line.auc_gap,
            line.rmse,
            line.method if line.chosen or not curve or i in ends else "",
            line.chosen,
            numbers.get(line.method, 0),
        )
        for i, line in enumerate(lines)
    ]


def _numbers(lines: Sequence[MethodLine], most_names: int = 3) -> dict[str, int]:
    """Numbers of the methods that have a point; none if there is room for names."""
    drawn = [
        line.method
        for line in lines
        if math.isfinite(line.auc_gap.value) and math.isfinite(line.rmse.value)
    ]
    if len(drawn) <= most_names:
        return {}
    return {method: i for i, method in enumerate(drawn, 1)}
