import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from matplotlib.image import imread

from rankfair.experiments import frontier
from rankfair.experiments.records import Record


def record(method, gap, rmse, rows="train", epsilon=0.0):
    return Record(
        method=method,
        rows=rows,
        epsilon=epsilon,
        rmse=rmse,
        auc=0.5 + gap,
        gap=gap,
        md=0.0,
        br=0.0,
        irr=1.0,
        ks=0.0,
        seconds=0.0,
        note="",
    )


def both(method, gap, rmse, epsilon=0.0):
    return [record(method, gap, rmse, rows, epsilon) for rows in ("train", "held-out")]


def picture(crowd=3):
    path = np.linspace(0, 0.4, 9)
    curve = [row for x in path for row in both("tilt", x, 0.8 - x, x)]
    dots = [row for i in range(crowd) for row in both(f"method {i}", 0.0, 0.82)]
    return frontier.draw([*dots, *both("plain", 0.4, 0.4)], curve)


def names(axes):
    return [text for text in axes.texts if text.get_text()]


@pytest.mark.parametrize("crowd", [1, 2, 3])
def test_names_overlap_neither_each_other_nor_the_panel(crowd):
    figure = picture(crowd)
    for axes in figure.axes:
        boxes = [text.get_window_extent() for text in names(axes)]
        assert len(boxes) == crowd + 2
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
        panel = axes.get_window_extent()
        for box in boxes:
            assert panel.x0 <= box.x0 and box.x1 <= panel.x1
            assert panel.y0 <= box.y0 and box.y1 <= panel.y1


def test_names_without_room_are_written_all_the_same():
    for axes in picture(crowd=30).axes:
        assert len(names(axes)) == 32


def test_both_panels_have_the_same_scales():
    left, right = picture().axes
    assert left.get_xlim() == right.get_xlim()
    assert left.get_ylim() == right.get_ylim()


def test_files_are_the_same_for_the_same_records():
    for kind in ("png", "svg"):
        one, two = (frontier.as_bytes(picture(), kind) for _ in range(2))
        assert one == two


def test_files_are_pictures_without_a_date(tmp_path):
    svg = frontier.as_bytes(picture(), "svg")
    assert ET.fromstring(svg).tag.endswith("svg")
    assert b"<dc:date" not in svg
    path = tmp_path / "a.png"
    path.write_bytes(frontier.as_bytes(picture(), "png"))
    assert imread(path).std() > 0
