"""The values that the paper prints in Tables II and III, and how near ours come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from paper.methods import PAPERS
from paper.summary import IDEAL, Summary

# Columns of ours that stand for a column of the paper.
SAME = {"Rank (paper)": "Rank", "SDBC (ADM)": "SDBC"}
CLOSE = 0.02
METRICS = ("auc", "md", "br", "irr")


class Count(NamedTuple):
    """How many of some figures are close."""

    close: int
    of: int


class Agreement(NamedTuple):
    """A column of the paper, and in how many datasets each measure of it is met."""

    method: str
    counts: dict[str, Count]


@cache
def printed_tables() -> dict[str, dict[str, dict[str, list[float]]]]:
    """Return all cells by dataset, metric and column of the paper."""
    text = Path(__file__).with_name("printed.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, dict[str, list[float]]]] = json.loads(text)
    return found


def printed(data: str, method: str, metric: str) -> tuple[float, float | None] | None:
    """Return the value of a cell of the paper with its standard deviation, if any.

    Examples
    --------
    >>> printed("crime", "Rank", "auc")
    (0.495, 0.001)
    >>> printed("crime", "SSEM s=2", "auc")
    (0.686, None)
    >>> printed("crime", "Data", "br")
    """
    cell = printed_tables()[data].get(metric, {}).get(SAME.get(method, method))
    if cell is None:
        return None
    return cell[0], cell[1] if len(cell) > 1 else None


def folded(metric: str, value: float) -> float:
    """Return a printed value in the one orientation that all columns are shown in.

    Examples
    --------
    >>> folded("auc", 0.489), folded("irr", 0.8), folded("md", -0.1)
    (0.511, 0.8, -0.1)
    """
    if metric == "auc":
        return max(value, 1 - value)
    return min(value, 1 / value) if metric == "irr" else value


def best_printed(data: str, methods: Iterable[str], metric: str) -> float | None:
    """Return the printed value nearest to what is ideal, in the common orientation.

    Of several columns the best is taken, whichever is ours.

    Examples
    --------
    >>> best_printed("crime", ["Rank"], "auc")
    0.505
    >>> best_printed("crime", ["Rank + Mean"], "auc")
    """
    cells = (printed(data, method, metric) for method in methods)
    values = [folded(metric, cell[0]) for cell in cells if cell is not None]
    return min(values, key=lambda it: abs(it - IDEAL[metric]), default=None)


def agreement(summary: Summary, data: Sequence[str]) -> list[Agreement]:
    """Count the datasets in which ours is within `CLOSE` of the printed value."""
    return [
        Agreement(method, {it: _count(summary, data, method, it) for it in METRICS})
        for method in PAPERS
    ]


def _count(summary: Summary, data: Sequence[str], method: str, metric: str) -> Count:
    pairs = [
        (ours.mean, folded(metric, theirs[0]))
        for name in data
        if (ours := summary.shown(name, method, metric)) is not None
        and (theirs := printed(name, method, metric)) is not None
    ]
    return Count(sum(abs(a - b) <= CLOSE for a, b in pairs), len(pairs))


def residual_identity(data: Sequence[str]) -> Count:
    """Count the printed columns that meet what the definitions say.

    BR is the mean of ``y − ŷ``, A less B, so it is MD of the data less MD of the
    predictions, whatever the method.

    Examples
    --------
    >>> residual_identity(["crime"])
    Count(close=9, of=10)
    """
    met, of = 0, 0
    for name in data:
        base = printed(name, "Data", "md")
        for method in PAPERS:
            md, br = printed(name, method, "md"), printed(name, method, "br")
            if base is None or md is None or br is None:
                continue
            of += 1
            met += abs(base[0] - md[0] - br[0]) <= CLOSE
    return Count(met, of)
