"""Tables of text: two spaces between columns, figures to the right."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import wrap
from unicodedata import combining, east_asian_width

from rankfair.cli.ends import echo
from rankfair.input.errors import clipped, printable
from rankfair.stats.estimate import Estimate

__all__ = [
    "WIDEST",
    "figures",
    "interval",
    "number",
    "say",
    "show_table",
    "table_lines",
]

FIGURE = re.compile(r"[-−]?[\d.,]+(e[-+]?\d+)?|[-−]?(nan|inf)|-|\d[\d.,]*–\d[\d.,]*|")
LARGE, SMALL = 1e6, 1e-3  # beyond them a column is shown with powers of ten
WIDEST = 30  # of a label, of which a cell can hold two; file names can be long


def number(value: Estimate | float, form: str = ".3f") -> str:
    """Return a number as it is shown, or a dash for one that does not exist.

    Examples
    --------
    >>> number(Estimate(0.25)), number(-0.0001), number(float("nan"))
    ('0.250', '0.000', '-')
    """
    figure = value.value if isinstance(value, Estimate) else value
    # Nothing is below zero that is shown as zero.
    return "-" if math.isnan(figure) else format(figure, f"z{form}")


def figures(values: Sequence[Estimate | float], digits: int) -> list[str]:
    """Return a column of numbers with the same decimals, so many digits in the largest.

    Examples
    --------
    >>> figures([1123.4, 56.78, float("nan")], 3), figures([3.234, -0.14], 3)
    (['1,123', '57', '-'], ['3.23', '-0.14'])
    >>> figures([2.5e7, 12.0], 3)
    ['2.5e+07', '12']
    """
    plain = [v.value if isinstance(v, Estimate) else v for v in values]
    largest = max((abs(v) for v in plain if math.isfinite(v)), default=0.0)
    if not SMALL <= largest < LARGE:
        return [number(v, f".{digits}g") for v in plain]
    decimals = max(digits - 1 - math.floor(math.log10(largest)), 0)
    return [number(v, f",.{decimals}f") for v in plain]


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
    columns = [[head[j], *(row[j] for row in cells)] for j in kept]
    padded = []
    for i, column in enumerate(columns):
        width = max(map(_width, column))
        right = i > 0 and all(FIGURE.fullmatch(cell) for cell in column[1:])
        padded.append([_pad(cell, width, right) for cell in column])
    lines = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    return [lines[0], "─" * max(map(_width, lines)), *lines[1:]]


def say(*paragraphs: str) -> None:
    """Print prose in lines that fit the screen, 100 signs at most.

    A line end in a paragraph is not one of ours, and begins no line.
    """
    width = min(get_terminal_size().columns, 100) - 1
    for text in paragraphs:
        # No line begins with a lonely sign.
        tied = printable(text).replace(" %", "\u00a0%")
        for line in wrap(tied, width, break_on_hyphens=False) or [""]:
            echo(line.replace("\u00a0%", " %"))


def show_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], strong: Sequence[int] = ()
) -> None:
    """Print a table, some rows of it in bold where there is a terminal for it."""
    # The rest of the world asks for plain text by this name: no-color.org.
    plain = "NO_COLOR" in os.environ
    for i, line in enumerate(table_lines(head, rows)):
        echo(line, bold=i - 2 in strong and not plain)


def _width(text: str) -> int:
    return sum(
        0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text
    )


def _pad(cell: str, width: int, right: bool) -> str:
    blank = " " * (width - _width(cell))
    return blank + cell if right else cell + blank
