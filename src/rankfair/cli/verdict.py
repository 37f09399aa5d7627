"""The verdict of a fit: of what was asked, of the rest, and whether it is of use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rankfair.audit import Audit
from rankfair.audit.records import Comparison, ModelLine, SensitiveFeature
from rankfair.audit.summary import number, warning
from rankfair.cli.screen import figure
from rankfair.estimators.outcome import GIVEN_AWAY
from rankfair.input.errors import counted, listed, shown

BEFORE, AFTER = "before", "after"  # the models of a report
NO_USE = "of no use: it errs no less than one constant, the mean"
IN_NAME = "the model is blind in name only"
WITHIN = ("AUC within tasks", "within_task_auc")
ASKED_FOR = {
    "rank": ("AUC over all rows", "auc"),
    "mean": ("difference of means", "mean_difference"),
    "residual": ("difference of mean residuals", "balanced_residuals"),
    "distribution": ("distance of distributions (KS)", "ks"),
}
SHARES = ("auc", "within_task_auc", "ks")
WIDER = "a larger --epsilon"
OTHER = "other predictors: without the constraint the model is of no use either"


def urgent_of(
    model: Any, audit: Audit, n_far: int, by_default: Callable[[], ModelLine | None]
) -> tuple[str, ...]:
    """Return what is to be said first: a model of no use, a gap reversed in tasks.

    ``n_far`` predictions are outside the range of the target by more than its width.
    ``by_default`` measures the default penalty, if that is another.
    """
    free, line = audit.models
    worst, said = audit.worst(), []
    if is_useless(line):
        errors = f"RMSE {figure(line.rmse.value)} against {figure(of_constant(line))}"
        said.append(f"This model is {NO_USE} ({errors}, R² {line.r2.value:.3f}).")
    if n_far:
        are = counted(n_far, "prediction is", "predictions are")
        said.append(f"{are} outside the range of the target by more than its width.")
    if said:
        said.append(f"Try {_cure(model, free, by_default)}.")
    if worst is not None and worst.reversal:
        said.append(warning(worst.reversal))
    return tuple(said)


def _cure(
    model: Any, free: ModelLine, by_default: Callable[[], ModelLine | None]
) -> str:
    """Return what to try instead of a model of no use, and what it comes to."""
    if is_useless(free):
        tried = by_default()
        if tried is None or is_useless(tried):
            return OTHER
        error = figure(tried.rmse.value)
        return f"--penalty pool --beta auto, the defaults (RMSE {error})"
    half_way = ((free.rmse.value**2 + of_constant(free) ** 2) / 2) ** 0.5
    try:
        wider = [row for row in model.path().rows if row.rmse < half_way]
    except AttributeError:  # no line of fits
        wider = []
    if not wider:
        return f"{WIDER}; without the constraint the RMSE is {figure(free.rmse.value)}"
    least = min(wider, key=lambda row: row.epsilon)
    return f"--epsilon {least.epsilon:.3g} (RMSE {figure(least.rmse)})"


def of_constant(line: ModelLine) -> float:
    """Return the error of one constant on the rows that a model was measured on."""
    return float(line.rmse.value / (1 - line.r2.value) ** 0.5)


def is_useless(line: ModelLine) -> bool:
    """Tell whether a model errs no less than one constant."""
    return line.r2.value <= 0.0


def status_of(model: Any, audit: Audit | None) -> str:
    """Return what the fit came to, unless the model is of no use."""
    useless = audit is not None and is_useless(audit.models[-1])
    return "useless" if useless else str(model.status_)


def verdict_of(model: Any, audit: Audit | None) -> tuple[str, ...]:
    """Return sentences about what was asked, about the rest, and about predictors."""
    if audit is None:
        return tuple(_of_proxies(model, ()))
    worst = audit.worst()
    warned = "" if worst is None else warning(worst.reversal)
    rest = audit.verdict.removeprefix(warned).strip()
    proxies = _of_proxies(model, audit.sensitive_features)
    return (*_of_asked(model, audit), rest, *proxies)


def _of_asked(model: Any, audit: Audit) -> list[str]:
    """Return sentences about the constraints, unless it is the rank of all rows."""
    worst, said = audit.worst(), []
    apart = getattr(model, "unbalanced_tasks_", None) or {}  # of a band for each
    by_task, names = model.scope == "task", model.constraints
    names = [names] if isinstance(names, str) else names
    if by_task or apart:  # how many tasks are in the bands that were asked for
        kept = len(model.tasks_) - len(apart)
        tasks = f"{kept} of {counted(len(model.tasks_), 'task')} are in their band"
        others = f"; not {listed([*apart], 3)}" if apart else ""
        said.append(f"As asked, {tasks}, on training rows{others}.")
    if worst is None:
        return said
    # An audit has no figure of others.
    known = [name for name in names if name in ASKED_FOR]
    asked = [WITHIN if by_task and n == "rank" else ASKED_FOR[n] for n in known]
    if asked and asked != [ASKED_FOR["rank"]]:
        same = (c for c in audit.comparisons if c.pair == worst.pair)
        before = next((c for c in same if c.model == BEFORE), worst)
        figures = "; ".join(_told(name, field, worst, before) for name, field in asked)
        groups = f"{shown(worst.group)} against {shown(worst.against)}"
        said.append(f"As asked, {groups}: {figures}.")
    return said


def _told(name: str, field: str, after: Comparison, before: Comparison) -> str:
    """A figure with its interval, and what it was without the constraint."""
    now, was = getattr(after, field), getattr(before, field)
    value, low, high, old = (
        number(it, ".3f") if field in SHARES else figure(it)
        for it in (now.value, now.ci_low, now.ci_high, was.value)
    )
    ends = f" ({low} to {high})" if now.estimable else ""
    return f"{name} {value}{ends}, {old} without the constraint"


def _of_proxies(model: Any, features: Sequence[SensitiveFeature]) -> list[str]:
    """Say how well predictors tell groups apart, and if it is blind in name only."""
    auc = float(model.proxy_auc_)
    if not model.blind or math.isnan(auc) or math.isnan(model.loo_auc_):
        return []  # measured on rows left out, or not at all
    said = f"The predictors tell the groups apart with AUC {auc:.3f}"
    if any(feature.constant_in_tasks for feature in features):
        return [f"{said}, and every task has one group only: {IN_NAME}."]
    if auc >= GIVEN_AWAY:
        return [f"{said}: {IN_NAME}."]
    return [f"{said}, where 0.5 is not at all and 1 is always."]
