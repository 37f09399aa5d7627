"""What the commands show: progress while they work, then tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rankfair.cli.ends import echo
from rankfair.cli.tables import say, show_table
from rankfair.experiments.demo import Demo, OnStep
from rankfair.experiments.methods import DEFAULT
from rankfair.experiments.table import HEAD, LEGEND, cells, errors, notes
from rankfair.input.errors import clipped

if TYPE_CHECKING:
    from rankfair.experiments.reproduce.run import OnCell, Result, Standing

__all__ = ["cell_progress", "progress", "show", "show_reproduction"]

MOST = 40  # signs of a step's name, which leave room for the bar


@contextmanager
def progress(quiet: bool) -> Iterator[OnStep | None]:
    """Give a function to be told of each step, which shows them on stderr.

    Parameters
    ----------
    quiet : bool
        Give none, and show nothing.

    Yields
    ------
    callable or None
        A function of the step's name, its number and the number of steps.

    Examples
    --------
    >>> with progress(quiet=True) as on_step:
    ...     print(on_step)
    None
    """
    if quiet:
        yield None
    elif find_spec("rich") is None:

        def on_line(name: str, step: int, steps: int) -> None:
            echo(f"{step}/{steps} {clipped(name, MOST)}", err=True)

        yield on_line
    else:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress

        console = Console(stderr=True)
        # In a log a bar is only a blank line.
        hidden = not console.is_terminal
        with Progress(console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task("", total=None)

            def on_step(name: str, step: int, steps: int) -> None:
                # A name may hold labels of a file: signs that are no commands here.
                shown = escape(clipped(name, MOST))
                bar.update(task, description=shown, completed=step - 1, total=steps)

            yield on_step


def show(done: Demo) -> None:
    """Print the table, what the methods warned of, and where the files are.

    Parameters
    ----------
    done : Demo
        What `rankfair.experiments.demo.run` returned.

    Examples
    --------
    >>> from pathlib import Path
    >>> from rankfair.experiments.records import Mean, Summary
    >>> means = [Mean(0.5, 0.0)] * 4
    >>> rows = [Summary("tilt", "no", kind, *means) for kind in ("train", "held-out")]
    >>> show(Demo([], [], rows, [Path("demo/frontier.png")]))
    method...
    wrote demo/frontier.png
    """
    rows = cells(done.summary)
    strong = [i for i, row in enumerate(rows) if row[0] == DEFAULT]
    show_table(HEAD, rows, strong)
    draws = len({row["seed"] for row in done.records})
    for paragraph in (errors(done.summary, draws), *LEGEND, *notes(done.records)):
        say("", paragraph)
    say("")
    for path in done.files:
        echo(f"wrote {path}")


@contextmanager
def cell_progress(quiet: bool) -> Iterator[OnCell | None]:
    """Give a function to be told of cells: a bar with the time left, or a few lines.

    Parameters
    ----------
    quiet : bool
        Give none, and show nothing.

    Yields
    ------
    callable or None
        A function of `Standing`.

    Examples
    --------
    >>> with cell_progress(quiet=True) as on_cell:
    ...     print(on_cell)
    None
    """
    if quiet:
        yield None
    elif _is_terminal():
        with _bar() as on_cell:
            yield on_cell
    else:
        yield _lines()


def _is_terminal() -> bool:
    """Whether there is a terminal to draw a bar on, and something to draw it with."""
    if find_spec("rich") is None:
        return False
    from rich.console import Console

    return Console(stderr=True).is_terminal


@contextmanager
def _bar() -> Iterator[OnCell]:
    from rich import progress as parts
    from rich.console import Console

    with parts.Progress(
        parts.BarColumn(24),
        parts.TaskProgressColumn(),
        parts.TextColumn("{task.fields[cells]}"),
        parts.TimeRemainingColumn(),
        parts.TextColumn("left  {task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=600,
    ) as bar:
        task = bar.add_task("finding the data", total=1.0, cells="")

        def on_cell(now: Standing) -> None:
            cells, at = f"{now.done}/{now.cells}", ", ".join(now.at)
            bar.update(task, completed=now.share, cells=cells, description=at)

        yield on_cell


def _lines() -> OnCell:
    """A line on stderr for every tenth of the work: for logs."""
    told = -1

    def on_cell(now: Standing) -> None:
        nonlocal told
        tenth = int(now.share * 10 + 1e-9)
        if tenth > told:
            told = tenth
            echo(f"{tenth * 10} %, {now.done} of {now.cells} cells", err=True)

    return on_cell


def show_reproduction(result: Result, written: list[Path]) -> None:
    """Print what holds, what is missing or failed, and where the files are.

    Parameters
    ----------
    result : Result
        What `rankfair.experiments.reproduce.run.reproduce` returned.
    written : list of Path
        The files.

    Examples
    --------
    >>> from rankfair.experiments.reproduce.run import Result
    >>> from rankfair.experiments.reproduce.settings import Settings
    >>> empty = Result(Settings(("wine",)), [], {"wine": "no file"}, {})
    >>> show_reproduction(empty, [Path("results/tables.md")])
    Wine was not run: no file
    wrote results/tables.md
    """
    from rankfair.experiments.reproduce.claims import evaluate
    from rankfair.experiments.reproduce.summary import Summary
    from rankfair.experiments.reproduce.tables import describe_failure, title_of

    summary = Summary(result.records)
    for claim in evaluate(summary, result.there) if result.there else ():
        mark = "holds" if claim.holds else "does not hold"
        echo(f"{mark}, {claim.held} of {claim.of} datasets: {claim.sentence}")
        for line in claim.figures:
            echo(f"    {line.replace('**', '')}")
    for name, why in result.missing.items():
        echo(f"{title_of(name)} was not run: {result.said.get(name, why)}")
    for failure in summary.failures():
        echo(describe_failure(failure))
    for path in written:
        echo(f"wrote {path}")
