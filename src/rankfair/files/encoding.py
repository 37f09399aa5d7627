"""Columns of a file as predictors: categories become 0 and 1, alike for new rows."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.archive import demand
from rankfair.files.codec import fits
from rankfair.files.columns import Roles
from rankfair.files.model_files import describe_model, load_model
from rankfair.files.table import Reading, Table, gaps, refuse_gaps, refuse_kind
from rankfair.input.arrays import Floats
from rankfair.input.errors import (
    ModelFileError,
    TableError,
    counted,
    listed,
    quoted,
    refuse,
)
from rankfair.input.frames import UnseenError

KIND = "rankfair-design"
# What a model file has of it, as JSON.
STORED: dict[str, Any] = {
    "target": str | None,
    **dict.fromkeys(("sensitive", "tasks", "cut", "columns"), list[str]),
    "categories": dict[str, list[str]],
}
NOT_SAID = "does not say what it was fitted to, or its model reads other columns"
FEW = 3  # names in a note


@dataclass(frozen=True)
class Drawn:
    """Rows ready for an estimator.

    Attributes
    ----------
    X : polars.DataFrame
        Predictors, then columns of labels, by their names.
    message : str
        What was done with categories that are not known; empty if there are none.
    """

    X: Any
    message: str


@dataclass(frozen=True)
class Encoding:
    """How the columns of a file become predictors: learnt once, used for new rows.

    Attributes
    ----------
    columns : tuple of str
        Columns of the file, in order.
    categories : dict of str to tuple of str
        For each column of text its categories, sorted.  The first is the reference:
        the others get a column of 0 and 1 each.
    """

    columns: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]

    def names_of(self, column: str) -> list[str]:
        """Return the names of the predictors that a column becomes."""
        if column not in self.categories:
            return [column]
        return [f"{column}={label}" for label in self.categories[column][1:]]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all predictors."""
        return tuple(name for column in self.columns for name in self.names_of(column))

    @classmethod
    def learn(cls, table: Table, columns: Sequence[str], cap: int = 50) -> Encoding:
        """Learn the categories of columns, at most ``cap`` each."""
        table.check_names(columns)
        refuse(predictor_gaps(table, columns), table.source)
        texts = [name for name in columns if table.is_text(name)]
        categories = {name: tuple(sorted({*table[name].tolist()})) for name in texts}
        for name, labels in categories.items():
            if len(labels) > cap:
                raise _too_many(table, name, labels, cap)
        encoding = cls(tuple(columns), categories)
        for name, count in Counter(encoding.names).items():
            if count > 1:
                reason = "is the name of two predictors, once as a category"
                cure = "Rename a column."
                raise TableError(reason, cure, name, source=table.source)
        return encoding

    def apply(self, table: Table, labels: Sequence[str] = ()) -> Drawn:
        """Return the predictors of a table's rows, and columns of labels after them.

        A category that was not learnt has 0 in all columns, as the reference has; such
        rows are counted.  Missing cells are refused.
        """
        table.check_names(self.columns)
        refuse_gaps(table, self.columns)
        for name in self.columns:
            refuse_kind(table, name, text=name in self.categories)
        found: dict[str, NDArray[Any]] = {}
        said = []
        for name in self.columns:
            if name not in self.categories:
                found[name] = np.asarray(table[name], float)
                continue
            learnt = self.categories[name]
            index = {label: code for code, label in enumerate(learnt)}
            codes = np.array([index.get(cell, -1) for cell in table[name].tolist()])
            for code, predictor in enumerate(self.names_of(name), start=1):
                found[predictor] = (codes == code).astype(float)
            unknown = int((codes < 0).sum())
            if unknown:
                said.append(
                    f"{counted(unknown, 'row has', 'rows have')} a category of "
                    f"{quoted(name)} that was not there when the model was fitted; "
                    f"read as {quoted(learnt[0])}."
                )
        columns = {**found, **{name: table[name] for name in labels}}
        return Drawn(Table(columns).to_frame(), " ".join(said))

    @property
    def message(self) -> str:
        """Say which columns of text became numbers, and which have one value only."""
        several = [name for name, of in self.categories.items() if len(of) > 1]
        single = [name for name, of in self.categories.items() if len(of) == 1]
        said = []
        if several:
            columns = counted(len(several), "column")
            said.append(f"Encoded {columns} of text as 0/1 ({listed(several, FEW)}).")
        if single:
            columns = counted(len(single), "column")
            said.append(f"Left out {columns} of one value ({listed(single, FEW)}).")
        return " ".join(said)


def predictor_gaps(table: Table, names: Sequence[str]) -> list[TableError]:
    """Return the predictors with empty cells.

    No model has learnt such a column yet: it may be left out; after that it is needed.
    """
    found = []
    for name in names:
        drop = f"leave the column out with --drop {shlex.quote(name)}"
        cure = f"{drop}, or drop such rows with --drop-missing."
        found += gaps(table, [name], cure)
    return found


