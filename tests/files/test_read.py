"""Each trap of a CSV file: read right, or refused with line, column and cure."""

import io
import sys
import types

import numpy as np
import polars as pl
import pytest

from rankfair.files.csv import split
from rankfair.files.read import read_file, read_table
from rankfair.files.table import Reading
from rankfair.input.errors import InputError, TableError

DUTCH = {"decimal": ",", "thousands": "."}


def refused(raw, **settings):
    with pytest.raises(TableError) as caught:
        read_table(raw, **settings)
    return caught.value


def cells(raw, **settings):
    table = read_table(raw, **settings)
    return {name: table[name].tolist() for name in table.names}


def test_text_is_kept_and_columns_may_be_chosen():
    raw = b"id,task,group,x\n12345678901234567890,01001,NA, 1 \n7,1e5, F ,\n"
    table = read_table(raw, text=["id", "task", "group"])
    assert table["id"].tolist() == ["12345678901234567890", "7"]
    assert table["task"].tolist() == ["01001", "1e5"]
    assert table["group"].tolist() == ["NA", " F "]
    np.testing.assert_array_equal(table["x"], [1, np.nan])
    assert table.missing("x").tolist() == [False, True]
    raw = b"a,b,c\n1,1e999,x\n2,3,\n"
    assert cells(raw, columns=["c", "a"]) == {"a": [1.0, 2.0], "c": ["x", None]}


def test_the_encoding_is_that_of_a_mark_or_said():
    for encoding in ("utf-8-sig", "utf-16"):
        raw = "näme,x\n\u20ac,1\n".encode(encoding)
        assert cells(raw) == {"näme": ["\u20ac"], "x": [1.0]}
        # and naming it as well does no harm
        assert cells(raw, encoding=encoding) == {"näme": ["\u20ac"], "x": [1.0]}
    for encoding in ("latin-1", "utf-16-be"):
        assert cells("é\n1\n".encode(encoding), encoding=encoding) == {"é": [1.0]}
    # A mark of another encoding is not one: the person knows better.
    assert cells(b"\xef\xbb\xbfa\n1\n", encoding="latin-1") == {"ï»¿a": [1.0]}


@pytest.mark.parametrize(
    ("raw", "settings", "line", "column", "said", "cure"),
    [
        (b"", {}, None, None, "is empty", ""),
        (b"\n,\n", {}, 2, None, "column 1 of 2 has no name", "pandas"),
        (b"a,b\n", {}, None, None, "no rows", "whole file"),
        ("é\n1\n".encode("latin-1"), {}, 1, None, "0xE9", "--encoding cp1252"),
        (b"\xff\xfea", {}, 1, None, "UTF-16", "Leave --encoding out"),
        (b"a\n1\n", {"encoding": "nope"}, None, None, '"nope"', "latin-1"),
        (b"a\n1\n", {"encoding": "a\0b"}, None, None, "cannot be read", "latin-1"),
        ("a,b\n1,2".encode("utf-16-le"), {}, 1, None, "NUL", "--encoding utf-16-le"),
        (b"a,b\n1,\x00\n", {}, 2, None, "NUL", "Damaged?"),
        (b"a;b\n1,5;2\n", {}, 2, "a", '"1,5"', "--decimal ','"),
        (b"x\n1,5\n", {}, 2, None, "2 cells", "--delimiter ';' --decimal ','"),
        (b"a,b\n1,2\r3,4\n", {}, 2, None, "(CR)", "Quote"),
        (b"a,b\n1,2\n\n1,2,3\n", {}, 4, None, "3 cells", "Quote"),
        (b'a,b\n"1\n1",2\n1\n', {}, 4, None, "1 cell,", "mend"),
        (b"a,b\n1,2,\n", {}, 2, None, "3 cells", "ends with a delimiter"),
        (b'a,b\n1,2\n3,"4\n5,6\n', {}, 3, None, "never closed", 'twice ("")'),
        (b'a,b\n1,"2"3\n', {}, 2, None, "goes on", 'twice ("")'),
        (b'a\n"' + b"x" * 140_000, {}, 2, None, "131,072", "left open"),
        (b"a,b,a\n1,2,3\n", {}, 1, "a", "columns 1 and 3", "Rename"),
        (b"a, \n1,2\n", {}, 1, None, "column 2 of 2", "Give it a name"),
        (b'x\n1\n"1,234"\n', {}, 3, "x", '"1,234"', "--thousands ',' or --decimal"),
        (b"x;y\n1.234,5;2\n", {}, 2, "x", "1.234,5", "--thousands '.' --decimal ','"),
        (b"x\n1\n-1e999\n", {}, 3, "x", "too large", "--text x"),
        (b"x\n0.0\n1e-999\n", {}, 3, "x", "too small", "--text x"),
        (b"x\nNA\n", {"numbers": ["x"]}, 2, "x", '"NA"', "--missing NA"),
        (b"x\n1\n$5\n", {"numbers": ["x"]}, 3, "x", "sign $", "all cells"),
        (b'x\n$1\n"$-5,000"\n', {}, 3, "x", '"$-5,000"', "--thousands ','"),
        (b"x\n9007199254740993\n", {"numbers": ["x"]}, 2, "x", "more d", "--text x"),
        (b"x;y\n1.5;2\n", {"decimal": ","}, 2, "x", '"1.5"', "--decimal '.'"),
        (b"x\n1,5,5\n", {"delimiter": ";", "numbers": ["x"]}, 2, "x", "not a n", ""),
        (b"a;b,c\n1;2,3\n", {}, 1, None, "more than one way", "--delimiter"),
        (b"pay\n1\n", {"text": ["Pay"]}, None, None, 'no column "Pay"', '"pay"'),
        (b"pay\n1\n", {"columns": ["q"]}, None, None, 'no column "q"', '"pay"'),
        (b"PK\x03\x04 a", {}, None, None, "zip archive", "as CSV"),
        (b"\x1f\x8b a", {}, None, None, "compressed", "gunzip"),
        (b"x\n1\n", {"max_bytes": 3}, None, None, "larger than 3", "--max-bytes"),
    ],
)
def test_a_trap_is_named_with_its_place_and_cure(
    raw, settings, line, column, said, cure
):
    error = refused(raw, **settings)
    assert said in str(error)
    assert cure in error.cure
    assert (error.line, error.column) == (line, column)
    assert str(error).startswith("the data")
    if line is not None:
        assert f"line {line}" in str(error)


