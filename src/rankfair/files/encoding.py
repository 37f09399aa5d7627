"""Columns of a file as predictors: categories become 0 and 1, alike for new rows."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.archive import demand
from rankfair.files.codec import fits
from rankfair.files.columns import Roles
from rankfair.files.model_files import model_and_extra
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
class ModelColumns:
    """Which columns a model reads, and how they become predictors.

    Learnt once and kept in the model file, so that new files are read alike.

    Attributes
    ----------
    roles : Roles
        What the columns were for.
    predictors : tuple of str
        Columns of the file to predict from, in order.
    categories : dict of str to tuple of str
        For each of them that is text its categories, sorted.  The first is the
        reference: the others get a column of 0 and 1 each.
    """

    roles: Roles
    predictors: tuple[str, ...]
    categories: Mapping[str, tuple[str, ...]]

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that are tasks or groups."""
        return (*self.roles.tasks, *self.roles.sensitive)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what the estimator takes: encoded predictors and labels."""
        encoded = (name for column in self.predictors for name in self._encoded(column))
        return (*encoded, *self.labels)

    def _encoded(self, column: str) -> list[str]:
        if column not in self.categories:
            return [column]
        return [f"{column}={label}" for label in self.categories[column][1:]]

    @classmethod
    def learn(cls, table: Table, roles: Roles, cap: int = 50) -> ModelColumns:
        """Learn the categories of the predictors of a table, at most ``cap`` each."""
        names = roles.predictors(table.names)
        table.check_names(names)
        if not names:
            reason = "has no column left to predict from"
            cure = "Name fewer columns in --drop, or some in --feature."
            raise TableError(reason, cure, source=table.source)
        problems = gaps(table, (*roles.numbers, *roles.tasks))
        for name in names:  # no model needs it yet: it may be left out
            cure = f"leave the column out with --drop {shlex.quote(name)}, or drop such"
            problems += gaps(table, [name], f"{cure} rows with --drop-missing.")
        refuse(problems, table.source)
        texts = [name for name in names if table.is_text(name)]
        categories = {name: tuple(sorted({*table[name].tolist()})) for name in texts}
        for name, labels in categories.items():
            if len(labels) > cap:
                raise _too_many(table, name, labels, cap)
        numbers = tuple(name for name in roles.cut if not table.is_text(name))
        learnt = cls(replace(roles, cut=numbers), names, categories)
        for name, count in Counter(learnt.names).items():
            if count > 1:
                reason = "is the name of two predictors, once as a category"
                cure = "Rename a column."
                raise TableError(reason, cure, name, source=table.source)
        return learnt

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

    def draw(self, table: Table) -> tuple[Any, str]:
        """Return the rows of a table as the estimator takes them, a polars frame.

        A category that was not learnt has 0 in all columns, as the reference has; the
        text counts such rows.  Missing cells are refused.
        """
        table.check_names(self.predictors)
        refuse_gaps(table, self.predictors)
        for name in (*self.roles.cut, *self.predictors):
            refuse_kind(table, name, text=name in self.categories)
        found: dict[str, NDArray[Any]] = {}
        said = []
        for name in self.predictors:
            if name not in self.categories:
                found[name] = np.asarray(table[name], float)
                continue
            learnt = self.categories[name]
            index = {label: code for code, label in enumerate(learnt)}
            codes = np.array([index.get(cell, -1) for cell in table[name].tolist()])
            for code, predictor in enumerate(self._encoded(name), start=1):
                found[predictor] = (codes == code).astype(float)
            unknown = int((codes < 0).sum())
            if unknown:
                said.append(
                    f"{counted(unknown, 'row has', 'rows have')} a category of "
                    f"{quoted(name)} that was not there when the model was fitted; "
                    f"read as {quoted(learnt[0])}."
                )
        columns = {**found, **{name: table[name] for name in self.labels}}
        return Table(columns).to_frame(), " ".join(said)

    def predict(self, model: Any, table: Table) -> tuple[Floats, str]:
        """Return predictions of a table's rows, and what was done with categories."""
        refuse_gaps(table, (*self.roles.tasks, *self.predictors))
        X, message = self.draw(table)
        # A model that was fitted to files has their order of columns.
        found = model.predict(X.select(list(model.feature_names_in_)))
        return np.asarray(found, float), message

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, for the ``extra`` of a model file."""
        return {
            "kind": KIND,
            "target": self.roles.target,
            "sensitive": list(self.roles.sensitive),
            "tasks": list(self.roles.tasks),
            "cut": list(self.roles.cut),
            "columns": list(self.predictors),
            "categories": {name: list(of) for name, of in self.categories.items()},
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> ModelColumns:
        """Return what `to_dict` stored."""
        if stored.get("kind") != KIND:
            said = "does not say how the columns of a file become predictors, for it"
            cure = "Predict with it in Python: load_model."
            raise ModelFileError(f"{said} was not made by `rankfair fit`", cure)
        typed = all(fits(stored.get(key), kind) for key, kind in STORED.items())
        demand(typed, NOT_SAID)
        groups, tasks, cut, columns = (
            tuple(stored[key]) for key in ("sensitive", "tasks", "cut", "columns")
        )
        of = {name: tuple(labels) for name, labels in stored["categories"].items()}
        found = cls(Roles(stored["target"], groups, tasks, cut=cut), columns, of)
        every = [cut, columns, found.names, *of.values()]
        sound = all(len({*each}) == len(each) for each in every) and all(of.values())
        sound = sound and {*of} <= {*columns} and {*cut} <= {*found.labels}
        demand(sound, NOT_SAID)
        return found

    @classmethod
    def of_file(cls, path: str) -> tuple[ModelColumns, Any]:
        """Return the columns and the model in a file, or say why it has none."""
        model, stored = model_and_extra(path)
        try:
            found = cls.from_dict(stored)
            known = {*getattr(model, "feature_names_in_", ())}
            demand({*found.names} == known, NOT_SAID)
        except ModelFileError as error:
            error.argument = path
            raise
        return found, model

    def reading(self, reading: Reading) -> tuple[Roles, Reading]:
        """Return roles and reading of new rows, which may have no target."""
        roles = Roles(
            sensitive=self.roles.sensitive,
            tasks=self.roles.tasks,
            features=self.predictors,
            cut=self.roles.cut,
        )
        text = tuple(dict.fromkeys((*reading.text, *self.categories)))
        return roles, replace(reading, text=text)


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
