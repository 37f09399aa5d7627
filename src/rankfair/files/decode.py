"""Bytes to text: encodings, byte-order marks, and what is no text at all."""

from __future__ import annotations

import codecs

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
    (b"PK\x03\x04", "a zip archive", "Unpack it, or save the sheet as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "Save it as .xlsx or CSV."),
    (b"\x1f\x8b", "compressed (gzip)", "Unpack it: gunzip -c FILE | rankfair ... -"),
    (b"BZh", "compressed (bzip2)", "Unpack it first."),
    (b"\xfd7zXZ", "compressed (xz)", "Unpack it first."),
    (b"(\xb5/\xfd", "compressed (zstd)", "Unpack it first."),
    (b"%PDF", "a PDF document", "Export the table as CSV."),
)


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
