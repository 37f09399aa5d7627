"""Work of `rankfair compare`: all methods on one's own data, by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfair.audit import Audit, Gate
from rankfair.audit.records import gap_interval, plain
from rankfair.audit.words import interval, number
from rankfair.cli.audit import audit_table
from rankfair.cli.data import (
    FitData,
    HeldOut,
    ModelSettings,
    figure,
    groups_of,
    read_data,
    small_groups,
)
from rankfair.cli.errors import sentence_of
from rankfair.cli.methods import METHODS, GroupFacts, MethodRequest
from rankfair.cli.screen import (
    OnStep,
    column,
    figures,
    say,
    show_table,
    spread,
    write_results,
)
from rankfair.files.columns import Reading, Roles
from rankfair.files.table import Table
from rankfair.input.disk import write_whole
from rankfair.input.errors import listed, shown
from rankfair.input.folds import Folds
from rankfair.input.settings import check_number
from rankfair.report import MethodLine, MethodTable
from rankfair.report.methods import render_comparison
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.cli.options import OutputOptions

METHOD = ("rmse", "auc_gap", "mean_difference", "ks")
HOW = (
    "Every method was fitted on part of the rows, with the same penalty and weight of "
    "it, and predicted the rest; the figures are of the held-out predictions of all "
    "folds together. Of several comparisons of groups the one with the largest rank "
    "gap is shown."
)


@dataclass(frozen=True)
class Compared:
    """The methods side by side, the audit behind them, and which could not be run."""

    page: MethodTable
    audit: Audit
    refused: dict[str, str]
    notes: tuple[str, ...]


def compare_files(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    settings: ModelSettings,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    within: float = 0.05,
    cap: int = 50,
    command: str | None = None,
    title: str | None = None,
    on_step: OnStep | None = None,
) -> Compared:
    """Fit every method on parts of the rows and measure it on the others."""
    names = _known(METHODS if methods is None else methods)
    _check_width(names, settings.epsilon)
    data = read_data(files, roles, reading, cap)
    parts = data.folds(folds, settings)
    found, refused = _try_all(names, data, settings, parts, on_step)
    held = np.sort(np.concatenate([test for _, test in parts]))
    audit = audit_table(
        data.table,
        roles,
        rows=held,
        bins=settings.bins,
        models={name: each.values[held] for name, each in found.items()},
        intersect=settings.intersect,
        random_state=settings.seed,
        command=command,
    )
    best = _best(audit, within)
    told = (*data.unknown_notes, *_small(audit))
    page = MethodTable(
        lines=tuple(_line(audit, n, each.note, n == best) for n, each in found.items()),
        provenance=replace(audit.provenance, seed=settings.seed),
        summary=_summary(audit, best, within),
        title=title or "Methods compared",
        notes=(HOW, *told, *not_run(refused)),
    )
    return Compared(page, audit, refused, (*data.notes, *told))


def _known(names: Iterable[str]) -> list[str]:
    found = list(names)
    for name in found:
        if name not in METHODS:
            known = listed(list(METHODS), len(METHODS))
            raise ValueError(f"no method is called {shown(name)}; there are {known}.")
    return found


def _check_width(names: Sequence[str], epsilon: Any) -> None:
    """Refuse an ε that is no width of a band: that is no matter of the rows."""
    width = check_number("epsilon", epsilon, 0.0)
    narrow = [name for name in names if width > METHODS[name].widest]
    if narrow:
        most = min(METHODS[name].widest for name in narrow)
        raise ValueError(
            f"epsilon must be a number in [0, {most:g}] for {listed(narrow)}; got "
            f"{width:g}."
        )


def _try_all(
    names: list[str],
    data: FitData,
    settings: ModelSettings,
    parts: Folds,
    on_step: OnStep | None,
) -> tuple[dict[str, HeldOut], dict[str, str]]:
    """Return held-out predictions by method, and why others could not be run."""
    found: dict[str, HeldOut] = {}
    refused: dict[str, str] = {}
    asked = MethodRequest(data.design.roles, settings)
    facts = _facts(data, settings)
    for i, name in enumerate(names, start=1):
        if on_step is not None:
            on_step(name, i, len(names))
        why = METHODS[name].why_not(facts)
        if why:
            refused[name] = why
            continue
        try:
            found[name] = data.held_out(METHODS[name].make(asked), parts)
        except ValueError as error:
            refused[name] = sentence_of(error, start=False)
    if not found:
        raise ValueError(f"no method could be run: {next(iter(refused.values()))}")
    return found, refused


def not_run(refused: Mapping[str, str]) -> list[str]:
    """Return a sentence for each reason why methods could not be run."""
    found = []
    for why in dict.fromkeys(refused.values()):
        names = [name for name, each in refused.items() if each == why]
        if len(names) == 1:
            found.append(f"{names[0]} was not run: {why}")
            continue
        said = f"each {why[3:]}" if why.startswith("it ") else why
        found.append(f"{listed(names, len(names))} were not run: {said}")
    return found


def _facts(data: FitData, settings: ModelSettings) -> GroupFacts:
    found = groups_of(data.table, data.roles, settings.bins)
    labels = [set(column.tolist()) for column in found.values()]
    return GroupFacts(
        n_columns=len(found),
        n_groups=max(len(each - {None}) for each in labels),
        binned=settings.bins is not None,
        any_unknown=any(None in each for each in labels),
    )


def _line(audit: Audit, name: str, note: str, chosen: bool) -> MethodLine:
    worst = audit.worst(name)
    error = next(line.rmse for line in audit.models if line.name == name)
    if worst is None:
        nothing = Estimate(math.nan)
        return MethodLine(name, error, nothing, nothing, nothing, note=note)
    auc = worst.auc
    low, high = gap_interval(auc.ci_low, auc.ci_high)
    gap = replace(auc, value=worst.gap, ci_low=low, ci_high=high)
    where = f" ({worst.sensitive_feature})" if len(audit.sensitive_features) > 1 else ""
    return MethodLine(
        name,
        error,
        gap,
        worst.mean_difference,
        worst.ks,
        chosen,
        note,
        groups=f"{worst.group} v {worst.against}{where}",
    )


def _best(audit: Audit, within: float) -> str | None:
    """Return the method of least error among those with a gap that small."""
    errors = {line.name: line.rmse.value for line in audit.models}
    close = [n for n in errors if audit.gate(within, n, ignore_small=True) is Gate.HELD]
    return min(close, key=lambda name: errors[name], default=None)


def _small(audit: Audit) -> list[str]:
    """Return a note on groups that are in no figure for want of rows."""
    few = [
        f"{group.label} ({feature.name})"
        for feature in audit.sensitive_features
        for group in feature.groups
        if group.n_rows < audit.min_group
    ]
    return small_groups(few, audit.min_group)


def _summary(audit: Audit, best: str | None, within: float) -> str:
    known = [audit.worst(name) for name in audit.model_names]
    if not any(known):
        why = next((c.auc.note for c in audit.comparisons if c.auc.note), "")
        lost = f": {why}" if why else ""
        return f"No method has a rank gap that can be estimated from these rows{lost}."
    if best is None:
        return f"No method kept the rank gap within {within:g} on held-out rows."
    error = next(line.rmse.value for line in audit.models if line.name == best)
    gap = next(c.gap for c in known if c is not None and c.model == best)
    return (
        f"Of the methods with a rank gap of at most {within:g} on held-out rows, "
        f"{best} has the least error: {figure(error)} at a gap of {gap:.3f}."
    )


def show_methods(done: Compared, out: OutputOptions, sheet: str | None) -> None:
    """Write the page and the table of a comparison, and print it."""
    lines = done.page.lines
    columns = {
        "method": column([line.method for line in lines]),
        **spread(lines, METHOD),
        "groups": column([line.groups for line in lines]),
        "note": column([line.note for line in lines]),
    }
    write_results(
        out,
        notes=done.notes,
        table=Table(columns),
        sheet=sheet,
        page=lambda file: write_whole(file, render_comparison(done.page)),
        as_dict=lambda: _as_dict(done),
        say=lambda: _say_methods(done),
    )


def _say_methods(done: Compared) -> None:
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
        say(why)


def _as_dict(done: Compared) -> dict[str, Any]:
    """Return what `docs/compare.schema.json` describes."""
    return {
        "format": "rankfair-compare",
        "version": 2,
        "summary": done.page.summary,
        "methods": plain(done.page.lines),
        "not_run": dict(done.refused),
        "notes": list(done.notes),
    }
