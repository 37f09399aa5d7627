"""What commands show: answers, tables, prose and progress."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import typer

from rankfair.audit import Audit, Gate
from rankfair.audit.records import estimate_columns
from rankfair.audit.summary import figures, interval, not_judged, number, table_lines
from rankfair.cli.errors import echo, echo_json, tell
from rankfair.files.table import Dialect, Table
from rankfair.files.write import write_table
from rankfair.input.disk import write_whole
from rankfair.input.errors import clipped, listed, printable
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.paths import Path
    from rankfair.report.methods_page import MethodTable

# Told of each step: its name, its number and how many there are.
OnStep: TypeAlias = Callable[[str, int, int], None]
MOST_LETTERS = 40  # of the name of a step, which leave room for the bar


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command found, in every form in which it can be shown."""

    notes: tuple[str, ...] = ()  # what a person should know
    audit: Audit | None = None  # what --max-gap judges
    dialect: Dialect = Dialect()  # of the files that were read
    written: tuple[Any, ...] = ()  # files that were written on the way

    def say(self, quiet: bool) -> None:
        """Print it for people; what explains it is left out if ``quiet``."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return JSON types, as a schema in ``docs/`` describes them."""
        found: dict[str, Any] = noted(self.audit, self.notes).to_dict()
        return found

    def table(self) -> Table:
        """Return its rows."""
        raise NotImplementedError

    def opening(self) -> list[str]:
        """Return the sentences before the verdict of its page."""
        return []

    def write_page(self, file: FilePath, suppress: int) -> list[str]:
        """Write its page without groups and tasks of fewer rows; return their names."""
        from rankfair.report.audit_page import render
        from rankfair.report.privacy import not_shown

        found = noted(self.audit, self.notes)
        # What the verdict says itself, it says of groups and tasks that are shown.
        first = [each for each in self.opening() if each not in found.verdict]
        write_whole(file, render(found, suppress, first))
        return not_shown(found, suppress)


def noted(record: Any, notes: Sequence[str]) -> Any:
    """Return an audit, or methods, with what a person should know of the rows."""
    return replace(record, provenance=replace(record.provenance, notes=tuple(notes)))


def show(found: Answer, asked: Any) -> None:
    """Write table and page, print notes, the answer and what was written, then judge.

    Files come first, because the reader of a pipe may have gone.
    """
    wrote, beside = [*found.written], asked.json or asked.table == "-"
    hidden: list[str] = []
    if asked.table is not None:
        rows = replace(found.table(), dialect=found.dialect)
        if asked.table != "-":
            write_table(rows, asked.table)
            wrote.append(asked.table)
    if asked.html is not None:
        hidden = found.write_page(asked.html, asked.suppress)
        wrote.append(asked.html)
    tell(found.notes, asked.quiet)
    if hidden:  # whoever made the page knows what its readers do not see
        told = f"Not on the page, so that nobody can be recognised: {listed(hidden)}."
        tell([told], asked.quiet)
    result = None
    if hasattr(asked, "max_gap"):
        result = _judged(found.audit, asked, asked.ignore_small_groups)
    if asked.json:
        answer = found.to_dict()
        if result is not None:
            limits = {"max_gap": asked.max_gap, "max_task_gap": asked.max_task_gap}
            answer["gate"] = {**limits, "result": result.name.lower()}
        echo_json(answer)
    elif asked.table == "-":
        write_table(rows, "-")
    else:
        found.say(asked.quiet)
    if not asked.quiet:
        for path in wrote:
            echo(f"wrote {path}", err=beside)
    if result is not None:
        if not (asked.quiet and asked.json):
            echo(_gate_words(found.audit, asked, result), err=beside)
        raise typer.Exit(result.exit_code)


def _judged(audit: Any, asked: Any, ignore_small: bool) -> Gate | None:
    """Judge what was asked for, if anything was; of two the worse counts."""
    found = []
    if asked.max_gap is not None:
        found.append(audit.gate(asked.max_gap, ignore_small=ignore_small))
    if asked.max_task_gap is not None:
        found.append(audit.task_gate(asked.max_task_gap))
    worse = (Gate.EXCEEDED, Gate.NOT_ESTIMABLE, Gate.HELD)
    return min(found, key=worse.index, default=None)


def _gate_words(audit: Any, asked: Any, result: Gate) -> str:
    """Return a sentence on each gap that was judged."""
    parts = [result.value]
    if asked.max_gap is not None:
        gap, most = _gap(audit.gap), f"at most {asked.max_gap:g} allowed"
        parts.append(f"Gap {gap}, {most}.{not_judged(audit)}")
        if result is not _judged(audit, asked, True):
            parts.append("--ignore-small-groups lets it hold without them.")
    within = audit.task_gap()
    if asked.max_task_gap is not None:
        most = f"at most {asked.max_task_gap:g} allowed"
        told = f"Largest gap of a flagged task {_gap(within)}, {most}."
        parts.append(told if within else "No task is flagged.")
    elif asked.max_gap is not None and within > asked.max_gap:
        parts.append(
            f"Warning: a flagged task has a gap of {_gap(within)}; --max-task-gap "
            "judges it."
        )
    return " ".join(parts)


