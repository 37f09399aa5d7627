"""How far our figures are from the printed ones, and the printed from themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rankfair.experiments.reproduce.methods import PAPERS
from rankfair.experiments.reproduce.printed import printed
from rankfair.experiments.reproduce.summary import IDEAL, Summary

__all__ = [
    "CLOSE",
    "Agreement",
    "Count",
    "agreement",
    "best_printed",
    "folded",
    "residual_identity",
]

CLOSE = 0.02
METRICS = ("auc", "md", "br", "irr")


class Count(NamedTuple):
    """In how many datasets a figure is close to the printed one."""

    close: int
    of: int


class Agreement(NamedTuple):
    """A column of the paper, and how often each measure of it is met."""

    method: str
    counts: dict[str, Count]


def agreement(summary: Summary, data: Sequence[str]) -> list[Agreement]:
    """Count the datasets in which ours is within `CLOSE` of the printed value.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets whose records are there.

    Returns
    -------
    list of Agreement
        One a column of the paper.

    Examples
    --------
    >>> agreement(Summary([]), [])[0].method
    'Data'
    """
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


def folded(metric: str, value: float) -> float:
    """Return a printed value in the one orientation that all columns are shown in.

    Parameters
    ----------
    metric : str
    value : float

    Returns
    -------
    float
        AUC not below 1/2, IRR not above 1, anything else as it is.

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

    Parameters
    ----------
    data : str
        The dataset.
    methods : iterable of str
        Columns of the paper; of several the best is taken, whichever is ours.
    metric : str

    Returns
    -------
    float or None
        None if nothing is printed.

    Examples
    --------
    >>> best_printed("crime", ["Rank"], "auc")
    0.505
    >>> best_printed("crime", ["Rank + Mean"], "auc")
    """
    cells = (printed(data, method, metric) for method in methods)
    values = [folded(metric, cell[0]) for cell in cells if cell is not None]
    return min(values, key=lambda it: abs(it - IDEAL[metric]), default=None)


def residual_identity(data: Sequence[str]) -> Count:
    """Count the printed columns that meet what the definitions say.

    BR is the mean of ``y − ŷ``, A less B, so it is MD of the data less MD of the
    predictions, whatever the method.

    Parameters
    ----------
    data : sequence of str
        The datasets to look at.

    Returns
    -------
    Count
        Columns where the printed three differ by at most `CLOSE`.

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
