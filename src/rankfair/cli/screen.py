"""What commands show: tables, prose, progress, and where results were written."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

from rankfair.audit.frames import estimate_columns
from rankfair.audit.words import number, table_lines
from rankfair.cli.errors import echo, echo_json
from rankfair.input.errors import clipped, printable
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.cli.options import OutputOptions
    from rankfair.files.table import Table

# Told of each step: its name, its number and how many there are.
OnStep: TypeAlias = Callable[[str, int, int], None]
LARGE, SMALL = 1e6, 1e-3  # beyond them a column is shown with powers of ten
MOST_LETTERS = 40  # of the name of a step, which leave room for the bar


def figures(values: Sequence[Estimate | float], digits: int) -> list[str]:
    """Return a column of numbers with the same decimals, ``digits`` in the largest."""
    plain = [v.value if isinstance(v, Estimate) else v for v in values]
    largest = max((abs(v) for v in plain if math.isfinite(v)), default=0.0)
    if not SMALL <= largest < LARGE:
        return [number(v, f".{digits}g") for v in plain]
    decimals = max(digits - 1 - math.floor(math.log10(largest)), 0)
    return [number(v, f",.{decimals}f") for v in plain]


def say(*paragraphs: str) -> None:
    """Print prose in lines that fit the screen, 100 signs at most.

    A line end in a paragraph is not one of ours, and begins no line.
    """
    width = min(get_terminal_size().columns, 100) - 1
    for text in paragraphs:
        # No line begins with a lonely sign.
        tied = printable(text).replace(" %", "\u00a0%")
        for line in wrap(tied, width, break_on_hyphens=False) or [""]:
            echo(line.replace("\u00a0%", " %"))


def show_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], strong: Sequence[int] = ()
) -> None:
    """Print a table, some rows of it in bold where there is a terminal for it."""
    # The rest of the world asks for plain text by this name: no-color.org.
    plain = "NO_COLOR" in os.environ
    for i, line in enumerate(table_lines(head, rows)):
        echo(line, bold=i - 2 in strong and not plain)


@contextmanager
def progress(quiet: bool) -> Iterator[OnStep | None]:
    """Give a function to be told of each step, which shows them on stderr."""
    if quiet:
        yield None
    elif find_spec("rich") is None:

        def on_line(name: str, step: int, steps: int) -> None:
            echo(f"{step}/{steps} {clipped(name, MOST_LETTERS)}", err=True)

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
                shown = escape(clipped(name, MOST_LETTERS))
                bar.update(task, description=shown, completed=step - 1, total=steps)

            yield on_step


def write_results(
    out: OutputOptions,
    *,
    notes: Sequence[str] = (),
    table: Table | None = None,
    sheet: str | None = None,
    page: Callable[[Any], Any] | None = None,
    as_dict: Callable[[], Any],
    say: Callable[[], None],
    files: Sequence[Any] = (),
) -> None:
    """Write table and page, then print notes, the result, and what was written.

    Files come first, because the reader of a pipe may have gone.  The result is JSON,
    the table itself (``sheet`` is ``"-"``), or what ``say`` prints.
    """
    from rankfair.files.write import write_table

    wrote = list(files)
    if table is not None and sheet not in (None, "-"):
        write_table(table, str(sheet))
        wrote.append(sheet)
    if out.html is not None and page is not None:
        page(out.html)
        wrote.append(out.html)
    tell(notes, out.quiet)
    if out.as_json:
        echo_json(as_dict())
    elif table is not None and sheet == "-":
        write_table(table, "-")
    else:
        say()
    if not out.quiet:
        for path in wrote:
            echo(f"wrote {path}", err=out.as_json or sheet == "-")


def tell(notes: Sequence[str], quiet: bool = False) -> None:
    """Print notes on stderr."""
    if not quiet:
        for note in notes:
            echo(f"Note: {note}", err=True)


def spread(records: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Return value and confidence interval of estimates as columns of a table."""
    import numpy as np

    columns: dict[str, list[Any]] = {}
    for name in names:
        columns |= estimate_columns(name, [getattr(record, name) for record in records])
    return {name: np.array(values, float) for name, values in columns.items()}


def column(values: list[Any]) -> Any:
    """Return values as a column of a table: numbers, or text."""
    import numpy as np

    if all(isinstance(value, int | float) for value in values):
        return np.array(values)
    out = np.empty(len(values), object)
    out[:] = [str(value) for value in values]
    return out
