import json

import pytest

from rankfair.experiments.reproduce.cells import Cell
from rankfair.experiments.reproduce.journal import (
    Done,
    RefusedError,
    look,
    open_journal,
)
from rankfair.experiments.reproduce.methods import Choices

RUN = {"seed": 0, "grid": [0.1, 1.0]}
ONE = Done(Cell("table", "wine", "Rank", 1), [{"auc": 0.5, "note": "ä"}], 0.25)
TWO = Done(Cell("path", "wine", "Rank", 0, 0.1), [{"auc": 0.6}, {"auc": 0.1}], 1.5)
BAD = Done(Cell("table", "wine", "SDBC"), [{"error": "no luck"}], 0.1)


@pytest.fixture
def folder(tmp_path):
    with open_journal(tmp_path, RUN, resume=False) as journal:
        for done in (ONE, BAD, TWO):
            journal.add(done)
    return tmp_path


def resumed(folder, run=RUN):
    with open_journal(folder, run, resume=True) as journal:
        return list(journal.cells.values())


def test_finished_cells_come_back_and_failed_ones_are_tried_again(folder):
    assert resumed(folder) == [ONE, TWO]
    assert resumed(folder) == [ONE, TWO]


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_line_that_was_cut_off_was_never_written(folder, cut):
    path = folder / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert resumed(folder) == [ONE]
    # And the next line does not continue the broken one.
    with open_journal(folder, RUN, resume=True) as journal:
        journal.add(TWO)
    assert resumed(folder) == [ONE, TWO]


@pytest.mark.parametrize(
    "line", ["5", "null", "[1, 2, 3]", "[1, 2, 3, 4]", '[["a"], [], 1, []]',
    '[["a", "b", [1]], [], 1, []]', '[["a", "b", "c"], [1], 1, []]']
)  # fmt: skip
def test_a_line_of_something_else_is_broken(folder, line):
    path = folder / "journal.jsonl"
    path.write_text(f"{line}\n{path.read_text()}")
    assert resumed(folder) == []


def test_what_follows_a_broken_line_is_not_trusted(folder):
    path = folder / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("{nonsense\n" + "".join(lines))
    assert resumed(folder) == []


def test_a_cell_is_on_the_disk_when_add_returns(tmp_path):
    with open_journal(tmp_path, RUN, resume=False) as journal:
        journal.add(ONE)
        (line,) = (tmp_path / "journal.jsonl").read_text().splitlines()
        assert json.loads(line)[2] == 0.25


@pytest.mark.parametrize("name", ["journal.jsonl", "records.jsonl"])
def test_a_folder_with_a_run_is_refused_without_resume(tmp_path, name):
    (tmp_path / name).write_text("")
    with pytest.raises(RefusedError, match="--resume"):
        open_journal(tmp_path, RUN, resume=False)


def test_another_run_is_refused_and_what_differs_is_named(folder):
    with pytest.raises(RefusedError) as said:
        open_journal(folder, {**RUN, "seed": 5, "keep": 2}, resume=True)
    assert "seed was 0, is 5; keep was not recorded, is 2" in str(said.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"data wine": "missing"}, {"data wine": "abc"}),
        ({}, {"data wine": "abc"}),
        ({"data wine": "abc"}, {}),
        ({"repeats": 20}, {"repeats": 2}),
        ({"figures": True}, {"figures": False}),
        ({"data": ["wine"]}, {"data": ["wine", "crime"]}),
        ({"path": [0.0]}, {"path": [0.0, 0.1]}),
    ],
)
def test_what_only_adds_cells_is_no_other_run(tmp_path, old, new):
    with open_journal(tmp_path, RUN | old, resume=False) as journal:
        journal.add(ONE)
    assert resumed(tmp_path, RUN | new) == [ONE]
    # The new settings are written; what is known of other data is kept.
    assert json.loads((tmp_path / "run.json").read_text()) == RUN | old | new


@pytest.mark.parametrize("now", ["other", "missing"])
def test_other_data_is_another_run(tmp_path, now):
    with open_journal(tmp_path, RUN | {"data wine": "abc"}, resume=False):
        pass
    with pytest.raises(RefusedError, match=f"data wine was abc, is {now}"):
        open_journal(tmp_path, RUN | {"data wine": now}, resume=True)


def test_what_a_cell_was_run_with_comes_back(tmp_path):
    done = ONE._replace(chosen=Choices(0.5, "shared", 2.0, 0.1, 3.0))
    with open_journal(tmp_path, RUN, resume=False) as journal:
        journal.add(done)
    assert look(tmp_path).cells == {done.cell: done}


def test_settings_that_cannot_be_read_are_another_run(folder):
    for content in ("{", "[]"):
        (folder / "run.json").write_text(content)
        with pytest.raises(RefusedError, match="seed was not recorded"):
            open_journal(folder, RUN, resume=True)


def test_resume_of_nothing_starts(tmp_path):
    assert resumed(tmp_path / "new") == []


def test_records_without_a_journal_start_again(folder):
    (folder / "journal.jsonl").rename(folder / "records.jsonl")
    assert resumed(folder) == []
