import io
import os
import stat
from pathlib import Path

import pytest

from rankfair.input.disk import read_up_to, write_whole


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


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    path = write_whole(tmp_path / "a.txt", "old")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o600)
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(tmp_path, there):
    target, link = tmp_path / "real" / "a.txt", tmp_path / "link.txt"
    target.parent.mkdir()
    if there:
        target.write_text("old")
    link.symlink_to(Path("real") / "a.txt")
    assert write_whole(link, "new") == link
    assert link.is_symlink() and target.read_text() == "new"
    assert names(tmp_path) == ["a.txt", "link.txt", "real"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe, path = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    path.symlink_to(pipe)
    # The end that reads does not wait for one that writes.
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(path, "all of it")
        assert os.read(end, 100) == b"all of it"
    finally:
        os.close(end)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert "part" not in names(tmp_path)


@pytest.mark.parametrize(("owner", "step"), [(os, "fsync"), (Path, "replace")])
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


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="asks the system")
def test_the_folder_is_on_disk_after_the_rename(tmp_path, monkeypatch):
    path = write_whole(tmp_path / "a.txt", "old")
    synced, fsync = [], os.fsync

    def seen(handle):
        synced.append((os.readlink(f"/proc/self/fd/{handle}"), path.read_text()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", seen)
    write_whole(path, "new")
    assert [text for _, text in synced] == ["old", "new"]
    assert synced[1][0] == str(tmp_path)


def test_no_more_is_read_than_asked_for():
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            assert 0 < size <= 1 << 20
            self.given += size
            return b"a" * size

    endless = Endless()
    assert read_up_to(endless, 3 << 20) == b"a" * (3 << 20) + b"a"
    assert endless.given == (3 << 20) + 1
    assert read_up_to(io.BytesIO(b"ab"), 2) == b"ab"
