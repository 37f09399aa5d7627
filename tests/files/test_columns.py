from dataclasses import replace

import numpy as np
import pytest

from rankfair.files.columns import Reading, Roles, load
from rankfair.input.errors import TableError
from sheets import pay_csv, people, write_csv

PLAIN = Reading()
ROLES = Roles(target="pay", sensitive=("gender",), tasks=("job",))


def test_roles_are_read_as_what_they_are(tmp_path):
    columns = {"job": ["01", "02"], "g": ["1", "2"], "pay": [1, 2]}
    roles = Roles(target="pay", sensitive=("g",), tasks=("job",))
    table = load([write_csv(tmp_path / "a.csv", columns)], roles, PLAIN)
    assert table["job"].tolist() == ["01", "02"]
    assert table["g"].tolist() == ["1", "2"]
    assert table["pay"].tolist() == [1.0, 2.0]


def test_several_files_are_one_table_with_the_name_of_each(tmp_path):
    files = [pay_csv(tmp_path, f"{name}.csv", n=10) for name in ("a", "b")]
    table = load(files, ROLES, Reading(file_column="site"))
    assert table.n_rows == 20
    assert table["site"].tolist() == ["a"] * 10 + ["b"] * 10


def test_a_file_column_that_is_there_is_refused(tmp_path):
    with pytest.raises(TableError, match="--file-column another name"):
        load([pay_csv(tmp_path)], ROLES, Reading(file_column="age"))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c.pop("age"), 'no column "age", which .* has'),
        (lambda c: c.update(more=c["age"]), 'a column "more" that .* has not'),
        (lambda c: c.update(age=["old"] * len(c["age"])), "--text age"),
    ],
)
def test_files_that_differ_are_refused(tmp_path, change, sentence):
    other = people(n=10, seed=1)
    change(other)
    files = [pay_csv(tmp_path, n=10), write_csv(tmp_path / "b.csv", other)]
    with pytest.raises(TableError, match=sentence):
        load(files, ROLES, PLAIN)


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        (Roles(target="a", sensitive=("a",)), "--sensitive and --target"),
        (Roles(sensitive=("a", "a")), "--sensitive twice"),
        (Roles(target="a", features=("a",)), "--feature and --target"),
        (Roles(features=("a",), drop=("a",)), "--drop and --feature"),
    ],
)
def test_a_column_has_one_role(roles, sentence):
    with pytest.raises(ValueError, match=sentence):
        roles.check()


def test_a_feature_named_twice_is_one(tmp_path):
    Roles(features=("a", "a")).check()
    assert Roles(features=("a", "a")).predictors(()) == ("a",)


@pytest.mark.parametrize("more", [{"features": ("agee",)}, {"drop": ("agee",)}])
def test_misspelt_columns_are_named(tmp_path, more):
    with pytest.raises(TableError, match=r'no column "agee"\. Did you mean "age"'):
        load([pay_csv(tmp_path)], Roles(target="pay", **more), PLAIN)


def test_what_must_be_numbers_is_not_read_as_text(tmp_path):
    with pytest.raises(ValueError, match='"pay" is to be read as text'):
        load([pay_csv(tmp_path)], ROLES, Reading(text=("pay",)))


def test_rows_with_empty_cells_are_dropped_and_counted(tmp_path):
    blank = [(0, "age"), (3, "pay"), (3, "age"), (5, "gender")]
    file = write_csv(tmp_path / "a.csv", people(n=20), blank)
    table = load([file], ROLES, Reading(drop_missing=True))
    assert table.n_rows == 17
    assert table.notes[-1] == "Dropped 3 of 20 rows with empty cells."
    assert None not in table["gender"].tolist()
    assert not np.isnan(table["age"]).any()


def test_nothing_left_is_an_error(tmp_path):
    file = write_csv(tmp_path / "a.csv", people(n=2), [(0, "age"), (1, "age")])
    with pytest.raises(TableError, match="an empty cell in each of its 2 rows"):
        load([file], ROLES, Reading(drop_missing=True))


def test_columns_may_have_to_be_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("code,sex,pay\n007,F,1\n010,M,2\n")
    roles = Roles(target="pay", sensitive=("sex",))
    assert load([str(path)], roles, Reading()).is_text("code")
    table = load([str(path)], roles, Reading(numbers=("code",)))
    assert table["code"].tolist() == [7.0, 10.0]
    for reading in (
        Reading(numbers=("code",), text=("code",)),
        Reading(numbers=("sex",)),
    ):
        with pytest.raises(ValueError, match="--number"):
            load([str(path)], roles, reading)


def test_large_files_are_refused_unless_allowed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n1,2\n")
    with pytest.raises(TableError, match="--max-bytes"):
        load([str(path)], Roles(target="y"), Reading(max_bytes=7))
    assert load([str(path)], Roles(target="y"), Reading(max_bytes=8)).n_rows == 1


