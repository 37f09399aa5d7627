"""CSV: bytes to text to cells, strictly: only what can be cut in one way."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Any, TypeAlias

import numpy as np

from rankfair.files.table import PLAIN, Lines, Reading, check_header
from rankfair.input.errors import TableError, counted, listed, quoted, refuse

Numbered: TypeAlias = Iterator[tuple[int, list[str]]]

_SHOWN = {",": "','", ";": "';'", "\t": "$'\\t'", "|": "'|'"}
MOST_TITLES = 20
HEAD = 1 << 16  # bytes in which the header and a few rows are looked for first
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Beginnings of gzip, bzip2, xz and zstd.
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive", "Unpack it, or save the sheet as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save it as .xlsx or CSV."),
    (_PACKED, "compressed", "Unpack it: gunzip -c FILE | rankfair ... -"),
    (b"%PDF", "a PDF document", "Export the table as CSV."),
)
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
    whole : bool
        Whether a line end shows that the last cell is not cut.
    """

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    lines: Lines
    delimiter: str
    notes: tuple[str, ...]
    problems: tuple[TableError, ...] = ()
    whole: bool = True


def split(raw: bytes, reading: Reading) -> Sheet:
    """Return the cells of a CSV file.

    Blank lines are skipped, and so are a first line ``sep=;`` and titles above the
    header.  A cell keeps its spaces.
    """
    quick = _cut_by_polars(raw, reading)
    if quick is not None:
        return quick
    text = decode(raw, reading.encoding)
    sheet = cut(*_records(text, reading), reading)
    return replace(sheet, whole=text.endswith(("\n", "\r", '"')))


def decode(raw: bytes, encoding: str | None) -> str:
    """Return the text of a file, without a byte-order mark.

    Without an encoding it is as the mark says, or UTF-8.
    """
    for magic, what, cure in _FOREIGN:
        if raw.startswith(magic):
            raise TableError(f"is {what}, not a table", cure)
    named = encoding or ("utf-16" if raw.startswith(_UTF16) else "utf-8")
    try:
        text = raw.decode(named).removeprefix("\ufeff")
    except UnicodeError as error:
        raise _undecodable(raw, named, error) from error
    except (LookupError, ValueError) as error:
        reason = f"cannot be read: {quoted(named)} is no encoding known here"
        cure = "Names are for example utf-8, utf-16, latin-1, cp1252."
        raise TableError(reason, cure) from error
    place = text.find("\0")
    if place >= 0:
        line = text.count("\n", 0, place) + 1
        cure = "Damaged? Or UTF-16 without a mark: try --encoding utf-16-le."
        raise TableError("holds a NUL byte", cure, line=line)
    return text


def _undecodable(raw: bytes, named: str, error: UnicodeError) -> TableError:
    start = error.start if isinstance(error, UnicodeDecodeError) else 0
    byte = f"byte 0x{raw[start]:02X}" if start < len(raw) else "the end"
    cure = "Try --encoding cp1252 for a file from Windows, or latin-1."
    if named != "utf-8":
        cure = "Is it UTF-8? Leave --encoding out."
    reason = f"{byte} (number {start + 1} in the file) is not {named.upper()} text"
    return TableError(reason, cure, line=raw.count(b"\n", 0, start) + 1)


def cut(records: Numbered, delimiter: str, reading: Reading) -> Sheet:
    """Return the cells of records, and with them those that cannot be cut."""
    sheet, below, _ = _opened(records, delimiter, reading)
    columns: tuple[list[str], ...] = tuple([] for _ in sheet.names)
    lines, problems = [], []
    for line, row in below:
        if len(row) != len(columns):
            problems.append(_ragged(line, row, sheet))
            continue
        lines.append(line)
        for column, cell in zip(columns, row, strict=True):
            column.append(sys.intern(cell))  # one copy, however often it stands there
    if not lines:
        refuse(problems)
        raise TableError("has a header, but no rows", "Is it the whole file?")
    numbers = np.array(lines, np.int64)
    return replace(sheet, columns=columns, lines=numbers, problems=tuple(problems))


def _opened(
    records: Numbered, delimiter: str, reading: Reading
) -> tuple[Sheet, Numbered, int]:
    """Return a sheet without rows, the records below the header, and its line."""
    head = list(islice(records, MOST_TITLES + 2))
    if not head:
        raise TableError("is empty: a header and rows are expected")
    n_titles = titles_in([row for _, row in head])
    line, header = head[n_titles]
    notes = _header_notes(head, n_titles)
    names = tuple(name.strip() if reading.trim else name for name in header)
    check_header(names, line=line)
    sheet = Sheet(names, (), np.empty(0, int), delimiter, tuple(notes))
    return sheet, chain(head[n_titles + 1 :], records), line


