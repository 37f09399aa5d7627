"""Work of `rankfair audit`: the predictions of a file or a model, or a target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from rankfair.audit import Audit, audit
from rankfair.audit.frames import LABELS, MEASURES
from rankfair.audit.records import TaskLine
from rankfair.audit.words import WIDEST, interval, not_judged, number
from rankfair.cli.data import as_labels, cut_groups, groups_of, with_counted_groups
from rankfair.cli.errors import echo
from rankfair.cli.screen import (
    OnStep,
    column,
    figures,
    say,
    show_table,
    spread,
    write_results,
)
from rankfair.files.columns import (
    Reading,
    Roles,
    column_or_none,
    load,
    refuse_gaps,
    refuse_taken,
)
from rankfair.files.encoding import ModelColumns
from rankfair.files.table import Table
from rankfair.input.errors import clipped, counted
from rankfair.input.groups import SensitiveGroups

if TYPE_CHECKING:
    from rankfair.cli.options import OutputOptions

PREDICTION = "prediction"
OTHER_NAME = "Name it in --prediction instead of a model, or rename it."
AUC = "AUC: the chance that a row of the first group is above one of the other."
IN_TASKS = " In tasks: the same among rows of one task."
HEAD = (
    *("model", "column", "groups", "rows"),
    *("AUC", "CI", "in tasks", "MD", "KS", "RMSE"),
)
OTHERS = (
    "MD: mean of the first group less that of the other. KS: greatest distance between "
    "their distributions."
)


def audit_files(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    *,
    model: str | None = None,
    bins: int | None = None,
    on_step: OnStep | None = None,
    **settings: Any,
) -> tuple[Audit, Table]:
    """Audit the rows of some files."""
    if not (roles.target or roles.predictions or model):
        raise ValueError("name what to audit: --prediction, --model, or --target.")
    roles.check()
    # No column is a predictor here: what they lack is of no account.
    roles = replace(roles, features=())
    if on_step is not None:
        on_step("reading", 1, 2)  # how many comparisons follow is not known yet
    if model is None:
        table = load(files, roles, reading)
    else:
        table = predicted(files, roles, reading, model)
        roles = replace(roles, predictions=(*roles.predictions, PREDICTION))
    table = with_counted_groups(table, roles)
    return audit_table(table, roles, bins=bins, on_step=on_step, **settings), table


def audit_table(
    table: Table,
    roles: Roles,
    *,
    bins: int | None = None,
    models: Mapping[str, Any] | None = None,
    rows: NDArray[Any] | None = None,
    **settings: Any,
) -> Audit:
    """Audit a table whose predictions are columns, or given by ``models``.

    Of some ``rows`` if these are given; numbers are cut as they are in the whole table.
    """
    for name in roles.numbers:
        refuse_gaps(table, name)
    groups: dict[str, Any] = (
        groups_of(table, roles) if bins is None else cut_groups(table, roles, bins)
    )
    if rows is not None:
        table = table.take(rows)
        groups = {
            name: of.take(rows) if isinstance(of, SensitiveGroups) else of[rows]
            for name, of in groups.items()
        }
    target = column_or_none(table, roles.target)
    named = models or {name: table[name] for name in roles.predictions}
    judged = named or {str(roles.target): target}
    return audit(
        target if named else None,
        judged,
        sensitive_features=groups,
        tasks=_tasks(table, roles),
        sample_weight=column_or_none(table, roles.weight),
        **settings,
    )


def predicted(
    files: Sequence[str], roles: Roles, reading: Reading, model: str
) -> Table:
    """Return the rows of some files with a column of a model's predictions."""
    design, estimator = ModelColumns.of_file(model)
    own, reading = design.reading(reading)
    numbers = set(own.features or ()) - set(design.encoding.categories)
    labels = (*roles.sensitive, *roles.tasks)
    wanted = Roles(
        target=roles.target,
        sensitive=tuple(dict.fromkeys((*roles.sensitive, *own.sensitive))),
        tasks=tuple(dict.fromkeys((*roles.tasks, *own.tasks))),
        weight=roles.weight,
        predictions=roles.predictions,
        features=own.features,
        # What the model takes as a number cannot be read as text.
        cut=(*roles.cut, *own.cut, *(name for name in labels if name in numbers)),
    )
    table = load(files, wanted, reading)
    refuse_taken(PREDICTION, table.names, table.source, OTHER_NAME)
    values, message = design.predict(estimator, table, model)
    said = (*table.notes, message) if message else table.notes
    return replace(table.with_column(PREDICTION, values), notes=said)


