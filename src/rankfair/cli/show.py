"""What commands for one's own files print: tables, sentences, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from rankfair._disk import write_whole
from rankfair.audit.words import not_judged
from rankfair.cli.ends import in_flags
from rankfair.cli.tables import figures, limits, number, say, show_table
from rankfair.jobs import sheets
from rankfair.jobs.compares import not_run
from rankfair.tables import Table, write_table

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
    "print_json",
]

AUC = "AUC: the chance that a row of the first group is above one of the other."
IN_TASKS = " In tasks: the same among rows of one task."
HEAD = (
    *("model", "column", "groups", "rows"),
    *("AUC", "limits", "in tasks", "MD", "KS", "RMSE"),
)
OTHERS = (
    "MD: mean of the first group less that of the other. KS: greatest distance between "
    "their distributions."
)


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
    if out.as_json:
        print_json({**found.to_dict(), **(gated or {})})
    elif sheet == "-":
        write_table(table, "-")
    else:
        say(f"{found.verdict}\n")
        _comparisons(found)
        for line in [] if out.quiet else _asides(found):
            say(line)
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
        typer.echo(sentence, err=out.as_json or sheet == "-")
    raise typer.Exit(result.exit_code)


def fitted(done: Fitted, out: Out, gated: Mapping[str, Any] | None = None) -> None:
    """Print what a fit came to, and what it changed."""
    wrote: list[Any] = [] if done.path is None else [done.path]
    if done.audit is not None and out.html is not None:
        done.audit.to_html(out.html)
        wrote.insert(0, out.html)
    _tell(done.notes, out)
    if out.as_json:
        print_json({**sheets.fitted_dict(done), **(gated or {})})
    else:
        say(_status(done))
        if done.audit is not None:
            rows = "Held-out rows" if done.held_out else "The rows fitted"
            say(f"{rows}, without the balance (before) and with it (after):\n")
            _comparisons(done.audit)
            say(f"\n{done.audit.verdict}")
    _wrote(out, wrote)
    if done.path is None and not out.quiet:
        typer.echo("The model was not kept: -o FILE writes it.", err=True)


def predicted(done: Predicted, out: str, quiet: bool) -> None:
    """Say how many rows were written where, on stderr: stdout may be the table."""
    if quiet:
        return
    for note in done.notes:
        typer.echo(f"Note: {note}", err=True)
    if out != "-":
        rows = "1 row" if done.n_rows == 1 else f"{done.n_rows} rows"
        typer.echo(f"wrote {rows} to {out}", err=True)


def priced(done: Priced, out: Out, sheet: str | None = None) -> None:
    """Print a path of ε."""
    rows = done.path.rows
    table = sheets.priced_sheet(done)
    wrote = [*_write_sheet(table, sheet), *_write_methods(done.page, out)]
    _tell(done.notes, out)
    if out.as_json:
        print_json(sheets.priced_dict(done))
    elif sheet == "-":
        write_table(table, "-")
    else:
        knee = done.path.knee()
        means = figures([row.md for row in rows], 3)
        errors = [(row.rmse, row.rmse_low, row.rmse_high) for row in rows]
        shown = figures([value for row in errors for value in row], 4)
        head = ("epsilon", "RMSE", "limits", "AUC", "limits", "MD", "status")
        show_table(
            head,
            [
                (
                    f"{row.epsilon:.4f}",
                    shown[3 * i],
                    f"{shown[3 * i + 1]}–{shown[3 * i + 2]}",
                    number(row.auc),
                    f"{row.auc_low:.3f}–{row.auc_high:.3f}",
                    means[i],
                    row.status,
                )
                for i, row in enumerate(rows)
            ],
            [i for i, row in enumerate(rows) if row.epsilon == knee],
        )
        say(f"\n{done.page.summary}")
        if len(rows) > 1:
            say(f"From ε = {knee:.3g} on, less fairness buys little.")
    _wrote(out, wrote, sheet)


def compared(done: Compared, out: Out, sheet: str | None = None) -> None:
    """Print methods side by side."""
    lines = done.page.lines
    table = sheets.compared_sheet(done)
    wrote = [*_write_sheet(table, sheet), *_write_methods(done.page, out)]
    _tell(done.notes, out)
    if out.as_json:
        print_json(sheets.compared_dict(done))
    elif sheet == "-":
        write_table(table, "-")
    else:
        errors = figures([line.rmse for line in lines], 4)
        means = figures([line.mean_difference for line in lines], 3)
        show_table(
            ("method", "RMSE", "rank gap", "limits", "MD", "KS"),
            [
                (
                    line.method,
                    error,
                    number(line.auc_gap),
                    limits(line.auc_gap),
                    mean,
                    number(line.ks),
                )
                for line, error, mean in zip(lines, errors, means, strict=True)
            ],
            [i for i, line in enumerate(lines) if line.chosen],
        )
        say(f"\n{done.page.summary}")
        for line in lines:
            if line.note:
                say(f"{line.method}: {line.note}.")
        for why in not_run(done.refused):
            say(in_flags(why, start=False))
    _wrote(out, wrote, sheet)


def print_json(value: Any) -> None:
    """Print plain JSON, signs of all languages as they are."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def _comparisons(found: Audit) -> None:
    errors = {line.name: line.rmse for line in found.models}
    several = len(found.attributes) > 1
    means = figures([c.mean_difference for c in found.comparisons], 3)
    rmse = figures([errors[c.model] for c in found.comparisons], 4)
    show_table(
        HEAD,
        [
            (
                c.model,
                c.attribute if several else "",
                f"{c.group} v {c.against}",
                f"{c.n_group} v {c.n_against}",
                number(c.auc),
                limits(c.auc),
                number(c.within_task_auc),
                mean,
                number(c.ks),
                error,
            )
            for c, mean, error in zip(found.comparisons, means, rmse, strict=True)
        ],
    )


