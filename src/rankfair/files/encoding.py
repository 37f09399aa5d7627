"""Columns of a file as predictors: categories become 0 and 1, alike for new rows."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rankfair.files.archive import demand, fits
from rankfair.files.columns import Roles, days_of, looks_like_dates
from rankfair.files.model_files import model_and_extra
from rankfair.files.table import Reading, Table
from rankfair.input.arrays import Floats
from rankfair.input.errors import (
    InputError,
    ModelFileError,
    TableError,
    counted,
    listed,
    quoted,
)
from rankfair.input.frames import FIT_MORE

KIND = "rankfair-design"
NOT_SAID = "does not say what it was fitted to, or its model reads other columns"
MORE_TASKS = "Fit with rows of these too, or with --penalty pool --unseen shared."
FEW = 3  # names in a note


@dataclass(frozen=True)
class ModelColumns:
    """Which columns a model reads, and how they become predictors.

    Learnt once and kept in the model file, so that new files are read alike.

    Attributes
    ----------
    target : str or None
        What is predicted.
    sensitive, tasks : list of str
        Columns that are groups or tasks.
    cut : list of str
        Those of them that are numbers.
    columns : list of str
        Columns of the file to predict from, in order.
    categories : dict of str to list of str
        For each of them that is text its categories, sorted.  The first is the
        reference: the others get a column of 0 and 1 each.
    dates : list of str
        Those of them that are dates: days since 1970-01-01.
    """

    target: str | None
    sensitive: list[str]
    tasks: list[str]
    cut: list[str]
    columns: list[str]
    categories: dict[str, list[str]]
    dates: list[str]

    @property
    def labels(self) -> list[str]:
        """Columns that are tasks or groups."""
        return [*self.tasks, *self.sensitive]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what the estimator takes: encoded predictors and labels."""
        encoded = (name for column in self.columns for name in self._encoded(column))
        return (*encoded, *self.labels)

    def _encoded(self, column: str) -> list[str]:
        if column not in self.categories:
            return [column]
        return [f"{column}={label}" for label in self.categories[column][1:]]

    @classmethod
    def learn(cls, table: Table, roles: Roles, cap: int = 50) -> ModelColumns:
        """Learn the categories of the predictors of a table, at most ``cap`` each."""
        names = roles.predictors(table.names)
        if not names:
            reason = "has no column left to predict from"
            cure = "Name fewer columns in --drop, or some in --feature."
            raise TableError(reason, cure, source=table.source)
        categories = {}
        dates = [name for name in names if looks_like_dates(table[name])]
        for name in names:
            if name in dates or not table.is_text(name):
                continue
            categories[name] = sorted({*table[name].tolist()})
            n_labels = len(categories[name])
            if n_labels > cap:
                reason = f"has {n_labels} categories, more than {cap}, for example "
                cure = (
                    f"Leave it out with --drop {shlex.quote(name)}, group its rare "
                    f"values, or raise the cap with --max-categories {n_labels}."
                )
                reason += ", ".join(map(quoted, categories[name][:3]))
                cure = table.why_text.get(name, cure)
                raise TableError(reason, cure, name, source=table.source)
        cut = [name for name in roles.cut if not table.is_text(name)]
        labels = [*roles.sensitive], [*roles.tasks], cut
        learnt = cls(roles.target, *labels, [*names], categories, dates)
        for name, count in Counter(learnt.names).items():
            if count > 1:
                reason = "is the name of two predictors, once as a category"
                cure = "Rename a column."
                raise TableError(reason, cure, name, source=table.source)
        return learnt

    @property
    def message(self) -> str:
        """Say which columns of text became numbers, and which have one value only."""
        said = []
        for form, single in (
            ("Encoded {} of text as 0/1 ({}).", False),
            ("Left out {} of one value ({}).", True),
        ):
            of = [n for n, has in self.categories.items() if (len(has) == 1) == single]
            if of:
                said.append(form.format(counted(len(of), "column"), listed(of, FEW)))
        if self.dates:
            dates = listed(self.dates, FEW)
            said.append(f"Read dates as days since 1970-01-01 ({dates}).")
        return " ".join(said)

    def draw(self, table: Table) -> tuple[Any, str]:
        """Return the rows of a table as the estimator takes them, a polars frame.

        A category that was not learnt has 0 in all columns, as the reference has; the
        text counts such rows.
        """
        labels = [name for name in self.labels if name in table.names]
        for name in (*(name for name in self.cut if name in labels), *self.columns):
            _refuse_other_kind(
                table, name, name in self.categories or name in self.dates
            )
        found: dict[str, NDArray[Any]] = {}
        said = []
        for name in self.columns:
            if name not in self.categories:
                days = name in self.dates
                found[name] = days_of(table, name) if days else table[name]
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
        columns = {**found, **{name: table[name] for name in labels}}
        return Table(columns).to_frame(), " ".join(said)

    def predict(self, model: Any, table: Table) -> tuple[Floats, str]:
        """Return predictions of a table's rows, and what was done with categories."""
        X, message = self.draw(table)
        try:  # a model that was fitted to files has their order of columns
            order = [name for name in model.feature_names_in_ if name in X.columns]
            found = model.predict(X.select(order))
        except InputError as error:
            if error.argument == "X":
                raise
            # Else there are labels that it does not know.
            is_task = str(error.argument) == "tasks"
            names = self.tasks if is_task else self.sensitive
            column = names[0] if len(names) == 1 else None
            cure = MORE_TASKS if is_task else FIT_MORE
            raise TableError(
                str(error.expected), cure, column, source=table.source
            ) from None
        return np.asarray(found, float), message

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, for the ``extra`` of a model file."""
        return {"kind": KIND, **asdict(self)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> ModelColumns:
        """Return what `to_dict` stored."""
        if stored.get("kind") != KIND:
            said = "does not say how the columns of a file become predictors, for it"
            cure = "Predict with it in Python: load_model."
            raise ModelFileError(f"{said} was not made by `rankfair fit`", cure)
        kinds = get_type_hints(cls)
        typed = all(fits(stored.get(key), kind) for key, kind in kinds.items())
        demand(typed and all(stored["categories"].values()), NOT_SAID)
        return cls(**{key: stored[key] for key in kinds})

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

    def reading(self, reading: Reading, model: Any) -> tuple[Roles, Reading]:
        """Return roles and reading of new rows, which may have no target.

        Those of a blind model may have no group either.
        """
        roles = Roles(
            sensitive=tuple(self.sensitive),
            tasks=tuple(self.tasks),
            features=tuple(self.columns),
            cut=tuple(self.cut),
        )
        text = tuple(dict.fromkeys((*reading.text, *self.categories, *self.dates)))
        spare = roles.sensitive if getattr(model, "blind", False) else ()
        return roles, replace(reading, text=text, spare=spare)


def _refuse_other_kind(table: Table, name: str, was_text: bool) -> None:
    """Raise if a column is text and was numbers in training, or the other way round."""
    is_text = table.is_text(name)
    if is_text != was_text:
        cure = f"Read it as text with --text {shlex.quote(name)}."
        kinds = ("text", "numbers") if is_text else ("numbers", "text")
        reason = "holds {}, but held {} when the model was fitted".format(*kinds)
        cure = table.why_text.get(name, "") if is_text else cure
        raise TableError(reason, cure, name, source=table.source)
