"""`rankfair audit`: the predictions of a file or a model, or a target."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankfair.audit import Audit, audit
from rankfair.audit.records import LABELS, MEASURES, TaskLine, raises_columns
from rankfair.audit.summary import WIDEST, interval, number
from rankfair.cli.data import as_text, groups_of, with_counted_groups
from rankfair.cli.errors import echo
from rankfair.cli.screen import (
    Answer,
    OnStep,
    column_of,
    figures,
    say,
    show_table,
    table_of,
)
from rankfair.files.columns import Roles, column_or_none, refuse_taken
from rankfair.files.encoding import ModelColumns
from rankfair.files.read import load
from rankfair.files.table import Dialect, Reading, Table, refuse_gaps
from rankfair.files.write import write_table
from rankfair.input.errors import Argument, InputError, clipped, counted, listed
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.cli.commands import AuditCommand

PREDICTION = "prediction"
MOST_SHOWN = 10  # tasks in the table of gaps
SMALL_AMOUNT = 1000.0  # below it an amount is shown with decimals
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


@dataclass(frozen=True)
class Audited(Answer):
    """An audit of the rows of some files."""

    audit: Audit
    notes: tuple[str, ...]
    lines: Any = None  # of the file, a row each
    raises: str | None = None  # the file to write them to
    dialect: Dialect = Dialect()

    def say(self, quiet: bool) -> None:
        """Print the verdict, the comparisons, and what their columns mean."""
        say(self.audit.verdict, "")
        show_comparisons(self.audit)
        show_gaps(self.audit)
        show_parts(self.audit)
        show_remedies(self.audit)
        if not quiet:
            say(*_legend(self.audit))

    def to_dict(self) -> dict[str, Any]:
        """Return what `docs/audit.schema.json` describes."""
        return self.audit.to_dict()

    def table(self) -> Table:
        """Return a row for each comparison, then one for each task, worst first."""
        tasks = sorted(self.audit.tasks, key=_gap_of, reverse=True)
        texts = (*LABELS, "task", "adjusted_p", "flagged")
        return table_of((*self.audit.comparisons, *tasks), texts, MEASURES)

    def write_page(self, file: Path) -> None:
        """Write the page of the audit."""
        self.audit.to_html(file)

    def written(self) -> list[Any]:
        """Write the raises, if that is asked for."""
        if self.raises is None:
            return []
        write_table(Table(self._raises(), dialect=self.dialect), self.raises)
        return [self.raises]

    def _raises(self) -> dict[str, Any]:
        """Return a row for each raise of the smallest cost, with its line."""
        remedies = self.audit.remedies
        least = max((r.close_to for r in remedies), default=0.0)
        found = raises_columns([r for r in remedies if r.close_to == least])
        places = np.array(found["row"], np.intp) - 1
        named = {name: column_of(values) for name, values in found.items()}
        if self.lines is not None:
            named["line"] = self.lines[places]
        return named


def audit_files(asked: AuditCommand, on_step: OnStep) -> Audited:
    """Audit the rows of some files."""
    named = asked.prediction or asked.model or asked.columns.target
    if not named:
        model = ", ", Argument("model"), " or ", Argument("y"), "."
        cure = ("Name what to audit: ", Argument("y_pred"), *model)
        raise InputError("y_pred", "is needed", cure=cure)
    # No column is a predictor here: what they lack is of no account.
    more = (*(asked.control or ()), asked.complementary)
    roles = asked.columns.roles(predictions=tuple(asked.prediction or ()), features=())
    read = dict.fromkeys(n for n in more if n is not None and n not in roles.named)
    roles = replace(roles, features=tuple(read))
    if asked.raises is not None and not asked.control and asked.close_to is None:
        wanted = "Say ", Argument("close_to", 0.02), " or ", Argument("controls"), "."
        raise InputError("raises", "needs a gap to close", cure=wanted)
    on_step("reading", 1, 2)  # how many comparisons follow is not known yet
    reading = asked.files.reading()
    if asked.model is None:
        table = load(asked.files.files, roles, reading)
    else:
        table = predicted(asked.files.files, roles, reading, asked.model)
        roles = replace(roles, predictions=(*roles.predictions, PREDICTION))
    table = with_counted_groups(table, roles)
    refuse_gaps(table, [name for name in more if name is not None])
    controls = {name: table[name] for name in asked.control or ()}
    found = audit_table(
        table,
        roles,
        bins=asked.columns.bins,
        intersect=asked.columns.intersect,
        frequency_weights=asked.frequency_weights,
        confidence=asked.confidence,
        min_group=asked.min_group,
        random_state=asked.seed,
        reference=asked.reference,
        controls=controls or None,
        close_to=asked.close_to,
        layout=asked.layout,
        complementary=column_or_none(table, asked.complementary),
        unit=asked.unit,
        title=asked.out.title,
        on_step=on_step,
    )
    lines, raises = table.lines, asked.raises
    return Audited(found, table.notes, lines, raises, table.dialect)


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
    refuse_gaps(table, (*roles.numbers, *roles.tasks))
    groups = groups_of(table, roles, bins)
    if rows is not None:
        table = table.take(rows)
        groups = {name: of.take(rows) for name, of in groups.items()}
    target = column_or_none(table, roles.target)
    named = models or {name: table[name] for name in roles.predictions}
    return audit(
        {str(roles.target): target} if named and target is not None else None,
        named or {str(roles.target): target},
        sensitive_features=groups,
        tasks=_tasks(table, roles),
        sample_weight=column_or_none(table, roles.weight),
        command=shlex.join(["rankfair", *sys.argv[1:]]),
        **settings,
    )


def predicted(
    files: Sequence[str], roles: Roles, reading: Reading, model: str
) -> Table:
    """Return the rows of some files with a column of a model's predictions."""
    design, estimator = ModelColumns.of_file(model)
    own, reading = design.reading(reading)
    numbers = set(own.features or ()) - set(design.categories)
    labels = (*roles.sensitive, *roles.tasks)
    wanted = Roles(
        target=roles.target,
        sensitive=tuple(dict.fromkeys((*roles.sensitive, *own.sensitive))),
        tasks=tuple(dict.fromkeys((*roles.tasks, *own.tasks))),
        weight=roles.weight,
        predictions=roles.predictions,
        features=(*(own.features or ()), *(roles.features or ())),
        # What the model takes as a number cannot be read as text.
        cut=(*roles.cut, *own.cut, *(name for name in labels if name in numbers)),
    )
    table = load(files, wanted, reading)
    refuse_taken(PREDICTION, table.names, table.source, OTHER_NAME)
    values, message = design.predict(estimator, table, model)
    said = (*table.notes, message) if message else table.notes
    return replace(table.with_column(PREDICTION, values), notes=said)


