from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from rankfair.input.errors import listed
from rankfair.input.frames import as_columns, column_numbers, open_table
from rankfair.input.labels import encode, find_known, find_labels, label_array
from rankfair.input.training import read_target

FRAMES = [pd.DataFrame, pl.DataFrame]


@pytest.fixture(params=FRAMES, ids=["pandas", "polars"])
def frame(request):
    return request.param


def labels_of(values):
    codes, labels = find_labels(as_columns(values, "tasks"), "tasks")
    return codes.tolist(), labels.tolist()


# Tables


def test_a_float_array_is_not_copied():
    X = np.arange(6.0).reshape(3, 2)
    assert np.shares_memory(open_table(X).numbers((0, 1)), X)


@pytest.mark.parametrize(
    "X",
    [
        [[0, 1], [2, 3], [4, 5]],
        np.arange(6, dtype=np.int8).reshape(3, 2),
        np.arange(6, dtype=np.float32).reshape(3, 2),
        np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        np.arange(12.0).reshape(3, 4)[:, ::2] / 2,
        np.arange(6).reshape(3, 2).astype(object),
        pd.DataFrame(np.arange(6).reshape(3, 2)),
        pd.DataFrame({"a": [0, 2, 4], "b": [1, 3, 5]}, dtype="Int64"),
        pl.DataFrame({"a": [0, 2, 4], "b": [1.0, 3.0, 5.0]}),
        pl.DataFrame({"a": [0, 2, 4], "b": [1, 3, 5]}).cast(pl.Decimal(6, 2)),
        pd.DataFrame([[0, 1], [2, 3], [4, 5]], columns=["a", "a"]),
    ],
    ids=lambda X: type(X).__name__,
)
def test_any_table_of_numbers_becomes_c_ordered_floats(X):
    numbers = open_table(X).numbers((0, 1))
    assert numbers.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert numbers.flags.c_contiguous
    assert numbers.dtype == np.float64


def test_booleans_are_numbers(frame):
    assert open_table(frame({"a": [True, False]})).numbers((0,)).tolist() == [[1], [0]]


def test_a_list_may_mix_numbers_and_text():
    table = open_table([[1.5, "a"], [2.5, "b"]])
    assert table.numbers((0,)).ravel().tolist() == [1.5, 2.5]


def test_missing_numbers_are_nan(frame):
    column = open_table(frame({"a": [1, None, 3]})).numbers((0,))
    assert np.isnan(column).ravel().tolist() == [False, True, False]
    objects = np.array([[1.0], [None]], dtype=object)
    assert np.isnan(open_table(objects).numbers((0,))).sum() == 1


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (pd.DataFrame({"job": ["x", "y"]}), ['column "job" of X', "2 of 2", '"x"']),
        (pl.DataFrame({"job": ["x", "y"]}), ['column "job" of X', "2 of 2", '"x"']),
        (pd.DataFrame({"job": [1, "y"]}), ['column "job" of X', "1 of 2", '"y"']),
        (
            pd.DataFrame({"job": pd.Categorical([1, 2])}),
            ['column "job" of X', "categories", "2 of 2", "example 1"],
        ),
        (np.array([["x"], ["2"]]), ["column 0 of X", "2 of 2", '"x"']),
        ([[1.0, "x"], [2.0, "y"]], ["column 1 of X", "2 of 2"]),
    ],
)
def test_text_among_numbers_is_refused_with_a_cure(X, words):
    with pytest.raises(ValueError, match="numbers are expected") as error:
        table = open_table(X)
        table.numbers(range(table.shape[1]))
    for word in [*words, "one-hot", "tasks="]:
        assert word in str(error.value)


@pytest.mark.parametrize("values", [["a", "b"], np.array(["2020", "2021"], "M8[Y]")])
def test_text_that_is_no_column_of_x_gets_other_advice(values):
    with pytest.raises(ValueError, match="turn y into numbers") as error:
        column_numbers(np.array(values), "y")
    assert "tasks=" not in str(error.value)


@pytest.mark.parametrize("frame", FRAMES)
def test_dates_are_not_numbers(frame):
    X = frame({"day": [datetime(2020, 1, 1), datetime(2020, 1, 2)]})
    with pytest.raises(ValueError, match=r'column "day" of X has dtype datetime64'):
        open_table(X).numbers((0,))


