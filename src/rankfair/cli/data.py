"""Rows of files: their groups, audits of them, and fits fold by fold."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.audit import Audit, audit
from rankfair.cli.errors import NotEstimableError
from rankfair.cli.methods import changed
from rankfair.files.columns import (
    Roles,
    column_or_none,
    refuse_taken,
    without_identifiers,
)
from rankfair.files.read import load
from rankfair.files.table import Table
from rankfair.input.arrays import Floats
from rankfair.input.errors import counted, shown
from rankfair.input.folds import Folds, make_folds, out_of_fold, take_rows
from rankfair.input.frames import find_labels, read_weights
from rankfair.input.groups import SensitiveGroups, Source, read_features
from rankfair.input.scored_rows import read_audited

if TYPE_CHECKING:  # they import all estimators
    from rankfair.files.encoding import ModelColumns

MANY = 12  # groups that a reader can still compare


def audit_table(
    table: Table,
    roles: Roles,
    groups: Mapping[str, SensitiveGroups],
    models: Mapping[str, Any],
    **settings: Any,
) -> Audit:
    """Audit the predictions of a table's rows by ``models``, or else its target."""
    target = {str(it): table[it] for it in [roles.target] if it is not None}
    return audit(
        (models and target) or None,
        models or target,
        sensitive_features=groups,
        tasks=tasks_of(table, roles),
        sample_weight=column_or_none(table, roles.weight),
        command=shlex.join(["rankfair", *sys.argv[1:]]),
        **settings,
    )


def with_predictions(
    columns: ModelColumns, model: Any, table: Table, name: str, cure: str
) -> Table:
    """Return a table with the predictions of its rows as a column more."""
    refuse_taken(name, table.names, table.source, cure)
    values, message = columns.predict(model, table)
    notes = (*table.notes, *filter(None, [message]))
    return replace(table.with_column(name, values), notes=notes)


def tasks_of(table: Table, roles: Roles) -> NDArray[Any] | None:
    """Return the task of each row; several columns are one task."""
    texts = [table.text(name) for name in roles.tasks]
    return np.column_stack(texts) if texts else None


def groups_of(
    table: Table, roles: Roles, bins: int | None = None
) -> dict[str, SensitiveGroups]:
    """Return the groups of each sensitive column, text in alphabetical order.

    Numbers are cut as a model cuts them, into groups of equal weight, and bins are in
    their order: as text ``[10, 20)`` would come before ``[2, 10)``.
    """
    read = table.text if bins is None else table.__getitem__
    columns: list[Any] = [read(name) for name in roles.sensitive]
    source = Source("sensitive_features", columns, (), roles.sensitive)
    weights = read_weights(column_or_none(table, roles.weight), table.n_rows)
    return {it.name: it for it in read_features(source, weights, bins)}


def many_groups(every: Iterable[SensitiveGroups], roles: Roles) -> list[str]:
    """Return a note on each sensitive column that may be a number."""
    bins = "if it is a number, --bins 4 makes four of it."
    return [
        f"{shown(groups.name)} has {len(groups.labels)} groups; {bins}"
        for groups in every
        if len(groups.labels) > MANY and groups.name not in roles.cut
    ]


class HeldOut(NamedTuple):
    """Predictions of rows that were held out, and what is to be said of the fits."""

    values: NDArray[np.float64]
    note: str = ""


