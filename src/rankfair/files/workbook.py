"""Excel workbooks in and out, through openpyxl."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from rankfair.files.csv import MOST_TITLES, Sheet, header_notes, titles_in, trimmed
from rankfair.files.table import Reading, Table, check_header
from rankfair.input.errors import InputError, TableError, listed, printable, shown

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # no XML holds them
MOST_ROWS = (1 << 20) - 1


def is_workbook(raw: bytes) -> bool:
    """Tell whether this is a workbook of Excel since 2007."""
    if not raw.startswith(b"PK\x03\x04"):
        return False
    try:
        with ZipFile(io.BytesIO(raw)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (BadZipFile, NotImplementedError):
        return False


def read_workbook(raw: bytes, reading: Reading) -> Sheet:
    """Return the cells of a sheet as text, as a CSV file would hold them.

    The first used row is the header; titles above it are skipped, and so are blank rows
    and columns.  A number is its shortest text, a date is ``2024-01-31``.
    """
    rows, notes = _used_rows(raw, reading)
    try:
        return _sheet_of(rows, notes, reading)
    except TableError as error:  # another sheet may be what is meant
        error.cure = " ".join(filter(None, [str(error.cure), *notes]))
        raise


def _sheet_of(
    rows: list[tuple[int, list[str]]], notes: list[str], reading: Reading
) -> Sheet:
    """Return the cells of rows that hold something, below their header."""
    if not rows:
        raise TableError("is empty: a header and rows are expected")
    width = max(len(row) for _, row in rows)
    rows = [(line, row + [""] * (width - len(row))) for line, row in rows]
    used = [i for i in range(width) if any(row[i].strip() for _, row in rows)]
    rows = [(line, [row[i] for i in used]) for line, row in rows]
    n_titles = titles_in([row for _, row in rows[: MOST_TITLES + 2]])
    line, header = rows[n_titles]
    notes = [*notes, *header_notes(rows, n_titles)]
    names = trimmed(header, reading)
    check_header(names, line=line)
    body = rows[n_titles + 1 :]
    if not body:
        raise TableError("has a header, but no rows", "Is it the whole sheet?")
    columns = tuple(map(list, zip(*(row for _, row in body), strict=True)))
    lines = np.array([line for line, _ in body], np.int64)
    return Sheet(tuple(names), columns, lines, ",", tuple(notes))


def _used_rows(
    raw: bytes, reading: Reading
) -> tuple[list[tuple[int, list[str]]], list[str]]:
    """Return the rows of a sheet that hold something, by number, and notes."""
    openpyxl = _library("is an Excel workbook")
    with ZipFile(io.BytesIO(raw)) as archive:
        size = sum(each.file_size for each in archive.infolist())
    if size > reading.max_bytes:
        reason = f"unpacks to more than {reading.max_bytes:,} bytes"
        raise TableError(reason, "Raise the limit with --max-bytes.")
    try:
        with warnings.catch_warnings():  # on styles and the like, which are not read
            warnings.simplefilter("ignore")
            stream = io.BytesIO(raw)
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
            sheet, notes = _chosen(book, reading)
            return _filled(sheet.iter_rows(values_only=True), reading), notes
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whatever the library makes of a damaged file
        said = (str(error).splitlines() or [type(error).__name__])[0][:100]
        reason = f"is a damaged Excel workbook ({said})"
        raise TableError(reason, "Save it again.") from error


def _chosen(book: Any, reading: Reading) -> tuple[Any, list[str]]:
    """Return the sheet that is asked for, or the first one with a note on others."""
    names = [sheet.title for sheet in book.worksheets]
    there = f"The workbook has {listed(names)}."
    if reading.sheet is not None and reading.sheet not in names:
        raise InputError("sheet", "names a sheet", shown(reading.sheet), there)
    sheet = book.worksheets[names.index(reading.sheet) if reading.sheet else 0]
    sheet.reset_dimensions()  # they may be wrong, and as large as a sheet can be
    if reading.sheet is not None or len(names) == 1:
        return sheet, []
    return sheet, [f"Read the first sheet. {there} --sheet names another."]


def _filled(rows: Iterable[Sequence[Any]], reading: Reading) -> list[Any]:
    """Return the rows that are not blank, cells as text."""
    found, n_cells = [], 0
    for line, row in enumerate(rows, start=1):
        cells = [_as_text(value, reading.decimal) for value in row]
        if any(cell.strip() for cell in cells):
            n_cells += len(cells)
            found.append((line, cells))
        if n_cells > reading.max_cells:
            raise TableError("has more cells than fit in memory", "Take fewer rows.")
    return found


def _as_text(value: Any, decimal: str) -> str:
    """Return a value of a cell as a CSV file would hold it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return repr(value).removesuffix(".0").replace(".", decimal)
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return value.date().isoformat()
    return str(value)


def to_workbook(table: Table) -> bytes:
    """Return a table as a workbook of one sheet; no text is a formula there."""
    openpyxl = _library("would be an Excel workbook")
    if table.n_rows > MOST_ROWS:
        raise TableError("has more rows than a workbook holds", "Write CSV or Parquet.")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("rankfair")

    def cell(value: Any) -> Any:
        if value is None or value != value:
            return None
        if not isinstance(value, str):
            return value
        text = _UNWRITABLE.sub(lambda found: printable(found[0]), value)
        made = openpyxl.cell.WriteOnlyCell(sheet, value=text)
        made.data_type = "s"
        return made

    sheet.append([cell(name) for name in table.names])
    columns = [column.tolist() for column in table.columns.values()]
    for row in zip(*columns, strict=True):
        sheet.append([cell(value) for value in row])
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def _library(what: str) -> Any:
    """Return openpyxl, or say that it is needed."""
    try:
        import openpyxl
    except ImportError as error:
        reason = f"{what}, which needs openpyxl"
        raise TableError(reason, 'pip install "rankfair[cli]"') from error
    return openpyxl
