import numpy as np
import pandas as pd
import polars as pl
import pytest

from rankfair.input.frames import open_table
from rankfair.input.groups import passed_columns, resolve_columns
from refusals import sentence

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
