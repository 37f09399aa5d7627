"""What an audit counts, prints and judges."""

import json
import re

import numpy as np
import pytest

from commands import COMMON, answer, prose, run
from rankfair.files.read import read_table
from rankfair.input.errors import TableError
from sheets import at_auc, pay_csv, people, write_csv

P = {"prediction": ["p"], "sensitive": ["g"], "target": None, "task": None}


def test_each_comparison_is_told_of(tmp_path):
    told, file = [], pay_csv(tmp_path, groups="fmx", n=60)
    found = answer("audit", file, prediction=["age", "pay"], target=None, told=told)
    names = [f"{c.group} v {c.against}" for c in found.audit.comparisons]
    steps = [(name, i, len(names)) for i, name in enumerate(names, start=1)]
    assert told == [("reading", 1, 2), *steps]


def test_a_model_is_audited_as_its_predictions_are(made, tmp_path):
    csv, model = made
    out = tmp_path / "p.csv"
    run("predict", model, csv, "-o", out, code=0)
    first = answer("audit", csv, model=model).to_dict()
    second = answer("audit", out, prediction=["prediction"]).to_dict()
    assert first | {"provenance": None} == second | {"provenance": None}
    with pytest.raises(TableError, match='already has a column "prediction"'):
        answer("audit", out, model=model)


def test_a_model_is_audited_by_columns_it_does_not_protect(made):
    csv, model = made
    found = answer("audit", csv, model=model, sensitive=["education"], task=["gender"])
    assert {c.sensitive_feature for c in found.audit.comparisons} == {"education"}
    age = {"model": model, "sensitive": ["age"], "task": None}
    assert len(answer("audit", csv, **age, bins=2).audit.comparisons) == 1
    # What the model takes as a number is a label, too.
    found = answer("audit", csv, **age)
    labels = {group.label for group in found.audit.sensitive_features[0].groups}
    assert labels == {str(each) for each in people()["age"]}
    assert any("--bins 4" in note for note in found.notes)


def test_missing_groups_are_counted_and_other_gaps_refused(tmp_path):
    data = {**people(), "w": np.ones(150, int)}
    file = write_csv(tmp_path / "a.csv", data, [(row, "gender") for row in (3, 4)])
    (comparison,) = answer("audit", file).audit.comparisons
    assert comparison.n_group + comparison.n_against == 148
    assert "2 rows have no gender" in run("audit", file, *COMMON).stdout
    for column in ("pay", "job", "w"):
        file = write_csv(tmp_path / "a.csv", data, [(4, column)])
        with pytest.raises(TableError, match="--drop-missing") as error:
            answer("audit", file, weight="w")
        assert (error.value.line, error.value.column) == (6, column)
    # No column is a predictor here.
    file = write_csv(tmp_path / "a.csv", data, [(0, "age"), (1, "education")])
    assert answer("audit", file, drop_missing=True).audit.provenance.n_rows == 150


def test_raises_name_the_people_of_the_file(tmp_path):
    codes = [f"E{7 * i:05d}" for i in range(150)]
    file = write_csv(tmp_path / "a.csv", {"who": codes, **people(), "n": range(150)})
    answer("audit", file, close_to=0.0, raises=str(tmp_path / "r.csv"))
    raises = read_table(tmp_path / "r.csv")
    assert raises.names[:3] == ("who", "n", "sensitive_feature")
    rows = raises["row"].astype(int) - 1
    assert raises["who"].tolist() == [codes[row] for row in rows]