def test_a_group_that_may_mean_unknown_is_named(tmp_path):
    data = people(n=12)
    data["gender"] = ["f", "m", "N/A", "?"] * 3
    file = write_csv(tmp_path / "a.csv", data)
    notes = load([file], ROLES, PLAIN).notes
    assert [note.partition("say ")[2] for note in notes] == [
        "--missing '?'.",
        "--missing N/A.",
    ]
    assert not load([file], ROLES, Reading(missing=("N/A", "?"))).notes


def test_a_file_is_read_once(tmp_path):
    file = pay_csv(tmp_path)
    with pytest.raises(ValueError, match="named twice"):
        load([file, str(tmp_path / "." / "pay.csv")], ROLES, PLAIN)


def test_labels_that_look_alike_are_noted(tmp_path):
    data = people(n=30)
    data["gender"][:2] = "F"
    file = write_csv(tmp_path / "a.csv", data)
    (note,) = load([file], ROLES, Reading()).notes
    assert note.startswith('"gender" has "F", "f", which differ only in spaces, capita')
    data["gender"][:2] = "m"
    data["job"] = [f"{job} " if i < 3 else job for i, job in enumerate(data["job"])]
    file = write_csv(tmp_path / "a.csv", data)
    (note,) = load([file], ROLES, Reading()).notes
    assert note.startswith('"job" has "')
    assert load([write_csv(tmp_path / "b.csv", people())], ROLES, Reading()).notes == ()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("ne\u0301e", r"'ne\u0301e', 'n\xe9e'"),  # a letter and its accent, one by one
        ("née\u200b", '"née", "née[U+200B]"'),
        ("\ufeffnée", '"née", "[U+FEFF]née"'),
        ("née\u00a0", "née"),
        ("ｎée", "ｎée"),
    ],
)
def test_labels_that_differ_by_what_is_not_seen_are_noted(tmp_path, other, said):
    data = people(n=30)
    data["gender"] = ["née", other] * 15
    (note,) = load([write_csv(tmp_path / "a.csv", data)], ROLES, Reading()).notes
    assert note.startswith('"gender" has ') and said in note
    data["gender"] = ["née", "\u200bN/A"] * 15
    (note,) = load([write_csv(tmp_path / "a.csv", data)], ROLES, Reading()).notes
    assert "not known" in note


def test_labels_that_look_different_are_not_noted(tmp_path):
    data = people(n=30)
    data["gender"] = ["née", "nee", "ne"] * 10
    assert not load([write_csv(tmp_path / "a.csv", data)], ROLES, Reading()).notes


def test_what_has_to_be_numbers_is_not_to_be_read_as_text(tmp_path):
    data = people(n=6)
    data["pay"] = [f'"1,{pay:06.2f}"' for pay in data["pay"]]
    file = write_csv(tmp_path / "a.csv", data)
    for roles, cure in ((ROLES, False), (Roles(sensitive=("gender",)), True)):
        with pytest.raises(TableError, match="--thousands ','") as error:
            load([file], roles, Reading())
        assert ("--text pay" in error.value.cure) == cure


def test_columns_that_are_not_used_stop_nothing_and_are_not_told_of(tmp_path):
    odd = {"amount": ['"1,000"', '"2,000"'] * 75, "zip": ["00123", "04567"] * 75}
    csv = write_csv(tmp_path / "a.csv", {**people(), **odd})
    named = replace(ROLES, features=("age",))
    dropped = replace(ROLES, drop=("amount", "zip"))
    for roles in (named, dropped, replace(ROLES, features=())):
        table = load([csv], roles, PLAIN)
        assert table.notes == ()
        assert table["amount"].tolist()[:2] == ["1,000", "2,000"]
        assert roles.uses("pay") and not roles.uses("amount")
    with pytest.raises(TableError, match='column "amount": "1,000" is not a plain'):
        load([csv], replace(ROLES, drop=("zip",)), PLAIN)
    (note,) = load([csv], replace(ROLES, drop=("amount",)), Reading()).notes
    assert note.startswith('Read column "zip" as text')
    with pytest.raises(TableError, match='column "amount": "1,000" is not a plain'):
        load([csv], named, Reading(numbers=("amount",)))


def test_columns_that_are_not_used_may_differ_in_kind(tmp_path):
    data = people(n=3)
    first = write_csv(tmp_path / "a.csv", {**data, "note": [1.5, 24, 3]}, [(2, "note")])
    other = write_csv(tmp_path / "b.csv", {**data, "note": ["x", "007", "y"]})
    table = load([first, other], replace(ROLES, drop=("note",)), PLAIN)
    assert table["note"].tolist() == ["1.5", "24", None, "x", "007", "y"]
    with pytest.raises(TableError, match="holds text, but not so in"):
        load([first, other], ROLES, PLAIN)
