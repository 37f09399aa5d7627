import json
import os
import platform
import subprocess
import sys

import pytest

from rankfair.experiments.reproduce import lock
from rankfair.experiments.reproduce.journal import RefusedError
from rankfair.experiments.reproduce.lock import LOCK, locked


def leave(folder, pid, machine=None):
    """Leave the lock of another process."""
    holder = {"pid": pid, "machine": machine or platform.node()}
    (folder / LOCK).write_text(json.dumps(holder))


@pytest.fixture
def dead():
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_second_run_is_kept_out_while_the_first_is_at_work(tmp_path):
    with locked(tmp_path / "new") as path:
        assert json.loads(path.read_text())["pid"] == os.getpid()
        with (
            pytest.raises(RefusedError, match=f"process {os.getpid()} on"),
            locked(tmp_path / "new"),
        ):
            pass
        assert path.exists()
    assert not path.exists()


def test_what_went_wrong_inside_leaves_no_lock(tmp_path):
    with pytest.raises(KeyboardInterrupt), locked(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="cannot be told on this system")
def test_the_lock_of_a_dead_process_is_taken_over(tmp_path, dead):
    leave(tmp_path, dead)
    with locked(tmp_path) as path:
        assert json.loads(path.read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_a_process_of_another_machine_is_not_taken_for_dead(tmp_path, dead):
    leave(tmp_path, dead, "elsewhere")
    with pytest.raises(RefusedError, match=r"elsewhere.*remove .*run\.lock"):
        locked(tmp_path).__enter__()


@pytest.mark.parametrize("content", ["", "5", "{}", '{"pid": "x", "machine": "y"}'])
def test_a_lock_that_cannot_be_read_is_kept(tmp_path, content):
    (tmp_path / LOCK).write_text(content)
    with pytest.raises(RefusedError, match="did not give its name"):
        locked(tmp_path).__enter__()
    assert (tmp_path / LOCK).read_text() == content


def test_a_lock_that_is_gone_again_is_no_obstacle(tmp_path):
    lock._remove_stale(tmp_path / LOCK)
    assert list(tmp_path.iterdir()) == []


def test_the_quicker_of_two_has_it(tmp_path, dead, monkeypatch):
    # Between the look at the stale lock and its removal someone else took it over.
    leave(tmp_path, dead)

    def taken_over(pid):
        leave(tmp_path, os.getpid())
        return False

    monkeypatch.setattr(lock, "_is_alive", taken_over)
    with pytest.raises(RefusedError, match="another process"):
        locked(tmp_path).__enter__()
    assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    assert len(list(tmp_path.iterdir())) == 1


def test_one_who_comes_between_has_it(tmp_path, monkeypatch):
    leave(tmp_path, 1)
    monkeypatch.setattr(lock, "_remove_stale", lambda path: None)
    with pytest.raises(RefusedError, match="another process"):
        locked(tmp_path).__enter__()


def test_who_may_not_be_asked_is_alive(monkeypatch):
    def refuse(pid, signal):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    assert lock._is_alive(1)


def test_where_nobody_can_be_asked_everyone_is_alive(monkeypatch, dead):
    assert lock._is_alive(os.getpid())
    monkeypatch.setattr(lock.os, "name", "nt")
    assert lock._is_alive(dead)
