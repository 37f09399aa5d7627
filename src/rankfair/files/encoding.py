"""Predictors as numbers: categories become columns of 0 and 1, with a cap."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.table import Table, refuse_gaps
from rankfair.input.errors import TableError, counted, quoted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Encoded:
    """Predictors as numbers.

    Attributes
    ----------
    names : tuple of str
        Names of the columns: ``"age"``, or ``"colour=red"`` for a category.
    values : ndarray of shape (n_rows, n_names), float64
        Their values, finite.
    unknown : dict of str to int
        How many rows of a column have a category that was not there to be learnt.
    message : str
        A few sentences for a person; empty if there is nothing to say.
    """

    names: tuple[str, ...]
    values: Floats
    unknown: Mapping[str, int]
    message: str

    def to_frame(self, labels: Mapping[str, Any] | None = None) -> Any:
        """Return a polars frame of the predictors and, after them, columns of labels.

        Examples
        --------
        >>> encoded = Encoded(("age",), np.array([[1.0], [2.0]]), {}, "")
        >>> encoded.to_frame({"task": np.array(["a", "b"], object)}).columns
        ['age', 'task']
        """
        columns = dict(zip(self.names, self.values.T, strict=True))
        return Table({**columns, **(labels or {})}).to_frame()


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

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        found: list[str] = []
        for name in self.columns:
            if name in self.categories:
                found += [f"{name}={label}" for label in self.categories[name][1:]]
            else:
                found.append(name)
        return tuple(found)

    def apply(self, table: Table) -> Encoded:
        """Return the predictors of a table's rows.

        A category that was not learnt has 0 in all columns, as the reference has; such
        rows are counted.  Missing cells are refused.
        """
        table.check_names(self.columns)
        for name in self.columns:
            refuse_gaps(table, name)
        parts: list[Floats] = []
        unknown: dict[str, int] = {}
        for name in self.columns:
            labels = self.categories.get(name)
            if labels is None:
                parts.append(_numbers(table, name)[:, None])
                continue
            codes = _codes(table, name, labels)
            parts.append((codes[:, None] == np.arange(1, len(labels))).astype(float))
            if (codes < 0).any():
                unknown[name] = int((codes < 0).sum())
        values = np.hstack(parts) if parts else np.empty((table.n_rows, 0))
        said = [_say_unknown(name, n, self.categories) for name, n in unknown.items()]
        return Encoded(
            self.names, np.ascontiguousarray(values), unknown, " ".join(said)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, for the ``extra`` of a model file."""
        return {
            "columns": list(self.columns),
            "categories": {name: list(of) for name, of in self.categories.items()},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Encoding:
        """Return what `to_dict` stored; a ValueError says what it did not."""
        columns = distinct_texts(stored["columns"])
        categories = {
            name: distinct_texts(labels)
            for name, labels in stored["categories"].items()
        }
        if not set(categories) <= set(columns) or not all(categories.values()):
            raise ValueError("categories are of no column, or there are none")
        return cls(columns, categories)


def distinct_texts(stored: Any) -> tuple[str, ...]:
    """Return names or labels from a file, if they are a list of different texts.

    Examples
    --------
    >>> distinct_texts(["a", "b"])
    ('a', 'b')
    """
    texts = isinstance(stored, list) and all(isinstance(each, str) for each in stored)
    if not texts or len(set(stored)) < len(stored):
        raise ValueError("names and labels must be a list of different texts")
    return tuple(stored)


def learn_encoding(
    table: Table, columns: Sequence[str], *, cap: int = 50
) -> tuple[Encoding, str]:
    """Learn how columns of a table become predictors, and say what was done.

    Parameters
    ----------
    table : Table
        The rows to learn from.
    columns : sequence of str
        The predictors.
    cap : int, default=50
        The most categories that a column of text may have.

    Returns
    -------
    encoding : Encoding
        ``encoding.apply(table)`` gives the numbers.
    message : str
        Which columns were encoded; empty if all were numbers.

    Raises
    ------
    TableError
        If a cell is missing, or a column has more categories than the cap.

    Examples
    --------
    >>> import numpy as np
    >>> colour = np.array(["red", "blue", "red"], object)
    >>> table = Table({"age": np.array([1.0, 2.0, 3.0]), "colour": colour})
    >>> encoding, message = learn_encoding(table, ["age", "colour"])
    >>> encoding.names
    ('age', 'colour=red')
    >>> encoding.apply(table).values.tolist()
    [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    >>> message
    'Encoded "colour" as 0/1 columns (2 categories, against "blue").'
    """
    table.check_names(columns)
    for name in columns:
        # No model has learnt the column yet; after that it is needed.
        refuse_gaps(
            table,
            name,
            f"leave the column out with --drop {shlex.quote(name)}, or drop such rows "
            "with --drop-missing.",
        )
    categories: dict[str, tuple[str, ...]] = {}
    said = []
    for name in columns:
        if not table.is_text(name):
            continue
        labels = tuple(sorted(set(table[name].tolist())))
        if len(labels) > cap:
            raise _too_many(table, name, labels, cap)
        categories[name] = labels
        said.append(_say(name, labels))
    encoding = Encoding(tuple(columns), categories)
    _refuse_twins(encoding.names, table)
    return encoding, " ".join(said)


def _refuse_twins(names: Sequence[str], table: Table) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(
                "is the name of two predictors, once as a category",
                source=table.source,
                column=name,
                cure="Rename a column.",
            )
        seen.add(name)


def _numbers(table: Table, name: str) -> Floats:
    if table.is_text(name):
        raise TableError(
            "holds text, but held numbers when the model was fitted",
            source=table.source,
            column=name,
            cure=table.why_text.get(name, ""),
        )
    return np.asarray(table[name], dtype=np.float64)


def _codes(table: Table, name: str, labels: tuple[str, ...]) -> NDArray[np.intp]:
    if not table.is_text(name):
        raise TableError(
            "holds numbers, but held text when the model was fitted",
            source=table.source,
            column=name,
            cure=f"Read it as text with --text {shlex.quote(name)}.",
        )
    index = {label: code for code, label in enumerate(labels)}
    cells = table[name].tolist()
    return np.fromiter((index.get(cell, -1) for cell in cells), np.intp, len(cells))


def _say(name: str, labels: tuple[str, ...]) -> str:
    if len(labels) < 2:
        return f"Left out {quoted(name)}: all rows have {quoted(labels[0])}."
    return (
        f"Encoded {quoted(name)} as 0/1 columns ({len(labels)} categories, against "
        f"{quoted(labels[0])})."
    )


def _say_unknown(
    name: str, count: int, categories: Mapping[str, tuple[str, ...]]
) -> str:
    return (
        f"{counted(count, 'row has', 'rows have')} a category of {quoted(name)} that "
        "was not there when the model was fitted; read as "
        f"{quoted(categories[name][0])}."
    )


def _too_many(table: Table, name: str, labels: tuple[str, ...], cap: int) -> TableError:
    reason = table.why_text.get(name, "")
    return TableError(
        f"has {len(labels)} categories, more than {cap}, for example "
        f"{', '.join(quoted(label) for label in labels[:3])}",
        source=table.source,
        column=name,
        cure=reason
        or f"Leave it out with --drop {shlex.quote(name)}, group its rare values, or "
        f"raise the cap with --max-categories {len(labels)}.",
    )
