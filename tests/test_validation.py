import copy
import math
import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import DataConversionWarning

from rankfair.input import columns as records
from rankfair.input.columns import Columns, group_mask, resolve_columns
from rankfair.input.frames import open_table
from rankfair.input.new_rows import UnseenError, read_new, refuse_unseen
from rankfair.input.settings import check_choice, check_count, check_flag, check_number
from rankfair.input.training import read_target, read_training, read_weights
from refusals import sentence

rng = np.random.default_rng(0)
N = 12
NUMBERS = rng.normal(size=(N, 2))
SCHOOL = np.array(["b", "a", "c"] * 4)
SEX = np.array(["F", "M"] * 6)
Y = rng.normal(size=N)


def as_dict():
    return {"u": NUMBERS[:, 0], "school": SCHOOL, "sex": SEX, "v": NUMBERS[:, 1]}


def as_objects():
    return np.column_stack([np.asarray(v, dtype=object) for v in as_dict().values()])


KINDS = {
    "pandas": lambda: pd.DataFrame(as_dict()),
    "polars": lambda: pl.DataFrame(as_dict()),
    "category": lambda: pd.DataFrame(as_dict()).astype(
        {"school": "category", "sex": "category"}
    ),
}
BOTH = Columns(tasks="school", sensitive_features="sex")


# Settings


def test_unknown_choices_list_the_valid_ones_and_the_nearest():
    assert sentence(check_choice, "penalty", "rigde", ("task", "ridge")) == (
        'penalty must be one of "task", "ridge"; got "rigde". Did you mean "ridge"?'
    )
    assert sentence(check_choice, "side", 3, ("both",)).endswith("got 3.")
    assert "Did you mean" not in sentence(check_choice, "side", "xyz", ("both",))
    assert "got a ndarray." in sentence(check_choice, "side", np.zeros(99), ("both",))


@pytest.mark.parametrize("value", [-0.1, 0.6, math.nan, math.inf, "0.1", None, True])
def test_epsilon_outside_its_range_is_refused(value):
    words = sentence(check_number, "epsilon", value, 0.0, 0.5)
    assert words.startswith("epsilon must be a number in [0, 0.5]; got ")


def test_numbers_of_any_type_pass():
    assert check_number("beta", np.float32(0.5), 0.0) == 0.5
    assert "beta must be a number ≥ 0" in sentence(check_number, "beta", math.inf, 0.0)
    assert check_count("max_iter", np.int64(3)) == 3
    assert check_flag("blind", np.True_) is True


@pytest.mark.parametrize("value", [0, 1.5, True, "3"])
def test_counts_are_whole_and_positive(value):
    assert "max_iter must be a whole number ≥ 1" in sentence(
        check_count, "max_iter", value
    )


def test_flags_are_true_or_false():
    assert "blind must be True or False; got 1." in sentence(check_flag, "blind", 1)


# Columns


def test_columns_are_found_by_name_or_position():
    table = open_table(KINDS["pandas"]())
    assert resolve_columns("tasks", "school", table) == (1,)
    assert resolve_columns("tasks", -1, table) == (3,)
    assert resolve_columns("tasks", ["school", 2], table) == (1, 2)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("School", 'tasks="School" is no column of X. Did you mean "school"?'),
        ("zzzz", 'tasks="zzzz" is no column of X. It has "u", "school", "sex", "v".'),
        (4, "tasks=4 is no column of X, which has 4 columns (0 to 3)."),
        (-5, "tasks=-5 is no column of X"),
        (True, "tasks in the constructor names columns of X"),
        ([], "tasks in the constructor names columns of X"),
        (SCHOOL, "Labels of the rows go to fit(X, y, tasks=...)"),
        (["school", 1], "tasks names a column twice"),
    ],
)
def test_columns_that_are_not_there_are_refused(wanted, words):
    table = open_table(KINDS["pandas"]())
    assert words in sentence(resolve_columns, "tasks", wanted, table)


