"""CSV text to cells, strictly: only what can be cut in one way."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Any, TypeAlias

import numpy as np

from rankfair.files.table import Lines, Reading, check_header
from rankfair.input.errors import TableError, counted, listed, refuse

Numbered: TypeAlias = Iterator[tuple[int, list[str]]]
# Columns, the line of each row, and what could not be cut.
Cut: TypeAlias = tuple[tuple[Any, ...], Lines, list[TableError]]

_SHOWN = {",": "','", ";": "';'", "\t": "$'\\t'", "|": "'|'"}
MOST_TITLES = 20
_HINT = re.compile("sep=([,;\t|])(?=\r?\n|\r)")  # a first line that Excel understands
_TWICE = 'A quote inside a quoted cell is written twice ("").'
# What the `csv` module says, in our words, and what helps.
_BROKEN = (
    ("end of data", "a quote is opened and never closed", f"Close it. {_TWICE}"),
    ("larger", "a cell is longer than 131,072 characters", "Is a quote left open?"),
    ("expected after", "a quoted cell goes on after its closing quote", _TWICE),
    (
        "",
        "a carriage return (CR) stands inside a line that ends otherwise",
        "Quote the cell that holds it, or write all line ends alike.",
    ),
)


@dataclass(frozen=True)
class Sheet:
    """Cells as text, column by column.

    Attributes
    ----------
    names : tuple of str
        The header.
    columns : tuple
        One for each name: a list of str, or a polars Series of String.
    lines : ndarray of shape (n_rows,)
        The line at which each record starts.
    delimiter : str
        What separates the cells.
    notes : tuple of str
        What was noticed.
    problems : tuple of TableError
        Lines that could not be cut, and are not among the rows.
    """

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    lines: Lines
    delimiter: str
    notes: tuple[str, ...]
    problems: tuple[TableError, ...] = ()


def split(text: str, reading: Reading) -> Sheet:
    """Return the cells of a CSV text.

    Blank lines are skipped, and so are a first line ``sep=;`` and titles above the
    header.  A cell keeps its spaces.
    """
    notes: list[str] = []
    delimiter = reading.delimiter
    end = "\n"
    if end not in text and "\r" in text:
        end = "\r"
        notes.append("Lines end with CR alone, as on old Macintoshes.")
    hint = _HINT.match(text)
    if hint is not None and delimiter in (None, hint[1]):
        delimiter = hint[1]
        text = text[hint.end(1) :]  # a blank line is left, so that lines keep numbers
    if delimiter is None:
        delimiter = _delimiter_of(text, end)
    records = records_of(text, end, delimiter)
    head = list(islice(records, MOST_TITLES + 2))
    if not text.strip() or not head:
        raise TableError("is empty: a header and rows are expected")
    n_titles = titles_in([row for _, row in head])
    line, header = head[n_titles]
    notes += header_notes(head, n_titles)
    header = trimmed(header, reading)
    check_header(header, line=line, delimiter=delimiter)
    fast = None
    if end == "\n" and len(text) >= reading.small and not n_titles:
        fast = cut_by_polars(text, delimiter, len(header))
    rest = chain(head[n_titles + 1 :], records)
    columns, lines, problems = fast or cut_by_rules(rest, header, delimiter)
    if not len(lines):
        refuse(problems)
        raise TableError("has a header, but no rows", "Is it the whole file?")
    return Sheet(
        tuple(header), columns, lines, delimiter, tuple(notes), tuple(problems)
    )


def trimmed(header: Sequence[str], reading: Reading) -> list[str]:
    """Return the names of columns, without spaces around them if these are ignored."""
    return [name.strip() if reading.trim else name for name in header]


def titles_in(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows stand above the header: titles of one cell, blank rows.

    Below titles there are names, none of which is a number, and a row as wide that has
    a digit where the name has none: what else is there may be meant otherwise.
    """
    for n, (row, below) in enumerate(pairwise(rows)):
        filled = [cell for cell in row if cell.strip()]
        if len(filled) < 2 and (not filled or row[0].strip()):
            continue
        names = len(filled) > 1 and not any(map(_looks_like_a_number, filled))
        data = len(below) == len(row) and any(
            _has_digit(cell) and not _has_digit(name)
            for name, cell in zip(row, below, strict=True)
        )
        return n if names and data else 0
    return 0


def _has_digit(cell: str) -> bool:
    return any(sign.isdigit() for sign in cell)


def header_notes(head: Sequence[tuple[int, list[str]]], n_titles: int) -> list[str]:
    """Say what was skipped above the header, and if its names are all numbers."""
    line, header = head[n_titles]
    titles = [cell for _, row in head[:n_titles] for cell in row if cell.strip()]
    notes = []
    if titles:
        notes.append(
            f"Skipped what stands above the header in line {line}: {listed(titles, 2)}."
        )
    if all(map(_looks_like_a_number, header)):
        notes.append("The names in the header are all numbers: does the file have one?")
    return notes


