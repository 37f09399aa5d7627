"""What a file says reaches a terminal as letters, never as commands."""

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from commands import run
from rankfair import load_model, save_model

# Titles, colours, a line that takes the place of another, and text turned round.
ESCAPES = (
    "\x1b]0;owned\x07\x1b[31m\x9b2J\x90q\x9c\x7f\x08\r\u202e\u2067\u200f\u061c\u2028"
)
SPOOF = "\nNote: all is well"
COMMANDS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


def odd(name):
    return f"{name}{ESCAPES}{SPOOF}"


JOB, SEX, AGE, PAY = map(odd, ("job", "sex", "age", "pay"))
COMMON = ["--target", PAY, "--sensitive", SEX, "--task", JOB]


def check_harmless(text):
    assert not COMMANDS.search(text), ascii(text)
    assert SPOOF not in text


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with rows and a model whose every name is odd, and rows it refuses."""
    folder = tmp_path_factory.mktemp("here")
    rng = np.random.default_rng(0)

    def write(name, job, rows=60):
        with (folder / name).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow([JOB, SEX, AGE, PAY])
            for i in range(rows):
                age = rng.uniform(20, 60)
                sex = odd("fm"[i % 2])
                writer.writerow([job(i), sex, age, age + 9 * (i % 2) + rng.normal()])
        return folder / name

    rows = write(f"{odd('rows')}.csv", lambda i: odd("abc"[i % 3]))
    write("new.csv", lambda i: odd("unseen"), rows=2)
    (folder / "bad.csv").write_text(f'"{AGE}"\n"{odd("x")}"\n', newline="")
    model = folder / f"{odd('m')}.rankfair"
    fit = ("fit", rows, *COMMON, "--folds", 0, "-o", model, "--notes", ESCAPES)
    run(*fit, code=0)
    return rows, model


def test_results_hold_no_commands(here):
    rows, model = here
    for line in (
        ("audit", rows, *COMMON, "-o", f"{rows}.out.csv"),
        ("fit", rows, *COMMON, "--folds", 2, "-o", f"{model}.again"),
        ("path", rows, *COMMON, "--folds", 2, "--at", 0.1),
        ("compare", rows, *COMMON, "--folds", 2, "--method", "tilt"),
        ("describe", model),
        ("predict", model, rows, "-o", f"{rows}.out.csv"),
    ):
        done = run(*line, code=0)
        check_harmless(done.output)
        assert "[U+001B]" in done.output


def test_errors_hold_no_commands(here):
    rows, model = here
    bad, new = rows.with_name("bad.csv"), rows.with_name("new.csv")
    for line in (
        ("audit", odd("none.csv"), *COMMON),
        ("audit", rows, "--target", odd("none"), "--sensitive", SEX),
        ("audit", bad, "--target", AGE, "--sensitive", AGE),
        ("compare", rows, *COMMON, "--method", odd("none")),
        ("predict", model, new),
        ("predict", rows, rows),
        (odd("none"),),
        ("describe", f"--{odd('none')}"),
        ("fit", rows, *COMMON, "--penalty", odd("none")),
    ):
        done = run(*line, code=2)
        assert done.stdout == "" and done.stderr
        check_harmless(done.stderr)


def test_json_holds_the_value_unchanged(here):
    rows, model = here
    audited = run("audit", rows, *COMMON, "--json").stdout
    described = run("describe", model, "--json").stdout
    check_harmless(audited + described)
    (compared,) = json.loads(audited)["comparisons"]
    assert (compared["group"], compared["against"]) == (odd("m"), odd("f"))
    said = json.loads(described)
    assert said["notes"] == ESCAPES and said["tasks"] == sorted(map(odd, "abc"))


def test_forged_words_of_a_model_hold_no_commands(here, tmp_path):
    model = load_model(here[1])
    model.status_ = odd("satisfied")
    path = save_model(model, tmp_path / "m", notes=odd(""), extra={"target": odd("y")})
    out = run("describe", path, code=0).stdout
    assert not COMMANDS.search(out)
    # Notes may have lines of their own, all else has one.
    assert out.splitlines().count(SPOOF.strip()) == 1


def test_rows_on_a_pipe_are_as_they_are_and_on_a_terminal_as_letters(here, tmp_path):
    rows, model = here
    piped = run("predict", model, rows).stdout
    assert odd("a") in piped
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rankfair", "predict", str(model), str(rows)],
        stdout=theirs,
        stderr=theirs,
    ) as running:
        os.close(theirs)
        seen = b""
        while piece := _read(ours):
            seen += piece
    os.close(ours)
    assert running.returncode == 0
    assert not COMMANDS.search(seen.decode().replace("\r\n", "\n"))
    assert "a[U+001B]" in seen.decode()


def _read(descriptor):
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""
