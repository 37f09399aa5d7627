"""The methods on synthetic rows, training and held out."""

import csv
import re
import xml.etree.ElementTree as ET

import pytest
from matplotlib.image import imread

from commands import run
from rankfair.cli.demo import DEFAULT, DEMO_METHODS, run_demo

SEEDS = (3, 4)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    out, told = tmp_path_factory.mktemp("demo"), []
    done = run_demo(out, SEEDS[0], draws=2, on_step=lambda *it: told.append(it))
    names = [*DEMO_METHODS, "path of all ε"] * 2
    assert told == [(name, i, len(names)) for i, name in enumerate(names, start=1)]
    return done


def of(found, method, rows="held-out"):
    return [r for r in found.records if (r["method"], r["rows"]) == (method, rows)]


def test_every_method_is_measured_on_train_and_on_held_out_rows_of_every_draw(small):
    seen = [(row["seed"], row["method"], row["rows"]) for row in small.records]
    rows = ("train", "held-out")
    assert seen == [
        (seed, name, kind) for seed in SEEDS for name in DEMO_METHODS for kind in rows
    ]
    assert [row.method for row in small.means[::2]] == [*DEMO_METHODS]


def test_with_the_group_tilt_is_the_constant_shift(small):
    pairs = zip(of(small, "tilt, with group"), of(small, "constant shift"), strict=True)
    for tilt, shift in pairs:
        # Both are in the band of one pair, at different places.
        for name in ("rmse", "auc", "md", "ks"):
            assert tilt[name] == pytest.approx(shift[name], abs=0.02)


def test_fair_methods_are_fair_on_held_out_rows_and_no_better_than_the_best(small):
    mean = {row.method: row for row in small.means if row.rows == "held-out"}
    best = mean["true fair score"]
    for name in ("constant shift", "post-processor", "tilt, with group", DEFAULT):
        assert abs(mean[name].auc.value - 0.5) < 0.05
        assert best.rmse.value < mean[name].rmse.value < 1.05 * best.rmse.value
    assert abs(best.auc.value - 0.5) < 0.03
    for name in ("unconstrained", "unconstrained, blind"):
        assert mean[name].auc.value > 0.7 and mean[name].rmse.value < best.rmse.value
    blind = {row.method for row in small.means if row.needs_group == "no"}
    assert blind == {"unconstrained, blind", DEFAULT}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_path_runs_from_balanced_to_the_blind_free_fit(small, seed):
    path = [row for row in small.paths if row["seed"] == seed]
    free, fair = (
        next(row for row in of(small, name, "train") if row["seed"] == seed)
        for name in ("unconstrained, blind", DEFAULT)
    )
    epsilons = [row["epsilon"] for row in path]
    assert epsilons[0] == 0 and epsilons == sorted(set(epsilons))
    errors = [row["train_rmse"] for row in path]
    assert errors == sorted(errors, reverse=True)
    assert path[-1]["train_rmse"] == pytest.approx(free["rmse"])
    assert path[0]["train_rmse"] == pytest.approx(fair["rmse"])
    assert all(row["gap"] <= row["epsilon"] + 1e-4 for row in path)


def test_a_draw_is_that_of_its_seed_and_files_can_be_read(small, tmp_path):
    png, svg, *tables = small.files
    assert imread(png).std() > 0
    assert ET.parse(svg).getroot().tag.endswith("svg")
    for file, rows in zip(tables, (small.paths, small.records), strict=True):
        lines = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        assert [float(line["rmse"]) for line in lines] == [row["rmse"] for row in rows]
    assert sorted(png.parent.iterdir()) == sorted(small.files)
    out = tmp_path / "new" / "folder"
    done = run("demo", "--out", out, "--seed", 4, "--draws", 1, "--quiet", code=0)
    again = list(csv.DictReader((out / "records.csv").read_text("utf-8").splitlines()))
    own = [row for row in small.records if row["seed"] == 4]
    assert [float(row["ks"]) for row in again] == [row["ks"] for row in own]
    wrote = re.findall(r"^wrote (.*)$", done.stdout, re.M)
    assert sorted(map(str, out.iterdir())) == sorted(wrote)
    for name in DEMO_METHODS:
        assert len(re.findall(rf"^{re.escape(name)}  ", done.stdout, re.M)) == 1
    for part in ("One draw", "paper's solver, in 1 of 1 draws:"):
        assert part in done.stdout
    assert done.stderr == ""


def test_what_demo_cannot_do_is_one_sentence(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    for out in (file, file / "below"):
        assert file.name in run("demo", "--out", out, "--quiet", code=2).stderr
    assert "--seed" in run("demo", "--seed", -1, code=2).output
    monkeypatch.setattr("rankfair.cli.app.find_spec", lambda name: None)
    done = run("demo", "--out", tmp_path, code=2)
    assert 'pip install "rankfair[plot]"' in done.stderr
