import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from rankfair.files.archive import fits
from rankfair.files.columns import Roles, without_identifiers
from rankfair.files.encoding import ModelColumns
from rankfair.files.read import read_table
from rankfair.files.table import Reading
from rankfair.input.errors import ModelFileError, TableError

RAW = b"age,colour,town\n1,red,a\n2,blue,b\n3,red,c\n"


def learn(table, *names, tasks=(), **settings):
    return ModelColumns.learn(table, Roles(features=names, tasks=tasks), **settings)


def test_numbers_and_categories_side_by_side_alike_for_new_rows():
    table = read_table(RAW)
    columns = learn(table, "colour", "age", tasks=("town",))
    found, message = columns.draw(table)
    assert columns.names == ("colour=red", "age", "town") == tuple(found.columns)
    assert found.rows() == [(1, 1, "a"), (0, 2, "b"), (1, 3, "c")]
    assert message == ""
    assert columns.message == 'Encoded 1 column of text as 0/1 ("colour").'
    new = b"colour,age,town\ngreen,4,x\nred,5,x\ngreen,6,x\n"
    found, message = columns.draw(read_table(new))
    assert found.rows() == [(0, 4, "x"), (1, 5, "x"), (0, 6, "x")]
    assert message.startswith('2 rows have a category of "colour" that was not there')
    one = b"colour,age,town\ngreen,4,x\n"
    assert columns.draw(read_table(one))[1].startswith("1 row has a category")


@pytest.mark.parametrize(
    ("value", "kind", "does"),
    [
        ((1, "a"), tuple[int, str], True),
        ((1, 2), tuple[int, str], False),
        ((1,), tuple[int, str], False),
        ("ab", tuple[str, str], False),
        ((1, 2, 3), tuple[int, ...], True),
        (["a", 1], list[str], False),
        ({"a": 1, "b": 2.5}, dict[str, float], True),
        ({"a": "b"}, dict[str, float], False),
        ({1: 1}, dict[str, float], False),
        (["a"], dict[str, float], False),
        (None, int | None, True),
        (True, int, False),
        (2, float, True),
    ],
)
def test_values_are_told_that_fit_a_type(value, kind, does):
    assert fits(value, kind) == does


@pytest.mark.parametrize("more", [{"categories": {"colour": []}}, {"tasks": "town"}])
def test_columns_that_a_file_cannot_have_said_are_refused(more):
    stored = learn(read_table(RAW), "colour", "age").to_dict()
    assert ModelColumns.from_dict(stored).to_dict() == stored
    with pytest.raises(ModelFileError):
        ModelColumns.from_dict(stored | more)


def test_only_numbers_are_cut():
    both = ("age", "colour")
    roles = Roles(features=("town",), sensitive=both, cut=both)
    assert [*ModelColumns.learn(read_table(RAW), roles).cut] == ["age"]


@settings(max_examples=20)
@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=12))
def test_it_is_one_hot_but_for_the_first_category(labels):
    table = read_table(("x,y\n" + "".join(f"{v},1\n" for v in labels)).encode())
    reference = OneHotEncoder(drop="first", sparse_output=False)
    expected = reference.fit_transform(np.array(labels)[:, None])
    found, _ = learn(table, "x", "y").draw(table)
    assert found.to_numpy().tolist() == [[*row, 1.0] for row in expected.tolist()]


def test_categories_that_cannot_be_encoded_are_refused_or_left_out():
    body = b"".join(b"%d,v%d\n" % (i, i) for i in range(60))
    table = read_table(b"x,y\n" + body + b"NA,v\n")
    with pytest.raises(TableError, match="61 categories, more than 50") as caught:
        learn(table, "y")
    assert "--max-categories 61" in caught.value.cure
    with pytest.raises(TableError, match="--missing NA"):
        learn(table, "x")
    assert len(learn(table, "y", cap=61).names) == 60
    columns = learn(read_table(b"x,y\na,1\na,2\n"), "x", "y")
    assert columns.names == ("y",)
    assert columns.message == 'Left out 1 column of one value ("x").'
    with pytest.raises(TableError, match="name of two predictors"):
        learn(read_table(b"x,x=b\na,1\nb,2\n"), "x", "x=b")


@pytest.mark.parametrize(
    "roles", [Roles(features=("hired", "y")), Roles(kept=("hired",))]
)
def test_dates_that_are_asked_for_are_days(roles):
    table = read_table(b"hired,y\n1970-01-02,1\n2024/2/29 10:30,2\n1969-12-31,3\n")
    columns = ModelColumns.learn(*without_identifiers(table, roles))
    columns = ModelColumns.from_dict(columns.to_dict())
    assert columns.message == 'Read dates as days since 1970-01-01 ("hired").'
    assert columns.draw(table)[0]["hired"].to_list() == [1.0, 19782.0, -1.0]
    assert columns.reading(Reading(), None)[1].text == ("hired",)
    for cell in ("31.1.2024", "x"):
        with pytest.raises(TableError, match="no day"):
            columns.draw(read_table(f"hired,y\n{cell},1\n2024-01-31,2\n".encode()))


def test_a_column_that_changed_its_kind_is_refused():
    columns = learn(read_table(RAW), "age", "colour")
    with pytest.raises(TableError, match="holds text, but held numbers"):
        columns.draw(read_table(b"age,colour\nold,red\n"))
    with pytest.raises(TableError, match="--text colour"):
        columns.draw(read_table(b"age,colour\n1,2\n"))
    with pytest.raises(TableError, match='no column "colour"'):
        columns.draw(read_table(b"age\n1\n"))
