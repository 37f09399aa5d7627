import io
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankfair.files.read import read_table
from rankfair.files.table import Table
from rankfair.files.write import neutral, to_csv, write_table
from rankfair.input.errors import TableError

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


@given(arrays(np.float64, st.integers(1, 20), elements=st.floats(allow_infinity=False)))
def test_numbers_come_back_the_same(values):
    raw = to_csv(Table({"x": values, "y": values})).encode()
    found = read_table(raw, numbers=["x"])["x"]
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(
        np.signbit(found), np.signbit(values) & (values == values)
    )


@given(st.lists(st.one_of(st.none(), TEXT), min_size=1, max_size=10))
def test_text_comes_back_the_same_but_for_formulas(values):
    table = Table({"id": objects(values)})
    found = read_table(to_csv(table).encode(), text=["id"], delimiter=",")
    expected = [None if not value else neutral(value) for value in values]
    assert found["id"].tolist() == expected


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "＝1",
        "＋1",
        "－1",
        "＠a",
    ],
)
def test_what_a_spreadsheet_would_run_is_neutralised(cell):
    table = Table({cell: objects([cell])})
    found = read_table(to_csv(table).encode(), text=[neutral(cell)], delimiter=",")
    assert found.names == ("'" + cell,)
    assert found[found.names[0]].tolist() == ["'" + cell]


@given(st.lists(st.text("'=-1a", min_size=1, max_size=4), unique=True, min_size=1))
@example(["=1", "'=1", "''=1"])
def test_different_names_and_labels_stay_different(values):
    table = Table({name: objects(values) for name in values})
    names = [neutral(value) for value in values]
    found = read_table(to_csv(table).encode(), text=names, delimiter=",")
    assert len({*found.names}) == len(values)
    for name in names:
        assert len({*found[name].tolist()}) == len(values)


@pytest.mark.parametrize("cell", ["-3.5", "+1", "a=b", "1-2", "", "'x", "-1e-5", "."])
def test_other_text_is_left_alone(cell):
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


def test_a_dash_is_standard_output(capsysbinary):
    write_table(Table({"x": np.array([1.0]), "é": objects(["é"])}), "-")
    assert capsysbinary.readouterr().out.decode() == "x,é\n1,é\n"


def test_a_stand_in_for_standard_output_will_do(monkeypatch):
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


def test_a_full_disk_keeps_the_old_file(tmp_path):
    pytest.importorskip("resource")
    path = tmp_path / "a.csv"
    path.write_text("old")
    code = (
        "import resource, sys, numpy as np; from rankfair.files.table import Table; "
        "from rankfair.files.write import write_table; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        "write_table(Table({'x': np.arange(99999.0)}), sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "TableError" in done.stderr and "could not be written" in done.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]
