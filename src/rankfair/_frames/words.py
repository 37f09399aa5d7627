"""Labels in sentences, and the types that all doors share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair._printable import printable

__all__ = ["Codes", "Column", "Floats", "counted", "listed", "shown"]

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]
Column: TypeAlias = "NDArray[Any] | nw.Series[Any]"


def shown(label: Any) -> str:
    """Return a label as it stands in a sentence: text in double quotes.

    Examples
    --------
    >>> shown("F"), shown(101), shown("F\\u200b")
    ('"F"', '101', '"F[U+200B]"')
    """
    text = printable(str(label))
    return f'"{text}"' if isinstance(label, str) else text


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something, one or several.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row"), counted(0, "row has", "rows have")
    ('1 row', '2 rows', '0 rows have')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"


def listed(labels: Sequence[Any], most: int = 5) -> str:
    """Return up to ``most`` labels in a row, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    '"a", "b" and 1 more'
    """
    head = ", ".join(shown(label) for label in labels[:most])
    rest = len(labels) - most
    return f"{head} and {rest} more" if rest > 0 else head
