import re
import sys
from pathlib import Path

import pytest

from rankfair.cli import screen
from rankfair.cli.demo import Demo, MeanOfDraws, MethodMeans, show_demo

ROW = {"seed": 0, "method": "tilt", "needs_group": "no", "note": "Something to know."}
MEANS = [
    MethodMeans(
        "tilt", "no", rows, *(MeanOfDraws(v, 0.0) for v in (rmse, 0.5, 0.1, 0.2))
    )
    for rows, rmse in (("train", 0.75), ("held-out", 0.8))
]
DONE = Demo([ROW], [], MEANS, [Path("demo") / "frontier.png"])


@pytest.fixture(params=[True, False], ids=["rich", "plain"])
def with_rich(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(screen, "find_spec", lambda name: None)
    return request.param


def test_table_note_and_files_are_shown(capsys):
    show_demo(DONE)
    shown = capsys.readouterr().out
    note = "tilt, in 1 of 1 draws: Something to know."
    for part in ("0.750", "0.800", "0.500", "One draw", note, str(DONE.files[0])):
        assert part in shown


def test_quiet_shows_no_progress(with_rich, capsys):
    with screen.progress(quiet=True) as on_step:
        assert on_step is None
    assert capsys.readouterr().err == ""


def test_progress_goes_to_stderr_only(with_rich, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with screen.progress(quiet=False) as on_step:
        on_step("tilt", 2, 3)
    shown = capsys.readouterr()
    assert "tilt" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("name", ["[bold]a[/bold] v [/]", "[2066, 2444] v the rest"])
def test_labels_in_progress_are_no_commands(with_rich, capsys, monkeypatch, name):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with screen.progress(quiet=False) as on_step:
        on_step(f"\a{name}", 1, 3)
    shown = capsys.readouterr().err
    assert name in "".join(re.split(r"\x1b\[[\d;?]*[a-zA-Z]", shown))
    assert "\a" not in shown


def test_rich_is_not_needed(monkeypatch, capsys):
    monkeypatch.setattr(screen, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    show_demo(DONE)
    assert "train RMSE" in capsys.readouterr().out
