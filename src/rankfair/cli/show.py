"""What commands for one's own files print: tables, sentences, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import typer

from rankfair._disk import write_whole

if TYPE_CHECKING:
    from rankfair.audit import Audit
    from rankfair.cli.bundles import Out
    from rankfair.inference.estimate import Estimate
    from rankfair.jobs.compares import Compared
    from rankfair.jobs.fits import Fitted
    from rankfair.jobs.paths import Priced
    from rankfair.jobs.predicts import Predicted

__all__ = ["audit", "compared", "described", "fitted", "gate", "predicted", "priced"]

GAP = (
    "AUC: the chance that a row of the first group is predicted above one of the other"
)


def audit(found: Audit, out: Out, notes: Sequence[str] = ()) -> None:
    """Print an audit, write its page."""
    if out.as_json:
        _print_json(found.to_dict())
    else:
        typer.echo(f"{found.verdict}\n")
        _table(*_comparisons(found))
        typer.echo(f"\n{GAP}, with {100 * found.confidence:g} % limits.")
        for line in _flags(found):
            typer.echo(line)
    _tell(notes, out)
    if out.html is not None:
        found.to_html(out.html)
        _wrote(out, out.html)


def gate(found: Audit, max_gap: float | None, out: Out) -> None:
    """Compare the gap with the most allowed, and end with the code that says so."""
    if max_gap is None:
        return
    result = found.gate(max_gap)
    if not out.quiet:
        gap = "unknown" if math.isnan(found.gap) else f"{found.gap:.4f}"
        sentence = f"{result.value} Gap {gap}, at most {max_gap:g} allowed."
        typer.echo(sentence, err=out.as_json)
    raise typer.Exit(result.exit_code)


def fitted(done: Fitted, out: Out) -> None:
    """Print what a fit came to, and what it changed."""
    model = done.model
    if out.as_json:
        _print_json(
            {
                "model": None if done.path is None else str(done.path),
                "status": model.status_,
                "rank_auc": model.rank_auc_,
                "balance": _plain(model.balance_),
                "held_out": done.held_out,
                "audit": done.audit.to_dict(),
            }
        )
    else:
        rows = "held-out" if done.held_out else "training"
        typer.echo(
            f"{model.status_}: AUC {model.rank_auc_:.4f} on all rows. Below, {rows} "
            "rows before and after.\n"
        )
        _table(*_comparisons(done.audit))
        typer.echo(f"\n{done.audit.verdict}")
    _tell(done.notes, out)
    if out.html is not None:
        done.audit.to_html(out.html)
        _wrote(out, out.html)
    if done.path is not None:
        _wrote(out, done.path)


def predicted(done: Predicted, out: str, quiet: bool) -> None:
    """Say how many rows were written where, on stderr: stdout may be the table."""
    if quiet:
        return
    for note in done.notes:
        typer.echo(f"Note: {note}", err=True)
    if out != "-":
        typer.echo(f"wrote {done.n_rows} rows to {out}", err=True)


def priced(done: Priced, out: Out) -> None:
    """Print a path of ε."""
    rows = done.path.rows
    if out.as_json:
        _print_json({"knee": done.path.knee(), "rows": [r._asdict() for r in rows]})
    else:
        head = ("epsilon", "RMSE", "limits", "AUC", "limits", "MD", "status")
        knee = done.path.knee()
        _table(
            head,
            [
                (
                    f"{row.epsilon:.4f}",
                    f"{row.rmse:.4g}",
                    f"{row.rmse_low:.4g} to {row.rmse_high:.4g}",
                    f"{row.auc:.3f}",
                    f"{row.auc_low:.3f} to {row.auc_high:.3f}",
                    f"{row.md:.4g}",
                    row.status,
                )
                for row in rows
            ],
            [i for i, row in enumerate(rows) if row.epsilon == knee],
        )
        typer.echo(f"\n{done.page.summary}")
    _tell(done.notes, out)
    _write_methods(done.page, out)


def compared(done: Compared, out: Out) -> None:
    """Print methods side by side."""
    lines = done.page.lines
    if out.as_json:
        from rankfair.audit.records import plain

        _print_json(plain({"methods": lines, "not_run": done.refused}))
    else:
        head = ("method", "RMSE", "rank gap", "limits", "MD", "KS", "note")
        _table(
            head,
            [
                (
                    line.method,
                    _number(line.rmse, ".4g"),
                    _number(line.auc_gap, ".3f"),
                    _limits(line.auc_gap),
                    _number(line.mean_difference, ".4g"),
                    _number(line.ks, ".3f"),
                    line.note,
                )
                for line in lines
            ],
            [i for i, line in enumerate(lines) if line.chosen],
        )
        typer.echo(f"\n{done.page.summary}")
        for name, why in done.refused.items():
            typer.echo(f"{name} was not run: {why}")
    _tell(done.notes, out)
    _write_methods(done.page, out)


def described(found: dict[str, Any], as_json: bool) -> None:
    """Print what a model file says of itself."""
    if as_json:
        _print_json(found)
        return
    typer.echo(f"{found['estimator']}, written by rankfair {found['rankfair']}")
    if found["notes"]:
        typer.echo(found["notes"])
    for name in ("achieved", "params"):
        typer.echo(f"\n{name}")
        for key, value in (found[name] or {}).items():
            typer.echo(f"  {key}: {value}")
    for name in ("tasks", "groups"):
        labels = found[name]
        if labels:
            shown = ", ".join(map(str, list(labels)[:8]))
            more = f" and {len(labels) - 8} more" if len(labels) > 8 else ""
            typer.echo(f"\n{len(labels)} {name}: {shown}{more}")
    typer.echo("")
    rows = [(c["name"], c["role"], c["type"]) for c in found["columns"]]
    _table(("column", "role", "type"), rows)


def _comparisons(found: Audit) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    errors = {line.name: line.rmse for line in found.models}
    head = ("model", "groups", "rows", "AUC", "limits", "in tasks", "MD", "KS", "RMSE")
    rows = [
        (
            c.model,
            f"{c.group} v {c.against}",
            f"{c.n_group} v {c.n_against}",
            _number(c.auc, ".3f"),
            _limits(c.auc),
            _number(c.within_task_auc, ".3f"),
            _number(c.mean_difference, ".4g"),
            _number(c.ks, ".3f"),
            _number(errors[c.model], ".4g"),
        )
        for c in found.comparisons
    ]
    return head, rows


def _flags(found: Audit) -> list[str]:
    last = found.model_names[-1]
    mine = [line for line in found.tasks if line.model == last]
    flagged = [line for line in mine if line.flagged]
    lines = []
    if mine:
        lines.append(
            f"{len(flagged)} of {len(mine)} tasks stand out after correction for their "
            "number."
        )
    for attribute in found.attributes:
        if attribute.n_missing:
            lines.append(
                f"{attribute.n_missing} rows have no {attribute.name} and are in no "
                "comparison."
            )
    return lines


def _number(value: Estimate, form: str) -> str:
    return "-" if math.isnan(value.value) else format(value.value, form)


def _limits(value: Estimate) -> str:
    if not value.estimable:
        return "not estimable"
    return f"{value.low:.3f} to {value.high:.3f}"


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], strong: Sequence[int] = ()
) -> None:
    """Print a table; with rich it fits the screen and some rows are strong."""
    if find_spec("rich") is None:
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, *rows):
            cells = (c.ljust(w) for c, w in zip(row, widths, strict=True))
            typer.echo("  ".join(cells).rstrip())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        numeric = i > 0 and all(_is_figure(row[i]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for i, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold" if i in strong else None)
    console = Console()
    if not console.is_terminal:
        console.width = 200
    console.print(table)


def _is_figure(cell: str) -> bool:
    return cell[:1] in "-−.0123456789" or cell == "not estimable"


def _write_methods(page: Any, out: Out) -> None:
    if out.html is None:
        return
    from rankfair.report.methods import render_comparison

    _wrote(out, write_whole(out.html, render_comparison(page)))


def _wrote(out: Out, path: Any) -> None:
    if not out.quiet:
        typer.echo(f"wrote {path}", err=out.as_json)


def _tell(notes: Sequence[str], out: Out) -> None:
    if not out.quiet:
        for note in notes:
            typer.echo(f"Note: {note}", err=True)


def _plain(value: Any) -> Any:
    from rankfair.audit.records import plain

    return plain(value)


def _print_json(value: Any) -> None:
    from rankfair.audit.records import plain

    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False))
