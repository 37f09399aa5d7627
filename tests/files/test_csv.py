"""Any bytes at the door: an error with a place, or exactly what is in the file."""

import csv
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from file_checks import check_table
from rankfair.files.cells import read_cells
from rankfair.files.csv import split
from rankfair.files.read import read_file
from rankfair.files.table import Reading, Table
from rankfair.input.errors import TableError

SIGNS = "ab01259+-.,;|\t\"'\n\r eE=_\u00e9\u20ac\ufeff"
CELLS = st.one_of(
    st.sampled_from(["", "NA", "01001", "1.5", "-0", "0", "1e999", "1e-999", "1,234"]),
    st.sampled_from(["12345678901234567890", "9007199254740993", " 1 ", "1_0", "٣"]),
    st.sampled_from(["=1+1", "inf", "nan", "a,b", 'q"q', "two\nlines", "cr\rhere"]),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(SIGNS, max_size=6),
)


@st.composite
def sheets(draw, damages=0):
    """A file: header, rows, delimiter, line end, quotes; some bytes cut or put in."""
    width = draw(st.integers(1, 4))
    name = st.text("abcxyz é1", min_size=1, max_size=4).filter(str.strip)
    names = draw(st.lists(name, min_size=width, max_size=width, unique=True))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6))
    stream = io.StringIO(newline="")
    writer = csv.writer(
        stream,
        delimiter=draw(st.sampled_from(",;\t|")),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"])),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    writer.writerows([names, *rows])
    encoding = draw(st.sampled_from(["utf-8"] * 5 + ["utf-8-sig", "utf-16"]))
    raw = stream.getvalue().encode(encoding)
    for _ in range(draw(st.integers(min(damages, 1), damages))):
        at = draw(st.integers(0, len(raw)))
        upto = draw(st.integers(at, min(len(raw), at + 8)))
        odd = st.sampled_from([b'"', b"\n", b"\r", b",", b"\x00", raw[at:upto] * 2])
        raw = raw[:at] + draw(st.one_of(st.binary(max_size=3), odd)) + raw[upto:]
    return raw


door = settings(max_examples=50)


ANY = st.one_of(st.binary(max_size=80), st.text(SIGNS, max_size=60).map(str.encode))


@settings(max_examples=150)
@given(
    st.one_of(sheets(), sheets(damages=3), ANY),
    st.sampled_from([None, None, ",", ";", "|", "a"]),
)
@example(b"a,b\n1,2\n", None)
@example(b"a\n\n1\n\n\n2\n", None)
@example(b'a\n""\n1\n', None)
@example(b"a,b\r\n1,2\r\n", None)
@example(b"a,b\n1,1.5\n2,9007199390071993.0\n", None)
@example(b"a,b\n1,1.5\n2,9007199390071992.0\n", None)
@example(b"a,b\n1,1.5\n2,90071993900719e2\n", None)
@example(b"a,b\n1,2\r3,4\n", None)
@example(b"\xff\xfe", None)
@example(b"PAR1", None)
def test_a_file_is_refused_or_read_as_the_csv_module_reads_it(raw, delimiter):
    found = check_table(raw, delimiter=delimiter)
    if isinstance(found, Table):  # columns of text are kept to the letter
        check_table(raw, text=found.names, delimiter=found.dialect.delimiter)


def outcome(call):
    try:
        return call()
    except TableError as error:
        return str(error)


@door
@given(
    st.lists(CELLS.filter(lambda cell: "\n" not in cell), min_size=1, max_size=6),
    st.sampled_from([".", ","]),
    st.sampled_from([(), ("NA",), ("NA", "-0", "")]),
)
@example(["1,5", "NA", "-2"], ",", ("NA",))
def test_all_ways_to_read_numbers_agree(cells, decimal, missing):
    how = Reading(decimal=decimal, missing=missing), "x", np.arange(2, len(cells) + 2)

    def read(given):
        found = read_cells(given, *how)
        kept = found.values.tolist()
        return [*map(repr, kept)], found.note, [*map(str, found.problems)]

    series = pl.Series(cells, dtype=pl.String)
    assert read(series) == read(cells)


@door
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=8),
    st.sampled_from(["\n", "\r\n"]),
)
def test_both_ways_to_cut_a_file_give_the_same_cells(rows, end):
    raw = end.join(",".join(row) for row in [["a", "b"], *rows]).encode() + end.encode()

    def read(small):
        found = split(raw, Reading(delimiter=",", small=small))
        cells, problems = map(list, found.columns), map(str, found.problems)
        return [*cells], found.lines.tolist(), [*problems]

    assert outcome(lambda: read(0)) == outcome(lambda: read(len(raw) + 1))


@pytest.mark.parametrize(
    "odd",
    [
        *(b"", b"\n", b"1,2\n", b"1,2\n\n", b"1,2,3,4\n", b"1,2,3", b"\xff,2,3\n"),
        *(b"1,2,3,4\n1,2\n", b"1,2\n1,2,3,4\n", "é,2,3\n".encode(), b'"1",2,3\n'),
    ],
)
def test_a_file_of_which_some_columns_are_read_is_looked_at_whole(odd):
    raw = b"a,b,c\n" + b"".join(b"%d,x%d,%d\n" % (i, i % 7, 2 * i) for i in range(99))
    found = []
    for small in (0, 1 << 30):
        try:
            reading = Reading(columns=("c", "a"), small=small)
            table = read_file(raw + odd + b"5,6,7\n", reading)
            columns = [each.tolist() for each in table.columns.values()]
            found.append((table.names, columns, table.lines.tolist()))
        except TableError as error:
            found.append(str(error))
    assert found[0] == found[1]
