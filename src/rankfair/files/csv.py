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

from rankfair.files.table import Lines, Reading, check_header
from rankfair.input.errors import TableError, counted, listed, quoted, refuse

Numbered: TypeAlias = Iterator[tuple[int, list[str]]]

_SHOWN = {",": "','", ";": "';'", "\t": "$'\\t'", "|": "'|'"}
MOST_TITLES = 20
HEAD = 1 << 16  # bytes in which the header and a few rows are looked for first
# The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive", "Unpack it, or save the sheet as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save it as .xlsx or CSV."),
    (b"\x1f\x8b", "compressed (gzip)", "Unpack it: gunzip -c FILE | rankfair ... -"),
    (b"BZh", "compressed (bzip2)", "Unpack it first."),
    (b"\xfd7zXZ", "compressed (xz)", "Unpack it first."),
    (b"(\xb5/\xfd", "compressed (zstd)", "Unpack it first."),
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
    return quick or _cut_by_rules(decode(raw, reading.encoding), reading)


def decode(raw: bytes, encoding: str | None) -> str:
    """Return the text of a file, without a byte-order mark.

    Without an encoding it is as the mark says, or UTF-8.
    """
    for magic, what, cure in _FOREIGN:
        if raw.startswith(magic):
            raise TableError(f"is {what}, not a table", cure)
    marked = (name for mark, name in _MARKS if raw.startswith(mark))
    named = encoding or next(marked, "utf-8")
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
        raise TableError("holds a NUL byte", _cure_of_nul(raw[:400]), line=line)
    return text


def _undecodable(raw: bytes, named: str, error: UnicodeError) -> TableError:
    start = error.start if isinstance(error, UnicodeDecodeError) else 0
    byte = f"byte 0x{raw[start]:02X}" if start < len(raw) else "the end"
    if named != "utf-8":
        cure = "Is it UTF-8? Leave --encoding out."
    elif any(0x80 <= each <= 0x9F for each in raw[start : start + (1 << 20)]):
        cure = "Written on Windows? Try --encoding cp1252."
    else:
        cure = "Try --encoding latin-1, or cp1252 for a file from Windows."
    reason = f"{byte} (number {start + 1} in the file) is not {named.upper()} text"
    return TableError(reason, cure, line=raw.count(b"\n", 0, start) + 1)


def _cure_of_nul(head: bytes) -> str:
    """Say what helps: Western text in UTF-16 has a NUL in every second byte."""
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 3 and head[start::2].count(0) > 0.8 * len(head[start::2]):
            return f"It looks like UTF-16 without a mark: try --encoding {name}."
    return "The file may be damaged, or be no text; write it again."


def _opened(text: str, reading: Reading) -> tuple[Sheet, Numbered, int]:
    """Return a sheet without rows, the records below the header, and its line."""
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
    names = trimmed(header, reading)
    check_header(names, line=line, delimiter=delimiter)
    whole = text.endswith(("\n", "\r", '"'))
    sheet = Sheet(names, (), np.empty(0, int), delimiter, tuple(notes), whole=whole)
    return sheet, chain(head[n_titles + 1 :], records), line


def trimmed(header: Sequence[str], reading: Reading) -> tuple[str, ...]:
    """Return the names of columns, without spaces around them if these are ignored."""
    return tuple(name.strip() if reading.trim else name for name in header)


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


