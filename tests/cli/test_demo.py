import csv
import math
import xml.etree.ElementTree as ET

import pytest
from matplotlib.image import imread

from rankfair.cli import demo
from rankfair.cli.demo import DEFAULT, DEMO_METHODS, run_demo
from rankfair.datasets import make_biased_tasks

SEEDS = (3, 4, 5)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return run_demo(tmp_path_factory.mktemp("demo"), 3, draws=3, n_tasks=12)


def of(found, method, rows="held-out"):
    return [r for r in found.records if (r["method"], r["rows"]) == (method, rows)]


def test_every_method_is_measured_on_train_and_on_held_out_rows_of_every_draw(small):
    seen = [(row["seed"], row["method"], row["rows"]) for row in small.records]
    rows = ("train", "held-out")
    assert seen == [
        (seed, name, kind) for seed in SEEDS for name in DEMO_METHODS for kind in rows
    ]
    assert [row.method for row in small.means[::2]] == [*DEMO_METHODS]


def test_at_least_200_rows_a_task_are_held_out(small, monkeypatch, tmp_path):
    sizes = []

    def fit(train, held_out):
        sizes.append((len(train.y), len(held_out.y)))
        return train.fair, held_out.fair

    look = {DEFAULT: demo.DemoMethod(fit, "no")}
    monkeypatch.setattr(demo, "DEMO_METHODS", look)
    run_demo(tmp_path, draws=1, n_tasks=4)
    assert set(sizes) == {(4 * 25, 4 * 200)}


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_rows_are_taken_of_any_frame(backend):
    data = make_biased_tasks(2, 6, random_state=0, backend=backend)
    rows = demo.DemoRows(data.frame, data.target, data.target > 0, data.fair_score)
    some = rows.take(rows.in_a)
    assert len(some.frame) == rows.in_a.sum() == len(some.y)
    assert list(some.frame["x1"]) == data.X[rows.in_a, 0].tolist()


def test_with_the_group_tilt_is_the_constant_shift(small):
    pairs = zip(of(small, "tilt, with group"), of(small, "constant shift"), strict=True)
    for tilt, shift in pairs:
        # Both are in the band of one pair, at different places.
        for name in ("rmse", "auc", "md", "ks"):
            assert tilt[name] == pytest.approx(shift[name], abs=1e-3)


def test_fair_methods_are_fair_on_held_out_rows_and_others_are_not(small):
    mean = {row.method: row for row in small.means if row.rows == "held-out"}
    for name in ("constant shift", "post-processor", "tilt, with group", DEFAULT):
        assert abs(mean[name].auc.value - 0.5) < 0.03
    for name in ("unconstrained", "unconstrained, blind"):
        assert mean[name].auc.value > 0.7


def test_no_fair_method_errs_less_than_the_fair_score_but_by_what_is_left(small):
    mean = {row.method: row for row in small.means if row.rows == "held-out"}
    best = mean["true fair score"]
    assert abs(best.auc.value - 0.5) < 0.03
    assert mean["unconstrained"].rmse.value < best.rmse.value
    for name in ("constant shift", DEFAULT):
        assert best.rmse.value < mean[name].rmse.value < 1.05 * best.rmse.value


def test_blind_methods_do_not_look_at_the_group(small):
    blind = {
        name for name, method in DEMO_METHODS.items() if method.needs_group == "no"
    }
    assert blind == {"unconstrained, blind", DEFAULT}
    assert {
        row["method"] for row in small.records if row["needs_group"] == "no"
    } == blind


@pytest.mark.parametrize("seed", SEEDS)
def test_a_path_runs_from_balanced_to_the_blind_free_fit(small, seed):
    path = [row for row in small.paths if row["seed"] == seed]
    (free,) = (
        row for row in of(small, "unconstrained, blind", "train") if row["seed"] == seed
    )
    (fair,) = (row for row in of(small, DEFAULT, "train") if row["seed"] == seed)
    epsilons = [row["epsilon"] for row in path]
    assert epsilons[0] == 0 and epsilons == sorted(set(epsilons))
    errors = [row["train_rmse"] for row in path]
    assert errors == sorted(errors, reverse=True)
    assert path[-1]["train_rmse"] == pytest.approx(free["rmse"])
    assert path[0]["train_rmse"] == pytest.approx(fair["rmse"])
    assert path[0]["train_auc"] == pytest.approx(fair["auc"], abs=1e-5)
    # 300 rows: a pair is less than this.
    assert all(row["gap"] <= row["epsilon"] + 1e-4 for row in path)


def test_the_same_seed_gives_the_same_records_and_pictures(small, tmp_path):
    again = run_demo(tmp_path, 3, draws=3, n_tasks=12)
    assert again.records == small.records
    assert again.paths == small.paths
    for one, two in zip(small.files, again.files, strict=True):
        if one.stem == "frontier":
            assert one.read_bytes() == two.read_bytes()


def test_a_draw_is_that_of_its_seed(small, tmp_path):
    last = run_demo(tmp_path, 5, draws=1, n_tasks=12)
    own = [row for row in small.records if row["seed"] == 5]
    assert last.records == own
    assert all(math.isnan(row.rmse.error) for row in last.means)


def test_files_are_there_and_can_be_read(small):
    png, svg, paths, records = small.files
    assert imread(png).std() > 0
    assert ET.parse(svg).getroot().tag.endswith("svg")
    for file, rows in ((paths, small.paths), (records, small.records)):
        lines = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        assert [float(line["rmse"]) for line in lines] == [row["rmse"] for row in rows]
    assert sorted(png.parent.iterdir()) == small.files


def test_each_fit_is_announced(tmp_path):
    told = []
    run_demo(tmp_path, draws=2, n_tasks=4, on_step=lambda *step: told.append(step))
    names = [*DEMO_METHODS, "path of all ε"] * 2
    assert told == [(name, i, len(names)) for i, name in enumerate(names, start=1)]
