"""Rows ready to be fitted, what a model is asked for, and fits fold by fold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankfair.estimators import RankFairRegressor
from rankfair.files.table import Table
from rankfair.input.errors import counted
from rankfair.input.training import read_weights
from rankfair.jobs.columns import (
    Reading,
    Roles,
    column_or_none,
    load,
    refuse_gaps,
)
from rankfair.jobs.design import Design
from rankfair.jobs.groups import Folds, folds_of, with_counted_groups

__all__ = [
    "FREE",
    "Data",
    "HeldOut",
    "OnStep",
    "Settings",
    "data_of",
    "figure",
    "one_or_all",
]

# Told of each step: its name, its number and how many there are.
OnStep: TypeAlias = Callable[[str, int, int], None] | None
FREE = 0.5  # the band that asks for nothing


@dataclass(frozen=True)
class Settings:
    """What `RankFairRegressor` is asked for."""

    epsilon: float | tuple[float, ...] = (
        0.01  # one for all constraints, or one for each
    )
    constraints: tuple[str, ...] = ("rank",)
    scope: str = "global"
    penalty: str = "pool"
    beta: float | None = None  # None: chosen by cross-validation
    blind: bool = True
    intersect: bool = False
    bins: int | None = None
    unseen: str = "error"
    seed: int = 0

    def model(self, roles: Roles) -> RankFairRegressor:
        """Return the estimator, not fitted."""
        each = self.epsilon
        widths: Any = list(each) if isinstance(each, tuple) else each
        return RankFairRegressor(
            widths,
            tasks=one_or_all(roles.tasks),
            sensitive_features=one_or_all(roles.sensitive),
            blind=self.blind,
            intersect=self.intersect,
            bins=self.bins,
            penalty=self.penalty,
            beta="auto" if self.beta is None else self.beta,
            constraints=one_or_all(self.constraints),
            scope=self.scope,
            unseen=self.unseen,
            random_state=self.seed,
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
        """Return some rows."""
        return replace(
            self,
            table=self.table.take(rows),
            X=self.X[np.flatnonzero(rows).tolist()],
            y=self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    @property
    def n_counting(self) -> int:
        """How many rows have a weight."""
        given = self.weights
        return len(self.y) if given is None else int(np.count_nonzero(given))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the columns."""
        return tuple(filter(None, (*self.table.notes, self.design.message)))

    @property
    def unknown_notes(self) -> tuple[str, ...]:
        """A note for each protected column with empty cells, if such rows are kept."""
        counts = {n: int(self.table.missing(n).sum()) for n in self.roles.sensitive}
        return tuple(
            f"{counted(count, 'row has', 'rows have')} no {name}: fitted, but in no "
            "band and no comparison; --drop-missing leaves such rows out."
            for name, count in counts.items()
            if count
        )


def data_of(
    files: Sequence[str], roles: Roles, reading: Reading, cap: int = 50
) -> Data:
    """Read files and learn how their columns become predictors."""
    if roles.target is None:
        raise ValueError("name the column to predict with --target.")
    roles.check()
    table = with_counted_groups(load(files, roles, reading), roles)
    for name in (*roles.numbers, *roles.tasks):
        refuse_gaps(table, name)
    design = Design.learn(table, roles, cap)
    drawn = design.draw(table)
    y = np.asarray(table[roles.target], float)
    weights = read_weights(column_or_none(table, roles.weight), table.n_rows)
    return Data(table, roles, design, drawn.X, y, weights)


def figure(value: float) -> str:
    """Return an error for a sentence: four digits, more rather than a power of ten.

    Examples
    --------
    >>> figure(0.53841), figure(11234.4), figure(2.5e7)
    ('0.5384', '11,234', '2.5e+07')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.4g}"


def one_or_all(names: tuple[str, ...]) -> Any:
    """Return names as an estimator takes them: none, the only one, or a list.

    Examples
    --------
    >>> one_or_all(()), one_or_all(("job",)), one_or_all(("job", "site"))
    (None, 'job', ['job', 'site'])
    """
    if not names:
        return None
    return names[0] if len(names) == 1 else list(names)
