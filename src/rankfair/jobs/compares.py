"""`rankfair compare`: all methods on one's own data, by cross-validation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair.audit import Audit
from rankfair.audit.records import Comparison
from rankfair.inference.estimate import Estimate
from rankfair.jobs.audits import audit_table
from rankfair.jobs.columns import Reading, Roles
from rankfair.jobs.fits import Data, Settings, data_of
from rankfair.jobs.groups import strata_of
from rankfair.jobs.methods import METHODS, Asked
from rankfair.path import make_folds
from rankfair.report.records import MethodLine, MethodTable

__all__ = ["Compared", "compare_files"]

Floats = NDArray[np.float64]
HOW = (
    "Every method was fitted with the same settings on part of the rows and predicted "
    "the rest; the figures are of the held-out predictions of all folds together."
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
    settings: Settings,
    *,
    methods: Sequence[str] | None = None,
    folds: int = 5,
    cap: int = 50,
    command: str | None = None,
    title: str | None = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Compared:
    """Fit every method on parts of the rows and measure it on the others.

    Parameters
    ----------
    files, roles, reading, settings
        As for `rankfair.jobs.fits.fit_files`.
    methods : sequence of str, optional
        Names in `rankfair.jobs.methods.METHODS`; all by default.
    folds : int, default=5
        How many folds.
    cap : int, default=50
        The most categories of a column of text.
    command, title : str, optional
        To be shown on the page.
    on_step : callable, optional
        Told of each step: its name, its number and how many there are.

    Returns
    -------
    Compared
        A line for each method that could be run.
    """
    names = list(METHODS if methods is None else methods)
    for name in names:
        if name not in METHODS:
            known = ", ".join(f'"{each}"' for each in METHODS)
            raise ValueError(f'no method is called "{name}"; there are {known}.')
    data = data_of(files, roles, reading, cap)
    codes, groups = strata_of(data.table, roles)
    rng = np.random.default_rng(settings.seed)
    parts = make_folds(folds, codes, groups, rng, weights=data.weights)
    found: dict[str, Floats] = {}
    said: dict[str, str] = {}
    refused: dict[str, str] = {}
    asked = Asked(data.design.roles, settings)
    for i, name in enumerate(names, start=1):
        if on_step is not None:
            on_step(name, i, len(names))
        try:
            found[name], said[name] = _held_out(METHODS[name](asked), data, parts)
        except ValueError as error:
            refused[name] = str(error)
    if not found:
        raise ValueError(f"no method could be run: {next(iter(refused.values()))}")
    held = np.sort(np.concatenate([test for _, test in parts]))
    audit = audit_table(
        data.table.take(held),
        roles,
        bins=settings.bins,
        models={name: values[held] for name, values in found.items()},
        random_state=settings.seed,
        command=command,
    )
    page = MethodTable(
        lines=tuple(_line(audit, name, said[name]) for name in found),
        provenance=replace(audit.provenance, seed=settings.seed),
        summary=_summary(audit, found),
        title=title or "Methods compared",
        notes=(HOW, *(f"{n} was not run: {why}" for n, why in refused.items())),
    )
    notes = tuple(filter(None, (*data.table.notes, data.design.message)))
    return Compared(page, audit, refused, notes)


def _held_out(model: Any, data: Data, parts: Any) -> tuple[Floats, str]:
    """Return held-out predictions, and how many fits were warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = data.held_out(model, parts)
    count = len(caught)
    return out, f"{count} of {len(parts)} fits did not reach the band" if count else ""


def _line(audit: Audit, name: str, note: str) -> MethodLine:
    worst = _worst(audit, name)
    error = next(line.rmse for line in audit.models if line.name == name)
    if worst is None:
        nothing = Estimate(math.nan)
        return MethodLine(name, error, nothing, nothing, nothing, note=note)
    auc = worst.auc
    ends = sorted((abs(auc.low - 0.5), abs(auc.high - 0.5)))
    low = 0.0 if auc.low <= 0.5 <= auc.high else ends[0]
    gap = Estimate(worst.gap, low, ends[1], auc.p_value, auc.method, auc.note)
    return MethodLine(
        name, error, gap, worst.mean_difference, worst.ks, name == "tilt", note
    )


def _worst(audit: Audit, name: str) -> Comparison | None:
    known = [c for c in audit.comparisons if c.model == name and c.auc.estimable]
    return max(known, key=lambda c: c.gap, default=None)


def _summary(audit: Audit, found: dict[str, Floats]) -> str:
    errors = {line.name: line.rmse.value for line in audit.models}
    gaps = {name: _worst(audit, name) for name in found}
    close = [n for n, c in gaps.items() if c is not None and c.gap <= 0.05]
    if not close:
        return "No method kept the rank gap within 0.05 on held-out rows."
    best = min(close, key=lambda n: errors[n])
    worst = gaps[best]
    gap = math.nan if worst is None else worst.gap
    return (
        f"Of the methods with a rank gap of at most 0.05 on held-out rows, {best} has "
        f"the least error: {errors[best]:.4g} at a gap of {gap:.3f}."
    )
