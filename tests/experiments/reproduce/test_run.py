import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from rankfair.experiments.reproduce import cases
from rankfair.experiments.reproduce import run as module
from rankfair.experiments.reproduce.journal import RefusedError, look
from rankfair.experiments.reproduce.lock import LOCK
from rankfair.experiments.reproduce.methods import Choices
from rankfair.experiments.reproduce.run import find_data, reproduce
from rankfair.experiments.reproduce.settings import Settings
from rankfair.experiments.reproduce.workers import Workers

SMALL = Settings(
    ("synthetic 0.9",),
    repeats=2,
    grid=(0.1, 1.0),
    epsilons=(0.0,),
    folds=2,
    path=(0.0, 0.2),
    n_tasks=4,
)
# The command on small settings; spawned processes get them from their parent.
SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may ignore it
import sys
from rankfair.cli.app import app
from rankfair.experiments.reproduce import settings
from rankfair.experiments.reproduce.settings import Settings
settings.make = lambda *asked: {settings}
app(["reproduce", "--out", sys.argv[1], "--jobs", "2", *sys.argv[2:]])
"""
FILES = ("records.jsonl", "records.csv", "run.json")


def contents(folder):
    return [(folder / name).read_bytes() for name in FILES]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the folder of a run that nothing stopped, in one process."""
    folder = tmp_path_factory.mktemp("whole")
    told = []
    result = reproduce(folder, SMALL, jobs=1, on_cell=told.append)
    return folder, result, told


def test_records_are_in_canonical_order_and_without_a_clock(whole):
    folder, result, _ = whole
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == result.records
    kinds = list(dict.fromkeys(row["kind"] for row in result.records))
    assert kinds == ["cv", "table", "path", "steps"]
    assert not any("seconds" in row for row in result.records)
    assert len((folder / "records.csv").read_text().splitlines()) == len(lines) + 1
    times = (folder / "timings.csv").read_text().splitlines()
    assert len(times) == len(result.seconds) + 1


def test_what_cross_validation_chose_is_what_later_cells_used(whole):
    _, result, _ = whole
    tried = {
        row["value"]: row["rmse"]
        for row in result.records
        if (row["kind"], row["method"]) == ("cv", "beta")
    }
    best = min(tried, key=tried.get)
    used = {row["beta"] for row in result.records if row["method"] == "Rank"}
    assert used == {best}


def test_progress_goes_from_nothing_to_everything(whole):
    _, result, told = whole
    cells = len(result.seconds)
    assert told[0].done == 0 and told[0].share == 0
    assert len(told[0].at) == 1 and "synthetic 0.9: " in told[0].at[0]
    assert told[-1].done == told[-1].cells == cells
    assert told[-1].share == pytest.approx(1) and told[-1].at == ()
    assert [it.done for it in told] == sorted(it.done for it in told)


def test_two_processes_give_the_same_bytes(whole, tmp_path):
    reproduce(tmp_path, SMALL, jobs=2)
    assert contents(tmp_path) == contents(whole[0])


def test_a_finished_run_is_not_run_again(whole, tmp_path, monkeypatch):
    folder, result, _ = whole
    monkeypatch.setattr(module, "Workers", None)
    assert reproduce(folder, SMALL, resume=True).records == result.records
    with pytest.raises(RefusedError):
        reproduce(folder, SMALL)


