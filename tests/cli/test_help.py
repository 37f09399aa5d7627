"""Help, completion, and what is said without rich: every page runs as it stands."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import typer

from commands import run
from rankfair.cli import options as options_module
from rankfair.cli import screen
from rankfair.cli.app import app
from sheets import pay_csv, people, write_csv
from tools import cli_page

ROOT = Path(__file__).parents[2]
OWN = ("audit", "fit", "predict", "path", "compare", "describe", "export-onnx")


def example(command):
    """Return the words of the example on a help page."""
    page = run(*command, "--help").stdout
    found = re.search(r"Example: (rankfair .*?)(?=\n\s*\n)", page, re.S)
    return shlex.split(found[1])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    pay_csv(tmp_path)
    write_csv(tmp_path / "new.csv", people(n=5, seed=3))
    return tmp_path


def test_examples_of_all_commands_run_one_after_another(here):
    pytest.importorskip("onnx")
    for command in ([], *([name] for name in OWN)):
        words = example(command)
        assert words[1] == (command[0] if command else "audit")
        done = run(*words[1:])
        assert done.exit_code == 0, (words, done.output)
    made = {path.name for path in here.iterdir()}
    pages = {"audit.html", "fit.html", "path.html", "methods.html"}
    assert pages | {"pay.rankfair", "predicted.csv", "pay.onnx"} <= made


@pytest.mark.parametrize("command", OWN)
def test_every_option_says_what_it_is(command):
    page = run(command, "--help").stdout
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", page, re.M)
    assert "--help" in options
    for option in options:
        assert re.search(rf"{option}\b.*(\n\s+)?[A-Z“].*", page), option
    assert not re.search(r"--[\w-]+ <", page), "give it a metavar"
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_there_for(shell, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    done = run("--show-completion", shell)
    assert done.exit_code == 0
    assert f"_RANKFAIR_COMPLETE=complete_{shell}" in done.output


def test_the_page_on_the_command_line_is_what_the_commands_say():
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert page == cli_page.page(), "make cli-page"
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"## rankfair {name}\n" in page


def test_commands_are_said_without_rich(here, monkeypatch):
    monkeypatch.setattr(screen, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    common = ["pay.csv", "--target", "pay", "--sensitive", "gender", "--folds", "2"]
    for line in (
        ["fit", *common],
        ["path", *common, "--at", "0.1"],
        ["compare", *common, "--method", "tilt"],
    ):
        done = run(*line)
        assert done.exit_code == 0
        assert re.search(r"^\d/\d ", done.stderr, re.M)


def process(*arguments, **more):
    environment = {**os.environ, **more.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "rankfair", *arguments],
        capture_output=True,
        env=environment,
        **more,
    )


def test_a_process_ends_with_the_code_and_without_colour(here):
    common = ["--target", "pay", "--sensitive", "gender", "--max-gap", "0"]
    rows, plain = Path("pay.csv").read_bytes(), {"NO_COLOR": "1"}
    done = process("audit", "-", *common, input=rows, env=plain)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"\x1b" not in done.stdout
    assert process("audit", "pay.csv", "--nonsense").returncode == 2


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from rankfair.cli.app import app\n"
        "print([m for m in ('numpy', 'sklearn', 'polars', 'scipy', 'jinja2', 'rich')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_choices_are_those_of_the_registries():
    from rankfair.constraints import CONSTRAINTS
    from rankfair.penalties import PENALTIES

    assert [*options_module.ConstraintName] == [*CONSTRAINTS]
    assert {*get_args(options_module.PenaltyName)} == {*PENALTIES}


def test_help_names_all_methods():
    from rankfair.cli.methods import METHODS

    page = " ".join(run("compare", "--help").stdout.split())
    assert f"by default all: {'; '.join(METHODS)}." in page


def options(command):
    """Return all flags of a command and of those below it."""
    found = {
        flag
        for each in command.params
        for flag in (*each.opts, *each.secondary_opts)
        if flag.startswith("--")
    }
    return found.union(*map(options, getattr(command, "commands", {}).values()))


def flags_in(path):
    """Return the flags that sentences in a file name; rules of pages are none."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", "\n".join(texts)))


@pytest.mark.parametrize("part", ["files", "cli"])
def test_every_flag_that_a_message_names_is_there(part):
    known = options(typer.main.get_command(app)) | {"--help"}
    for path in (ROOT / "src" / "rankfair" / part).rglob("*.py"):
        assert flags_in(path) <= known, path


def test_codes_are_numbers_where_that_is_asked(tmp_path):
    rows = [f"{i:03d},{'FM'[i % 2]},{i % 7}" for i in range(40)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["code,sex,pay", *rows]))
    asked = ("fit", path, "--target", "pay", "--sensitive", "sex", "-q")
    done = run(*asked, "--number", "code", "--out", tmp_path / "a.rankfair")
    assert done.exit_code == 0, done.output
    assert "[default: 4294967296]" not in run("fit", "--help").stdout
    done = run(*asked, "--max-bytes", 20, "--out", tmp_path / "b.rankfair")
    assert done.exit_code != 0 and "larger than 20 bytes" in done.output
