import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankfair.input.frames import (
    as_columns,
    find_known,
    find_labels,
    open_table,
    recode,
)


def labels_of(values):
    codes, labels = find_labels(as_columns(values, "tasks"), "tasks")
    return codes.tolist(), labels.tolist()


@pytest.mark.parametrize(
    ("values", "codes", "labels"),
    [
        (np.array([5, 3, 5]), [1, 0, 1], [3, 5]),
        (np.array([-100, 100, -100], dtype=np.int8), [0, 1, 0], [-100, 100]),
        (np.array([2**63, 2**63 + 2**11], dtype=np.uint64), [0, 1], None),
        (np.array([0.5, -0.5, 0.5]), [1, 0, 1], [-0.5, 0.5]),
        (np.array([True, False]), [1, 0], [False, True]),
        (np.array(["b", "a"], dtype=object), [1, 0], ["a", "b"]),
        (["01001", "1001"], [0, 1], ["01001", "1001"]),
        ([2, "10"], [1, 0], ["10", 2]),
        ([1, 2.5], [0, 1], [1, 2.5]),
        (np.array(["2020-02", "2020-01"], dtype="M8[M]"), [1, 0], None),
        (pd.Series(["b", "a"], dtype="category"), [1, 0], ["a", "b"]),
        (pd.Series(["b", "a"]), [1, 0], ["a", "b"]),
        (pd.Series([True, False], dtype="boolean"), [1, 0], [False, True]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), [1, 0], ["a", "b"]),
        (pl.Series(["b", "a"], dtype=pl.Enum(["z", "b", "a"])), [1, 0], ["a", "b"]),
    ],
)
def test_labels_are_coded_in_sorted_order(values, codes, labels):
    found = labels_of(values)
    assert found[0] == codes
    assert labels is None or found[1] == labels


@pytest.mark.parametrize("values", [np.array([7, 5, 7]), np.array(["7", "5", "7"])])
def test_masked_labels_are_missing(values):
    (column,) = as_columns(np.ma.masked_array(values, [False, True, False]), "groups")
    codes, labels = find_known(column, "groups")
    assert codes.tolist() == [0, -1, 0]
    assert labels.tolist() == values[:1].tolist()
    (column,) = as_columns(np.ma.masked_array(values), "groups")
    assert type(column) is np.ndarray
    assert find_known(column, "groups")[0].tolist() == [1, 0, 1]
    table = open_table(np.ma.masked_array(values[:, np.newaxis], [[0], [1], [0]]))
    assert find_known(table.column(0), "groups")[0].tolist() == [0, -1, 0]


@pytest.mark.parametrize(
    "columns",
    [
        pd.DataFrame({"a": ["y", "x", "y"], "b": [2, 1, 1]}),
        pl.DataFrame({"a": ["y", "x", "y"], "b": [2, 1, 1]}),
        [["y", 2], ["x", 1], ["y", 1]],
        np.array([["y", 2], ["x", 1], ["y", 1]], dtype=object),
    ],
    ids=["pandas", "polars", "list", "array"],
)
def test_several_columns_are_labelled_by_their_combinations(columns):
    assert labels_of(columns) == ([2, 0, 1], [("x", 1), ("y", 1), ("y", 2)])


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, np.nan]),
        ["a", None],
        ["a", float("nan")],
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None], dtype="category"),
        pl.Series(["a", None]),
        np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    ],
)
def test_missing_labels_are_refused_with_their_count(values):
    with pytest.raises(ValueError, match=r"tasks has 1 missing label .* every row"):
        labels_of(values)
    with pytest.raises(ValueError, match="tasks must be finite, but has 1 inf"):
        labels_of(np.array([1.0, np.inf]))


def test_encode_finds_known_labels_of_any_number_type():
    known = np.array([3, 5, 9])
    for values in (
        [9, 3],
        [9.0, 3.0],
        np.array([9, 3], dtype=object),
        pl.Series([9, 3]),
    ):
        codes, others = recode(
            *find_labels(as_columns(values, "tasks"), "tasks"), known
        )
        assert (codes.tolist(), others) == ([2, 0], [])
