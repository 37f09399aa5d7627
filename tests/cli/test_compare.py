"""Methods and paths of ε on one's own rows."""

import math
import re

import numpy as np
import pytest

from commands import COMMON, answer, prose, run, valid
from rankfair import RankFairRegressor
from rankfair.cli.compare import not_run
from rankfair.cli.errors import NotEstimableError
from rankfair.cli.methods import METHODS
from rankfair.files.read import read_table
from sheets import pay_csv, people, write_csv

FEW = ["--folds", 2, "--method", "tilt"]


def test_all_methods_are_run_on_the_same_rows(tmp_path):
    told = []
    done = answer("compare", pay_csv(tmp_path), blind=False, folds=2, told=told)
    assert [line.method for line in done.page.lines] == list(METHODS)
    assert told == [(n, i, len(METHODS)) for i, n in enumerate(METHODS, start=1)]
    assert done.refused == {}
    gaps = {line.method: line.auc_gap for line in done.page.lines}
    assert gaps["tilt"].value < gaps["unconstrained"].value
    for gap in gaps.values():
        assert 0.0 <= gap.ci_low <= gap.value <= gap.ci_high


def test_tilt_is_what_a_path_reports_in_the_same_folds(tmp_path):
    csv, how = pay_csv(tmp_path), {"blind": False, "folds": 3}
    (line,) = answer("compare", csv, method=["tilt"], **how).page.lines
    (row,) = answer("path", csv, at=[0.01], **how).path.rows
    assert line.auc_gap.value == pytest.approx(row.gap)
    assert line.rmse.value == pytest.approx(row.rmse)


def test_rows_of_unknown_group_are_told_and_numbers_cut(tmp_path):
    csv = write_csv(tmp_path / "a.csv", people(), [(3, "gender"), (9, "gender")])
    done = answer("compare", csv, method=["tilt"], folds=2)
    assert [note for note in done.notes if note.startswith("2 rows have no gender")]
    csv = write_csv(tmp_path / "a.csv", people(), [(0, "age"), (5, "age")])
    asked = {"sensitive": ["age"], "drop": ["gender"], "bins": 2, "blind": False}
    done = answer("path", csv, **asked, at=[0.1, 0.4])
    assert [note for note in done.notes if note.startswith("2 rows have no age")]
    assert done.path.rows[0].gap <= 0.1 + 1e-3


def test_the_mark_is_the_smallest_gap_of_those_that_err_alike(tmp_path):
    data = people(n=300)
    data["pay"] = np.random.default_rng(5).normal(size=300).round(3)  # only noise
    csv = write_csv(tmp_path / "noise.csv", data)
    some = ["unconstrained", "tilt", "constant shift"]
    words = [word for name in some for word in ("--method", name)]
    options = [*COMMON, *words, "--folds", 2]
    found = valid(run("compare", csv, *options, "--within", 0.5, "--json"), "compare")
    lines = {line["method"]: line for line in found["methods"]}
    (marked,) = [name for name, line in lines.items() if line["chosen"]]
    least = min(lines, key=lambda name: lines[name]["rmse"]["value"])
    gap = lines[marked]["auc_gap"]["value"]
    assert gap <= lines[least]["auc_gap"]["value"]
    assert marked in found["summary"] and least in found["summary"]
    page = answer("compare", csv, method=some, folds=2, within=0.0).page
    assert not any(line.chosen for line in page.lines)
    assert "No method kept the rank gap within 0" in page.summary


def test_methods_that_cannot_are_listed_with_the_reason(tmp_path):
    csv, three = pay_csv(tmp_path), pay_csv(tmp_path, "fmx.csv", groups="fmx")
    blank = write_csv(tmp_path / "b.csv", people(), [(0, "gender")])
    some = ["tilt", "constant shift", "NC-ADMM", "covariance"]

    def refused(file, **more):
        return answer("compare", file, method=some, folds=2, **more).refused

    for found, why in (
        (refused(three), "two are expected"),
        (refused(three, sensitive=["gender", "education"]), "one feature is expected"),
        (refused(blank), "every row needs one"),
    ):
        assert [*found] == some[2:] and why in found["covariance"]
    found = refused(csv, sensitive=["age"], bins=2, task=None)
    why = "numbers are not cut into groups."
    assert found == dict.fromkeys(["constant shift", "covariance"], why)
    assert not_run(found) == [f'"constant shift", "covariance" were not run: {why}']
    with pytest.raises(ValueError, match="No method could be run: solver"):
        answer("compare", three, method=["NC-ADMM"], folds=2)


def test_settings_are_the_same_for_all_methods():
    asked = RankFairRegressor(0.1, sensitive_features="g", penalty="ridge", beta=3.0)
    for name, method in METHODS.items():
        model = method(asked)
        model = getattr(model, "estimator", model)
        assert (model.penalty, model.beta, model.blind) == ("ridge", 3.0, True), name


def test_a_path_of_noise_has_no_cost_and_is_short_in_a_terminal(tmp_path):
    pay = np.random.default_rng(0).normal(size=150).round(3)
    csv = write_csv(tmp_path / "noise.csv", people() | {"pay": pay})
    done = run("path", csv, *COMMON, "-o", tmp_path / "path.csv", code=0)
    assert "No measurable cost at any ε" in prose(done)
    n = len(read_table(str(tmp_path / "path.csv"))["epsilon"])
    printed = re.findall(r"^[0-9.e-]+ +\d", done.stdout, re.M)
    assert n == 40 and len({*printed}) == len(printed) <= 14
    assert f"{len(printed)} of 40 ε are shown" in done.stdout


