import csv
from dataclasses import replace

import pytest

from paper import run as module
from paper.methods import METHODS
from paper.run import reproduce


@pytest.fixture(scope="module")
def small(tiny):
    """Return settings that are smaller still, with parameters that are no defaults."""
    few = {"grid": (0.1,), "epsilons": (0.005,), "path": (0.2,)}
    return replace(tiny, repeats=1, n_tasks=4, **few)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, small):
    """Return the folder of a run in one process, and what came of it."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, reproduce(folder, small, jobs=1)


@pytest.fixture
def ran(monkeypatch):
    """Return the cells that were run, and not taken from the cache, from now on."""
    seen, run_cell = [], module.run_cell

    def noted(cell, *rest):
        seen.append(cell)
        return run_cell(cell, *rest)

    monkeypatch.setattr(module, "run_cell", noted)
    return seen


def test_records_are_in_the_order_of_the_plan_and_in_a_file(whole):
    folder, result = whole
    kinds = list(dict.fromkeys(row["kind"] for row in result.records))
    assert kinds == ["cv", "table", "path", "steps"]
    with (folder / "records.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = [(row["method"], float(row["auc"])) for row in rows]
    assert found == [(row["method"], row["auc"]) for row in result.records]


def test_two_processes_give_the_same_bytes(whole, tmp_path, small):
    reproduce(tmp_path, small, jobs=2)
    for name in ("records.csv", "run.json"):
        assert (tmp_path / name).read_bytes() == (whole[0] / name).read_bytes()


def test_a_finished_run_is_not_run_again_and_a_larger_one_adds(whole, ran, small):
    folder, result = whole
    assert reproduce(folder, small, jobs=1).records == result.records
    less = reproduce(folder, replace(small, figures=False), jobs=1)
    assert {row["kind"] for row in less.records} == {"cv", "table"}
    assert ran == []
    more = reproduce(folder, replace(small, path=(0.1, 0.2)), jobs=1)
    assert {(it.kind, it.epsilon) for it in ran} == {("path", 0.1)}
    assert len(more.records) == len(result.records) + 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_run_that_was_stopped_or_failed_goes_on(
    whole, tmp_path, monkeypatch, ran, small, error
):
    def broken(train, chosen, seed):
        raise error("no luck")

    with monkeypatch.context() as patch:
        patch.setitem(METHODS, "SDBC", broken)
        if error is KeyboardInterrupt:
            with pytest.raises(KeyboardInterrupt):
                reproduce(tmp_path, small, jobs=1)
        else:
            records = reproduce(tmp_path, small, jobs=1).records
            bad = [row for row in records if "error" in row]
            assert [row["method"] for row in bad] == ["SDBC"]
            assert bad[0]["error"] == "ZeroDivisionError: no luck"
    before = set(ran)
    ran.clear()
    assert reproduce(tmp_path, small, jobs=1).records == whole[1].records
    # What was finished is not run again; what failed is.
    assert {cell.method for cell in before & set(ran)} == {"SDBC"}
