"""Files to tables: bytes to text to cells to columns."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankfair.files.cells import as_numbers, as_text
from rankfair.files.csv import Sheet, split
from rankfair.files.parquet import read_parquet
from rankfair.files.table import Reading, Table, check_names
from rankfair.input.disk import read_up_to
from rankfair.input.errors import TableError, quoted

# The mark of UTF-32 begins with that of UTF-16, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "Save the sheet as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save the sheet as CSV."),
    (b"\x1f\x8b", "compressed (gzip)", "Unpack it: gunzip -c FILE | rankfair ... -"),
    (b"BZh", "compressed (bzip2)", "Unpack it first."),
    (b"\xfd7zXZ", "compressed (xz)", "Unpack it first."),
    (b"(\xb5/\xfd", "compressed (zstd)", "Unpack it first."),
    (b"%PDF", "a PDF document", "Export the table as CSV."),
)


def _refuse_foreign(raw: bytes) -> None:
    for magic, what, cure in _FOREIGN:
        if raw.startswith(magic):
            raise TableError(f"is {what}, not a table", cure)


def decode(raw: bytes, encoding: str | None) -> str:
    """Return the text of a file, without a byte-order mark.

    Without an encoding it is as the mark says, or UTF-8.
    """
    named, raw = _marked(raw, encoding)
    try:
        text = raw.decode(named)
    except UnicodeError as error:
        raise _undecodable(raw, named, error) from error
    except (LookupError, ValueError) as error:
        reason = f"cannot be read: {quoted(named)} is no encoding known here"
        cure = "Names are for example utf-8, utf-16, latin-1, cp1252."
        raise TableError(reason, cure) from error
    place = text.find("\0")
    if place >= 0:
        raise _with_nul(raw, text, place)
    return text


def _marked(raw: bytes, encoding: str | None) -> tuple[str, bytes]:
    """Return the encoding and the bytes after the mark; a mark is no part of a name."""
    for mark, name in _MARKS:
        if raw.startswith(mark) and _agrees(encoding, name):
            return name, raw[len(mark) :]
    return encoding or "utf-8", raw


def _agrees(encoding: str | None, name: str) -> bool:
    if encoding is None:
        return True
    try:
        asked = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return False
    return name.startswith(asked) or asked == "utf-8-sig"


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


def _with_nul(raw: bytes, text: str, place: int) -> TableError:
    head = raw[:400]
    cure = "The file may be damaged, or be no text; write it again."
    # Western text in UTF-16 has a NUL in every second byte.
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 3 and head[start::2].count(0) > 0.8 * len(head[start::2]):
            cure = f"It looks like UTF-16 without a mark: try --encoding {name}."
    line = text.count("\n", 0, place) + 1
    return TableError("holds a NUL byte", cure, line=line)


def read_table(
    source: str | os.PathLike[str] | bytes,
    *,
    text: Sequence[str] = (),
    numbers: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    missing: Sequence[str] = (),
    needed: Sequence[str] | None = None,
    spare: Sequence[str] = (),
    max_bytes: int = Reading.max_bytes,
) -> Table:
    """Read a CSV or Parquet file without a guess that changes a value.

    A column is numbers if every cell that is not empty is a plain number; otherwise it
    is text, cell by cell as it stands in the file.  Numbers may have spaces around
    them.  Codes (``01001``) and whole numbers that a float cannot hold stay text, and a
    note says so.  Numbers written in a way that the settings do not expect, and all
    that cannot be read in one way only, are errors that name the flag which helps.

    Parameters
    ----------
    source : str, path or bytes
        The file; ``"-"`` is standard input; bytes are the content itself.  What begins
        as a Parquet file is read as one, all else as CSV.
    text : sequence of str
        Columns that are text whatever they hold: tasks, groups, identifiers.
    numbers : sequence of str
        Columns that must be numbers: target, prediction, weight.
    columns : sequence of str, optional
        The only columns to return, in the order of the file; by default all.
    encoding : str, optional
        By default UTF-8, or what a byte-order mark says.
    delimiter : str, optional
        By default the comma, semicolon, tab or bar that the header shows.
    decimal : {".", ","}, default="."
        The decimal sign.
    thousands : str, optional
        What stands between groups of three digits.
    missing : sequence of str
        Cells that mean "not known", for instance ``NA``, in columns of numbers and of
        text alike; an empty cell always does.  In Parquet files: cells of text.
    needed : sequence of str, optional
        Columns that matter; others stay text where their numbers are written in a way
        that the settings do not expect, and no note tells of them.  By default all.
    spare : sequence of str
        Columns that do not matter, whether ``needed`` names others or not.
    max_bytes : int, default=4 GiB
        Larger files are refused.

    Returns
    -------
    Table
        Columns as arrays, and notes for the reader.

    Raises
    ------
    TableError
        With line, column and cure, where they are known.

    Examples
    --------
    >>> table = read_table(b"fips,pay\\n01001,2.5\\n01003,\\n", text=["fips"])
    >>> table["fips"].tolist(), table["pay"].tolist()
    (['01001', '01003'], [2.5, nan])
    >>> read_table(b'pay\\n"1,234"\\n')
    Traceback (most recent call last):
    ...
    rankfair.input.errors.TableError: the data, line 2, column "pay": "1,234" is not a
    plain number. Say --thousands ',' or --decimal ',', or read the column as text:
    --text pay.
    """
    return read_file(
        source,
        Reading(
            text=tuple(text),
            numbers=tuple(numbers),
            columns=None if columns is None else tuple(columns),
            encoding=encoding,
            delimiter=delimiter,
            decimal=decimal,
            thousands=thousands,
            missing=tuple(missing),
            needed=None if needed is None else tuple(needed),
            spare=tuple(spare),
            max_bytes=max_bytes,
        ),
    )


def read_file(source: str | os.PathLike[str] | bytes, reading: Reading) -> Table:
    """Do the work of `read_table`."""
    reading.check()
    raw, name = read_bytes(source, reading.max_bytes)
    try:
        if raw.startswith(b"PAR1"):
            table = read_parquet(raw, reading)
        else:
            _refuse_foreign(raw)
            table = _read_csv(decode(raw, reading.encoding), name, reading)
    except TableError as error:
        error.source = name
        raise
    return replace(table, source=name)


def _read_csv(content: str, source: str, reading: Reading) -> Table:
    sheet = split(content, reading)
    wanted = [*reading.text, *reading.numbers, *(reading.columns or ())]
    check_names(wanted, sheet.names)
    found: dict[str, Any] = {}
    why: dict[str, str] = {}
    notes = [*sheet.notes, *_no_line_end(content, source, sheet)]
    for name, cells in zip(sheet.names, sheet.columns, strict=True):
        if not reading.reads(name):
            continue
        values, reason = None, ""
        if name not in reading.text:
            try:
                values, reason = as_numbers(cells, reading, name, sheet.lines)
            except TableError:
                if name in reading.numbers or reading.matters(name):
                    raise
        found[name] = as_text(cells, reading.missing) if values is None else values
        if reason:
            why[name] = reason
            notes += [reason] if reading.matters(name) else []
    return Table(found, source, tuple(notes), why, sheet.lines)


def _no_line_end(content: str, source: str, sheet: Sheet) -> list[str]:
    """Return a note if the last cell may be cut: nothing after it shows its end."""
    if content.endswith(("\n", "\r", '"')):
        return []
    return [
        f"{source}, line {sheet.lines[-1]}: the last line has no line end. Was the "
        f"file cut? Its last cell is read as {quoted(sheet.columns[-1][-1])}."
    ]


def read_bytes(
    source: str | os.PathLike[str] | bytes, max_bytes: int
) -> tuple[bytes, str]:
    """Return the content of a file and its name in messages; refuse large ones."""
    if isinstance(source, bytes):
        raw, name = source, "the data"
    elif os.fspath(source) == "-":
        raw, name = read_up_to(sys.stdin.buffer, max_bytes), "standard input"
    else:
        name = str(source)
        try:
            with Path(source).open("rb") as stream:
                raw = read_up_to(stream, max_bytes)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise TableError(f"cannot be read: {reason}", source=name) from error
    if len(raw) > max_bytes:
        cure = "Take fewer rows or columns, or raise the limit with --max-bytes."
        raise TableError(f"is larger than {max_bytes:,} bytes", cure, source=name)
    return raw, name