@pytest.mark.parametrize(
    ("X", "error", "sentence"),
    [
        (csr_array(np.eye(2)), TypeError, r"X is a sparse csr_array.*X\.toarray\(\)"),
        (np.eye(2) * 1j, ValueError, "Complex data not supported: X has dtype complex"),
        (pl.LazyFrame({"a": [1]}), TypeError, r"X is a lazy frame.*X\.collect\(\)"),
        (np.ones(3), ValueError, "Reshape your data"),
        (np.ones((2, 2, 2)), ValueError, "dim 3"),
        (np.ones((0, 2)), ValueError, r"0 sample\(s\)"),
        (pd.DataFrame({"a": []}), ValueError, r"0 sample\(s\)"),
        (pd.DataFrame(index=[0, 1]), ValueError, r"0 feature\(s\)"),
    ],
)
def test_what_is_no_dense_real_table_is_refused(X, error, sentence):
    with pytest.raises(error, match=sentence):
        open_table(X)


def test_a_complex_column_is_refused():
    with pytest.raises(ValueError, match="y has dtype complex128"):
        column_numbers(np.array([1j]), "y")


# Labels


@pytest.mark.parametrize(
    ("values", "codes", "labels"),
    [
        (np.array([5, 3, 5]), [1, 0, 1], [3, 5]),
        (np.array([10**15, -(10**15)]), [1, 0], [-(10**15), 10**15]),
        (np.array([-100, 100, -100], dtype=np.int8), [0, 1, 0], [-100, 100]),
        (np.array([2**63, 2**63 + 2**11], dtype=np.uint64), [0, 1], None),
        (np.array([1.0, 0.0]), [1, 0], [0, 1]),
        (np.array([0.5, -0.5, 0.5]), [1, 0, 1], [-0.5, 0.5]),
        (np.array([True, False]), [1, 0], [False, True]),
        (np.array(["b", "a"]), [1, 0], ["a", "b"]),
        (np.array(["b", "a"], dtype=object), [1, 0], ["a", "b"]),
        (["01001", "1001"], [0, 1], ["01001", "1001"]),
        ([2, "10"], [1, 0], ["10", 2]),
        ([1, 2.5], [0, 1], [1, 2.5]),
        (np.array(["2020-02", "2020-01"], dtype="M8[M]"), [1, 0], None),
        (pd.Series(["b", "a"], dtype="category"), [1, 0], ["a", "b"]),
        (pd.Series([7, 3], dtype="category"), [1, 0], [3, 7]),
        (pd.Series(["b", "a"]), [1, 0], ["a", "b"]),
        (pd.Series([True, False], dtype="boolean"), [1, 0], [False, True]),
        (pl.Series(["b", "a"], dtype=pl.Categorical), [1, 0], ["a", "b"]),
        (pl.Series(["b", "a"], dtype=pl.Enum(["z", "b", "a"])), [1, 0], ["a", "b"]),
        (pl.Series([3, 1]), [1, 0], [1, 3]),
    ],
)
def test_labels_are_coded_in_sorted_order(values, codes, labels):
    found = labels_of(values)
    assert found[0] == codes
    assert labels is None or found[1] == labels


@pytest.mark.parametrize(
    "values",
    [np.array([7, 5, 7]), np.array([7.0, 5.0, 7.0]), np.array(["7", "5", "7"])],
)
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


def test_unused_categories_are_no_labels():
    values = pd.Series(pd.Categorical(["b", "a"], categories=["a", "b", "c"]))
    assert labels_of(values)[1] == ["a", "b"]


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


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from("abc")), min_size=1))
def test_codes_and_labels_bring_back_the_values(pairs):
    codes, labels = labels_of([list(pair) for pair in pairs])
    assert [labels[code] for code in codes] == pairs
    assert labels == sorted(set(pairs))


@given(st.lists(st.integers(-50, 50), min_size=1))
def test_integers_are_coded_as_numpy_does(values):
    unique, inverse = np.unique(values, return_inverse=True)
    assert labels_of(np.array(values)) == (inverse.tolist(), unique.tolist())


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, np.nan]),
        ["a", None],
        ["a", float("nan")],
        pd.Series(["a", None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([True, None], dtype="boolean"),
        pd.Series(["a", None], dtype="category"),
        pl.Series(["a", None]),
        pl.Series([1, None]),
        pl.Series([True, None]),
        np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    ],
)
def test_missing_labels_are_refused_with_their_count(values):
    with pytest.raises(ValueError, match=r"tasks has 1 missing label .* every row"):
        labels_of(values)


