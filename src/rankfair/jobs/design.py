"""From the columns of a file to what an estimator takes, and back for new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.jobs.columns import Reading, Roles
from rankfair.tables import Encoding, Table, TableError, learn_encoding

__all__ = ["Design", "Drawn"]

KIND = "rankfair-design"


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
        encoding, message = learn_encoding(table, names, cap=cap)
        return cls(roles, encoding, message)

    def draw(self, table: Table) -> Drawn:
        """Return the rows of a table as the estimator takes them."""
        import polars as pl

        found = self.encoding.apply(table)
        columns: dict[str, Any] = {
            name: np.ascontiguousarray(found.values[:, j])
            for j, name in enumerate(found.names)
        }
        for name in (*self.roles.tasks, *self.roles.sensitive):
            columns[name] = _series(pl, name, table[name])
        return Drawn(pl.DataFrame(columns), found.message)

    def columns(self) -> list[str]:
        """Return the columns of a file that the model reads."""
        return [*self.encoding.columns, *self.roles.tasks, *self.roles.sensitive]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, for the ``extra`` of a model file."""
        roles = self.roles
        return {
            "kind": KIND,
            "target": roles.target,
            "sensitive": list(roles.sensitive),
            "tasks": list(roles.tasks),
            "binned": roles.binned,
            "encoding": self.encoding.to_dict(),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Design:
        """Return what `to_dict` stored."""
        if stored.get("kind") != KIND:
            raise ValueError(
                "the model file does not say how columns of a file become predictors: "
                "it was not made by `rankfair fit`. Load it in Python with load_model."
            )
        roles = Roles(
            target=stored["target"],
            sensitive=tuple(stored["sensitive"]),
            tasks=tuple(stored["tasks"]),
            binned=bool(stored["binned"]),
        )
        return cls(roles, Encoding.from_dict(stored["encoding"]))

    def reading(self, reading: Reading) -> tuple[Roles, Reading]:
        """Return roles and reading of new rows, which may have no target."""
        categories = tuple(self.encoding.categories)
        roles = Roles(
            sensitive=self.roles.sensitive,
            tasks=self.roles.tasks,
            features=self.encoding.columns,
            binned=self.roles.binned,
        )
        text = tuple(dict.fromkeys((*reading.text, *categories)))
        return roles, replace(reading, text=text)


def _series(pl: Any, name: str, column: NDArray[Any]) -> Any:
    if column.dtype.kind == "O":
        return pl.Series(name, column.tolist(), pl.String)
    return pl.Series(name, column)