def _rows(text: str, end: str, delimiter: str) -> Any:
    """Return a strict reader; it says at which line it is (``line_num``)."""
    # Only `end` ends a line here, so a stray CR is seen, and one in quotes is kept.
    source = io.StringIO(text, newline=end)
    return csv.reader(source, delimiter=delimiter, strict=True)


def records_of(text: str, end: str, delimiter: str) -> Numbered:
    """Give each record that is not blank, and the line at which it starts."""
    reader = _rows(text, end, delimiter)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        said = str(error)
        reason, cure = next(rest for part, *rest in _BROKEN if part in said)
        raise TableError(reason, cure, line=line) from None


def _delimiter_of(text: str, end: str) -> str:
    """Return what separates the cells of the header, if only one sign can.

    Where several signs could, it is the one that cuts the first records evenly.
    """
    head = "".join(islice(io.StringIO(text, newline=end), 50))
    widths: dict[str, list[int]] = {sign: [] for sign in _SHOWN}
    for sign, found in widths.items():
        rows: list[list[str]] = []
        with suppress(csv.Error):
            rows.extend(row for row in _rows(head, end, sign) if row)
        found.extend(map(len, rows[titles_in(rows) :]))
    several = [sign for sign, found in widths.items() if found and found[0] > 1]
    even = [sign for sign in several if len(set(widths[sign])) == 1]
    if len(several) > 1 and len(even) != 1:
        flags = " or ".join(f"--delimiter {_SHOWN[sign]}" for sign in several)
        reason = "the header can be cut in more than one way"
        raise TableError(reason, f"Say {flags}.", line=1)
    return (even if len(several) > 1 else several or [","])[0]


def _looks_like_a_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def cut_by_rules(records: Numbered, header: list[str], delimiter: str) -> Cut:
    """Cut by the `csv` module, record by record; return what cannot be cut, too."""
    columns: tuple[list[str], ...] = tuple([] for _ in header)
    lines, problems = [], []
    for line, row in records:
        if len(row) != len(header):
            problems.append(_ragged(line, row, header, delimiter))
            continue
        lines.append(line)
        for column, cell in zip(columns, row, strict=True):
            column.append(sys.intern(cell))  # one copy, however often it stands there
    return columns, np.array(lines, np.int64), problems


def _ragged(line: int, row: list[str], header: list[str], delimiter: str) -> TableError:
    cells, names = counted(len(row), "cell"), counted(len(header), "name")
    cure = "Quote cells that hold the delimiter, or mend the line."
    if len(header) == 1 and delimiter == ",":
        cure = "Decimal commas? Try --delimiter ';' --decimal ','"
    elif len(row) == len(header) + 1 and not row[-1]:
        cure = "The line ends with a delimiter; the header does not."
    return TableError(f"has {cells}, but the header has {names}", cure, line=line)


def cut_by_polars(text: str, delimiter: str, n_columns: int) -> Cut | None:
    """Cut by polars where that can only mean one thing, else return None.

    Polars alone takes a CR inside a line, pads short lines and refuses the valid
    ``x"y``: it only gets what a scan of the bytes shows to be even.
    """
    try:
        import polars as pl
    except ImportError:
        return None
    raw = text.encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
    if b"\r" in raw or n_columns < 2 or not delimiter.isascii():
        return None
    raw = raw.rstrip(b"\n") + b"\n"
    n_lines = _even_lines(raw, delimiter.encode(), n_columns)
    if n_lines < 2:
        return None
    quote = '"' if '"' in text else None
    how: dict[str, Any] = {"has_header": False, "skip_rows": 1, "infer_schema": False}
    try:
        frame = pl.read_csv(raw, separator=delimiter, quote_char=quote, **how)
    except pl.exceptions.PolarsError:
        return None
    if frame.shape != (n_lines - 1, n_columns):
        return None
    return tuple(frame.fill_null("").get_columns()), np.arange(2, n_lines + 1), []


def _even_lines(raw: bytes, delimiter: bytes, n_columns: int) -> int:
    """Return how many lines there are, 0 if one has not ``n_columns`` cells."""
    buffer = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(buffer == ord("\n"))
    signs = np.flatnonzero(buffer == ord(delimiter))
    quotes = np.flatnonzero(buffer == ord('"'))
    if len(quotes):
        # Quotes must open and close whole cells, or stand twice inside one.
        edges = np.zeros(256, bool)
        edges[list(b'\n"' + delimiter)] = True
        opening, closing = quotes[::2], quotes[1::2]
        before = edges[buffer[opening - 1]] | (opening == 0)
        if len(quotes) % 2 or not (before.all() and edges[buffer[closing + 1]].all()):
            return 0
        if (np.searchsorted(quotes, ends) % 2).any():
            return 0
        signs = signs[np.searchsorted(quotes, signs) % 2 == 0]
    if len(signs) != len(ends) * (n_columns - 1):
        return 0
    # The last sign of each line is before its end, the first one after the line before.
    of_line = signs.reshape(len(ends), n_columns - 1)
    even = (of_line[:, -1] < ends).all() and (of_line[1:, 0] > ends[:-1]).all()
    return len(ends) if even else 0
