"""The table of three groups in docs/python.md: made by its benchmark, never typed."""

import itertools
import re
from pathlib import Path

from benchmarks import bench_groups
from benchmarks.tilts import TILTED

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("<!-- groups -->")[2].partition("<!-- /groups -->")[0]


def cells():
    rows = [line for line in TABLE.splitlines() if line.startswith("|")][2:]
    for row in rows:
        data, model, method, *figures = (it.strip() for it in row.strip("|").split("|"))
        yield data, model, method, [float(figure) for figure in figures]


def test_every_method_of_the_benchmark_is_there():
    methods = ["plain", "shift", "shift, out of fold", *TILTED]
    wanted = itertools.product(bench_groups.DATA, bench_groups.REGRESSORS, methods)
    assert [row[:3] for row in cells()] == list(wanted)


def test_the_table_is_what_the_benchmark_writes():
    results = {}
    for data, model, method, figures in cells():
        results.setdefault((data, model), {})[method] = [*figures, 0.0]
    seeds = int(re.search(r"over (\d+) split", TABLE)[1])
    assert bench_groups.page(results, seeds) == TABLE.strip()