def test_names_need_a_frame():
    assert "X is an array without column names" in sentence(
        resolve_columns, "tasks", "school", open_table(NUMBERS)
    )


def test_a_name_of_two_columns_is_refused():
    table = open_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    assert 'tasks="a" names 2 columns' in sentence(resolve_columns, "tasks", "a", table)


# Training rows


def test_columns_of_equal_names_are_refused_before_the_fit(monkeypatch):
    frame = pd.DataFrame([[1.0, 2.0, 0], [3.0, 5.0, 1]], columns=["a", "a", "z"])

    def as_scikit_learn_since_1_9(probe, X, **_):
        nw.from_native(X)

    monkeypatch.setattr(records, "validate_data", as_scikit_learn_since_1_9)
    assert 'X has several columns called "a"' in sentence(
        read_training, frame, [1.0, 2.0], Columns(sensitive_features="z")
    )


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_frame_are_the_same(kind):
    rows = read_training(KINDS[kind](), Y, BOTH)
    assert rows.layout.names == ("u", "sex", "v")
    expected = np.column_stack([NUMBERS[:, 0], SEX == "M", NUMBERS[:, 1]])
    np.testing.assert_array_equal(rows.X, expected)
    np.testing.assert_array_equal(rows.layout.tasks[rows.codes], SCHOOL)
    np.testing.assert_array_equal(rows.in_a, SEX == "M")
    assert rows.layout.groups.tolist() == ["F", "M"]
    assert rows.weights is None


def test_positions_in_an_object_array_do_as_well():
    rows = read_training(as_objects(), Y, Columns(tasks=1, sensitive_features=2))
    np.testing.assert_array_equal(rows.X, read_training(KINDS["pandas"](), Y, BOTH).X)
    assert rows.layout.names == ("x0", "x2", "x3")


def test_blind_leaves_the_protected_column_out():
    rows = read_training(KINDS["pandas"](), Y, Columns("school", "sex", blind=True))
    assert rows.layout.names == ("u", "v")
    assert rows.layout.group_column is None
    np.testing.assert_array_equal(rows.in_a, SEX == "M")


def test_groups_given_as_an_array_are_no_predictor():
    rows = read_training(NUMBERS, Y, Columns(), sensitive_features=SEX, tasks=SCHOOL)
    np.testing.assert_array_equal(rows.X, NUMBERS)
    np.testing.assert_array_equal(rows.in_a, SEX == "M")
    assert rows.layout.task_columns == ()


def test_a_protected_column_of_zeros_and_ones_needs_no_copy():
    X = np.column_stack([NUMBERS, SEX == "M"])
    rows = read_training(X, Y, Columns(sensitive_features=2))
    assert np.shares_memory(rows.X, X)
    two = np.column_stack([NUMBERS, np.where(SEX == "M", 7.0, 3.0)])
    rows = read_training(two, Y, Columns(sensitive_features=2))
    np.testing.assert_array_equal(rows.X, X)
    assert two[:, 2].max() == 7.0


def test_several_task_columns_make_tuples():
    X = KINDS["polars"]()
    rows = read_training(X, Y, Columns(["school", "sex"]))
    assert rows.layout.tasks[0] == ("a", "F")
    assert rows.layout.names == ("u", "v")
    given_as_array = read_training(NUMBERS, Y, Columns(), tasks=X[["school", "sex"]])
    np.testing.assert_array_equal(rows.codes, given_as_array.codes)


def test_without_tasks_there_is_one():
    rows = read_training(NUMBERS, Y, Columns())
    assert rows.codes.tolist() == [0] * N
    assert rows.in_a is None


@pytest.mark.parametrize(
    "labels",
    [
        [True, False, True, False],
        [1, 0, 1, 0],
        [1.0, 0.0, 1.0, 0.0],
        ["b", "a", "b", "a"],
        pd.Series(["b", "a", "b", "a"], dtype="category"),
        ["1", 0, "1", 0],
        np.array([[1], [0], [1], [0]]),
    ],
)
def test_the_group_whose_label_sorts_last_is_a(labels):
    in_a, known = group_mask(labels, 4, None)
    assert in_a.tolist() == [True, False, True, False]
    assert known is None


