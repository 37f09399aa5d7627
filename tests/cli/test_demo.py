"""The methods on synthetic rows, training and held out."""

import csv
import re
from types import SimpleNamespace

import numpy as np
import pytest

from commands import prose, run
from rankfair.cli.demo import DEFAULT, DEMO_METHODS

SEEDS = ("3", "4")


def rows_of(file):
    return [*csv.DictReader(file.read_text(encoding="utf-8").splitlines())]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "new" / "folder"
    done = run("demo", "--out", out, "--seed", 3, "--draws", 2, "--quiet", code=0)
    return SimpleNamespace(done=done, out=out, records=rows_of(out / "records.csv"))


def values(demo, method, name, rows="held-out"):
    own = [r for r in demo.records if (r["method"], r["rows"]) == (method, rows)]
    return np.array([float(r[name]) for r in own])


def test_every_method_is_measured_on_both_parts_of_every_draw(demo):
    seen = [(row["seed"], row["method"], row["rows"]) for row in demo.records]
    parts = ("train", "held-out")
    assert seen == [(s, m, part) for s in SEEDS for m in DEMO_METHODS for part in parts]
    for name in DEMO_METHODS:
        assert len(re.findall(rf"^{re.escape(name)}  ", demo.done.stdout, re.M)) == 1
    assert "standard errors on held" in prose(demo.done) and demo.done.stderr == ""
    assert "paper's solver: No fit reached the band" in demo.done.stdout


def test_fair_methods_are_fair_on_held_out_rows_and_no_better_than_the_best(demo):
    def mean(method, name):
        return values(demo, method, name).mean()

    best = mean("true fair score", "rmse")
    for name in ("constant shift", "post-processor", "tilt, with group", DEFAULT):
        assert abs(mean(name, "auc") - 0.5) < 0.05
        assert best < mean(name, "rmse") < 1.05 * best
    assert abs(mean("true fair score", "auc") - 0.5) < 0.03
    for name in ("unconstrained", "unconstrained, blind"):
        assert mean(name, "auc") > 0.7 and mean(name, "rmse") < best
    blind = {row["method"] for row in demo.records if row["needs_group"] == "no"}
    assert blind == {"unconstrained, blind", DEFAULT}


def test_files_are_listed(demo):
    assert (demo.out / "frontier.png").stat().st_size > 1000
    wrote = re.findall(r"^wrote (.*)$", demo.done.stdout, re.M)
    assert sorted(map(str, demo.out.iterdir())) == sorted(wrote)


def test_what_demo_cannot_do_is_one_sentence(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    for out in (file, file / "below"):
        assert file.name in run("demo", "--out", out, "--quiet", code=2).stderr
    monkeypatch.setattr("rankfair.cli.app.find_spec", lambda name: None)
    done = run("demo", "--out", tmp_path, code=2)
    assert 'pip install "rankfair[plot]"' in done.stderr