@dataclass(frozen=True)
class FitData:
    """Rows ready to be fitted."""

    table: Table
    roles: Roles
    design: ModelColumns
    X: Any
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    groups: Mapping[str, SensitiveGroups]  # by sensitive column
    reference: Sequence[str] | None = None  # the group that others are compared with

    def fit(self, model: Any, rows: NDArray[Any] | None = None) -> Any:
        """Return a copy of a model, fitted to some rows or to all."""
        some = self if rows is None else self.take(rows)
        more = {} if some.weights is None else {"sample_weight": some.weights}
        return changed(model).fit(some.X, some.y, **more)

    def held_out(self, model: Any, parts: Folds) -> HeldOut:
        """Return predictions by fits to other rows; NaN where a row is in no fold."""
        from sklearn.exceptions import ConvergenceWarning

        warned = []

        def predicted(train: NDArray[Any], test: NDArray[Any]) -> Any:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = self.fit(model, train).predict(take_rows(self.X, test))
            warned.append(any(w.category is ConvergenceWarning for w in caught))
            return found

        out = out_of_fold(len(self.y), parts, predicted)
        missed = f"{sum(warned)} of {len(parts)} fits did not reach the band"
        return HeldOut(out, missed if any(warned) else "")

    def check_folds(self, n_folds: int) -> None:
        """Raise if no rows can be held out, or a fold might be without a group."""
        n, tasks = len(self.y), self.tasks
        if n < n_folds:
            rows = counted(n, "row is", "rows are")
            raise NotEstimableError(f"{rows} too few for --folds {n_folds}.")
        if (np.bincount(tasks)[tasks] < 2).all():
            raise NotEstimableError(
                "No row can be held out, because each task has one row only: name "
                "other columns in --task."
            )
        kept = None if self.weights is None else np.sign(self.weights)
        for groups in self.groups.values():
            for place in np.flatnonzero(groups.sizes(kept) == 1):
                label = shown(groups.labels.tolist()[place])
                said = f"Group {label} of {shown(groups.name)} has 1 row: too few to"
                cure = "Join it with another group, or leave such cells empty."
                more = many_groups([groups], self.roles)
                one = f"{said} hold some of them out."
                raise NotEstimableError(" ".join([one, cure, *more]))

    def folds(self, n_folds: int, seed: int) -> Folds:
        """Return rows to fit and rows to measure, dealt out within tasks and groups."""
        self.check_folds(n_folds)
        # All columns together: folds share out their combinations evenly.
        cells, _ = find_labels([each.codes for each in self.groups.values()], "cells")
        rng = np.random.default_rng(seed)
        return make_folds(n_folds, self.tasks, cells, rng, weights=self.weights)

    @cached_property
    def tasks(self) -> NDArray[np.intp]:
        """A number for the task of each row; all are 0 without tasks."""
        columns = [self.table[name] for name in self.roles.tasks]
        return find_labels(columns or [np.zeros(len(self.y), np.intp)], "tasks")[0]

    def take(self, rows: NDArray[Any]) -> FitData:
        """Return some rows, by a mask or by positions."""
        return replace(
            self,
            table=self.table.take(rows),
            X=take_rows(self.X, np.arange(len(self.y))[rows]),
            y=self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
            groups={name: of.take(rows) for name, of in self.groups.items()},
        )

    def audit(
        self,
        model: Any,
        values: Mapping[str, Floats],
        within: Mapping[str, Floats] | None = None,
        **more: Any,
    ) -> Audit:
        """Audit predictions; rows whose prediction is NaN are left out.

        ``within`` has the predictions for figures within tasks.  Without predictions
        the target is audited.  Groups and the fingerprint are those of all rows.
        """
        judged = np.full(len(self.y), True)
        for each in values.values():
            judged &= ~np.isnan(each)
        some = self if judged.all() else self.take(judged)
        found = audit_table(
            some.table,
            some.roles,
            some.groups,
            {name: each[judged] for name, each in values.items()},
            task_predictions=within and {n: m[judged] for n, m in within.items()},
            reference=self.reference,
            intersect=model.intersect,
            random_state=model.random_state,
            **more,
        )
        if some is self:
            return found
        target = {str(self.roles.target): self.y}
        tasks = tasks_of(self.table, self.roles)
        whole = read_audited(None, target, self.groups, tasks, self.weights, False)
        made = replace(found.provenance, fingerprint=whole.fingerprint)
        return replace(found, provenance=made)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the columns."""
        message = filter(None, [self.design.message])
        unknown = (
            f"{counted(of.n_unknown, 'row has', 'rows have')} no {name}: fitted, but "
            "in no band and no comparison; --drop-missing leaves such rows out."
            for name, of in self.groups.items()
            if of.n_unknown
        )
        groups = many_groups(self.groups.values(), self.roles)
        return (*self.table.notes, *groups, *message, *unknown)


def read_data(asked: Any) -> FitData:
    """Read files and learn how their columns become predictors."""
    from rankfair.files.encoding import ModelColumns

    roles, reading = asked.roles(), asked.reading()
    table = load(asked.files, roles, reading)
    table, roles = without_identifiers(table, roles, reading.numbers)
    design = ModelColumns.learn(table, roles, asked.max_categories)
    X, _ = design.draw(table)
    y = np.asarray(table[str(roles.target)], np.float64)
    weights = read_weights(column_or_none(table, roles.weight), table.n_rows)
    groups = groups_of(table, roles, asked.bins)
    return FitData(table, roles, design, X, y, weights, groups, asked.reference)
