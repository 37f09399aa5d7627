"""The commands on the files of Student and Wine, as they are published."""

import re

import pytest

from commands import run, valid


@pytest.fixture
def wine(real_data):
    files = [real_data / "wine" / f"winequality-{c}.csv" for c in ("red", "white")]
    named = ["--file-column", "type", "--sensitive", "type", "--target", "alcohol"]
    return [*files, *named]


@pytest.fixture
def student(real_data):
    files = [real_data / "student" / f"student-{c}.csv" for c in ("mat", "por")]
    named = ["--file-column", "course", "--task", "course", "--sensitive", "sex"]
    # The first marks of the year are all but the last one.
    return [*files, *named, "--target", "G3", "--drop", "G1", "--drop", "G2"]


def test_wine_is_audited_with_each_code(wine):
    found = valid(run("audit", *wine, "--json", code=0), "audit")
    comparison = found["comparisons"][0]
    assert (comparison["n_group"], comparison["n_against"]) == (1599, 4898)
    gap = found["gap"]
    run("audit", *wine, "--max-gap", gap, code=0)
    run("audit", *wine, "--max-gap", gap / 2, code=1)
    run("audit", *wine, "--max-gap", gap, "--min-group", 2000, code=3)
    run("audit", *wine, "--task", "nowhere", code=2)


def test_student_is_audited_with_each_code(student):
    options = student[:-4]  # an audit predicts from nothing
    found = valid(run("audit", *options, "--json", code=0), "audit")
    assert found["provenance"]["n_rows"] == 1044
    run("audit", *options, "--max-gap", 0.5, code=0)
    run("audit", *options, "--max-gap", 0, code=1)
    run("audit", *options, "--max-gap", 0, "--min-group", 600, code=3)
    run("audit", *options, "--prediction", "school", code=2)


@pytest.mark.parametrize("name", ["wine", "student"])
def test_models_are_fitted_and_predict(name, request, tmp_path):
    options = request.getfixturevalue(name)
    model, out = tmp_path / "m.rankfair", tmp_path / "p.csv"
    fit = [*options, "--folds", 2, "-o", model]
    found = valid(run("fit", *fit, "--json", "--max-gap", 0.1, code=0), "fit")
    assert found["status"] in ("satisfied", "inactive")
    assert found["held_out"]
    run("fit", *fit, "--max-gap", 0, code=1)
    run("fit", *fit[:-2], "--weight", "nowhere", code=2)
    files, column = options[:2], options[2:4]
    done = run("predict", model, *files, *column, "-o", out, code=0)
    rows = sum(len(path.read_text().splitlines()) - 1 for path in files)
    assert done.stderr == f"wrote {rows} rows to {out}\n"
    sensitive = options[options.index("--sensitive") + 1]
    judged = ["--prediction", "prediction", "--sensitive", sensitive, "--json"]
    again = valid(run("audit", out, *judged, code=0), "audit")
    assert again["gap"] == pytest.approx(abs(found["rank_auc"] - 0.5), abs=1e-12)


@pytest.mark.parametrize("name", ["wine", "student"])
def test_paths_and_comparisons(name, request, tmp_path):
    options = [*request.getfixturevalue(name), "--folds", 2]
    found = valid(
        run("path", *options, "--at", 0, "--at", 0.1, "--json", code=0), "path"
    )
    assert len(found["rows"]) == 2
    some = ["--method", "unconstrained", "--method", "tilt"]
    page = tmp_path / "c.html"
    found = valid(
        run("compare", *options, *some, "--json", "--html", page, code=0), "compare"
    )
    gaps = [line["auc_gap"]["value"] for line in found["methods"]]
    assert len(gaps) == 2
    assert page.stat().st_size > 1000
    run("path", *options, "--at", "x", code=2)
    run("compare", *options, "--method", "x", code=2)


def test_student_has_one_short_note_on_its_text(student, tmp_path):
    done = run("fit", *student, "--folds", 0, "-o", tmp_path / "m.rankfair", code=0)
    notes = [line for line in done.stderr.splitlines() if line.startswith("Note:")]
    assert len(notes) == 1
    assert re.fullmatch(r"Note: Encoded \d+ columns of text as 0/1 \(.*\)\.", notes[0])
    assert len(notes[0]) < 100
