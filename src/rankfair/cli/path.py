"""Work of `rankfair path`: what each ε costs on one's own data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankfair.audit.compare import REST
from rankfair.audit.records import FrontierPoint, plain
from rankfair.audit.words import number
from rankfair.cli.audit import audit_table
from rankfair.cli.data import (
    FitData,
    ModelSettings,
    combined,
    compared_labels,
    figure,
    groups_of,
    read_data,
    small_groups,
)
from rankfair.cli.screen import (
    OnStep,
    column,
    figures,
    say,
    show_table,
    write_results,
)
from rankfair.constraints import CONSTRAINTS
from rankfair.files.columns import Reading, Roles
from rankfair.files.table import Table
from rankfair.input.disk import write_whole
from rankfair.input.errors import counted
from rankfair.input.settings import check_number
from rankfair.paths import MIN_GROUP, Path, PathRow, fairness_path
from rankfair.report import MethodLine, MethodTable
from rankfair.report.methods import render_comparison
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.cli.options import OutputOptions

DEFAULT_FOLDS = 5
ONE_FIT = (
    "One fit knows the models of all ε; the figures are of predictions of each row as "
    "if it had been left out of the fit."
)
FOLDS = (
    "Every ε is fitted with its own band on part of the rows and measured on the rest; "
    "the figures are of the held-out predictions of all folds together."
)
KNEE = "The mark is the ε from which on less fairness buys little accuracy."
NO_KNEE = "No ε stands out from which on less fairness buys little accuracy."
OF_MANY = (
    "Each group is compared with all others; the rank gap, its interval and the "
    "difference of means are those of the group farthest from AUC = 1/2. The intervals "
    "are wide enough for a group that is chosen afterwards."
)


@dataclass(frozen=True)
class Priced:
    """A path of ε, and the page that shows it."""

    path: Path
    page: MethodTable
    notes: tuple[str, ...]


def path_files(
    files: Sequence[str],
    roles: Roles,
    reading: Reading,
    settings: ModelSettings,
    *,
    epsilons: Sequence[float] | None = None,
    folds: int | None = None,
    cap: int = 50,
    command: str | None = None,
    title: str | None = None,
    on_step: OnStep | None = None,
) -> Priced:
    """Fit for each of many ε and measure on rows left out or held out."""
    _check_widths(epsilons or (), settings)
    data = read_data(files, roles, reading, cap)
    data, left = _known_groups(data, settings)
    parts = data.folds(DEFAULT_FOLDS if folds is None else folds, settings)
    path = fairness_path(
        settings.model(data.design.roles),
        data.X,
        data.y,
        epsilons=epsilons,
        cv=None if folds is None else parts,
        on_step=on_step,
        sample_weight=data.weights,
        random_state=settings.seed,
    )
    base = audit_table(data.table, roles, bins=settings.bins, path=path)
    told = (*left, *small_groups(path.unjudged, MIN_GROUP))
    page = MethodTable(
        lines=tuple(
            replace(_line(row, point, name), groups=_sides(row, path))
            for row, point, name in zip(
                path.rows, base.frontier, epsilon_names(path), strict=True
            )
        ),
        provenance=replace(base.provenance, command=command, seed=settings.seed),
        summary=_summary(path),
        path=base.frontier,
        title=title or "What fairness costs",
        notes=(_how(path), *(() if len(path.groups) == 2 else (OF_MANY,)), *told),
    )
    return Priced(path, page, (*data.notes, *told))


def _check_widths(epsilons: Sequence[float], settings: ModelSettings) -> None:
    """Refuse an ε that no fit would take, before any other is fitted."""
    widest = min(CONSTRAINTS[name].widest for name in settings.constraints)
    for epsilon in epsilons:
        check_number("each of epsilons", epsilon, 0.0, widest)


def _known_groups(
    data: FitData, settings: ModelSettings
) -> tuple[FitData, tuple[str, ...]]:
    """Return rows whose group is known, and a note on the others."""
    found = groups_of(data.table, data.roles, settings.bins)
    if len(found) > 1 and not settings.intersect:
        raise ValueError(
            "a path compares the groups of one column; --sensitive names "
            f"{len(found)}. Name one of them, or compare their combinations with "
            "--intersect."
        )
    for name, groups in found.items():
        compared_labels(name, groups)
    labels = combined(found)
    compared_labels(" × ".join(found), labels)
    known = np.array([label is not None for label in labels])
    if known.all():
        return data, ()
    note = counted(
        int((~known).sum()),
        "row has no group and is left out.",
        "rows have no group and are left out.",
    )
    return data.take(known), (note,)


def epsilon_names(path: Path) -> list[str]:
    """Return each ε in three figures, in more where these do not tell them apart."""
    for digits in (3, 6):
        names = [f"ε = {row.epsilon:.{digits}g}" for row in path.rows]
        if len(set(names)) == len(names):
            return names
    return [f"ε = {row.epsilon!r}" for row in path.rows]


def _how(path: Path) -> str:
    """Return how the figures were made, and what the mark is among several ε."""
    how = ONE_FIT if path.left_out else FOLDS
    if len(path.rows) == 1:
        return how
    return f"{how} {KNEE if path.has_knee else NO_KNEE}"


def _sides(row: PathRow, path: Path) -> str:
    """Which groups a row compares."""
    if len(path.groups) > 2:
        return f"{row.group} v {REST}"
    other = next(group for group in path.groups if group != row.group)
    return f"{row.group} v {other}"


def _line(row: PathRow, point: FrontierPoint, name: str) -> MethodLine:
    return MethodLine(
        name,
        rmse=point.rmse,
        auc_gap=point.auc_gap,
        mean_difference=Estimate(row.md),
        ks=Estimate(row.ks),
        chosen=point.chosen,
        note="" if row.status in ("satisfied", "inactive") else row.status,
    )


def _summary(path: Path) -> str:
    if len(path.rows) == 1:
        only = path.rows[0]
        return (
            f"At ε = {only.epsilon:.3g} the error on {_rows(path)} is "
            f"{figure(only.rmse)} and the rank gap {only.gap:.3f}."
        )
    first, last = path.rows[0], path.rows[-1]
    more = 100 * (first.rmse / last.rmse - 1) if last.rmse > 0 else math.nan
    return (
        f"At ε = {first.epsilon:.3g} the error on {_rows(path)} is "
        f"{figure(first.rmse)}, {abs(more):.1f} % "
        f"{'above' if more >= 0 else 'below'} that at ε = {last.epsilon:.3g}; the rank "
        f"gap is {first.gap:.3f} instead of {last.gap:.3f}."
    )


def _rows(path: Path) -> str:
    return "left-out rows" if path.left_out else "held-out rows"


def show_path(done: Priced, out: OutputOptions, sheet: str | None) -> None:
    """Write the page and the table of a path, and print it."""
    path = done.path
    columns = {name: column(path.column(name).tolist()) for name in PathRow._fields}
    write_results(
        out,
        notes=done.notes,
        table=Table(columns),
        sheet=sheet,
        page=lambda file: write_whole(file, render_comparison(done.page)),
        as_dict=lambda: _as_dict(done),
        say=lambda: _say_path(done),
    )


def _say_path(done: Priced) -> None:
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


def _as_dict(done: Priced) -> dict[str, Any]:
    """Return what `docs/path.schema.json` describes."""
    return {
        "format": "rankfair-path",
        "version": 2,
        "knee": done.path.knee() if done.path.has_knee else None,
        "summary": done.page.summary,
        "n_held_out": done.path.n_held_out,
        "rows": [plain(row._asdict()) for row in done.path.rows],
        "notes": list(done.notes),
    }
