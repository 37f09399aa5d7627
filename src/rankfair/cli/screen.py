"""What the commands show: progress while they work, then tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rankfair.cli.ends import echo
from rankfair.cli.tables import say, show_table
from rankfair.experiments.demo import Demo, OnStep
from rankfair.experiments.methods import DEFAULT
from rankfair.experiments.table import HEAD, LEGEND, cells, errors, notes
from rankfair.input.errors import clipped

__all__ = ["progress", "show"]

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
