"""Columns as floats: what is no number is refused, what is missing is NaN."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankfair._frames.words import Column, Floats, shown

__all__ = [
    "EXACT",
    "column_numbers",
    "exact_order",
    "is_missing",
    "refuse_complex",
    "unmasked",
]

EXACT = 2.0**53  # below it floats tell whole numbers apart

_PLAIN = {"String": "text", "Categorical": "categories", "Enum": "categories"}
_CURE = (
    "drop it, turn it into numbers (one-hot encoding), "
    "or name it in tasks= or sensitive_features="
)


def _cure(argument: str) -> str:
    """What to do with a column of X, or with y, weights and the like."""
    is_column = argument.startswith("column ")
    return _CURE if is_column else f"turn {argument} into numbers"


def refuse_complex(values: NDArray[Any], argument: str) -> None:
    """Raise if an array is complex."""
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {argument} has dtype {values.dtype}, "
            "real numbers are expected."
        )


def unmasked(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array in which what a mask hides is missing: NaN or None.

    Examples
    --------
    >>> import numpy as np
    >>> unmasked(np.ma.array([7, 8], mask=[False, True])).tolist()
    [7, None]
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    hidden, plain = np.ma.getmaskarray(values), np.asarray(values)
    if not hidden.any():
        return plain
    nan = plain.dtype.kind in "fc"
    filled = plain.copy() if nan else plain.astype(object)
    filled[hidden] = math.nan if nan else None
    return filled


def column_numbers(column: Column, argument: str) -> Floats:
    """Return a column as floats, missing values as NaN; text is refused.

    Examples
    --------
    >>> import numpy as np
    >>> column_numbers(np.array([1, 2]), "y").tolist()
    [1.0, 2.0]
    """
    if isinstance(column, nw.Series):
        if column.dtype in (nw.Categorical, nw.Enum, nw.String):
            _refuse_text(column.to_list(), argument, str(column.dtype))
        column = column.to_numpy()
    refuse_complex(column, argument)
    if column.dtype.kind in "biuf":
        return np.asarray(column, dtype=np.float64)
    if column.dtype.kind not in "OUS":
        raise ValueError(
            f"{argument} has dtype {column.dtype}: numbers are expected; "
            f"{_cure(argument)}."
        )
    return _object_numbers(column, argument)


def exact_order(column: Column, values: Floats) -> Floats:
    """Return numbers of the exact order and ties of a column without gaps.

    They are its ``values`` as floats, unless these tie whole numbers that differ: then
    they are ranks.

    Examples
    --------
    >>> import numpy as np
    >>> large = np.array([2**53 + 1, 2**53])
    >>> exact_order(large, large.astype(float)).tolist()
    [1.0, 0.0]
    """
    if values.min() > -EXACT and values.max() < EXACT:
        return values
    exact = column.to_numpy() if isinstance(column, nw.Series) else column
    if exact.dtype.kind not in "iuO":
        return values
    return np.unique(exact, return_inverse=True)[1].astype(np.float64)


def _object_numbers(column: NDArray[Any], argument: str) -> Floats:
    values = column.tolist()
    _refuse_text(values, argument, "text")
    filled = [math.nan if is_missing(value) else value for value in values]
    return np.asarray(filled, dtype=object).astype(np.float64)


def _refuse_text(values: list[Any], argument: str, kind: str) -> None:
    text = [value for value in values if isinstance(value, str | bytes)]
    if text or kind != "text":
        example = f", for example {shown((text or values)[0])}" if values else ""
        raise ValueError(
            f"{argument} holds {_PLAIN.get(kind, kind)} where numbers are expected "
            f"({len(text) or len(values)} of {len(values)} values{example}): "
            f"{_cure(argument)}."
        )


def is_missing(value: Any) -> bool:
    """Tell whether a value stands for "not known": None, NaN, NA or NaT.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("NA")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating | Decimal) and value != value
