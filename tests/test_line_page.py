"""docs/line.md: what it says of counts and directions, and what it is made of."""

import argparse
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks import line_page as script

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "line.md").read_text(encoding="utf-8")


def shown(mark):
    """Return the rows of a measured table of the page as cells."""
    part = PAGE.partition(f"<!-- {mark} -->")[2].partition(f"<!-- /{mark} -->")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]


def figures(cells):
    """Return "value ± error" as pairs of numbers."""
    return [tuple(map(float, cell.split(" ± "))) for cell in cells]


def test_the_page_shows_that_left_out_counts_are_near_one_half():
    rows = {(model, count): figures(cells) for model, count, *cells in shown("drift")}
    assert [*rows] == [(m, c) for m in script.MODELS for c in script.COUNTS]
    default = rows["pooled (default)", "left-out rows (default)"]
    alone = rows["every task on its own", "training rows"]
    assert len(default) == len(script.SIZES)
    assert all(abs(value) <= 0.004 + 2 * error for value, error in default)
    assert all(value > 0.02 for value, _ in alone)


@pytest.mark.usefixtures("real_data")
def test_a_small_run_writes_the_page_with_its_pictures(tmp_path):
    script.write(argparse.Namespace(seeds=2, sizes=(10,), bootstraps=2, out=tmp_path))
    made = (tmp_path / "line.md").read_text(encoding="utf-8")
    pictures = set(re.findall(r"\((images/.*?\.svg)\)", made))
    assert {f"images/{path.name}" for path in tmp_path.glob("images/*")} == pictures
    for name in pictures:
        assert ET.parse(tmp_path / name).getroot().tag.endswith("svg")
        assert ET.parse(DOCS / name).getroot().tag.endswith("svg")

    def words(text):
        return re.sub(r"<!-- (\w+) -->.*?<!-- /\1 -->", "", text, flags=re.S)

    assert words(made) == words(PAGE)
    assert "2 draws a cell." in made
