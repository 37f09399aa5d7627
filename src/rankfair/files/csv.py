"""CSV text to cells, strictly."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.input.errors import TableError, counted, quoted

THOUSANDS = (",", ".", "'", "’", " ", "\u00a0", "\u202f", "_")


@dataclass(frozen=True)
class Style:
    """How numbers are written in a file.

    Attributes
    ----------
    decimal : str
        ``"."`` or ``","``.
    thousands : str or None
        What stands between groups of three digits.
    missing : tuple of str
        Cells that mean "not known", beside the empty one.
    """

    decimal: str = "."
    thousands: str | None = None
    missing: tuple[str, ...] = ()

    def check(self, delimiter: str | None) -> None:
        """Raise if the signs contradict each other."""
        if self.decimal not in (".", ","):
            raise TableError(
                f"decimal must be a point or a comma; got {quoted(self.decimal)}",
                cure="--decimal '.' or --decimal ','",
            )
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise TableError(
                f"thousands cannot be {quoted(self.thousands)}",
                cure="It is one of comma, point, apostrophe, space, underscore.",
            )
        if self.thousands == self.decimal:
            raise TableError(
                f"{quoted(self.decimal)} cannot be both the decimal sign and that of "
                "thousands",
                cure="Give --decimal and --thousands different signs.",
            )
        if delimiter is not None and len(delimiter) != 1:
            raise TableError(
                f"delimiter must be one character; got {quoted(delimiter)}",
                cure="For a tab write --delimiter $'\\t'",
            )
        if delimiter is not None and delimiter in '"\r\n\0':
            raise TableError(
                f"delimiter cannot be {quoted(delimiter)}",
                cure="Use a comma, a semicolon, a tab or a bar.",
            )

    @property
    def pattern(self) -> re.Pattern[str]:
        """What a number looks like."""
        point = re.escape(self.decimal)
        whole = "[0-9]+"
        if self.thousands is not None:
            sign = re.escape(self.thousands)
            whole = rf"(?:[0-9]{{1,3}}(?:{sign}[0-9]{{3}})+|[0-9]+)"
        return re.compile(
            rf"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        )


PLAIN = Style().pattern  # 12, -3.5, .5, 1e-7


FEW = 4096  # a text this small is not worth a second library


def cut_by_polars(
    text: str, end: str, delimiter: str, n_columns: int
) -> tuple[tuple[Any, ...], NDArray[np.int64]] | None:
    """Cut by polars where that can only mean one thing, else return None."""
    if end == "\r" or len(text) < FEW or n_columns < 2 or not delimiter.isascii():
        return None
    try:
        import polars as pl
    except ImportError:
        return None
    raw = text.encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
    if b"\r" in raw:
        return None
    raw = raw.rstrip(b"\n") + b"\n"
    n_lines = _even_lines(raw, delimiter.encode(), n_columns)
    if n_lines < 2:
        return None
    try:
        frame = pl.read_csv(
            raw,
            separator=delimiter,
            quote_char='"' if '"' in text else None,
            has_header=False,
            skip_rows=1,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.shape != (n_lines - 1, n_columns):
        return None
    return tuple(frame.fill_null("").get_columns()), np.arange(2, n_lines + 1)


def _even_lines(raw: bytes, delimiter: bytes, n_columns: int) -> int:
    """Return how many lines there are, 0 if one has not ``n_columns`` cells."""
    buffer = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(buffer == ord("\n"))
    signs = np.flatnonzero(buffer == ord(delimiter))
    quotes = np.flatnonzero(buffer == ord('"'))
    if len(quotes):
        if not _at_edges(buffer, quotes, delimiter) or _inside(ends, quotes).any():
            return 0
        signs = signs[~_inside(signs, quotes)]
    if len(signs) != len(ends) * (n_columns - 1):
        return 0
    # The last sign of each line is before its end, the first one after the line before.
    of_line = signs.reshape(len(ends), n_columns - 1)
    even = (of_line[:, -1] < ends).all() and (of_line[1:, 0] > ends[:-1]).all()
    return len(ends) if even else 0


def _at_edges(
    buffer: NDArray[np.uint8], quotes: NDArray[np.intp], delimiter: bytes
) -> bool:
    """Tell whether quotes open and close whole cells, or stand twice inside one."""
    if len(quotes) % 2:
        return False
    edges = np.zeros(256, bool)
    edges[list(b'\n"' + delimiter)] = True
    before = edges[buffer[quotes[::2] - 1]] | (quotes[::2] == 0)
    return bool(before.all() and edges[buffer[quotes[1::2] + 1]].all())


def _inside(places: NDArray[np.intp], quotes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which places have an odd number of quotes before them."""
    found: NDArray[np.bool_] = np.searchsorted(quotes, places) % 2 == 1
    return found