def test_one_group_only():
    X = np.ones((812, 1))
    words = sentence(
        read_training, X, X[:, 0], Columns(), sensitive_features=["F"] * 812
    )
    assert words == (
        'sensitive_features has one group only ("F", 812 rows): '
        "there is nothing to balance"
    )


def test_three_groups_are_refused_where_two_are_compared():
    words = sentence(group_mask, ["a", "b", "c"], 3, None)
    assert 'has 3 groups ("a", "b", "c"): two are expected' in words
    assert "Compare one with the rest" in words


def test_several_protected_attributes_are_refused_where_one_is_expected():
    named = Columns(sensitive_features=["school", "sex"])
    words = sentence(read_training, KINDS["pandas"](), Y, named)
    assert '(column "school", "sex" of X) has 2 columns' in words
    assert "one protected attribute is expected. RankFairRegressor constraints" in words


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        ({"y": Y[:-1]}, "y has 11 values, but there are 12 rows"),
        ({"tasks": SCHOOL[:-1]}, "tasks has 11 values"),
        ({"sensitive_features": SEX[:-2]}, "sensitive_features has 10 values"),
        ({"sample_weight": np.ones(13)}, "sample_weight has 13 values"),
    ],
)
def test_unequal_lengths(passed, words):
    passed = {"y": Y, **passed}
    assert words in sentence(read_training, NUMBERS, named=Columns(), **passed)


@pytest.mark.parametrize("argument", ["tasks", "sensitive_features"])
def test_labels_given_twice_name_both_places(argument):
    named = Columns(**{argument: "sex"})
    words = sentence(read_training, KINDS["pandas"](), Y, named, **{argument: SEX})
    assert (
        f'{argument} was given twice: in the constructor (column "sex" of X)' in words
    )
    assert "array" in words


