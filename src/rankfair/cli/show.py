"""What commands for one's own files print: tables, sentences, JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from rankfair.audit.words import not_judged
from rankfair.cli.ends import echo, echo_json
from rankfair.cli.results import say_audit, say_fit, say_methods, say_path
from rankfair.files.table import Table
from rankfair.files.write import write_table
from rankfair.input.disk import write_whole
from rankfair.input.errors import counted
from rankfair.jobs import sheets

if TYPE_CHECKING:
    from rankfair.audit import Audit
    from rankfair.cli.bundles import Out
    from rankfair.jobs.compares import Compared
    from rankfair.jobs.fits import Fitted
    from rankfair.jobs.paths import Priced
    from rankfair.jobs.predicts import Predicted

__all__ = [
    "audit",
    "compared",
    "fitted",
    "gate",
    "gated",
    "predicted",
    "priced",
]

# Files are written before anything is printed: the reader of a pipe may have gone.


def audit(
    found: Audit,
    out: Out,
    notes: Sequence[str] = (),
    sheet: str | None = None,
    gated: Mapping[str, Any] | None = None,
) -> None:
    """Write the page and the table of an audit, and print it."""
    table = sheets.audit_sheet(found)
    wrote = _write_sheet(table, sheet)
    if out.html is not None:
        found.to_html(out.html)
        wrote.append(out.html)
    _tell(notes, out)
    if _is_plain(table, out, sheet, lambda: {**found.to_dict(), **(gated or {})}):
        say_audit(found, out.quiet)
    _wrote(out, wrote, sheet)


def gated(
    found: Audit | None, max_gap: float | None, ignore_small: bool
) -> dict[str, Any]:
    """Return what JSON says of the gate: nothing if none was asked for."""
    if found is None or max_gap is None:
        return {}
    result = found.gate(max_gap, ignore_small=ignore_small)
    return {"gate": {"max_gap": max_gap, "result": result.name.lower()}}


def gate(
    found: Audit,
    max_gap: float | None,
    out: Out,
    sheet: str | None = None,
    ignore_small: bool = False,
) -> None:
    """Compare the gap with the most allowed, and end with the code that says so."""
    if max_gap is None:
        return
    result = found.gate(max_gap, ignore_small=ignore_small)
    if not (out.quiet and out.as_json):  # then it is in the JSON
        gap = "unknown" if math.isnan(found.gap) else f"{found.gap:.4f}"
        sentence = f"{result.value} Gap {gap}, at most {max_gap:g} allowed."
        sentence += not_judged(found)
        if not result.exit_code and found.unjudged():
            sentence += " They were ignored, as asked."
        elif result is not found.gate(max_gap, ignore_small=True):
            sentence += " --ignore-small-groups lets it hold without them."
        echo(sentence, err=out.as_json or sheet == "-")
    raise typer.Exit(result.exit_code)


def fitted(done: Fitted, out: Out, gated: Mapping[str, Any] | None = None) -> None:
    """Print what a fit came to, and what it changed."""
    wrote: list[Any] = [] if done.path is None else [done.path]
    if done.audit is not None and out.html is not None:
        done.audit.to_html(out.html)
        wrote.insert(0, out.html)
    _tell(done.notes, out)
    if out.as_json:
        echo_json({**sheets.fitted_dict(done), **(gated or {})})
    else:
        say_fit(done)
    _wrote(out, wrote)
    if done.path is None and not out.quiet:
        echo("The model was not kept: -o FILE writes it.", err=True)


def predicted(done: Predicted, out: str, quiet: bool) -> None:
    """Say how many rows were written where, on stderr: stdout may be the table."""
    if quiet:
        return
    for note in done.notes:
        echo(f"Note: {note}", err=True)
    if out != "-":
        echo(f"wrote {counted(done.n_rows, 'row')} to {out}", err=True)


def priced(done: Priced, out: Out, sheet: str | None = None) -> None:
    """Print a path of ε."""
    table = sheets.priced_sheet(done)
    wrote = [*_write_sheet(table, sheet), *_write_methods(done.page, out)]
    _tell(done.notes, out)
    if _is_plain(table, out, sheet, lambda: sheets.priced_dict(done)):
        say_path(done)
    _wrote(out, wrote, sheet)


def compared(done: Compared, out: Out, sheet: str | None = None) -> None:
    """Print methods side by side."""
    table = sheets.compared_sheet(done)
    wrote = [*_write_sheet(table, sheet), *_write_methods(done.page, out)]
    _tell(done.notes, out)
    if _is_plain(table, out, sheet, lambda: sheets.compared_dict(done)):
        say_methods(done)
    _wrote(out, wrote, sheet)


def _is_plain(
    table: Table, out: Out, sheet: str | None, as_dict: Callable[[], Any]
) -> bool:
    """Print JSON, or the table to a pipe; tell whether neither was asked for."""
    if out.as_json:
        echo_json(as_dict())
    elif sheet == "-":
        write_table(table, "-")
    return not out.as_json and sheet != "-"


def _write_sheet(table: Table, path: str | None) -> list[Any]:
    """Write a table to a file and return its name; standard output has to wait."""
    if path is None or path == "-":
        return []
    write_table(table, path)
    return [path]


def _write_methods(page: Any, out: Out) -> list[Any]:
    if out.html is None:
        return []
    from rankfair.report.methods import render_comparison

    return [write_whole(out.html, render_comparison(page))]


def _wrote(out: Out, paths: Sequence[Any], sheet: str | None = None) -> None:
    if not out.quiet:
        for path in paths:
            echo(f"wrote {path}", err=out.as_json or sheet == "-")


def _tell(notes: Sequence[str], out: Out) -> None:
    if not out.quiet:
        for note in notes:
            echo(f"Note: {note}", err=True)