def _cut_by_rules(text: str, reading: Reading) -> Sheet:
    """Cut by the `csv` module, record by record; keep what cannot be cut, too."""
    sheet, records, _ = _opened(text, reading)
    columns: tuple[list[str], ...] = tuple([] for _ in sheet.names)
    lines, problems = [], []
    for line, row in records:
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
    ``x"y``: what it cut is kept only if a scan of the bytes shows it to be even.
    """
    plain = reading.encoding in (None, "utf-8") and b"\0" not in raw
    if not plain or len(raw) < reading.small:
        return None
    try:
        import polars as pl

        head = decode(raw[: raw.rfind(b"\n", 0, HEAD) + 1], None)
        sheet, _, line = _opened(head, reading)
    except (ImportError, TableError):
        return None
    whole = raw.endswith((b"\n", b'"'))
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n")
    if not raw.endswith(b"\n") or raw.endswith(b"\n\n"):
        raw = raw.rstrip(b"\n") + b"\n"
    sign, n_columns = sheet.delimiter, len(sheet.names)
    if b"\r" in raw or line > 1 or n_columns < 2 or not sign.isascii():
        return None
    quote = '"' if b'"' in raw else None
    how: dict[str, Any] = {"has_header": False, "skip_rows": 1, "infer_schema": False}
    used = [j for j, name in enumerate(sheet.names) if reading.reads(name)]
    # Of columns that it does not read polars says nothing: the bytes have to.
    some = 0 < len(used) < n_columns and quote is None and whole and raw.isascii()
    n_lines = _even_lines(raw, sign, n_columns) if some else 0
    if n_lines:
        how["columns"] = used
    try:
        frame = pl.read_csv(raw, separator=sign, quote_char=quote, **how)
    except pl.exceptions.PolarsError:
        return None
    if n_lines:
        even = frame.shape == (n_lines - 1, len(used))
    else:
        n_signs = (frame.height + 1) * (n_columns - 1)
        even = frame.width == n_columns
        even = even and _signs(raw, sign, frame.height + 1) == n_signs
    if not even or not frame.height:
        return None
    found = frame.fill_null("").get_columns()
    read = dict(zip(used if n_lines else range(n_columns), found, strict=True))
    columns = tuple(read.get(j, ()) for j in range(n_columns))
    lines = np.arange(2, frame.height + 2)
    return replace(sheet, columns=columns, lines=lines, whole=whole)


def _even_lines(raw: bytes, delimiter: str, n_columns: int) -> int:
    """Return how many lines there are if all have as many cells, else 0; no quotes."""
    end, sign, buffer = ord("\n"), ord(delimiter), np.frombuffer(raw, np.uint8)
    pieces = (buffer[i : i + (1 << 20)] for i in range(0, len(raw), 1 << 20))
    marks = np.concatenate([it[(it == sign) | (it == end)] for it in pieces])
    if len(marks) % n_columns:
        return 0
    is_end = marks.reshape(-1, n_columns) == end
    even = is_end[:, -1].all() and not is_end[:, :-1].any()
    return len(is_end) if even else 0


def _signs(raw: bytes, delimiter: str, n_lines: int) -> int:
    """Return how many signs cut cells; −1 if quotes do not enclose whole cells.

    Polars refuses lines with more cells than the header, so that the number of signs
    shows whether one has fewer.
    """
    if b'"' not in raw:
        return _count(raw, delimiter)
    buffer = np.frombuffer(raw, np.uint8)
    quotes = np.flatnonzero(buffer == ord('"'))
    # Quotes must open and close whole cells, or stand twice inside one.
    edges = np.zeros(256, bool)
    edges[list(b'\n"' + delimiter.encode())] = True
    opening, closing = quotes[::2], quotes[1::2]
    before = edges[buffer[opening - 1]] | (opening == 0)
    if len(quotes) % 2 or not (before.all() and edges[buffer[closing + 1]].all()):
        return -1
    if _count(raw, "\n") != n_lines:
        return -1
    signs = np.flatnonzero(buffer == ord(delimiter))
    return int((np.searchsorted(quotes, signs) % 2 == 0).sum())


def _count(raw: bytes, sign: str, piece: int = 1 << 20) -> int:
    """Return how often a sign stands there; pieces stay in the processor's cache."""
    buffer = np.frombuffer(raw, np.uint8)
    pieces = (buffer[i : i + piece] for i in range(0, len(raw), piece))
    return sum(int(np.count_nonzero(each == ord(sign))) for each in pieces)
