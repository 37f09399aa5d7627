"""What the docs page says beside tables and claims: looked up, never typed."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

from rankfair.datasets import income, student, wine
from rankfair.datasets.income import load_income
from rankfair.experiments.reproduce.agreement import residual_identity
from rankfair.experiments.reproduce.cases import (
    LAST_WEEKS,
    ROWS_PER_TASK,
    TRAIN_SHARE,
)
from rankfair.experiments.reproduce.methods import NARROW, PAPERS
from rankfair.experiments.reproduce.printed import printed
from rankfair.experiments.reproduce.settings import DATASETS
from rankfair.experiments.reproduce.summary import Summary
from rankfair.experiments.reproduce.tables import number, title_of

__all__ = ["HUGE", "constants", "fixed", "huge", "of_paper", "widest"]

HUGE = 2.0  # in standard deviations of y: twice the error of a constant
FLAT = 1e-9


def constants(summary: Summary, data: Sequence[str]) -> list[str]:
    """Return where one of the paper's methods left nothing but a constant.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets whose records are there.

    Returns
    -------
    list of str
        Datasets and methods whose RMSE is 1 in every repeat.

    Examples
    --------
    >>> row = {"kind": "table", "data": "wine", "method": "SDBC", "rows": "train"}
    >>> constants(Summary([row | {"rmse": 1.0}]), ["wine"])
    ['Wine: SDBC']
    """
    return [
        f"{title_of(name)}: {method}"
        for name in data
        for method in PAPERS
        if summary.most(name, method, "rmse", ideal=1.0) < FLAT
    ]


def huge(summary: Summary, data: Sequence[str]) -> list[str]:
    """Return where SSBR errs more than `HUGE` on training rows, with its RMSE.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets whose records are there.

    Returns
    -------
    list of str

    Examples
    --------
    >>> row = {"kind": "table", "data": "wine", "method": "SSBR s=4", "rows": "train"}
    >>> huge(Summary([row | {"rmse": 12.0}]), ["wine"])
    ['Wine: SSBR s=4 12.000']
    """
    return [
        f"{title_of(name)}: {method} {number(rmse.mean, rmse.sd)}"
        for name in data
        for method in PAPERS
        if method.startswith("SSBR")
        and (rmse := summary.stat(name, method, "rmse")) is not None
        and rmse.mean > HUGE
    ]


def widest(summary: Summary, data: Sequence[str]) -> float | None:
    """Return the largest |MD| of SDBC in any repeat, None if it was not run.

    Parameters
    ----------
    summary : Summary
        Of the records.
    data : sequence of str
        The datasets whose records are there.

    Returns
    -------
    float or None

    Examples
    --------
    >>> widest(Summary([]), ["wine"])
    """
    ran = [name for name in data if summary.rows(name, "SDBC")]
    return max((summary.most(name, "SDBC", "md") for name in ran), default=None)


def of_paper() -> dict[str, Any]:
    """Return what the page says of the printed values.

    Returns
    -------
    dict

    Examples
    --------
    >>> of_paper()["printed_sdbc"]
    0.775
    """
    apart = (printed(name, "SDBC", "md") for name in DATASETS)
    data = {it: printed("synthetic 0.9", "Data", it) for it in ("auc", "md", "irr")}
    return {
        "identity": residual_identity(DATASETS),
        "printed_sdbc": max(abs(cell[0]) for cell in apart if cell is not None),
        "printed_data": {it: cell[0] for it, cell in data.items() if cell},
    }


def fixed() -> dict[str, Any]:
    """Return what the code settles and no option changes.

    Returns
    -------
    dict

    Examples
    --------
    >>> fixed()["last_weeks"], fixed()["held_out_percent"]
    (12, 30)
    """
    return {
        "rows_per_task": ROWS_PER_TASK,
        "held_out_percent": round(100 * (1 - TRAIN_SHARE)),
        "last_weeks": LAST_WEEKS,
        "narrow": NARROW,
        "wine_share": round(100 * wine.SHARE),
        "student_share": round(100 * student.SHARE),
        "factors": (wine.FACTOR, student.FACTOR, income.FACTOR),
        "income_auc": income.BIASED_AUC,
        "income_cut": signature(load_income).parameters["cut"].default,
    }
