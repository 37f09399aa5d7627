"""Names of the arrays that checked input consists of, and what is missing in them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]
Column: TypeAlias = "NDArray[Any] | nw.Series[Any]"


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
