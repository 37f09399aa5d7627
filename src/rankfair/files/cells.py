"""Cells to numbers, where every cell of a column is one; else they stay text."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from statistics import mode
from typing import Any
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from rankfair.files.table import (
    LOST,
    PLAIN,
    SPACES,
    Lines,
    ReadColumn,
    Reading,
    as_text,
)
from rankfair.input.arrays import Floats
from rankfair.input.errors import TableError, quoted
from rankfair.input.frames import EXACT, distinct

_ZERO_FIRST = re.compile(r"^[+-]?0[0-9]")
_NOT_ZERO = re.compile(r"^[^eE]*[1-9]")  # a digit before the exponent
_WIDE = f"{SPACES}\u00a0\u202f"  # what may stand between a number and its sign
TOO_LARGE = "is too large for a number (the largest is about 1.8e308)"
TOO_SMALL = "is too small for a number (the smallest is about 5e-324)"
_COMMA = re.compile(r"[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(
    r"[+-]?[0-9]{1,3}(?:([,.'’ \u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*([.,][0-9]*)?"
)


def read_cells(cells: Any, reading: Reading, name: str, lines: Lines) -> ReadColumn:
    """Return the cells of a column as numbers or, with the reason, as text.

    What has to be numbers and is not is a problem.  In any column it is one if numbers
    are written as the settings do not expect, or do not fit into a float.
    """
    found = ReadColumn(None)
    if name not in reading.text:
        quick = _quick(cells, reading)
        if quick is not None:
            return ReadColumn(quick)
        found = _NumberCells(*distinct(cells), reading, name, lines).read()
    if found.values is not None:
        return found
    return replace(found, values=as_text(cells, reading.missing, reading.trim))


def _quick(cells: Any, reading: Reading) -> Floats | None:
    """Return the numbers of a column in which nothing is out of the ordinary.

    Polars reads as a number what `Reading.pattern` does, and infinity and "nan".
    """
    if isinstance(cells, list) or reading.thousands is not None:
        return None
    import polars as pl

    if reading.missing:
        cells = cells.replace(list(reading.missing), [""] * len(reading.missing))
    if reading.decimal == ",":
        if cells.str.contains(".", literal=True).any():
            return None
        cells = cells.str.replace(",", ".", literal=True)
    values = cells.cast(pl.Float64, strict=False)
    if values.null_count() > (cells == "").sum() or not values.is_finite().all():
        return None
    zeros = cells.filter(values == 0).unique()
    odd = (
        (values.abs() >= EXACT).any()
        or cells.str.head(3).unique().str.contains(_ZERO_FIRST.pattern).any()
        or zeros.str.contains(_NOT_ZERO.pattern).any()
    )
    return None if odd else np.array(values.to_numpy(), dtype=np.float64)


@dataclass(frozen=True)
class _NumberCells:
    """A column that may be numbers, and what is wrong with it.

    Attributes
    ----------
    cells : list of str
        The different cells, in the order of the file.
    codes : ndarray of shape (n_rows,)
        Which of them each row has.
    """

    cells: list[str]
    codes: NDArray[Any]
    reading: Reading
    name: str
    lines: Lines

    @property
    def asked(self) -> bool:
        """Whether the column has to be numbers."""
        return self.name in self.reading.numbers

    @cached_property
    def bare(self) -> list[str]:
        """The cells without spaces around them."""
        return [cell.strip(SPACES) for cell in self.cells]

    @cached_property
    def known(self) -> list[str]:
        """Each different cell that is not missing, in the order of the file."""
        missing = {"", *self.reading.missing}
        return [cell for cell in dict.fromkeys(self.bare) if cell not in missing]

    @cached_property
    def sign(self) -> str:
        """The currency or percent sign of most known cells, which all have to have."""
        return mode([_signed(cell)[0] for cell in self.known] or [""])

    @cached_property
    def plain(self) -> dict[str, str]:
        """The known cells that are numbers, as `float` takes them."""
        found, thousands = {}, self.reading.thousands or ""
        for cell in self.known:
            sign, rest = _signed(cell)
            if sign == self.sign and self.reading.pattern.fullmatch(rest):
                bare = rest.replace(thousands, "")
                found[cell] = bare.replace(self.reading.decimal, ".")
        return found

    def read(self) -> ReadColumn:
        """Return the numbers with a note on their sign, or why there are none."""
        odd = [cell for cell in self.known if cell not in self.plain]
        if odd and not self.asked and not self._would_be(odd[0]):
            return ReadColumn(None, self._why(odd[0]))
        if odd:
            return ReadColumn(None, problems=self._problems(odd))
        values = {cell: float(text) for cell, text in self.plain.items()}
        problems, note = [], ""
        for cell, value in values.items():
            plain = self.plain[cell]
            lost = abs(value) >= EXACT and not _keeps_digits(plain, value)
            if math.isinf(value):
                problems.append(self._error(cell, TOO_LARGE))
            elif value == 0 and _NOT_ZERO.match(plain):
                problems.append(self._error(cell, TOO_SMALL))
            elif lost and self.asked:
                problems.append(self._error(cell, LOST))
            elif lost:
                note = note or self._as_text(cell, LOST)
            elif _ZERO_FIRST.match(plain) and not self.asked:
                note = note or self._as_text(cell, "begins with 0, as codes do")
        if problems or note:
            return ReadColumn(None, note, problems)
        if self.sign:
            cell, number = next(iter(self.plain.items()))
            note = (
                f"Read column {quoted(self.name)} without the sign {self.sign} that "
                f"all its cells have: {quoted(cell)} as {number}."
            )
        found = np.array([values.get(cell, np.nan) for cell in self.bare], float)
        return ReadColumn(found[self.codes], note)

    def _would_be(self, cell: str) -> bool:
        """Tell whether all cells would be numbers with the flags for this one."""
        known = map(self._unsigned, self.known)
        return bool(self._flags(cell)) and all(map(_some, known))

    def _unsigned(self, cell: str) -> str:
        """Return a cell without the sign of the column."""
        sign, rest = _signed(cell)
        return rest if sign == self.sign else cell

    def _as_text(self, cell: str, why: str) -> str:
        """Say that the column is text, for what one cell has."""
        written, line = self._place(cell)
        head = f"Read column {quoted(self.name)} as text"
        return f"{head}: {written} in line {line} {why}."

    def _place(self, cell: str) -> tuple[str, int]:
        """Return a cell as it is written where it stands first, and the line."""
        i = self.bare.index(cell)
        return quoted(self.cells[i]), int(self.lines[(self.codes == i).argmax()])

    def _error(self, cell: str, what: str, cure: str = "") -> TableError:
        label = "Is it a label? Read the column as text: --text "
        written, line = self._place(cell)
        cure = cure or label + shlex.quote(self.name)
        return TableError(f"{written} {what}", cure, self.name, line)

    def _problems(self, odd: list[str]) -> list[TableError]:
        """Return what is wrong with cells, one with each cure."""
        # One word alone may mean "not known".
        if len(self.known) > 1 and all(it[0].isalpha() for it in self.known):
            what = "is text, as are all cells of the column"
            return [self._error(odd[0], what, "Is it the column you meant?")]
        first: dict[str, TableError] = {}
        for cell in odd:
            error = self._not_a_number(cell)
            first.setdefault(str(error.cure), error)
        return [*first.values()]

    def _not_a_number(self, cell: str) -> TableError:
        """Return what is wrong with a cell, and what helps."""
        sign, rest = _signed(cell)
        if sign != self.sign and (self.reading.pattern.fullmatch(rest) or _some(rest)):
            its = f"the sign {sign}" if sign else "no sign"
            cure = "A currency or percent sign is read where all cells have the same"
            return self._error(cell, f"has {its}, unlike other cells", cure)
        flags = self._flags(cell)
        if flags:
            # What has to be numbers cannot be read as text.
            text = f", or read the column as text: --text {shlex.quote(self.name)}"
            cure = f"Say {flags}{'' if self.asked else text}"
            return self._error(cell, "is not a plain number", cure)
        cure = "Mend the cell, or leave it empty if it is not known"
        if len(cell) < 20 and cell.isprintable():
            cure += f"; cells that mean so can be named: --missing {shlex.quote(cell)}"
        return self._error(cell, "is not a number", cure)

    def _flags(self, cell: str) -> str:
        """Return the flags with which this cell would be a number, if there are any."""
        cell = self._unsigned(cell)
        grouped = _GROUPED.fullmatch(cell)
        said = []
        if grouped:
            sign = grouped[1]
            decimal = (grouped[2] or "")[:1] or ("," if sign == "." else ".")
            if decimal != sign:
                shell = shlex.quote(sign)
                text = f"--thousands {shell if shell != sign else repr(sign)}"
                said.append(text + (" --decimal ','" if decimal == "," else ""))
        if _COMMA.fullmatch(cell):
            said.append("--decimal ','")
        if PLAIN.fullmatch(cell) and self.reading.decimal == ",":
            said.append("--decimal '.'")
        return " or ".join(said)

    def _why(self, cell: str) -> str:
        """Say what stopped a column of numbers, if most of its cells are numbers."""
        counts = np.bincount(self.codes, minlength=len(self.bare)).tolist()
        filled = [it for it in zip(self.bare, counts, strict=True) if it[0]]
        plain = sum(count for cell, count in filled if cell in self.plain)
        if 2 * plain <= sum(count for _, count in filled):
            return ""
        cure = "Does it mean that the value is not known? Say --missing"
        return self._as_text(cell, f"is not a number. {cure} {shlex.quote(cell)}")


def _some(cell: str) -> bool:
    """Tell whether a cell would be a number with some flags."""
    return any(kind.fullmatch(cell) for kind in (PLAIN, _COMMA, _GROUPED))


def _signed(cell: str) -> tuple[str, str]:
    """Return the currency or percent sign of a cell, and the cell without it."""
    minus = cell[:1] if cell.startswith(("-", "+")) else ""
    rest = cell[len(minus) :]
    if category(rest[:1] or " ") == "Sc":
        return rest[0], minus + rest[1:].lstrip(_WIDE)
    if rest.endswith("%") or category(rest[-1:] or " ") == "Sc":
        return rest[-1], minus + rest[:-1].rstrip(_WIDE)
    return "", cell


def _keeps_digits(bare: str, value: float) -> bool:
    """Tell whether the float, written with as many digits, is what was written."""
    written = Decimal(bare)
    n_digits = len(written.as_tuple().digits)
    return Decimal(f"{value:.{n_digits - 1}e}") == written
