"""The verdict of a fit: of what was asked, of the rest, and of its predictors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rankfair.audit import Audit
from rankfair.audit.records import Comparison
from rankfair.audit.summary import number
from rankfair.cli.screen import figure
from rankfair.estimators.outcome import GIVEN_AWAY
from rankfair.input.errors import counted, shown
from rankfair.stats.estimate import Estimate

BEFORE, AFTER = "before", "after"  # the models of a report
IN_NAME = "the model is blind in name only"
OVERALL, WITHIN = "AUC over all rows", "AUC within tasks"
KS = "distance of distributions (KS)"
SHARES = (OVERALL, WITHIN, KS)
FIGURE_OF = {
    OVERALL: "auc",
    WITHIN: "within_task_auc",
    "difference of means": "mean_difference",
    "difference of mean residuals": "balanced_residuals",
    KS: "ks",
}
ASKED_FOR = {
    "rank": OVERALL,
    "mean": "difference of means",
    "residual": "difference of mean residuals",
    "distribution": KS,
}


def verdict_of(model: Any, audit: Audit | None) -> list[str]:
    """Return sentences about what was asked, about the rest, and about predictors."""
    said = [] if audit is None else _of_report(model, audit)
    return [*said, *_of_proxies(model, audit)]


@dataclass(frozen=True)
class Told:
    """A figure of a comparison: its name, and its values after and before."""

    name: str
    after: Estimate
    before: Estimate

    @property
    def sentence(self) -> str:
        """The figure with its interval, and what it was without the constraint."""
        form = ".3f" if self.name in SHARES else None
        values = self.after.value, self.after.ci_low, self.after.ci_high
        now, low, high = (_said(value, form) for value in values)
        ends = f" ({low} to {high})" if self.after.estimable else ""
        was = _said(self.before.value, form)
        return f"{self.name} {now}{ends}, {was} without the constraint"


def _said(value: float, form: str | None) -> str:
    return figure(value) if form is None else number(value, form)


def _of_report(model: Any, audit: Audit) -> list[str]:
    """Return sentences about what was asked, and then about the rest."""
    worst = audit.worst()
    names = model.constraints
    names = names if isinstance(names, list) else [names]
    by_task = model.scope == "task"
    asked = [WITHIN if by_task and n == "rank" else ASKED_FOR[n] for n in names]
    if worst is None:
        return [audit.verdict]
    pair = (BEFORE, *pair_of(worst)[1:])
    before = next((c for c in audit.comparisons if pair_of(c) == pair), worst)
    told = {
        name: Told(name, getattr(worst, field), getattr(before, field))
        for name, field in FIGURE_OF.items()
    }
    groups = f"{shown(worst.group)} against {shown(worst.against)}"
    lines = [_in_bands(model)] if by_task else []
    if asked != [OVERALL]:
        figures = "; ".join(told[name].sentence for name in asked)
        lines.append(f"As asked, {groups}: {figures}.")
    return [*lines, audit.verdict]


def _in_bands(model: Any) -> str:
    """Say how many tasks are in the bands that were asked for."""
    apart, k = len(unbalanced(model)), len(model.tasks_)
    tasks = counted(k, "task")
    return f"As asked, {k - apart} of {tasks} are in their band, on the rows fitted."


def _of_proxies(model: Any, audit: Audit | None) -> list[str]:
    """Say how well predictors tell the groups apart, and if blind is but a name."""
    auc = float(model.proxy_auc_)
    if not model.blind or math.isnan(auc) or math.isnan(model.loo_auc_):
        return []  # measured on rows left out, or not at all
    features = () if audit is None else audit.sensitive_features
    said = "The predictors tell the groups apart with AUC"
    if any(feature.constant_in_tasks for feature in features):
        return [f"{said} {auc:.3f}, and every task has one group only: {IN_NAME}."]
    if auc >= GIVEN_AWAY:
        return [f"{said} {auc:.3f}: {IN_NAME}."]
    return [f"{said} {auc:.3f}, where 0.5 is not at all and 1 is always."]


def pair_of(c: Comparison) -> tuple[str, str, str, str]:
    """Return what a comparison is of: the model, the feature and its groups."""
    return c.model, c.sensitive_feature, c.group, c.against


def unbalanced(model: Any) -> dict[str, str]:
    """Return the tasks in no band, and why; none unless there is a band for each."""
    return getattr(model, "unbalanced_tasks_", None) or {}
