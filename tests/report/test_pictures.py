"""Pictures: of groups, of methods, of a path with its slider; and by matplotlib."""

import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.image import imread
from matplotlib.text import Text

import audits
from rankfair import RankFairRegressor, audit, fairness_path
from rankfair.paths import Path, PathRow
from rankfair.report.distributions import panels
from rankfair.report.explorer import UNIT, explorer
from rankfair.report.methods_page import MethodLine, MethodTable, Spot, draw, place
from rankfair.report.pictures import as_bytes, draw_methods
from rankfair.stats.estimate import Estimate

MADE = audits.make_audit().provenance


def test_groups_lie_over_each_other_on_the_same_scales_with_the_same_area():
    found = audits.make_audit(
        models=("a", "b", "c"), attributes=(("race", ("x", "y", "z")),)
    )
    one, *others = panels(found, found.sensitive_features[0])
    assert [one.model, *(p.model for p in others)] == ["a", "b", "c"]
    assert all(p.x_ticks == one.x_ticks and p.y_ticks == one.y_ticks for p in others)
    areas = []
    for panel in (one, *others):
        assert {shape.base for shape in panel.shapes} == {panel.base}
        assert len({shape.colour for shape in panel.shapes}) == 3
        for shape in panel.shapes:
            x, area = float(re.match(r"M([\d.]+) ", shape.path)[1]), 0.0
            for y, right in re.findall(r"V([\d.]+)H([\d.]+)", shape.path):
                area += (shape.base - float(y)) * (float(right) - x)
                x = float(right)
            areas.append(area)
    assert areas == pytest.approx([areas[0]] * len(areas), rel=2e-3)


@pytest.mark.parametrize("spread", [0.2, 1.2])
def test_skewed_pay_is_drawn_on_a_scale_of_logarithms(spread):
    pay = np.exp(np.random.default_rng(0).normal(10, spread, 3000))
    found = audit(None, pay, sensitive_features=np.arange(3000) % 2)
    (panel,) = panels(found, found.sensitive_features[0])
    assert panel.log == (spread > 1)
    steps = [float(x) for x in re.findall(r"H([\d.]+)", panel.shapes[0].path)]
    assert np.diff(steps) == pytest.approx(np.full(39, np.diff(steps)[0]), abs=0.02)


UNKNOWN = (math.nan, math.nan)


def line(gap, error, gap_ends=UNKNOWN, ends=UNKNOWN, method="m"):
    return MethodLine(method, Estimate(error, *ends), Estimate(gap, *gap_ends))


def picture_of(*lines, curve=False):
    return draw(MethodTable(lines, MADE, curve=curve))


def test_a_frontier_keeps_the_order_of_errors_and_gaps():
    lines = [line(0.1, 3.0), line(0.2, 2.0), line(0.3, 1.0)]
    for more in (0.0, 90.0):  # errors of very different sizes have logarithms
        spots = picture_of(*lines, line(0.4, 0.5 / (1 + more)), curve=True).spots
        assert [s.x for s in spots] == sorted(s.x for s in spots)
        assert [s.y for s in spots] == sorted(s.y for s in spots)
    known = line(0.1, 1.0)
    lost = line(math.nan, 1.0), line(0.1, math.nan)
    assert len(picture_of(known, *lost).spots) == 1
    assert picture_of(*lost) is None


def test_whiskers_stay_in_the_picture_and_a_band_goes_from_left_to_right():
    (spot,) = picture_of(line(0.1, 1.0, (0.0, 9e9), (0.5, 1.5))).spots
    assert len(spot.bars) == 2 and all(0 <= v <= 440 for bar in spot.bars for v in bar)
    path = [line(gap, 1.0, ends=(0.5, 1.5)) for gap in (0.1, 0.0, 0.2)]
    found = picture_of(*path, curve=True)
    assert not any(spot.bars for spot in found.spots)
    across = [float(p.split()[0]) for p in found.band.strip("MZ").split("L")]
    assert across[:3] == sorted(across[:3]) == across[:2:-1]
    first, second, _ = found.curve.strip("M").split("L")  # the curve does turn back
    assert float(first.split()[0]) > float(second.split()[0])
    half = picture_of(path[0], line(0.2, 1.0), curve=True)
    assert half.band == "" and [len(s.bars) for s in half.spots] == [1, 0]


def test_labels_keep_off_each_other_and_stay_in_the_frame():
    spots = [Spot(200.0, 150.0, False, (), f"method {i}") for i in range(8)]
    spots.append(Spot(220.0, 9.0, True, (), "a name too long for either side"))
    far = Spot(430.0, 150.0, False, (), "to the left of its point")
    boxes = [label.box for label in place([*spots, far])]
    for one, other in itertools.combinations(boxes, 2):
        apart = one[2] <= other[0] or other[2] <= one[0]
        assert apart or one[3] <= other[1] or other[3] <= one[1]
    for box in boxes:
        assert box[0] >= 0 and box[1] >= 0 and box[2] <= 440 and box[3] <= 320


def test_labels_keep_off_points():
    rng = np.random.default_rng(0)
    for _ in range(50):
        middle = rng.uniform(100, 200, 2)
        near = rng.normal(middle, 12, (8, 2))
        spots = [Spot(*at, i == 0, (), str(i)) for i, at in enumerate(near)]
        for label in place(spots):
            left, top, right, base = label.box
            assert not any(left <= x <= right and top <= y <= base for x, y in near)


