"""An audit as text: measurements with their intervals, and no judgement."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rankfair.input.errors import listed, shown

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Comparison

__all__ = ["not_judged", "table", "verdict"]


def verdict(audit: Audit) -> str:
    """Return the largest gap of the last model in a sentence, with its interval."""
    worst = audit.worst()
    # With one model there is nothing to tell it from.
    model = shown(audit.model_names[-1]) if len(audit.models) > 1 else ""
    if worst is None:
        whose = f" of {model}" if model else ""
        lost = next(iter(_unknown(audit)), "")
        return f"The rank gap{whose} cannot be estimated from these rows{lost}."
    where = f"In {model}, rows" if model else "Rows"
    return (
        f"{where} {_relation(worst)} ({worst.attribute}): AUC "
        f"{worst.auc.value:.3f}, {100 * audit.confidence:g} % interval "
        f"{worst.auc.ci_low:.3f} to {worst.auc.ci_high:.3f}{_of_how_many(audit)}."
        f"{not_judged(audit)}"
    )


def not_judged(audit: Audit) -> str:
    """Return a sentence with the groups that nothing is known about, if any."""
    groups = [f"{label} ({attribute})" for attribute, label in audit.unjudged()]
    return f" Not judged: {listed(groups)}." if groups else ""


def _relation(c: Comparison) -> str:
    chance = c.auc.value
    against = c.against if c.kind == "rest" else shown(c.against)
    verb = "rank above" if chance >= 0.5 else "rank below"
    share = 100 * max(chance, 1.0 - chance)
    if chance == 0.5:
        return f"of {shown(c.group)} and of {against} rank level"
    return f"of {shown(c.group)} {verb} rows of {against} in {share:.1f} % of pairs"


def _of_how_many(audit: Audit) -> str:
    name = audit.model_names[-1]
    mine = [c for c in audit.comparisons if c.model == name]
    known = sum(c.auc.estimable for c in mine)
    if len(mine) == 1:
        return ""
    lost = len(mine) - known
    missing = f", {lost} not estimable" if lost else ""
    return f"; the largest gap of {len(mine)} comparisons{missing}"


def _unknown(audit: Audit) -> list[str]:
    name = audit.model_names[-1]
    return [
        f": {c.auc.note}"
        for c in audit.comparisons
        if c.model == name and not c.auc.estimable and c.auc.note
    ]


def table(audit: Audit) -> str:
    """Return title, verdict and a line for each comparison."""
    head = ("model", "attribute", "groups", "AUC", "CI", "p", "within tasks", "MD")
    rows = [head, *(_line(c) for c in audit.comparisons)]
    widths = [max(len(row[j]) for row in rows) for j in range(len(head))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([audit.title, audit.verdict, "", *lines])


def _line(c: Comparison) -> tuple[str, ...]:
    auc = c.auc
    interval = (
        f"{auc.ci_low:.3f} to {auc.ci_high:.3f}" if auc.estimable else "not estimable"
    )
    return (
        c.model,
        c.attribute,
        f"{c.group} v {c.against}",
        _number(auc.value),
        interval,
        _chance(auc.p_value),
        _number(c.within_task_auc.value),
        _number(c.mean_difference.value, ".4g"),
    )


def _number(value: float, form: str = ".3f") -> str:
    return "-" if math.isnan(value) else format(value, form)


def _chance(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
