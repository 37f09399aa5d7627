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

from rankfair.datasets import base
from rankfair.datasets.base import DataFile, fill, find_files, numbers, read_columns
from rankfair.datasets.crime import load_crime
from rankfair.datasets.income import load_income
from rankfair.datasets.student import load_student
from rankfair.datasets.synthetic import make_biased_tasks
from rankfair.datasets.wine import load_wine

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
    """Answers from a dict: path → (bytes, announced length or None for the truth)."""

    def __init__(self, answers, *arguments):
        self.answers = answers
        super().__init__(*arguments)

    def do_GET(self):
        if self.path not in self.answers:
            self.send_error(404)
            return
        content, announced = self.answers[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(announced or len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """Start a server on loopback with the given answers; return its address."""
    servers = []

    def start(**answers):
        table = {
            f"/{name.replace('_', '.')}": value
            if isinstance(value, tuple)
            else (value, None)
            for name, value in answers.items()
        }
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, table))
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def fetch(home, url, file=FILE):
    return find_files("toy", (file,), home, download=True, base_url=url)


def test_good_file_is_fetched_once(serve, tmp_path):
    url = serve(toy_csv=CONTENT)
    (path,) = fetch(tmp_path, url)
    assert path == tmp_path / "toy" / "toy.csv"
    assert path.read_bytes() == CONTENT
    assert fetch(tmp_path, "http://127.0.0.1:1") == [path]


def test_member_of_a_zip_is_fetched(serve, tmp_path):
    (path,) = fetch(tmp_path, serve(toy_zip=zipped("toy.csv")), MEMBER)
    assert path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("answers", "file", "sentence"),
    [
        ({}, FILE, "404"),
        ({"toy_csv": b"other"}, FILE, "expected sha256"),
        ({"toy_csv": (CONTENT, 1000)}, FILE, "only 8 of 1000 bytes came"),
        ({"toy_zip": b"no zip"}, MEMBER, "(?i)not a zip file"),
        ({"toy_zip": zipped("else.csv")}, MEMBER, "no item named"),
    ],
    ids=["missing", "wrong checksum", "truncated", "no zip", "no member"],
)
def test_bad_answer_leaves_nothing(serve, tmp_path, answers, file, sentence):
    with pytest.raises(OSError, match=sentence) as error:
        fetch(tmp_path, serve(**answers), file)
    assert "toy.csv" in str(error.value)
    assert str(tmp_path / "toy") in str(error.value)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_too_long_answer_is_refused(serve, tmp_path):
    with pytest.raises(OSError, match="more than 16777216 bytes"):
        fetch(tmp_path, serve(toy_csv=bytes(17 << 20)))


def test_offline_names_folder_and_file(tmp_path):
    with pytest.raises(OSError, match=r"put toy\.csv into") as error:
        fetch(tmp_path, "http://127.0.0.1:1")
    assert str(tmp_path / "toy") in str(error.value)


def test_damaged_file_on_disk_is_named(tmp_path):
    path = tmp_path / "toy" / "toy.csv"
    path.parent.mkdir()
    path.write_bytes(b"half")
    with pytest.raises(ValueError, match="damaged") as error:
        find_files("toy", (FILE,), tmp_path)
    assert str(path) in str(error.value)
    assert SHA in str(error.value)
    assert hashlib.sha256(b"half").hexdigest() in str(error.value)


@pytest.mark.parametrize("load", [load_wine, load_student])
def test_loader_downloads_from_its_address(serve, tmp_path, load):
    with pytest.raises(OSError, match=r"could not download .*404"):
        load(tmp_path, _base_url=serve())


@pytest.mark.parametrize("load", [load_crime, load_income])
def test_what_cannot_be_downloaded_names_folder_and_file(tmp_path, load):
    name = load.__name__.removeprefix("load_")
    with pytest.raises(FileNotFoundError, match=rf"{name}\.csv not found") as error:
        load(tmp_path)
    assert str(tmp_path / name) in str(error.value)


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


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_CACHE_HOME", "base/rankfair"),
        ("linux", None, "~/.cache/rankfair"),
        ("darwin", None, "~/Library/Caches/rankfair"),
        ("win32", "LOCALAPPDATA", "base/rankfair"),
    ],
)
def test_cache_folder_by_platform(monkeypatch, platform, variable, expected):
    monkeypatch.setattr(base.sys, "platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if variable:
        monkeypatch.setenv(variable, "base")
    assert base._cache_folder() == Path(expected)


def test_files_are_read_as_text_one_below_the_other(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'code,x\n01001,"1,5"\n01003,\n')
    columns = read_columns([path, path])
    assert columns["code"].tolist() == ["01001", "01003"] * 2
    assert columns["x"].tolist() == ["1,5", ""] * 2


def test_only_an_empty_cell_is_missing():
    np.testing.assert_array_equal(numbers(np.array(["1.5", ""])), [1.5, np.nan])
    with pytest.raises(ValueError, match="could not convert"):
        numbers(np.array(["1.5", "?"]))


def test_fill_takes_the_task_then_all():
    column = np.array([1.0, np.nan, np.nan, 5.0, 9.0])
    before = column.copy()
    filled = fill(column, np.array(["a", "a", "b", "c", "c"]))
    np.testing.assert_array_equal(filled, [1.0, 1.0, 5.0, 5.0, 9.0])
    np.testing.assert_array_equal(column, before)


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frame_holds_features_task_and_group(backend):
    data = make_biased_tasks(3, 4, random_state=0, backend=backend)
    frame = nw.from_native(data.frame)
    assert frame.implementation.value == backend
    names = [*data.feature_names, data.task_name, data.sensitive_name]
    assert frame.columns == names
    np.testing.assert_array_equal(frame.select(data.feature_names).to_numpy(), data.X)
    assert frame[data.task_name].to_list() == data.tasks.tolist()
    assert frame[data.sensitive_name].to_list() == data.sensitive.tolist()


def test_auto_takes_what_is_installed(monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: name == "polars" or None)
    data = make_biased_tasks(2, 2, random_state=0)
    assert nw.from_native(data.frame).implementation.is_polars()


def test_without_frame_library_only_the_frame_is_missing(monkeypatch):
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    data = make_biased_tasks(2, 2, random_state=0)
    assert data.X.shape == (4, 4)
    with pytest.raises(ImportError, match="needs pandas or polars"):
        _ = data.frame
