"""Files are found, fetched from a server on loopback, checked and read as text."""

import hashlib
import io
import threading
import zipfile
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import narwhals as nw
import numpy as np
import pytest

from rankfair.datasets import base, make_biased_tasks
from rankfair.datasets.base import DataFile, fill, find_files, numbers, read_columns

CONTENT = b"a;b\n1;2\n"
SHA = hashlib.sha256(CONTENT).hexdigest()
FILE = DataFile("toy.csv", SHA, "toy.csv")
MEMBER = DataFile("toy.csv", SHA, "toy.zip")


def zipped(name):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, CONTENT)
    return stream.getvalue()


class Handler(BaseHTTPRequestHandler):
    """Answers all paths alike."""

    def __init__(self, content, *arguments):
        self.content = content
        super().__init__(*arguments)

    def do_GET(self):
        self.send_response(404 if self.content is None else 200)
        self.end_headers()
        self.wfile.write(self.content or b"")

    def log_message(self, *_):
        pass


def fetch(home, content, file=FILE):
    """Fetch a file from a server that gives this content."""
    handler = partial(Handler, content)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            return find_files("toy", (file,), home, download=True, base_url=url)
        finally:
            server.shutdown()
            thread.join()


def test_a_file_is_fetched_once_alone_or_as_a_member(tmp_path):
    (path,) = fetch(tmp_path, CONTENT)
    assert path == tmp_path / "toy" / "toy.csv" and path.read_bytes() == CONTENT
    assert fetch(tmp_path, None) == [path]
    (member,) = fetch(tmp_path / "b", zipped("toy.csv"), MEMBER)
    assert member.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "file", "sentence"),
    [
        (None, FILE, "404"),
        (CONTENT[:4], FILE, f"expected sha256 {SHA}, found "),
        (bytes(17 << 20), FILE, f"expected sha256 {SHA}, found "),
        (b"no zip", MEMBER, "(?i)not a zip file"),
        (zipped("else.csv"), MEMBER, "no item named"),
    ],
)
def test_a_bad_answer_leaves_nothing(tmp_path, content, file, sentence):
    with pytest.raises((OSError, ValueError), match=sentence) as error:
        fetch(tmp_path, content, file)
    assert "toy.csv" in str(error.value) and str(tmp_path / "toy") in str(error.value)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_what_is_not_there_or_damaged_is_named(tmp_path):
    closed = {"download": True, "base_url": "http://127.0.0.1:1"}
    with pytest.raises(OSError, match=r"put toy\.csv into") as error:
        find_files("toy", (FILE,), tmp_path, **closed)
    assert str(tmp_path / "toy") in str(error.value)
    path = tmp_path / "toy" / "toy.csv"
    path.parent.mkdir()
    path.write_bytes(b"half")
    with pytest.raises(ValueError, match=f"damaged .* expected sha256 {SHA}") as error:
        find_files("toy", (FILE,), tmp_path)
    assert str(path) in str(error.value)


def test_order_of_places(monkeypatch, tmp_path):
    for name in ("argument", "variable", "cache/rankfair"):
        (tmp_path / name / "toy").mkdir(parents=True)
        (tmp_path / name / "toy" / "toy.csv").write_bytes(CONTENT)
    monkeypatch.setattr(base.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("RANKFAIR_DATA", str(tmp_path / "variable"))

    def place(given=None):
        (path,) = find_files("toy", (FILE,), given)
        return str(path.parent.parent.relative_to(tmp_path))

    assert place(tmp_path / "argument") == "argument"
    assert place() == "variable"
    monkeypatch.delenv("RANKFAIR_DATA")
    assert place() == "cache/rankfair"
    # Without a variable it is the folder of the platform.
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("LOCALAPPDATA", "base")
    for platform, expected in (
        ("linux", "~/.cache/rankfair"),
        ("darwin", "~/Library/Caches/rankfair"),
        ("win32", "base/rankfair"),
    ):
        monkeypatch.setattr(base.sys, "platform", platform)
        with pytest.raises(FileNotFoundError) as error:
            find_files("no-such", (FILE,), None)
        assert str(Path(expected).expanduser() / "no-such") in str(error.value)


def test_cells_are_text_and_only_an_empty_one_is_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'code,x\n01001,"1,5"\n01003,\n')
    columns = read_columns([path, path])
    assert columns["code"].tolist() == ["01001", "01003"] * 2
    assert columns["x"].tolist() == ["1,5", ""] * 2
    np.testing.assert_array_equal(numbers(np.array(["1.5", ""])), [1.5, np.nan])
    with pytest.raises(ValueError, match="could not convert"):
        numbers(np.array(["1.5", "?"]))
    # A gap is filled by the mean of its task, or else by the median of all.
    column = np.array([1.0, np.nan, np.nan, 5.0, 9.0])
    filled = fill(column, np.array(["a", "a", "b", "c", "c"]))
    np.testing.assert_array_equal(filled, [1.0, 1.0, 5.0, 5.0, 9.0])


def test_the_frame_is_of_what_is_installed(monkeypatch):
    for here in ("pandas", "polars"):
        monkeypatch.setattr(base, "find_spec", lambda name, here=here: name == here)
        data = make_biased_tasks(3, 4, random_state=0)
        frame = nw.from_native(data.frame)
        assert frame.implementation.value == here
        names = [*data.feature_names, data.task_name, data.sensitive_name]
        assert frame.columns == names
        np.testing.assert_array_equal(frame.select(data.feature_names), data.X)
        assert frame[data.task_name].to_list() == data.tasks.tolist()
        assert frame[data.sensitive_name].to_list() == data.sensitive.tolist()
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs pandas or polars"):
        _ = make_biased_tasks(2, 2, random_state=0).frame
