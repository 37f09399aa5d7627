import math
import statistics

import pytest

from rankfair.experiments.reproduce.summary import Failure, Stat, Summary


def row(method, repeat=0, rows="train", data="wine", kind="table", **measures):
    head = {"kind": kind, "data": data, "method": method, "repeat": repeat}
    return head | {"rows": rows} | measures


def test_mean_and_standard_deviation_are_over_repeats():
    values = [0.2, 0.5, 0.6]
    found = Summary([row("Rank", i, auc=it) for i, it in enumerate(values)])
    stat = found.stat("wine", "Rank", "auc")
    assert stat.mean == pytest.approx(statistics.fmean(values))
    assert stat.sd == pytest.approx(statistics.stdev(values))
    assert Stat.of([0.5]).sd is None


def test_swapping_the_groups_shows_the_same():
    aucs, ratios = [0.2, 0.45, 0.6], [0.5, 0.9, 1.2]
    one, two = (
        Summary([row("Rank", i, auc=a, irr=r) for i, (a, r) in enumerate(pairs)])
        for pairs in (
            list(zip(aucs, ratios, strict=True)),
            [(1 - a, 1 / r) for a, r in zip(aucs, ratios, strict=True)],
        )
    )
    shown = one.shown("wine", "Rank", "auc")
    assert shown.mean >= 0.5
    assert shown.mean == pytest.approx(two.shown("wine", "Rank", "auc").mean)
    assert shown.sd == pytest.approx(two.shown("wine", "Rank", "auc").sd)
    assert one.shown("wine", "Rank", "irr").mean <= 1
    assert two.shown("wine", "Rank", "irr").mean <= 1


def test_what_is_not_there_is_none():
    found = Summary([])
    assert found.stat("wine", "Rank", "auc") is None
    assert found.shown("wine", "Rank", "auc") is None
    assert found.best("wine", ["Rank"], "auc") is None
    assert math.isnan(found.most("wine", "Rank", "gap"))
    assert found.path("wine", "train").x == ()
    assert found.failed("wine", "Rank") == ()
    assert found.repeats("wine", "Rank") == 0


def test_the_best_is_the_nearest_to_ideal():
    found = Summary([row("a", auc=0.47, md=-0.1), row("b", auc=0.6, md=0.05)])
    assert found.best("wine", ["a", "b", "c"], "auc")[0] == "a"
    assert found.best("wine", ["a", "b"], "md")[0] == "b"


def test_far_off_on_both_sides_is_not_near():
    wild = [row("wild", i, md=it) for i, it in enumerate([-5.0, 5.0])]
    found = Summary([*wild, row("calm", md=0.3)])
    assert found.best("wine", ["wild", "calm"], "md")[0] == "calm"


def test_a_constant_is_level_but_not_the_best():
    flat, fair = row("flat", auc=0.5, rmse=1.0), row("fair", auc=0.51, rmse=0.8)
    found = Summary([flat, fair])
    assert found.best("wine", ["flat", "fair"], "auc")[0] == "fair"
    assert found.best("wine", ["flat"], "auc")[0] == "flat"


def test_level_methods_come_by_error_and_others_not_at_all():
    found = Summary(
        [
            row("far", gap=0.2, rmse=0.1),
            row("good", gap=0.0, rmse=0.5),
            row("better", gap=0.01, rmse=0.4),
            row("broken", error="no luck"),
        ]
    )
    names = ["far", "good", "better", "broken"]
    assert found.level("wine", names, 0.01) == ["better", "good"]
    assert found.most("wine", "good", "rmse", ideal=1.0) == 0.5


def bad(method, repeat=0, kind="table", why="no luck"):
    head = {"kind": kind, "data": "wine", "method": method, "repeat": repeat}
    return head | {"error": why}


def test_failures_are_found_with_all_their_repeats():
    rows = [row("b", auc=0.5), bad("b", 1), bad("b", 3), bad("b", 4, why="worse")]
    found = Summary([*rows, bad("b", 0, "path"), bad("epsilon", 0, "cv")])
    assert found.failed("wine", "b") == ["no luck", "no luck", "worse"]
    assert found.repeats("wine", "b") == 4
    assert found.failures() == [
        Failure("table", "wine", "b", "no luck", (1, 3)),
        Failure("table", "wine", "b", "worse", (4,)),
        Failure("path", "wine", "b", "no luck", (0,)),
        Failure("cv", "wine", "epsilon", "no luck", (0,)),
    ]
    assert found.untuned("wine") == ["epsilon"]


def test_a_path_is_in_the_order_of_epsilon():
    rows = [
        row("Rank", i, kind="path", epsilon=e, rmse=1 - e + i)
        for e in (0.2, 0.0)
        for i in (0, 1)
    ]
    curve = Summary(rows).path("wine", "train")
    assert curve.x == (0.0, 0.2)
    assert [stat.mean for stat in curve.stats] == pytest.approx([1.5, 1.3])
