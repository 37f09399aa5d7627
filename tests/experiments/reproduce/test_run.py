import json
import os
import signal
import subprocess
import sys
import time

import pytest

from rankfair.experiments.reproduce import cases
from rankfair.experiments.reproduce import run as module
from rankfair.experiments.reproduce.journal import RefusedError
from rankfair.experiments.reproduce.run import find_data, reproduce
from rankfair.experiments.reproduce.settings import Settings

SMALL = Settings(
    ("synthetic 0.9",),
    repeats=2,
    grid=(0.1, 1.0),
    epsilons=(0.0,),
    folds=2,
    path=(0.0, 0.2),
    n_tasks=4,
    steps=3,
)
# The command on small settings; spawned processes get them from their parent.
SCRIPT = """
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


def test_data_that_came_later_is_another_run(whole, monkeypatch):
    monkeypatch.setattr(module, "fingerprint", lambda case: "other")
    with pytest.raises(RefusedError, match=r"data synthetic 0.9 was \w+, is other"):
        reproduce(whole[0], SMALL, resume=True)


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on_and_gives_the_same_bytes(
    whole, tmp_path, signal_sent
):
    process = command(tmp_path)
    journal = tmp_path / "journal.jsonl"
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    if signal_sent == signal.SIGINT:
        # As a terminal does it: every process of the group hears Ctrl-C.
        os.killpg(process.pid, signal_sent)
    else:
        process.kill()
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    if signal_sent == signal.SIGINT:
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
    found, missing = find_data(Settings(("wine",)))
    assert found == {}
    assert missing == {"wine": "wine cannot be had"}
    result = reproduce(tmp_path, Settings(("wine",)))
    assert result.records == []
    assert (tmp_path / "records.jsonl").read_text() == ""


def test_missing_files_are_said_by_the_loader(monkeypatch, tmp_path):
    monkeypatch.setenv("RANKFAIR_DATA", str(tmp_path))
    cases._cached.cache_clear()
    found, missing = find_data(
        Settings(("crime", "synthetic 0.9", "income"), n_tasks=4)
    )
    assert list(found) == ["synthetic 0.9"]
    assert "crime.csv not found" in missing["crime"]
    assert "income.csv not found" in missing["income"]
