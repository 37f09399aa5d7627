"""`rankfair fit`: a model file, and what it changed, measured on rows held out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankfair.audit import Audit
from rankfair.estimators import RankFairRegressor
from rankfair.jobs.audits import audit_table
from rankfair.jobs.columns import (
    NotEstimableError,
    Reading,
    Roles,
    column_or_none,
    load,
    refuse_gaps,
)
from rankfair.jobs.design import Design
from rankfair.jobs.groups import Folds, folds_of
from rankfair.models import save_model
from rankfair.selection import RankFairRegressorCV
from rankfair.tables import Table

__all__ = ["Data", "Fitted", "HeldOut", "Settings", "chosen", "data_of", "fit_files"]

BEFORE, AFTER = "before", "after"
FREE = 0.5  # the band that asks for nothing


@dataclass(frozen=True)
class Settings:
    """What `RankFairRegressor` is asked for."""

    epsilon: float = 0.01
    balance: tuple[str, ...] = ("rank",)
    scope: str = "global"
    penalty: str = "task"
    beta: float | None = 1.0  # None: chosen by cross-validation
    blind: bool = False
    intersect: bool = False
    bins: int | None = None
    unseen: str = "error"
    seed: int = 0

    def model(self, roles: Roles) -> RankFairRegressor:
        """Return the estimator, not fitted."""
        more: dict[str, Any] = {}
        if self.intersect:
            more["intersect"] = True
        if self.bins is not None:
            more["bins"] = self.bins
        return RankFairRegressor(
            self.epsilon,
            tasks=_one_or_all(roles.tasks),
            sensitive_features=_one_or_all(roles.sensitive),
            blind=self.blind,
            penalty=self.penalty,
            beta=1.0 if self.beta is None else self.beta,
            balance=self.balance[0] if len(self.balance) == 1 else list(self.balance),
            scope=self.scope,
            unseen=self.unseen,
            random_state=self.seed,
            **more,
        )


@dataclass(frozen=True)
class HeldOut:
    """Predictions of rows that were held out, and how many fits missed their band."""

    values: NDArray[np.float64]
    n_missed: int
    n_fits: int

    @property
    def note(self) -> str:
        """What is to be said of the fits; empty if all is well."""
        if not self.n_missed:
            return ""
        return f"{self.n_missed} of {self.n_fits} fits did not reach the band"


@dataclass(frozen=True)
class Data:
    """Rows ready to be fitted."""

    table: Table
    roles: Roles
    design: Design
    X: Any
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None

    def fit(self, model: Any, rows: NDArray[Any]) -> Any:
        """Return a copy of a model, fitted to some rows."""
        more = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return clone(model).fit(self.X[rows.tolist()], self.y[rows], **more)

    def held_out(self, model: Any, parts: Folds) -> HeldOut:
        """Return predictions by fits to other rows; NaN where a row is in no fold."""
        out = np.full(len(self.y), math.nan)
        n_warned = 0
        for train, test in parts:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                out[test] = self.fit(model, train).predict(self.X[test.tolist()])
            n_warned += any(w.category is ConvergenceWarning for w in caught)
        return HeldOut(out, n_warned, len(parts))

    def folds(self, folds: int, settings: Settings) -> Folds:
        """Return rows to fit and rows to measure; 0 folds measure the rows fitted."""
        if folds == 0:
            everything = np.arange(len(self.y))
            return [(everything, everything)]
        return folds_of(
            self.table,
            self.roles,
            folds,
            bins=settings.bins,
            seed=settings.seed,
            weights=self.weights,
        )

    def take(self, rows: NDArray[np.bool_]) -> Data:
        """Return some rows, and count the others in a note."""
        count = int((~rows).sum())
        left = "1 row has" if count == 1 else f"{count} rows have"
        note = f"{left} no group and {'is' if count == 1 else 'are'} left out."
        table = self.table.take(rows)
        return replace(
            self,
            table=replace(table, notes=(*table.notes, note)),
            X=self.X[np.flatnonzero(rows).tolist()],
            y=self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the columns."""
        return tuple(filter(None, (*self.table.notes, self.design.message)))


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
        Rows fitted.
    audit : Audit or None
        Predictions without and with the balance, by fits to other rows; None for rows
        that are not in memory.
    held_out : bool
        Whether that is so; otherwise the audit is of the rows fitted.
    notes : tuple of str
        What a person should know.
    details : str
        How each column of text became numbers.
    """

    model: Any
    path: Path | None
    n_rows: int
    audit: Audit | None
    held_out: bool
    notes: tuple[str, ...]
    details: str = ""


def data_of(
    files: Sequence[str], roles: Roles, reading: Reading, cap: int = 50
) -> Data:
    """Read files and learn how their columns become predictors."""
    if roles.target is None:
        raise ValueError("name the column to predict with --target.")
    roles.check()
    table = load(files, roles, reading)
    for name in (*roles.numbers, *roles.tasks):
        refuse_gaps(table, name)
    design = Design.learn(table, roles, cap)
    drawn = design.draw(table)
    y = np.asarray(table[roles.target], float)
    weights = column_or_none(table, roles.weight)
    return Data(table, roles, design, drawn.X, y, weights)


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
    on_step: Any = None,
) -> Fitted:
    """Fit a model to the rows of some files and report what it changed.

    Models with and without the balance are fitted to part of the rows and predict the
    others, fold by fold; these predictions are audited.  The model that is kept is
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
        How many folds; 0 reports on the rows fitted.
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
    tell("reading", 1, 5)
    data = data_of(files, roles, reading, cap)
    try:
        parts = data.folds(folds, settings)
    except NotEstimableError as error:
        raise NotEstimableError(
            f"{error} --folds 0 reports on the rows fitted."
        ) from None
    if settings.beta is None:
        tell("choosing beta", 2, 5)
    model = chosen(data, settings)
    tell("fitting to all rows", 3, 5)
    final = data.fit(model, np.arange(len(data.y)))
    free = clone(model).set_params(epsilon=FREE, balance="rank", scope="global")
    tell("fitting folds without the balance", 4, 5)
    before = data.held_out(free, parts)
    tell("fitting folds with the balance", 5, 5)
    after = data.held_out(model, parts)
    judged = np.flatnonzero(~np.isnan(after.values))
    found = audit_table(
        data.table.take(judged),
        roles,
        bins=settings.bins,
        models={BEFORE: before.values[judged], AFTER: after.values[judged]},
        intersect=settings.intersect,
        command=command,
        title=title,
        random_state=settings.seed,
    )
    path = None
    if out is not None:
        path = save_model(final, out, notes=notes, extra=data.design.to_dict())
    said = (*data.notes, _fold_note(after), _left_note(len(data.y) - len(judged)))
    return Fitted(
        final,
        path,
        len(data.y),
        found,
        held_out=folds > 0,
        notes=tuple(filter(None, said)),
        details=data.design.details,
    )


def _fold_note(after: HeldOut) -> str:
    return f"In the report, {after.note}." if after.note else ""


def _left_note(count: int) -> str:
    if not count:
        return ""
    rows = "1 row is" if count == 1 else f"{count} rows are"
    return (
        f"{rows} not in the report: the only row of a task, or of weight 0, cannot be "
        "held out."
    )


def chosen(data: Data, settings: Settings) -> Any:
    """Return the model, with β chosen by cross-validation if that was asked for."""
    model = settings.model(data.design.roles)
    if settings.beta is not None:
        return model
    search = RankFairRegressorCV(penalties=[settings.penalty])
    known = search.get_params(deep=False)
    shared = {k: v for k, v in model.get_params(deep=False).items() if k in known}
    search.set_params(**shared).fit(data.X, data.y, sample_weight=data.weights)
    return model.set_params(beta=search.beta_)


def _one_or_all(names: tuple[str, ...]) -> Any:
    if not names:
        return None
    return names[0] if len(names) == 1 else list(names)
