"""Excel workbooks are read as CSV files of the same cells, and written to be so."""

import io
import re
from datetime import date, datetime
from zipfile import ZipFile

import numpy as np
import openpyxl
import pytest

from rankfair.files.columns import Roles
from rankfair.files.read import load, read_table
from rankfair.files.table import Reading, Table
from rankfair.files.write import write_table
from rankfair.input.errors import InputError, TableError


def workbook(**sheets):
    """Return the content of a workbook, rows by sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


HEAD = [None, "id", "pay", "hired", "left", "mixed"]
ROWS = [
    [None, "00001", 2.5, date(2020, 1, 31), datetime(2021, 1, 1, 8), 1],
    [None],
    [None, "00002", 3, date(2020, 2, 1), None, "x"],
]


def test_what_is_wrong_with_styles_is_no_matter():
    old, raw = ZipFile(io.BytesIO(workbook(a=[["x", "y"], [1, 2]]))), io.BytesIO()
    with ZipFile(raw, "w") as new:
        for name in old.namelist():
            # No style is the default one.
            new.writestr(
                name, re.sub(b"<cellStyles.*</cellStyles>", b"", old.read(name))
            )
    with pytest.warns(UserWarning, match="no default style"):
        openpyxl.load_workbook(raw)
    assert read_table(raw.getvalue())["y"].tolist() == [2.0]


def test_cells_are_what_a_csv_file_would_hold():
    table = read_table(workbook(a=[[None, "Pay 2024"], [None], HEAD, *ROWS]))
    assert table.names == tuple(HEAD[1:])
    assert table["id"].tolist() == ["00001", "00002"]
    assert table["pay"].tolist() == [2.5, 3.0]
    assert table["hired"].tolist() == ["2020-01-31", "2020-02-01"]
    assert table["left"].tolist() == ["2021-01-01 08:00:00", None]
    assert table["mixed"].tolist() == ["1", "x"]
    assert table.lines.tolist() == [4, 6]
    (note,) = (it for it in table.notes if "Skipped" in it)
    assert 'line 3: "Pay 2024"' in note


def test_a_sheet_is_named_or_the_first(tmp_path):
    raw = workbook(a=[["x"], [1]], b=[["y"], [2]])
    first, other = read_table(raw), read_table(raw, sheet="b")
    assert (first.names, other.names) == (("x",), ("y",))
    assert first.notes == (
        'Read the first sheet. The workbook has "a", "b". --sheet names another.',
    )
    assert other.notes == ()
    raw = workbook(a=[["x"], ["?"]], b=[["y"], [2]])
    file = tmp_path / "a.xlsx"
    file.write_bytes(raw)
    for call in (
        lambda: read_table(raw, numbers=["y"]),
        lambda: read_table(raw, numbers=["x"]),
        lambda: load([str(file)], Roles(features=("y",)), Reading()),
        lambda: load([str(file)], Roles(drop=("y",)), Reading()),
    ):
        with pytest.raises(TableError, match=r'The workbook has "a", "b"\. --sheet'):
            call()
    with pytest.raises(InputError, match=r'got "c"\. The workbook has "a", "b"\.'):
        read_table(raw, sheet="c")
    with pytest.raises(InputError, match="names a sheet of an Excel workbook"):
        read_table(b"x\n1\n", sheet="a")


def test_decimal_signs_of_text_do_not_change_numbers():
    raw = workbook(a=[["x", "y"], [1234.5, "1.234,5"], [-2, "7"]])
    table = read_table(raw, decimal=",", thousands=".")
    assert table["x"].tolist() == [1234.5, -2.0]
    assert table["y"].tolist() == [1234.5, 7.0]


def test_what_cannot_be_read_is_said():
    sound = workbook(a=[["x"], [1]])
    for raw, said in (
        (workbook(a=[[]]), "is empty"),
        (workbook(a=[["x", "y"]]), "a header, but no rows"),
        (workbook(a=[["x", "x"], [1, 2]]), "have the same name"),
        (sound[:-30], "zip archive"),
        (sound.replace(b"xl/worksheets/", b"xl/worksheeps/"), "damaged Excel workbook"),
    ):
        with pytest.raises(TableError, match=said):
            read_table(raw)
    raw = workbook(a=[["x"], *[["a" * 1000]] * 300])
    with pytest.raises(TableError, match="unpacks to more than 10,000 bytes"):
        read_table(raw, max_bytes=10_000)


def test_what_is_written_is_read_again_and_is_no_formula(tmp_path):
    text = np.array(["=1+1", "é\x07", None], object)
    table = Table({"=x": np.array([0.1, np.nan, -3.0]), "who": text})
    write_table(table, tmp_path / "t.xlsx")
    again = read_table(tmp_path / "t.xlsx")
    np.testing.assert_array_equal(again["=x"], table["=x"])
    assert again["who"].tolist() == ["=1+1", "é[U+0007]", None]
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    assert {cell.data_type for cell in sheet["B"]} == {"s", "n"}