def test_of_many_methods_points_have_numbers():
    lines = [line(0.1, 1.0, method=name) for name in "abc"]
    found = picture_of(*lines, line(0.3, 2.0, method="d"))
    assert [label.text for label in found.labels] == ["1", "2", "3", "4"]


def test_a_state_of_the_explorer_shows_what_the_path_holds():
    rng = np.random.default_rng(0)
    men = rng.random(300) < 0.5
    X = pd.DataFrame({"a": rng.normal(size=300) + men, "b": rng.normal(size=300)})
    task = np.repeat(["few", "small", "x", "y", "z"], [6, 29, 95, 95, 75])
    y = 30 + 5 * X["a"] + rng.normal(size=300)
    X = X.assign(sex=np.where(men, "m", "f"), task=task)
    model = RankFairRegressor(tasks="task", sensitive_features="sex")
    path = fairness_path(model, X, y)
    data = json.loads(explorer(path, "m")["data"])
    assert data["tasks"] == ["x", "y", "z"] and data["colours"] == [2, 1]
    assert all(len(state["aucs"]) == 2 + 3 for state in data["states"])
    for state in data["states"]:
        for shares, mean in zip(state["shares"], state["means"], strict=True):
            places = (np.arange(len(shares)) + 0.5) / len(shares) * UNIT
            assert np.average(places, weights=shares) == pytest.approx(mean, abs=150)
    many = json.loads(explorer(path, suppress=1)["data"])
    assert sorted(many["tasks"]) == ["few", "small", "x", "y", "z"]
    assert explorer(replace(path, views=None)) is None


def test_small_groups_and_the_next_smallest_are_not_in_the_explorer():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(["a", "b", "few", "Sami"], [150, 120, 26, 4]))
    X = pd.DataFrame({"x": rng.normal(size=300) + (group == "a"), "group": group})
    y = 30 + 5 * X["x"] + rng.normal(size=300)
    model = RankFairRegressor(sensitive_features="group")
    path = fairness_path(model, X, y, epsilons=[0.1, 0.5])
    assert path.groups == ("Sami", "a", "b", "few")
    for suppress, n in ((5, 2), (4, 4)):
        view = explorer(path, "b", suppress)
        names = [name for name, _ in view["colours"]]
        assert names == [it for it in path.groups if n == 4 or it in "ab"]
        assert view["n_hidden_groups"] == 4 - n
        for state in json.loads(view["data"])["states"]:
            parts = state["shares"], state["means"], state["moves"]
            assert [len(part) for part in parts] == [n, n, n]


def row(method, gap, rmse, needs_group="yes"):
    measured = {"rmse": rmse, "auc": 0.5 + gap, "rmse_error": 0.01, "auc_error": 0.01}
    return {"method": method, "needs_group": needs_group, **measured}


def drawn():
    fair = [row("tilt", 0.0, 0.8, "no"), row("true", 0.0, 0.79, "-")]
    free = [row(f"method {i}", 0.4, 0.4) for i in range(5)]
    paths = [
        [(gap, 0.8 + 0.01 * seed - gap) for gap in np.linspace(0, 0.4, 9)]
        for seed in range(3)
    ]
    return draw_methods([*fair, *free], paths)


def test_names_of_methods_stand_beside_the_panel_and_overlap_nothing():
    figure = drawn()
    figure.draw_without_rendering()
    boxes = []
    for axes, names in zip(figure.axes, (5, 2), strict=True):  # the others are near 0
        own = [Text.get_window_extent(text) for text in axes.texts]  # without lines
        assert len(own) == names
        assert all(box.x0 >= axes.get_window_extent().x1 for box in own)
        boxes += own
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert len(figure.legends[0].get_texts()) == 4


def test_files_are_the_same_for_the_same_records_and_have_no_date(tmp_path):
    one, two = (as_bytes(drawn(), "svg") for _ in range(2))
    assert one == two and b"<dc:date" not in one
    assert ET.fromstring(one).tag.endswith("svg")
    (tmp_path / "a.png").write_bytes(as_bytes(drawn(), "png"))
    assert imread(tmp_path / "a.png").std() > 0


def test_a_path_and_an_audit_can_be_plotted():
    rows = [
        PathRow(e, r, r - 0.05, r + 0.05, *[0.5] * 3, e, 0.0, r, 0.5, e, 0.0, "")
        for e, r in zip(np.linspace(0, 0.3, 7), 0.9 ** np.arange(7), strict=True)
    ]
    rows[3] = rows[3]._replace(cost=0.1, cost_se=0.2)
    axes = Path(tuple(rows), 10, 10).plot()
    names = {text.get_text() for text in axes.get_legend().get_texts()}
    assert {"held-out rows", "training rows", "ε = 0.15, marked"} <= names
    found = audits.make_audit(title="$5")
    axes = found.plot()
    assert [drawn.get_label() for drawn in axes.containers] == ["before", "after"]
    (value,) = axes.containers[0].lines[0].get_xdata()
    assert value == found.comparisons[0].auc.value
    assert axes.get_title() == r"\$5" and found.plot(axes) is axes
    assert audits.make_audit(models=("m",)).plot().get_legend() is None
    pyplot.close("all")