DELIMITERS = (",", ";", "\t", "|")
_SHOWN = {",": "','", "\t": "$'\\t'", ";": "';'", "|": "'|'"}
_HINT = re.compile("sep=([,;\t|])(?=\r?\n|\r)")  # a first line that Excel understands
CHUNK = 50_000  # records at a time


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
    """

    names: tuple[str, ...]
    columns: tuple[Any, ...]
    lines: NDArray[np.int64]
    delimiter: str
    notes: tuple[str, ...]


def split(text: str, delimiter: str | None = None) -> Sheet:
    """Return the cells of a CSV text.

    Blank lines are skipped, and so is a first line ``sep=;``.  A cell keeps its spaces.

    Examples
    --------
    >>> sheet = split('a;b\\n1;"x;y"\\n')
    >>> sheet.names, sheet.columns, sheet.lines.tolist()
    (('a', 'b'), (['1'], ['x;y']), [2])
    """
    if not text.strip():
        raise TableError("is empty: a header and rows are expected")
    end, notes = _line_end(text)
    hint = _HINT.match(text)
    if hint is not None and delimiter in (None, hint[1]):
        delimiter = hint[1]
        text = text[hint.end(1) :]  # a blank line is left, so that lines keep numbers
    if delimiter is None:
        delimiter = find_delimiter(text, end)
    header, line = _header(text, end, delimiter)
    notes += _check_header(header, line, delimiter)
    fast = cut_by_polars(text, end, delimiter, len(header))
    columns, lines = fast or _by_rules(text, end, delimiter, header)
    if not len(lines):
        raise TableError("has a header, but no rows", cure="Is it the whole file?")
    return Sheet(header, columns, lines, delimiter, notes)


def _line_end(text: str) -> tuple[str, tuple[str, ...]]:
    """Return what ends a line; only a file without any LF may have CR alone."""
    if "\n" not in text and "\r" in text:
        return "\r", ("Lines end with CR alone, as on old Macintoshes.",)
    return "\n", ()


def _records(text: str, end: str, delimiter: str) -> Iterator[list[str]]:
    """Return a strict reader; it says at which line it is (``line_num``)."""
    # Only `end` ends a line here, so a stray CR is seen, and one in quotes is kept.
    source = io.StringIO(text, newline=end)
    return csv.reader(source, delimiter=delimiter, strict=True)


def find_delimiter(text: str, end: str = "\n") -> str:
    """Return what separates the cells of the header, if only one sign can.

    Where several signs could, it is the one that cuts the first records evenly.

    Examples
    --------
    >>> find_delimiter("a;b\\n1,5;2\\n")
    ';'
    """
    head = _head(text, end)
    widths = {sign: _widths(head, end, sign) for sign in DELIMITERS}
    several = [sign for sign, found in widths.items() if found and found[0] > 1]
    if len(several) > 1:
        even = [sign for sign in several if len(set(widths[sign])) == 1]
        several = even if len(even) == 1 else several
    if len(several) > 1:
        flags = " or ".join(f"--delimiter {_SHOWN[s]}" for s in several)
        raise TableError(
            "the header can be cut in more than one way", line=1, cure=f"Say {flags}."
        )
    return several[0] if several else ","


def _head(text: str, end: str, most: int = 50) -> str:
    place = -1
    for _ in range(most):
        place = text.find(end, place + 1)
        if place < 0:
            return text
    return text[: place + 1]


def _widths(head: str, end: str, delimiter: str) -> list[int]:
    """Return the number of cells of the first records, as far as they can be read."""
    found: list[int] = []
    with suppress(csv.Error):
        found.extend(len(row) for row in _records(head, end, delimiter) if row)
    return found


def _numbered(text: str, end: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Give each record that is not blank, and the line at which it starts."""
    reader: Any = _records(text, end, delimiter)
    line = 1
    try:
        for row in reader:
            if row:
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise _broken(error, line) from None


