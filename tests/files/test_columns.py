from dataclasses import replace

import numpy as np
import pytest

from rankfair.files.columns import (
    Roles,
    looks_like_dates,
    looks_like_identifier,
    without_identifiers,
)
from rankfair.files.read import load
from rankfair.files.table import Reading
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
        (lambda c: c.update(more=c["age"]), 'no column "more", which .* has'),
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
        (
            Roles(target="a", sensitive=("a",)),
            'sensitive_features names column "a", as y',
        ),
        (Roles(sensitive=("a", "a")), '"a", as sensitive_features'),
        (Roles(target="a", features=("a",)), 'features names column "a", as y'),
        (Roles(features=("a",), drop=("a",)), 'drop names column "a", as features'),
    ],
)
def test_a_column_has_one_role(roles, sentence):
    with pytest.raises(ValueError, match=sentence):
        roles.check()


@pytest.mark.parametrize("more", [{"features": ("agee",)}, {"drop": ("agee",)}])
def test_misspelt_columns_are_named(tmp_path, more):
    with pytest.raises(TableError, match=r'no column "agee"\. Did you mean "age"'):
        load([pay_csv(tmp_path)], Roles(target="pay", **more), PLAIN)


def test_what_must_be_numbers_is_not_read_as_text(tmp_path):
    with pytest.raises(ValueError, match='text names column "pay", but what it is'):
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
        with pytest.raises(ValueError, match="numbers names column"):
            load([str(path)], roles, reading)


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


def column(cells):
    out = np.empty(len(cells), object)
    out[:] = cells
    return out


@pytest.mark.parametrize(
    ("cells", "is_one"),
    [
        ([f"{i:03d}" for i in range(0, 60, 2)], True),
        ([f"E{7 * i + 10_000}" for i in range(30)], True),
        ([f"E{7 * i + 1_000}" for i in range(30)], False),
        ([f"E{i}" for i in range(1000, 1030)], True),
        (["E", *(f"E{i}" for i in range(1000, 1030))], False),
        ([f"{'EF'[i % 2]}{i}" for i in range(1000, 1030)], False),
        ([f"00{i % 20}" for i in range(30)], False),
        ([None, *(f"{i:03d}" for i in range(30))], True),
        ([f"{i:03d}" for i in range(19)], False),
    ],
)
def test_identifiers_of_text_are_told_from_other_columns(cells, is_one):
    assert looks_like_identifier(column(cells)) == is_one


@pytest.mark.parametrize(
    ("numbers", "is_one"),
    [
        (np.arange(30.0)[::-1], True),
        (np.append(np.arange(30.0), np.nan), True),
        (np.arange(30.0) + 0.5, False),
        (3 * np.arange(30.0) + 10_000, True),
        (3 * np.arange(30.0) + 1_000, False),
        (-np.arange(30.0), False),
        (np.append(np.arange(10_000, 10_099), 10_000), True),
        (np.append(np.arange(10_000, 10_097), [10_000, 10_001]), False),
    ],
)
def test_identifiers_of_numbers_have_no_fractions(numbers, is_one):
    assert looks_like_identifier(numbers) == is_one


@pytest.mark.parametrize(
    ("cells", "are"),
    [
        (["2024-01-31", None, " 2024-02-01 "], True),
        (["2024-01-31 10:30:00", "2024-01-31T10:30Z"], True),
        (["31.1.2024", "1/31/24"], True),
        (["2024-01-31", "unknown"], False),
        (["31.1/2024"], False),
        ([None], False),
    ],
)
def test_dates_are_told_from_other_text(cells, are):
    assert looks_like_dates(column(cells)) == are


def test_who_asks_for_an_identifier_gets_it(tmp_path):
    code = [f"{i:03d}" for i in range(150)]
    more = {"code": code, "n": range(150), "hired": ["2024-01-31"] * 150}
    file = write_csv(tmp_path / "a.csv", {**people(), **more})
    table = load([file], ROLES, PLAIN)
    assert any('"code"' in note for note in table.notes)
    left, roles = without_identifiers(table, ROLES)
    assert roles.predictors(table.names) == ("age", "education")
    assert left.notes == (
        'Not predicted from identifiers ("code", "n") and dates ("hired"): '
        "--predictor code would take the column in.",
    )
    asked = replace(ROLES, kept=("hired", "n"))
    _, roles = without_identifiers(table, asked, ["code"])
    assert roles.predictors(table.names) == ("age", "education", "code", "n", "hired")
    only = replace(ROLES, features=("code",), kept=("n",))
    assert without_identifiers(table, only) == (table, only)
    assert only.predictors(table.names) == ("code", "n")
