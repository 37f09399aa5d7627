import io
import re
import runpy
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import rankfair
from rankfair import cli
from rankfair.cli import demo
from rankfair.cli.app import app
from rankfair.cli.demo import DEMO_METHODS

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


@pytest.fixture
def small_demo(monkeypatch):
    """Let `demo` run on a few rows; return what it was asked for."""
    asked = {}
    whole = demo.run_demo

    def run_small(out, seed, *, on_step):
        asked.update(out=out, seed=seed, on_step=on_step)
        return whole(out, seed, draws=2, n_tasks=4, on_step=on_step)

    monkeypatch.setattr(demo, "run_demo", run_small)
    return asked


def test_demo_prints_a_table_and_where_its_files_are(small_demo, tmp_path):
    out = tmp_path / "new" / "folder"
    done = run(app, ["demo", "--out", str(out), "--seed", "3", "--quiet"])
    assert done.exit_code == 0
    assert small_demo == {"out": out, "seed": 3, "on_step": None}
    for name in DEMO_METHODS:
        assert len(re.findall(rf"^{re.escape(name)}  ", done.stdout, re.M)) == 1
    written = re.findall(r"^wrote (.*)$", done.stdout, re.M)
    assert sorted(map(str, out.iterdir())) == written
    assert done.stderr == ""


def test_demo_shows_progress_unless_quiet(small_demo, tmp_path):
    done = run(app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 0
    assert small_demo["on_step"] is not None


def test_demo_says_where_it_cannot_write(small_demo, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for out in (file, file / "below"):
        done = run(app, ["demo", "--out", str(out), "--quiet"])
        assert done.exit_code == 2
        assert file.name in done.stderr
        assert "Traceback" not in done.output


def test_demo_without_matplotlib_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("rankfair.cli.commands.find_spec", lambda name: None)
    done = run(app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert 'pip install "rankfair[plot]"' in done.stderr


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


def test_help_answers_quickly():
    command = [sys.executable, "-m", "rankfair", "--help"]
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds.append(time.perf_counter() - start)
    assert "Usage: rankfair" in done.stdout
    assert min(seconds) < 0.5