def _asides(found: Audit) -> list[str]:
    tasks = any(not math.isnan(c.within_task_auc.value) for c in found.comparisons)
    lines = [
        "",
        f"{AUC}{IN_TASKS if tasks else ''} Limits: {100 * found.confidence:g} %.",
        OTHERS,
    ]
    mine = [line for line in found.tasks if line.model == found.model_names[-1]]
    if mine:
        flagged = {line.task for line in mine if line.flagged}
        lines.append(
            f"{len(flagged)} of {len({line.task for line in mine})} tasks stand out, "
            "after correction for their number."
        )
    for attribute in found.attributes:
        if attribute.n_missing:
            rows = "1 row has" if attribute.n_missing == 1 else None
            rows = rows or f"{attribute.n_missing} rows have"
            lines.append(f"{rows} no {attribute.name}: in no comparison.")
    return lines


def _status(done: Fitted) -> str:
    model = done.model
    values = {**model.balance_, "rank": model.rank_auc_}
    came = ", ".join(
        f"{'AUC' if name == 'rank' else name} {value:.4f}"
        for name, value in sorted(values.items(), key=lambda pair: pair[0] != "rank")
    )
    lines = [f"Fitted to {done.n_rows} rows: {model.status_}, {came}."]
    apart = getattr(model, "unbalanced_tasks_", None) or {}
    few = list(apart.items())[:3]
    if few:
        lines.append(
            f"{len(apart)} of {len(model.tasks_)} tasks are in no band: "
            + " ".join(f'"{name}": {why}' for name, why in few)
            + (" …" if len(apart) > len(few) else "")
        )
    return "\n".join(lines)


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
            typer.echo(f"wrote {path}", err=out.as_json or sheet == "-")


def _tell(notes: Sequence[str], out: Out) -> None:
    if not out.quiet:
        for note in notes:
            typer.echo(f"Note: {note}", err=True)