@pytest.mark.parametrize("known", [labels_of, lambda v: find_known(v, "tasks")])
def test_infinite_labels_have_a_sentence_of_their_own(known):
    with pytest.raises(ValueError, match="tasks has 1 infinite label in 2 rows"):
        known(np.array([1.0, np.inf]))


def test_unhashable_labels_are_refused():
    values = np.empty(2, dtype=object)
    values[:] = [{}, {}]
    with pytest.raises(TypeError, match="tasks must hold plain labels"):
        labels_of(values)


@pytest.mark.parametrize("values", [3, np.zeros((2, 2, 2))])
def test_labels_need_one_value_a_row(values):
    with pytest.raises(ValueError, match="tasks must hold one value a row, got shape"):
        as_columns(values, "tasks")


def test_encode_finds_known_labels_of_any_number_type():
    known = np.array([3, 5, 9])
    for values in (
        [9, 3],
        [9.0, 3.0],
        np.array([9, 3], dtype=object),
        pl.Series([9, 3]),
    ):
        codes, others = encode(as_columns(values, "tasks"), known, "tasks")
        assert (codes.tolist(), others) == ([2, 0], [])


def test_encode_tells_unknown_labels():
    codes, others = encode([np.array(["x", "a"])], np.array(["a", "b"]), "tasks")
    assert (codes.tolist(), others) == ([-1, 0], ["x"])
    assert encode([np.array([1])], np.array(["1"]), "tasks")[1] == [1]


def test_label_arrays_keep_the_type():
    assert label_array(["a"]).dtype.kind == "O"  # as wide as each is, not the widest
    assert label_array([True]).dtype.kind == "b"
    assert label_array([1]).dtype.kind == "i"
    assert label_array([1, "a"]).dtype.kind == "O"


@pytest.mark.parametrize("kind", [list, np.array])
def test_text_keeps_its_last_letter_whatever_it_is(kind):
    labels = ["a", "a\0", "a"]
    given = kind(labels) if kind is list else np.array(labels, object)
    codes, found = find_labels(as_columns(given, "tasks"), "tasks")
    assert codes.tolist() == [0, 1, 0] and found.tolist() == ["a", "a\0"]


def test_long_lists_are_cut():
    assert listed(list(range(7))) == "0, 1, 2, 3, 4 and 2 more"


def test_known_labels_of_what_cannot_be_a_label():
    column = np.empty(2, object)
    column[:] = [["a"], ["b"]]
    with pytest.raises(TypeError, match="plain labels"):
        find_known(column, "groups")


def test_known_labels_keep_whole_numbers_whole():
    codes, labels = find_known(np.array([2.0, np.nan, 1.0]), "groups")
    assert codes.tolist() == [1, -1, 0] and labels.tolist() == [1, 2]
    assert labels.dtype.kind == "i"


@pytest.mark.parametrize("values", [[1, 0, 2], [1.0, 0.0, 2.0], ["b", "a", "c"]])
def test_what_a_mask_hides_is_missing(values):
    masked = np.ma.array(values, mask=[False, True, False])
    (column,) = as_columns(masked, "groups")
    codes, labels = find_known(column, "groups")
    assert codes.tolist() == [0, -1, 1] and labels.tolist() == [values[0], values[2]]
    table = open_table(masked[:, None])
    assert find_known(table.column(0), "groups")[0].tolist() == [0, -1, 1]
    assert np.ma.is_masked(masked), "the array is not modified"
    (column,) = as_columns(np.ma.array(values), "groups")
    assert column.tolist() == values and type(column) is np.ndarray


@pytest.mark.parametrize("shape", [(3,), (3, 1)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
def test_numbers_that_a_mask_hides_are_not_read(shape):
    hidden = np.ma.array([[1.0], [2.0], [3.0]], mask=[[False], [True], [False]])
    with pytest.raises(ValueError, match="y must be finite, but has 1 NaN"):
        read_target(hidden.reshape(shape))
    assert np.isnan(open_table(hidden).numbers([0])).ravel().tolist() == [0, 1, 0]