@pytest.mark.parametrize(
    ("column", "bad", "words"),
    [
        ("u", np.nan, 'X must be finite, but has 2 NaN in column "u"'),
        ("v", np.inf, 'X must be finite, but has 2 inf in column "v"'),
        ("school", None, 'tasks (column "school" of X) has 2 missing'),
        ("sex", None, 'sensitive_features (column "sex" of X) has 2 missing'),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_name_the_column_and_their_number(kind, column, bad, words):
    columns = {name: np.asarray(v).tolist() for name, v in as_dict().items()}
    columns[column][3] = columns[column][5] = bad
    X = pl.DataFrame(columns) if kind == "polars" else pd.DataFrame(columns)
    if kind == "category":
        X = X.astype({"school": "category", "sex": "category"})
    assert words in sentence(read_training, X, Y, BOTH)


def test_missing_values_in_many_columns_are_not_all_listed():
    X = np.full((3, 7), np.nan)
    words = sentence(read_training, X, [1.0, 2.0, 3.0], Columns())
    assert 'column "x4" and 2 more columns' in words
    X[0, 0] = np.inf
    assert "2 NaN and 1 inf" in sentence(read_training, X, [1.0, 2.0, 3.0], Columns())


def test_values_whose_squares_overflow_are_finite():
    X = np.array([[1e300], [-1e300], [1e200]])
    assert read_training(X, [1e300, 2e300, 0.0], Columns()).X is not None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_targets_and_weights(bad):
    assert "y must be finite, but has 1" in sentence(read_target, [1.0, bad])
    words = sentence(read_weights, [1.0, bad], 2)
    assert "sample_weight must be finite, but has 1" in words


def test_a_frame_whose_column_is_the_target():
    X = KINDS["pandas"]().assign(pay=Y)
    words = sentence(read_training, X, Y, BOTH)
    assert 'column "pay" of X equals y in all 12 rows' in words
    assert "the target is among the features" in words


def test_an_array_whose_column_is_the_target():
    X = np.column_stack([NUMBERS, Y])
    assert 'column "x2" of X equals y' in sentence(read_training, X, Y, Columns())


def test_a_toy_and_a_constant_target_may_equal_a_column():
    almost = Y.copy()
    almost[-1] += 1.0
    for X, y in (
        (np.array([[1.0], [2.0]]), [1.0, 2.0]),
        (np.ones((20, 2)), np.ones(20)),
        (np.column_stack([NUMBERS, almost]), Y),
    ):
        assert np.array_equal(read_training(X, y, Columns()).X, X)


def test_no_predictor_left():
    assert "no predictor left" in sentence(
        read_training, [[1], [2]], [1.0, 2.0], Columns(0)
    )


# Targets and weights


@pytest.mark.parametrize(
    "y",
    [
        [1, 2.5],
        (1, 2.5),
        np.array([1, 2.5], dtype=np.float32),
        np.array([1, 2.5], dtype=object),
        np.array([1, 0, 2.5, 0])[::2],
        pd.Series([1, 2.5], index=["b", "a"]),
        pd.Series([1, 2.5], dtype="Float64"),
        pl.Series([1.0, 2.5]),
    ],
    ids=lambda y: type(y).__name__,
)
def test_targets_of_any_type(y):
    assert read_target(y).tolist() == [1.0, 2.5]


def test_a_target_in_a_column_is_taken_with_scikit_learns_warning():
    for y in (np.ones((3, 1)), pd.DataFrame({"y": [1.0, 1.0, 1.0]})):
        with pytest.warns(DataConversionWarning, match="column-vector y"):
            assert read_target(y).shape == (3,)


@pytest.mark.parametrize(
    ("y", "kind", "words"),
    [
        (None, ValueError, "requires y to be passed, but the target y is None"),
        (np.ones((3, 2)), ValueError, "y should be a 1d array"),
        (["a", "b"], ValueError, "y holds text where numbers are expected (2 of 2"),
        (np.array([1j]), ValueError, "Complex data not supported: y"),
        (csr_array(np.eye(3)), TypeError, "y is sparse"),
        (pd.Series([1, None], dtype="Int64"), ValueError, "has 1 NaN"),
    ],
)
def test_targets_that_are_refused(y, kind, words):
    assert words in sentence(read_target, y, kind=kind)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -2.0, -1.0], "must not be negative; 2 of 3 are, the lowest is -2"),
        ([0.0, 0.0, 0.0], "sample_weight is zero for every row"),
        (np.ones((3, 1)), "sample_weight must be 1D, got shape (3, 1)"),
    ],
)
def test_weights_that_are_refused(weights, words):
    assert words in sentence(read_weights, weights, 3)


def test_one_number_weighs_every_row():
    assert read_weights(2, 3).tolist() == [2.0, 2.0, 2.0]


def test_weights_of_one_are_none():
    assert read_weights(1, 3) is None
    assert read_weights(np.ones(3), 3) is None


def test_a_group_without_weight_is_refused():
    words = sentence(
        read_training,
        NUMBERS,
        Y,
        Columns(),
        sensitive_features=SEX,
        sample_weight=SEX == "M",
    )
    assert 'sample_weight is zero for all 6 rows of group "F"' in words


def test_rows_of_weight_zero_are_absent_with_their_task():
    weights = np.where(SCHOOL == "b", 0.0, 2.0)
    rows = read_training(NUMBERS, Y, Columns(), tasks=SCHOOL, sample_weight=weights)
    kept = SCHOOL != "b"
    same = read_training(NUMBERS[kept], Y[kept], Columns(), tasks=SCHOOL[kept])
    for name in ("X", "y", "codes"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(same, name))
    assert rows.layout.tasks.tolist() == ["a", "c"]
    assert rows.weights.tolist() == [2.0] * 8


