"""What commands show: answers, tables, prose and progress."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import typer

from rankfair.audit import Audit, Gate
from rankfair.audit.records import estimate_columns
from rankfair.audit.summary import not_judged, number, table_lines
from rankfair.cli.errors import echo, echo_json
from rankfair.files.table import Dialect, Table
from rankfair.files.write import write_table
from rankfair.input.errors import clipped, printable
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.cli.options import GateOptions, OutputOptions

# Told of each step: its name, its number and how many there are.
OnStep: TypeAlias = Callable[[str, int, int], None]
LARGE, SMALL = 1e6, 1e-3  # beyond them a column is shown with powers of ten
MOST_LETTERS = 40  # of the name of a step, which leave room for the bar


class Answer:
    """What a command found, in every form in which it can be shown."""

    notes: tuple[str, ...]  # what a person should know
    audit: Audit | None  # what --max-gap judges
    dialect: Dialect = Dialect()  # of the files that were read

    def say(self, quiet: bool) -> None:
        """Print it for people; what explains it is left out if ``quiet``."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return JSON types, as a schema in ``docs/`` describes them."""
        raise NotImplementedError

    def table(self) -> Table:
        """Return its rows."""
        raise NotImplementedError

    def write_page(self, file: Path) -> None:
        """Write its page."""
        raise NotImplementedError

    def written(self) -> list[Any]:
        """Return the files that were written on the way."""
        return []


def show(found: Answer, out: OutputOptions, gate: GateOptions | None = None) -> None:
    """Write table and page, print notes, the answer and what was written, then judge.

    Files come first, because the reader of a pipe may have gone.
    """
    wrote, beside = found.written(), out.as_json or out.sheet == "-"
    if out.sheet not in (None, "-"):
        _write(found, str(out.sheet))
        wrote.append(out.sheet)
    if out.html is not None:
        found.write_page(out.html)
        wrote.append(out.html)
    tell(found.notes, out.quiet)
    judged = None if gate is None or not gate.given else found.audit
    if out.as_json:
        gated = {} if judged is None or gate is None else {"gate": _gated(judged, gate)}
        echo_json({**found.to_dict(), **gated})
    elif out.sheet == "-":
        _write(found, "-")
    else:
        found.say(out.quiet)
    if not out.quiet:
        for path in wrote:
            echo(f"wrote {path}", err=beside)
    if judged is not None and gate is not None:
        _end_by_gate(judged, gate, silent=out.quiet and out.as_json, err=beside)


def _write(found: Answer, where: str) -> None:
    """Write the table of an answer as the files that were read are written."""
    write_table(replace(found.table(), dialect=found.dialect), where)


def _result(audit: Audit, gate: GateOptions, ignore_small: bool) -> Gate:
    """Judge what was asked for; of two the worse counts."""
    found = []
    if gate.max_gap is not None:
        found.append(audit.gate(gate.max_gap, ignore_small=ignore_small))
    if gate.max_task_gap is not None:
        found.append(audit.task_gate(gate.max_task_gap))
    return min(found, key=(Gate.EXCEEDED, Gate.NOT_ESTIMABLE, Gate.HELD).index)


def _gated(audit: Audit, gate: GateOptions) -> dict[str, Any]:
    """Return what JSON says of the gate."""
    limits = {"max_gap": gate.max_gap, "max_task_gap": gate.max_task_gap}
    return {**limits, "result": _result(audit, gate, gate.ignore_small).name.lower()}


def _end_by_gate(audit: Audit, gate: GateOptions, silent: bool, err: bool) -> None:
    """Compare gaps with the largest allowed, and end with the code that says so."""
    result = _result(audit, gate, gate.ignore_small)
    if not silent:
        echo(_judged(audit, gate, result), err=err)
    raise typer.Exit(result.exit_code)


def _judged(audit: Audit, gate: GateOptions, result: Gate) -> str:
    """Return a sentence on each gap that was judged."""
    parts = [result.value]
    if gate.max_gap is not None:
        most = f"at most {gate.max_gap:g} allowed"
        parts.append(f"Gap {_gap(audit.gap)}, {most}.{not_judged(audit)}")
        if not result.exit_code and audit.unjudged():
            parts.append("They were ignored, as asked.")
        elif result is not _result(audit, gate, ignore_small=True):
            parts.append("--ignore-small-groups lets it hold without them.")
    within = audit.task_gap()
    if gate.max_task_gap is not None:
        most = f"at most {gate.max_task_gap:g} allowed"
        told = f"Largest gap of a flagged task {_gap(within)}, {most}."
        parts.append(told if within else "No task is flagged.")
    elif gate.max_gap is not None and within > gate.max_gap:
        parts.append(
            f"Warning: a flagged task has a gap of {_gap(within)}; --max-task-gap "
            "judges it."
        )
    return " ".join(parts)


def _gap(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.4f}"


def tell(notes: Sequence[str], quiet: bool = False) -> None:
    """Print notes on stderr."""
    if not quiet:
        for note in notes:
            echo(f"Note: {note}", err=True)


def figures(values: Sequence[Estimate | float], digits: int) -> list[str]:
    """Return a column of numbers with the same decimals, ``digits`` in the largest."""
    plain = [v.value if isinstance(v, Estimate) else v for v in values]
    largest = max((abs(v) for v in plain if math.isfinite(v)), default=0.0)
    if not SMALL <= largest < LARGE:
        return [number(v, f".{digits}g") for v in plain]
    decimals = max(digits - 1 - math.floor(math.log10(largest)), 0)
    return [number(v, f",.{decimals}f") for v in plain]


def figure(value: float) -> str:
    """Return an error for a sentence: four digits, more rather than a power of ten."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.4g}"


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


def table_of(
    records: Sequence[Any], texts: Sequence[str], estimates: Sequence[str]
) -> Table:
    """Return fields of records as columns; an estimate is followed by its interval.

    Cells are empty where a record has no such field.
    """
    none = Estimate(math.nan)
    columns = {
        name: column_of([getattr(it, name, None) for it in records]) for name in texts
    }
    for name in estimates:
        values = estimate_columns(name, [getattr(it, name, none) for it in records])
        columns |= {part: np.array(of, float) for part, of in values.items()}
    return Table(columns)


def column_of(values: list[Any]) -> Any:
    """Return values as a column of a table: numbers, or text."""
    if all(isinstance(value, int | float) for value in values):
        return np.array(values)
    if all(value is None or isinstance(value, float) for value in values):
        return np.array([math.nan if value is None else value for value in values])
    out = np.empty(len(values), object)
    out[:] = [None if value is None else str(value) for value in values]
    return out


@contextmanager
def progress(quiet: bool) -> Iterator[OnStep]:
    """Give a function to be told of each step, which shows them on stderr."""
    if quiet:
        yield lambda name, step, steps: None
    elif find_spec("rich") is None:
        yield lambda name, step, steps: echo(
            f"{step}/{steps} {clipped(name, MOST_LETTERS)}", err=True
        )
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
