"""Files as one table, and what its columns are for."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from rankfair.files.read import read_file
from rankfair.files.table import Reading, Table, refuse_gaps
from rankfair.input.disk import real, visible
from rankfair.input.errors import TableError, listed, shown

__all__ = [
    "Reading",
    "Roles",
    "column_or_none",
    "files_of",
    "load",
    "refuse_gaps",
    "refuse_taken",
]

# Cells that often mean so, in small letters.
UNKNOWN = ("na", "n/a", "nan", "null", "none", "unknown", "?", "-", "")


@dataclass(frozen=True)
class Roles:
    """What the columns are for; all others are predictors unless ``drop`` has them.

    Examples
    --------
    >>> roles = Roles(target="pay", sensitive=("sex",), tasks=("job",))
    >>> roles.predictors(("id", "pay", "sex", "job", "age"))
    ('id', 'age')
    """

    target: str | None = None
    sensitive: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    predictions: tuple[str, ...] = ()
    weight: str | None = None
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()  # protected columns that may be numbers all the same

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns that are text whatever they hold."""
        return tuple(n for n in (*self.sensitive, *self.tasks) if n not in self.cut)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns that must hold numbers."""
        single = tuple(n for n in (self.target, self.weight) if n is not None)
        return (*single, *self.predictions)

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that have a role of their own."""
        return (*self.sensitive, *self.tasks, *self.numbers)

    @property
    def needed(self) -> tuple[str, ...] | None:
        """Columns that are used; None if all but ``drop`` may be predictors."""
        return None if self.features is None else (*self.named, *self.features)

    def uses(self, name: str) -> bool:
        """Tell whether a column is one that is used."""
        needed = self.needed
        return name not in self.drop if needed is None else name in needed

    def predictors(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns to predict from, the protected ones not among them."""
        if self.features is not None:
            return tuple(dict.fromkeys(self.features))
        taken = {*self.named, *self.drop}
        return tuple(name for name in names if name not in taken)

    def check(self) -> None:
        """Raise if a column has two roles."""
        named = [
            ("--target", self.target),
            *(("--sensitive", name) for name in self.sensitive),
            *(("--task", name) for name in self.tasks),
            *(("--prediction", name) for name in self.predictions),
            ("--weight", self.weight),
            *(("--feature", name) for name in dict.fromkeys(self.features or ())),
            *(("--drop", name) for name in self.drop),
        ]
        seen: dict[str, str] = {}
        for role, name in named:
            if name in seen:
                twice = "twice" if seen[name] == role else f"and {seen[name]}"
                raise ValueError(
                    f"column {shown(name)} is named by {role} {twice}: a column has "
                    "one role."
                )
            if name:
                seen[name] = role


def load(files: Sequence[str], roles: Roles, reading: Reading) -> Table:
    """Read one or several files as one table.

    Parameters
    ----------
    files : sequence of str
        CSV or Parquet files, folders of Parquet files, or ``"-"``; they must have the
        same columns.
    roles : Roles
        Columns with a role are read as what they have to be.
    reading : Reading
        How the files are written.

    Returns
    -------
    Table
        The rows of all files, in order, those with empty cells in columns that matter
        left out if `reading` says so.
    """
    files = [
        part
        for each in files
        for part in (files_of(each) if Path(each).is_dir() else [each])
    ]
    _refuse_twice(files)
    _refuse_contradictions(roles, reading)
    parts = [_read(file, roles, reading) for file in files]
    table = parts[0] if len(parts) == 1 else _joined(parts, roles)
    table.check_names((*roles.named, *(roles.features or ()), *roles.drop))
    if reading.drop_missing:
        table = _whole_rows(table, roles)
    return replace(table, notes=(*table.notes, *_label_notes(table, roles)))


def files_of(folder: str) -> list[str]:
    """Return the Parquet files of a folder, in order, hidden ones left out."""
    inside = Path(folder).glob("*.parquet")
    found = sorted(str(path) for path in inside if visible(Path(path.name)))
    if not found:
        reason, cure = (
            "is a folder without Parquet files",
            "Their names end in .parquet.",
        )
        raise TableError(reason, cure, source=folder)
    return found


def _refuse_twice(files: Sequence[str]) -> None:
    seen: set[Path | str] = set()
    for file in files:
        place = file if file == "-" else real(file)
        if place in seen:
            raise ValueError(
                f"{file} is named twice: its rows would count double. Name it once."
            )
        seen.add(place)


def _refuse_contradictions(roles: Roles, reading: Reading) -> None:
    for name in roles.numbers:
        if name in reading.text:
            raise ValueError(
                f"column {shown(name)} is to be read as text by --text, but what it is "
                "used for needs numbers."
            )
    for name in reading.numbers:
        if name in (*reading.text, *roles.labels):
            raise ValueError(
                f"column {shown(name)} is to be read as numbers by --number, but "
                "tasks, groups, categories and columns named by --text are text."
            )


def _label_notes(table: Table, roles: Roles) -> list[str]:
    """Say which groups may mean "not known", and which labels look alike."""
    unknown, near = [], []
    for name in (*roles.sensitive, *roles.tasks):
        labels = set(table[name].tolist()) - {None} if table.is_text(name) else set()
        alike: dict[str, list[str]] = {}
        for label in sorted(labels):
            alike.setdefault(_as_seen(label), []).append(label)
        if name in roles.sensitive:
            unknown += [
                f"{shown(name)} has a group called {shown(label)}; if that means “not "
                f"known”, say --missing {shlex.quote(label)}."
                for label in sorted(labels)
                if _as_seen(label) in UNKNOWN
            ]
        same = next((each for each in alike.values() if len(each) > 1), None)
        if same is not None:  # one example will do
            near.append(
                f"{shown(name)} has {_told_apart(same)}, which differ only in spaces, "
                "capitals or the way letters are encoded (Unicode form, signs of no "
                "width); if they are the same, write them alike."
            )
    return [*unknown, *near]


def _as_seen(label: str) -> str:
    """Return a label without what the eye may miss.

    That is spaces, capitals, signs of no width, and other forms of the same letters.
    """
    letters = normalize("NFKC", label)
    seen = "".join(sign for sign in letters if category(sign) != "Cf")
    return normalize("NFKC", " ".join(seen.split()).casefold())


def _told_apart(labels: list[str]) -> str:
    """Return labels as they are shown, or by their signs where that shows the same."""
    if len({normalize("NFC", label) for label in labels}) == len(labels):
        return listed(labels)
    return ", ".join(map(ascii, labels))


def _read(file: str, roles: Roles, reading: Reading) -> Table:
    extra = reading.file_column
    texts = [n for n in dict.fromkeys((*roles.labels, *reading.text)) if n != extra]
    how = replace(
        reading,
        text=tuple(texts),
        numbers=tuple(dict.fromkeys((*roles.numbers, *reading.numbers))),
        needed=roles.needed,
        spare=roles.drop,
    )
    table = read_file(file, how)
    if extra is None:
        return table
    refuse_taken(extra, table.names, table.source, "Give --file-column another name.")
    stem = "-" if file == "-" else Path(file).stem
    return table.with_column(extra, np.full(table.n_rows, stem, object))


def _joined(parts: list[Table], roles: Roles) -> Table:
    """Return the rows of several tables with the same columns, kinds agreed.

    A column that is not used may be numbers in one and text in another: it is text.
    """
    first = parts[0]
    for other in parts[1:]:
        _refuse_other_columns(first, other, roles)
    columns = {n: _concatenated([part[n] for part in parts]) for n in first.names}
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    sources = ", ".join(part.source for part in parts)
    return Table(columns, sources, notes, first.why_text)


def _refuse_other_columns(first: Table, other: Table, roles: Roles) -> None:
    """Raise if columns of two files differ in name, or in kind where they are used."""
    cure = "All files must have the same columns."
    for name in first.names:
        if name not in other.names:
            reason = f"has no column {shown(name)}, which {first.source} has"
            raise TableError(reason, cure, source=other.source)
    for name in other.names:
        if name not in first.names:
            reason = f"has a column {shown(name)} that {first.source} has not"
            raise TableError(reason, cure, source=other.source)
    for name in first.names:
        text = other.is_text(name)
        if first.is_text(name) != text and roles.uses(name):
            kinds = "text" if text else "numbers"
            reason = f"holds {kinds}, but not so in {first.source}"
            cure = f"Read it as text in all files with --text {shlex.quote(name)}."
            raise TableError(reason, cure, name, source=other.source)


def _concatenated(columns: list[NDArray[Any]]) -> NDArray[Any]:
    if len({column.dtype.kind == "O" for column in columns}) == 1:
        return np.concatenate(columns)
    out = np.empty(sum(map(len, columns)), object)
    out[:] = [_as_text(cell) for column in columns for cell in column.tolist()]
    return out


def _as_text(cell: Any) -> str | None:
    """A cell of a column that is not used: text as it is, numbers as CSV has them."""
    if cell is None or isinstance(cell, str):
        return cell
    return None if cell != cell else repr(cell).removesuffix(".0")


def _whole_rows(table: Table, roles: Roles) -> Table:
    """Return the rows without an empty cell where one matters, and count the others."""
    gone = np.zeros(table.n_rows, bool)
    for name in (*roles.named, *roles.predictors(table.names)):
        gone |= table.missing(name)
    if gone.all():
        n = table.n_rows
        rows = "its only row" if n == 1 else f"each of its {n} rows"
        cure = "Leave columns with many empty cells out with --drop."
        raise TableError(f"has an empty cell in {rows}", cure, source=table.source)
    if not gone.any():
        return table
    note = f"Dropped {int(gone.sum())} of {table.n_rows} rows with empty cells."
    return replace(table.take(~gone), notes=(*table.notes, note))


def refuse_taken(name: str, names: Sequence[str], source: str, cure: str) -> None:
    """Raise if a new column has the name of one that is there, or none."""
    if not name.strip():
        raise ValueError(f"a new column needs a name, got {name!r}. {cure}")
    if name in names:
        raise TableError(f"already has a column {shown(name)}", cure, source=source)


def column_or_none(table: Table, name: str | None) -> NDArray[Any] | None:
    """Return a column, or None if it has no name."""
    return None if name is None else table[name]