def _header(text: str, end: str, delimiter: str) -> tuple[tuple[str, ...], int]:
    """Return the first record that is not blank, and its line."""
    for line, row in _numbered(text, end, delimiter):
        return tuple(row), line
    raise TableError("is empty: a header and rows are expected")


def _check_header(names: Sequence[str], line: int, delimiter: str) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        if not name.strip():
            cure = "Give it a name."
            if place == 0:
                cure += " An index written by pandas? Write with index=False."
            if not names[-1].strip() and place == len(names) - 1:
                cure += f" Does the header end with a {quoted(delimiter)} too many?"
            raise TableError(
                f"column {place + 1} of {len(names)} has no name", line=line, cure=cure
            )
        first = seen.setdefault(name, place)
        if first < place:
            raise TableError(
                f"columns {first + 1} and {place + 1} have the same name",
                line=line,
                column=name,
                cure="Rename one of them.",
            )
    if all(_looks_like_a_number(name) for name in names):
        return ("The names in the header are all numbers: does the file have one?",)
    return ()


def _looks_like_a_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _by_rules(
    text: str, end: str, delimiter: str, header: tuple[str, ...]
) -> tuple[tuple[list[str], ...], NDArray[np.int64]]:
    """Cut by the `csv` module, record by record."""
    reader: Any = _records(text, end, delimiter)
    columns: tuple[list[str], ...] = tuple([] for _ in header)
    shared: dict[str, str] = {}  # one copy of each text, however often it stands there
    plain = True
    first = True
    before = 0
    try:
        while rows := list(islice(reader, CHUNK)):
            if reader.line_num - before != len(rows):
                plain = False
            if set(map(len, rows)) != {len(header)}:
                plain = False
                rows = [row for row in rows if row]
                if set(map(len, rows)) - {len(header)}:
                    raise _ragged(text, end, delimiter, header)
            if first and rows:
                rows, first = rows[1:], False
            before = reader.line_num
            for column, cells in zip(columns, zip(*rows, strict=True), strict=False):
                column.extend(map(shared.setdefault, cells, cells))
            if len(shared) > CHUNK:
                shared.clear()
    except csv.Error:
        # Once more, with the numbers of lines, to the place where it is broken.
        plain = False
    if plain:
        return columns, np.arange(2, len(columns[0]) + 2)
    starts = [line for line, _ in _numbered(text, end, delimiter)]
    return columns, np.array(starts[1:], np.int64)


def _ragged(text: str, end: str, delimiter: str, header: tuple[str, ...]) -> TableError:
    records = _numbered(text, end, delimiter)
    line, row = next(pair for pair in records if len(pair[1]) != len(header))
    cells, names = counted(len(row), "cell"), counted(len(header), "name")
    cure = "Quote cells that hold the delimiter, or mend the line."
    if len(header) == 1 and delimiter == ",":
        cure = "Decimal commas? Try --delimiter ';' --decimal ','"
    elif len(row) == len(header) + 1 and not row[-1]:
        cure = "The line ends with a delimiter; the header does not."
    return TableError(f"has {cells}, but the header has {names}", line=line, cure=cure)


def _broken(error: csv.Error, line: int) -> TableError:
    """Say in our words what the `csv` module found."""
    said = str(error)
    twice = 'A quote inside a quoted cell is written twice ("").'
    for part, reason, cure in (
        ("end of data", "a quote is opened and never closed", f"Close it. {twice}"),
        ("larger", "a cell is longer than 131,072 characters", "Is a quote left open?"),
        ("expected after", "a quoted cell goes on after its closing quote", twice),
    ):
        if part in said:
            return TableError(reason, line=line, cure=cure)
    return TableError(
        "a carriage return (CR) stands inside a line that ends otherwise",
        line=line,
        cure="Quote the cell that holds it, or write all line ends alike.",
    )
