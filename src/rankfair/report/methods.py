"""Methods side by side on a page: one picture, one table."""

from __future__ import annotations

from rankfair.report.cells import View, cell
from rankfair.report.frontier import Dot, draw
from rankfair.report.page import fill
from rankfair.report.records import MethodLine, MethodTable
from rankfair.report.text import alike
from rankfair.report.view import dots_of, facts_of, origin

__all__ = ["render_comparison"]

COLUMNS = (
    ("RMSE", "root of the mean squared error"),
    ("Rank gap", "distance of the rank AUC from 0.5"),
    ("Difference of means", "mean prediction, one group less the other"),
    ("KS distance", "largest difference of the shares above any cut-off"),
)


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
    >>> from rankfair.inference.estimate import Estimate
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
    return {
        "title": table.title,
        "summary": table.summary,
        "facts": facts_of(made, confidence),
        "picture": draw([_dot(line) for line in table.lines], dots_of(table.path)),
        "has_path": len(table.path) > 1,
        "columns": COLUMNS,
        "rows": [_row(line) for line in table.lines],
        "notes": table.notes,
        "confidence": confidence,
        "provenance": origin(made),
    }


def _dot(line: MethodLine) -> Dot:
    gap, error = line.auc_gap, line.rmse
    return Dot(
        gap.value,
        error.value,
        gap.low,
        gap.high,
        error.low,
        error.high,
        line.method,
        line.chosen,
    )


def _row(line: MethodLine) -> View:
    return {
        "method": line.method,
        "chosen": line.chosen,
        "note": line.note,
        "cells": [
            cell(line.rmse, alike),
            cell(line.auc_gap),
            cell(line.mean_difference, alike),
            cell(line.ks),
        ],
    }
