"""Rows of files ready to be fitted, their groups, and fits fold by fold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rankfair.cli.errors import NotEstimableError
from rankfair.cli.methods import one_or_all
from rankfair.estimators.linear import RankFairRegressor
from rankfair.files.columns import Reading, Roles, column_or_none, load, refuse_gaps
from rankfair.files.encoding import ModelColumns
from rankfair.files.table import Table
from rankfair.input.errors import counted, listed, shown
from rankfair.input.folds import Folds, make_folds
from rankfair.input.groups import (
    MOST_GROUPS,
    SensitiveGroups,
    Source,
    crossed,
    read_attributes,
    spelt,
)
from rankfair.input.labels import find_known
from rankfair.input.training import read_weights


@dataclass(frozen=True)
class ModelSettings:
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
class FitData:
    """Rows ready to be fitted."""

    table: Table
    roles: Roles
    design: ModelColumns
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

    def folds(self, folds: int, settings: ModelSettings) -> Folds:
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

    def take(self, rows: NDArray[np.bool_]) -> FitData:
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
        return tuple(filter(None, (*self.table.notes, self.design.encoding.message)))

    @property
    def unknown_notes(self) -> tuple[str, ...]:
        """A note for each sensitive column with empty cells, if such rows are kept."""
        counts = {n: int(self.table.missing(n).sum()) for n in self.roles.sensitive}
        return tuple(
            f"{counted(count, 'row has', 'rows have')} no {name}: fitted, but in no "
            "band and no comparison; --drop-missing leaves such rows out."
            for name, count in counts.items()
            if count
        )


def read_data(
    files: Sequence[str], roles: Roles, reading: Reading, cap: int = 50
) -> FitData:
    """Read files and learn how their columns become predictors."""
    if roles.target is None:
        raise ValueError("name the column to predict with --target.")
    roles.check()
    table = with_counted_groups(load(files, roles, reading), roles)
    for name in (*roles.numbers, *roles.tasks):
        refuse_gaps(table, name)
    design = ModelColumns.learn(table, roles, cap)
    drawn = design.draw(table)
    y = np.asarray(table[roles.target], float)
    weights = read_weights(column_or_none(table, roles.weight), table.n_rows)
    return FitData(table, roles, design, drawn.X, y, weights)


def figure(value: float) -> str:
    """Return an error for a sentence: four digits, more rather than a power of ten."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.4g}"


MANY = 12  # groups that a reader can still compare


def with_counted_groups(table: Table, roles: Roles) -> Table:
    """Return a table with a note on each sensitive column that may be a number.

    Raises
    ------
    ValueError
        If a column has more groups than can be balanced or compared.
    """
    notes = []
    for name in (each for each in roles.sensitive if each not in roles.cut):
        labels = {*as_labels(table[name]).tolist()} - {None}
        if len(labels) > MOST_GROUPS:
            raise ValueError(
                f"column {shown(name)} has {len(labels)} groups "
                f"({listed(sorted(labels))}): "
                f"at most {MOST_GROUPS} are expected. If it is a number, --bins 4 "
                "makes four of it; otherwise join small groups, or name another column "
                "in --sensitive."
            )
        notes.append(_may_be_number(name, len(labels)).strip())
    return replace(table, notes=(*table.notes, *filter(None, notes)))


def _may_be_number(name: str, n_groups: int) -> str:
    """What helps if the groups are so many because the column is a number."""
    if n_groups <= MANY:
        return ""
    return (
        f" {shown(name)} has {n_groups} groups; if it is a number, --bins 4 makes four "
        "of it."
    )


def groups_of(table: Table, roles: Roles, bins: int | None = None) -> dict[str, Any]:
    """Return the group of each row by column; None where a cell is empty.

    Numbers are cut as a model cuts them, into groups of equal weight.
    """
    if bins is None:
        return {name: as_labels(table[name]) for name in roles.sensitive}
    return {name: spelt(it) for name, it in cut_groups(table, roles, bins).items()}