def command(folder, *options):
    script = SCRIPT.format(settings=SMALL)
    return subprocess.Popen(
        [sys.executable, "-c", script, str(folder), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


@pytest.fixture
def copied(whole, tmp_path):
    """Return a copy of the folder of the finished run, to be changed."""
    return shutil.copytree(whole[0], tmp_path / "copied")


def cut(folder, keep):
    """Leave only some lines of the journal; return how many went."""
    path = folder / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines if keep(json.loads(line)[0])]
    path.write_text("".join(kept))
    return len(lines) - len(kept)


def test_other_data_is_another_run(copied, monkeypatch):
    monkeypatch.setattr(module, "fingerprint", lambda case: "other")
    with pytest.raises(RefusedError, match=r"data synthetic 0.9 was \w+, is other"):
        reproduce(copied, SMALL, resume=True)


@pytest.mark.parametrize(
    "name", ["code of rankfair", "version of Python", "machine", "BLAS"]
)
def test_other_code_or_another_machine_is_another_run(copied, monkeypatch, name):
    true = module.describe()
    monkeypatch.setattr(module, "describe", lambda: true | {name: "other"})
    with pytest.raises(RefusedError, match=f"{name} was .*, is other"):
        reproduce(copied, SMALL, resume=True)


def lose_data(monkeypatch):
    def refuse(*_):
        raise FileNotFoundError("wine.csv not found: put it into /some/where")

    monkeypatch.setattr(module, "fetch", refuse)
    monkeypatch.setattr(module, "make_case", refuse)


def test_a_finished_run_is_rendered_without_its_data(copied, whole, monkeypatch):
    lose_data(monkeypatch)
    monkeypatch.setattr(module, "Workers", None)
    result = reproduce(copied, SMALL, resume=True)
    assert (result.records, result.missing) == (whole[1].records, {})
    assert contents(copied) == contents(whole[0])


def test_an_unfinished_run_needs_its_data(copied, monkeypatch):
    assert cut(copied, lambda cell: cell[2] != "SDBC") == 2
    lose_data(monkeypatch)
    before = contents(copied)
    with pytest.raises(RefusedError, match=r"data synthetic 0.9 was \w+, is missing"):
        reproduce(copied, SMALL, resume=True)
    assert contents(copied) == before


def test_a_smaller_request_takes_its_part_and_a_larger_one_adds(
    copied, whole, monkeypatch
):
    ran = []
    send = Workers._send
    monkeypatch.setattr(Workers, "_send", lambda *it: (ran.append(it[2][0]), send(*it)))
    less = reproduce(copied, replace(SMALL, repeats=1, figures=False), resume=True)
    assert ran == []
    assert {row["kind"] for row in less.records} == {"cv", "table"}
    assert {row["repeat"] for row in less.records} == {0}
    again = reproduce(copied, SMALL, resume=True)
    assert ran == [] and again.records == whole[1].records
    assert contents(copied) == contents(whole[0])
    more = reproduce(copied, replace(SMALL, path=(0.0, 0.1, 0.2)), resume=True)
    assert {(it.kind, it.epsilon) for it in ran} == {("path", 0.1)}
    assert len(more.records) == len(again.records) + 2 * 2


def test_data_that_comes_later_is_added(monkeypatch, tmp_path):
    settings = replace(SMALL, repeats=1, figures=False)
    with monkeypatch.context() as gone:
        lose_data(gone)
        first = reproduce(tmp_path, settings)
    assert list(first.missing) == ["synthetic 0.9"] and first.there == []
    assert "/some" not in first.missing["synthetic 0.9"]
    assert "/some/where" in first.said["synthetic 0.9"]
    then = reproduce(tmp_path, settings, resume=True)
    assert then.missing == {} and then.records


def test_cells_run_after_a_failed_cross_validation_are_run_again(copied, whole):
    """As if β had failed: the default was used until the resume, and is not after."""
    path = copied / "journal.jsonl"
    lines = []
    for line in path.read_text().splitlines():
        cell, records, seconds, chosen = json.loads(line)
        if cell[0] == "cv" and cell[2].startswith("beta"):
            records = [{"kind": "cv", "data": cell[1], "method": cell[2], "error": "x"}]
        chosen = list(Choices())
        for row in records:
            if "rmse" in row:
                row["rmse"] += 0.25
        lines.append(json.dumps([cell, records, seconds, chosen]) + "\n")
    path.write_text("".join(lines))
    reproduce(copied, SMALL, jobs=1, resume=True)
    right = {
        cell: done for cell, done in look(whole[0]).cells.items() if cell.stage == 2
    }
    assert any(done.chosen != Choices() for done in right.values())
    found = look(copied).cells
    for cell, done in right.items():
        assert found[cell].chosen == done.chosen
        assert found[cell].records == done.records


@pytest.mark.skipif(
    not hasattr(signal, "SIGKILL"), reason="no such signals on this system"
)
@pytest.mark.parametrize("signal_sent", ["SIGINT", "SIGKILL"])
def test_a_run_that_was_stopped_goes_on_and_gives_the_same_bytes(
    whole, tmp_path, signal_sent
):
    process = command(tmp_path)
    journal = tmp_path / "journal.jsonl"
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    if signal_sent == "SIGINT":
        # As a terminal does it: every process of the group hears Ctrl-C.
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.kill()
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    # Only who was killed could not take the lock away; it is taken over below.
    assert (tmp_path / LOCK).exists() == (signal_sent == "SIGKILL")
    if signal_sent == "SIGINT":
        assert process.returncode == 130
        assert "--resume" in said
    assert journal.read_bytes().count(b"\n") < len(whole[1].seconds)
    assert not (tmp_path / "records.jsonl").exists()
    with journal.open("ab") as stream:
        stream.write(b'[["table", "synth')
    again = command(tmp_path, "--resume", "--quiet")
    shown, said = again.communicate(timeout=120)
    assert (again.returncode, said) == (0, "")
    assert f"wrote {tmp_path / 'tables.html'}" in shown
    assert contents(tmp_path) == contents(whole[0])


def test_data_that_is_not_there_is_named(monkeypatch, tmp_path):
    def refuse(name):
        raise OSError(f"{name} cannot be had")

    monkeypatch.setattr(module, "fetch", refuse)
    found = find_data(Settings(("wine",)))
    assert found.fingerprints == {}
    assert found.said == {"wine": "wine cannot be had"}
    assert found.missing["wine"].startswith("its files could not be had; the variable")
    result = reproduce(tmp_path, Settings(("wine",)))
    assert result.records == []
    assert (tmp_path / "records.jsonl").read_text() == ""


def test_missing_files_are_said_by_the_loader(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKFAIR_DATA", str(tmp_path))
    cases._cached.cache_clear()
    found = find_data(Settings(("crime", "synthetic 0.9", "income"), n_tasks=4))
    assert list(found.fingerprints) == ["synthetic 0.9"]
    for name in ("crime", "income"):
        assert f"{name}.csv not found" in found.said[name]
        assert str(tmp_path) in found.said[name]
        assert found.missing[name].startswith(f"{name}.csv not found; the variable")
    (tmp_path / "crime").mkdir()
    (tmp_path / "crime" / "crime.csv").write_text("other")
    damaged = find_data(Settings(("crime",))).missing["crime"]
    assert damaged.startswith("its files are damaged or of another version; ")
