import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rankfair._disk import write_whole
from rankfair.datasets import _files
from rankfair.experiments import files


def names(folder):
    return sorted(path.name for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("content", "raw"),
    [("é\n", b"\xc3\xa9\n"), ("a\r\nb\n", b"a\r\nb\n"), (b"\x00\xff", b"\x00\xff")],
)
def test_what_is_given_is_what_is_there(tmp_path, content, raw):
    path = tmp_path / "new" / "deep" / "a.bin"
    assert write_whole(path, content) == path
    assert path.read_bytes() == raw
    assert names(path.parent) == ["a.bin"]


def test_a_longer_old_file_leaves_no_tail(tmp_path):
    path = write_whole(tmp_path / "a.txt", "a long old content")
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


def test_others_may_read_it_as_any_new_file(tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    path = write_whole(tmp_path / "a.txt", "")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize(
    ("owner", "step"), [(Path, "open"), (os, "fsync"), (Path, "replace")]
)
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(
    tmp_path, monkeypatch, owner, step, error
):
    path = write_whole(tmp_path / "a.txt", "old")

    def fail(*_):
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(owner, step, fail)
        with pytest.raises(type(error)):
            write_whole(path, "new")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_no_room_for_the_whole_file_leaves_the_old_one(tmp_path):
    pytest.importorskip("resource")
    path = write_whole(tmp_path / "a.txt", "old")
    # No file of the child may grow beyond 1000 bytes: the write stops half way.
    code = (
        "import resource, sys; from pathlib import Path; "
        "from rankfair._disk import write_whole; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        "write_whole(Path(sys.argv[1]), 'x' * 100_000)"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(path)], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "OSError" in done.stderr
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_a_file_in_place_of_the_folder_is_kept(tmp_path):
    folder = write_whole(tmp_path / "folder", "old")
    with pytest.raises(OSError, match="folder"):
        write_whole(folder / "a.txt", "new")
    assert folder.read_text() == "old"
    assert names(tmp_path) == ["folder"]


def test_a_folder_in_place_of_the_file_is_kept(tmp_path):
    inside = write_whole(tmp_path / "a" / "inside.txt", "old")
    with pytest.raises(OSError, match="a"):
        write_whole(tmp_path / "a", "new")
    assert inside.read_text() == "old"
    assert names(tmp_path) == ["a", "inside.txt"]


@pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 0)() == 0, reason="nothing is forbidden to root"
)
def test_a_folder_that_may_not_be_written_is_as_before(tmp_path):
    path = write_whole(tmp_path / "a.txt", "old")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            write_whole(path, "new")
        assert path.read_text() == "old"
        assert names(tmp_path) == ["a.txt"]
    finally:
        tmp_path.chmod(0o700)


def test_there_is_one_such_function():
    assert files.write_whole is _files.write_whole is write_whole
