"""Tables in memory and as files: what is written is read again, and is no formula."""

import io
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfair.files.read import read_table
from rankfair.files.table import Dialect, Table
from rankfair.files.write import neutral, to_csv, write_table
from rankfair.input.errors import TableError


def objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ODD = st.text("'=-@\t\r\n\",; a1.é", max_size=4)
EDGES = [-0.0, 1e-5, 1e-4, 1e-3, 1e15, 1e16, 2.0**53, 5e-324, float("nan")]
NUMBERS = st.one_of(st.floats(allow_infinity=False), st.sampled_from(EDGES))
ROWS = st.tuples(
    st.one_of(st.none(), TEXT, ODD), NUMBERS, st.integers(-9, 9).map(float)
)


@settings(max_examples=100)
@given(
    st.lists(ROWS, min_size=1, max_size=8),
    st.sampled_from([(",", "."), (";", ","), ("\t", "."), ("|", ","), (",", ",")]),
    st.booleans(),
)
def test_what_is_written_is_read_again(rows, signs, alone):
    text, *numbers = zip(*rows, strict=True)
    columns = {"=a,\r": objects(text)}
    if not alone:
        columns |= {"b;": np.array(numbers[0]), "c": np.array(numbers[1])}
    delimiter, decimal = signs
    written = to_csv(Table(columns, dialect=Dialect(delimiter, decimal)))
    how = {"text": ["'=a,\r"], "delimiter": delimiter, "decimal": decimal}
    table = read_table(written.encode(), **how, numbers=[*columns][1:])
    expected = [neutral(cell) if cell else None for cell in text]
    assert table["'=a,\r"].tolist() == expected
    for name in table.names[1:]:
        found, values = table[name], columns[name]
        np.testing.assert_array_equal(found, values)
        minus = np.signbit(values) & (values == values)
        np.testing.assert_array_equal(np.signbit(found), minus)


@given(ODD, ODD)
def test_different_texts_stay_different(one, other):
    assert (neutral(one) == neutral(other)) == (one == other)


def test_what_a_spreadsheet_would_run_is_neutralised():
    for start in (*"=@\t\n\r＝＋－＠", "+c", "-2+"):
        cell = f"{start}1"
        table = Table({cell: objects([cell])})
        found = read_table(to_csv(table).encode(), text=[neutral(cell)], delimiter=",")
        assert found.names == ("'" + cell,)
        assert found[found.names[0]].tolist() == ["'" + cell]
    for cell in ("-3.5", "+1", "a=b", "1-2", "", "'x", "-1e-5", "."):
        assert neutral(cell) == cell


def test_numbers_are_no_formulas_and_whole_ones_have_no_point():
    table = Table({"a": np.array([-3.5, 2.0]), "b": np.array([-3.0, np.nan])})
    assert to_csv(table) == "a,b\n-3.5,-3\n2.0,\n"
    assert to_csv(Table({"a": np.array([-0.0, 1.0])})) == "a\n-0.0\n1.0\n"
    assert to_csv(Table({"a": np.array([1, 2]), "b": np.array([True, False])})) == (
        "a,b\n1,True\n2,False\n"
    )


def test_parquet_and_csv_hold_the_same(tmp_path):
    table = read_table(b"id,x,who\n01001,1.5,=a\n,,b\n", text=["id"])
    for name in ("a.csv", "a.parquet", "a.PQ"):
        write_table(table, tmp_path / name)
    for name in ("a.parquet", "a.PQ"):
        found = read_table(tmp_path / name, text=["id"])
        assert found["id"].tolist() == ["01001", None]
        np.testing.assert_array_equal(found["x"], table["x"])
        assert found["who"].tolist() == ["=a", "b"]  # no spreadsheet opens it
    assert read_table(tmp_path / "a.csv")["who"].tolist() == ["'=a", "b"]


def test_a_dash_is_standard_output_or_its_stand_in(capsysbinary, monkeypatch):
    write_table(Table({"x": np.array([1.0]), "é": objects(["é"])}), "-")
    assert capsysbinary.readouterr().out.decode() == "x,é\n1,é\n"
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    write_table(Table({"x": np.array([1.0])}), "-")
    assert sys.stdout.getvalue() == "x\n1\n"


def test_a_folder_that_cannot_be_made_is_named_and_nothing_is_lost(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(TableError, match=r"could not be written.*Nothing was changed"):
        write_table(Table({"x": np.array([1.0])}), tmp_path / "file" / "a.csv")
    assert (tmp_path / "file").read_text() == "old"
    with pytest.raises(TableError, match="could not be written"):
        write_table(Table({"x": objects(["\ud800"])}), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"


TABLE = read_table(b"x,who\n1,a\n2,\n")


def test_a_table_gives_new_ones_and_stays_as_it_was():
    more = TABLE.with_column("y", [1.5, 2.5]).with_column("s", objects(["a", None]))
    assert more.names == ("x", "who", "y", "s")
    assert more["s"].tolist() == ["a", None] and more.is_text("s")
    assert TABLE.names == ("x", "who")
    assert TABLE.take(np.array([1])).lines.tolist() == [3]
    assert TABLE.select(["who"]).names == ("who",)
    assert Table({}).n_rows == 0
    frame = Table({"s": objects([None, "a"])}).to_frame()
    assert frame["s"].to_list() == [None, "a"]
    assert Table({"x": np.array([1, 2])}).missing("x").tolist() == [False, False]
    many = Table({f"column{i}": np.zeros(1) for i in range(12)})
    with pytest.raises(TableError, match='"column7" and 4 more'):
        many["zzz"]


def test_an_error_survives_a_trip_between_processes():
    error = TableError("is odd", source="a.csv", line=2, column="x", cure="Mend it.")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == 'a.csv, line 2, column "x": is odd. Mend it.'
    assert (again.line, again.column, again.cure) == (2, "x", "Mend it.")
