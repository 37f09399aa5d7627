"""Pictures by matplotlib: of methods and of a path."""

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread

from rankfair.cli.demo import MeanOfDraws, MethodMeans
from rankfair.paths import Path, PathRow
from rankfair.report.pictures import as_bytes, draw_methods


def row(method, gap, rmse, needs_group="yes", rows="held-out"):
    figures = (rmse, 0.5 + gap, 0.0, 0.02)
    return MethodMeans(
        method, needs_group, rows, *(MeanOfDraws(it, 0.01) for it in figures)
    )


def picture(crowd=3):
    fair = [row("tilt", 0.0, 0.8, "no"), row("true", 0.0, 0.79, "-")]
    free = [row(f"method {i}", 0.4, 0.4) for i in range(crowd)]
    seen = [row("not drawn", 0.1, 0.1, rows="train")]
    paths = [
        {"seed": seed, "gap": gap, "rmse": 0.8 + 0.01 * seed - gap}
        for seed in range(3)
        for gap in np.linspace(0, 0.4, 9)
    ]
    return draw_methods([*fair, *free, *seen], paths)


def names(axes):
    return [text for text in axes.texts if text.get_text()]


@pytest.mark.parametrize("crowd", [1, 3])
def test_names_overlap_neither_each_other_nor_the_panel(crowd):
    axes = picture(crowd).axes[0]
    boxes = [text.get_window_extent() for text in names(axes)]
    assert len(boxes) == crowd + 1
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    panel = axes.get_window_extent()
    for box in boxes:
        assert panel.x0 <= box.x0 and box.x1 <= panel.x1
        assert panel.y0 <= box.y0 and box.y1 <= panel.y1


def test_names_without_room_are_written_all_the_same():
    assert len(names(picture(crowd=30).axes[0])) == 31


def test_fair_methods_are_drawn_again_and_enlarged():
    panels = picture().axes[1:]
    assert [axes.get_title("left") for axes in panels] == ["RMSE", "AUC", "MD", "KS"]
    ticks = [label.get_text() for label in panels[0].get_yticklabels()]
    assert ticks == ["tilt", "true"]
    for axes, wanted in zip(panels, ((0.8, 0.79), (0.5, 0.5)), strict=False):
        marks = [
            line.get_xdata()[0] for line in axes.lines if line.get_marker() in "oD"
        ]
        assert tuple(marks) == wanted


def test_the_curve_is_the_mean_of_the_paths_of_all_draws():
    (curve,) = [li for li in picture().axes[0].lines if li.get_linewidth() == 2.4]
    np.testing.assert_allclose(curve.get_xdata(), np.linspace(0, 0.4, 9))
    np.testing.assert_allclose(curve.get_ydata(), 0.81 - np.linspace(0, 0.4, 9))


def test_tick_labels_of_neighbours_do_not_touch():
    boxes = [
        label.get_window_extent()
        for axes in picture().axes[1:]
        for label in axes.get_xticklabels()
        if label.get_text()
        and axes.get_xlim()[0] <= label.get_position()[0] <= axes.get_xlim()[1]
    ]
    assert len(boxes) > 4
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_files_are_the_same_for_the_same_records_and_have_no_date(tmp_path):
    for kind in ("png", "svg"):
        one, two = (as_bytes(picture(), kind) for _ in range(2))
        assert one == two
        (tmp_path / f"a.{kind}").write_bytes(one)
    assert ET.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
    assert b"<dc:date" not in one
    assert imread(tmp_path / "a.png").std() > 0


@pytest.mark.parametrize("known", [True, False])
def test_the_name_of_the_chosen_epsilon_keeps_off_points_and_intervals(known):
    half = 0.05 if known else np.nan
    rows = [
        PathRow(e, r, r - half, r + half, *[0.5] * 3, e, 0.0, r, 0.5, e, 0.0, "")
        for e, r in zip(np.linspace(0, 0.3, 7), 0.9 ** np.arange(7), strict=True)
    ]
    rows[3] = rows[3]._replace(cost=0.1, cost_se=0.2)
    path = Path(tuple(rows), 10, 10)
    axes = path.plot().axes[0]
    (label,) = names(axes)
    assert label.get_text() == "ε = 0.15"
    box = label.get_window_extent()
    points = axes.transData.transform([(row.gap, row.rmse) for row in rows])
    assert not any(box.contains(x, y) for x, y in points)
