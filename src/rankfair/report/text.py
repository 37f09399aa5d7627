"""Text as it is shown: numbers in one form, and names that stay names."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from rankfair.input.errors import printable

__all__ = [
    "DASH",
    "Form",
    "alike",
    "amount",
    "as_json",
    "between",
    "chance",
    "count",
    "decimal",
    "decimals",
    "round_number",
    "rows_of",
    "shown",
]

DASH = "–"
Form = Callable[[Sequence[float]], list[str]]  # numbers of one kind → texts
_IN_HTML = {ord(c): f"\\u{ord(c):04x}" for c in "<>&'\u2028\u2029"}


def shown(text: str) -> str:
    """Return a text in which control characters are spelt out; white space stays.

    Examples
    --------
    >>> shown("a\\u202eb"), shown("שלום")
    ('a[U+202E]b', 'שלום')
    """
    return printable(text, keep="\t\n\r")


def as_json(value: Any) -> str:
    """Return compact JSON that can stand between two tags of a page.

    NaN and infinities are no JSON and raise an error.

    Examples
    --------
    >>> as_json(["</script>", 1])
    '["\\\\u003c/script\\\\u003e",1]'
    """
    dense = json.dumps(
        value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    # These stand only inside strings, where the escape means the same character.
    return dense.translate(_IN_HTML)


def decimal(value: float, places: int = 3) -> str:
    """Return a number with a fixed number of decimals, a dash if there is none.

    Examples
    --------
    >>> decimal(0.64217), decimal(-0.5), decimal(-1e-9), decimal(float("nan"))
    ('0.642', '−0.500', '0.000', '–')
    """
    if not math.isfinite(value):
        return _endless(value)
    text = f"{value:,.{places}f}"
    unsigned = text.removeprefix("-")
    # Nothing is below zero that is shown as zero.
    if unsigned == text or not unsigned.strip("0.,"):
        return unsigned
    return f"−{unsigned}"


def amount(value: float) -> str:
    """Return a number of any size with four figures.

    Examples
    --------
    >>> amount(12345.6), amount(-0.012341), amount(0.0), amount(2.5e9)
    ('12,346', '−0.01234', '0', '2.500e+09')
    """
    if not math.isfinite(value):
        return _endless(value)
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    form = f",.{max(0, 3 - size)}f" if -5 < size < 7 else ".3e"
    return f"{value:{form}}".replace("-", "−", 1 if value < 0 else 0)


def round_number(value: float) -> str:
    """Return a number that is round, a tick or a setting, as short as can be.

    Examples
    --------
    >>> round_number(-0.5), round_number(20000.0), round_number(1e9)
    ('−0.5', '20,000', '1.000e+09')
    """
    text = f"{value:,.10g}" if abs(value) < 1e7 else amount(value)
    return text.replace("-", "−", 1) if value < 0 else text


def _endless(value: float) -> str:
    if math.isnan(value):
        return DASH
    return "∞" if value > 0 else "−∞"


def decimals(values: Sequence[float]) -> list[str]:
    """Return numbers with three decimals each.

    Examples
    --------
    >>> decimals([0.64217, 1.0])
    ['0.642', '1.000']
    """
    return [decimal(value) for value in values]


def alike(values: Sequence[float]) -> list[str]:
    """Return numbers of one kind with the same decimals, four figures for the largest.

    Examples
    --------
    >>> alike([0.004363, -0.07299, 0.08172]), alike([-6e-17, 1234.5])
    (['0.00436', '−0.07299', '0.08172'], ['0', '1,234'])
    """
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    size = math.floor(math.log10(largest)) if largest else 0
    if not -6 < size < 7:
        return [amount(value) for value in values]
    return [decimal(value, max(0, 3 - size)) for value in values]


def count(value: float) -> str:
    """Return a whole number with its thousands apart.

    Examples
    --------
    >>> count(1234567)
    '1,234,567'
    """
    return f"{value:,.0f}"


def rows_of(value: int) -> str:
    """Return how many rows there are, one or several.

    Examples
    --------
    >>> rows_of(1), rows_of(1200)
    ('1 row', '1,200 rows')
    """
    return f"{count(value)} {'row' if value == 1 else 'rows'}"


def between(low: str, high: str) -> str:
    """Return an interval of two numbers already in words; empty without ends.

    Examples
    --------
    >>> between("0.602", "0.681"), between("–", "–")
    ('0.602 to 0.681', '')
    """
    return "" if DASH in (low, high) else f"{low} to {high}"


def chance(value: float | None) -> str:
    """Return a p-value; empty if there is none.

    Examples
    --------
    >>> chance(0.0417), chance(1e-9), chance(None)
    ('p = 0.042', 'p < 0.001', '')
    """
    if value is None or math.isnan(value):
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
