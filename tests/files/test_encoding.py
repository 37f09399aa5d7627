import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from rankfair import RankFairRegressor, load_model, save_model
from rankfair.files.columns import Roles
from rankfair.files.encoding import Encoding, ModelColumns
from rankfair.files.model_files import describe_model
from rankfair.files.read import read_table
from rankfair.files.write import write_table
from rankfair.input.errors import TableError

RAW = b"age,colour,town\n1,red,a\n2,blue,b\n3,red,c\n"


def rows(encoding, table):
    return encoding.apply(table).X.to_numpy().tolist()


def test_numbers_and_categories_side_by_side():
    table = read_table(RAW)
    encoding = Encoding.learn(table, ["colour", "age"])
    found = encoding.apply(table, ["town"])
    assert encoding.names == ("colour=red", "age")
    assert found.X.columns == ["colour=red", "age", "town"]
    assert found.X.rows() == [(1, 1, "a"), (0, 2, "b"), (1, 3, "c")]
    assert found.message == ""
    assert encoding.message == 'Encoded 1 column of text as 0/1 ("colour").'


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12))
def test_it_is_one_hot_but_for_the_first_category(labels):
    table = read_table(("x,y\n" + "".join(f"{v},1\n" for v in labels)).encode())
    encoding = Encoding.learn(table, ["x", "y"])
    reference = OneHotEncoder(drop="first", sparse_output=False)
    expected = reference.fit_transform(np.array(labels)[:, None])
    assert rows(encoding, table) == [[*row, 1.0] for row in expected.tolist()]


def test_new_rows_are_encoded_alike_and_unknown_categories_counted():
    encoding = Encoding.learn(read_table(RAW), ["age", "colour"])
    new = read_table(b"colour,age\ngreen,4\nred,5\ngreen,6\n")
    assert rows(encoding, new) == [[4, 0], [5, 1], [6, 0]]
    assert '2 rows have a category of "colour"' in encoding.apply(new).message
    one = encoding.apply(read_table(b"colour,age\ngreen,4\n"))
    assert '1 row has a category of "colour"' in one.message


def test_too_many_categories_are_refused_with_what_stopped_the_numbers():
    body = b"".join(b"%d,v%d\n" % (i, i) for i in range(60))
    table = read_table(b"x,y\n" + body + b"NA,v\n")
    with pytest.raises(TableError, match="61 categories, more than 50") as caught:
        Encoding.learn(table, ["y"])
    assert "--max-categories 61" in caught.value.cure
    with pytest.raises(TableError, match="--missing NA"):
        Encoding.learn(table, ["x"])
    assert len(Encoding.learn(table, ["y"], cap=61).names) == 60


def test_a_column_of_one_value_is_left_out_and_said():
    table = read_table(b"x,y\na,1\na,2\n")
    encoding = Encoding.learn(table, ["x", "y"])
    assert encoding.names == ("y",)
    assert encoding.message == 'Left out 1 column of one value ("x").'
    assert Encoding.learn(table, ["x"]).apply(table, ["y"]).X.columns == ["y"]


@pytest.mark.parametrize(
    ("raw", "column", "line", "said"),
    [
        (
            b"x,y\n1,a\n,b\n,c\n",
            "x",
            3,
            "2 cells are empty in 3 rows; this line has the first. Fill them,",
        ),
        (
            b"x,y\n1,a\n2,\n3,c\n",
            "y",
            3,
            "1 cell is empty in 3 rows; this line has it. Fill it,",
        ),
    ],
)
def test_missing_cells_are_refused_with_the_first_line(raw, column, line, said):
    table = read_table(raw)
    with pytest.raises(TableError, match=said) as caught:
        Encoding.learn(table, [column])
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "--drop-missing" in caught.value.cure
    assert f"leave the column out with --drop {column}," in caught.value.cure
    kept = table.take(~(table.missing("x") | table.missing("y")))
    encoding = Encoding.learn(kept, [column])
    with pytest.raises(TableError, match=said) as caught:
        encoding.apply(table)
    assert "--drop-missing" in caught.value.cure
    assert "column" not in caught.value.cure  # a model needs those that it learnt
    assert kept.n_rows == (1 if column == "x" else 2)
    assert len(kept.lines) == kept.n_rows


def test_a_column_that_changed_its_kind_is_refused():
    encoding = Encoding.learn(read_table(RAW), ["age", "colour"])
    with pytest.raises(TableError, match="holds text, but held numbers"):
        encoding.apply(read_table(b"age,colour\nold,red\n"))
    with pytest.raises(TableError, match="--text colour"):
        encoding.apply(read_table(b"age,colour\n1,2\n"))
    with pytest.raises(TableError, match='no column "colour"'):
        encoding.apply(read_table(b"age\n1\n"))


def test_a_category_that_is_called_like_a_column_is_refused():
    table = read_table(b"x,x=b\na,1\nb,2\n")
    with pytest.raises(TableError, match="name of two predictors"):
        Encoding.learn(table, ["x", "x=b"])


def test_from_a_file_to_a_model_and_back(tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{i:05d},{rng.choice(['01', '02'])},{rng.choice(['F', 'M'])},"
        f"{rng.choice(['red', 'blue'])},{rng.normal():.3f},{rng.normal():.3f}"
        for i in range(80)
    ]
    path = tmp_path / "pay.csv"
    path.write_text("\n".join(["id,job,sex,colour,age,pay", *lines]))
    table = read_table(path, text=["id", "job", "sex"], numbers=["pay"])
    roles = Roles("pay", ("sex",), ("job",), drop=("id",))
    columns = ModelColumns.learn(table, roles)
    model = RankFairRegressor(0.05, tasks="job", sensitive_features="sex")
    model.fit(columns.draw(table).X, table["pay"])
    kept = save_model(model, tmp_path / "a.rankfair", extra=columns.to_dict())
    again, stored = (
        load_model(kept),
        ModelColumns.from_dict(describe_model(kept)["extra"]),
    )
    predicted = again.predict(stored.draw(table).X)
    np.testing.assert_array_equal(predicted, model.predict(columns.draw(table).X))
    write_table(table.with_column("prediction", predicted), tmp_path / "out.csv")
    found = read_table(tmp_path / "out.csv", text=["id", "job", "sex"])
    np.testing.assert_array_equal(found["prediction"], predicted)
    assert found["id"].tolist() == table["id"].tolist()
    assert set(found["job"]) == {"01", "02"}
