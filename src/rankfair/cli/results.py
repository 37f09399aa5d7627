"""What is said on the screen about a result: its table and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankfair.audit.words import WIDEST, interval, number
from rankfair.cli.ends import in_flags
from rankfair.cli.tables import figures, say, show_table
from rankfair.input.errors import clipped, counted, shown
from rankfair.jobs.compares import not_run
from rankfair.jobs.paths import NO_KNEE

if TYPE_CHECKING:
    from rankfair.audit import Audit
    from rankfair.audit.records import TaskLine
    from rankfair.jobs.compares import Compared
    from rankfair.jobs.fits import Fitted
    from rankfair.jobs.paths import Priced

__all__ = ["say_audit", "say_fit", "say_methods", "say_path"]

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


def say_audit(found: Audit, quiet: bool) -> None:
    """Say what an audit found, with the meaning of its columns unless ``quiet``."""
    say(found.verdict, "")
    _comparisons(found)
    if not quiet:
        say(*_asides(found))


def say_fit(done: Fitted) -> None:
    """Say what a fit came to, and what it changed."""
    say(*_status(done))
    if done.audit is not None:
        named = {"left out": "Rows left out of the fit", "held out": "Held-out rows"}
        rows = named.get(done.measured, "The rows fitted")
        say(f"{rows}, without the constraint (before) and with it (after):", "")
        _comparisons(done.audit)
        say("", done.audit.verdict)


def say_path(done: Priced) -> None:
    """Say what each ε costs, the knee in bold."""
    rows, knee = done.path.rows, done.path.knee()
    means = figures([row.md for row in rows], 3)
    errors = [(row.rmse, row.rmse_ci_low, row.rmse_ci_high) for row in rows]
    shown = figures([value for row in errors for value in row], 4)
    head = ("epsilon", "RMSE", "CI", "AUC", "CI", "MD", "status")
    many = len(done.path.groups) > 2
    show_table(
        (*head, "group") if many else head,
        [
            (
                f"{row.epsilon:.4f}",
                shown[3 * i],
                f"{shown[3 * i + 1]}–{shown[3 * i + 2]}",
                number(row.auc),
                f"{row.auc_ci_low:.3f}–{row.auc_ci_high:.3f}",
                means[i],
                row.status,
                *((row.group,) if many else ()),
            )
            for i, row in enumerate(rows)
        ],
        [i for i, row in enumerate(rows) if row.epsilon == knee and done.path.has_knee],
    )
    if many:
        farthest = "the group farthest from AUC = 1/2, against the rest"
        say("", f"AUC and MD are of {farthest}.")
    else:
        say("", f"AUC and MD: {done.page.of_groups}.")
    say("", done.page.summary)
    if len(rows) > 1:
        marked = f"From ε = {knee:.3g} on, less fairness buys little accuracy."
        say(marked if done.path.has_knee else NO_KNEE)


def say_methods(done: Compared) -> None:
    """Say what methods came to side by side, and which could not be run."""
    lines = done.page.lines
    errors = figures([line.rmse for line in lines], 4)
    means = figures([line.mean_difference for line in lines], 3)
    show_table(
        ("method", "RMSE", "rank gap", "CI", "MD", "KS", "groups"),
        [
            (
                line.method,
                error,
                number(line.auc_gap),
                interval(line.auc_gap),
                mean,
                number(line.ks),
                "" if done.page.of_groups else line.groups,
            )
            for line, error, mean in zip(lines, errors, means, strict=True)
        ],
        [i for i, line in enumerate(lines) if line.chosen],
    )
    if done.page.of_groups:
        say("", f"Rank gap, MD and KS: {done.page.of_groups}.")
    say("", done.page.summary)
    for line in lines:
        if line.note:
            say(f"{line.method}: {line.note}.")
    for why in not_run(done.refused):
        say(in_flags(why, start=False))


def _comparisons(found: Audit) -> None:
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


def _asides(found: Audit) -> list[str]:
    tasks = any(not math.isnan(c.within_task_auc.value) for c in found.comparisons)
    level = f" CI: {100 * found.confidence:g} % confidence interval."
    lines = ["", f"{AUC}{IN_TASKS if tasks else ''}{level}", OTHERS]
    mine = [line for line in found.tasks if line.model == found.model_names[-1]]
    if mine:
        lines.append(_tasks(mine, found.min_group))
    for feature in found.sensitive_features:
        if feature.n_missing:
            rows = counted(feature.n_missing, "row has", "rows have")
            lines.append(f"{rows} no {feature.name}: in no comparison.")
    return lines


def _tasks(lines: Sequence[TaskLine], least: int) -> str:
    """Say how many of the tasks are flagged, and how many could not be judged."""
    judged = {line.task for line in lines if line.adjusted_p is not None}
    others = len({line.task for line in lines} - judged)
    if not judged:
        if any(min(line.n_group, line.n_against) >= least for line in lines):
            return "No task could be judged."
        return "No task has enough rows of both groups to be judged."
    flagged = len({line.task for line in lines if line.flagged})
    lost = f"; {others} could not be judged" if others else ""
    return (
        f"{flagged} of {counted(len(judged), 'task')} "
        f"{'is' if flagged == 1 else 'are'} flagged (p-values adjusted for "
        f"{counted(len(judged), 'test')}){lost}."
    )


def _status(done: Fitted) -> list[str]:
    model = done.model
    values = {"rank": model.rank_auc_, **model.constraint_values_}
    came = ", ".join(
        f"{'AUC' if name == 'rank' else name} {value:.4f}"
        for name, value in sorted(values.items(), key=lambda pair: pair[0] != "rank")
    )
    where = " on rows left out of the fit" if model.count == "loo" else ""
    if where and "rank" in model.constraint_values_:
        where += f" ({model.rank_auc_:.4f} on training rows)"
    lines = [
        f"Fitted to {counted(done.n_rows, 'row')}: {model.status_}, {came}{where}."
    ]
    apart = getattr(model, "unbalanced_tasks_", None) or {}
    few = list(apart.items())[:3]
    if few:
        lines.append(
            f"{len(apart)} of {counted(len(model.tasks_), 'task')} "
            f"{'is' if len(apart) == 1 else 'are'} in no band: "
            + " ".join(f"{shown(name)}: {why}" for name, why in few)
            + (" …" if len(apart) > len(few) else "")
        )
    return lines