def titles_in(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows stand above the header: titles of one cell, blank rows.

    Below titles there are names, none of which is a number, and a row as wide that has
    a digit where the name has none: what else is there may be meant otherwise.
    """
    for n, (row, below) in enumerate(pairwise(rows)):
        filled = [cell.strip() for cell in row if cell.strip()]
        if len(filled) < 2 and (not filled or row[0].strip()):
            continue
        names = len(filled) > 1 and not any(map(PLAIN.fullmatch, filled))
        data = len(below) == len(row) and any(
            re.search(r"\d", cell) and not re.search(r"\d", name)
            for name, cell in zip(row, below, strict=True)
        )
        return n if names and data else 0
    return 0


def _header_notes(head: Sequence[tuple[int, list[str]]], n_titles: int) -> list[str]:
    """Say what was skipped above the header, and if its names are all numbers."""
    line, header = head[n_titles]
    titles = [cell for _, row in head[:n_titles] for cell in row if cell.strip()]
    notes = []
    if titles:
        notes.append(
            f"Skipped what stands above the header in line {line}: {listed(titles, 2)}."
        )
    if all(PLAIN.fullmatch(name.strip()) for name in header):
        notes.append("The names in the header are all numbers: does the file have one?")
    return notes


def _records(text: str, reading: Reading) -> tuple[Numbered, str]:
    """Return the records of a text, and what separates their cells."""
    delimiter = reading.delimiter
    hint = _HINT.match(text)
    if hint is not None and delimiter in (None, hint[1]):
        delimiter = hint[1]
        text = text[hint.end(1) :]  # a blank line is left, so that lines keep numbers
    if delimiter is None:
        delimiter = _delimiter_of("".join(islice(_lines(text), 50)))
    return _numbered(text, delimiter), delimiter


def _lines(text: str) -> io.StringIO:
    """Return lines that end with LF or, where there is none, with CR alone.

    So a CR inside such a line is seen, and one in quotes is kept.
    """
    return io.StringIO(text, newline="\n" if "\n" in text else "\r")


def _numbered(text: str, delimiter: str) -> Numbered:
    """Give each record that is not blank, and the line at which it starts."""
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
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


def _delimiter_of(head: str) -> str:
    """Return what separates the cells of the header, if only one sign can.

    Where several signs could, it is the one that cuts the first records evenly.
    """
    widths: dict[str, list[int]] = {}
    for sign in _SHOWN:
        rows: list[list[str]] = []
        with suppress(TableError):
            rows.extend(row for _, row in _numbered(head, sign))
        found = [len(row) for row in rows[titles_in(rows) :]]
        if found and found[0] > 1:
            widths[sign] = found
    even = [sign for sign, found in widths.items() if len(set(found)) == 1]
    if len(widths) > 1 and len(even) != 1:
        flags = " or ".join(f"--delimiter {_SHOWN[sign]}" for sign in widths)
        reason = "the header can be cut in more than one way"
        raise TableError(reason, f"Say {flags}.", line=1)
    return (even if len(widths) > 1 else [*widths, ","])[0]


def _ragged(line: int, row: list[str], sheet: Sheet) -> TableError:
    names = len(sheet.names)
    reason = f"has {counted(len(row), 'cell')}, but the header has"
    cure = "Quote cells that hold the delimiter, or mend the line."
    if names == 1 and sheet.delimiter == ",":
        cure = "Decimal commas? Try --delimiter ';' --decimal ','"
    elif len(row) == names + 1 and not row[-1]:
        cure = "The line ends with a delimiter; the header does not."
    return TableError(f"{reason} {counted(names, 'name')}", cure, line=line)


def _cut_by_polars(raw: bytes, reading: Reading) -> Sheet | None:
    """Cut by polars where that can only mean one thing, else return None.

    Polars alone takes a CR inside a line, pads short lines and refuses the valid
    ``x"y``: it cuts a file if a scan of the bytes shows it to be even.
    """
    if reading.encoding not in (None, "utf-8") or len(raw) < reading.small:
        return None
    try:
        import polars as pl

        head = decode(raw[: raw.rfind(b"\n", 0, HEAD) + 1], None)
        sheet, _, line = _opened(*_records(head, reading), reading)
    except (ImportError, TableError):
        return None
    whole = raw.endswith((b"\n", b'"'))
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n")
    if not raw.endswith(b"\n") or raw.endswith(b"\n\n"):
        raw = raw.rstrip(b"\n") + b"\n"
    sign, every = sheet.delimiter, range(len(sheet.names))
    n_rows = _even_lines(raw, sign, len(every)) - 1
    if line > 1 or n_rows < 1:
        return None
    used = [j for j in every if reading.reads(sheet.names[j])]
    # Whether columns that it does not read are text, polars does not say.
    read = used if used and raw.isascii() else [*every]
    try:
        frame = pl.read_csv(
            raw,
            separator=sign,
            has_header=False,
            skip_rows=1,
            infer_schema=False,
            columns=read,
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.shape != (n_rows, len(read)):
        return None
    found = dict(zip(read, frame.fill_null("").get_columns(), strict=True))
    columns = tuple(found.get(j, ()) for j in every)
    lines = np.arange(2, n_rows + 2)
    return replace(sheet, columns=columns, lines=lines, whole=whole)


def _even_lines(raw: bytes, delimiter: str, n_columns: int) -> int:
    """Return how many lines there are if all have as many cells, else 0.

    Quotes must enclose whole cells that end in their line, or stand twice inside one.
    """
    if n_columns < 2 or not delimiter.isascii() or b"\r" in raw or b"\0" in raw:
        return 0
    buffer = np.frombuffer(raw, np.uint8)
    sign, is_end = ord(delimiter), buffer == ord("\n")
    marks = is_end | (buffer == sign)
    if b'"' in raw:
        is_quote = buffer == ord('"')
        quotes = np.flatnonzero(is_quote)
        edges = marks | is_quote  # the last byte, a line end, stands before the first
        before, behind = edges[quotes[::2] - 1], edges[quotes[1::2] + 1]
        inside = np.logical_xor.accumulate(is_quote)
        if not (before.all() and behind.all()) or (inside & is_end).any():
            return 0
        marks &= ~inside
    ends = is_end[marks]
    if len(ends) % n_columns:
        return 0
    ends = ends.reshape(-1, n_columns)
    even = ends[:, -1].all() and not ends[:, :-1].any()
    return len(ends) if even else 0
