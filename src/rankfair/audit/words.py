"""An audit as text: its verdict, and tables of text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from rankfair.input.errors import clipped, listed, shown
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Comparison

FIGURE = re.compile(r"[-−]?[\d.,]+(e[-+]?\d+)?|[-−]?(nan|inf)|-|\d[\d.,]*–\d[\d.,]*|")
WIDEST = 30  # characters of a label; a cell can hold two labels


def verdict(audit: Audit) -> str:
    """Return the largest gap of the last model in a sentence, with its interval."""
    mine = [c for c in audit.comparisons if c.model == audit.model_names[-1]]
    worst = audit.worst()
    # A single model needs no name.
    model = shown(audit.model_names[-1]) if len(audit.models) > 1 else ""
    if worst is None:
        whose = f" of {model}" if model else ""
        notes = (c.auc.note for c in mine if not c.auc.estimable and c.auc.note)
        why = next((f": {note}" for note in notes), "")
        return f"The rank gap{whose} cannot be estimated from these rows{why}."
    where = f"In {model}, rows" if model else "Rows"
    among = ""
    if len(mine) > 1:
        lost = sum(not c.auc.estimable for c in mine)
        missing = f", {lost} not estimable" if lost else ""
        among = f"; the largest gap of {len(mine)} comparisons{missing}"
    return (
        f"{where} {_relation(worst)} ({worst.sensitive_feature}): AUC "
        f"{worst.auc.value:.3f}, {100 * audit.confidence:g} % interval "
        f"{worst.auc.ci_low:.3f} to {worst.auc.ci_high:.3f}{among}.{not_judged(audit)}"
    )


def not_judged(audit: Audit) -> str:
    """Return a sentence with the groups that could not be judged, if any."""
    groups = [f"{label} ({feature})" for feature, label in audit.unjudged()]
    return f" Not judged: {listed(groups)}." if groups else ""


def _relation(c: Comparison) -> str:
    auc = c.auc.value
    against = c.against if c.kind == "rest" else shown(c.against)
    if auc == 0.5:
        return f"of {shown(c.group)} and of {against} rank equally high"
    verb = "rank above" if auc > 0.5 else "rank below"
    share = 100 * max(auc, 1.0 - auc)
    return f"of {shown(c.group)} {verb} rows of {against} in {share:.1f} % of pairs"


def audit_table(audit: Audit) -> str:
    """Return title, verdict and a line for each comparison."""
    head = ("model", "feature", "groups", "AUC", "CI", "p", "within tasks", "MD")
    rows = [
        (
            c.model,
            c.sensitive_feature,
            f"{clipped(c.group, WIDEST)} v {clipped(c.against, WIDEST)}",
            number(c.auc),
            interval(c.auc),
            _p_value(c.auc.p_value),
            number(c.within_task_auc),
            number(c.mean_difference, ".4g"),
        )
        for c in audit.comparisons
    ]
    return "\n".join([audit.title, audit.verdict, "", *table_lines(head, rows)])


def number(value: Estimate | float, form: str = ".3f") -> str:
    """Return a number as it is shown, or a dash for one that does not exist.

    Examples
    --------
    >>> number(Estimate(0.25)), number(-0.0001), number(float("nan"))
    ('0.250', '0.000', '-')
    """
    figure = value.value if isinstance(value, Estimate) else value
    # A number that rounds to zero has no sign.
    return "-" if math.isnan(figure) else format(figure, f"z{form}")


def interval(value: Estimate, form: str = ".3f") -> str:
    """Return the interval of an estimate, or that there is none.

    Examples
    --------
    >>> interval(Estimate(0.5, 0.4, 0.6)), interval(Estimate(0.5))
    ('0.400–0.600', 'unknown')
    """
    if not value.estimable:
        return "unknown"
    return f"{format(value.ci_low, form)}–{format(value.ci_high, form)}"


def _p_value(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table: names, a rule, rows; empty columns are left out.

    Examples
    --------
    >>> rows = [("a", "5", ""), ("b", "12", "")]
    >>> print(*table_lines(("name", "n", "note"), rows), sep="\\n")
    name   n
    ────────
    a      5
    b     12
    """
    cells = [[clipped(cell, 2 * WIDEST) for cell in row] for row in rows]
    kept = [
        j for j in range(len(head)) if any(row[j] not in ("", "-") for row in cells)
    ]
    padded = []
    for i, j in enumerate(kept):
        column = [head[j], *(row[j] for row in cells)]
        width = max(map(_width, column))
        right = i > 0 and all(FIGURE.fullmatch(cell) for cell in column[1:])
        padded.append([_pad(cell, width, right) for cell in column])
    lines = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    return [lines[0], "─" * max(map(_width, lines)), *lines[1:]]


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return sum(
        0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text
    )


def _pad(cell: str, width: int, right: bool) -> str:
    blank = " " * (width - _width(cell))
    return blank + cell if right else cell + blank
