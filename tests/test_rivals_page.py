"""The comparison with other packages: who dominates whom, and the page about it."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.rivals import near, points, theirs
from benchmarks.rivals import page as pages
from benchmarks.rivals import store as kept
from benchmarks.rivals.cell import METHODS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "rivals"


def point(name, rows, library="rankfair", case="data", setting=""):
    """A point from rows of (RMSE, gap, MD, KS), one for each seed."""
    values = {
        measure: {seed: float(row[i]) for seed, row in enumerate(rows)}
        for i, measure in enumerate(points.MEASURES)
    }
    return points.Point(case, library, name, setting, values)


THEIRS = point("theirs", [[0.6, 0.1, 0.1, 0.1], [0.6, 0.1, 0.1, 0.1]], "other")


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([[0.5, 0.1, 0.1, 0.1]] * 2, "dominated"),
        ([[0.6, 0.1, 0.1, 0.1]] * 2, "same"),
        ([[0.599, 0.1, 0.1, 0.1], [0.603, 0.1, 0.1, 0.1]], "level"),
        ([[0.5, 0.2, 0.1, 0.1]] * 2, "ahead"),
        ([[0.7, 0.1, 0.1, 0.1]] * 2, "ahead"),
        # Leaps from seed to seed, so that everything would be within its noise.
        ([[0.1, 0.1, 0.1, 0.1], [2.0, 0.1, 0.1, 0.1]], "ahead"),
    ],
)
def test_judgement(rows, kind):
    mine = point("mine", rows)
    verdict = points.judge(THEIRS, [mine, point("elsewhere", rows, case="another")])
    assert (verdict.kind, verdict.mine) == (kind, mine)


def made_run(**changed):
    ours = point("tilt", [[0.5, 0.1, 0.1, 0.1]] * 2, setting="ε 0.01")
    fine = point("tilt", [[0.45, 0.0, 0.0, 0.0]] * 2, setting="ε 0")
    beaten = point("A", [[0.7, 0.1, 0.1, 0.1]] * 2, "other")
    better = point("B", [[0.4, 0.0, 0.0, 0.0]] * 2, "other")
    cost = {"fit": 1234.0, "predict": 0.5, "memory": 2.0}
    cells = [
        pages.Cell("data", "rankfair", "tilt", (ours, fine), cost),
        pages.Cell("data", "other", "A", (beaten,)),
        pages.Cell("data", "other", "B", (better,), cost, group=True),
        pages.Cell("data", "other", "C", (), None, "failed: ValueError: no"),
        pages.Cell("data", "other", "D", (), None, "stopped at the limit of 9 s"),
    ]
    settings = {
        "titles": {"data": "Some data"},
        "rows": {"data": 60_000},
        "bases": {"data": "trees"},
        "skipped": {"Gone": "not there"},
        "versions": {"other": "1.2"},
        "cells": cells,
        "minutes": 3.2,
    }
    return pages.Run(**(settings | changed))


def test_page_says_who_is_better_and_what_failed():
    text = pages.page(made_run())
    assert "Of 2 points of rivals 1 are dominated" in text
    assert "**Some data, other B**: better." in text
    assert "is worse in RMSE" in text
    assert "**Some data, other A**" not in text
    assert "- Some data, other C: failed: ValueError: no" in text
    assert "- Gone: left out. not there" in text
    assert "| other C |  | failed |" in text
    assert "| other B | yes | ✗ |" in text
    assert "| other D |  | too slow |" in text
    assert "| rankfair tilt | 1,200 |" in text
    assert "other 1.2" in text
    # ε 0 is shown because it is set beside B; the first setting always is.
    assert "| rankfair | tilt, ε 0.01 |  |" in text
    assert "| rankfair | tilt, ε 0 |  |" in text


def line(setting, seed, rmse, gap, training=False):
    figures = {"rmse": rmse, "gap": gap, "md": 2 * gap, "ks": 3 * gap}
    record = {"training": figures} if training else figures
    return json.dumps({"setting": setting, "seed": seed, **record})


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A rival that is far less fair on held-out rows than on training rows."""
    monkeypatch.setattr(kept, "STORE", tmp_path)
    rival = theirs.METHODS[0]
    path = kept.path_of("wine", rival)
    path.parent.mkdir()
    lines = [
        json.dumps({"fit": 2.0, "predict": 1.0, "memory": 1.0}),
        *(line(1.0, seed, 0.7, 0.4) for seed in (0, 1)),
        "half a li",
        json.dumps({"note": ""}),
        *(line(1.0, seed, 0.6, 0.1, training=True) for seed in (0, 1)),
        # Of no use to anybody: ours are not set by it.
        *(line(0.5, seed, 3.0, 0.2, training=True) for seed in (0, 1)),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return rival


def test_a_cell_shows_held_out_rows_only(store):
    cell = kept.read_cell("wine", store)
    assert [point.mean("gap") for point in cell.points] == [0.4]
    assert (cell.note, cell.cost["fit"]) == ("", 2.0)


def test_ours_are_set_by_training_rows_only(store):
    ours = {method.name: method for method in METHODS.values()}
    for name, wanted in {
        "map, rank": {0.1, 0.09, 0.102},
        "map, distribution": {0.3, 0.27, 0.306},
        "line, mean": {0.2, 0.18, 0.204},
        "tilt, rank and mean": {(0.1, 0.2), (0.09, 0.18), (0.102, 0.204)},
        "NC-ADMM": set(),
    }.items():
        own = set(ours[name].settings)
        assert set(near.settings_of("wine", ours[name], False)) == own | wanted
    assert near.settings_of("wine", store, False) == store.settings


def pinned():
    lines = (FOLDER / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_page_in_the_docs_is_of_the_pinned_versions():
    text = (ROOT / "docs" / "rivals.md").read_text(encoding="utf-8")
    for line in pinned():
        name, number = re.sub(r"\[.*\]", "", line).split("==")
        if re.search(rf"\b{name} \d", text):
            assert f"{name} {number}" in text
    for name in ("fairlearn", "holisticai", "equipy", "scikit-lego", "fairret"):
        assert re.search(rf"{name} \d", text)