@pytest.mark.parametrize(
    ("raw", "settings", "values"),
    [
        (b"x;y\n1.234,50;\n-2,5e1;\n", DUTCH, [1234.5, -25]),
        (b'x,y\n"1,234",1\n12,2\n', {"thousands": ","}, [1234, 12]),
        (b"x,y\n1'234.5,1\n.5,2\n", {"thousands": "'"}, [1234.5, 0.5]),
        ("x,y\n1\u202f234,1\n5.,2\n".encode(), {"thousands": "\u202f"}, [1234, 5]),
        (b"x,y\n007,1\n10,2\n", {"numbers": ["x"]}, [7, 10]),
        (b"x\ty\n1\t1\n2\t2\n", {}, [1, 2]),
        (b"x,y\n\t1 ,1\n+2,2\n", {}, [1, 2]),
        (b"x,y\n9007199254740994,1\n1e300,2\n", {}, [9007199254740994, 1e300]),
        (b"x,a|b\n1,2\n3,4|4\n", {}, [1, 3]),
        (b"x,y\r1,2\r3,4\r", {}, [1, 3]),
        (b"sep=;\r\nx;y,z\r\n1;2\r\n3;4\r\n", {}, [1, 3]),
        (b"\n\nx,y\n\n1,2\n\n\n3,4\n\n", {}, [1, 3]),
    ],
)
def test_numbers_are_read_as_the_settings_say(raw, settings, values):
    np.testing.assert_array_equal(read_table(raw, **settings)["x"], values)


@pytest.mark.parametrize(
    ("raw", "note"),
    [
        (b"x,y\n1,1\nn/a,2\n3,3\n", "--missing n/a"),
        (b"zip,y\n10001,1\n01001,2\n", "begins with 0"),
        (b"id,y\n12345678901234567890,1\n", "more digits"),
        (b"1,2\n3,4\n", "all numbers"),
        (b"x,y\n1,2\n3,45", "line 3: the last line has no line end. Was the file cut?"),
        (b"x,y\n1,a\n3,Fem", 'Its last cell is read as "Fem"'),
        (b"x,y\n" + b"1,2\n" * 5000 + b"3,45", "line 5002: the last line"),
    ],
)
def test_what_was_noticed_is_said(raw, note):
    table = read_table(raw)
    assert note in " ".join(table.notes)
    for whole in (b"x,y\n1,a\n", b"x,y\n1,a\n\n", b'x,y\n1,"a"', b"x,y\r\n1,a\r\n"):
        assert read_table(whole).notes == ()


