"""What a file says reaches a terminal as letters, never as commands."""

import ast
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankfair.cli
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


# Each command line of a list, one after another as a process would run it.
DRIVER = """
import json, os, sys
from rankfair.cli import main
for i, words in enumerate(json.load(sys.stdin)):
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(f"{sys.argv[1]}/{i}.{name}", os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    sys.argv[0], before = "rankfair", sys.argv
    sys.argv = ["rankfair", *words]
    try:
        main()
    except SystemExit as end:
        print(end.code or 0, end="", file=open(f"{before[1]}/{i}.code", "w"))
    sys.argv = before
    sys.stdout.flush()
    sys.stderr.flush()
"""


def run(folder, lines):
    """Return code, output and messages of each command line."""
    folder.mkdir()
    words = json.dumps([[str(word) for word in line] for line in lines])
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(folder)],
        input=words.encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [
        (
            int((folder / f"{i}.code").read_text()),
            (folder / f"{i}.out").read_bytes().decode(),
            (folder / f"{i}.err").read_bytes().decode(),
        )
        for i in range(len(lines))
    ]


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
    ((code, *_),) = run(folder / "made", [fit])
    assert code == 0
    return rows, model


def test_results_hold_no_commands(here, tmp_path):
    rows, model = here
    lines = [
        ("audit", rows, *COMMON, "-o", f"{rows}.out.csv"),
        ("fit", rows, *COMMON, "--folds", 2, "-o", f"{model}.again"),
        ("path", rows, *COMMON, "--folds", 2, "--at", 0.1),
        ("compare", rows, *COMMON, "--folds", 2, "--method", "tilt"),
        ("describe", model),
        ("predict", model, rows, "-o", f"{rows}.out.csv"),
    ]
    for line, (code, out, err) in zip(lines, run(tmp_path / "a", lines), strict=True):
        assert code == 0, (line, err)
        check_harmless(out)
        check_harmless(err)
        assert "[U+001B]" in out + err


def test_errors_hold_no_commands(here, tmp_path):
    rows, model = here
    bad, new = rows.with_name("bad.csv"), rows.with_name("new.csv")
    lines = [
        ("audit", odd("none.csv"), *COMMON),
        ("audit", rows, "--target", odd("none"), "--sensitive", SEX),
        ("audit", rows, "--target", PAY, "--sensitive", PAY),
        ("audit", bad, "--target", AGE, "--sensitive", AGE),
        ("audit", bad, "--prediction", AGE, "--sensitive", odd("none")),
        ("compare", rows, *COMMON, "--method", odd("none")),
        ("predict", model, new),
        ("predict", rows, rows),
        ("describe", rows),
        ("describe", model, odd("more")),
        (odd("none"),),
        ("describe", f"--{odd('none')}"),
        ("fit", rows, *COMMON, "--penalty", odd("none")),
        ("fit", rows, *COMMON, "--html", odd("no/folder")),
    ]
    for line, (code, out, err) in zip(lines, run(tmp_path / "a", lines), strict=True):
        assert (code, out) == (2, ""), (line, err)
        assert err
        check_harmless(err)


def test_json_holds_the_value_unchanged(here, tmp_path):
    rows, model = here
    lines = [("audit", rows, *COMMON, "--json"), ("describe", model, "--json")]
    (_, audited, _), (_, described, _) = run(tmp_path / "a", lines)
    check_harmless(audited + described)
    (compared,) = json.loads(audited)["comparisons"]
    assert (compared["group"], compared["against"]) == (odd("m"), odd("f"))
    said = json.loads(described)
    assert said["notes"] == ESCAPES and said["tasks"] == sorted(map(odd, "abc"))


def test_forged_words_of_a_model_hold_no_commands(here, tmp_path):
    model = load_model(here[1])
    model.status_ = odd("satisfied")
    path = save_model(model, tmp_path / "m", notes=odd(""), extra={"target": odd("y")})
    ((code, out, _),) = run(tmp_path / "a", [("describe", path)])
    assert code == 0 and not COMMANDS.search(out)
    # Notes may have lines of their own, all else has one.
    assert out.splitlines().count(SPOOF.strip()) == 1


def test_rows_on_a_pipe_are_as_they_are_and_on_a_terminal_as_letters(here, tmp_path):
    rows, model = here
    ((_, piped, _),) = run(tmp_path / "a", [("predict", model, rows)])
    assert odd("a") in piped
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rankfair", "predict", str(model), str(rows)],
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        seen = b""
        while piece := _read(ours):
            seen += piece
    os.close(ours)
    assert process.returncode == 0
    assert not COMMANDS.search(seen.decode().replace("\r\n", "\n"))
    assert "a[U+001B]" in seen.decode()


def _read(descriptor):
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # Linux says so when the other end is closed
        return b""


def test_one_place_prints():
    folder = Path(rankfair.cli.__file__).parent
    calls = {
        path.name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("echo", "secho")
    }
    assert calls == {"errors.py"}
