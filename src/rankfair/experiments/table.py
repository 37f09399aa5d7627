"""The means of a comparison as the cells of a table, and the sentences below it."""

from __future__ import annotations

from collections.abc import Sequence

from rankfair.experiments.records import HELD_OUT, TRAIN, Record, Summary

__all__ = ["HEAD", "LEGEND", "cells", "errors", "notes"]

HEAD = ("method", "group", "RMSE", "AUC", "MD", "KS", "train RMSE", "train AUC")
LEGEND = (
    "Held-out rows, and on the right training rows. group: whether new rows must come "
    "with their group.",
    "RMSE: error, in standard deviations of the target. AUC: how often a row of group "
    "A is predicted above one of B; 0.5 is balanced. MD: mean prediction of A less "
    "that of B. KS: greatest distance between the distributions of the groups.",
    "The true fair score is the target of this design without the gap and without "
    "noise. No fit knows it: it is the best that is possible.",
)


def cells(summary: Sequence[Summary]) -> list[tuple[str, ...]]:
    """Return a row of text for each method.

    Parameters
    ----------
    summary : sequence of Summary
        As `summarise` returns them.

    Returns
    -------
    list of tuple of str
        A cell for each name in `HEAD`.

    Examples
    --------
    >>> from rankfair.experiments.records import Mean
    >>> figures = Mean(0.8, 0.1), Mean(0.5, 0.1), Mean(-0.0001, 0.1), Mean(0.05, 0.1)
    >>> two = [Summary("tilt", "no", rows, *figures) for rows in ("train", "held-out")]
    >>> cells(two)
    [('tilt', 'no', '0.800', '0.500', '0.000', '0.050', '0.800', '0.500')]
    """
    trained = {row.method: row for row in summary if row.rows == TRAIN}
    found = []
    for row in summary:
        if row.rows == HELD_OUT:
            own = trained[row.method]
            figures = (row.rmse, row.auc, row.md, row.ks, own.rmse, own.auc)
            shown = (f"{it.value:z.3f}" for it in figures)
            found.append((row.method, row.needs_group, *shown))
    return found


def errors(summary: Sequence[Summary], draws: int) -> str:
    """Return the sentence on draws and standard errors.

    Parameters
    ----------
    summary : sequence of Summary
        As `summarise` returns them; at least one.
    draws : int
        How many draws the means are of.

    Returns
    -------
    str

    Examples
    --------
    >>> from rankfair.experiments.records import Mean
    >>> one = Summary("tilt", "no", "held-out", *[Mean(0.5, 0.0015)] * 4)
    >>> errors([one], 20)
    'Means of 20 draws of the data. Standard errors on held-out rows are at most 0.0015
    (RMSE), 0.0015 (AUC), 0.0015 (MD), 0.0015 (KS).'
    >>> errors([one], 1)
    'One draw of the data.'
    """
    if draws < 2:
        return "One draw of the data."
    rows = [row for row in summary if row.rows == HELD_OUT]
    largest = {
        "RMSE": max(row.rmse.error for row in rows),
        "AUC": max(row.auc.error for row in rows),
        "MD": max(row.md.error for row in rows),
        "KS": max(row.ks.error for row in rows),
    }
    listed = ", ".join(f"{error:.4f} ({name})" for name, error in largest.items())
    return (
        f"Means of {draws} draws of the data. Standard errors on held-out rows are at "
        f"most {listed}."
    )


def notes(records: Sequence[Record]) -> list[str]:
    """Return what methods warned of first, and in how many draws they warned.

    Parameters
    ----------
    records : sequence of dict
        As `compare` returns them.

    Returns
    -------
    list of str
        A paragraph for each method that warned.

    Examples
    --------
    >>> notes([])
    []
    """
    draws = len({row["seed"] for row in records})
    said: dict[str, dict[int, str]] = {}
    for row in records:
        if row["note"]:
            said.setdefault(row["method"], {})[row["seed"]] = row["note"]
    return [
        f"{method}, in {len(by)} of {draws} draws: {next(iter(by.values()))}"
        for method, by in said.items()
    ]
