"""Files as people have them, through the real command line."""

import json

import numpy as np
import pytest

from commands import COMMON, process, prose, run, valid
from sheets import people, write_csv

FLAGS = ["--trim", "--thousands", ".", "--decimal", ","]
MESSY = ["--target", "Gehalt", "--sensitive", "Geschlecht", "--task", "Stelle", *FLAGS]


def messy_rows():
    """Return the rows of a sheet as people keep it: title, signs, spaces, codes."""
    data = people(n=60)
    rows = [["Gehälter 2024", "", "", ""], [""] * 4]
    rows.append(["Nr", " Geschlecht", "Stelle", "Gehalt"])
    for i, (job, gender, pay) in enumerate(
        zip(data["job"], data["gender"], data["pay"], strict=True)
    ):
        whole, part = divmod(round(1000 * 100 * float(pay)), 100)
        money = f"{whole:,}".replace(",", ".") + f",{part:02d} €"
        rows.append([f"{i:05d}", " " * (i % 2) + gender, job, money])
    return rows


def write_rows(path, rows):
    path.write_text("".join(";".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_messy_file_is_audited_and_its_dialect_kept(tmp_path):
    write_rows(tmp_path / "messy.csv", messy_rows())
    words = [*MESSY, "-o", "out.csv", "--max-gap", 0]
    done = process(tmp_path, "audit", "messy.csv", *words)
    assert done.returncode == 1 and "\x1b" not in done.stdout
    assert 'above the header in line 3: "Gehälter 2024".' in done.stderr
    assert 'Read column "Gehalt" without the sign €' in done.stderr
    assert "differ only in spaces" not in done.stderr
    untrimmed = [word for word in MESSY if word != "--trim"]
    untrimmed[3] = " Geschlecht"
    done = process(tmp_path, "audit", "messy.csv", *untrimmed)
    assert "if they are the same, say --trim." in done.stderr
    head, *lines = (tmp_path / "out.csv").read_text("utf-8").splitlines()
    rows = [dict(zip(head.split(";"), line.split(";"), strict=True)) for line in lines]
    assert [row["task"] for row in rows[:1]] == [""]
    gaps = [abs(float(row["auc"].replace(",", ".")) - 0.5) for row in rows[1:]]
    assert {row["task"] for row in rows[1:]} == {"nurse", "clerk", "cook"}
    assert gaps == sorted(gaps, reverse=True)


def test_whoever_writes_a_page_is_told_what_its_readers_do_not_see(tmp_path):
    data = people()
    jobs = np.array(data["job"], object)
    men, women = (np.flatnonzero(data["gender"] == sex) for sex in "mf")
    jobs[men[:9]], jobs[men[9:12]], jobs[women[:3]] = "boss", "chef", "chef"
    write_csv(tmp_path / "a.csv", {**data, "job": jobs})
    for name, more in (("audit", []), ("path", ["--at", 0, "--at", 0.1])):
        line = (name, "a.csv", *COMMON, *more, "--html", "a.html")
        done = process(tmp_path, *line)
        (told,) = (line for line in done.stderr.splitlines() if "on the page" in line)
        assert told.startswith("Note: Not on the page") and '"chef", ' in told
        assert "chef" not in (tmp_path / "a.html").read_text("utf-8")
        assert "on the page" not in process(tmp_path, *line, "-q").stderr
    lone = "1 task has rows of one group only, and so no gap."
    done = process(tmp_path, "audit", "a.csv", *COMMON, "--html", "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert lone in " ".join(done.stdout.split()) and lone in page and "boss" not in page


def test_all_that_is_wrong_with_a_file_is_said_at_once(tmp_path):
    rows = messy_rows()
    rows[5][3], rows[7][3], rows[9][2] = "k.A.", "$5", ""
    rows[11] = rows[11][:2]
    bad = write_rows(tmp_path / "bad.csv", rows)
    done = run("audit", bad, *MESSY, code=2)
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if "Note:" not in line]
    assert lines[0] == f"{bad} has 4 problems:"
    found = [line.split(":")[0] for line in lines[1:]]
    assert found == [
        '- line 6, column "Gehalt"',
        '- line 8, column "Gehalt"',
        '- line 10, column "Stelle"',
        "- line 12",
    ]


def test_identifiers_and_dates_do_not_predict(tmp_path):
    data = people(n=60)
    codes = {"id": [f"{i:05d}" for i in range(60)], "hired": ["31.1.2024"] * 60}
    file = write_csv(tmp_path / "pay.csv", {**codes, **data})
    model = tmp_path / "m.rankfair"
    done = run("fit", file, *COMMON, "-o", model, "--json", code=0)
    note = 'Not predicted from identifiers ("id") and dates ("hired")'
    assert note in json.loads(done.stdout)["notes"][0]
    assert note in done.stderr and "--number" not in done.stderr
    left = ["predict", model, file, "--keep", "id"]
    assert "00059," in run(*left, code=0).stdout
    refused = run("fit", file, *COMMON, "--predictor", "id", code=2)
    assert "60 categories" in refused.stderr
    refused = run("fit", file, *COMMON, "--predictor", "hired", code=2)
    assert "the year first" in refused.stderr
    start = np.datetime64("2000-01-01")
    days = {"hired": [f"{start + 40 * i}" for i in range(60)]}
    file = write_csv(tmp_path / "day.csv", {**data, **days})
    run("fit", file, *COMMON, "--predictor", "hired", "-o", model, code=0)
    run("predict", model, file, code=0)
    assert "hired" in run("describe", model, code=0).stdout


def test_a_control_of_dates_is_a_number_of_days(tmp_path):
    data = people(n=60)
    days = 40 * np.arange(60) % 997
    dates = [f"{np.datetime64('2000-01-01') + int(day)}" for day in days]
    file = write_csv(tmp_path / "pay.csv", {**data, "hired": dates, "days": days})
    parts = []
    for control in ("hired", "days"):
        done = run("audit", file, *COMMON, "--control", control, "--json", code=0)
        parts.append(json.loads(done.stdout)["parts"][0])
        assert ("Read dates as days" in done.stderr) == (control == "hired")
    for part in ("explained", "unexplained"):
        by_date, by_day = (found[part]["value"] for found in parts)
        assert by_date == pytest.approx(by_day)


def proxies(effect, noise, n=80):
    """Return a pay roll whose only predictor is next to the group."""
    rng = np.random.default_rng(0)
    gender = np.arange(n) % 2
    pay = effect * gender + rng.normal(size=n)
    near = gender + noise * rng.normal(size=n)
    return {"gender": np.array(["f", "m"])[gender], "near": near, "pay": pay}


@pytest.mark.filterwarnings("ignore:predictor:UserWarning")
@pytest.mark.parametrize(
    ("effect", "noise", "more", "cure"),
    [
        (4.0, 0.1, ["--epsilon", 0], "--epsilon 0.5 (RMSE"),
        (0.0, 9.0, ["--epsilon", 0.5], "other predictors"),
        (
            4.0,
            0.1,
            ["--epsilon", 0.5, "--penalty", "ridge", "--beta", 1e9],
            "pool --beta auto, the defaults (RMSE",
        ),
        (4.0, 0.1, ["--epsilon", 0.5], ""),
    ],
)
def test_a_model_of_no_use_is_said_first(tmp_path, effect, noise, more, cure):
    file = write_csv(tmp_path / "a.csv", proxies(effect, noise))
    asked = ["fit", file, "--target", "pay", "--sensitive", "gender", *more]
    said = run(*asked, code=0).stdout
    found = valid(run(*asked, "--json", code=0), "fit")
    start = "This model is of no use"
    assert (found["audit"]["models"][-1]["r2"]["value"] <= 0) == bool(cure)
    assert (found["status"] == "useless") == said.startswith(start) == bool(cure)
    assert found["verdict"].startswith(start) == bool(cure)
    assert cure in said.partition("Try")[2]


@pytest.mark.filterwarnings("ignore:predictor:UserWarning")
def test_predictions_far_outside_the_range_of_the_target_are_said_first(tmp_path):
    data = proxies(4.0, 0.1)
    data["near"][0] = 20.0  # left out, it is predicted from the others
    file = write_csv(tmp_path / "a.csv", data)
    asked = ("fit", file, "--target", "pay", "--sensitive", "gender")
    said = prose(run(*asked, "--epsilon", 0.5, "--beta", 0.1, code=0))
    assert "1 prediction is outside the range of the target by more" in said
