"""The comparison of maps: how points are paired, what the page says of them."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.post import cases, points
from benchmarks.post import page as pages

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "maps.md").read_text(encoding="utf-8")


def results(rmse, ks, own=(0.0, 0.0)):
    """Ours at 0 under both demands; a rival at these figures, and ours beside it."""
    point, shape = points.Point, [[0.0] * 7] * len(rmse)
    rival = [[r, k, 0, 0, 0, 0, 0] for r, k in zip(rmse, ks, strict=True)]
    figures = {
        point("none", "unmoved"): shape,
        point("KS", "distribution"): shape,
        point("KS", "EquiPy"): rival,
        point("KS", "distribution", "EquiPy"): [[*own, 0, 0, 0, 0, 0]] * len(rmse),
        point("AUC", "rank"): shape,
        point("AUC", "shift"): rival,
        point("AUC", "line"): rival,
        point("path", "EquiPy 0.2"): rival,
    }
    return points.Results("data", "Data", len(rmse), figures)


@pytest.mark.parametrize(
    "steps, kind",
    [
        ([-1.0, -3.0], "lower"),
        ([0.0, 0.0], "lower"),
        ([3.0, -2.0], "level"),
        ([3.0, 2.0], "higher"),
        ([0.1], "higher"),
    ],
)
def test_a_difference_is_higher_beyond_one_standard_error(steps, kind):
    found = points.Difference.of(np.array(steps))
    assert found.mean == pytest.approx(np.mean(steps))
    if len(steps) > 1:
        error = np.std(steps, ddof=1) / math.sqrt(len(steps))
        assert found.error == pytest.approx(error)
    assert found.kind == kind


def test_the_summary_names_who_is_better():
    text = pages.summary([results([0.3, 0.5], [0.2, 0.2], own=(0.1, 0.3))])
    assert "RMSE of ours is no higher in 1; higher by less" in text
    assert "higher by more in 1 (Data, EquiPy at KS: +0.1000 ± 0.0000)" in text
    assert "lower RMSE than **rank** on 0 of 1 datasets, and a larger KS on 1" in text


def between(mark):
    return PAGE.split(f"<!-- {mark} -->")[1].split(f"<!-- /{mark} -->")[0].strip()


def test_the_page_is_whole_and_its_picture_is_there():
    for mark in ("versions", "choice", "summary", "against", "cost", "figures"):
        assert between(mark)
    assert "equipy" in between("versions")
    for image in re.findall(r"\]\((images/[^)]+)\)", PAGE):
        assert (ROOT / "docs" / image).stat().st_size > 1000
    for data in cases.DATA.values():
        assert f"### {data.title} ({data.splits} splits)" in between("figures")
