"""`rankfair fit`: a model file, and what it changed, measured on rows held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from rankfair.audit import Audit
from rankfair.estimators import RankFairRegressor
from rankfair.jobs.audits import audit_table
from rankfair.jobs.columns import Reading, Roles, column_or_none, load
from rankfair.jobs.design import Design
from rankfair.jobs.groups import strata_of
from rankfair.models import save_model
from rankfair.path import make_folds
from rankfair.selection import RankFairRegressorCV
from rankfair.tables import Table

__all__ = ["Data", "Fitted", "Settings", "data_of", "fit_files"]

Folds = list[tuple[NDArray[Any], NDArray[Any]]]

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
class Data:
    """Rows ready to be fitted."""

    table: Table
    design: Design
    X: Any
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None

    def fit(self, model: Any, rows: NDArray[Any]) -> Any:
        """Return a copy of a model, fitted to some rows."""
        more = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return clone(model).fit(self.X[rows.tolist()], self.y[rows], **more)

    def held_out(self, model: Any, parts: Folds) -> NDArray[np.float64]:
        """Return predictions by fits to other rows; NaN where a row is in no fold."""
        out = np.full(len(self.y), math.nan)
        for train, test in parts:
            out[test] = self.fit(model, train).predict(self.X[test.tolist()])
        return out


@dataclass(frozen=True)
class Fitted:
    """A model, where it is, and what it changed.

    Attributes
    ----------
    model : RankFairRegressor
        Fitted to all rows.
    path : Path or None
        The model file.
    audit : Audit
        Predictions without and with the balance, by fits to other rows.
    held_out : bool
        Whether that is so; otherwise the audit is of the rows fitted.
    notes : tuple of str
        What a person should know.
    """

    model: Any
    path: Path | None
    audit: Audit
    held_out: bool
    notes: tuple[str, ...]


def data_of(
    files: Sequence[str], roles: Roles, reading: Reading, cap: int = 50
) -> Data:
    """Read files and learn how their columns become predictors."""
    if roles.target is None:
        raise ValueError("name the column to predict with --target.")
    table = load(files, roles, reading)
    design = Design.learn(table, roles, cap)
    drawn = design.draw(table)
    y = np.asarray(table[roles.target], float)
    weights = column_or_none(table, roles.weight)
    return Data(table, design, drawn.X, y, weights)


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
    tell("choosing beta", 2, 5)
    model = _chosen(settings.model(data.design.roles), data, settings)
    tell("fit to all rows", 3, 5)
    final = data.fit(model, np.arange(len(data.y)))
    parts = _parts(data, roles, folds, settings.seed)
    free = clone(model).set_params(epsilon=FREE, balance="rank", scope="global")
    tell("what it was without the balance", 4, 5)
    before = data.held_out(free, parts)
    tell("what it is with the balance", 5, 5)
    after = data.held_out(model, parts)
    path = None
    if out is not None:
        path = save_model(final, out, notes=notes, extra=data.design.to_dict())
    judged = np.flatnonzero(~np.isnan(after))
    found = audit_table(
        data.table.take(judged),
        roles,
        bins=settings.bins,
        models={BEFORE: before[judged], AFTER: after[judged]},
        intersect=settings.intersect,
        command=command,
        title=title,
        random_state=settings.seed,
    )
    return Fitted(final, path, found, folds > 0, _notes(data))


def _notes(data: Data) -> tuple[str, ...]:
    return tuple(filter(None, (*data.table.notes, data.design.message)))


def _chosen(model: Any, data: Data, settings: Settings) -> Any:
    """Return the model, with β chosen by cross-validation if that was asked for."""
    if settings.beta is not None:
        return model
    search = RankFairRegressorCV(penalties=[settings.penalty])
    known = search.get_params(deep=False)
    shared = {k: v for k, v in model.get_params(deep=False).items() if k in known}
    search.set_params(**shared).fit(data.X, data.y, sample_weight=data.weights)
    return model.set_params(beta=search.beta_)


def _parts(data: Data, roles: Roles, folds: int, seed: int) -> Folds:
    """Return rows to fit and rows to report on, within tasks and groups."""
    if folds == 0:
        everything = np.arange(len(data.y))
        return [(everything, everything)]
    codes, groups = strata_of(data.table, roles)
    rng = np.random.default_rng(seed)
    return make_folds(folds, codes, groups, rng, weights=data.weights)


def _one_or_all(names: tuple[str, ...]) -> Any:
    if not names:
        return None
    return names[0] if len(names) == 1 else list(names)
