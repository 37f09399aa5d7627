"""Frames and arrays of any kind as columns, numbers and labels."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from rankfair.input.frames import (
    as_columns,
    find_known,
    find_labels,
    open_table,
    read_target,
    read_weights,
    recode,
)
from refusals import sentence

# Tables


@pytest.mark.parametrize(
    "X",
    [
        [[0, 1], [2, 3], [4, 5]],
        np.arange(6, dtype=np.float32).reshape(3, 2),
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(12.0).reshape(3, 4)[:, ::2] / 2,
        pd.DataFrame({"a": [0, 2, 4], "b": [1, 3, 5]}, dtype="Int64"),
        pl.DataFrame({"a": [0, 2, 4], "b": [1.0, 3.0, 5.0]}),
        pl.DataFrame({"a": [0, 2, 4], "b": [1, 3, 5]}).cast(pl.Decimal(6, 2)),
    ],
    ids=lambda X: type(X).__name__,
)
def test_any_table_of_numbers_becomes_c_ordered_floats(X):
    numbers = open_table(X).numbers((0, 1))
    assert numbers.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert numbers.flags.c_contiguous
    assert numbers.dtype == np.float64


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_missing_numbers_are_nan(frame):
    column = open_table(frame({"a": [1, None, 3]})).numbers((0,))
    assert np.isnan(column).ravel().tolist() == [False, True, False]
    objects = np.array([[1.0], [None]], dtype=object)
    hidden = np.ma.array([[1.0], [2.0]], mask=[[False], [True]])
    for values in (objects, hidden):
        assert np.isnan(open_table(values).numbers((0,))).ravel().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pd.DataFrame({"job": ["x", "y"]}), ['X (column "job")', "2 of 2", '"x"']),
        (
            pd.DataFrame({"job": pd.Categorical([1, 2])}),
            ['X (column "job")', "categories", "2 of 2", "example 1"],
        ),
        (np.array([["x"], ["2"]]), ["X (column 0)", "2 of 2", '"x"']),
    ],
)
def test_text_among_numbers_is_refused_with_a_cure(X, words):
    with pytest.raises(ValueError, match="numbers are expected") as error:
        table = open_table(X)
        table.numbers(range(table.shape[1]))
    for word in [*words, "one-hot", "tasks or sensitive_features"]:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.eye(2) * 1j, "Complex data not supported"),
        (pl.LazyFrame({"a": [1]}), r"memory; got <LazyFrame .* Call X\."),
        (np.ones(3), "Reshape your data"),
        (np.ones((0, 2)), r"0 sample\(s\)"),
        (pd.DataFrame(index=[0, 1]), r"0 feature\(s\)"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), 'several columns called "a"'),
    ],
)
def test_what_is_no_dense_real_table_is_refused(X, words):
    with pytest.raises(ValueError, match=words):
        open_table(X)


# Targets and weights


def test_targets_of_any_type():
    for y in (
        [1, 2.5],
        np.array([1, 0, 2.5, 0])[::2],
        pd.Series([1, 2.5], index=["b", "a"]),
        pl.Series([1.0, 2.5]),
    ):
        assert read_target(y).tolist() == [1.0, 2.5]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (np.ones((3, 2)), "y should be a 1d array"),
        ([], "y is empty"),
        (["a", "b"], "y holds text where numbers are expected (2 of 2"),
        (np.array([1j]), "y has dtype complex128: numbers are expected"),
        (csr_array(np.eye(3)), "y is sparse"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "y must be finite, but has 1 NaN"),
        (pd.Series([1, None], dtype="Int64"), "has 1 NaN"),
        ([1.0, -np.inf], "y must be finite, but has 1 inf"),
    ],
)
def test_targets_that_are_refused(y, words):
    assert words in sentence(read_target, y)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -2.0, -1.0], "must not be negative; 2 of 3 are, the lowest is -2"),
        ([0.0, 0.0, 0.0], "sample_weight is zero for every row"),
        ([1.0, np.nan, 1.0], "sample_weight must be finite, but has 1 NaN"),
        (np.ones((3, 1)), "sample_weight must be 1D; got shape (3, 1)"),
        (np.ones(2), "sample_weight has 2 values, but there are 3 rows"),
    ],
)
def test_weights_that_are_refused(weights, words):
    assert words in sentence(read_weights, weights, 3)


def test_weights_of_one_are_none():
    assert read_weights(None, 3) is read_weights(np.ones(3), 3) is None


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
