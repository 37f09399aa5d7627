"""Cells to numbers, where every cell of a column is one; else they stay text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.table import PLAIN, Lines, Reading
from rankfair.input.arrays import Floats
from rankfair.input.errors import TableError, quoted

EXACT = 1 << 53  # whole numbers beyond it may lose digits as floats
LOST = "has more digits than a number keeps (above 2^53)"
_SPACES = " \t"
_ZERO_FIRST = re.compile(r"^[+-]?0[0-9]")
_NOT_ZERO = re.compile(r"^[^eE]*[1-9]")  # a digit before the exponent
_COMMA = re.compile(r"[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(
    r"[+-]?[0-9]{1,3}(?:([,.'’ \u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*([.,][0-9]*)?"
)


def as_text(cells: Any, missing: Sequence[str] = ()) -> NDArray[Any]:
    """Return cells as text, None where they are empty or among ``missing``.

    Spaces around a cell do not matter there, as they do not for numbers.
    """
    out = np.empty(len(cells), dtype=object)
    known = {"", *missing}
    out[:] = [
        None if not cell or cell in known or cell.strip(_SPACES) in missing else cell
        for cell in _listed(cells)
    ]
    return out


def as_numbers(
    cells: Any, reading: Reading, name: str, lines: Lines
) -> tuple[Floats | None, str]:
    """Return cells as numbers, NaN where they are empty; or None, and why not.

    What has to be numbers and is not is an error.  In any column it is an error if
    numbers are written as the settings do not expect, or do not fit into a float.
    """
    quick = None if isinstance(cells, list) else _quick(cells, reading)
    if quick is not None:
        return quick, ""
    return NumberCells(_listed(cells), reading, name, lines).numbers()


def _listed(cells: Any) -> list[Any]:
    return cells if isinstance(cells, list) else cells.to_list()


def _quick(cells: Any, reading: Reading) -> Floats | None:
    """Return the numbers of a column in which nothing is out of the ordinary."""
    import polars as pl

    if reading.thousands is not None:
        return None
    if reading.missing:
        cells = cells.replace(list(reading.missing), [""] * len(reading.missing))
    if not cells.str.contains(f"^(?:{reading.pattern.pattern})?$").all():
        return None
    if reading.decimal == ",":
        cells = cells.str.replace(",", ".", literal=True)
    values = cells.replace("", None).cast(pl.Float64, strict=True).to_numpy()
    found: Floats = np.array(values, dtype=np.float64)
    zeros = cells.filter(pl.Series(found == 0))
    odd = (
        (np.abs(found) >= EXACT).any()
        or cells.str.contains(_ZERO_FIRST.pattern).any()
        or zeros.str.contains(_NOT_ZERO.pattern).any()
    )
    return None if odd else found


@dataclass(frozen=True)
class NumberCells:
    """A column that may be numbers, cell by cell, and what is wrong with it."""

    cells: list[str]
    reading: Reading
    name: str
    lines: Lines

    @property
    def asked(self) -> bool:
        """Whether the column has to be numbers."""
        return self.name in self.reading.numbers

    @cached_property
    def bare(self) -> set[str]:
        """The cells that are known, without spaces around them."""
        found = {cell.strip(_SPACES) for cell in self.cells}
        return found - {"", *self.reading.missing}

    def numbers(self) -> tuple[Floats | None, str]:
        """Return the numbers, or None and why not."""
        values = np.full(len(self.cells), np.nan)
        known: dict[str, float] = {"": np.nan}
        pattern = self.reading.pattern
        for i, cell in enumerate(self.cells):
            value = known.get(cell)
            if value is None:
                bare = cell.strip(_SPACES)
                if not bare or bare in self.reading.missing:
                    value = np.nan
                elif pattern.fullmatch(bare):
                    value = float(self._plain(i))
                else:
                    return self._not_numbers(i)
                if len(known) < 100_000:
                    known[cell] = value
            values[i] = value
        return self._kept(values)

    def _kept(self, found: Floats) -> tuple[Floats | None, str]:
        """Return numbers that say all that the cells say."""
        for i in np.flatnonzero(np.isinf(found)).tolist():
            limit = "is too large for a number (the largest is about 1.8e308)"
            raise self._error(i, limit)
        for i in np.flatnonzero(found == 0).tolist():
            if _NOT_ZERO.match(self._plain(i)):
                limit = "is too small for a number (the smallest is about 5e-324)"
                raise self._error(i, limit)
        for i in np.flatnonzero(np.abs(found) >= EXACT).tolist():
            if not _keeps_digits(self._plain(i), float(found[i])):
                if self.asked:
                    raise self._error(i, LOST)
                return None, self._as_text(i, f"{LOST}.")
        if not self.asked:
            for i, cell in enumerate(self.cells):
                if _ZERO_FIRST.match(cell.strip(_SPACES)):
                    cure = f"for numbers say --number {shlex.quote(self.name)}."
                    return None, self._as_text(i, f"begins with 0, as codes do; {cure}")
        return found, ""

    def _plain(self, i: int) -> str:
        """Return a number as `float` takes it."""
        bare = self.cells[i].strip(_SPACES)
        if self.reading.thousands is not None:
            bare = bare.replace(self.reading.thousands, "")
        return bare.replace(",", ".") if self.reading.decimal == "," else bare

    def _as_text(self, i: int, why: str) -> str:
        """Say that the column is text, for what one cell has."""
        cell, line = quoted(self.cells[i]), self.lines[i]
        return f"Read column {quoted(self.name)} as text: {cell} in line {line} {why}"

    def _error(self, i: int, what: str, cure: str = "") -> TableError:
        label = "Is it a label? Read the column as text: --text "
        return TableError(
            f"{quoted(self.cells[i])} {what}",
            cure or label + shlex.quote(self.name),
            self.name,
            int(self.lines[i]),
        )

    def _not_numbers(self, i: int) -> tuple[None, str]:
        """Say what to do about cell ``i``; text where the whole column is words."""
        cell = self.cells[i].strip(_SPACES)
        flags = self._flags(cell)
        kinds = (PLAIN, _COMMA, _GROUPED)
        if flags and (
            self.asked
            or all(any(kind.fullmatch(it) for kind in kinds) for it in self.bare)
        ):
            # What has to be numbers cannot be read as text.
            text = f", or read the column as text: --text {shlex.quote(self.name)}"
            cure = f"Say {flags}{'' if self.asked else text}"
            raise self._error(i, "is not a plain number", cure)
        if not self.asked:
            return None, self._why(i)
        # One word alone may mean "not known".
        if len(self.bare) > 1 and all(it[0].isalpha() for it in self.bare):
            what = "is text, as are all cells of the column"
            raise self._error(i, what, "Is it the column you meant?")
        cure = "Mend the cell, or leave it empty if it is not known"
        if len(cell) < 20 and cell.isprintable():
            cure += f"; cells that mean so can be named: --missing {shlex.quote(cell)}"
        raise self._error(i, "is not a number", cure)

    def _flags(self, cell: str) -> str:
        """Return the flags with which this cell would be a number, if there are any."""
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

    def _why(self, i: int) -> str:
        """Say what stopped a column of numbers, if most of its cells are numbers."""
        pattern = self.reading.pattern
        sample = [cell for cell in self.cells if cell][:1000]
        plain = sum(bool(pattern.fullmatch(cell.strip(_SPACES))) for cell in sample)
        if 2 * plain <= len(sample):
            return ""
        cell = shlex.quote(self.cells[i].strip(_SPACES))
        cure = f"Does it mean that the value is not known? Say --missing {cell}."
        return self._as_text(i, f"is not a number. {cure}")


def _keeps_digits(bare: str, value: float) -> bool:
    """Tell whether the float, written with as many digits, is what was written."""
    written = Decimal(bare)
    n_digits = len(written.as_tuple().digits)
    return Decimal(f"{value:.{n_digits - 1}e}") == written