def _too_many(table: Table, name: str, labels: tuple[str, ...], cap: int) -> TableError:
    some = ", ".join(quoted(label) for label in labels[:3])
    cure = (
        f"Leave it out with --drop {shlex.quote(name)}, group its rare values, or "
        f"raise the cap with --max-categories {len(labels)}."
    )
    return TableError(
        f"has {len(labels)} categories, more than {cap}, for example {some}",
        table.why_text.get(name, cure),
        name,
        source=table.source,
    )


@dataclass(frozen=True)
class ModelColumns:
    """Which columns a model reads and how categories become numbers.

    It goes into the model file, so that `rankfair predict` reads new files alike.
    """

    roles: Roles
    encoding: Encoding

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that are tasks or groups."""
        return (*self.roles.tasks, *self.roles.sensitive)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what the estimator takes: predictors and labels."""
        return (*self.encoding.names, *self.labels)

    @classmethod
    def learn(cls, table: Table, roles: Roles, cap: int = 50) -> ModelColumns:
        """Learn the categories of the predictors of a table."""
        names = roles.predictors(table.names)
        if not names:
            reason = "has no column left to predict from"
            cure = "Name fewer columns in --drop, or some in --feature."
            raise TableError(reason, cure, source=table.source)
        named = gaps(table, (*roles.numbers, *roles.tasks))
        refuse([*named, *predictor_gaps(table, names)], table.source)
        numbers = tuple(name for name in roles.cut if not table.is_text(name))
        return cls(replace(roles, cut=numbers), Encoding.learn(table, names, cap))

    def draw(self, table: Table) -> Drawn:
        """Return the rows of a table as the estimator takes them."""
        for name in self.roles.cut:
            refuse_kind(table, name, text=False)
        return self.encoding.apply(table, self.labels)

    def predict(
        self, model: Any, table: Table, name: str = "the model"
    ) -> tuple[Floats, str]:
        """Return predictions of a table's rows, and what was done with categories."""
        refuse_gaps(table, (*self.roles.tasks, *self.encoding.columns))
        drawn = self.draw(table)
        # A model that was fitted to files has their order of columns.
        X = drawn.X.select(list(model.feature_names_in_))
        try:
            return np.asarray(model.predict(X), float), drawn.message
        except UnseenError as error:
            raise self._of_file(error, table.source, name) from None

    def _of_file(self, error: UnseenError, source: str, model: str) -> TableError:
        """Return what an estimator says of labels as said of a file and a model."""
        labels = f"that {model} was not fitted to: {listed(error.labels)}"
        if error.column is not None:
            again = "Fit again with rows of such groups, or leave the cells empty"
            cure = f"It knows {listed(error.known)}. {again}"
            reason = f"has a group {labels}"
            return TableError(reason, cure, error.column, source=source)
        flags = "--penalty shared --unseen shared"
        cure = f"Fit again with rows of such tasks, or with {flags}"
        reason = f"{counted(error.n_rows, 'row has', 'rows have')} a task {labels}"
        return TableError(reason, cure, ", ".join(self.roles.tasks), source=source)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, for the ``extra`` of a model file."""
        roles, encoding = self.roles, self.encoding
        return {
            "kind": KIND,
            "target": roles.target,
            "sensitive": list(roles.sensitive),
            "tasks": list(roles.tasks),
            "cut": list(roles.cut),
            "columns": list(encoding.columns),
            "categories": {name: list(of) for name, of in encoding.categories.items()},
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> ModelColumns:
        """Return what `to_dict` stored."""
        cure = "Predict with it in Python: load_model."
        if stored.get("kind") != KIND:
            said = "does not say how the columns of a file become predictors, for it"
            raise ModelFileError(f"{said} was not made by `rankfair fit`", cure)
        typed = all(fits(stored.get(key), kind) for key, kind in STORED.items())
        demand(typed, NOT_SAID)
        groups, tasks, cut = (
            tuple(stored[key]) for key in ("sensitive", "tasks", "cut")
        )
        roles = Roles(stored["target"], groups, tasks, cut=cut)
        of = {name: tuple(labels) for name, labels in stored["categories"].items()}
        found = cls(roles, Encoding(tuple(stored["columns"]), of))
        every = [cut, found.encoding.columns, found.columns, *of.values()]
        sound = all(len({*each}) == len(each) for each in every) and all(of.values())
        sound = sound and {*of} <= {*found.encoding.columns}
        demand(sound and {*roles.cut} <= {*found.labels}, NOT_SAID)
        return found

    @classmethod
    def of_file(cls, path: str) -> tuple[ModelColumns, Any]:
        """Return the columns and the model in a file, or say why it has none."""
        model, stored = load_model(path), describe_model(path)["extra"]
        try:
            found = cls.from_dict(stored)
            known = {*getattr(model, "feature_names_in_", ())}
            demand({*found.columns} == known, NOT_SAID)
        except ModelFileError as error:
            error.argument = path
            raise
        return found, model

    def reading(self, reading: Reading) -> tuple[Roles, Reading]:
        """Return roles and reading of new rows, which may have no target."""
        roles = Roles(
            sensitive=self.roles.sensitive,
            tasks=self.roles.tasks,
            features=self.encoding.columns,
            cut=self.roles.cut,
        )
        text = tuple(dict.fromkeys((*reading.text, *self.encoding.categories)))
        return roles, replace(reading, text=text)
