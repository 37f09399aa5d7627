"""`rankfair path`: what each ε costs on one's own data."""

from __future__ import annotations

import math

import numpy as np

from rankfair.audit.comparisons import REST
from rankfair.audit.records import gap_interval, plain, reversal
from rankfair.audit.summary import warning
from rankfair.cli.data import read_data
from rankfair.cli.options import PathCommand
from rankfair.cli.screen import Compared, OnStep, figure, table_of
from rankfair.cli.verdict import NO_USE
from rankfair.constraints import CONSTRAINTS
from rankfair.input.errors import check_number
from rankfair.input.folds import N_FOLDS
from rankfair.paths import Path, PathRow, fairness_path
from rankfair.report.methods_page import UNKNOWN, MethodLine, MethodTable
from rankfair.stats.estimate import Estimate

ONE_FIT = "One fit knows the models of all ε; figures are of rows as if left out of it."
FOLDS = (
    "Every ε is fitted on part of the rows; figures are of held-out rows, all folds "
    "together."
)
MARK = (
    "The mark is the smallest ε whose error is within one standard error of the least."
)
NO_COST = "No measurable cost at any ε."
MOST_ROWS = 13  # of a path, in a table for people
OF_MANY = (
    "Each group is compared with all others, and the one farthest from AUC = 1/2 is "
    "shown; the intervals are wide enough for that choice."
)


def path_of_files(asked: PathCommand, on_step: OnStep) -> Compared:
    """Fit for each of many ε and measure on rows left out or held out."""
    model = asked.regressor()
    widest = min(CONSTRAINTS[name].widest for name in asked.constraints)
    for epsilon in asked.at or ():  # before any is fitted
        check_number("epsilons", epsilon, 0.0, widest)
    data = read_data(asked)
    parts = data.folds(asked.folds or N_FOLDS, model.random_state)
    base = data.audit(model, {})
    compared = base.sensitive_features[-1]
    two = len(compared.groups) == 2
    path = fairness_path(
        model,
        data.X,
        data.y,
        epsilons=asked.at,
        cv=None if asked.folds is None else parts,
        on_step=on_step,
        sample_weight=data.weights,
        random_state=model.random_state,
        reference=compared.reference if two else None,
    )
    mean = np.average(data.y, weights=data.weights)
    constant = float(np.average((data.y - mean) ** 2, weights=data.weights)) ** 0.5
    how = ONE_FIT if path.left_out else FOLDS
    how = how if len(path.rows) == 1 else f"{how} {MARK}"
    page = MethodTable(
        lines=_lines(path),
        provenance=base.provenance,
        summary=" ".join(filter(None, [*_warnings(path, constant), _summary(path)])),
        curve=True,
        title=asked.title or "What fairness costs",
        notes=(how, *(() if len(path.groups) == 2 else (OF_MANY,))),
    )
    found = {"chosen": path.chosen, "n_held_out": path.n_held_out}
    rows = [plain(row._asdict()) for row in path.rows]
    return Compared.of(
        data,
        path.unjudged,
        page=page,
        rows=table_of(path.rows, PathRow._fields, ()),
        found={**found, "rows": rows},
        path=path,
        reference=compared.reference,
    )


def _few_of(path: Path) -> list[PathRow]:
    """Return the rows of a path that a table shows: some evenly, and the chosen one."""
    rows = path.rows if len(path.rows) <= MOST_ROWS else path.distinct().rows
    step = math.ceil(len(rows) / MOST_ROWS)
    kept = {rows[-1].epsilon, path.chosen, *(row.epsilon for row in rows[::step])}
    return [row for row in rows if row.epsilon in kept]


def _warnings(path: Path, constant: float) -> list[str]:
    """What is wrong with the models of the path, by the smallest ε and the largest."""
    said = []
    useless = [row.epsilon for row in path.rows if row.rmse >= constant]
    if useless:
        most = figure(constant)
        said.append(f"{_at(useless)} the model is {NO_USE} (RMSE {most}).")
    apart = {}
    for row, within in zip(path.rows, _within(path).values(), strict=False):
        how = reversal(row.auc, within)
        if how and path.views is not None and row.group == path.views.group:
            apart[row.epsilon] = how
    if apart:  # of a gap of 0 nothing is reversed
        how = "sign" if "sign" in apart.values() else "size"
        said.append(warning(how, f" {_at([*apart], 'at')}"))
    return said


def _at(epsilons: list[float], start: str = "At") -> str:
    first, last = epsilons[0], epsilons[-1]
    return f"{start} ε = {first:.3g}" + (f" to {last:.3g}" if last > first else "")


def _within(path: Path) -> dict[float, Estimate]:
    """Return the AUC within tasks of each ε, where that is known."""
    views = () if path.views is None else path.views.views
    pairs = zip(path.rows, views, strict=False)
    return {row.epsilon: view.within for row, view in pairs}


def _lines(path: Path) -> tuple[MethodLine, ...]:
    """Return the lines that are shown, each ε in figures that tell it from others."""
    few, within = _few_of(path), _within(path)
    alike = len({f"{row.epsilon:.3g}" for row in path.rows}) < len(path.rows)
    digits = 17 if alike else 3
    other = {row: next(g for g in path.groups if g != row.group) for row in few}
    return tuple(
        MethodLine(
            f"ε = {row.epsilon:.{digits}g}",
            rmse=Estimate(row.rmse, row.rmse_ci_low, row.rmse_ci_high),
            auc_gap=Estimate(row.gap, *gap_interval(row.auc_ci_low, row.auc_ci_high)),
            mean_difference=Estimate(row.md),
            ks=Estimate(row.ks),
            chosen=len(path.rows) > 1 and row.epsilon == path.chosen,
            note="" if row.status in ("satisfied", "inactive") else row.status,
            groups=f"{row.group} v {REST if len(path.groups) > 2 else other[row]}",
            within_task_auc=within.get(row.epsilon, UNKNOWN),
        )
        for row in few
    )


def _summary(path: Path) -> str:
    """Return what the smallest ε costs, and from which on no cost can be measured."""
    first, last = path.rows[0], path.rows[-1]
    rows = "left-out rows" if path.left_out else "held-out rows"
    start = f"At ε = {first.epsilon:.3g} the error on {rows} is {figure(first.rmse)}"
    if len(path.rows) == 1:
        return f"{start} and the rank gap {first.gap:.3f}."
    more = 100 * (first.rmse / last.rmse - 1) if last.rmse > 0 else math.nan
    said = (
        f"{start}, {abs(more):.1f} % {'above' if more >= 0 else 'below'} that at "
        f"ε = {last.epsilon:.3g}; the rank gap is {first.gap:.3f} instead of "
        f"{last.gap:.3f}."
    )
    if path.is_free:
        return f"{NO_COST} {said}"
    if path.chosen is None:
        return said
    if path.chosen == last.epsilon:
        return f"{said} Every smaller ε has a cost that can be measured."
    return f"{said} From ε = {path.chosen:.3g} on no cost can be measured."