def _gap_of(line: TaskLine) -> float:
    """The distance of a task's AUC from 1/2; below all if it could not be estimated."""
    gap = abs(line.auc.value - 0.5)
    return -1.0 if math.isnan(gap) else gap


def _tasks(table: Table, roles: Roles) -> Any:
    """Return the task of each row; several columns are one task."""
    if not roles.tasks:
        return None
    columns = [as_text(table[name]) for name in roles.tasks]
    if len(columns) == 1:
        return columns[0]
    joined = np.empty(table.n_rows, object)
    joined[:] = [" · ".join(row) for row in zip(*columns, strict=True)]
    return joined


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


def show_gaps(found: Audit) -> None:
    """Print the gap in units and percent, over all rows and of the worst tasks."""
    several = len({(gap.of, gap.group, gap.against) for gap in found.units}) > 1
    known = any(not math.isnan(gap.mean_gap_share.value) for gap in found.units)
    if not known and all(gap.task is None for gap in found.units):
        return  # the comparisons have said it
    whole = [gap for gap in found.units if gap.task is None]
    tasks = [gap for gap in found.units if gap.task is not None]
    tasks.sort(key=lambda gap: -abs(gap.mean_gap.value))
    lines = whole + tasks[:MOST_SHOWN]
    units = figures([gap.mean_gap for gap in lines], 5)
    medians = figures([gap.median_gap for gap in lines], 5)
    form = _form([gap.mean_gap for gap in lines])
    echo()
    show_table(
        ("gap in", "groups", "rows of", "rows", "means", "in %", "CI", "medians"),
        [
            (
                gap.of,
                f"{clipped(gap.group, WIDEST)} v {clipped(gap.against, WIDEST)}"
                if several
                else "",
                "all tasks" if gap.task is None else clipped(gap.task, WIDEST),
                f"{gap.n_group} v {gap.n_against}",
                mean,
                number(_percent(gap.mean_gap_share), ".1f"),
                interval(_percent(gap.mean_gap_share), ".1f")
                if known
                else interval(gap.mean_gap, form),
                median,
            )
            for gap, mean, median in zip(lines, units, medians, strict=True)
        ],
    )
    if len(tasks) > MOST_SHOWN:
        say(f"The {MOST_SHOWN} largest gaps of {len(tasks)} tasks.")


def _percent(share: Estimate) -> Estimate:
    return share.mapped(lambda value: 100.0 * value)


def _form(values: Sequence[Estimate]) -> str:
    large = any(abs(e.value) >= SMALL_AMOUNT for e in values)
    return ",.0f" if large else ".4g"


def show_parts(found: Audit) -> None:
    """Print what the controls explain of each gap, and what they do not."""
    for parts in found.parts:
        rows = {
            "whole gap": parts.gap,
            "explained": parts.explained,
            **{f"  {name}": e for name, e in parts.by_control.items()},
            "unexplained": parts.unexplained,
        }
        units, form = figures(list(rows.values()), 5), _form(list(rows.values()))
        share = parts.unexplained_share.value / parts.unexplained.value
        echo()
        show_table(
            (f"{parts.group} v {parts.against}", parts.of, "CI", "in %"),
            [
                (
                    name,
                    unit,
                    interval(e, form),
                    number(100.0 * share * e.value, ".1f"),
                )
                for (name, e), unit in zip(rows.items(), units, strict=True)
            ],
        )
        if parts.dropped:
            say(f"Left out in part, as others say the same: {listed(parts.dropped)}.")


def show_remedies(found: Audit) -> None:
    """Print what it costs to close each gap."""
    if not found.remedies:
        return
    echo()
    show_table(
        ("groups", "gap closed to", "raised", "sum", "of all"),
        [
            (
                f"{clipped(r.group, WIDEST)} v {clipped(r.against, WIDEST)}",
                f"{100.0 * abs(r.left):.1f} %",
                str(r.n_raised),
                f"{r.total:,.0f}",
                f"{100.0 * r.share:.2f} %",
            )
            for r in found.remedies
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
