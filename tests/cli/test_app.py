import runpy
import subprocess
import sys
import time
import types

import pytest
from typer.testing import CliRunner

import rankfair
from rankfair import cli
from rankfair.cli.app import app

run = CliRunner().invoke


def test_version():
    assert run(app, ["--version"]).stdout == f"rankfair {rankfair.__version__}\n"


def test_every_help_page_has_an_example():
    commands = [command.callback.__name__ for command in app.registered_commands]
    assert commands
    for arguments in [[], *([name] for name in commands)]:
        page = run(app, [*arguments, "--help"])
        assert page.exit_code == 0
        assert "Example: rankfair" in page.stdout


def test_without_arguments_help_is_shown():
    assert "Usage: rankfair" in run(app, []).output


def test_demo_hands_its_options_on(monkeypatch, tmp_path):
    asked = {}
    demo = types.ModuleType("rankfair.experiments.demo")
    demo.run = lambda **options: asked.update(options)
    experiments = types.ModuleType("rankfair.experiments")
    experiments.demo = demo
    monkeypatch.setitem(sys.modules, "rankfair.experiments", experiments)
    monkeypatch.setitem(sys.modules, "rankfair.experiments.demo", demo)
    done = run(app, ["demo", "--out", str(tmp_path), "--seed", "3", "--quiet"])
    assert done.exit_code == 0
    assert asked == {"out": tmp_path, "seed": 3, "quiet": True}


def test_negative_seed_is_refused():
    done = run(app, ["demo", "--seed", "-1"])
    assert done.exit_code == 2
    assert "--seed" in done.output


def test_main_runs_the_app(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rankfair", "--version"])
    with pytest.raises(SystemExit) as done:
        cli.main()
    assert done.value.code == 0
    assert rankfair.__version__ in capsys.readouterr().out


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


def test_help_answers_quickly():
    command = [sys.executable, "-m", "rankfair", "--help"]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds.append(time.perf_counter() - start)
    assert "Usage: rankfair" in done.stdout
    assert min(seconds) < 0.5
