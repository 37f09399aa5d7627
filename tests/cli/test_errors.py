"""How commands end when something goes wrong, and the words they use."""

import errno
import io
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import typer

from commands import answer
from rankfair.cli import errors
from rankfair.cli.errors import (
    NotEstimableError,
    check_outputs,
    check_sheet,
    ending,
    telling,
)
from rankfair.cli.screen import figures, say, show_table, table_lines
from rankfair.files.columns import Roles
from rankfair.files.read import load
from rankfair.files.table import Reading, Table
from rankfair.files.write import write_table
from rankfair.input.errors import (
    InputError,
    InputWarning,
    ModelFileError,
    TableError,
)
from sheets import pay_csv


def ended(error, capsys, **more):
    """Return the code and what was said when a command raised an error."""
    with pytest.raises(typer.Exit) as left, telling(**more):
        raise error
    return left.value.exit_code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (InputError("cv", "holds out no row"), 2, "--folds holds out no row.\n"),
        (ValueError("No such thing."), 2, "No such thing.\n"),
        (TableError("is empty", source="a.csv"), 2, "a.csv is empty.\n"),
        (ModelFileError("m is odd"), 2, "m is odd.\n"),
        (NotEstimableError("Too few."), 3, "Too few.\n"),
        (
            OSError(errno.ENOSPC, "No space left", "a.html"),
            2,
            "a.html: No space left\n",
        ),
        (OSError("odd"), 2, "odd\n"),
        (ModuleNotFoundError(name="onnx"), 2, 'pip install "rankfair[all]" (onnx)'),
        (MemoryError(), 2, "not enough memory"),
        (KeyboardInterrupt(), 130, "Stopped.\n"),
        (TypeError("odd"), 70, "a fault of its own: TypeError: odd"),
    ],
)
def test_every_error_is_a_sentence(error, code, sentence, capsys, monkeypatch):
    monkeypatch.delenv(errors.DEBUG, raising=False)
    found, said = ended(error, capsys)
    assert found == code
    assert sentence in said
    assert len(said.splitlines()) == 1


def test_a_fault_is_shown_to_those_who_ask(monkeypatch):
    monkeypatch.setenv(errors.DEBUG, "1")
    with pytest.raises(TypeError, match="odd"), telling():
        raise TypeError("odd")


def test_warnings_are_notes_once(capsys):
    import warnings

    for quiet in (False, True):
        with telling(quiet):
            for _ in range(2):
                warnings.warn(InputWarning("beta", "is odd", "3"), stacklevel=1)
        assert capsys.readouterr().err == (
            "" if quiet else "Note: --beta is odd; got 3.\n"
        )


