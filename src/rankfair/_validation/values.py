"""Numbers: targets, weights and predictors, finite and one a row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import column_or_1d

from rankfair._frames import (
    Column,
    Floats,
    as_columns,
    column_numbers,
    counted,
    exact_order,
    shown,
    unmasked,
    values_shape,
)
from rankfair._validation.checks import check_lengths

__all__ = [
    "finite_predictions",
    "read_ranked",
    "read_target",
    "read_weights",
    "refuse_infinite",
    "refuse_target",
]

# Arrays this small are toys: scikit-learn's own checks fit y = X[:, 0] on ten rows.
TOY_ROWS = 10


def read_target(y: Any, argument: str = "y") -> Floats:
    """Return a target as one finite float a row.

    Examples
    --------
    >>> read_target([1, 2]).tolist()
    [1.0, 2.0]
    """
    return _read(y, argument)[0]


def read_ranked(y: Any, argument: str = "y") -> tuple[Floats, Floats]:
    """Return a target as floats, and numbers of exactly its order and ties.

    Most often the two are one.

    Examples
    --------
    >>> large, small = read_ranked([2**53, 2**53 + 1]), read_ranked([3, 1])
    >>> large[1].tolist(), small[1].tolist()
    ([0.0, 1.0], [3.0, 1.0])
    """
    values, column = _read(y, argument)
    return values, exact_order(column, values)


def _read(y: Any, argument: str) -> tuple[Floats, Column]:
    """Return a target as floats, and as it came."""
    if y is None and argument == "y":  # scikit-learn's own words
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None."
        )
    if y is None:
        raise ValueError(f"{argument} is None: one number a row is expected.")
    column = _one_column(y, argument)
    values = np.ascontiguousarray(column_numbers(column, argument))
    if not len(values):
        raise ValueError(f"{argument} is empty: at least one row is expected.")
    refuse_infinite(values, (), argument)
    return values, column


def read_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Return weights, none below zero and not all zero; None where all are one.

    Examples
    --------
    >>> read_weights([1, 0, 2], 3).tolist()
    [1.0, 0.0, 2.0]
    """
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    column = _one_column(sample_weight, "sample_weight", warn=False)
    weights = np.ascontiguousarray(column_numbers(column, "sample_weight"))
    refuse_infinite(weights, (), "sample_weight")
    negative = int((weights < 0).sum())
    if negative:
        raise ValueError(
            f"sample_weight must not be negative; {negative} of {len(weights)} are, "
            f"the lowest is {weights.min():g}."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: nothing is left to fit.")
    check_lengths(n_rows, sample_weight=weights)
    return None if (weights == 1.0).all() else weights


def _one_column(values: Any, argument: str, warn: bool = True) -> Column:
    if issparse(values):
        raise TypeError(
            f"{argument} is sparse: dense data is required. Convert it with .toarray()."
        )
    shape = values_shape(values)
    if len(shape) == 1:
        (column,) = as_columns(values, argument)
    elif warn:
        # scikit-learn's words for (N, 1), which it accepts, and for all else.
        array = values if isinstance(values, np.ndarray) else np.asarray(values)
        column = column_or_1d(unmasked(array), warn=True)
    else:
        raise ValueError(f"{argument} must be 1D, got shape {shape}.")
    return column


def refuse_infinite(values: Floats, names: Sequence[str], argument: str = "X") -> None:
    """Raise if not all are finite.  One number decides, details only then."""
    with np.errstate(all="ignore"):
        # A sum of squares is one pass at the speed of memory, and NaN and inf stay.
        if math.isfinite(np.vdot(values, values)):
            return
    bad = [
        _describe_bad(column, name)
        for column, name in zip(np.atleast_2d(values.T), names or ("",), strict=True)
        if not np.isfinite(column).all()
    ]
    if bad:
        rest = len(bad) - 5
        more = f" and {counted(rest, 'more column')}" if rest > 0 else ""
        raise ValueError(
            f"{argument} must be finite, but has {'; '.join(bad[:5])}{more}. "
            "Drop or impute these rows."
        )


def finite_predictions(m: Floats) -> Floats:
    """Return predictions of finite rows; raise if some are too large for a float.

    Examples
    --------
    >>> import numpy as np
    >>> finite_predictions(np.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    lost = len(m) - int(np.isfinite(m).sum())
    if lost:
        raise ValueError(
            f"{lost} of {counted(len(m), 'prediction')} are too large to be numbers "
            "(inf or NaN): X has values there that are far from those of training. "
            "Leave out these rows, or give their values in the units of training."
        )
    return m


def _describe_bad(column: Floats, name: str) -> str:
    nan, infinite = int(np.isnan(column).sum()), int(np.isinf(column).sum())
    counts = [f"{n} {what}" for n, what in ((nan, "NaN"), (infinite, "inf")) if n]
    where = f" in column {shown(name)}" if name else ""
    return f"{' and '.join(counts)}{where}"


def refuse_target(X: Floats, y: Floats, names: Sequence[str]) -> None:
    """Raise if a column of X is the target itself; a glance at eight rows first."""
    if len(y) <= TOY_ROWS:
        return  # a few rows may be equal by chance
    for j in np.flatnonzero((X[:8] == y[:8, None]).all(axis=0)).tolist():
        if np.array_equal(X[:, j], y) and (y != y[0]).any():
            raise ValueError(
                f"column {shown(names[j])} of X equals y in all {len(y)} rows: the "
                "target is among the features. Leave it out of X."
            )
