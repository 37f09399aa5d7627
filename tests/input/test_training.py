"""Rows to fit and new rows, as plain arrays."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankfair.input.frames import open_table
from rankfair.input.training import (
    Columns,
    read_new,
    read_training,
    refuse_unseen_tasks,
)
from refusals import sentence

rng = np.random.default_rng(0)
N = 12
NUMBERS = rng.normal(size=(N, 2))
SCHOOL = np.array(["b", "a", "c"] * 4)
SEX = np.array(["F", "M"] * 6)
Y = rng.normal(size=N)
COLUMNS = {"u": NUMBERS[:, 0], "school": SCHOOL, "sex": SEX, "v": NUMBERS[:, 1]}
FRAME = pd.DataFrame(COLUMNS)
KINDS = {
    "pandas": FRAME,
    "polars": pl.DataFrame(COLUMNS),
    "category": FRAME.astype({"school": "category", "sex": "category"}),
}
BOTH = Columns(tasks="school", sensitive_features="sex")
NONE = Columns()


# Training rows


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_frame_are_the_same(kind):
    rows = read_training(KINDS[kind], Y, BOTH)
    assert rows.layout.names == ("u", "sex", "v")
    expected = np.column_stack([NUMBERS[:, 0], SEX == "M", NUMBERS[:, 1]])
    np.testing.assert_array_equal(rows.X, expected)
    np.testing.assert_array_equal(rows.layout.tasks[rows.codes], SCHOOL)
    np.testing.assert_array_equal(rows.in_a, SEX == "M")
    assert rows.layout.groups.tolist() == ["F", "M"]
    assert rows.weights is None
    X, codes, others = read_new(open_table(KINDS[kind]), None, rows.layout)
    np.testing.assert_array_equal(X, rows.X)
    np.testing.assert_array_equal(codes, rows.codes)
    assert others == []


def test_groups_are_no_predictor_of_a_blind_model_or_as_an_array():
    blind = read_training(FRAME, Y, Columns("school", "sex", blind=True))
    assert blind.layout.names == ("u", "v") and not blind.layout.protected
    array = read_training(NUMBERS, Y, NONE, sensitive_features=SEX, tasks=SCHOOL)
    assert array.layout.task_columns == ()
    for rows in (blind, array):
        np.testing.assert_array_equal(rows.X, NUMBERS)
        np.testing.assert_array_equal(rows.in_a, SEX == "M")


TWO = Columns(sensitive_features=["school", "sex"])


@pytest.mark.parametrize(
    ("X", "named", "given", "words"),
    [
        (NUMBERS, NONE, {"y": Y[:-1]}, "y has 11 values, but there are 12 rows"),
        (NUMBERS, NONE, {"sensitive_features": SEX[1:]}, "features has 11 values"),
        (FRAME, TWO, {}, '(column "school", "sex") has 2 columns: one feature is'),
        (FRAME, Columns(sensitive_features="school"), {}, '"c"): two are expected'),
        (FRAME, BOTH, {"tasks": SEX}, 'twice: in the constructor (column "school" of'),
        (FRAME, BOTH, {"sensitive_features": SEX}, "sensitive_features was given twi"),
        (FRAME.assign(v=Y), BOTH, {}, 'X (column "v") equals the target in all 12'),
        (FRAME[["sex"]], Columns("sex"), {}, "X has no predictor left"),
        (
            NUMBERS,
            NONE,
            {"sensitive_features": ["F"] * N},
            'sensitive_features has one group only ("F", 12 rows)',
        ),
        (
            NUMBERS,
            NONE,
            {"sensitive_features": SEX, "sample_weight": SEX == "M"},
            'sample_weight is zero for all 6 rows of group "F" in sensitive_features',
        ),
    ],
)
def test_rows_that_are_refused(X, named, given, words):
    given = {"y": Y, **given}
    assert words in sentence(read_training, X, named=named, **given)


@pytest.mark.parametrize(
    ("column", "bad", "words"),
    [
        ("v", np.inf, 'X must be finite, but has 2 inf in column "v"'),
        ("school", None, 'tasks (column "school") has 2 missing'),
        ("sex", None, 'sensitive_features (column "sex") has 2 missing'),
    ],
)
def test_missing_values_name_the_column_and_their_number(column, bad, words):
    columns = {name: np.asarray(v).tolist() for name, v in COLUMNS.items()}
    columns[column][3] = columns[column][5] = bad
    assert words in sentence(read_training, pd.DataFrame(columns), Y, BOTH)


def test_rows_of_weight_zero_are_absent_with_their_task():
    weights = np.where(SCHOOL == "b", 0.0, 2.0)
    given = {"tasks": SCHOOL, "sensitive_features": SEX}
    rows = read_training(NUMBERS, Y, NONE, **given, sample_weight=weights)
    kept = SCHOOL != "b"
    given = {name: labels[kept] for name, labels in given.items()}
    same = read_training(NUMBERS[kept], Y[kept], NONE, **given)
    for name in ("X", "y", "codes", "in_a"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(same, name))
    assert rows.layout.tasks.tolist() == ["a", "c"]
    assert rows.weights.tolist() == [2.0] * 8


def test_nothing_is_written_to_inputs():
    X, y, w = NUMBERS.copy(), Y.copy(), np.ones(N)
    for array in (X, y, w):
        array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read_training(X, y, NONE, tasks=SCHOOL, sample_weight=w)
    assert np.array_equal(rows.X, NUMBERS)
    assert np.array_equal(rows.y, Y)


# New rows


def layout(X=FRAME, named=BOTH, **passed):
    return read_training(X, Y, named, **passed).layout


def test_unseen_tasks_are_listed_up_to_five():
    X, known = FRAME.assign(school=[f"s{i}" for i in range(N)]), layout()
    _, codes, others = read_new(open_table(X), None, known)
    words = sentence(refuse_unseen_tasks, others, codes, known)
    assert '"s0", "s1", "s10", "s11", "s2" and 7 more (12 rows)' in words
    assert 'unseen="shared"' in words
    refuse_unseen_tasks([], codes, known)


@pytest.mark.parametrize(("fitted", "new"), [(int, str), (str, int)])
def test_retyped_tasks_are_told_from_unseen_ones(fitted, new):
    numbers = np.arange(N) % 3 + 101
    known = layout(NUMBERS, NONE, tasks=numbers.astype(fitted))
    words = sentence(read_new, open_table(NUMBERS), numbers.astype(new), known)
    for part in ("tasks has labels of another type than in training", "3 labels diff"):
        assert part in words
    for part in (f".astype({fitted.__name__})", '"101" (str)', "101 (int)"):
        assert part in words
    one = sentence(read_new, open_table(NUMBERS), np.full(N, new(101)), known)
    assert "1 label differs so" in one


def test_tasks_come_the_way_they_came_in_training():
    table = open_table(NUMBERS)
    with_array = layout(NUMBERS, NONE, tasks=SCHOOL)
    assert "tasks is missing" in sentence(read_new, table, None, with_array)
    without = layout(NUMBERS, NONE)
    assert "fitted without tasks" in sentence(read_new, table, SCHOOL, without)
    assert "given twice" in sentence(read_new, open_table(FRAME), SCHOOL, layout())
    assert "tasks has 3 values" in sentence(read_new, table, SCHOOL[:3], with_array)
