"""What must hold for any bytes at the doors: used by hypothesis and by the fuzzers."""

import codecs
import csv
import io
import math
import re
from decimal import Decimal

import numpy as np

from rankfair.files.csv import split
from rankfair.files.model_files import describe_bytes, model_of
from rankfair.files.read import read_file
from rankfair.files.table import Reading
from rankfair.input.errors import ModelFileError, TableError


def text_of(raw, encoding=None):
    """Decode as the door says it does: a mark, else UTF-8."""
    if encoding is not None:
        return raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16")
    return raw.decode("utf-8-sig")


def records(text, delimiter):
    """Read by the csv module: every line end is one, blank lines are skipped."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header, *body = [row for row in rows if row]
    return header, body


def number(cell):
    """Read a number, which may have a currency or percent sign around it."""
    bare = re.sub("[%$€]", "", cell).strip(" \t")
    return float(bare.replace("- ", "-").replace("+ ", "+")) if bare else math.nan


def is_number(cell):
    """Tell whether a cell can be a number without losing anything that it says."""
    bare = cell.strip(" \t")
    if not bare:
        return True
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", bare, re.ASCII) is None:
        return False
    if re.fullmatch(r"[+-]?\d+", bare, re.ASCII):
        if Decimal(bare) != Decimal(float(bare)):
            return False
    # Of large numbers with a point or an exponent, floats keep 15 digits for certain.
    elif abs(float(bare)) >= 2**53 and len(Decimal(bare).as_tuple().digits) > 15:
        return False
    return re.match(r"[+-]?0\d", bare, re.ASCII) is None


def same(a, b):
    return a == b or (a != a and b != b)


def check_table(raw, **settings):
    """Read bytes: either a `TableError`, or what the csv module reads as well.

    Returns the table, or the error.
    """
    try:
        table = read_file(raw, Reading(**settings, small=0))  # polars for all of them
    except TableError as error:
        assert str(error).strip()
        assert error.line is None or error.line >= 1
        return error
    if raw.startswith(b"PAR1"):
        return table
    if any(note.startswith("Skipped what stands above") for note in table.notes):
        return table
    text = text_of(raw, settings.get("encoding"))
    delimiter = settings.get("delimiter")
    if delimiter is None:
        delimiter = split(raw, Reading(**settings)).delimiter
    if re.match(f"sep={re.escape(delimiter)}[\r\n]", text):
        text = text[5:]
    header, body = records(text, delimiter)
    assert table.names == tuple(header)
    assert table.n_rows == len(body)
    assert body and all(len(row) == len(header) for row in body)
    for name, cells in zip(header, zip(*body, strict=True), strict=True):
        column = table[name]
        if table.is_text(name):
            assert column.tolist() == [cell or None for cell in cells]
            assert name in settings.get("text", ()) or not all(map(is_number, cells))
            continue
        assert name not in settings.get("text", ())
        assert column.dtype == np.float64 and not np.isinf(column).any()
        for value, cell in zip(column.tolist(), cells, strict=True):
            assert same(value, number(cell)), (name, value, cell)
            # No digit of a whole number is lost, and no leading zero of a code.
            bare = cell.strip(" \t")
            if bare.isdigit() and name not in settings.get("numbers", ()):
                assert str(int(value)) == bare
    assert len(table.lines) == table.n_rows
    assert all(np.diff(table.lines) > 0)
    return table


def check_model(raw, X, expected):
    """Read bytes: either a `ModelFileError`, or a model that predicts the same."""
    try:
        model = model_of(raw)
        description = describe_bytes(raw)
    except ModelFileError as error:
        assert str(error).strip()
        return error
    assert description["estimator"] == type(model).__name__
    np.testing.assert_array_equal(model.predict(X), expected)
    return model
