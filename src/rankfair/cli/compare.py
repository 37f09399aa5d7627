"""`rankfair compare`: all methods on one's own data, by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfair.audit import Audit, Gate
from rankfair.audit.records import gap_interval, plain
from rankfair.audit.summary import interval, number
from rankfair.cli.audit import audit_table
from rankfair.cli.data import FitData, HeldOut, read_data, small_groups
from rankfair.cli.errors import sentence_of
from rankfair.cli.methods import METHODS, GroupFacts
from rankfair.cli.screen import (
    Answer,
    OnStep,
    figure,
    figures,
    say,
    show_table,
    table_of,
)
from rankfair.files.table import Dialect, Table
from rankfair.input.arrays import Codes
from rankfair.input.disk import write_whole
from rankfair.input.errors import InputError, check_choice, check_number, listed
from rankfair.input.folds import Folds
from rankfair.report.methods_page import MethodLine, MethodTable, render_comparison
from rankfair.stats.estimate import Estimate
from rankfair.stats.means import paired_cost

if TYPE_CHECKING:
    from rankfair.cli.commands import CompareCommand

HOW = (
    "Every method was fitted on part of the rows, with the same penalty and weight of "
    "it, and predicted the rest; the figures are of the held-out predictions of all "
    "folds together. Of several comparisons of groups the one with the largest rank "
    "gap is shown. The mark is the smallest gap among the methods whose error is "
    "within one standard error, row by row, of the least."
)


@dataclass(frozen=True)
class Compared(Answer):
    """The methods side by side, the audit behind them, and which could not be run."""

    page: MethodTable
    audit: Audit
    refused: dict[str, str]
    notes: tuple[str, ...]
    dialect: Dialect = Dialect()

    def say(self, quiet: bool) -> None:
        """Print the methods side by side, and which could not be run."""
        lines = self.page.lines
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
                    "" if self.page.of_groups else line.groups,
                )
                for line, error, mean in zip(lines, errors, means, strict=True)
            ],
            [i for i, line in enumerate(lines) if line.chosen],
        )
        if self.page.of_groups:
            say("", f"Rank gap, MD and KS: {self.page.of_groups}.")
        say("", self.page.summary)
        say(*(f"{line.method}: {line.note}." for line in lines if line.note))
        say(*not_run(self.refused))

    def to_dict(self) -> dict[str, Any]:
        """Return what `docs/compare.schema.json` describes."""
        return {
            "format": "rankfair-compare",
            "version": 2,
            "summary": self.page.summary,
            "methods": plain(self.page.lines),
            "not_run": dict(self.refused),
            "notes": list(self.notes),
        }

    def table(self) -> Table:
        """Return a row for each method."""
        measures = ("rmse", "auc_gap", "mean_difference", "ks")
        return table_of(self.page.lines, ("method", "groups", "note"), measures)

    def write_page(self, file: Path) -> None:
        """Write the page of the comparison."""
        write_whole(file, render_comparison(self.page))


def compare_files(asked: CompareCommand, on_step: OnStep) -> Compared:
    """Fit every method on parts of the rows and measure it on the others."""
    names = list(asked.method or METHODS)
    for name in names:
        check_choice("method", name, tuple(METHODS))
    _check_width(names, asked.epsilon)
    model = asked.model.regressor(asked.columns, epsilon=asked.epsilon)
    data = read_data(asked)
    parts = data.folds(asked.folds, model.random_state)
    found, refused = try_all(names, model, data, parts, on_step)
    held = np.sort(np.concatenate([test for _, test in parts]))
    audit = audit_table(
        data.table,
        data.roles,
        rows=held,
        bins=model.bins,
        models={name: each.values[held] for name, each in found.items()},
        intersect=model.intersect,
        random_state=model.random_state,
    )
    best = _best(audit, asked.within, partial(_cost, data, found, held))
    told = (*data.unknown_notes, *_small(audit))
    page = MethodTable(
        lines=tuple(
            _line(audit, n, each.note, best is not None and n == best.name)
            for n, each in found.items()
        ),
        provenance=replace(audit.provenance, seed=model.random_state),
        summary=_summary(audit, best, asked.within),
        title=asked.out.title or "Methods compared",
        notes=(HOW, *told, *not_run(refused)),
    )
    notes = (*data.notes, *told)
    return Compared(page, audit, refused, notes, data.table.dialect)


def _check_width(names: Sequence[str], epsilon: float) -> None:
    """Refuse an ε that is no width of a band, before the rows are read."""
    width = check_number("epsilon", epsilon, 0.0)
    narrow = [name for name in names if width > METHODS[name].widest]
    if narrow:
        most = min(METHODS[name].widest for name in narrow)
        expected = f"must be a number in [0, {most:g}] for {listed(narrow)}"
        raise InputError("epsilon", expected, f"{width:g}")


def try_all(
    names: Iterable[str], model: Any, data: FitData, parts: Folds, on_step: OnStep
) -> tuple[dict[str, HeldOut], dict[str, str]]:
    """Return held-out predictions by method, and why others could not be run."""
    found: dict[str, HeldOut] = {}
    refused: dict[str, str] = {}
    names = list(names)
    facts = GroupFacts(
        n_columns=len(data.groups),
        n_groups=max(len(of.labels) for of in data.groups.values()),
        binned=model.bins is not None,
        any_unknown=any(of.n_unknown for of in data.groups.values()),
    )
    for i, name in enumerate(names, start=1):
        on_step(name, i, len(names))
        why = METHODS[name].why_not(facts)
        if why:
            refused[name] = why
            continue
        try:
            found[name] = data.held_out(METHODS[name].make(model), parts)
        except ValueError as error:
            refused[name] = sentence_of(error)
    if not found:
        raise ValueError(f"No method could be run: {next(iter(refused.values()))}")
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


@dataclass(frozen=True)
class Winner:
    """The method that is marked, and the one of least error that it was compared with.

    They are the same where no other errs as little, but for one standard error.
    """

    name: str
    least: str


def _best(
    audit: Audit, within: float, cost: Callable[[str, str], tuple[float, float]]
) -> Winner | None:
    """Return the method to mark, among those with a gap that small.

    It is the one of the smallest gap among those that err no more than one standard
    error above the least, row by row: smaller differences may be noise.
    """
    errors = {line.name: line.rmse.value for line in audit.models}
    close = [n for n in errors if audit.gate(within, n, ignore_small=True) is Gate.HELD]
    if not close:
        return None
    least = min(close, key=lambda name: errors[name])
    costs = {name: cost(name, least) for name in close}
    alike = [n for n, (more, se) in costs.items() if n == least or more <= se]
    return Winner(min(alike, key=lambda name: _gap_of(audit, name)), least)


def _gap_of(audit: Audit, name: str) -> float:
    worst = audit.worst(name)
    return math.inf if worst is None else worst.gap


def _cost(
    data: FitData, found: Mapping[str, HeldOut], rows: Codes, name: str, least: str
) -> tuple[float, float]:
    """How much more a method errs than another, and the standard error of that."""
    tasks = data.tasks if data.roles.tasks else None
    return paired_cost(
        data.y[rows],
        found[name].values[rows],
        found[least].values[rows],
        None if tasks is None else tasks[rows],
        None if data.weights is None else data.weights[rows],
    )


def _small(audit: Audit) -> list[str]:
    """Return a note on groups that are in no figure for want of rows."""
    few = [
        f"{group.label} ({feature.name})"
        for feature in audit.sensitive_features
        for group in feature.groups
        if group.n_rows < audit.min_group
    ]
    return small_groups(few, audit.min_group)


def _summary(audit: Audit, best: Winner | None, within: float) -> str:
    known = [audit.worst(name) for name in audit.model_names]
    if not any(known):
        why = next((c.auc.note for c in audit.comparisons if c.auc.note), "")
        lost = f": {why}" if why else ""
        return f"No method has a rank gap that can be estimated from these rows{lost}."
    if best is None:
        return f"No method kept the rank gap within {within:g} on held-out rows."
    error = next(line.rmse.value for line in audit.models if line.name == best.name)
    start = f"Of the methods with a rank gap of at most {within:g} on held-out rows, "
    came = f"{figure(error)} at a gap of {_gap_of(audit, best.name):.3f}."
    if best.name == best.least:
        return f"{start}{best.name} has the least error: {came}"
    return (
        f"{start}{best.least} has the least error, and {best.name}, whose gap is "
        f"smaller, errs within one standard error of it: {came}"
    )