def cut_groups(table: Table, roles: Roles, bins: int) -> dict[str, SensitiveGroups]:
    """Return the groups of each column, those of numbers in the order of the bins.

    As text ``[10, 20)`` would come before ``[2, 10)``, and the model has it after.
    """
    columns: list[Any] = [table[name] for name in roles.sensitive]
    source = Source("--sensitive", columns, (), roles.sensitive)
    weights = read_weights(column_or_none(table, roles.weight), table.n_rows)
    return {it.name: it for it in read_attributes(source, weights, bins)}


def combined(found: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the combination of groups of each row; None where one is not known."""
    if len(found) == 1:
        return next(iter(found.values()))
    return spelt(
        crossed(
            [SensitiveGroups(*find_known(of, name), name) for name, of in found.items()]
        )
    )


def small_groups(labels: Sequence[str], least: int) -> list[str]:
    """Return a note on groups of too few rows, if there are any."""
    found = f"Groups of fewer than {least} rows are not judged: {listed(labels)}."
    return [found] if labels else []


def as_labels(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column as text, whole numbers without a point."""
    if column.dtype.kind == "O":
        return column
    found = np.empty(len(column), object)
    found[:] = [None if v != v else f"{v:.17g}" for v in column.tolist()]
    return found


def folds_of(
    table: Table,
    roles: Roles,
    folds: int,
    *,
    bins: int | None = None,
    seed: int = 0,
    weights: NDArray[np.float64] | None = None,
) -> Folds:
    """Return rows to fit and rows to measure, dealt out within tasks and groups.

    Raises
    ------
    NotEstimableError
        If no rows can be held out, or a fold would be fitted without one of the groups.
    """
    groups = groups_of(table, roles, bins)
    codes = _codes([table[name] for name in roles.tasks], table.n_rows)
    if table.n_rows < folds:
        rows = counted(table.n_rows, "row is", "rows are")
        raise NotEstimableError(f"{rows} too few for --folds {folds}.")
    if (np.bincount(codes)[codes] < 2).all():
        raise NotEstimableError(
            "no row can be held out, because each task has one row only: name other "
            "columns in --task."
        )
    # All columns together: folds share out their combinations evenly.
    cells = _codes(list(groups.values()), table.n_rows)
    rng = np.random.default_rng(seed)
    parts = make_folds(folds, codes, cells, rng, weights=weights)
    for name, labels in groups.items():
        _check_groups(name, labels, [train for train, _ in parts])
    return parts


def compared_labels(name: str, labels: NDArray[Any]) -> set[Any]:
    """Return the groups of a column, two or more."""
    whole = {*labels.tolist()} - {None}
    if len(whole) < 2:
        only = "".join(f" ({shown(label)})" for label in whole)
        raise ValueError(
            f"column {shown(name)} has {len(whole) or 'no'} group{'s' * (not whole)}"
            f"{only}: there is nothing to compare."
        )
    return whole


def _check_groups(name: str, labels: NDArray[Any], parts: list[NDArray[Any]]) -> None:
    whole = compared_labels(name, labels)
    for rows in parts:
        for label in sorted(whole - {*labels[rows].tolist()}, key=str):
            count = int((labels == label).sum())
            raise NotEstimableError(
                f"group {shown(label)} of {shown(name)} has {counted(count, 'row')}: "
                "too few to hold some of them out. Join it with another group, or "
                f"leave such cells empty.{_may_be_number(name, len(whole))}"
            )


def _codes(columns: list[NDArray[Any]], n_rows: int) -> NDArray[np.intp]:
    """Return a number for each row, the same for rows that are alike in all columns."""
    if not columns:
        return np.zeros(n_rows, np.intp)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    index = {row: code for code, row in enumerate(dict.fromkeys(rows))}
    return np.fromiter((index[row] for row in rows), np.intp, n_rows)
