import re
from dataclasses import replace

import pytest

from rankfair.experiments.reproduce.docs import as_page, write_docs
from rankfair.experiments.reproduce.files import write_pages
from rankfair.experiments.reproduce.run import Result
from rankfair.experiments.reproduce.settings import Settings


@pytest.fixture(scope="module")
def result(records, tiny):
    return Result(tiny, records, {}, {})


def test_the_page_says_what_holds_with_figures(result):
    page = as_page(result, ("steps", "rmse"))
    assert re.search(r"\*\*Holds\*\* \(1 of 1 datasets\): Rank has", page)
    assert "images/reproduction-steps.svg" in page
    assert "images/reproduction-bars-real.svg" not in page
    assert "quick run" not in page
    assert "### Table II" in page


def test_links_are_to_files_that_are_written(result, tmp_path):
    written = write_docs(tmp_path, result, {"steps": b"<svg/>"})
    page = written[0].read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert (tmp_path / target).is_file()


def test_a_quick_run_and_missing_data_are_named():
    settings = Settings.quick(("wine",))
    page = as_page(Result(settings, [], {"wine": "no file"}, {}))
    assert "**This is a quick run**" in page
    assert "**Wine was not run**: no file" in page


def test_all_files_of_a_run_are_written(result, tmp_path):
    written = write_pages(tmp_path / "out", result, tmp_path / "docs")
    names = [path.relative_to(tmp_path).as_posix() for path in written]
    assert names[:4] == [
        f"out/{name}"
        for name in ("records.jsonl", "records.csv", "tables.md", "tables.html")
    ]
    assert "out/figures/bars-synthetic.png" in names
    assert "docs/reproduction.md" in names
    assert "docs/images/reproduction-steps.svg" in names
    assert all(path.is_file() for path in written[2:])


def test_without_figures_none_are_drawn(result, tmp_path):
    plain = result._replace(settings=replace(result.settings, figures=False))
    written = write_pages(tmp_path, plain, tmp_path / "docs")
    assert {path.suffix for path in written} == {".jsonl", ".csv", ".md", ".html"}
