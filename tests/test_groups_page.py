"""The table of three groups in docs/python.md: made by its benchmark, never typed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("<!-- groups -->")[2].partition("<!-- /groups -->")[0]


def cells():
    rows = [line for line in TABLE.splitlines() if line.startswith("|")][2:]
    for row in rows:
        data, model, method, *figures = (it.strip() for it in row.strip("|").split("|"))
        yield data, model, method, [float(figure) for figure in figures]


def test_the_page_says_how_many_splits_it_is_the_mean_of():
    assert re.match(r"\s*Means over \d+ splits?:\n", TABLE)


def test_every_method_of_the_benchmark_is_there():
    source = (ROOT / "benchmarks" / "bench_groups.py").read_text(encoding="utf-8")
    found = [(data, model, method) for data, model, method, _ in cells()]
    assert len(set(found)) == len(found) == 2 * 2 * 5
    for name in {name for row in found for name in row}:
        assert f'"{name}"' in source


def test_parts_are_those_of_the_errors():
    whole = {row[:2]: row[3][0] for row in cells() if row[2] == "shift"}
    for data, model, _, (error, part, gap, ks, _refits) in cells():
        assert part == pytest.approx(error / whole[data, model], abs=3e-3)
        assert 0 <= gap <= 0.5 and gap <= ks <= 1
