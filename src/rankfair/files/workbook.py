"""Excel workbooks in and out, through openpyxl."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import zip_longest
from typing import Any, TypeAlias
from zipfile import BadZipFile, ZipFile

from rankfair.files.table import Reading, Table, library
from rankfair.input.errors import InputError, TableError, listed, printable, shown

Row: TypeAlias = tuple[int, list[str]]

_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # no XML holds them
MOST_ROWS = (1 << 20) - 1


def is_workbook(raw: bytes) -> bool:
    """Tell whether this is a workbook of Excel since 2007."""
    if raw.startswith(b"PK\x03\x04"):
        with suppress(BadZipFile, NotImplementedError), ZipFile(io.BytesIO(raw)) as it:
            return "xl/workbook.xml" in it.namelist()
    return False


def read_rows(raw: bytes, reading: Reading) -> tuple[list[Row], str]:
    """Return the rows of a sheet that hold something, by number, as a CSV file would.

    Blank columns are left out.  A number is its shortest text, a date is
    ``2024-01-31``.  Beside them a note on other sheets, one of which may be meant.
    """
    openpyxl = library("openpyxl", "is an Excel workbook")
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
            sheet, others = _chosen(book, reading)
            rows = _filled(sheet.iter_rows(values_only=True), reading)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whatever the library makes of a damaged file
        said = (str(error).splitlines() or [type(error).__name__])[0][:100]
        reason = f"is a damaged Excel workbook ({said})"
        raise TableError(reason, "Save it again.") from error
    columns = list(zip_longest(*(cells for _, cells in rows), fillvalue=""))
    used = [column for column in columns if any(map(str.strip, column))]
    lines = [line for line, _ in rows]
    return list(zip(lines, map(list, zip(*used, strict=True)), strict=True)), others


def _chosen(book: Any, reading: Reading) -> tuple[Any, str]:
    """Return the sheet that is asked for, or the first one with a note on others."""
    names = [sheet.title for sheet in book.worksheets]
    there = f"The workbook has {listed(names)}."
    if reading.sheet is not None and reading.sheet not in names:
        raise InputError("sheet", "names a sheet", shown(reading.sheet), there)
    sheet = book.worksheets[names.index(reading.sheet) if reading.sheet else 0]
    sheet.reset_dimensions()  # they may be wrong, and as large as a sheet can be
    if reading.sheet is not None or len(names) == 1:
        return sheet, ""
    return sheet, f"Read the first sheet. {there} --sheet names another."


def _filled(rows: Iterable[Sequence[Any]], reading: Reading) -> list[Row]:
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
    openpyxl = library("openpyxl", "would be an Excel workbook")
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