@pytest.mark.parametrize("n_rows", [2, 5000])
def test_a_last_cell_that_is_not_read_is_not_said_to_be_cut(n_rows):
    table = read_table(b"x,y" + b"\n1,2" * n_rows, columns=["x"])
    assert table.notes == ()
    assert table["x"].tolist() == [1.0] * n_rows


def test_the_line_of_each_row_is_known():
    assert "line 3" in read_table(b"x\n1\nNA\n3\n").why_text["x"]
    assert read_table(b"x\na\nb\n1\n").why_text == {}
    assert read_table(b'x,y\n1,"a\nb"\n\n2,c\n3,d\n').lines.tolist() == [2, 5, 6]
    assert read_table(b"sep=;\nx;y\n1;2\n").lines.tolist() == [3]


def both(raw, **settings):
    """Read with polars and without, which has to give the same."""
    fast, slow = (
        read_file(raw, Reading(**settings, small=small)) for small in (0, 1 << 30)
    )
    assert fast.notes == slow.notes
    for name in fast.names:
        np.testing.assert_array_equal(fast[name], slow[name])
    np.testing.assert_array_equal(fast.lines, slow.lines)
    return fast


@pytest.mark.parametrize("quote", ["", '"'])
def test_many_rows_are_read_alike_with_and_without_polars(monkeypatch, quote):
    rng = np.random.default_rng(0)
    x = rng.normal(size=1000) * 10.0 ** rng.integers(-300, 300, 1000)
    forms = ("{!r}", "{:.17g}", "{:.16e}")
    body = "".join(
        f"{quote}{forms[i % 3].format(v)}{quote},{quote}{i % 70:05d}{quote},{i},\n"
        for i, v in enumerate(x.tolist())
    )
    raw = f"x,code,n,none\n{body}".encode()
    assert isinstance(split(raw, Reading(small=0)).columns[0], pl.Series)
    table = both(raw)
    np.testing.assert_array_equal(table["x"], x)
    assert table.is_text("code")
    monkeypatch.setitem(sys.modules, "polars", None)
    np.testing.assert_array_equal(read_table(raw)["x"], x)


def test_a_path_and_standard_input(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(b"x\n1\n")
    assert cells(path) == cells(str(path)) == {"x": [1.0]}
    for raw in (b"x\n2\n", b""):
        stdin = types.SimpleNamespace(buffer=io.BytesIO(raw))
        monkeypatch.setattr(sys, "stdin", stdin)
        if raw:
            assert cells("-") == {"x": [2.0]}
        else:
            assert str(refused("-")).startswith("standard input is empty")
    assert "No such file" in str(refused(tmp_path / "no.csv"))
    assert "cannot be read" in str(refused(tmp_path))
    assert "cannot be read" in str(refused("a\0b"))


def test_what_polars_does_not_cut_is_read_by_the_rules():
    for raw, settings, values in (
        ("a\u00a7b\n3\u00a70\n", {"delimiter": "\u00a7"}, [3.0]),
        ('a;b\n"1\n2";0\n3;1\n', {}, ["1\n2", "3"]),
        ('a;b\n"1\n";0\n3;1\n', {"decimal": ","}, ["1\n", "3"]),
        ('a,b\n"v\n", 0.25\nw,1\n', {}, ["v\n", "w"]),
    ):
        assert both(raw.encode(), **settings)["a"].tolist() == values


def test_missing_cells_are_named_for_every_column():
    raw = b"sex,task,word,x\nNA,NA,NA,1\nF, NA ,b,NA\nM,t,,2\nM,t,b,3\n"
    table = both(raw, text=("sex", "task"), missing=("NA",))
    assert table["sex"].tolist() == [None, "F", "M", "M"]
    assert table["task"].tolist() == [None, None, "t", "t"]
    assert table["word"].tolist() == [None, "b", None, "b"]
    np.testing.assert_array_equal(table["x"], [1, np.nan, 2, 3])
    plain = both(raw, text=("sex", "task"))
    assert plain["sex"].tolist()[:2] == ["NA", "F"]
    assert plain["task"].tolist()[:2] == ["NA", " NA "]


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("9007199254740993", False),
        ("9007199254740993.0", False),
        ("9007199254740992.5", False),
        ("9.007199254740992E+15", True),
        ("1e23", True),
        ("9.9999999999999992e+22", True),  # the same float in 17 digits
        ("1.7976931348623157e308", True),
    ],
)
def test_digits_are_kept_or_the_column_is_text(cell, kept):
    table = both(f"a,b\n{cell},0\n1,0\n".encode())
    assert table.is_text("a") is not kept
    assert ("more digits" in " ".join(table.notes)) is not kept
    assert not kept or table["a"][0] == float(cell)


