import pickle

import numpy as np
import pytest

from rankfair.files.read import read_table
from rankfair.files.table import Table
from rankfair.input.errors import TableError

TABLE = read_table(b"x,who\n1,a\n2,\n")


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="differ in length"):
        Table({"a": np.zeros(2), "b": np.zeros(3)})


def test_a_new_column_leaves_the_table_as_it_was():
    more = TABLE.with_column("y", [1.5, 2.5]).with_column("s", ["a", None])
    assert more.names == ("x", "who", "y", "s")
    assert more["s"].tolist() == ["a", None] and more.is_text("s")
    assert TABLE.names == ("x", "who")
    assert TABLE.with_column("x", [7, 8])["x"].tolist() == [7, 8]


def test_rows_and_columns_can_be_taken():
    assert TABLE.take(np.array([1])).lines.tolist() == [3]
    assert TABLE.select(["who"]).names == ("who",)
    assert Table({}).n_rows == 0
    assert Table({"x": np.array([1, 2])}).missing("x").tolist() == [False, False]
    assert Table({"x": np.zeros(1)}).take(np.array([0])).lines is None


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(TableError, match='the table has no column "wo"'):
        Table({"who": np.zeros(1)})["wo"]
    many = Table({f"column{i}": np.zeros(1) for i in range(12)})
    with pytest.raises(TableError, match='"column7" and 4 more'):
        many["zzz"]


def test_an_error_survives_a_trip_between_processes():
    error = TableError("is odd", source="a.csv", line=2, column="x", cure="Mend it.")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == 'a.csv, line 2, column "x": is odd. Mend it.'
    assert (again.line, again.column, again.cure) == (2, "x", "Mend it.")
