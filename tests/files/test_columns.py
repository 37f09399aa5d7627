"""Files as one table, its columns in their roles, and what is noted of them."""

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


def test_several_files_are_one_table_with_the_name_of_each(tmp_path):
    files = [pay_csv(tmp_path, f"{name}.csv", n=10) for name in ("a", "b")]
    table = load(files, ROLES, Reading(file_column="site"))
    assert table.n_rows == 20
    assert table["site"].tolist() == ["a"] * 10 + ["b"] * 10
    with pytest.raises(TableError, match="--file-column another name"):
        load(files, ROLES, Reading(file_column="age"))
    with pytest.raises(TableError, match="named twice"):
        load([files[0], str(tmp_path / "." / "a.csv")], ROLES, PLAIN)
    data = people(n=10, seed=1)
    for columns, sentence in (
        (data | {"more": data["age"]}, 'no column "more", which .* has'),
        ({k: data[k] for k in data if k != "age"}, 'no column "age", which .* has'),
        (data | {"age": ["old"] * 10}, "--text age"),
    ):
        other = write_csv(tmp_path / "c.csv", columns)
        with pytest.raises(TableError, match=sentence):
            load([files[0], other], ROLES, PLAIN)


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        (Roles("pay", sensitive=("pay",)), 'features names column "pay", as y'),
        (Roles(sensitive=("age", "age")), '"age", as sensitive_features'),
        (Roles(features=("age",), drop=("age",)), 'column "age", as features'),
        (Roles("pay", features=("agee",)), r'"agee"\. Did you mean "age"'),
        (Roles("pay", drop=("agee",)), r'"agee"\. Did you mean "age"'),
    ],
)
def test_a_column_is_there_and_has_one_role(tmp_path, roles, sentence):
    with pytest.raises(ValueError, match=sentence):
        roles.check()
        load([pay_csv(tmp_path)], roles, PLAIN)


def test_rows_with_empty_cells_are_dropped_and_counted(tmp_path):
    blank = [(0, "age"), (3, "pay"), (3, "age"), (5, "gender")]
    file = write_csv(tmp_path / "a.csv", people(n=20), blank)
    table = load([file], ROLES, Reading(drop_missing=True))
    assert table.n_rows == 17
    assert table.notes[-1] == "Dropped 3 of 20 rows with empty cells."
    assert None not in table["gender"].tolist() and not np.isnan(table["age"]).any()
    file = write_csv(tmp_path / "b.csv", people(n=2), [(0, "age"), (1, "age")])
    with pytest.raises(TableError, match="an empty cell in each of its 2 rows"):
        load([file], ROLES, Reading(drop_missing=True))


def test_missing_cells_are_refused_with_the_first_line(tmp_path):
    blank = [(1, "age"), (4, "age"), (0, "gender")]
    file = write_csv(tmp_path / "a.csv", people(n=10), blank)
    for roles, cure in (
        (ROLES, "Fill them, leave the column out with --drop age, or drop such rows"),
        (replace(ROLES, features=("age",)), "Fill them, or leave such rows out with"),
    ):
        with pytest.raises(TableError, match="2 cells are empty in 10 rows") as caught:
            load([file], roles, PLAIN)
        assert (caught.value.line, caught.value.column) == (3, "age")
        assert caught.value.cure.startswith(cure)
    # Nobody predicts from an identifier.
    codes = people(n=30) | {"code": [f"{i:03d}" for i in range(30)]}
    file = write_csv(tmp_path / "b.csv", codes, [(3, "code")])
    assert load([file], ROLES, PLAIN).n_rows == 30


def test_all_that_is_wrong_with_files_is_said_at_once(tmp_path):
    data = people(n=10)
    data["gender"] = ["F", " F", "M", "M", "M"] * 2
    data["pay"] = [*data["pay"][:4], "?", *data["pay"][5:]]
    first = write_csv(tmp_path / "a.csv", data, [(2, "age")])
    other = write_csv(tmp_path / "b.csv", people(n=10), [(7, "job")])
    with pytest.raises(TableError) as caught:
        load([first], ROLES, PLAIN)
    head, spaces, age, pay = str(caught.value).split("\n")
    assert head == f"{first} has 3 problems:"
    assert spaces.startswith('- "gender" has " F", "F", which differ only in spaces')
    assert spaces.endswith("say --trim.")
    assert age.startswith('- line 4, column "age": 1 cell is empty in 10 rows')
    assert pay.startswith('- line 6, column "pay": "?" is not a number.')
    with pytest.raises(TableError, match="The table has 4 problems") as caught:
        load([first, other], ROLES, PLAIN)
    assert f'- {other}, line 9, column "job": 1 cell is empty' in str(caught.value)
    with pytest.raises(TableError, match=r'a\.csv has 2 problems:\n- "gender"'):
        load([first], ROLES, Reading(drop_missing=True))


