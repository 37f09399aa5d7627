"""What the columns of a table are for, and labels that may mean the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from typing import Any
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

from rankfair.files.table import Table
from rankfair.input.arrays import Floats
from rankfair.input.errors import (
    Argument,
    InputError,
    TableError,
    listed,
    quoted,
    shown,
)
from rankfair.input.frames import distinct

_NUMBERED = re.compile(r"([^\d.,]*?)([0-9]{1,30})")  # digits after the same letters
_DATE = re.compile(
    r"(?P<year>[0-9]{4})([-/.])(?P<month>[0-9]{1,2})\2(?P<day>[0-9]{1,2})"
    r"([ T][0-9:.+Z-]+)?|[0-9]{1,2}([-/.])[0-9]{1,2}\6([0-9]{4}|[0-9]{2})"
)
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
    kept: tuple[str, ...] = ()  # predictors though they look like identifiers or dates
    cut: tuple[str, ...] = ()  # sensitive columns that may be numbers all the same

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
        if self.features is None:
            return None
        return (*self.named, *self.features, *self.kept)

    def uses(self, name: str) -> bool:
        """Tell whether a column is one that is used."""
        needed = self.needed
        return name not in self.drop if needed is None else name in needed

    def predictors(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns to predict from, the protected ones not among them."""
        if self.features is not None:
            return tuple(dict.fromkeys((*self.features, *self.kept)))
        taken = {*self.named, *self.drop}
        return tuple(name for name in names if name not in taken)

    def check(self) -> None:
        """Raise if a column has two roles."""
        roles: dict[str, Sequence[str | None]] = {
            "y": [self.target],
            "sensitive_features": self.sensitive,
            "tasks": self.tasks,
            "y_pred": self.predictions,
            "sample_weight": [self.weight],
            "features": tuple(dict.fromkeys(self.features or ())),
            "predictor": [it for it in self.kept if it not in (self.features or ())],
            "drop": self.drop,
        }
        seen: dict[str, str] = {}
        for role, names in roles.items():
            for name in filter(None, names):
                if name in seen:
                    as_well = (f"names column {shown(name)}, as ", Argument(seen[name]))
                    raise InputError(role, as_well, cure="A column has one role.")
                seen[name] = role


def without_identifiers(
    table: Table, roles: Roles, numbers: Sequence[str] = ()
) -> tuple[Table, Roles]:
    """Leave out identifiers and dates that nobody has asked to predict from.

    They tell rows apart and would be learnt by heart.  A note lists them, and no other
    note speaks of them.  ``numbers`` are columns of which is said that they are.
    """
    asked = {*roles.kept, *numbers, *(roles.features or ())}
    names = [name for name in roles.predictors(table.names) if name not in asked]
    codes = [name for name in names if looks_like_identifier(table[name])]
    dates = [name for name in names if looks_like_dates(table[name])]
    gone, kinds = (*codes, *dates), (("identifiers", codes), ("dates", dates))
    if not gone:
        return table, roles
    said = " and ".join(f"{kind} ({listed(of)})" for kind, of in kinds if of)
    cure = f"--predictor {shlex.quote(gone[0])} would take the column in."
    note = f"Not predicted from {said}: {cure}"
    theirs = {table.why_text.get(name) for name in gone}
    others = (each for each in table.notes if each not in theirs)
    left = replace(roles, drop=tuple(dict.fromkeys((*roles.drop, *gone))))
    return replace(table, notes=(*others, note)), left


def looks_like_identifier(column: NDArray[Any], least: int = 20) -> bool:
    """Tell whether a column numbers its rows: whole numbers, as text with a prefix.

    Of at least ``least`` known cells 99 % are distinct, and their digits begin with 0,
    or all have one width of five or more, or the numbers are consecutive.
    """
    if column.dtype.kind != "O":
        known = column[column == column]
        if (known < 0).any() or (known != np.trunc(known)).any():
            return False
    cells = [cell for cell in column.tolist() if cell is not None and cell == cell]
    if len(cells) < least or len({*cells}) < 0.99 * len(cells):
        return False
    found = [_NUMBERED.fullmatch(_as_cell(cell)) for cell in cells]
    parts = [(each[1], each[2]) for each in found if each is not None]
    prefixes = {prefix for prefix, _ in parts}
    if len(parts) < len(cells) or len(prefixes) > 1 or prefixes == {"-"}:
        return False
    digits = [each for _, each in parts]
    widths, numbers = {len(each) for each in digits}, sorted(map(int, digits))
    return (
        any(each[0] == "0" and len(each) > 1 for each in digits)
        or (len(widths) == 1 and min(widths) >= 5)
        or all(after - before <= 1 for before, after in pairwise(numbers))
    )


def looks_like_dates(column: NDArray[Any]) -> bool:
    """Tell whether all known cells of a column of text are dates."""
    cells = {*column.tolist()} - {None} if column.dtype.kind == "O" else ()
    return bool(cells) and all(_DATE.fullmatch(cell.strip()) for cell in cells)


def days_of(table: Table, name: str) -> Floats:
    """Return a column of dates as days since 1970-01-01, the time of day left out."""
    kinds, codes = distinct(table[name].tolist())
    days = []
    for cell in kinds:
        found = _DATE.fullmatch(cell.strip())
        try:
            if found is None or not found["year"]:
                raise ValueError
            day = date(*(int(found[part]) for part in ("year", "month", "day")))
        except ValueError:
            reason = f"holds {quoted(cell)}, from which no day can be told"
            cure = "Write dates as 2024-01-31, the year first."
            raise TableError(reason, cure, name, source=table.source) from None
        days.append(day)
    return np.asarray(np.array(days, "M8[D]")[codes], np.float64)


def _as_cell(cell: Any) -> str:
    """Return a cell as text; a number with a fraction keeps its point."""
    return cell.strip() if isinstance(cell, str) else repr(cell).removesuffix(".0")


def label_notes(table: Table, roles: Roles) -> list[str]:
    """Say which groups may mean "not known", and which labels look alike."""
    unknown, near = [], []
    read = (name for name in (*roles.sensitive, *roles.tasks) if name in table.columns)
    for name in read:
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
            spaces = any(label != label.strip() for label in same)
            cure = "say --trim" if spaces else "write them alike"
            plain = len({normalize("NFC", label) for label in same}) == len(same)
            those = listed(same) if plain else ", ".join(map(ascii, same))
            near.append(
                f"{shown(name)} has {those}, which differ only in spaces, "
                "capitals or the way letters are encoded (Unicode form, signs of no "
                f"width); if they are the same, {cure}."
            )
    return [*unknown, *near]


def _as_seen(label: str) -> str:
    """Return a label without what the eye may miss.

    That is spaces, capitals, signs of no width, and other forms of the same letters.
    """
    letters = normalize("NFKC", label)
    seen = "".join(sign for sign in letters if category(sign) != "Cf")
    return normalize("NFKC", " ".join(seen.split()).casefold())


def refuse_taken(name: str, names: Sequence[str], source: str, cure: str) -> None:
    """Raise if a new column has the name of one that is there, or none."""
    if not name.strip():
        raise TableError("needs a name for its new column", cure, source=source)
    if name in names:
        raise TableError(f"already has a column {shown(name)}", cure, source=source)


def column_or_none(table: Table, name: str | None) -> NDArray[Any] | None:
    """Return a column, or None if it has no name."""
    return None if name is None else table[name]
