import re

import pytest

from rankfair.cli import screen


@pytest.fixture(params=[True, False], ids=["rich", "plain"])
def with_rich(request, monkeypatch):
    if not request.param:
        monkeypatch.setattr(screen, "find_spec", lambda name: None)
    return request.param


def test_quiet_shows_no_progress(with_rich, capsys):
    with screen.progress(quiet=True) as on_step:
        on_step("tilt", 2, 3)
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
