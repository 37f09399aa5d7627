import io
import os
import runpy
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import rankfair
from rankfair import cli
from rankfair.cli.app import app

run = CliRunner().invoke


def test_version():
    assert run(app, ["--version"]).stdout == f"rankfair {rankfair.__version__}\n"


def test_every_help_page_has_an_example():
    commands = [each.name or each.callback.__name__ for each in app.registered_commands]
    assert commands
    for arguments in [[], *([name] for name in commands)]:
        page = run(app, [*arguments, "--help"])
        assert page.exit_code == 0
        assert "Example: rankfair" in page.stdout


def test_without_arguments_help_is_shown():
    assert "Usage: rankfair" in run(app, []).output


def test_main_runs_the_app(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rankfair", "--version"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert done.value.code == 0
    assert rankfair.__version__ in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["cp1252", "cp437"])
def test_signs_that_the_console_does_not_have_stop_nothing(monkeypatch, encoding):
    raw = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, stream in raw.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(stream, encoding=encoding))
    monkeypatch.setattr(sys, "argv", ["rankfair", "describe", "−Ж"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    sys.stderr.flush()
    assert done.value.code == 2
    assert b"??" in raw["stderr"].getvalue()


def test_a_console_that_is_no_file_is_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "argv", ["rankfair", "--version"])
    with pytest.raises(SystemExit):
        cli.main()
    assert rankfair.__version__ in sys.stdout.getvalue()


def test_module_form_is_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rankfair", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("rankfair", run_name="__main__")
    assert rankfair.__version__ in capsys.readouterr().out


def test_missing_extra_is_one_sentence(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "rankfair.cli.app")
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit) as done:
        cli.main()
    error = capsys.readouterr().err
    assert done.value.code == 2
    assert 'pip install "rankfair[cli]"' in error
    assert len(error.splitlines()) == 1


def test_another_missing_module_is_not_hidden(monkeypatch):
    monkeypatch.setitem(sys.modules, "rankfair.cli.app", None)
    with pytest.raises(ModuleNotFoundError):
        cli.main()


@pytest.mark.skipif(os.name == "nt", reason="asks for the time of a process")
def test_help_answers_quickly():
    import resource

    def seconds():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = seconds()
    command = [sys.executable, "-m", "rankfair", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Usage: rankfair" in done.stdout
    assert seconds() - before < 0.5
