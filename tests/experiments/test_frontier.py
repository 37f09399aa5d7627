import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread

from rankfair.experiments import frontier
from rankfair.experiments.records import Mean, Summary


def row(method, gap, rmse, needs_group="yes", rows="held-out"):
    figures = (rmse, 0.5 + gap, 0.0, 0.02)
    return Summary(method, needs_group, rows, *(Mean(it, 0.01) for it in figures))


def path(draws=3):
    return [
        {"seed": seed, "gap": gap, "rmse": 0.8 + 0.01 * seed - gap}
        for seed in range(draws)
        for gap in np.linspace(0, 0.4, 9)
    ]


def picture(crowd=3):
    fair = [row("tilt", 0.0, 0.8, "no"), row("true", 0.0, 0.79, "-")]
    free = [row(f"method {i}", 0.4, 0.4) for i in range(crowd)]
    seen = [row("not drawn", 0.1, 0.1, rows="train")]
    return frontier.draw([*fair, *free, *seen], path())


def names(axes):
    return [text for text in axes.texts if text.get_text()]


@pytest.mark.parametrize("crowd", [1, 2, 3])
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


def test_fair_methods_are_drawn_again_from_nearer():
    figure = picture()
    panels = figure.axes[1:]
    assert [axes.get_title("left") for axes in panels] == ["RMSE", "AUC", "MD", "KS"]
    ticks = [label.get_text() for label in panels[0].get_yticklabels()]
    assert ticks == ["tilt", "true"]
    for axes, wanted in zip(panels, ((0.8, 0.79), (0.5, 0.5)), strict=False):
        marks = [
            line.get_xdata()[0] for line in axes.lines if line.get_marker() in "oD"
        ]
        assert tuple(marks) == wanted


def test_the_curve_is_the_mean_of_the_paths_of_all_draws():
    x, y = frontier._mean_path(path())
    np.testing.assert_allclose(x, np.linspace(0, 0.4, 9))
    np.testing.assert_allclose(y, 0.81 - x)


def test_tick_labels_of_neighbours_do_not_touch():
    figure = picture()
    boxes = [
        label.get_window_extent()
        for axes in figure.axes[1:]
        for label in axes.get_xticklabels()
        if label.get_text()
        and axes.get_xlim()[0] <= label.get_position()[0] <= axes.get_xlim()[1]
    ]
    assert len(boxes) > 4
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_files_are_the_same_for_the_same_records():
    for kind in ("png", "svg"):
        one, two = (frontier.as_bytes(picture(), kind) for _ in range(2))
        assert one == two


def test_files_are_pictures_without_a_date(tmp_path):
    svg = frontier.as_bytes(picture(), "svg")
    assert ET.fromstring(svg).tag.endswith("svg")
    assert b"<dc:date" not in svg
    file = tmp_path / "a.png"
    file.write_bytes(frontier.as_bytes(picture(), "png"))
    assert imread(file).std() > 0