def _tasks(table: Table, roles: Roles) -> Any:
    if not roles.tasks:
        return None
    columns = [as_labels(table[name]) for name in roles.tasks]
    for name in roles.tasks:
        refuse_gaps(table, name)
    if len(columns) == 1:
        return columns[0]
    joined = np.empty(table.n_rows, object)
    joined[:] = [" · ".join(row) for row in zip(*columns, strict=True)]
    return joined


@dataclass(frozen=True)
class AuditGate:
    """The largest rank gap that passes, and whether small groups may be ignored."""

    max_gap: float
    ignore_small: bool = False

    def to_dict(self, found: Audit) -> dict[str, Any]:
        """What JSON says of the gate."""
        result = found.gate(self.max_gap, ignore_small=self.ignore_small)
        return {"max_gap": self.max_gap, "result": result.name.lower()}


def end_by_gate(
    found: Audit, gate: AuditGate | None, out: OutputOptions, sheet: str | None = None
) -> None:
    """Compare the gap with the most allowed, and end with the code that says so."""
    if gate is None:
        return
    most = gate.max_gap
    result = found.gate(most, ignore_small=gate.ignore_small)
    if not (out.quiet and out.as_json):  # then it is in the JSON
        gap = "unknown" if math.isnan(found.gap) else f"{found.gap:.4f}"
        sentence = f"{result.value} Gap {gap}, at most {most:g} allowed."
        sentence += not_judged(found)
        if not result.exit_code and found.unjudged():
            sentence += " They were ignored, as asked."
        elif result is not found.gate(most, ignore_small=True):
            sentence += " --ignore-small-groups lets it hold without them."
        echo(sentence, err=out.as_json or sheet == "-")
    raise typer.Exit(result.exit_code)


def show_audit(
    found: Audit,
    out: OutputOptions,
    notes: Sequence[str],
    sheet: str | None,
    gate: AuditGate | None,
) -> None:
    """Write the page and the table of an audit, and print it."""
    labels = {n: column([getattr(c, n) for c in found.comparisons]) for n in LABELS}
    gated = {} if gate is None else {"gate": gate.to_dict(found)}
    write_results(
        out,
        notes=notes,
        table=Table({**labels, **spread(found.comparisons, MEASURES)}),
        sheet=sheet,
        page=found.to_html,
        as_dict=lambda: {**found.to_dict(), **gated},
        say=lambda: _say_audit(found, out.quiet),
    )


def _say_audit(found: Audit, quiet: bool) -> None:
    """Say what an audit found, with the meaning of its columns unless ``quiet``."""
    say(found.verdict, "")
    show_comparisons(found)
    if not quiet:
        say(*_legend(found))


def show_comparisons(found: Audit) -> None:
    """Print a row for each comparison of groups."""
    errors = {line.name: line.rmse for line in found.models}
    several = len(found.sensitive_features) > 1
    means = figures([c.mean_difference for c in found.comparisons], 3)
    rmse = figures([errors[c.model] for c in found.comparisons], 4)
    show_table(
        HEAD,
        [
            (
                c.model,
                c.sensitive_feature if several else "",
                f"{clipped(c.group, WIDEST)} v {clipped(c.against, WIDEST)}",
                f"{c.n_group} v {c.n_against}",
                number(c.auc),
                interval(c.auc),
                number(c.within_task_auc),
                mean,
                number(c.ks),
                error,
            )
            for c, mean, error in zip(found.comparisons, means, rmse, strict=True)
        ],
    )


def _legend(found: Audit) -> list[str]:
    tasks = any(not math.isnan(c.within_task_auc.value) for c in found.comparisons)
    level = f"{100 * found.confidence:g}"
    lines = [
        "",
        f"{AUC}{IN_TASKS if tasks else ''} CI: {level} % confidence interval.",
        OTHERS,
    ]
    mine = [line for line in found.tasks if line.model == found.model_names[-1]]
    if mine:
        lines.append(_flagged(mine, found.min_group))
    for feature in found.sensitive_features:
        if feature.n_missing:
            rows = counted(feature.n_missing, "row has", "rows have")
            lines.append(f"{rows} no {feature.name}: in no comparison.")
    return lines


def _flagged(lines: Sequence[TaskLine], least: int) -> str:
    """Say how many of the tasks that could be judged are flagged."""
    judged = {line.task for line in lines if line.adjusted_p is not None}
    others = len({line.task for line in lines} - judged)
    if not judged:
        if any(min(line.n_group, line.n_against) >= least for line in lines):
            return "No task could be judged."
        return "No task has enough rows of both groups to be judged."
    flagged = len({line.task for line in lines if line.flagged})
    tests = counted(len(judged), "test")
    return (
        f"{flagged} of {counted(len(judged), 'task')} "
        f"{'is' if flagged == 1 else 'are'} flagged (p-values adjusted for {tests})"
        f"{f'; {others} could not be judged' if others else ''}."
    )
