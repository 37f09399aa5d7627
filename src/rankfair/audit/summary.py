"""An audit as text: its verdict, and tables of text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from unicodedata import combining, east_asian_width

from rankfair.audit.comparisons import REST
from rankfair.input.errors import clipped, counted, listed, printable, shown
from rankfair.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankfair.audit.records import Audit, Comparison, TaskLine, UnitsGap

FIGURE = re.compile(
    r"[-−]?[\d.,]+(e[-+]?\d+)?|[-−]?(nan|inf)|-|"
    r"\d[\d.,]*–\d[\d.,]*|-?[\d.,]+ to -?[\d.,]+|"
)
LARGE, SMALL = 1e6, 1e-3  # beyond them a column is shown with powers of ten
REVERSALS = {"sign": "is reversed", "size": "is larger than overall"}
WIDEST = 30  # characters of a label; a cell can hold two labels


def verdict(audit: Audit) -> str:
    """Return the largest gap of the last model in sentences: overall, within tasks."""
    mine = [c for c in audit.comparisons if c.model == audit.model_names[-1]]
    worst = audit.worst()
    if worst is None:
        # A single model needs no name.
        model = audit.model_names[-1]
        whose = f" of {shown(model)}" if len(audit.models) > 1 else ""
        notes = (c.auc.note for c in mine if not c.auc.estimable and c.auc.note)
        why = next((f": {note}" for note in notes), "")
        return f"The rank gap{whose} cannot be estimated from these rows{why}."
    found = [_headline(worst, audit), _within(worst), _target(worst, audit)]
    found.insert(0, warning(worst.reversal))
    if len(mine) > 1:
        lost = sum(not c.auc.estimable for c in mine)
        missing = f", {lost} not estimable" if lost else ""
        found.append(
            f"This is the largest rank gap of {len(mine)} comparisons{missing}."
        )
    level = f"{100 * audit.confidence:g} %"
    found.append(f"In brackets: {level} confidence intervals.")
    return " ".join(filter(None, found)) + not_judged(audit)


def _headline(c: Comparison, audit: Audit) -> str:
    """Return what a person would say of a gap: in units and percent, and in pairs."""
    gap = _units_of(c, audit, c.model)
    which = f" ({c.sensitive_feature})" if len(audit.sensitive_features) > 1 else ""
    difference = _in_units(c.mean_difference) if gap is None else _relative(gap)

    def said(above: str, share: str) -> str:
        # Whatever the label is: an adjective, a noun or a number.
        whose = name_of(above) if above == REST else f"group {name_of(above)}"
        return f"in {share} the {audit.unit} in {whose} ranks higher"

    pairs, several = _ranks(c, c.auc, said), len(audit.models) > 1
    model = f"In {shown(c.model)}, " if several else ""
    if not difference:
        pairs = pairs if model else pairs[0].upper() + pairs[1:]
        return f"{model}{pairs}"
    noun = "" if several else f" {_noun(c.model)}"
    whole = f"{name_of(c.group)}{noun} is {difference} {name_of(c.against)}{which}"
    return f"{model}{whole}; {pairs}"


def _ranks(c: Comparison, auc: Estimate, said: Callable[[str, str], str]) -> str:
    """Say which group ranks higher, and in what share of pairs, with the AUC."""
    above, below = (c.against, c.group) if auc.value < 0.5 else (c.group, c.against)
    words = said(above, f"{100.0 * max(auc.value, 1.0 - auc.value):.1f} % of pairs")
    if abs(auc.value - 0.5) < 1e-12:  # a ratio of counts has a last bit
        words = f"{name_of(above)} and {name_of(below)} rank equally high"
    ends = f", {auc.ci_low:.3f} to {auc.ci_high:.3f}" if auc.estimable else ""
    return f"{words} (AUC {auc.value:.3f}{ends})."


def _noun(model: str) -> str:
    return "prediction" if model == "predicted" else printable(model)


def name_of(label: str) -> str:
    """Return a label as it stands in a sentence: in quotes unless it is a plain word.

    Examples
    --------
    >>> name_of("Female"), name_of("the rest"), name_of("1")
    ('Female', 'the rest', '"1"')
    """
    return label if label.replace(" ", "").isalpha() else shown(label)


def _units_of(c: Comparison, audit: Audit, of: str | None) -> UnitsGap | None:
    """The gap over all rows of the groups compared, of one thing that was measured."""
    for gap in audit.units:
        if gap.pair == c.pair and gap.task is None and (of is None or gap.of == of):
            return gap
    return None


def _relative(gap: UnitsGap) -> str:
    """A gap in percent, with its units and interval: "12.2 % (14,088) below"."""
    share = gap.mean_gap_share
    if math.isnan(share.value):
        return _in_units(gap.mean_gap)
    side = "below" if share.value < 0.0 else "above"
    units = amount(abs(gap.mean_gap.value))
    percent = f"{100.0 * abs(share.value):.1f} % ({units}"
    if not share.estimable:
        return f"{percent}) {side}"
    near, far = sorted((share.ci_low, share.ci_high), key=abs)
    start, end = f"{100.0 * abs(near):.1f} %", f"{100.0 * abs(far):.1f} %"
    if near * far < 0.0:  # the other way round
        start += " above" if side == "below" else " below"
        end += f" {side}"
    return f"{percent}; {start} to {end}) {side}"


def _in_units(gap: Estimate) -> str:
    if math.isnan(gap.value):
        return ""
    side = "below" if gap.value < 0.0 else "above"
    return f"{amount(abs(gap.value))} {side}"


def amount(value: float) -> str:
    """Return an amount as it stands in a sentence.

    Examples
    --------
    >>> amount(14088.009), amount(0.53219)
    ('14,088', '0.532')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"


