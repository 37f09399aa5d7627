"""`rankfair audit`: the predictions of a file or a model, or a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankfair.audit import Audit
from rankfair.audit.records import LABELS, MEASURES, TaskLine, raises_columns
from rankfair.audit.summary import (
    WIDEST,
    comparison_columns,
    figures,
    interval,
    number,
    pair_of_groups,
    without_gap,
    would_be_found,
)
from rankfair.cli.data import audit_table, groups_of, many_groups, with_predictions
from rankfair.cli.errors import echo
from rankfair.cli.options import AuditCommand
from rankfair.cli.screen import Answer, OnStep, column_of, say, show_table, table_of
from rankfair.files.columns import (
    Roles,
    column_or_none,
    days_of,
    looks_like_dates,
    looks_like_identifier,
)
from rankfair.files.read import load
from rankfair.files.table import Table
from rankfair.files.write import write_table
from rankfair.input.errors import Argument, InputError, clipped, counted, listed
from rankfair.stats.estimate import Estimate

PREDICTION = "prediction"
SETTINGS = (  # of an audit, called as the options are
    *("intersect", "frequency_weights", "confidence", "min_group"),
    *("reference", "close_to", "layout", "unit", "title"),
)
MOST_SHOWN = 10  # tasks in the table of gaps
SMALL_AMOUNT = 1000.0  # below it an amount is shown with decimals
OTHER_NAME = "Name it in --prediction instead of a model, or rename it."
AUC = "AUC: the chance that a row of the first group is above one of the other."
IN_TASKS = " In tasks: the same among rows of one task."
OTHERS = (
    "MD: mean of the first group less that of the other. KS: greatest distance between "
    "their distributions."
)


@dataclass(frozen=True, kw_only=True)
class Audited(Answer):
    """An audit of the rows of some files."""

    audit: Audit

    def say(self, quiet: bool) -> None:
        """Print the verdict, the comparisons, and what their columns mean."""
        say(self.audit.verdict, "")
        show_table(*comparison_columns(self.audit))
        _show_gaps(self.audit)
        _show_parts(self.audit)
        _show_remedies(self.audit)
        if not quiet:
            say("", *_legend(self.audit))

    def table(self) -> Table:
        """Return a row for each comparison, then one for each task, worst first."""
        gaps = [abs(line.auc.value - 0.5) for line in self.audit.tasks]
        worst_first = np.argsort(-np.array(gaps), kind="stable")  # unknown ones last
        tasks = [self.audit.tasks[i] for i in worst_first]
        texts = (*LABELS, "task", "adjusted_p", "flagged")
        return table_of((*self.audit.comparisons, *tasks), texts, MEASURES)


def audit_files(asked: AuditCommand, on_step: OnStep) -> Audited:
    """Audit the rows of some files, and write the raises if that is asked for."""
    if not (asked.prediction or asked.model or asked.target):
        model = ", ", Argument("model"), " or ", Argument("y"), "."
        cure = ("Name what to audit: ", Argument("y_pred"), *model)
        raise InputError("y_pred", "is needed", cure=cure)
    if asked.raises is not None and not asked.control and asked.close_to is None:
        wanted = "Say ", Argument("close_to", 0.02), " or ", Argument("controls"), "."
        raise InputError("raises", "needs a gap to close", cure=wanted)
    # No column is a predictor here: what they lack is of no account.
    roles = asked.roles(predictions=tuple(asked.prediction or ()))
    more = [*(asked.control or ()), *filter(None, [asked.complementary])]
    read = tuple(dict.fromkeys(name for name in more if name not in roles.named))
    roles = replace(roles, features=read)
    on_step("reading", 1, 2)  # how many comparisons follow is not known yet
    if asked.model is None:
        table = load(asked.files, roles, asked.reading(), only_used=not asked.raises)
    else:
        table, roles, reference = _predicted(asked, roles, asked.model)
        asked = replace(asked, reference=asked.reference or reference or None)
    controls = {name: table[name] for name in asked.control or ()}
    dates = [name for name, column in controls.items() if looks_like_dates(column)]
    if dates:
        controls |= {name: days_of(table, name) for name in dates}
        note = f"Read dates as days since 1970-01-01 ({listed(dates)})."
        table = replace(table, notes=(*table.notes, note))
    groups = groups_of(table, roles, asked.bins)
    found = audit_table(
        table,
        roles,
        groups,
        {name: table[name] for name in roles.predictions},
        random_state=asked.seed,
        controls=controls or None,
        complementary=column_or_none(table, asked.complementary),
        on_step=on_step,
        **{name: getattr(asked, name) for name in SETTINGS},
    )
    if asked.raises is not None:
        write_table(_raises(found, table, roles), asked.raises)
    written = tuple(filter(None, [asked.raises]))
    notes = (*table.notes, *many_groups(groups.values(), roles))
    return Audited(audit=found, notes=notes, dialect=table.dialect, written=written)


def _raises(found: Audit, table: Table, roles: Roles) -> Table:
    """Return a row for each raise of the smallest cost, with its line in the file.

    Identifiers that the file has stand in front.
    """
    least = max((r.close_to for r in found.remedies), default=0.0)
    columns = raises_columns([r for r in found.remedies if r.close_to == least])
    rows = np.array(columns["row"], np.intp) - 1
    unused = (name for name in table.names if name not in roles.named)
    codes = [name for name in unused if looks_like_identifier(table[name])]
    named = {name: table[name][rows] for name in codes}
    named |= {name: column_of(values) for name, values in columns.items()}
    if table.lines is not None:
        named["line"] = table.lines[rows]
    return Table(named, dialect=table.dialect)


def _predicted(
    asked: AuditCommand, roles: Roles, model: str
) -> tuple[Table, Roles, list[str]]:
    """Return the rows of some files with a column of a model's predictions.

    Beside them roles, with the tasks of the model unless others are named, and the
    groups that others were compared with when it was fitted.
    """
    from rankfair.files.archive import fits
    from rankfair.files.encoding import ModelColumns  # it imports all estimators
    from rankfair.files.model_files import describe_model

    columns, estimator = ModelColumns.of_file(model)
    own, reading = columns.reading(asked.reading(), estimator)
    roles = replace(roles, tasks=roles.tasks or own.tasks)
    numbers = set(own.features or ()) - set(columns.categories)
    labels = (*roles.sensitive, *roles.tasks)
    wanted = replace(
        roles,
        sensitive=tuple(dict.fromkeys((*roles.sensitive, *own.sensitive))),
        tasks=tuple(dict.fromkeys((*roles.tasks, *own.tasks))),
        features=(*(own.features or ()), *(roles.features or ())),
        # What the model takes as a number cannot be read as text.
        cut=(*roles.cut, *own.cut, *(name for name in labels if name in numbers)),
    )
    table = load(asked.files, wanted, reading)
    table = with_predictions(columns, estimator, table, PREDICTION, OTHER_NAME)
    roles = replace(roles, predictions=(*roles.predictions, PREDICTION))
    kept: Any = (describe_model(model)["extra"] or {}).get("references")
    known = kept.items() if fits(kept, dict[str, str]) else ()
    compared = [
        label
        for name, label in known
        if name in roles.sensitive and label in table.text(name)
    ]
    return table, roles, compared


def _show_gaps(found: Audit) -> None:
    """Print the gap in units and percent, over all rows and of the worst tasks."""
    tasks = [gap for gap in found.units if gap.task is not None]
    known = any(not math.isnan(gap.mean_gap_share.value) for gap in found.units)
    if not known and not tasks:
        return  # the comparisons have said it
    several = len({(gap.of, gap.group, gap.against) for gap in found.units}) > 1
    tasks.sort(key=lambda gap: -abs(gap.mean_gap.value))
    lines = [gap for gap in found.units if gap.task is None] + tasks[:MOST_SHOWN]
    means = [gap.mean_gap for gap in lines]
    shares = [gap.mean_gap_share.mapped(lambda it: 100.0 * it) for gap in lines]
    ends = [interval(e, ".1f") for e in shares] if known else _intervals(means)
    echo()
    show_table(
        ("gap in", [gap.of for gap in lines]),
        ("groups", [pair_of_groups(gap) if several else "" for gap in lines]),
        ("rows of", [clipped(gap.task or "all tasks", WIDEST) for gap in lines]),
        ("rows", [f"{gap.n_group} v {gap.n_against}" for gap in lines]),
        ("means", figures(means, 5)),
        ("in %", [number(e, ".1f") for e in shares]),
        ("CI", ends),
        ("medians", figures([gap.median_gap for gap in lines], 5)),
    )
    if len(tasks) > MOST_SHOWN:
        say(f"The {MOST_SHOWN} largest of {len(tasks)} gaps by task.")


def _intervals(values: Sequence[Estimate]) -> list[str]:
    large = any(abs(e.value) >= SMALL_AMOUNT for e in values)
    return [interval(e, ",.0f" if large else ".4g") for e in values]


def _show_parts(found: Audit) -> None:
    """Print what the controls explain of each gap, and what they do not."""
    for parts in found.parts:
        rows = {
            "whole gap": parts.gap,
            "explained": parts.explained,
            **{f"  {name}": e for name, e in parts.by_control.items()},
            "unexplained": parts.unexplained,
        }
        shares = [100.0 * parts.share(e) for e in rows.values()]
        echo()
        show_table(
            (f"{parts.group} v {parts.against}", rows),
            (parts.of, figures([*rows.values()], 5)),
            ("CI", _intervals([*rows.values()])),
            ("in %", [number(share, ".1f") for share in shares]),
        )
        if parts.dropped:
            say(f"Left out in part, as others say the same: {listed(parts.dropped)}.")


def _show_remedies(found: Audit) -> None:
    """Print what it costs to close each gap."""
    costs = found.remedies
    if costs:
        echo()
        show_table(
            ("groups", map(pair_of_groups, costs)),
            ("gap closed to", [f"{100.0 * abs(r.left):.1f} %" for r in costs]),
            ("raised", [str(r.n_raised) for r in costs]),
            ("sum", [f"{r.total:,.0f}" for r in costs]),
            ("of all", [f"{100.0 * r.share:.2f} %" for r in costs]),
        )


def _legend(found: Audit) -> list[str]:
    """Return what the columns mean, how many tasks are flagged, and who is in none."""
    tasks = any(not math.isnan(c.within_task_auc.value) for c in found.comparisons)
    level = f"{100 * found.confidence:g}"
    lines = [
        f"{AUC}{IN_TASKS if tasks else ''} CI: {level} % confidence interval.",
        OTHERS,
    ]
    mine = [line for line in found.tasks if line.model == found.model_names[-1]]
    if mine:
        hidden = would_be_found(mine, found.confidence)
        told = [_flagged(mine), without_gap(found), hidden]
        lines.append(" ".join(filter(None, told)))
    for feature in found.sensitive_features:
        if feature.n_missing:
            rows = counted(feature.n_missing, "row has", "rows have")
            lines.append(f"{rows} no {feature.name}: in no comparison.")
    return lines


def _flagged(lines: Sequence[TaskLine]) -> str:
    """Say how many of the tasks that could be judged are flagged."""
    judged = {line.task for line in lines if line.adjusted_p is not None}
    others = len({line.task for line in lines} - judged)
    if not judged:
        return "No task could be judged."
    flagged = len({line.task for line in lines if line.flagged})
    are = f"{counted(len(judged), 'task')} {'is' if flagged == 1 else 'are'} flagged"
    tests = f"(p-values adjusted for {counted(len(judged), 'test')})"
    unknown = f"; {others} could not be judged" if others else ""
    return f"{flagged} of {are} {tests}{unknown}."
