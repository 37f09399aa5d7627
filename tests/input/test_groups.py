"""Sensitive features: columns, labels, bins, combinations, unknown groups."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankfair.input.frames import open_table
from rankfair.input.groups import (
    SensitiveGroups,
    Source,
    crossed,
    group_labels,
    passed_columns,
    read_balanced,
    read_features,
    resolve_columns,
)
from refusals import sentence

SEX = np.array([*"FMMFMFFM"])
RACE = np.array(["a", "b", "c", "a", "b", "c", "a", "b"])


def source(*columns, names=("sex", "race")):
    return Source("sensitive_features", list(columns), (), names[: len(columns)])


def refusal(*args, **kwargs):
    with pytest.raises(ValueError) as caught:
        read_balanced(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    "labels",
    [
        [1.0, np.nan, 0.0],
        [1, None, 0],
        ["b", None, "a"],
        pd.Series(["b", pd.NA, "a"], dtype="string"),
        pd.Series(["b", None, "a"], dtype="category"),
        pd.Series([1, None, 0], dtype="Int64"),
        np.array(["2020-01-02", "NaT", "2020-01-01"], dtype="M8[D]"),
        pl.Series([1.0, float("nan"), 0.0]),
    ],
    ids=str,
)
def test_what_is_missing_is_of_no_group(labels):
    columns, names = passed_columns(labels, "sensitive_features")
    (groups,) = read_features(Source("sensitive_features", columns, (), names))
    assert groups.codes.tolist() == [1, -1, 0]
    assert groups.known.tolist() == [True, False, True]
    assert groups.n_unknown == 1
    assert groups.in_a.tolist() == [True, False, False]
    assert groups.sizes().tolist() == [1, 1]


def test_a_combination_needs_all_its_labels_and_some_weight():
    race = RACE.astype(object)
    race[1] = None
    weights = np.where((SEX == "F") & (RACE == "c"), 0.0, 1.0)
    found, (cells,) = read_balanced(source(SEX, race), weights, intersect=True)
    assert [groups.name for groups in found] == ["sex", "race"]
    assert cells.codes[1] == -1
    assert "F × c" not in cells.labels.tolist()


def test_too_many_combinations_and_none_at_all():
    many = [np.arange(90) % 9, np.arange(90) // 9]
    words = refusal(source(*(each.astype(str) for each in many)), intersect=True)
    assert 'has 90 combinations of sex × race ("0 × 0"' in words
    assert "at most 60 are expected" in words
    sex = np.where(np.arange(8) < 4, SEX.astype(object), None)
    race = np.where(np.arange(8) < 4, None, RACE.astype(object))
    words = refusal(source(sex, race), intersect=True)
    assert "has no row with a known label in every one of sex × race" in words


def test_unknown_everywhere():
    words = refusal(source(SEX, np.array([None] * 8)))
    assert words == (
        'sensitive_features ("race") is unknown in all 8 rows: there is nothing to '
        "compare. Give the groups of some."
    )
    words = refusal(source(np.array([None, "F", None, "F"])))
    assert 'one group only ("F", 2 rows)' in words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.arange(30), "holds 30 distinct numbers (0, 1, 2, 3, 4 and 25 more)"),
        (np.arange(15) / 2, "holds 15 distinct numbers"),
        (np.array([*range(30), None], dtype=object), "holds 30 distinct numbers"),
    ],
    ids=str,
)
def test_a_quantity_is_refused_with_advice(values, words):
    found = refusal(source(values))
    assert f"{words}" in found
    assert "a few classes first, as bins=4 of a model does, or turn labels" in found
    assert len(read_features(source(values), bins=3)[0].labels) == 3


@settings(max_examples=20)
@given(
    st.lists(st.integers(-40, 40) | st.floats(-9, 9), min_size=4, max_size=60),
    st.integers(2, 6),
    st.booleans(),
)
def test_bins_are_quantiles_in_order(values, bins, weighted):
    values = np.array(values, dtype=float)
    if len(set(values.tolist())) <= bins:
        return
    weights = np.arange(len(values)) % 3 + 1.0 if weighted else None
    (groups,) = read_features(source(values), weights, bins)
    order = np.argsort(values, kind="stable")
    assert (np.diff(groups.codes[order]) >= 0).all()
    starts = groups.edges[:-1]
    np.testing.assert_array_equal(
        groups.codes, np.searchsorted(starts, values, "right") - 1
    )
    assert 2 <= len(groups.labels) == len(starts) <= bins
    assert len(set(groups.labels.tolist())) == len(starts)
    repeated = values if weights is None else values.repeat(weights.astype(int))
    (same,) = read_features(source(repeated), None, bins)
    np.testing.assert_array_equal(same.edges, groups.edges)


def test_bins_need_numbers_somewhere():
    words = refusal(source(SEX), bins=2)
    assert "bins=2 cuts numbers into groups, but sensitive_features holds none" in words
    sex, age = read_features(source(SEX, np.arange(8.0) + 0.5), None, 2)
    assert sex.edges is None
    assert age.labels.tolist() == ["[0.5, 4.5)", "[4.5, 7.5]"]
    binary = read_features(source(np.array([0, 1] * 4)), None, 2)[0]
    assert binary.labels.tolist() == [0, 1]


def test_labels_of_new_rows_are_read_as_in_training():
    edges = {"age": np.array([0.0, 5.0, 10.0])}
    new = source(np.array([*"FM", None]), np.array([-3.0, 7.0, 1.0]))
    new = Source(new.argument, new.columns, (), ("sex", "age"))
    found = group_labels(new, edges, intersect=False)
    assert found["sex"].tolist() == ["F", "M", None]
    assert found["age"].tolist() == ["[0, 5)", "[5, 10]", "[0, 5)"]
    (cells,) = group_labels(new, edges, intersect=True).values()
    assert cells.tolist() == ["F × [0, 5)", "M × [5, 10]", None]
    text = Source("sensitive_features", [SEX], (), ("age",))
    with pytest.raises(ValueError, match=r"holds text where numbers are expected"):
        group_labels(text, edges, intersect=False)


def test_a_combination_is_called_the_same_whatever_other_rows_there_are():
    dose = np.array([0.5, 1.0, 2.0, np.nan, 1.0, 0.5, 2.0, 1.0])
    (cells,) = group_labels(source(SEX, dose), {}, intersect=True).values()
    for i in range(len(SEX)):
        alone = source(SEX[i : i + 1], dose[i : i + 1])
        (cell,) = group_labels(alone, {}, intersect=True).values()
        assert cell.tolist() == [cells[i]]


def test_combinations_of_many_groups_need_no_table_of_all_that_could_be():
    many = [SensitiveGroups(np.arange(50), np.arange(50), f"a{j}") for j in range(6)]
    both = crossed(many, np.arange(50.0))  # the first row weighs nothing
    assert both.codes.tolist() == [-1, *range(49)]
    assert both.labels.tolist() == [" × ".join([str(i)] * 6) for i in range(1, 50)]


def test_numbers_and_text_that_looks_like_them_stay_apart():
    mixed = np.array([3, "3", 3, "3"], dtype=object)
    both = source(np.array(["F", "F", "M", "M"]), mixed)
    _, (cells,) = read_balanced(both, intersect=True)
    assert len({*cells.labels.tolist()}) == 4
    assert '"F" × "3"' in cells.labels.tolist()


FRAME = pd.DataFrame({"u": [0.5, 1.5], "school": ["b", "a"], "sex": ["F", "M"]})
TABLE = open_table(FRAME)


def test_columns_are_found_by_name_or_position():
    for wanted, found in (("school", (1,)), (-1, (2,)), (["school", 2], (1, 2))):
        assert resolve_columns("tasks", wanted, TABLE) == found


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("School", 'tasks="School" is no column of X. Did you mean "school"?'),
        ("zzzz", 'tasks="zzzz" is no column of X. It has "u", "school", "sex".'),
        (3, "tasks=3 is no column of X. It has 3 columns (0 to 2)."),
        (-4, "tasks=-4 is no column of X"),
        (True, "tasks in the constructor names columns of X"),
        ([], "tasks in the constructor names columns of X"),
        (FRAME["sex"], "Labels of the rows go to fit(X, y, tasks=...)"),
        (["school", 1], "tasks names a column twice"),
    ],
)
def test_columns_that_are_not_there_are_refused(wanted, words):
    assert words in sentence(resolve_columns, "tasks", wanted, TABLE)
    nameless = sentence(resolve_columns, "tasks", "school", open_table(np.eye(2)))
    assert "X is an array without column names" in nameless


def test_columns_that_are_passed_have_names():
    labels = FRAME[["sex", "school"]]
    columns = labels.to_dict("list")
    for passed in (labels, pl.DataFrame(columns), columns):
        assert passed_columns(passed, "z")[1] == ("sex", "school")
    assert passed_columns(labels.to_numpy(), "z")[1] == ("group 1", "group 2")
    assert passed_columns(pd.DataFrame(labels.to_numpy()), "z")[1] == ("0", "1")
    assert passed_columns(pd.Series(["F"]), "z")[1] == ("group",)
    assert passed_columns(pd.Series(["F"], name="sex"), "z")[1] == ("sex",)
    assert "z is an empty dict" in sentence(passed_columns, {}, "z")
    words = sentence(passed_columns, {"sex": labels}, "z")
    assert 'z ("sex") has 2 columns: one is expected' in words
