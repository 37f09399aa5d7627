"""Bytes to text: the encoding is known from a mark, is UTF-8, or is asked for."""

from __future__ import annotations

import codecs

from rankfair.tables.errors import TableError, quoted

__all__ = ["decode", "refuse_foreign"]

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


def refuse_foreign(raw: bytes) -> None:
    """Raise if these are the bytes of another kind of file, and name it.

    Examples
    --------
    >>> refuse_foreign(b"a,b")
    """
    for magic, what, cure in _FOREIGN:
        if raw.startswith(magic):
            raise TableError(f"is {what}, not a table", cure=cure)


def decode(raw: bytes, encoding: str | None) -> str:
    """Return the text of a file, without a byte-order mark.

    Parameters
    ----------
    raw : bytes
        The file.
    encoding : str or None
        Its encoding; None: as the mark says, or UTF-8.

    Raises
    ------
    TableError
        If the bytes are not of that encoding, or the text holds NUL.

    Examples
    --------
    >>> decode("\\ufeffcafé".encode("utf-16-le"), None)
    'café'
    """
    named, raw = _marked(raw, encoding)
    try:
        text = raw.decode(named)
    except UnicodeError as error:
        raise _undecodable(raw, named, error) from error
    except (LookupError, ValueError) as error:
        raise TableError(
            f"cannot be read: {quoted(named)} is no encoding known here",
            cure="Names are for example utf-8, utf-16, latin-1, cp1252.",
        ) from error
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
    return TableError(
        f"{byte} (number {start + 1} in the file) is not {named.upper()} text",
        line=raw.count(b"\n", 0, start) + 1,
        cure=cure,
    )


def _with_nul(raw: bytes, text: str, place: int) -> TableError:
    head = raw[:400]
    cure = "The file may be damaged, or be no text; write it again."
    # Western text in UTF-16 has a NUL in every second byte.
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 3 and head[start::2].count(0) > 0.8 * len(head[start::2]):
            cure = f"It looks like UTF-16 without a mark: try --encoding {name}."
    return TableError(
        "holds a NUL byte", line=text.count("\n", 0, place) + 1, cure=cure
    )
