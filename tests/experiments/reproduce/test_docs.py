import re
from dataclasses import replace

import pytest

from rankfair.experiments.reproduce import cases, facts
from rankfair.experiments.reproduce.docs import as_page, pictures_of, write_docs
from rankfair.experiments.reproduce.files import write_pages
from rankfair.experiments.reproduce.run import Result, find_data
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.summary import Summary


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
    written = write_pages(tmp_path / "out", result)
    written += write_docs(tmp_path / "docs", result, pictures_of(written))
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
    written = write_pages(tmp_path, plain)
    assert {path.suffix for path in written} == {".jsonl", ".csv", ".md", ".html"}


def test_where_nothing_ran_nothing_is_claimed():
    page = as_page(Result(Settings(("wine",)), [], {"wine": "no file"}, {}))
    assert "What is claimed" not in page and "Holds" not in page
    assert "Accuracy alone chose" not in page


def bad(kind, method, repeat=0, why="ValueError: a | b"):
    head = {"kind": kind, "data": "synthetic 0.9", "method": method}
    return head | {"repeat": repeat, "error": why}


def test_all_failures_are_on_all_pages_and_escaped(result, tmp_path):
    rows = [*result.records, bad("table", "SDBC", 7), bad("cv", "epsilon")]
    failed = result._replace(records=rows)
    page = as_page(failed)
    assert "## What failed" in page and "## What failed" not in as_page(result)
    paths = write_pages(tmp_path, failed)[2:4]
    for text in (page, *(path.read_text(encoding="utf-8") for path in paths)):
        for said in ("SDBC (repeat 7) failed", "cross-validation of epsilon failed"):
            assert said in text
    assert "ValueError: a \\| b" in page


def test_a_failed_cross_validation_is_in_the_table_of_parameters(result):
    rows = [row for row in result.records if row["kind"] != "cv"]
    rows += [bad("cv", name) for name in ("beta", "beta_shared", "epsilon")]
    page = as_page(result._replace(records=rows))
    default = "default (cross-validation failed)"
    cells = " | ".join([*[default] * 4, "–", default, "–"])
    assert f"| Synthetic, α = 0.9 | {cells} |" in page


def test_errors_of_both_penalties_are_those_of_cross_validation(result):
    tried = Summary(result.records).tried
    best = (min(tried("synthetic 0.9", it).values()) for it in ("beta", "beta_shared"))
    page = as_page(result)
    assert " | ".join(f"{it:.4f}" for it in best) in page


def test_how_often_the_least_fair_was_chosen_is_counted(result):
    chosen = Summary(result.records).choices("synthetic 0.9")
    epsilon = int(chosen["epsilon"] == 0.005)
    trade_off = int(chosen["trade_off"] == 0.1)
    page = as_page(result)
    assert f"the largest ε in {epsilon} of 1 datasets" in page
    assert f"the smallest trade-off in {trade_off} of 1" in page
    other = [row for row in result.records if row["method"] != "trade_off"]
    assert "Accuracy alone" not in as_page(result._replace(records=other))


def test_wild_errors_and_constants_are_found_in_the_records(result):
    rows = [
        row | {"rmse": {"SSBR s=4": 12.0, "SSEM s=5": 1.0}.get(row["method"], 0.5)}
        for row in result.records
        if row["kind"] == "table"
    ]
    page = as_page(result._replace(records=rows))
    assert "above 2 on training rows: Synthetic, α = 0.9: SSBR s=4 12.000 ± 0" in page
    assert "RMSE 1; here: Synthetic, α = 0.9: SSEM s=5." in page
    calm = [row | {"rmse": 0.5} for row in rows]
    assert "errs wildly" not in as_page(result._replace(records=calm))


def test_the_page_says_what_held_out_rows_were_used_for(result):
    page = " ".join(as_page(result).split())
    assert (
        "For Wine and Student the parameters of the first repeat have seen most rows "
        "that later repeats hold out" in page
    )
    assert "these means and deviations use the held-out rows too" in page
    assert "and theirs as printed" in page
    assert "ours and theirs alike" not in page
    assert "Every measured number" in page
    assert "rankfair reproduce --data synthetic-0.9 --seed 0 --repeats 2" in page


def test_numbers_of_the_code_are_not_typed(result, monkeypatch):
    for name, value in (("LAST_WEEKS", 77), ("NARROW", 0.123), ("TRAIN_SHARE", 0.41)):
        monkeypatch.setattr(facts, name, value)
    page = " ".join(as_page(result).split())
    for part in ("the last 77 weeks", "ε of at most 0.123", "59 in 100 rows"):
        assert part in page


def test_folders_of_the_machine_stay_out_of_files(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKFAIR_DATA", str(tmp_path / "secret"))
    cases._cached.cache_clear()
    settings = Settings(("crime",), figures=False)
    found = find_data(settings)
    assert "secret" in found.said["crime"]
    result = Result(settings, [], found.missing, {}, found.said)
    texts = [as_page(result)]
    paths = write_pages(tmp_path / "out", result)[2:]
    for text in (*texts, *(path.read_text(encoding="utf-8") for path in paths)):
        assert "secret" not in text
        assert "crime.csv not found; the variable RANKFAIR" in text.replace("\\", "")
