import json
import xml.etree.ElementTree as ET

import pytest
from matplotlib.image import imread

from rankfair.datasets import make_biased_tasks
from rankfair.experiments.demo import CURVE, run
from rankfair.experiments.methods import METHODS


def timeless(records):
    return [{**row, "seconds": 0.0} for row in records]


def of(demo, method, rows="train"):
    return [r for r in demo.records if (r["method"], r["rows"]) == (method, rows)]


def test_every_method_is_measured_on_train_and_on_held_out_rows(small):
    seen = [(row["method"], row["rows"]) for row in small.table]
    assert seen == [(name, rows) for name in METHODS for rows in ("train", "held-out")]
    assert small.records[: len(small.table)] == small.table


def test_tilt_is_level_to_one_pair_with_less_error_than_the_shift(small):
    data = make_biased_tasks(8, 50, random_state=3)
    n_a = (data.sensitive[::2] == data.group_a).sum()
    tilt, shift = of(small, "tilt")[0], of(small, "constant shift")[0]
    assert tilt["gap"] <= 1 / (n_a * (200 - n_a))
    assert tilt["rmse"] < shift["rmse"]


def test_the_path_runs_from_level_to_unconstrained(small):
    path, (free,) = of(small, CURVE), of(small, "unconstrained")
    assert [row["epsilon"] for row in path] == sorted({r["epsilon"] for r in path})
    assert len(path) == 4
    errors = [row["rmse"] for row in path]
    assert errors == sorted(errors, reverse=True)
    assert path[-1]["rmse"] == pytest.approx(free["rmse"])
    assert all(row["gap"] <= row["epsilon"] + 1e-4 for row in path)


def test_the_same_seed_gives_the_same_records_and_pictures(small, tmp_path):
    again = run(tmp_path, 3, n_tasks=8, points=4)
    assert timeless(again.records) == timeless(small.records)
    for one, two in zip(small.files, again.files, strict=True):
        if one.stem == "frontier":
            assert one.read_bytes() == two.read_bytes()


def test_another_seed_gives_other_records(small, tmp_path):
    other = run(tmp_path, 4, n_tasks=8, points=4)
    assert timeless(other.records) != timeless(small.records)


def test_files_are_there_and_can_be_read(small):
    png, svg, csv, records = small.files
    assert imread(png).std() > 0
    assert ET.parse(svg).getroot().tag.endswith("svg")
    assert len(csv.read_text().splitlines()) == 1 + len(small.records)
    assert json.loads(records.read_text()) == small.records
    assert sorted(png.parent.iterdir()) == small.files


def test_each_fit_is_announced(tmp_path):
    told = []
    run(tmp_path, n_tasks=4, points=3, on_step=lambda *step: told.append(step))
    names = [*METHODS, CURVE, CURVE]
    assert told == [(name, i, 7) for i, name in enumerate(names, start=1)]