def _gap(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.4f}"


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


def show_table(*columns: tuple[str, Iterable[str]], strong: Sequence[int] = ()) -> None:
    """Print columns with their names, some rows in bold where a terminal can."""
    # The rest of the world asks for plain text by this name: no-color.org.
    plain = "NO_COLOR" in os.environ
    for i, line in enumerate(table_lines(columns)):
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
        return np.array(values, float)  # None is NaN
    out = np.empty(len(values), object)
    out[:] = [None if value is None else str(value) for value in values]
    return out


@contextmanager
def progress(quiet: bool) -> Iterator[OnStep]:
    """Give a function to be told of each step, which shows the last on a terminal."""
    shows = not quiet and sys.stderr.isatty()

    def put(line: str) -> None:
        if shows:
            typer.echo(f"\r{line:<{MOST_LETTERS + 20}}\r", nl=False, err=True)

    def on_step(name: str, step: int, steps: int) -> None:
        put(f"{step}/{steps} {clipped(printable(name), MOST_LETTERS)}")

    try:
        yield on_step
    finally:
        put("")


@dataclass(frozen=True, kw_only=True)
class Compared(Answer):
    """Lines side by side, methods or the ε of a path, in every form."""

    page: MethodTable
    rows: Table
    found: dict[str, Any]  # what the JSON of this command has of its own
    refused: dict[str, str] = field(default_factory=dict)  # methods, and why
    few: tuple[str, ...] = ()  # those of the notes that name small groups
    path: Path | None = None
    reference: str = ""  # of a path, the group that the others are compared with

    @classmethod
    def of(cls, data: Any, unjudged: Sequence[str], **more: Any) -> Compared:
        """Return it with the notes on training rows, and on groups of too few."""
        few = (f"Too few rows to judge {listed(unjudged)}.",) if unjudged else ()
        notes = (*data.notes, *few)
        return cls(notes=notes, few=few, dialect=data.table.dialect, **more)

    def say(self, quiet: bool) -> None:
        """Print the lines, the chosen one in bold, and the summary."""
        lines, curve = self.page.lines, self.page.curve
        errors = [line.rmse for line in lines]
        ends = figures([end for e in errors for end in (e.ci_low, e.ci_high)], 4)
        gaps = [(it.auc_gap, math.isnan(it.auc_gap.value)) for it in lines]
        show_table(
            (
                "epsilon" if curve else "method",
                [line.method.removeprefix("ε = ") for line in lines],
            ),
            ("RMSE", figures(errors, 4)),
            ("CI", ["–".join(ends[2 * i :][:2]) * curve for i in range(len(lines))]),
            ("rank gap", [number(line.auc_gap) for line in lines]),
            ("CI", ["" if gone else interval(gap) for gap, gone in gaps]),
            ("in tasks", [number(line.within_task_auc) for line in lines]),
            ("MD", figures([line.mean_difference for line in lines], 3)),
            ("KS", [number(line.ks) for line in lines]),
            ("status", [line.note * curve for line in lines]),
            ("groups", ["" if self.page.of_groups else it.groups for it in lines]),
            strong=[i for i, line in enumerate(lines) if line.chosen],
        )
        if self.page.of_groups:
            say("", f"The groups compared: {self.page.of_groups}.")
        say("", self.page.summary)
        if not curve:
            say(*(f"{line.method}: {line.note}." for line in lines if line.note))
        say(*not_run(self.refused))
        if self.path is not None and len(lines) < len(self.path.rows):
            shown = f"{len(lines)} of {len(self.path.rows)} ε are shown"
            say("", f"{shown}; -o FILE writes all of them.")

    def to_dict(self) -> dict[str, Any]:
        """Return what the schema of either command in ``docs/`` describes."""
        return {
            "format": "rankfair-path" if self.page.curve else "rankfair-compare",
            "version": 2,
            "fingerprint": self.page.provenance.fingerprint,
            "summary": self.page.summary,
            **self.found,
            "notes": list(self.notes),
        }

    def table(self) -> Table:
        """Return a row for each method, or for each ε."""
        return self.rows

    def write_page(self, file: FilePath, suppress: int) -> list[str]:
        """Write the page, which shows no group or task alone but those of a path."""
        from rankfair.report.explorer import not_drawn
        from rankfair.report.methods_page import render_comparison

        few = self.few if suppress > 1 else ()
        page = noted(self.page, [it for it in self.notes if it not in few])
        html = render_comparison(page, self.path, self.reference, suppress)
        write_whole(file, html)
        return not_drawn(self.path, suppress)


def not_run(refused: Mapping[str, str]) -> list[str]:
    """Return a sentence for each reason why methods could not be run."""
    found = []
    for why in dict.fromkeys(refused.values()):
        names = [name for name, each in refused.items() if each == why]
        were = "was" if len(names) == 1 else "were"
        found.append(f"{listed(names, len(names))} {were} not run: {why}")
    return found
