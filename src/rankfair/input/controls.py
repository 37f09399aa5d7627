"""Columns that may explain a gap, as numbers: text becomes 0 and 1."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from rankfair.input.arrays import Column, Floats
from rankfair.input.errors import InputError, counted, listed, shown
from rankfair.input.frames import as_columns, check_lengths, column_numbers
from rankfair.input.labels import find_known

MOST_LEVELS = 200  # of a control: more are names of rows, not categories


def read_controls(given: Any, n_rows: int) -> tuple[Floats, tuple[str, ...]]:
    """Return controls as columns of numbers, and the control that each belongs to.

    A control of numbers is one column.  One of labels has a column of 0 and 1 for each
    label but the first.

    Examples
    --------
    >>> X, names = read_controls({"rank": ["a", "b", "c"], "years": [3, 1, 2]}, 3)
    >>> X.tolist(), names
    ([[0.0, 0.0, 3.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0]], ('rank', 'rank', 'years'))
    """
    columns, names = [np.zeros((n_rows, 0))], []
    for name, column in _named(given).items():
        check_lengths(n_rows, **{f"controls[{name!r}]": column})
        made = _encoded(column, name)
        columns.append(made)
        names += [name] * made.shape[1]
    return np.hstack(columns), tuple(names)


def _named(given: Any) -> dict[str, Column]:
    if isinstance(given, dict):
        return {
            str(name): as_columns(values, f"controls[{name!r}]")[0]
            for name, values in given.items()
        }
    columns = as_columns(given, "controls")
    native = nw.from_native(given, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame):
        return dict(zip(map(str, native.columns), columns, strict=True))
    if isinstance(native, nw.Series):
        return {str(native.name or "control"): columns[0]}
    return {f"control {j + 1}": column for j, column in enumerate(columns)}


def _encoded(column: Column, name: str) -> Floats:
    """A control as one column of numbers, or one for each label but the first."""
    whole = column.to_numpy() if isinstance(column, nw.Series) else np.asarray(column)
    if whole.dtype.kind in "biuf":
        numbers = column_numbers(column, f"controls[{name!r}]")
        _refuse_missing(int((~np.isfinite(numbers)).sum()), name)
        return numbers[:, None]
    codes, labels = find_known(column, "controls")
    _refuse_missing(int((codes < 0).sum()), name)
    if len(labels) > MOST_LEVELS:
        raise InputError(
            "controls",
            f"{shown(name)} may have at most {MOST_LEVELS} labels",
            f"{len(labels)} ({listed(labels.tolist())})",
            "Unite labels, or leave the column out.",
        )
    return np.asarray(codes[:, None] == np.arange(1, len(labels)), np.float64)


def _refuse_missing(n: int, name: str) -> None:
    if n:
        rows = counted(n, "row")
        cure = "Fill them, or leave these rows out."
        raise InputError(
            "controls", f"has no value of {shown(name)} in {rows}", "", cure
        )
