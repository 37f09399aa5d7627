"""How commands end when something goes wrong, and how they print."""

import errno
import os
import shlex
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from rankfair.audit.summary import table_lines
from rankfair.cli import errors
from rankfair.cli.errors import (
    NotEstimableError,
    check_outputs,
    check_sheet,
    ending,
    telling,
)
from rankfair.cli.screen import progress, say, show_table
from rankfair.files.columns import Roles
from rankfair.files.read import load
from rankfair.files.table import Reading
from rankfair.input.errors import InputError, InputWarning, ModelFileError, TableError


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (InputError("cv", "holds out no row"), 2, "--folds holds out no row.\n"),
        (TableError("is empty", source="a.csv"), 2, "a.csv is empty.\n"),
        (ModelFileError("m is odd"), 2, "m is odd.\n"),
        (NotEstimableError("Too few."), 3, "Too few.\n"),
        (OSError(errno.ENOSPC, "No space", "a.html"), 2, "a.html: No space\n"),
        (OSError("odd"), 2, "odd\n"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
        (ModuleNotFoundError(name="onnx"), 2, 'pip install "rankfair[all]" (onnx)'),
        (MemoryError(), 2, "not enough memory"),
        (KeyboardInterrupt(), 130, "Stopped.\n"),
        (TypeError("odd"), 70, "a fault of its own: TypeError: odd"),
    ],
)
def test_every_error_is_a_sentence(error, code, sentence, capsys, monkeypatch):
    monkeypatch.delenv(errors.DEBUG, raising=False)
    with pytest.raises(typer.Exit) as left, telling():
        raise error
    said = capsys.readouterr().err
    assert left.value.exit_code == code and sentence in said
    assert len(said.splitlines()) == bool(sentence)
    if code == 70:
        monkeypatch.setenv(errors.DEBUG, "1")
        with pytest.raises(TypeError, match="odd"), telling():
            raise error


@pytest.mark.parametrize("quiet", [False, True])
def test_warnings_are_notes_once(capsys, quiet):
    with telling(quiet):
        for _ in range(2):
            warnings.warn(InputWarning("beta", "is odd", "3"), stacklevel=1)
    said = "" if quiet else "Note: --beta is odd; got 3.\n"
    assert capsys.readouterr().err == said


@pytest.mark.skipif(os.name == "nt", reason="asks a shell")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("predict {model} - <&- >&-", 2, "standard input is empty"),
        ("--help >/dev/full", 2, "No space left on device\n"),
        ("describe {model} | true; exit ${{PIPESTATUS[0]}}", 141, ""),
    ],
)
def test_standard_streams_that_are_closed(model, command, code, said):
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("there is no full device")
    words = f"{shlex.quote(sys.executable)} -m rankfair {command.format(model=model)}"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True)
    assert done.returncode == code
    assert done.stderr.startswith(said) and len(done.stderr.splitlines()) <= 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_command_that_is_told_to_stop_leaves_nothing(made, tmp_path):
    """Predictions wait for a reader who does not come, beside their pipe."""
    pipe, temporary = tmp_path / "p.csv", tmp_path / "temporary"
    os.mkfifo(pipe)
    temporary.mkdir()
    command = [sys.executable, "-m", "rankfair", "predict"]
    with subprocess.Popen(
        [*command, *made[::-1], "-o", str(pipe)],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(600):
            if list(temporary.glob(".*/part")):
                break
            time.sleep(0.05)
        for _ in range(60):  # it may come just before the process waits
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
                break
        process.kill()
        assert process.stderr.read() == "Stopped.\n"
    assert process.returncode == 128 + signal.SIGTERM
    assert not list(temporary.iterdir())


def test_signals_that_are_ignored_stay_so():
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name)
        before = signal.signal(number, signal.SIG_IGN)
        try:
            with ending():
                assert signal.getsignal(number) is signal.SIG_IGN
            signal.signal(number, signal.SIG_DFL)
            with ending():
                assert signal.getsignal(number) is not signal.SIG_DFL
            assert signal.getsignal(number) is signal.SIG_DFL
        finally:
            signal.signal(number, before)


def test_what_is_written_has_a_place_of_its_own(tmp_path, capsys):
    """Links that lead in a circle pass: whoever opens them says what is wrong."""
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    check_outputs([tmp_path / "a.csv"], [str(loop)])
    check_outputs([loop], ["-", str(tmp_path / "a.csv")])
    check_outputs([None, None, "-", "-", tmp_path / "a", tmp_path / "b"], [])
    for path in (None, "-", "a", "a.csv", "a.TXT", "a.pq", "/dev/stdout"):
        check_sheet(path)
    for outputs, inputs, said in (
        ([loop], [str(loop)], "is read and would be written over"),
        ([tmp_path / "a", f"{tmp_path}/./a"], [], "named twice"),
    ):
        with pytest.raises(typer.Exit):
            check_outputs(outputs, inputs)
        assert said in capsys.readouterr().err
    with pytest.raises(TableError, match="cannot be read: Too many levels of symbolic"):
        load([str(loop)], Roles(), Reading())


def test_prose_is_folded_between_words(monkeypatch, capsys):
    sentence = "In 95 % of all samples 95 % of the 95 % are what 95 % of them were."
    for width in range(20, 60, 3):
        monkeypatch.setenv("COLUMNS", str(width))
        say(sentence)
        lines = capsys.readouterr().out.splitlines()
        assert not any(line.startswith("%") for line in lines)
        assert " ".join(lines) == sentence and len(max(lines, key=len)) < width
    say("", "six", "not\nours")
    assert capsys.readouterr().out.split("\n") == ["", "six", "not[U+000A]ours", ""]


def test_tables_fit_and_line_up(monkeypatch):
    columns = {"name": ["日本", "a\x1b[31m"], "n": ["1.5", "12.25"], "gone": ["-", "-"]}
    lines = table_lines([*columns.items(), ("label", ["x", "y" * 99])])
    assert "gone" not in lines[0] and "\x1b" not in "".join(lines)
    # A sign of two columns is one character.
    assert lines[2].index("1.5") + 2 == lines[3].index("12.25") + 2
    assert lines[3].endswith("…")
    seen = []
    monkeypatch.setattr(typer, "echo", lambda line, err: seen.append("\x1b" in line))
    for value in ("", "1"):
        monkeypatch.setenv("NO_COLOR", value)
        if not value:
            monkeypatch.delenv("NO_COLOR")
        show_table(("a", ["x", "y"]), strong=[1])
    assert seen == [False] * 3 + [True] + [False] * 4


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_shown_on_a_terminal_alone(capsys, monkeypatch, terminal, quiet):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with progress(quiet) as on_step:
        on_step("\a[b] v the rest", 1, 3)
    shown = capsys.readouterr()
    assert ("1/3 [U+0007][b] v the rest" in shown.err) == (terminal and not quiet)
    assert shown.out == "" and "\a" not in shown.err
    assert shown.err.split("\r")[-1] == ""  # nothing is left of it
