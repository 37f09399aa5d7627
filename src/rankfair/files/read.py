"""Files to tables: bytes to text to cells to columns, several files as one."""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from rankfair.files.cells import read_cells
from rankfair.files.columns import Roles, label_notes, refuse_taken, without_identifiers
from rankfair.files.csv import Sheet, cut, split
from rankfair.files.parquet import read_parquet
from rankfair.files.table import Dialect, ReadColumn, Reading, Table
from rankfair.files.workbook import is_workbook, read_rows
from rankfair.input.disk import read_up_to, real, visible
from rankfair.input.errors import InputError, TableError, counted, quoted, refuse, shown


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
    trim: bool = False,
    sheet: str | None = None,
    max_bytes: int = Reading.max_bytes,
) -> Table:
    """Read a CSV, Excel or Parquet file without a guess that changes a value.

    A column is numbers if every cell that is not empty is a plain number; otherwise it
    is text, cell by cell as it stands in the file.  Numbers may have spaces around
    them.  Codes (``01001``) and whole numbers that a float cannot hold stay text, and a
    note says so.  Where all cells of a column have the same currency sign, or a percent
    sign, it is read without, and a note says so.  Numbers written in a way that the
    settings do not expect, and all that cannot be read in one way only, are errors that
    name the flag which helps: up to ten of a file together, with their lines.

    Parameters
    ----------
    source : str, path or bytes
        The file; ``"-"`` is standard input; bytes are the content itself.  What begins
        as a Parquet file or a workbook is read as one, all else as CSV.
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
    trim : bool, default=False
        Whether spaces around text and names of columns are ignored.
    sheet : str, optional
        The sheet of a workbook; by default the first.
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
            trim=trim,
            sheet=sheet,
            max_bytes=max_bytes,
        ),
    )


def read_file(source: str | os.PathLike[str] | bytes, reading: Reading) -> Table:
    """Do the work of `read_table`."""
    table, problems = _opened(source, reading, Roles())
    refuse(problems, table.source)
    return table


def _opened(
    source: str | os.PathLike[str] | bytes, reading: Reading, roles: Roles
) -> tuple[Table, list[TableError]]:
    """Return a table, and what is wrong with it; columns without a use stop nothing."""
    reading.check()
    raw, name = read_bytes(source, reading.max_bytes)
    book, others = is_workbook(raw), ""
    if reading.sheet is not None and not book:
        of = "names a sheet of an Excel workbook (.xlsx)"
        raise InputError("sheet", of, f"{shown(name)}, which is none")
    try:
        if raw.startswith(b"PAR1"):
            table, problems = _of_columns(read_parquet(raw, reading), reading, roles)
        elif book:
            rows, others = read_rows(raw, reading)
            sheet = cut(iter(rows), ",", reading)
            table, problems = _of_sheet(sheet, reading, roles, name)
        else:
            table, problems = _of_sheet(split(raw, reading), reading, roles, name)
    except TableError as error:  # another sheet may be what is meant
        cure = f"{error.cure}." if str(error.cure)[-1:].isalnum() else str(error.cure)
        error.argument, error.cure = name, f"{cure} {others}".strip()
        raise
    notes = [others] if others else []
    problems += [TableError(note) for note in notes if problems]
    for each in problems:
        each.argument = name
    return replace(table, source=name, notes=(*notes, *table.notes)), problems


def _of_sheet(
    sheet: Sheet, reading: Reading, roles: Roles, source: str
) -> tuple[Table, list[TableError]]:
    """Return a table of cells, each column as what it is, and all that is wrong."""
    reading.check_names(sheet.names)
    columns = {
        name: read_cells(cells, reading, name, sheet.lines)
        for name, cells in zip(sheet.names, sheet.columns, strict=True)
        if reading.reads(name)
    }
    table, problems = _of_columns(columns, reading, roles)
    dialect = Dialect(sheet.delimiter, reading.decimal)
    notes = [*sheet.notes, *table.notes]
    if not sheet.whole and reading.reads(sheet.names[-1]):
        notes.append(
            f"{source}, line {sheet.lines[-1]}: the last line has no line end. Was the "
            f"file cut? Its last cell is read as {quoted(sheet.columns[-1][-1])}."
        )
    table = replace(table, notes=tuple(notes), lines=sheet.lines, dialect=dialect)
    return table, [*sheet.problems, *problems]


def _of_columns(
    columns: Mapping[str, ReadColumn], reading: Reading, roles: Roles
) -> tuple[Table, list[TableError]]:
    """Return a table, and what is wrong with columns that have a use."""
    found, notes, problems = {}, list[str](), list[TableError]()
    why: dict[str, str] = {}
    for name, column in columns.items():
        note, used = column.note, name in reading.numbers or roles.uses(name)
        problems += column.problems if used else []
        if column.values is not None:
            found[name] = column.values
            why |= {name: note} if note and column.values.dtype.kind == "O" else {}
        elif not used:
            left = f"Left out column {quoted(name)}, which"
            notes.append(f"{left} {column.problems[0].expected}.")
        notes += [note] if note and used else []
    return Table(found, notes=tuple(notes), why_text=why), problems


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


def load(
    files: Sequence[str], roles: Roles, reading: Reading, only_used: bool = False
) -> Table:
    """Read one or several files as one table.

    Parameters
    ----------
    files : sequence of str
        CSV, Excel or Parquet files, folders of Parquet files, or ``"-"``; they must
        have the same columns.
    roles : Roles
        Columns with a role are read as what they have to be.
    reading : Reading
        How the files are written.
    only_used : bool, default=False
        Whether columns without a use are left out, which saves time and memory.

    Returns
    -------
    Table
        The rows of all files, in order, those with empty cells in columns that matter
        left out if `reading` says so.
    """
    inside = (files_of(each) if Path(each).is_dir() else [each] for each in files)
    files = list(chain.from_iterable(inside))
    _refuse_twice(files)
    if only_used and roles.needed is not None:
        kept = (*roles.needed, *roles.drop)
        columns = tuple(name for name in kept if name != reading.file_column)
        reading = replace(reading, columns=columns)
    parts, problems = [], list[TableError]()
    for file in files:
        table, wrong = _read(file, roles, reading)
        parts.append(table)
        problems += wrong
    if len(parts) > 1 and not problems:
        parts = [_joined(parts, roles)]
    if not reading.drop_missing:
        problems += [gap for part in parts for gap in _gaps(part, roles, reading)]
    if problems:
        notes = (note for part in parts for note in label_notes(part, roles))
        problems += [TableError(it) for it in dict.fromkeys(notes)]
    refuse(problems, parts[0].source if len(parts) == 1 else "")
    (table,) = parts
    if reading.drop_missing:
        table = _whole_rows(table, roles)
    return replace(table, notes=(*table.notes, *label_notes(table, roles)))


def files_of(folder: str) -> list[str]:
    """Return the Parquet files of a folder, in order, hidden ones left out."""
    inside = Path(folder).glob("*.parquet")
    found = sorted(str(path) for path in inside if visible(Path(path.name)))
    if not found:
        reason = "is a folder without Parquet files"
        raise TableError(reason, "Their names end in .parquet.", source=folder)
    return found


def _refuse_twice(files: Sequence[str]) -> None:
    places = [file if file == "-" else str(real(file)) for file in files]
    times = Counter(places)
    for file, place in zip(files, places, strict=True):
        if times[place] > 1:
            reason = "is named twice: its rows would count double"
            raise TableError(reason, "Name it once.", source=file)


def _read(file: str, roles: Roles, reading: Reading) -> tuple[Table, list[TableError]]:
    """Read a file, its columns as their roles need them; say what is wrong with it."""
    extra = reading.file_column
    used = (*roles.named, *(roles.features or ()), *roles.kept, *roles.drop)
    labels = dict.fromkeys((*roles.labels, *reading.text))
    own = replace(
        reading,
        text=tuple(name for name in labels if name != extra),
        numbers=tuple(dict.fromkeys((*roles.numbers, *reading.numbers))),
        needed=tuple(name for name in used if name != extra),
    )
    table, problems = _opened(file, own, roles)
    if extra is None:
        return table, problems
    refuse_taken(extra, table.names, table.source, "Give --file-column another name.")
    stem = "-" if file == "-" else Path(file).stem
    return table.with_column(extra, np.full(table.n_rows, stem, object)), problems


def _joined(parts: list[Table], roles: Roles) -> Table:
    """Return the rows of several tables with the same columns, kinds agreed.

    A column that is not used may be numbers in one and text in another: it is text.
    """
    first = parts[0]
    columns = {}
    for other in parts[1:]:
        _refuse_other_columns(first, other, roles)
    for name in first.names:
        text = any(part.is_text(name) for part in parts)
        found = [part.text(name) if text else part[name] for part in parts]
        columns[name] = np.concatenate(found)
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    sources = ", ".join(part.source for part in parts)
    return Table(columns, sources, notes, first.why_text, dialect=first.dialect)


def _refuse_other_columns(first: Table, other: Table, roles: Roles) -> None:
    """Raise if columns of two files differ in name, or in kind where they are used."""
    for name in dict.fromkeys((*first.names, *other.names)):
        for here, there in ((first, other), (other, first)):
            if name not in there.names:
                reason = f"has no column {shown(name)}, which {here.source} has"
                cure = "All files must have the same columns."
                raise TableError(reason, cure, source=there.source)
        text = other.is_text(name)
        if first.is_text(name) != text and roles.uses(name):
            kinds = "text" if text else "numbers"
            reason = f"holds {kinds}, but not so in {first.source}"
            cure = f"Read it as text in all files with --text {shlex.quote(name)}."
            raise TableError(reason, cure, name, source=other.source)


def _gaps(table: Table, roles: Roles, reading: Reading) -> list[TableError]:
    """Return the columns with an empty cell where one matters, and the first cells."""
    labels = (*roles.numbers, *roles.tasks)
    used = dict.fromkeys((*labels, *roles.predictors(table.names)))
    read = [name for name in used if name in table.columns]
    gone = {name: cells for name in read if (cells := table.missing(name)).any()}
    if gone:  # what no model is to be predicted from may have gaps
        _, roles = without_identifiers(table, roles, reading.numbers)
    found = []
    for name in (name for name in gone if name not in roles.drop):
        count, line = int(gone[name].sum()), table.line(int(gone[name].argmax()))
        which, them = ("it", "it") if count == 1 else ("the first", "them")
        empty = f"{counted(count, 'cell is', 'cells are')} empty"
        where = "" if line is None else f"; this line has {which}"
        cure = "or leave such rows out with --drop-missing."
        if name not in labels and roles.features is None:
            out = f"leave the column out with --drop {shlex.quote(name)}"
            cure = f"{out}, or drop such rows with --drop-missing."
        reason = f"{empty} in {counted(table.n_rows, 'row')}{where}"
        found.append(
            TableError(reason, f"Fill {them}, {cure}", name, line, table.source)
        )
    return found


def _whole_rows(table: Table, roles: Roles) -> Table:
    """Return the rows without an empty cell where one matters, and count the others."""
    gone = np.zeros(table.n_rows, bool)
    read = (*roles.named, *roles.predictors(table.names))
    for name in (name for name in read if name in table.columns):
        gone |= table.missing(name)
    if gone.all():
        n = table.n_rows
        rows = "its only row" if n == 1 else f"each of its {n} rows"
        cure = "Leave columns with many empty cells out with --drop."
        raise TableError(f"has an empty cell in {rows}", cure, source=table.source)
    if not gone.any():
        return table
    note = f"Dropped {int(gone.sum())} of {table.n_rows} rows with empty cells."
    return replace(table.take(~gone), notes=(*table.notes, note))