def test_a_path_tells_of_each_epsilon_by_a_name_of_its_own(tmp_path):
    told, csv, close = [], pay_csv(tmp_path), 0.1 + 1e-12
    done = answer("path", csv, at=[close, 0.1], folds=2, told=told)
    assert [row.epsilon for row in done.path.rows] == [0.1, close]
    assert [step[1:] for step in told] == [(1, 2), (2, 2)]
    names = [line.method for line in done.page.lines]
    assert len({*names}) == 2 and all(name.startswith("ε = 0.1") for name in names)
    assert done.page.curve and "instead of" in done.page.summary


@pytest.mark.parametrize("command", ["compare", "fit", "path"])
def test_a_column_without_two_groups_is_named_whatever_is_asked(tmp_path, command):
    data = people(n=20)
    none = write_csv(tmp_path / "a.csv", data, [(i, "gender") for i in range(20)])
    one = pay_csv(tmp_path, groups="ff")
    for csv, what in ((none, "is unknown in all 20 rows"), (one, "has one group only")):
        with pytest.raises(ValueError, match=f"{what}.*: there is nothing to"):
            answer(command, csv, folds=2)


@pytest.mark.parametrize("command", ["path", "compare"])
def test_what_cannot_be_held_out_is_not_estimable(tmp_path, command):
    data = people(n=12)
    data["job"] = [f"t{i}" for i in range(12)]
    single = write_csv(tmp_path / "a.csv", data)
    few = write_csv(tmp_path / "b.csv", people(n=4))
    lone = people(n=30, groups="ff")
    lone["gender"][0] = "m"
    lone = write_csv(tmp_path / "c.csv", lone)
    many = {f"g{i}": [i] * 2 for i in range(15)}
    ages = people(n=31)
    ages["gender"] = [name for name, of in many.items() for _ in of] + ["z"]
    ages = write_csv(tmp_path / "d.csv", ages)
    for csv, sentence in (
        (single, "each task has one row only"),
        (few, "4 rows are too few for --folds 5"),
        (lone, r'Group "m" of "gender" has 1 row: .* Join it'),
        (ages, r'Group "z" .* "gender" has 16 groups; .* --bins 4'),
    ):
        with pytest.raises(NotEstimableError, match=sentence):
            answer(command, csv, folds=5, task=["job"] if csv == single else None)
    assert run(command, single, *COMMON).exit_code == 3


@pytest.mark.parametrize("n", [12, 60, 61])
def test_groups_are_noted_if_many_and_refused_if_too_many(tmp_path, n):
    csv = write_csv(
        tmp_path / "a.csv", {"g": [*range(20, 20 + n), ""], "p": range(n + 1)}
    )
    words = ["audit", csv, "--sensitive", "g", "--prediction", "p"]
    said = run(*words, code=2 if n > 60 else 0).stderr
    noted = f'"g" has {n} groups; if it is a number, --bins 4 makes four of it.'
    assert (noted in said) == (n == 60)
    assert ("at most 60 are expected" in said) == (n > 60)
    run(*words, "--bins", 4, code=0)


@pytest.mark.filterwarnings("ignore:predictor .* blind in name only:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("count", [4, 5])
def test_groups_too_small_to_judge_are_named_and_never_the_worst(tmp_path, count):
    data = people(n=90)  # and a third group of few rows, all of them at the top
    data["gender"][:count] = "x"
    data["age"][:count], data["pay"][:count] = 64, 60.0
    csv = write_csv(tmp_path / "few.csv", data)
    path = answer("path", csv, at=[0.4], folds=2)
    assert path.path.unjudged == (("x",) if count == 4 else ())
    assert (path.path.rows[0].group == "x") == (count == 5)
    done = answer("compare", csv, method=["tilt"], folds=2)
    for found, label in ((path, "x"), (done, "x (gender)")):
        note = f'Too few rows to judge "{label}".'
        assert (note in found.notes) == (count == 4)
        for suppress in (1, 5):  # a page does not name them, unless it shows all
            found.write_page(tmp_path / "p.html", suppress)
            page = (tmp_path / "p.html").read_text(encoding="utf-8")
            named = "Too few rows to judge" in page
            assert named == (count == 4 and suppress == 1)


def test_a_column_that_cannot_be_judged_leaves_no_method_fair(tmp_path, capsys):
    data = people(n=60)
    data["site"] = ["a"] * 57 + ["b"] * 3
    csv = write_csv(tmp_path / "a.csv", data)
    how = {"sensitive": ["gender", "site"], "method": ["tilt"], "folds": 2}
    found = answer("compare", csv, **how, within=0.5)
    (line,) = found.page.lines
    assert not line.chosen and math.isnan(line.auc_gap.value)
    found.say(True)  # no interval stands beside the error as if it were its own
    assert capsys.readouterr().out.splitlines()[0] == "method   RMSE"
    flat = write_csv(tmp_path / "flat.csv", {**people(), "pay": np.ones(150)})
    said = prose(run("compare", flat, *COMMON, *FEW))
    assert "can be estimated from these rows: no row is placed differently" in said
