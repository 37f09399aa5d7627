import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from rankfair.input.frames import open_table, read_target, read_weights
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
