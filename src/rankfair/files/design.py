"""From the columns of a file to what an estimator takes, and back for new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.archive import ModelFileError, distrusted
from rankfair.files.columns import Reading, Roles, refuse_gaps
from rankfair.files.encoding import Encoding, distinct_texts, learn_encoding
from rankfair.files.model_files import load_model, read_extra
from rankfair.files.table import Table
from rankfair.input.errors import TableError, counted, listed
from rankfair.input.new_rows import UnseenError

__all__ = ["Design", "Drawn"]

KIND = "rankfair-design"
FEW = 3  # names in a note


@dataclass(frozen=True)
class Drawn:
    """Rows ready for an estimator.

    Attributes
    ----------
    X : polars.DataFrame
        Predictors, then the task columns and the protected columns, by their names.
    message : str
        What was done with categories; empty if there were none.
    """

    X: Any
    message: str


@dataclass(frozen=True)
class Design:
    """Which columns a model reads and how categories become numbers.

    It goes into the model file, so that `rankfair predict` reads new files alike.
    """

    roles: Roles
    encoding: Encoding
    message: str = ""
    details: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of what the estimator takes: predictors and labels."""
        return (*self.encoding.names, *self.roles.tasks, *self.roles.sensitive)

    @classmethod
    def learn(cls, table: Table, roles: Roles, cap: int = 50) -> Design:
        """Learn the categories of the predictors of a table."""
        names = roles.predictors(table.names)
        if not names:
            raise TableError(
                "has no column left to predict from",
                source=table.source,
                cure="Name fewer columns in --drop, or some in --feature.",
            )
        encoding, details = learn_encoding(table, names, cap=cap)
        numbers = tuple(n for n in roles.cut if not table.is_text(n))
        roles = replace(roles, cut=numbers)
        return cls(roles, encoding, _brief(encoding), details)

    def draw(self, table: Table) -> Drawn:
        """Return the rows of a table as the estimator takes them."""
        for name in self.roles.cut:
            if table.is_text(name):
                raise TableError(
                    "holds text, but held numbers when the model was fitted",
                    source=table.source,
                    column=name,
                    cure=table.why_text.get(name, ""),
                )
        found = self.encoding.apply(table)
        labels = (*self.roles.tasks, *self.roles.sensitive)
        return Drawn(found.to_frame({n: table[n] for n in labels}), found.message)

    def predict(
        self, model: Any, table: Table, name: str = "the model"
    ) -> tuple[NDArray[np.float64], str]:
        """Return predictions of a table's rows, and what was done with categories."""
        for task in self.roles.tasks:
            refuse_gaps(table, task)
        drawn = self.draw(table)
        # A model that was fitted to files has their order of columns.
        X = drawn.X.select(list(model.feature_names_in_))
        try:
            return np.asarray(model.predict(X), float), drawn.message
        except UnseenError as error:
            raise self._of_file(error, table.source, name) from None

    def _of_file(self, error: UnseenError, source: str, model: str) -> TableError:
        """Return what an estimator says of labels as said of a file and a model."""
        if error.column is not None:
            return TableError(
                f"has a group that {model} was not fitted to: {listed(error.labels)}",
                source=source,
                column=error.column,
                cure=f"It knows {listed(error.known)}. Fit again with rows of such "
                "groups, or leave the cells empty",
            )
        return TableError(
            f"{counted(error.n_rows, 'row has', 'rows have')} a task that {model} was "
            f"not fitted to: {listed(error.labels)}",
            source=source,
            column=", ".join(self.roles.tasks),
            cure="Fit again with rows of such tasks, or with --penalty shared "
            "--unseen shared",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, for the ``extra`` of a model file."""
        roles = self.roles
        return {
            "kind": KIND,
            "target": roles.target,
            "sensitive": list(roles.sensitive),
            "tasks": list(roles.tasks),
            "cut": list(roles.cut),
            "encoding": self.encoding.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Design:
        """Return what `to_dict` stored."""
        if stored.get("kind") != KIND:
            raise ModelFileError(
                "does not say how the columns of a file become predictors, for it was "
                "not made by `rankfair fit`. Predict with it in Python: load_model."
            )
        with distrusted("does not say what it was fitted to"):
            roles = Roles(
                target=stored["target"],
                sensitive=distinct_texts(stored["sensitive"]),
                tasks=distinct_texts(stored["tasks"]),
                cut=distinct_texts(stored["cut"]),
            )
            encoding = Encoding.from_dict(stored["encoding"])
            design = cls(roles, encoding)
            distinct_texts([*design.columns])
            if not {*roles.cut} <= {*roles.sensitive, *roles.tasks}:
                raise ValueError("numbers are cut that are neither groups nor tasks")
        return design

    @classmethod
    def of_file(cls, path: str) -> tuple[Design, Any]:
        """Return the design and the model in a file, or say why it has none."""
        model, stored = load_model(path), read_extra(path)
        try:
            design = cls.from_dict(stored)
            if {*design.columns} != {*getattr(model, "feature_names_in_", ())}:
                raise ModelFileError(
                    "does not say what it was fitted to: its model reads other columns."
                )
        except ModelFileError as error:
            raise ModelFileError(f"{path} {error}") from None
        return design, model

    def reading(self, reading: Reading) -> tuple[Roles, Reading]:
        """Return roles and reading of new rows, which may have no target."""
        categories = tuple(self.encoding.categories)
        roles = Roles(
            sensitive=self.roles.sensitive,
            tasks=self.roles.tasks,
            features=self.encoding.columns,
            cut=self.roles.cut,
        )
        text = tuple(dict.fromkeys((*reading.text, *categories)))
        return roles, replace(reading, text=text)


def _brief(encoding: Encoding) -> str:
    """Say which columns of text became numbers, and which have one value only."""
    several = [name for name, of in encoding.categories.items() if len(of) > 1]
    single = [name for name, of in encoding.categories.items() if len(of) == 1]
    said = []
    if several:
        columns = counted(len(several), "column")
        said.append(f"Encoded {columns} of text as 0/1 ({listed(several, FEW)}).")
    if single:
        columns = counted(len(single), "column")
        said.append(f"Left out {columns} of one value ({listed(single, FEW)}).")
    return " ".join(said)
