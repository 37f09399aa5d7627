"""`make test-cpus`: what it runs exists, and it says what it could not try."""

import sys

import pytest

from tools import test_cpus as cpus

PLAIN = {"numpy": ["X86_V2", "X86_V3"], "blas": ["Haswell"]}


def run(monkeypatch, *words, reports, codes=()):
    """Run the tool with these reports and exit codes of pytest; return its own."""
    answers, ends, commands = iter(reports), iter(codes), []

    class Ended:
        def __init__(self, returncode):
            self.returncode = returncode

    def ended(command, **kwargs):
        commands.append(command)
        return Ended(next(ends))

    monkeypatch.setattr(sys, "argv", ["test_cpus.py", *words])
    monkeypatch.setattr(cpus, "probe", lambda env: next(answers))
    monkeypatch.setattr(cpus.subprocess, "run", ended)
    try:
        cpus.main()
    except SystemExit as end:
        return end.code, commands
    return 0, commands


def test_every_listed_test_exists():
    assert [each for each in cpus.TESTS if not (cpus.ROOT / each).exists()] == []


def test_a_listed_test_that_is_gone_stops_the_run(monkeypatch):
    monkeypatch.setattr(cpus, "TESTS", ("tests/core", "tests/gone.py"))
    code, commands = run(monkeypatch, reports=[])
    assert "tests/gone.py" in code and "tests/core" not in code and not commands


@pytest.mark.parametrize(
    ("setting", "report", "words"),
    [
        ({}, PLAIN, ""),
        (
            {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"},
            {**PLAIN, "numpy": ["X86_V2"]},
            "",
        ),
        ({"NPY_DISABLE_CPU_FEATURES": "X86_V3"}, PLAIN, "NumPy still uses X86_V3"),
        ({"NPY_DISABLE_CPU_FEATURES": "X86_V4"}, PLAIN, "this processor lacks"),
        ({"OPENBLAS_CORETYPE": "Nehalem"}, {**PLAIN, "blas": ["Nehalem"]}, ""),
        ({"OPENBLAS_CORETYPE": "Nehalem"}, PLAIN, "uses Haswell all the same"),
    ],
)
def test_what_a_setting_lacks_is_said(setting, report, words):
    why = cpus.missing(setting, PLAIN, report)
    assert words in why and bool(why) == bool(words)


def test_a_failure_is_told_by_the_exit_code(monkeypatch, capsys):
    nehalem = {**PLAIN, "blas": ["Nehalem"]}
    reports = [(PLAIN, ""), (nehalem, "")]
    assert run(monkeypatch, "nehalem", reports=reports, codes=[0])[0] == 0
    assert "NumPy X86_V2 X86_V3; OpenBLAS Nehalem" in capsys.readouterr().out
    code, (command,) = run(monkeypatch, "nehalem", reports=reports, codes=[1])
    assert code == "Tests fail with: OpenBLAS Nehalem."
    assert set(cpus.TESTS) <= set(command)


def test_what_was_not_tried_is_no_success(monkeypatch, capsys):
    nothing = [(PLAIN, ""), (None, "RuntimeError: no such kernel")]
    assert run(monkeypatch, "nehalem", reports=nothing) == ("Nothing was tried.", [])
    assert "missing, RuntimeError: no such kernel" in capsys.readouterr().out
    assert run(monkeypatch, "i386", reports=[])[0] == 2