def test_a_gap_of_0_is_shown_with_its_parts(tmp_path):
    pay, sex = [3, 3, 1, 1, 4, 4, 6, 6] * 5, ["f", "m"] * 20
    years = [i // 2 for i in range(40)]
    file = write_csv(tmp_path / "a.csv", {"pay": pay, "sex": sex, "years": years})
    words = ("--target", "pay", "--sensitive", "sex", "--control", "years")
    done = run("audit", file, *words, code=0)
    assert re.search(r"^unexplained +0 .* 0\.0$", done.stdout, re.M)


def test_several_columns_are_one_task(tmp_path):
    file = pay_csv(tmp_path)
    tasks = answer("audit", file, task=["job", "education"]).audit.tasks
    data = people()
    pairs = {*zip(data["job"], data["education"], strict=True)}
    assert {line.task for line in tasks} == {" × ".join(pair) for pair in pairs}


def test_bins_are_in_their_order(tmp_path):
    data = people()
    data["years"] = data["age"] - 18  # from 2 on: "[12" sorts before "[2"
    file = write_csv(tmp_path / "a.csv", data)
    found = answer("audit", file, sensitive=["years"], bins=4).audit
    labels = [group.label for group in found.sensitive_features[0].groups]
    starts = [float(label[1:].split(",")[0]) for label in labels]
    assert starts == sorted(starts) and labels != sorted(labels)


@pytest.mark.parametrize(
    ("wins", "most", "code"),
    [
        (55, "0.05", 0),  # 0.55 - 0.5 is a little more than 0.05 in floats
        (45, "0.0499", 1),
        (100, "0.5", 0),
    ],
)
def test_the_gate_holds_with_equality(tmp_path, wins, most, code):
    file = write_csv(tmp_path / "a.csv", at_auc(wins))
    options = ["--prediction", "p", "--sensitive", "g", "--max-gap", most]
    done = run("audit", file, *options, code=code)
    assert ("exceeds" in done.stdout) == (code == 1)
    found = answer("audit", file, **P).audit
    assert found.comparisons[0].auc.value == pytest.approx(wins / 100, abs=1e-12)


def test_the_gate_names_groups_that_are_not_judged(tmp_path):
    file = write_csv(
        tmp_path / "a.csv",
        {"p": [*range(40), 90, 91], "g": ["f", "m"] * 20 + ["x", "x"]},
    )
    options = ["--prediction", "p", "--sensitive", "g", "--max-gap"]
    done = run("audit", file, *options, "0.2", code=3)
    assert 'Not judged: "x (g)". --ignore-small-groups' in done.stdout
    done = run("audit", file, *options, "0.2", "--ignore-small-groups", code=0)
    assert "Not judged" in done.stdout
    run("audit", file, *options, "0", "--ignore-small-groups", code=1)
    one = write_csv(tmp_path / "b.csv", {"p": range(12), "g": ["f"] * 11 + ["m"]})
    done = run("audit", one, *options, "0.5", code=3)
    assert "cannot be estimated" in done.stdout
    run("audit", one, *options[:-1], code=0)


def test_weights_are_frequencies_only_if_that_is_said(tmp_path):
    columns = {"p": range(40), "g": ["f", "m"] * 20, "w": [30] * 40}
    file = write_csv(tmp_path / "a.csv", columns)
    (plain,), (weighted,), (repeated,) = (
        answer("audit", file, **P, **more).audit.comparisons
        for more in ({}, {"weight": "w"}, {"weight": "w", "frequency_weights": True})
    )
    assert weighted.auc.ci_low == pytest.approx(plain.auc.ci_low)
    assert repeated.auc.ci_low > plain.auc.ci_low + 0.1
    assert (weighted.n_group, repeated.n_group) == (20, 600)
    with pytest.raises(ValueError, match="needs whole numbers in sample_weight"):
        answer("audit", file, **P, frequency_weights=True)


def test_an_audit_keeps_its_command(tmp_path, monkeypatch):
    file = pay_csv(tmp_path)
    monkeypatch.setattr("sys.argv", ["rankfair", "audit", "my file.csv"])
    found = json.loads(run("audit", file, *COMMON, "--json").stdout)
    assert found["provenance"]["command"] == "rankfair audit 'my file.csv'"


def test_tasks_are_counted_as_judged_or_not(tmp_path):
    data = people(jobs=("nurse", "clerk"))
    jobs = np.array(data["job"], object)

    def said(n_small):
        """Tasks of one row of each group, beside two large ones."""
        for i in range(n_small):
            for gender in "fm":
                jobs[np.flatnonzero(data["gender"] == gender)[i]] = f"t{i}"
        file = write_csv(tmp_path / "a.csv", {**data, "job": jobs})
        shown = prose(run("audit", file, *COMMON))
        return re.search(r"(\d) of (.*?) (is|are) flagged \(.*?\)(.*?)\.", shown)

    assert said(0).group(2, 4) == ("2 tasks", "")
    assert said(4).group(2, 4) == ("2 tasks", "; 4 could not be judged")
    flat = write_csv(tmp_path / "flat.csv", {**data, "pay": np.ones(150)})
    assert "No task could be judged." in run("audit", flat, *COMMON).stdout
    small = write_csv(tmp_path / "b.csv", people(n=4, jobs=("nurse",)))
    assert "No task could be judged." in run("audit", small, *COMMON).stdout


def test_columns_and_groups_are_told_apart_on_80_signs(tmp_path):
    data = people() | {"site": np.where(np.arange(150) % 2, "a", "b")}
    long = {"f": "a name that goes on and on and on and", "m": "more " * 20 + "words"}
    data["long"] = [long[each] for each in data["gender"]]
    file = write_csv(tmp_path / "a.csv", data)
    for named, head in ((["gender"], "groups"), (["long", "site"], "column")):
        words = [word for name in named for word in ("--sensitive", name)]
        shown = run("audit", file, "--target", "pay", *words).stdout.splitlines()
        heads = [line.split()[1] for line in shown if line.startswith("model ")]
        assert heads == [head]
        assert head == "column" or max(map(len, shown)) <= 80
    line = next(line for line in shown if line.startswith("pay "))
    assert re.search(r"a name that .*… v more more .*…  ", line)
