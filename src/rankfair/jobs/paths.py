"""`rankfair path`: what each ε costs on one's own data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankfair.audit.compare import REST
from rankfair.audit.records import FrontierPoint
from rankfair.constraints import CONSTRAINTS
from rankfair.input.errors import counted
from rankfair.input.settings import check_number
from rankfair.jobs.audits import audit_table
from rankfair.jobs.columns import Reading, Roles
from rankfair.jobs.groups import combined, compared_labels, groups_of, small_groups
from rankfair.jobs.rows import Data, OnStep, Settings, data_of, figure
from rankfair.paths import MIN_GROUP, Path, PathRow, fairness_path
from rankfair.report import MethodLine, MethodTable
from rankfair.stats.estimate import Estimate

__all__ = ["NO_KNEE", "Priced", "epsilon_names", "path_files"]

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
    settings: Settings,
    *,
    epsilons: Sequence[float] | None = None,
    folds: int | None = None,
    cap: int = 50,
    command: str | None = None,
    title: str | None = None,
    on_step: OnStep = None,
) -> Priced:
    """Fit for each of many ε and measure on rows left out or held out.

    Parameters
    ----------
    files, roles, reading, settings
        As for `rankfair.jobs.fits.fit_files`.
    epsilons : sequence of float, optional
        By default twelve from 0 to the rank gap of the unconstrained fit.
    folds : int, optional
        How many folds; by default rows are left out of one fit where the fits of all ε
        lie on a line, and otherwise there are 5.
    cap : int, default=50
        The most categories of a column of text.
    command, title : str, optional
        To be shown on the page.
    on_step : callable, optional
        Told of each step: its name, its number and how many there are.

    Returns
    -------
    Priced
        The path and its page.
    """
    _check_widths(epsilons or (), settings)
    data = data_of(files, roles, reading, cap)
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


def _check_widths(epsilons: Sequence[float], settings: Settings) -> None:
    """Refuse an ε that no fit would take, before any other is fitted."""
    widest = min(CONSTRAINTS[name].widest for name in settings.constraints)
    for epsilon in epsilons:
        check_number("each of epsilons", epsilon, 0.0, widest)


def _known_groups(data: Data, settings: Settings) -> tuple[Data, tuple[str, ...]]:
    """Return rows whose group is known, and a note on the others."""
    found = groups_of(data.table, data.roles, settings.bins)
    if len(found) > 1 and not settings.intersect:
        raise ValueError(
            "a path compares the groups of one column; --sensitive names "
            f"{len(found)}. Name one of them, or compare their combinations with "
            "--intersect."
        )
    for name, column in found.items():
        compared_labels(name, column)
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
    for figures in (3, 6):
        names = [f"ε = {row.epsilon:.{figures}g}" for row in path.rows]
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
