"""`rankfair fit`: a model file, and what it changed, measured on rows held out."""

from __future__ import annotations

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
from rankfair.path import task_folds
from rankfair.selection import RankFairRegressorCV
from rankfair.tables import Table

__all__ = ["Fitted", "Settings", "data_of", "fit_files"]

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

    def take(self, rows: NDArray[Any]) -> tuple[Any, NDArray[np.float64]]:
        """Return some rows of X and y."""
        return self.X[rows.tolist()], self.y[rows]


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
        Predictions without and with the balance, on rows held out from both fits.
    held_out : bool
        Whether there were rows to hold out; otherwise the audit is of the rows fitted.
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
    holdout: float = 0.25,
    cap: int = 50,
    notes: str | None = None,
    command: str | None = None,
    title: str | None = None,
    on_step: Any = None,
) -> Fitted:
    """Fit a model to the rows of some files and report what it changed.

    Two models are fitted to a part of the rows, one with and one without the balance,
    and audited on the others; the model that is kept is then fitted to all rows.

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
    holdout : float, default=0.25
        The share of rows for the report; 0 reports on the rows fitted.
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
    model = _chosen(settings.model(data.design.roles), data, settings, tell)
    rows, test = _split(data, roles, holdout, settings)
    tell("fit without the balance", 3, 5)
    free = {"epsilon": FREE, "balance": "rank", "scope": "global"}
    before = _fit(clone(model).set_params(**free), data, rows)
    tell("fit with the balance", 4, 5)
    after = _fit(clone(model), data, rows)
    X_test = data.X[test.tolist()]
    both = {BEFORE: before.predict(X_test), AFTER: after.predict(X_test)}
    tell("fit to all rows", 5, 5)
    final = after if holdout == 0 else _fit(clone(model), data, np.arange(len(data.y)))
    path = None
    if out is not None:
        path = save_model(final, out, notes=notes, extra=data.design.to_dict())
    found = audit_table(
        data.table.take(test),
        roles,
        bins=settings.bins,
        models=both,
        intersect=settings.intersect,
        command=command,
        title=title,
        random_state=settings.seed,
    )
    return Fitted(final, path, found, holdout > 0, _notes(data))


def _notes(data: Data) -> tuple[str, ...]:
    return tuple(filter(None, (*data.table.notes, data.design.message)))


def _fit(model: Any, data: Data, rows: NDArray[Any]) -> Any:
    X, y = data.take(rows)
    weights = None if data.weights is None else data.weights[rows]
    return model.fit(X, y, sample_weight=weights)


def _chosen(model: Any, data: Data, settings: Settings, tell: Any) -> Any:
    """Return the model, with β chosen by cross-validation if that was asked for."""
    if settings.beta is not None:
        return model
    tell("choosing beta", 2, 5)
    search = RankFairRegressorCV(penalties=[settings.penalty])
    known = search.get_params(deep=False)
    shared = {k: v for k, v in model.get_params(deep=False).items() if k in known}
    search.set_params(**shared).fit(data.X, data.y, sample_weight=data.weights)
    return model.set_params(beta=search.beta_)


def _split(
    data: Data, roles: Roles, holdout: float, settings: Settings
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows to fit and rows to report on, within tasks and groups."""
    if not 0 <= holdout <= 0.5:
        raise ValueError(f"--holdout is a share from 0 to 0.5; got {holdout:g}.")
    everything = np.arange(len(data.y))
    if holdout == 0:
        return everything, everything
    codes, groups = strata_of(data.table, roles)
    rng = np.random.default_rng(settings.seed)
    fold = task_folds(codes, groups, round(1 / holdout), rng)
    test = np.flatnonzero(fold == 0)
    if not len(test):
        raise ValueError(
            "no row can be held out for the report: each task has one row only. "
            "Use --holdout 0 to report on the rows fitted."
        )
    return np.flatnonzero(fold != 0), test


def _one_or_all(names: tuple[str, ...]) -> Any:
    if not names:
        return None
    return names[0] if len(names) == 1 else list(names)
