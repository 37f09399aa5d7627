import io
import os
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankfair.cli import reproduce as command
from rankfair.cli import screen
from rankfair.cli.app import app
from rankfair.experiments.reproduce import files, run
from rankfair.experiments.reproduce.journal import RefusedError
from rankfair.experiments.reproduce.lock import locked
from rankfair.experiments.reproduce.run import Result, Standing
from rankfair.experiments.reproduce.settings import DATASETS, REAL, SYNTHETIC, Settings
from rankfair.experiments.reproduce.workers import LostWorkerError


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Let the command run nothing; return what it would have run."""
    seen = {}

    def reproduce(out, settings, **how):
        seen.update(out=out, settings=settings, **how)
        return Result(settings, [], dict.fromkeys(settings.data, "no file"), {})

    monkeypatch.setattr(run, "reproduce", reproduce)
    monkeypatch.setattr(files, "write_pages", lambda out, result: [out / "a.md"])
    # Only the folder that keeps other runs out is made.
    monkeypatch.chdir(tmp_path)
    return seen


def ran(*options):
    return CliRunner().invoke(app, ["reproduce", *options])


def test_without_options_everything_runs(asked):
    done = ran()
    assert done.exit_code == 0
    assert asked["settings"] == Settings()
    assert (asked["out"], asked["jobs"], asked["resume"]) == (Path("results"), 2, False)
    assert asked["on_cell"] is not None
    assert "Wine was not run: no file" in done.stdout
    assert f"wrote {Path('results') / 'a.md'}" in done.stdout


@pytest.mark.parametrize(
    ("options", "data"),
    [
        (["--tables", "2", "3"], DATASETS),
        (["--tables", "2,3"], DATASETS),
        (["--tables", "2", "--tables", "3"], DATASETS),
        (["--tables", "3"], REAL),
        (["--data", "synthetic"], SYNTHETIC),
        (["--data", "wine", "crime"], ("crime", "wine")),
        (["--tables", "3", "--data", "wine", "student"], ("wine", "student")),
        (["--tables", "2", "3", "--data", "wine"], ("wine",)),
        (["--data", "synthetic 0.9"], ("synthetic 0.9",)),
        (["--data", "synthetic-0.9,wine"], ("synthetic 0.9", "wine")),
        (["--data", "synthetic", "0.9", "wine"], ("synthetic 0.9", "wine")),
        (["--data", "Wine,Synthetic 0.8"], ("synthetic 0.8", "wine")),
        (["--data", "synthetic wine"], (*SYNTHETIC, "wine")),
    ],
)
def test_tables_and_data_may_be_written_as_one_likes(asked, options, data):
    assert ran(*options, "--out", "x").exit_code == 0
    assert asked["settings"].data == data
    assert asked["out"] == Path("x")


@pytest.mark.parametrize(
    ("options", "figures"),
    [
        ([], True),
        (["--tables", "2"], False),
        (["--tables", "2", "--figures"], True),
        (["--no-figures"], False),
        (["--data", "wine"], True),
    ],
)
def test_figures_are_drawn_unless_only_tables_are_asked_for(asked, options, figures):
    ran(*options)
    assert asked["settings"].figures == figures


def test_quick_repeats_seed_and_jobs_are_passed_on(asked):
    ran(
        "--quick", "--repeats", "3", "--seed", "4", "--jobs", "1", "--resume", "--quiet"
    )
    assert asked["settings"].repeats == 3 and asked["settings"].seed == 4
    assert asked["settings"].keep == Settings.quick().keep
    assert (asked["jobs"], asked["resume"], asked["on_cell"]) == (1, True, None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tables", "4"], "2 and 3, got 4"),
        (["--tables", "two"], "--tables takes 2 and 3, got 'two'"),
        (["3"], "Unexpected '3'"),
        (["--tables", "2", "wine"], "Unexpected 'wine'"),
        (["--tables", "²"], "--tables takes 2 and 3, got '²'"),
        (["--tables", ","], "--tables was given without a value"),
        (["--data", "wien"], "There is no data called 'wien' (did you mean 'wine'?)"),
        (["--data", "synthetic 0.95"], "'synthetic 0.95' (did you mean 'synthetic 0.9"),
        (["--data", ""], "--data was given without a value"),
        (["--data", ","], "--data was given without a value"),
        (["--tables", "2", "--data", "wine"], "Table 2 holds no wine data"),
        (["--repeats", "0"], "--repeats"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(asked, options, said):
    done = ran(*options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert asked == {}


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "--resume"),
        (RefusedError("the folder holds"), 2, "The folder holds"),
        (LostWorkerError("a worker"), 2, "A worker"),
        (PermissionError(13, "Permission denied"), 2, "write to --out out: Permission"),
    ],
)
def test_what_stops_a_run_is_said(monkeypatch, tmp_path, error, code, said):
    monkeypatch.chdir(tmp_path)

    def stopped(*_, **__):
        raise error

    monkeypatch.setattr(run, "reproduce", stopped)
    done = ran("--out", "out", "--quiet")
    assert done.exit_code == code
    assert said in done.stderr
    assert "Traceback" not in done.output


def test_docs_that_cannot_be_written_are_named(asked, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    done = ran("--docs", str(file / "docs"), "--out", "out", "--quiet")
    assert done.exit_code == 2
    assert f"Could not write to --docs {file / 'docs'}: " in done.stderr
    assert "--out" not in done.stderr


def test_docs_are_written(asked, tmp_path):
    done = ran("--docs", "docs", "--quiet")
    assert done.exit_code == 0
    assert (tmp_path / "docs" / "reproduction.md").is_file()


def test_a_folder_where_a_run_is_at_work_is_refused(asked):
    with locked(Path("busy")):
        done = ran("--out", "busy", "--resume", "--quiet")
    assert done.exit_code == 2
    assert f"Process {os.getpid()} on " in done.stderr
    assert asked == {}
    assert ran("--out", "busy", "--quiet").exit_code == 0


def test_the_whole_sentence_of_the_loader_is_on_the_screen_only(monkeypatch, asked):
    result = Result(
        Settings(("wine",)), [], {"wine": "short"}, {}, {"wine": "in /a/folder"}
    )
    monkeypatch.setattr(run, "reproduce", lambda *_, **__: result)
    assert "Wine was not run: in /a/folder" in ran().stdout


def test_a_method_that_failed_is_named_and_the_exit_code_is_1(monkeypatch, asked):
    row = {"kind": "table", "data": "wine", "method": "SDBC", "error": "no luck"}
    result = Result(Settings(("wine",)), [row], {}, {})
    monkeypatch.setattr(run, "reproduce", lambda *_, **__: result)
    done = ran()
    assert done.exit_code == 1
    assert "Wine, SDBC (repeat 0) failed: no luck" in done.stdout
    assert "does not hold, 0 of 1 datasets: Rank has" in done.stdout


def test_figures_without_matplotlib_are_one_sentence(asked, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    done = ran()
    assert done.exit_code == 2
    assert 'pip install "rankfair[plot]"' in done.stderr
    assert ran("--no-figures").exit_code == 0


@pytest.mark.parametrize("rich", [True, False])
def test_a_log_gets_a_line_for_every_tenth(monkeypatch, capsys, rich):
    if not rich:
        monkeypatch.setattr(screen, "find_spec", lambda name: None)
    with screen.cell_progress(quiet=False) as on_cell:
        for done in range(101):
            on_cell(Standing(done, 100, done / 100, ("wine: Rank",)))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 11
    assert "50 %, 50 of 100 cells" in shown.err


def test_a_terminal_gets_a_bar_with_the_cells_at_work(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with screen.cell_progress(quiet=False) as on_cell:
        on_cell(Standing(3, 10, 0.3, ("wine: Rank", "crime: [SDBC]")))
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", sys.stderr.getvalue())
    assert "30%" in shown and "3/10" in shown
    assert "wine: Rank, crime: [SDBC]" in shown