@pytest.mark.parametrize(
    ("cells", "settings", "values", "said"),
    [
        (["$75,043", "-$5"], {"thousands": ","}, [75043, -5], '"$75,043" as 75043.'),
        (["45\u00a0000 €", "1 €"], {"thousands": "\u00a0"}, [45000, 1], "sign €"),
        (["12 %", "", "3.5%"], {}, [12, np.nan, 3.5], '"12 %" as 12.'),
        (["1,5€"], {"decimal": ","}, [1.5], '"1,5€" as 1.5.'),
        (["$1", "€2"], {}, ["$1", "€2"], None),
        (["$1", "2"], {}, ["$1", "2"], None),
        (["%1", "%2"], {}, ["%1", "%2"], None),
        (["$1$"], {}, ["$1$"], None),
    ],
)
def test_a_sign_that_all_cells_have_is_read_and_said(cells, settings, values, said):
    raw = "\n".join(["x;y", *(f"{cell};1" for cell in cells)]) + "\n"
    table = read_table(raw.encode(), **settings)
    np.testing.assert_array_equal(table["x"], values)
    if said is not None:
        assert said in table.notes[0]
    else:
        assert 'column "x"' in str(refused(raw.encode(), numbers=["x"]))


def test_settings_that_cannot_be_used_are_named():
    for settings, said in (
        ({"delimiter": ",,"}, 'delimiter must be one character.*; got ",,"'),
        ({"delimiter": '"'}, "delimiter must be .* neither a quote"),
        ({"decimal": ";"}, 'decimal must be a point or a comma; got ";"'),
        ({"thousands": "x"}, "thousands must be a comma, point"),
        ({"thousands": "."}, "thousands must differ from the decimal sign"),
    ):
        with pytest.raises(InputError, match=said):
            read_table(b"a\n1\n", **settings)


def test_all_problems_of_a_file_are_one_message():
    odd = "".join(f"k{i},1\n" for i in range(9))
    raw = f'x,y\n1,2\n3\n$5,z\n"1,5",4\n{odd}'.encode()
    error = refused(raw, numbers=["x", "y"])
    head, *problems, last = str(error).split("\n")
    assert head == "the data has 13 problems; the first 10:"
    assert problems[0].startswith("- line 3: has 1 cell, but the header has 2 names.")
    assert problems[1].startswith('- line 4, column "x": "$5" has the sign $')
    assert problems[2].startswith('- line 4, column "y": "z" is not a number.')
    assert [line.split('"')[3] for line in problems[4:]] == [f"k{i}" for i in range(6)]
    assert last == "- and 3 more."
    # Long and odd cells are shown short.
    error = refused(b"x\n" + b"\x1b[31m" + b"y" * 99 + b"\n", numbers=["x"])
    assert "\x1b" not in str(error) and "…" in str(error)


def test_spaces_around_names_and_labels_are_ignored_if_asked():
    raw = b"sex , pay\n Male,1\nMale ,2\n ,3\n"
    table = read_table(raw, trim=True)
    assert table.names == ("sex", "pay")
    assert table["sex"].tolist() == ["Male", "Male", None]
    assert read_table(raw)["sex "].tolist() == [" Male", "Male ", " "]


@pytest.mark.parametrize(
    ("raw", "names", "line"),
    [
        (b"Pay 2024\n\nsex;pay\nF;1\n", ("sex", "pay"), 4),
        (b"Pay, 2024;;\n;;\nid;sex;pay\n1;F;2\n", ("id", "sex", "pay"), 4),
        (b"a,b\n1,2\n", ("a", "b"), 2),
    ],
)
def test_titles_above_the_header_are_skipped_and_said(raw, names, line):
    table = read_table(raw)
    assert (table.names, table.lines[0]) == (names, line)
    assert any("Skipped" in note for note in table.notes) == (line > 2)
    for odd in (b"pay\n1,5\n2,5\n", b"n\nA, B\nC, D\n", b",n\na,b1\n"):  # no titles
        with pytest.raises(TableError, match="line"):
            read_table(odd)