def test_columns_may_have_to_be_numbers(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("code,sex,pay\n007,F,1\n010,M,2\n")
    roles = Roles(target="pay", sensitive=("sex",))
    assert load([str(path)], roles, PLAIN).is_text("code")
    table = load([str(path)], roles, Reading(numbers=("code",)))
    assert table["code"].tolist() == [7.0, 10.0]
    for reading, name in (
        (Reading(numbers=("code",), text=("code",)), "code"),
        (Reading(numbers=("sex",)), "sex"),
        (Reading(text=("pay",)), "pay"),
    ):
        with pytest.raises(TableError, match=f'"{name}" cannot be text and numbers'):
            load([str(path)], roles, reading)


def test_a_group_that_may_mean_unknown_is_named(tmp_path):
    data = people(n=12)
    data["gender"] = ["f", "m", "N/A", "?"] * 3
    file = write_csv(tmp_path / "a.csv", data)
    ends = [note.partition("say ")[2] for note in load([file], ROLES, PLAIN).notes]
    assert ends == ["--missing '?'.", "--missing N/A."]
    assert not load([file], ROLES, Reading(missing=("N/A", "?"))).notes


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("f", "F"), '"gender" has "F", "f", which differ only in spaces, '),
        # A letter and its accent one by one, and signs that are not seen.
        (("née", "ne\u0301e"), r"'ne\u0301e', 'n\xe9e'"),
        (("née", "née\u200b"), '"née", "née[U+200B]"'),
        (("née", "née\u00a0"), '"gender" has '),
        (("née", "ｎée"), '"gender" has '),
        (("née", "\u200bN/A"), "not known"),
        (("née", "nee", "ne"), None),
    ],
)
def test_labels_that_look_alike_are_noted(tmp_path, labels, said):
    data = {**people(n=30), "gender": (labels * 15)[:30]}
    notes = load([write_csv(tmp_path / "a.csv", data)], ROLES, PLAIN).notes
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]


def test_what_has_to_be_numbers_is_not_to_be_read_as_text(tmp_path):
    data = people(n=6)
    data["pay"] = [f'"1,{pay:06.2f}"' for pay in data["pay"]]
    file = write_csv(tmp_path / "a.csv", data)
    for roles, cure in ((ROLES, False), (Roles(sensitive=("gender",)), True)):
        with pytest.raises(TableError, match="--thousands ','") as error:
            load([file], roles, PLAIN)
        assert ("--text pay" in error.value.cure) == cure


def test_columns_that_are_not_used_stop_nothing_and_are_not_told_of(tmp_path):
    odd = {"amount": ['"1,000"', '"2,000"'] * 10, "zip": ["00123", "04567"] * 10}
    csv = write_csv(tmp_path / "a.csv", {**people(n=20), **odd})
    named = replace(ROLES, features=("age",))
    for roles in (named, replace(ROLES, drop=("amount", "zip"))):
        table = load([csv], roles, PLAIN)
        assert table.notes == ()
        assert table["amount"].tolist()[:2] == ["1,000", "2,000"]
    table = load([csv], named, Reading(text=("zip",), file_column="x"), only_used=True)
    assert table.names == ("job", "gender", "age", "pay", "x")
    for roles, reading in (
        (replace(ROLES, drop=("zip",)), PLAIN),
        (named, Reading(numbers=("amount",))),
    ):
        with pytest.raises(TableError, match='column "amount": "1,000" is not a plain'):
            load([csv], roles, reading)
    (note,) = load([csv], replace(ROLES, drop=("amount",)), PLAIN).notes
    assert note.startswith('Read column "zip" as text')
    # They may differ in kind.
    data = people(n=3)
    first = write_csv(tmp_path / "a.csv", {**data, "note": [1.5, 24, 3]}, [(2, "note")])
    other = write_csv(tmp_path / "b.csv", {**data, "note": ["x", "007", "y"]})
    table = load([first, other], replace(ROLES, drop=("note",)), PLAIN)
    assert table["note"].tolist() == ["1.5", "24", None, "x", "007", "y"]


def column(cells):
    out = np.empty(len(cells), object)
    out[:] = cells
    return out


@pytest.mark.parametrize(
    ("cells", "is_one"),
    [
        (column([f"{i:03d}" for i in range(0, 60, 2)]), True),
        (column([f"E{7 * i + 10_000}" for i in range(30)]), True),
        (column([f"E{7 * i + 1_000}" for i in range(30)]), False),
        (column([f"E{i}" for i in range(1000, 1030)]), True),
        (column([f"{'EF'[i % 2]}{i}" for i in range(1000, 1030)]), False),
        (column([f"00{i % 20}" for i in range(30)]), False),
        (column([f"{i:03d}" for i in range(19)]), False),
        (np.append(np.arange(30.0), np.nan), True),
        (np.arange(30.0) + 0.5, False),
        (3 * np.arange(30.0) + 1_000, False),
        (-np.arange(30.0), False),
        (np.append(np.arange(10_000, 10_099), 10_000), True),
        (np.append(np.arange(10_000, 10_097), [10_000, 10_001]), False),
    ],
)
def test_identifiers_are_told_from_other_columns(cells, is_one):
    assert looks_like_identifier(cells) == is_one


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
    code = [f"{i:03d}" for i in range(30)]
    more = {"code": code, "n": range(30), "hired": ["2024-01-31"] * 30}
    file = write_csv(tmp_path / "a.csv", {**people(n=30), **more})
    table = load([file], ROLES, PLAIN)
    left, roles = without_identifiers(table, ROLES)
    assert roles.predictors(table.names) == ("age", "education")
    assert left.notes == (
        'Not predicted from identifiers ("code", "n") and dates ("hired"): '
        "--predictor code would take the column in.",
    )
    asked = replace(ROLES, kept=("n",))
    left, roles = without_identifiers(table, asked, ["code"])
    assert roles.predictors(table.names) == ("age", "education", "code", "n")
    assert left.notes[-1] == (
        'Not predicted from dates ("hired"): --predictor hired would take the column '
        "in."
    )
    only = replace(ROLES, features=("code",), kept=("n",))
    assert without_identifiers(table, only) == (table, only)