def test_groups_follow_the_rows_that_are_kept():
    weights = np.arange(N) > 3
    rows = read_training(
        NUMBERS, Y, Columns(), sensitive_features=SEX, sample_weight=weights
    )
    np.testing.assert_array_equal(rows.in_a, SEX[4:] == "M")


# New rows


def layout(X=None, named=BOTH, **passed):
    return read_training(
        KINDS["pandas"]() if X is None else X, Y, named, **passed
    ).layout


def test_new_rows_are_read_as_training_rows_were():
    for kind in KINDS:
        X, codes, others = read_new(open_table(KINDS[kind]()), None, layout())
        rows = read_training(KINDS["pandas"](), Y, BOTH)
        np.testing.assert_array_equal(X, rows.X)
        np.testing.assert_array_equal(codes, rows.codes)
        assert others == []


def test_new_rows_may_be_of_one_group_only():
    X, _, _ = read_new(open_table(KINDS["pandas"]()[SEX == "F"]), None, layout())
    assert X[:, 1].tolist() == [0.0] * 6


def test_unseen_tasks_are_listed_up_to_five():
    X = KINDS["pandas"]().assign(school=[f"s{i}" for i in range(N)])
    _, codes, others = read_new(open_table(X), None, layout())
    words = sentence(refuse_unseen, others, codes)
    assert '"s0", "s1", "s10", "s11", "s2" and 7 more (12 rows)' in words
    assert 'unseen="shared"' in words
    refuse_unseen([], codes)


def test_what_is_unseen_is_copied_whole():
    """As an error is that a worker sends home."""
    with pytest.raises(UnseenError) as caught:
        refuse_unseen(["w"], np.array([-1, 0, -1]))
    again = copy.deepcopy(caught.value)
    assert str(again) == str(caught.value)
    assert (again.labels, again.column, again.n_rows) == (["w"], None, 2)


@pytest.mark.parametrize(("fitted", "new"), [(int, str), (str, int)])
def test_retyped_tasks_are_told_from_unseen_ones(fitted, new):
    numbers = np.arange(N) % 3 + 101
    known = layout(NUMBERS, Columns(), tasks=numbers.astype(fitted))
    words = sentence(read_new, open_table(NUMBERS), numbers.astype(new), known)
    assert "tasks has labels of another type than in training" in words
    assert f".astype({fitted.__name__})" in words
    assert '"101" (str)' in words
    assert "101 (int)" in words
    assert "3 labels differ so" in words
    one = sentence(read_new, open_table(NUMBERS), np.full(N, new(101)), known)
    assert "1 label differs so" in one


def test_an_unknown_group_is_refused():
    X = KINDS["pandas"]().assign(sex="X")
    words = sentence(read_new, open_table(X), None, layout())
    assert 'sensitive_features (column "sex" of X) has groups not seen' in words
    assert 'training had "F", "M"' in words


def test_an_unknown_group_does_not_matter_to_a_blind_model():
    blind = layout(named=Columns("school", "sex", blind=True))
    X = KINDS["pandas"]().assign(sex="X")
    assert read_new(open_table(X), None, blind)[0].shape == (N, 2)


def test_tasks_come_the_way_they_came_in_training():
    table = open_table(NUMBERS)
    with_array = layout(NUMBERS, Columns(), tasks=SCHOOL)
    assert "tasks is missing" in sentence(read_new, table, None, with_array)
    without = layout(NUMBERS, Columns())
    assert "fitted without tasks" in sentence(read_new, table, SCHOOL, without)
    named = open_table(KINDS["pandas"]())
    assert "given twice" in sentence(read_new, named, SCHOOL, layout())
    assert "tasks has 3 values" in sentence(read_new, table, SCHOOL[:3], with_array)


def test_nothing_is_written_to_inputs():
    X, y, w = NUMBERS.copy(), Y.copy(), np.ones(N)
    for array in (X, y, w):
        array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read_training(X, y, Columns(), tasks=SCHOOL, sample_weight=w)
    assert np.array_equal(rows.X, NUMBERS)
    assert np.array_equal(rows.y, Y)
