"""Tables and prose on the screen."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import wrap

from rankfair.audit.words import number, table_lines
from rankfair.cli.ends import echo
from rankfair.input.errors import printable
from rankfair.stats.estimate import Estimate

__all__ = ["figures", "say", "show_table"]

LARGE, SMALL = 1e6, 1e-3  # beyond them a column is shown with powers of ten


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
