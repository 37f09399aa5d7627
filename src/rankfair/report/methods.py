"""The page that compares methods: one picture, one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rankfair.audit.records import FrontierPoint, Provenance
from rankfair.report.frontier import Dot, draw
from rankfair.report.page import fill
from rankfair.report.text import View, alike, cell, decimals
from rankfair.report.view import dots_of, facts_of, origin
from rankfair.stats.estimate import Estimate

__all__ = ["MethodLine", "MethodTable", "render_comparison"]

COLUMNS = (
    ("RMSE", "root of the mean squared error"),
    ("Rank gap", "distance of the rank AUC from 0.5"),
    ("Difference of means", "mean prediction, one group less the other"),
    ("KS distance", "largest difference of the shares above any cut-off"),
)
FORMS = (alike, decimals, alike, decimals)


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

    @property
    def figures(self) -> tuple[Estimate, ...]:
        """The estimates, in the order of the columns."""
        return self.rmse, self.auc_gap, self.mean_difference, self.ks


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
    path : tuple of FrontierPoint
        A curve of one method for several ε, if there is one.
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
    path: tuple[FrontierPoint, ...] = ()
    confidence: float = 0.95
    title: str = "Methods compared"
    notes: tuple[str, ...] = ()

    @property
    def of_groups(self) -> str:
        """The groups of all lines; empty if they differ or are not named."""
        named = {line.groups for line in self.lines if line.groups}
        return next(iter(named)) if len(named) == 1 else ""


def render_comparison(table: MethodTable) -> str:
    """Return methods side by side as one HTML page that needs no other file.

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
    on_path = {(p.auc_gap.value, p.rmse.value) for p in table.path}
    alone = [
        line
        for line in table.lines
        if (line.auc_gap.value, line.rmse.value) not in on_path
    ]
    numbers = _numbers(alone)
    columns = zip(*(line.figures for line in table.lines), strict=True)
    known = [not all(math.isnan(e.value) for e in column) for column in columns]
    shown = [i for i in range(len(COLUMNS)) if known[i] or not any(known)]
    return {
        "title": table.title,
        "summary": table.summary,
        "facts": facts_of(made, confidence),
        "picture": draw(
            [
                Dot(e.auc_gap, e.rmse, e.method, e.chosen, numbers.get(e.method, 0))
                for e in alone
            ],
            dots_of(table.path),
        ),
        "only_path": bool(table.path) and not alone,
        "has_path": len(table.path) > 1,
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
