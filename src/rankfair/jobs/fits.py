"""`rankfair fit`: a model file, and what it changed, on rows left out of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from rankfair.audit import Audit
from rankfair.files.model_files import save_model
from rankfair.input.errors import counted, listed
from rankfair.jobs.audits import audit_table
from rankfair.jobs.columns import NotEstimableError, Reading, Roles
from rankfair.jobs.groups import Folds
from rankfair.jobs.rows import FREE, Data, HeldOut, OnStep, Settings, data_of

__all__ = ["Fitted", "fit_files"]

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True)
class Fitted:
    """A model, where it is, and what it changed.

    Attributes
    ----------
    model : RankFairRegressor
        Fitted to all rows.
    path : Path or None
        The model file.
    n_rows : int
        Rows fitted; those of weight 0 are not.
    audit : Audit or None
        Predictions without and with the constraint; None for rows that are not in
        memory.
    measured : {"left out", "held out", "fitted"}
        Which rows are audited: each left out of one fit, held out in folds, or those
        fitted.
    notes : tuple of str
        What a person should know.
    details : str
        How each column of text became numbers.
    """

    model: Any
    path: Path | None
    n_rows: int
    audit: Audit | None
    measured: str
    notes: tuple[str, ...]
    details: str = ""


def fit_files(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    settings: Settings,
    *,
    out: Path | None = None,
    folds: int = 5,
    cap: int = 50,
    notes: str | None = None,
    command: str | None = None,
    title: str | None = None,
    on_step: OnStep = None,
) -> Fitted:
    """Fit a model to the rows of some files and report what it changed.

    Models with and without the constraint predict rows that they have not seen, and
    these predictions are audited: each row is left out of one fit or, where there is no
    formula for that, held out in one of several folds.  The model that is kept is
    fitted to all rows.

    Parameters
    ----------
    files : sequence of str
        CSV or Parquet files.
    roles : Roles
        Target, protected columns, tasks; all other columns are predictors.
    reading : Reading
        How the files are written.
    settings : Settings
        What the model is asked for.
    out : Path, optional
        The model file; without it the model is not kept.
    folds : int, default=5
        How many folds, where rows cannot be left out of one fit; 0 reports on the rows
        fitted.
    cap : int, default=50
        The most categories of a column of text.
    notes : str, optional
        A few words to keep in the model file.
    command, title : str, optional
        To be shown on the page.
    on_step : callable, optional
        Told of each step: its name, its number and how many there are.

    Returns
    -------
    Fitted
        The model and the report.
    """
    tell = on_step or (lambda name, step, steps: None)
    tell("reading", 1, 4)
    data = data_of(files, roles, reading, cap)
    parts = _folds(data, folds, settings)
    model = settings.model(data.design.roles)
    everything = np.arange(len(data.y))
    tell("fitting to all rows", 2, 4)
    final = data.fit(model, everything)
    free = clone(model).set_params(epsilon=FREE, constraints="rank", scope="global")
    # Left out, every row is measured from one fit; else there are folds.
    left_out = folds > 0 and settings.scope == "global"
    left_out = left_out and final.loo_predictions_ is not None
    if left_out:
        tell("fitting without the constraint", 4, 4)
        unconstrained = data.fit(free, everything)
        before = HeldOut(unconstrained.loo_predictions_, 0, 1)
        after = HeldOut(final.loo_predictions_, 0, 1)
    else:
        tell("fitting folds without the constraint", 3, 4)
        before = data.held_out(free, parts)
        tell("fitting folds with the constraint", 4, 4)
        after = data.held_out(model, parts)
    measured = "left out" if left_out else "held out" if folds else "fitted"
    judged = np.flatnonzero(~np.isnan(after.values))
    found = audit_table(
        data.table,
        roles,
        rows=judged,
        bins=settings.bins,
        models={BEFORE: before.values[judged], AFTER: after.values[judged]},
        intersect=settings.intersect,
        command=command,
        title=title or _title(settings, measured),
        random_state=settings.seed,
    )
    path = None
    if out is not None:
        path = save_model(final, out, notes=notes, extra=data.design.to_dict())
    left = _left_note(len(data.y) - len(judged))
    said = (*data.notes, *data.unknown_notes, _fold_note(after), left)
    return Fitted(
        final,
        path,
        data.n_counting,
        found,
        measured=measured,
        notes=tuple(filter(None, said)),
        details=data.design.details,
    )


def _folds(data: Data, folds: int, settings: Settings) -> Folds:
    try:
        return data.folds(folds, settings)
    except NotEstimableError as error:
        raise NotEstimableError(
            f"{error} --folds 0 reports on the rows fitted."
        ) from None


def _title(settings: Settings, measured: str) -> str:
    """Say what is compared: a fit without and with its limit, and on which rows."""
    where = "the rows fitted" if measured == "fitted" else f"rows {measured}"
    what = (
        ""
        if settings.constraints == ("rank",)
        else f" on {listed(settings.constraints)}"
    )
    each = settings.epsilon
    widths = each if isinstance(each, tuple) else (each,)
    limit = ", ".join(f"{width:g}" for width in widths)
    return f"Fit before and after the limit ε = {limit}{what}, on {where}"


def _fold_note(after: HeldOut) -> str:
    return f"In the report, {after.note}." if after.note else ""


def _left_note(count: int) -> str:
    if not count:
        return ""
    return (
        f"{counted(count, 'row is', 'rows are')} not in the report: the only row of a "
        "task, or of weight 0, cannot be held out."
    )
