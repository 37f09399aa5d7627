"""`rankfair compare`: all methods on one's own data, by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankfair.audit import Audit, Gate
from rankfair.audit.records import ModelLine, gap_interval, plain
from rankfair.audit.summary import REVERSALS, warning
from rankfair.cli.data import FitData, HeldOut, read_data
from rankfair.cli.errors import sentence_of
from rankfair.cli.methods import METHODS
from rankfair.cli.options import CompareCommand
from rankfair.cli.screen import Compared, OnStep, figure, not_run, table_of
from rankfair.cli.verdict import NO_USE, is_useless
from rankfair.input.errors import check_choice
from rankfair.input.folds import Folds
from rankfair.report.methods_page import COLUMNS, MethodLine, MethodTable
from rankfair.stats.means import paired_cost

HOW = (
    "Figures of held-out rows, all folds together; the same penalty for all methods. "
    "Of several comparisons the largest rank gap is shown. The mark is the smallest "
    "gap among the methods whose error is within one standard error of the least."
)


def compare_files(asked: CompareCommand, on_step: OnStep) -> Compared:
    """Fit every method on parts of the rows and measure it on the others."""
    names = asked.method or list(METHODS)
    for name in names:
        check_choice("method", name, tuple(METHODS))
    model = asked.regressor(epsilon=asked.epsilon)
    data = read_data(asked)
    parts = data.folds(asked.folds, model.random_state)
    found, refused = _try_all(names, model, data, parts, on_step)
    audit = data.audit(model, {name: each.values for name, each in found.items()})
    best, least = _best(audit, asked.within, data, found)
    lines = [_line(audit, each, found[each.name].note) for each in audit.models]
    page = MethodTable(
        lines=tuple(replace(line, chosen=line.method == best) for line in lines),
        provenance=audit.provenance,
        summary=_summary(audit, {it.method: it for it in lines}, best, least, asked),
        title=asked.title or "Methods compared",
        notes=(HOW, *not_run(refused)),
    )
    measures = [column.field for column in COLUMNS]
    return Compared.of(
        data,
        [f"{label} ({it})" for it, label in audit.unjudged()],
        page=page,
        rows=table_of(page.lines, ("method", "groups", "note"), measures),
        found={"methods": plain(page.lines), "not_run": refused},
        audit=audit,
        refused=refused,
    )


def _try_all(
    names: Sequence[str], model: Any, data: FitData, parts: Folds, on_step: OnStep
) -> tuple[dict[str, HeldOut], dict[str, str]]:
    """Return held-out predictions by method, and why others could not be run."""
    found: dict[str, HeldOut] = {}
    refused: dict[str, str] = {}
    for i, name in enumerate(names, start=1):
        on_step(name, i, len(names))
        try:
            found[name] = data.held_out(METHODS[name](model), parts)
        except ValueError as error:
            refused[name] = sentence_of(error)
    if not found:
        raise ValueError(f"No method could be run: {next(iter(refused.values()))}")
    return found, refused


def _line(audit: Audit, of: ModelLine, note: str) -> MethodLine:
    name, worst = of.name, audit.worst(of.name)
    how = "" if worst is None else worst.reversal
    within = f"within tasks the gap {REVERSALS[how]}" if how else ""
    note = "; ".join(filter(None, [NO_USE if is_useless(of) else "", within, note]))
    if worst is None:
        return MethodLine(name, of.rmse, note=note)
    low, high = gap_interval(worst.auc.ci_low, worst.auc.ci_high)
    where = f" ({worst.sensitive_feature})" if len(audit.sensitive_features) > 1 else ""
    return MethodLine(
        name,
        of.rmse,
        replace(worst.auc, value=worst.gap, ci_low=low, ci_high=high),
        worst.mean_difference,
        worst.ks,
        note=note,
        groups=f"{worst.group} v {worst.against}{where}",
        within_task_auc=worst.within_task_auc,
    )


def _best(
    audit: Audit, within: float, data: FitData, found: Mapping[str, HeldOut]
) -> tuple[str, str]:
    """Return the method to mark, and that of least error, among those of a small gap.

    Marked is the smallest gap among those that err no more than one standard error
    above the least, row by row: smaller differences may be noise.
    """
    errors = {line.name: line.rmse.value for line in audit.models}
    close = [n for n in errors if audit.gate(within, n, ignore_small=True) is Gate.HELD]
    if not close:
        return "", ""
    least = min(close, key=lambda name: errors[name])
    held = data.take(~np.isnan(found[least].values))
    tasks = held.tasks if held.roles.tasks else None
    gaps = {}
    for name in close:
        m, best = (found[n].values for n in (name, least))
        both = m[~np.isnan(m)], best[~np.isnan(best)]
        more, error = paired_cost(held.y, *both, tasks, held.weights)
        worst = audit.worst(name)
        if worst is not None and (name == least or more <= error):
            gaps[name] = worst.gap
    return min(gaps, key=lambda name: gaps[name]), least


def _summary(
    audit: Audit,
    lines: Mapping[str, MethodLine],
    best: str,
    least: str,
    asked: CompareCommand,
) -> str:
    if not any(math.isfinite(line.auc_gap.value) for line in lines.values()):
        why = next((c.auc.note for c in audit.comparisons if c.auc.note), "")
        lost = f": {why}" if why else ""
        return f"No method has a rank gap that can be estimated from these rows{lost}."
    within = f"{asked.within:g} on held-out rows"
    if not best:
        return f"No method kept the rank gap within {within}."
    start = f"Of the methods with a rank gap of at most {within}, {least} has the least"
    marked, worst = lines[best], audit.worst(best)
    if worst is not None and worst.reversal:
        start = f"{warning(worst.reversal, f' of {best}')} {start}"
    also = f", and {best}, whose gap is smaller, errs within one standard error of it"
    came = f"{figure(marked.rmse.value)} at a gap of {marked.auc_gap.value:.3f}."
    return f"{start} error{'' if best == least else also}: {came}"
