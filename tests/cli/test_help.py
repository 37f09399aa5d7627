"""Help, completion, and how the command starts."""

import ast
import io
import re
import resource
import shlex
import subprocess
import sys
from typing import get_args

import pytest
import typer

import rankfair
from commands import ROOT, run
from rankfair import cli
from rankfair.cli import options as declared
from rankfair.cli.app import app
from rankfair.cli.methods import METHODS
from rankfair.constraints import CONSTRAINTS
from rankfair.penalties import PENALTIES
from sheets import pay_csv, people, write_csv
from tools import cli_page

NAMES = [each.name for each in app.registered_commands]
OWN = [name for name in NAMES if name != "demo"]


def main(monkeypatch, *words):
    """Run the command as a process would; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["rankfair", *words])
    with pytest.raises(SystemExit) as done:
        cli.main()
    return done.value.code


def test_examples_of_all_commands_run_one_after_another(tmp_path, monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    pay_csv(tmp_path)
    write_csv(tmp_path / "new.csv", people(n=5, seed=3))
    for command in ([], *([name] for name in OWN)):
        page = run(*command, "--help", code=0).stdout
        words = re.search(r"Example: (rankfair .*?)(?=\n\s*\n)", page, re.S)[1]
        words = shlex.split(words)
        assert words[1] == (command[0] if command else "audit")
        run(*words[1:], code=0)
    made = {path.name for path in tmp_path.iterdir()}
    pages = {"audit.html", "fit.html", "path.html", "methods.html"}
    assert pages | {"pay.rankfair", "predicted.csv", "pay.onnx"} <= made
    assert "Usage: rankfair" in run().output


@pytest.mark.parametrize("command", NAMES)
def test_every_option_says_what_it_is(command):
    page = run(command, "--help", code=0).stdout
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", page, re.M)
    assert "--help" in options and "Example: rankfair" in page
    for option in options:
        assert re.search(rf"{option}\b.*(\n\s+)?[A-Z“].*", page), option
    assert not re.search(r"--[\w-]+ <", page), "give it a metavar"
    assert max(map(len, page.splitlines())) <= 80
    if command == "compare":
        said = f"by default all: {'; '.join(METHODS)}."
        assert said in " ".join(page.split())


def test_the_page_on_the_command_line_is_what_the_commands_say():
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert page == cli_page.page(), "make cli-page"
    assert re.findall(r"^## rankfair (.*)$", page, re.M) == NAMES


def test_choices_are_those_of_the_registries_and_completed(monkeypatch):
    assert [*declared.ConstraintName] == [*CONSTRAINTS]
    assert {*get_args(declared.PenaltyName)} == {*PENALTIES}
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    shown = run("--show-completion", "bash", code=0).output
    assert "_RANKFAIR_COMPLETE=complete_bash" in shown


def flags(command):
    """Return all flags of a command and of those below it."""
    own = {f for each in command.params for f in (*each.opts, *each.secondary_opts)}
    return own.union(*map(flags, getattr(command, "commands", {}).values()))


def test_every_flag_that_a_message_names_is_there():
    known = flags(typer.main.get_command(app)) | {"--help"}
    source = ROOT / "src" / "rankfair"
    for path in (*source.glob("files/*.py"), *source.glob("cli/*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        texts = [it.value for it in nodes if isinstance(it, ast.Constant)]
        text = "\n".join(it for it in texts if isinstance(it, str))
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*[a-z]", text))
        assert named <= known, path


@pytest.mark.skipif(sys.platform == "win32", reason="asks for the time of a process")
def test_help_answers_quickly_and_imports_nothing_heavy():
    code = (
        "import sys; from rankfair.cli.app import app\n"
        "heavy = ('numpy', 'sklearn', 'polars', 'scipy', 'jinja2', 'rich')\n"
        "try:\n    app(['--help'])\nfinally:\n"
        "    print([each for each in heavy if each in sys.modules])"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Usage: " in done.stdout and done.stdout.splitlines()[-1] == "[]"
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert used < 0.5


def test_signs_that_the_console_does_not_have_stop_nothing(monkeypatch):
    raw = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, stream in raw.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(stream, encoding="cp1252"))
    assert main(monkeypatch, "describe", "−Ж") == 2
    sys.stderr.flush()
    assert b"??" in raw["stderr"].getvalue()
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # no file
    assert main(monkeypatch, "--version") == 0
    assert sys.stdout.getvalue() == f"rankfair {rankfair.__version__}\n"


def test_missing_extra_is_one_sentence(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "rankfair.cli.app")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "typer", None)
        assert main(without) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert 'pip install "rankfair[cli]"' in error
    monkeypatch.setitem(sys.modules, "rankfair.cli.app", None)
    with pytest.raises(ModuleNotFoundError):  # another one is not hidden
        cli.main()
