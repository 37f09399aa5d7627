"""What the commands show: progress while they work, then tables and sentences."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import typer

from rankfair.experiments.demo import CURVE, Demo, OnStep
from rankfair.experiments.table import LEGEND, notes, plain_table, rich_table

__all__ = ["progress", "show"]


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
        yield lambda name, step, steps: typer.echo(f"{step}/{steps} {name}", err=True)
    else:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        # In a log a bar is only a blank line.
        hidden = not console.is_terminal
        with Progress(console=console, transient=True, disable=hidden) as bar:
            task = bar.add_task("", total=None)

            def on_step(name: str, step: int, steps: int) -> None:
                bar.update(task, description=name, completed=step - 1, total=steps)

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
    >>> show(Demo([], [], [Path("demo/frontier.png")]))
    <BLANKLINE>
    ...
    wrote demo/frontier.png
    """
    if find_spec("rich") is None:
        typer.echo(plain_table(done.table))
    else:
        from rich.console import Console

        Console().print(rich_table(done.table, strong=CURVE))
    typer.echo(f"\n{LEGEND}\n")
    for note in notes(done.table):
        typer.echo(f"{note}\n")
    for path in done.files:
        typer.echo(f"wrote {path}")
