import numpy as np
import pytest

from rankfair import audit
from rankfair.cli.audit import audit_files
from rankfair.cli.data import ModelSettings, folds_of, groups_of, with_counted_groups
from rankfair.cli.errors import NotEstimableError
from rankfair.cli.fit import fit_files
from rankfair.cli.path import path_files
from rankfair.files.columns import Reading, Roles
from rankfair.files.table import Table
from rankfair.input.groups import SensitiveGroups
from sheets import people, write_csv

PLAIN = Reading()


def table(groups, tasks=None, **more):
    n = len(groups)
    columns = {"g": np.array(groups, object), **more}
    columns["t"] = np.array(["a"] * n if tasks is None else tasks, object)
    return Table(columns)


ROLES = Roles(sensitive=("g",), tasks=("t",))


def test_folds_hold_every_row_out_once_and_keep_all_groups():
    rows = table(["f", "m", "x"] * 20, ["a", "b"] * 30)
    parts = folds_of(rows, ROLES, 4)
    held = np.concatenate([test for _, test in parts])
    assert sorted(held.tolist()) == list(range(60))
    for train, test in parts:
        assert not set(train) & set(test)
        assert set(rows["g"][train]) == {"f", "m", "x"}
        assert abs(len(test) - 15) <= 1


def test_the_same_seed_gives_the_same_folds():
    rows = table(["f", "m"] * 20)
    first, again = (folds_of(rows, ROLES, 4, seed=3) for _ in range(2))
    assert all((a[1] == b[1]).all() for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize(
    ("groups", "tasks", "folds", "sentence"),
    [
        (["f"] * 9 + ["m"], None, 5, 'group "m" of "g" has 1 row: too few'),
        (["f", "m"] * 3, list("abcdef"), 2, "each task has one row only"),
        (["f", "m"], None, 5, "2 rows are too few for --folds 5"),
    ],
)
def test_what_cannot_be_held_out_is_not_estimable(groups, tasks, folds, sentence):
    with pytest.raises(NotEstimableError, match=sentence):
        folds_of(table(groups, tasks), ROLES, folds)


def test_a_group_of_one_row_is_named_with_what_helps():
    with pytest.raises(NotEstimableError, match=r'"c" .* 1 row: .* Join it') as error:
        folds_of(table([*"aabbc"]), ROLES, 2)
    assert "--bins" not in str(error.value)
    ages = [str(20 + age) for age in range(15)] * 2
    with pytest.raises(NotEstimableError, match=r"has 16 groups; .* --bins 4"):
        folds_of(table([*ages, "40"]), ROLES, 2)


@pytest.mark.parametrize("groups", [["f"] * 6, [None] * 6])
def test_one_group_is_bad_data(groups):
    with pytest.raises(ValueError, match="nothing to compare") as error:
        folds_of(table(groups), ROLES, 2)
    assert not isinstance(error.value, NotEstimableError)


def test_text_beside_numbers_is_not_cut():
    rows = table(["f", "m"] * 4, age=np.arange(8.0))
    roles = Roles(sensitive=("g", "age"), cut=("g", "age"))
    found = groups_of(rows, roles, bins=2)
    assert set(found["g"]) == {"f", "m"}
    assert set(found["age"]) == {"[0, 4)", "[4, 7]"}


def test_many_groups_are_noted_and_too_many_refused():
    def ages(n):
        return table([str(20 + age) for age in range(n)] + [None])

    assert with_counted_groups(ages(12), ROLES).notes == ()
    (note,) = with_counted_groups(ages(60), ROLES).notes
    assert note == '"g" has 60 groups; if it is a number, --bins 4 makes four of it.'
    with pytest.raises(ValueError, match=r'"g" has 61 groups .* --bins 4 makes four'):
        with_counted_groups(ages(61), ROLES)


def test_numbers_that_are_cut_are_not_counted_as_groups():
    rows = table(["f", "m"] * 40, age=np.arange(80.0))
    roles = Roles(sensitive=("g", "age"), cut=("age",))
    assert with_counted_groups(rows, roles).notes == ()


def test_bins_are_in_their_order_and_not_in_that_of_their_names(tmp_path):
    data = people()
    data["years"] = data["age"] - 18  # from 2 on: "[12" sorts before "[2"
    csv = write_csv(tmp_path / "a.csv", data)
    roles = Roles("pay", ("years",), cut=("years",), drop=("gender", "job", "age"))
    two = ModelSettings(epsilon=0.1, bins=2, blind=False)
    done = fit_files([csv], roles, PLAIN, two, folds=0)
    after = done.audit.comparisons[-1]
    assert after.auc.value == pytest.approx(done.model.rank_auc_, abs=1e-12)
    path = path_files([csv], roles, PLAIN, two, epsilons=[0.1], folds=2).path
    assert path.rows[0].train_auc == pytest.approx(done.model.rank_auc_, abs=1e-3)
    assert path.rows[0].group == after.group == path.groups[-1]
    four, _ = audit_files([csv], roles, PLAIN, bins=4)
    labels = [group.label for group in four.sensitive_features[0].groups]
    starts = [float(label[1:].split(",")[0]) for label in labels]
    assert starts == sorted(starts) and labels != sorted(labels)


def test_bins_without_rows_here_are_no_groups():
    made = SensitiveGroups(
        np.array([2, 0, -1, 2, 0]), np.array(["a", "b", "c"], object)
    )
    found = audit(None, [1.0, 2.0, 3.0, 4.0, 5.0], sensitive_features={"g": made})
    (attribute,) = found.sensitive_features
    assert [group.label for group in attribute.groups] == ["a", "c"]
    assert [group.n_rows for group in attribute.groups] == [2, 2]
    assert attribute.n_missing == 1
    assert found.comparisons[0].group == "c"
    with pytest.raises(ValueError, match="inconsistent numbers"):
        audit(None, [1.0, 2.0], sensitive_features={"g": made})