class Closed(io.RawIOBase):
    """A pipe whose reader has gone."""

    def writable(self):
        return True

    def write(self, data):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_reader_that_went_away_is_no_error(capsys, monkeypatch):
    assert ended(BrokenPipeError(errno.EPIPE, "Broken pipe"), capsys) == (141, "")
    stream = io.TextIOWrapper(io.BufferedWriter(Closed()))
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(typer.Exit) as left, telling():
        write_table(Table({"a": np.arange(9.0)}), "-")
    monkeypatch.undo()
    assert left.value.exit_code == 141
    assert capsys.readouterr().err == ""
    with pytest.raises(BrokenPipeError):
        stream.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model and rows for it."""
    folder = tmp_path_factory.mktemp("files")
    rows, model = pay_csv(folder), folder / "m.rankfair"
    answer("fit", rows, to=model, folds=0)
    return {"rows": rows, "model": str(model)}


@pytest.mark.skipif(os.name == "nt", reason="asks a shell")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("--version >&-", 2, "Standard input or output is closed.\n"),
        ("describe {model} >&-", 2, "Standard input or output is closed.\n"),
        ("predict {model} {rows} >&-", 2, "- could not be written: Bad file"),
        ("predict {model} - <&-", 2, "Standard input or output is closed.\n"),
        ("describe {model} 2>&-", 0, ""),
        ("describe {model} <&- >&- 2>&-", 2, ""),
        ("--help >/dev/full", 2, "No space left on device\n"),
        ("describe {model} | true; exit ${{PIPESTATUS[0]}}", 141, ""),
    ],
)
def test_standard_streams_that_are_closed(files, command, code, said):
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("there is no full device")
    words = f"{shlex.quote(sys.executable)} -m rankfair {command.format(**files)}"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr.startswith(said) and len(done.stderr.splitlines()) <= 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_command_that_is_told_to_stop_leaves_nothing(files, tmp_path, name):
    """Predictions wait for a reader who does not come, beside their pipe."""
    pipe, temporary = tmp_path / "p.csv", tmp_path / "temporary"
    os.mkfifo(pipe)
    temporary.mkdir()
    command = [sys.executable, "-m", "rankfair", "predict"]
    with subprocess.Popen(
        [*command, files["model"], files["rows"], "-o", str(pipe)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(600):
            if list(temporary.glob(".*/part")):
                break
            time.sleep(0.05)
        for _ in range(60):  # it may come just before the process waits
            process.send_signal(getattr(signal, name))
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
                break
        process.kill()
        assert process.stderr.read() == "Stopped.\n"
    assert process.returncode == 128 + getattr(signal, name)
    assert not list(temporary.iterdir())


def test_signals_that_are_ignored_stay_so():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with ending():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    with ending():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.skipif(os.name == "nt" or not os.getuid(), reason="root may write all")
def test_a_folder_that_may_not_be_written_is_told_before_the_work(tmp_path, capsys):
    tmp_path.chmod(0o500)
    with pytest.raises(typer.Exit):
        check_outputs([tmp_path / "a.html"], [])
    assert "cannot be written" in capsys.readouterr().err


def test_links_that_lead_in_a_circle_are_let_through(tmp_path, capsys):
    """Whoever reads or writes them says what is wrong."""
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    check_outputs([tmp_path / "a.csv"], [str(loop)])
    check_outputs([loop], [str(tmp_path / "a.csv")])
    with pytest.raises(typer.Exit):
        check_outputs([loop], [str(loop)])
    assert "is read and would be written over" in capsys.readouterr().err
    with pytest.raises(TableError, match="cannot be read: Too many levels of symbolic"):
        load([str(loop)], Roles(), Reading())


def test_outputs_that_are_fine_are_let_through(tmp_path):
    check_outputs([None, "-", tmp_path / "a.html"], ["-", str(tmp_path / "a")])


def test_two_outputs_of_one_name_are_refused(tmp_path, capsys):
    check_outputs([None, None, "-", "-", tmp_path / "a", tmp_path / "b"], [])
    with pytest.raises(typer.Exit):
        check_outputs([tmp_path / "a", f"{tmp_path}/./a"], [])
    assert "named twice" in capsys.readouterr().err
    for path in (None, "-", "a", "a.csv", "a.TXT", "a.pq", "/dev/stdout"):
        check_sheet(path)


def test_no_line_begins_with_a_lonely_sign(monkeypatch, capsys):
    sentence = "In 95 % of all samples 95 % of the 95 % are what 95 % of them were."
    for width in range(20, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        say(sentence)
        lines = capsys.readouterr().out.splitlines()
        assert not any(line.startswith("%") for line in lines)
        assert " ".join(lines) == sentence and len(max(lines, key=len)) < width


def test_tables_fit_and_line_up():
    rows = [("日本", "1.5", "-", "x"), ("a\x1b[31m", "12.25", "-", "y" * 99)]
    lines = table_lines(("name", "n", "gone", "label"), rows)
    assert "gone" not in lines[0]
    assert "\x1b" not in "".join(lines)
    # A sign of two columns is one character.
    assert lines[2].index("1.5") + 2 == lines[3].index("12.25") + 2
    assert lines[3].endswith("…")


def test_large_sums_are_plain_digits_to_the_right():
    shown = figures([1123.4, -56.789, 0.0, float("inf")], 3)
    assert shown == ["1,123", "-57", "0", "inf"]
    lines = table_lines(("a", "MD"), [("x", shown[0]), ("y", shown[1])])
    assert lines[2:] == ["x  1,123", "y    -57"]
    assert figures([999_999.4], 3) == ["999,999"]
    assert figures([1e-5, float("nan")], 3) == ["1e-05", "-"]
    assert figures([], 3) == [] and figures([0.0], 3) == ["0"]


def test_bold_only_where_it_is_wanted(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(typer, "echo", lambda line, err: seen.append(line))
    monkeypatch.delenv("NO_COLOR", raising=False)
    show_table(("a",), [("x",), ("y",)], strong=[1])
    monkeypatch.setenv("NO_COLOR", "1")
    show_table(("a",), [("x",), ("y",)], strong=[1])
    assert ["\x1b" in line for line in seen] == [False] * 3 + [True] + [False] * 4


def test_prose_is_folded_between_words(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "20")
    say("one two three four five", "", "six", "not\nours")
    lines = capsys.readouterr().out.split("\n")
    assert lines == ["one two three four", "five", "", "six", "not[U+000A]ours", ""]


def test_a_model_file_is_told_in_words(capsys):
    from rankfair.cli.models import show_model

    column = {"name": "x0", "role": "predictor", "type": "float64"}
    found = {
        "estimator": "MultiTaskRegressor",
        "rankfair": "0.1.0",
        "bytes": 1234,
        "notes": "",
        "achieved": {},
        "params": {"constraints": ["rank", "mean"], "beta": 0.125, "tasks": None},
        "tasks": [*range(10)],
        "groups": {"sex": ["F", "M"], "old": ["no", "yes"]},
        "columns": [column],
        "extra": {},
    }
    show_model(found)
    shown = capsys.readouterr().out
    for part in (
        "1,234 bytes",
        "constraints  rank, mean",
        "beta         0.125",
        "tasks        -",
        "10 tasks: 0, 1, 2, 3, 4, 5, 6, 7 and 2 more",
        "2 groups of sex: F, M\n2 groups of old: no, yes",
    ):
        assert part in shown
    assert "Reached" not in shown
