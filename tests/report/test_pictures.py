import math
import re
from dataclasses import replace

import pytest

import audits
from rankfair.report.distributions import COLOURS, MOST_ROWS, panels
from rankfair.report.frontier import AIR, Dot, draw, place
from rankfair.stats.estimate import Estimate


def dot(gap, error, gap_ends=(math.nan, math.nan), ends=(math.nan, math.nan), **more):
    return Dot(Estimate(gap, *gap_ends), Estimate(error, *ends), **more)


def test_every_model_has_a_picture_on_the_same_scales():
    audit = audits.make_audit(models=("a", "b", "c"))
    one, *others = panels(audit, audit.sensitive_features[0])
    assert [one.model, *(p.model for p in others)] == ["a", "b", "c"]
    assert all(p.x_ticks == one.x_ticks and p.y_ticks == one.y_ticks for p in others)


def test_the_area_of_an_outline_is_the_same_for_all_groups():
    audit = audits.make_audit()
    areas = [
        sum(h * w for h, w in _steps(shape.path, shape.base))
        for panel in panels(audit, audit.sensitive_features[0])
        for shape in panel.shapes
    ]
    assert areas == pytest.approx([areas[0]] * len(areas), rel=2e-3)


def _steps(path, base):
    """Return height and width of every step."""
    x = float(re.match(r"M([\d.]+) ", path)[1])
    for y, right in re.findall(r"V([\d.]+)H([\d.]+)", path):
        yield base - float(y), float(right) - x
        x = float(right)


@pytest.mark.parametrize("n", [2, 3])
def test_few_groups_lie_over_each_other(n):
    audit = audits.make_audit(attributes=(("race", tuple("abc"[:n])),))
    for panel in panels(audit, audit.sensitive_features[0]):
        assert {shape.base for shape in panel.shapes} == {panel.base}
        assert len({shape.colour for shape in panel.shapes}) == n


def test_many_groups_stand_in_rows_the_largest_of_them():
    names = tuple(f"group {i:02}" for i in range(MOST_ROWS + 3))
    audit = audits.make_audit(attributes=(("race", names),))
    for panel in panels(audit, audit.sensitive_features[0]):
        assert [shape.group for shape in panel.shapes] == list(names[3:])
        assert len({shape.base for shape in panel.shapes}) == MOST_ROWS
        assert {shape.colour for shape in panel.shapes} == set(range(1, COLOURS + 1))


def test_a_mean_outside_the_picture_or_unknown_is_not_drawn():
    audit = audits.make_audit(models=("m",))
    (attribute,) = audit.sensitive_features
    groups = tuple(
        replace(group, mean_predicted={"m": mean})
        for group, mean in zip(attribute.groups, (math.nan, 1e9), strict=True)
    )
    (panel,) = panels(audit, replace(attribute, groups=groups))
    assert [shape.mean for shape in panel.shapes] == [None, None]


def test_one_prediction_for_all_rows_can_be_drawn():
    audit = audits.make_audit(models=("m",))
    flat = tuple(replace(h, edges=(3.0, 3.0), shares=(1.0,)) for h in audit.histograms)
    (panel,) = panels(replace(audit, histograms=flat), audit.sensitive_features[0])
    assert all(shape.path for shape in panel.shapes)


def test_without_histograms_there_is_no_picture():
    audit = audits.make_audit(histograms=())
    assert panels(audit, audit.sensitive_features[0]) == []


def test_a_model_or_a_group_without_histograms_is_left_out():
    audit = audits.make_audit()
    some = tuple(h for h in audit.histograms if h.model == "after" and h.group == "F")
    (panel,) = panels(replace(audit, histograms=some), audit.sensitive_features[0])
    assert panel.model == "after"
    assert [shape.group for shape in panel.shapes] == ["F"]


def test_a_frontier_keeps_the_order_of_errors_and_gaps():
    dots = [dot(0.1, 3.0), dot(0.2, 2.0), dot(0.3, 1.0)]
    spots = draw(dots, True).spots
    assert [s.x for s in spots] == sorted(s.x for s in spots)
    assert [s.y for s in spots] == sorted(s.y for s in spots)


def test_unknown_points_are_left_out_and_nothing_is_no_picture():
    known = dot(0.1, 1.0, label="a")
    assert len(draw([known, dot(math.nan, 1.0), dot(0.1, math.nan)]).spots) == 1
    assert draw([dot(math.nan, 1.0)]) is None
    assert draw(()) is None


def test_whiskers_are_drawn_where_both_limits_are_known():
    spots = draw([dot(0.1, 1.0, (0.05, 0.15)), dot(0.2, 1.0, ends=(0.5, 1.5))]).spots
    assert [len(spot.bars) for spot in spots] == [1, 1]
    (across,), (upright,) = (spot.bars for spot in spots)
    assert across[1] == across[3]
    assert upright[0] == upright[2]


def test_labels_of_a_cluster_do_not_cover_each_other():
    points = [(200 + i, 150 + i) for i in range(8)]
    labels = place(points, [f"method {i}" for i in range(8)], [], (0, 0, 440, 320))
    boxes = [label.box for label in labels]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = one[2] <= other[0] or other[2] <= one[0]
            assert apart or one[3] <= other[1] or other[3] <= one[1]
    assert all(b[0] >= 0 and b[1] >= 0 and b[2] <= 440 and b[3] <= 320 for b in boxes)
    assert any(label.leader for label in labels)


def test_numbers_side_by_side_do_not_run_together():
    """Two near points whose whiskers leave room on one line only."""
    points = [(60.0, 150.0), (67.0, 150.0)]
    walls = [(0.0, 0.0, 440.0, 152.0), (75.0, 0.0, 440.0, 320.0)]
    one, two = place(points, ["10", "6"], walls, (0, 0, 440, 320))
    across = max(one.box[0], two.box[0]) - min(one.box[2], two.box[2])
    upright = max(one.box[1], two.box[1]) - min(one.box[3], two.box[3])
    assert across >= AIR or upright >= 1


def test_numbers_of_points_that_lie_together_are_written_once():
    dots = [dot(0.1, 1.0, label=name, number=i) for i, name in enumerate("abc", 1)]
    picture = draw([*dots, dot(0.3, 2.0, label="d", number=4)])
    assert [label.text for label in picture.labels if label] == ["1, 2, 3", "4"]
    assert [spot.name for spot in picture.spots] == list("abcd")


def test_a_band_holds_the_limits_of_a_path_or_whiskers_do():
    path = [dot(0.0, 2.0, ends=(1.5, 2.5)), dot(0.2, 1.0, ends=(0.5, 1.5))]
    picture = draw(path, True)
    assert picture.band.count("L") == 3
    assert not any(spot.bars for spot in picture.spots)
    half = draw([path[0], dot(0.2, 1.0)], True)
    assert half.band == ""
    assert [len(spot.bars) for spot in half.spots] == [1, 0]


def test_a_band_of_a_path_that_turns_back_goes_from_left_to_right():
    path = [dot(gap, 1.0, ends=(0.5, 1.5)) for gap in (0.1, 0.0, 0.2)]
    picture = draw(path, True)
    points = picture.band.strip("MZ").split("L")
    across = [float(point.split()[0]) for point in points]
    assert across[:3] == sorted(across[:3]) == across[:2:-1]
    first, second, _ = picture.curve.strip("M").split("L")  # the curve does turn back
    assert float(first.split()[0]) > float(second.split()[0])
