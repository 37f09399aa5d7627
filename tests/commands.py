"""Run commands, in this process or another, or ask what one comes to."""

import json
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from rankfair.cli.app import app
from rankfair.cli.audit import audit_files
from rankfair.cli.compare import compare_files
from rankfair.cli.fit import fit_files
from rankfair.cli.options import AuditCommand, CompareCommand, FitCommand, PathCommand
from rankfair.cli.path import path_of_files

ROOT = Path(__file__).parents[1]
COMMON = ["--target", "pay", "--sensitive", "gender", "--task", "job"]
PAY = {"target": "pay", "sensitive": ["gender"], "task": ["job"]}
JOBS = {
    "audit": (AuditCommand, audit_files),
    "fit": (FitCommand, fit_files),
    "path": (PathCommand, path_of_files),
    "compare": (CompareCommand, compare_files),
}


def run(*words, code=None, **more):
    """Run a command line and return its outputs; check its exit code if given."""
    done = CliRunner().invoke(app, [str(each) for each in words], **more)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    assert code is None or done.exit_code == code, done.output
    return done


def process(folder, *words, **more):
    """Run a command line in a process of its own."""
    line = [sys.executable, "-m", "rankfair", *map(str, words)]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, **more)


def prose(done):
    """Return what was printed, without the ends of lines."""
    return " ".join(done.output.split())


def valid(done, name):
    """Return what JSON says, checked against a schema in the docs."""
    schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    found = json.loads(done.stdout)
    Draft202012Validator(schema).validate(found)
    return found


def answer(command, *files, told=None, **options):
    """Return what a command finds; the columns are those of a pay roll by default."""
    kind, work = JOBS[command]
    known = {each.name: each.default for each in fields(kind)}
    given = {**known, **PAY, **options, "files": [str(file) for file in files]}
    assert set(given) == set(known) and MISSING not in given.values()
    on_step = (lambda *step: None) if told is None else lambda *step: told.append(step)
    return work(kind(**given), on_step)
