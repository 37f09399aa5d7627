"""Cells to numbers, where every cell of a column is one; else they stay text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.files.csv import PLAIN, Style
from rankfair.input.errors import TableError, quoted

Floats = NDArray[np.float64]
_SPACES = " \t"
_ZERO_FIRST = re.compile(r"[+-]?0[0-9]")
_ZERO_FIRST_OF_LINE = re.compile(rf"^{_ZERO_FIRST.pattern}", re.MULTILINE)
_NOT_ZERO = re.compile(r"[^eE]*[1-9]")  # a digit before the exponent
_COMMA = re.compile(r"[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPED = re.compile(
    r"[+-]?[0-9]{1,3}(?:([,.'’ \u00a0\u202f])[0-9]{3})(?:\1[0-9]{3})*([.,][0-9]*)?"
)
_EXACT = 2.0**53  # whole numbers beyond it may lose digits as floats


def as_text(cells: Any, missing: Sequence[str] = ()) -> NDArray[Any]:
    """Return cells as text, None where they are empty or among ``missing``.

    Examples
    --------
    >>> as_text(["01001", "NA", ""]).tolist()
    ['01001', 'NA', None]
    >>> as_text(["01001", "NA", ""], missing=["NA"]).tolist()
    ['01001', None, None]
    """
    out = np.empty(len(cells), dtype=object)
    out[:] = [
        None if not cell or (missing and _stands_for(cell, missing)) else cell
        for cell in _listed(cells)
    ]
    return out


def _stands_for(cell: str, missing: Sequence[str]) -> bool:
    """Tell whether a cell is among these, spaces around it aside as for numbers."""
    return cell in missing or cell.strip(_SPACES) in missing


def as_numbers(
    cells: Any, style: Style, name: str, lines: NDArray[np.int64], *, asked: bool
) -> tuple[Floats | None, str]:
    """Return cells as numbers, NaN where they are empty; or None, and why not.

    ``asked``: the column has to be numbers, and what is none is an error.  Whether or
    not it has to, it is an error if numbers are written as the settings do not expect,
    or do not fit into a float.

    Examples
    --------
    >>> import numpy as np
    >>> as_numbers(["1", ""], Style(), "x", np.array([2, 3]), asked=False)[0].tolist()
    [1.0, nan]
    """
    quick = _quick(cells, style)
    if quick is not None:
        return quick, ""
    column = _Column(_listed(cells), style, name, lines)
    return column.numbers(asked)


def _listed(cells: Any) -> list[str]:
    return cells if isinstance(cells, list) else cells.to_list()


def _quick(cells: Any, style: Style) -> Floats | None:
    """Return the numbers of a column in which nothing is out of the ordinary."""
    if style.thousands is not None:
        return None
    if isinstance(cells, list):
        return _quick_list(cells, style)
    return _quick_series(cells, style)


def _quick_list(cells: list[str], style: Style) -> Floats | None:
    if style.missing:
        cells = ["" if cell in style.missing else cell for cell in cells]
    joined = "\n".join(cells)
    if joined.count("\n") != len(cells) - 1:
        return None  # a line end inside a cell
    # With these signs alone `float` takes plain numbers and nothing else.
    signs = f"0123456789+-eE\n{style.decimal}".encode()
    if not joined.isascii() or joined.encode().translate(None, signs):
        return None
    if style.decimal == ",":
        cells = joined.replace(",", ".").split("\n")
    if _ZERO_FIRST_OF_LINE.search(joined):
        return None
    try:
        found = np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return None
    if (np.abs(found) >= _EXACT).any():
        return None
    zeros = {cells[i] for i in np.flatnonzero(found == 0).tolist()}
    return None if any(_NOT_ZERO.match(cell) for cell in zeros) else found


def _quick_series(cells: Any, style: Style) -> Floats | None:
    import polars as pl

    if style.missing:
        cells = cells.replace(list(style.missing), [""] * len(style.missing))
    if not cells.str.contains(f"^(?:{style.pattern.pattern})?$").all():
        return None
    if style.decimal == ",":
        cells = cells.str.replace(",", ".", literal=True)
    if cells.str.contains(rf"^{_ZERO_FIRST.pattern}").any():
        return None
    values = cells.replace("", None).cast(pl.Float64, strict=True).to_numpy()
    found: Floats = np.array(values, dtype=np.float64)
    if (np.abs(found) >= _EXACT).any():
        return None
    zeros = cells.filter(pl.Series(found == 0))
    if zeros.str.contains(f"^{_NOT_ZERO.pattern}").any():
        return None
    return found


@dataclass(frozen=True)
class _Column:
    cells: list[str]
    style: Style
    name: str
    lines: NDArray[np.int64]

    def numbers(self, asked: bool) -> tuple[Floats | None, str]:
        found, odd = self._parse()
        if odd is not None:
            return self._not_numbers(odd, asked)
        assert found is not None
        self._refuse_overflow(found)
        lost = self._loses_digits(found)
        if lost is not None:
            what = "has more digits than a number keeps (above 2^53)"
            return self._keep_text(lost, what, asked)
        coded = self._zero_first()
        if coded is not None and not asked:
            cure = f"for numbers say --number {_in_shell(self.name)}"
            what = f"begins with 0, as codes do; {cure}"
            return self._keep_text(coded, what, asked)
        return found, ""

    def _parse(self) -> tuple[Floats | None, int | None]:
        """Return the values, or the place of the first cell that is no number."""
        style, pattern = self.style, self.style.pattern
        values = np.full(len(self.cells), np.nan)
        known: dict[str, float] = {}
        for i, cell in enumerate(self.cells):
            if not cell:
                continue
            value = known.get(cell)
            if value is None:
                bare = cell.strip(_SPACES)
                if not bare or bare in style.missing:
                    value = np.nan
                elif not pattern.fullmatch(bare):
                    return None, i
                else:
                    value = float(self._plain(bare))
                if len(known) < 100_000:
                    known[cell] = value
            values[i] = value
        return values, None

    def _plain(self, bare: str) -> str:
        if self.style.thousands is not None:
            bare = bare.replace(self.style.thousands, "")
        return bare.replace(",", ".") if self.style.decimal == "," else bare

    def _bare(self, i: int) -> str:
        return self._plain(self.cells[i].strip(_SPACES))

    def _refuse_overflow(self, found: Floats) -> None:
        for i in np.flatnonzero(np.isinf(found)).tolist():
            raise self._error(
                i, "is too large for a number (the largest is about 1.8e308)"
            )
        for i in np.flatnonzero(found == 0).tolist():
            if _NOT_ZERO.match(self._bare(i)):
                raise self._error(
                    i, "is too small for a number (the smallest is about 5e-324)"
                )

    def _loses_digits(self, found: Floats) -> int | None:
        """Return the place of a large number whose digits a float loses, if any."""
        for i in np.flatnonzero(np.abs(found) >= _EXACT).tolist():
            if not _keeps_digits(self._bare(i), float(found[i])):
                return i
        return None

    def _zero_first(self) -> int | None:
        for i, cell in enumerate(self.cells):
            if _ZERO_FIRST.match(cell.strip(_SPACES)):
                return i
        return None

    def _keep_text(self, i: int, what: str, asked: bool) -> tuple[None, str]:
        if asked:
            raise self._error(i, what)
        return None, (
            f"Read column {quoted(self.name)} as text: {quoted(self.cells[i])} in "
            f"line {self.lines[i]} {what}."
        )

    def _error(self, i: int, what: str, cure: str | None = None) -> TableError:
        return TableError(
            f"{quoted(self.cells[i])} {what}",
            line=int(self.lines[i]),
            column=self.name,
            cure=cure
            or f"Is it a label? Read the column as text: --text {_in_shell(self.name)}",
        )

    def _not_numbers(self, i: int, asked: bool) -> tuple[None, str]:
        """Say what to do about cell ``i``; text where the whole column is words."""
        cell = self.cells[i].strip(_SPACES)
        flags = self._flags(cell)
        if flags and (asked or self._all_numbers_of_some_kind()):
            # What has to be numbers cannot be read as text.
            text = f", or read the column as text: --text {_in_shell(self.name)}"
            cure = f"Say {flags}{'' if asked else text}"
            raise self._error(i, "is not a plain number", cure)
        if asked and self._all_words():
            what = "is text, as are all cells of the column"
            raise self._error(i, what, "Is it the column you meant?")
        if asked:
            cure = "Mend the cell, or leave it empty if it is not known"
            if len(cell) < 20 and cell.isprintable():
                cure += (
                    f"; cells that mean so can be named: --missing {_in_shell(cell)}"
                )
            raise self._error(i, "is not a number", cure)
        return None, self._why(i)

    def _flags(self, cell: str) -> str:
        """Return the flags with which this cell would be a number, if there are any."""
        grouped = _GROUPED.fullmatch(cell)
        said = []
        if grouped:
            sign = grouped[1]
            decimal = (grouped[2] or "")[:1] or ("," if sign == "." else ".")
            if decimal != sign:
                text = f"--thousands {_in_shell(sign, always=True)}"
                said.append(text + (" --decimal ','" if decimal == "," else ""))
        if _COMMA.fullmatch(cell):
            said.append("--decimal ','")
        if PLAIN.fullmatch(cell) and self.style.decimal == ",":
            said.append("--decimal '.'")
        return " or ".join(said)

    def _all_numbers_of_some_kind(self) -> bool:
        bare = {cell.strip(_SPACES) for cell in self.cells} - {"", *self.style.missing}
        kinds = (PLAIN, _COMMA, _GROUPED)
        return all(any(kind.fullmatch(cell) for kind in kinds) for cell in bare)

    def _all_words(self) -> bool:
        """Tell whether the cells are words: more than one that means “not known”."""
        bare = {cell.strip(_SPACES) for cell in self.cells} - {"", *self.style.missing}
        return len(bare) > 1 and all(cell[0].isalpha() for cell in bare)

    def _why(self, i: int) -> str:
        """Say what stopped a column of numbers, if most of its cells are numbers."""
        pattern = self.style.pattern
        sample: Sequence[str] = [cell for cell in self.cells if cell][:1000]
        plain = sum(bool(pattern.fullmatch(cell.strip(_SPACES))) for cell in sample)
        if 2 * plain <= len(sample):
            return ""
        return (
            f"Read column {quoted(self.name)} as text: {quoted(self.cells[i])} in "
            f"line {self.lines[i]} is not a number. Does it mean that the value is not "
            f"known? Say --missing {_in_shell(self.cells[i].strip(_SPACES))}."
        )


def _keeps_digits(bare: str, value: float) -> bool:
    """Tell whether the float, written with as many digits, is what was written.

    Examples
    --------
    >>> [_keeps_digits(it, float(it)) for it in ("1e300", "9007199254740993.0")]
    [True, False]
    """
    written = Decimal(bare)
    n_digits = len(written.as_tuple().digits)
    return Decimal(f"{value:.{n_digits - 1}e}") == written


def _in_shell(cell: str, always: bool = False) -> str:
    """Return text as one writes it in a shell; a comma is seen better in quotes."""
    safe = shlex.quote(cell)
    return f"'{cell}'" if always and safe == cell else safe