def _within(c: Comparison) -> str:
    """What is left of a gap within tasks."""
    within = c.within_task_auc
    if math.isnan(within.value):
        return ""

    def said(above: str, share: str) -> str:
        return f"{name_of(above)} ranks higher in {share}"

    return f"Within tasks {_ranks(c, within, said)}"


def _target(c: Comparison, audit: Audit) -> str:
    """The gap of the target itself, where predictions are judged."""
    gap = _units_of(c, audit, None)
    if gap is None or gap.of in audit.model_names:
        return ""
    what = "target" if gap.of == "target" else f"target, {printable(gap.of)}"
    return (
        f"In the {what}, {name_of(c.group)} is {_relative(gap)} {name_of(c.against)}."
    )


def would_be_found(lines: Sequence[TaskLine], confidence: float) -> str:
    """Say how large a gap has to be to be found in tasks that are not flagged."""
    judged = [line for line in lines if line.adjusted_p is not None]
    gaps = [it.auc.detectable(confidence) for it in judged if not it.flagged]
    known = sorted(min(gap, 0.5) for gap in gaps if not math.isnan(gap))
    if not known:
        return ""
    least, most = f"{known[0]:.2f}", f"{known[-1]:.2f}"
    size = least if least == most else f"{least} to {most}, by task,"
    return (
        "In a task that is not flagged a rank gap may be hidden: taken alone, one of "
        f"{size} would have been found in 80 of 100 samples like this one."
    )


def without_gap(audit: Audit) -> str:
    """Say how many tasks have no gap, since their rows are all of one group."""
    known = {line.task for line in audit.tasks}
    lone = audit.provenance.n_tasks - len(known) if known else 0
    if lone < 1:
        return ""
    have = counted(lone, "task has", "tasks have")
    return f"{have} rows of one group only, and so no gap."


def warning(reversal: str, where: str = "") -> str:
    """Say that the gap within tasks contradicts the overall gap, if it does."""
    if not reversal:
        return ""
    cure = "A fit with scope=task (--scope task) closes it"
    return f"Warning: within tasks the gap{where} {REVERSALS[reversal]}. {cure}."


def not_judged(audit: Audit) -> str:
    """Return a sentence with the groups that could not be judged, if any."""
    groups = [f"{label} ({feature})" for feature, label in audit.unjudged()]
    return f" Not judged: {listed(groups)}." if groups else ""


def audit_table(audit: Audit) -> str:
    """Return title, verdict and a line for each comparison."""
    lines = table_lines(comparison_columns(audit))
    return "\n".join([audit.title, audit.verdict, "", *lines])


def comparison_columns(audit: Audit) -> list[tuple[str, list[str]]]:
    """Return the comparisons as columns of a table, each with its name."""
    lines = audit.comparisons
    errors = {line.name: line.rmse for line in audit.models}
    several = len(audit.sensitive_features) > 1
    return [
        ("model", [c.model for c in lines]),
        ("column", [c.sensitive_feature if several else "" for c in lines]),
        ("groups", [pair_of_groups(c) for c in lines]),
        ("rows", [f"{c.n_group} v {c.n_against}" for c in lines]),
        ("AUC", [number(c.auc) for c in lines]),
        ("CI", [interval(c.auc) for c in lines]),
        ("in tasks", [number(c.within_task_auc) for c in lines]),
        ("MD", figures([c.mean_difference for c in lines], 3)),
        ("KS", [number(c.ks) for c in lines]),
        ("RMSE", figures([errors[c.model] for c in lines], 4)),
    ]


def pair_of_groups(of: Any) -> str:
    """Return the groups of a comparison or of another record, as a table has them."""
    return f"{clipped(of.group, WIDEST)} v {clipped(of.against, WIDEST)}"


def figures(values: Sequence[Estimate | float], digits: int) -> list[str]:
    """Return a column of numbers with the same decimals, ``digits`` in the largest."""
    plain = [v.value if isinstance(v, Estimate) else v for v in values]
    largest = max((abs(v) for v in plain if math.isfinite(v)), default=0.0)
    if not SMALL <= largest < LARGE:
        return [number(v, f".{digits}g") for v in plain]
    decimals = max(digits - 1 - math.floor(math.log10(largest)), 0)
    return [number(v, f",.{decimals}f") for v in plain]


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
    >>> interval(Estimate(-0.5, -0.6, 0.1))
    '-0.600 to 0.100'
    """
    if not value.estimable:
        return "unknown"
    ends = (value.ci_low, value.ci_high)
    return (" to " if min(ends) < 0.0 else "–").join(format(e, form) for e in ends)


def table_lines(columns: Iterable[tuple[str, Iterable[str]]]) -> list[str]:
    """Return the lines of a table: names, a rule, rows; empty columns are left out.

    Examples
    --------
    >>> columns = [("name", "ab"), ("n", ["5", "12"]), ("note", ["", ""])]
    >>> print(*table_lines(columns), sep="\\n")
    name   n
    ────────
    a      5
    b     12
    """
    padded: list[list[str]] = []
    for head, cells in columns:
        column = [clipped(cell, 2 * WIDEST) for cell in cells]
        if all(cell in ("", "-") for cell in column):
            continue
        width = max(map(_width, (head, *column)))
        right = bool(padded) and all(map(FIGURE.fullmatch, column))
        padded.append([_pad(cell, width, right) for cell in (head, *column)])
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
