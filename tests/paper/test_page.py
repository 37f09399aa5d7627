import re
from dataclasses import replace

import pytest

from paper.page import as_page, write_page
from paper.run import Result
from paper.settings import QUICK, Settings

DATA = "synthetic 0.9"


@pytest.fixture(scope="module")
def result(records, tiny):
    return Result(tiny, records)


def bad(kind, method, repeat=0):
    head = {"kind": kind, "data": DATA, "method": method, "repeat": repeat}
    return head | {"error": "ValueError: a | b"}


def test_the_page_says_what_holds_and_links_to_files_that_are_written(result, tmp_path):
    written = write_page(tmp_path, result)
    page = written[0].read_text(encoding="utf-8")
    assert re.search(r"\*\*Holds\*\* \(1 of 1 datasets\): Rank has", page)
    assert "### Table II" in page and "quick run" not in page
    links = [tmp_path / it for it in re.findall(r"\]\(([^)]+)\)", page)]
    assert links and set(links) == {*written[1:]}
    plain = result._replace(settings=replace(result.settings, figures=False))
    assert [path.name for path in write_page(tmp_path, plain)] == ["reproduction.md"]


def test_a_quick_run_and_missing_data_are_named_and_nothing_is_claimed():
    settings = Settings(("wine",), **QUICK)
    page = as_page(Result(settings, [], {"wine": "no file"}))
    assert "**This is a quick run**" in page
    assert "**Wine was not run**: no file" in page
    assert not re.search("What is claimed|Holds|What failed|Accuracy alone", page)


def test_failures_are_on_the_page_and_among_the_parameters(result):
    rows = [row for row in result.records if row["kind"] != "cv"]
    rows += [bad("cv", name) for name in ("beta", "beta_shared", "epsilon")]
    page = as_page(result._replace(records=[*rows, bad("table", "SDBC", 7)]))
    assert "## What failed" in page
    assert "SDBC (repeat 7) failed: ValueError: a \\| b" in page
    assert "cross-validation of epsilon failed" in page
    default = "default (cross-validation failed)"
    cells = " | ".join([*[default] * 4, "–", default, "–"])
    assert f"| Synthetic, α = 0.9 | {cells} |" in page
