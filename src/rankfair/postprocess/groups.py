"""The door: labels of any number of groups, from columns of X or from an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from rankfair._frames import (
    ArrayTable,
    Codes,
    Column,
    as_columns,
    encode,
    find_labels,
    listed,
    open_table,
    shown,
)
from rankfair._validation import check_lengths, column_name, resolve_columns

ARGUMENT = "sensitive_features"


@dataclass(frozen=True)
class Labels:
    """What the rows of X are labelled with, and which columns of X say so."""

    argument: str
    columns: list[Column]
    at: tuple[int, ...]


def read_labels(X: Any, named: Any, passed: Any, n_rows: int) -> Labels | None:
    """Return the labels of the rows; None if neither X nor an array has any.

    Examples
    --------
    >>> read_labels([[1.0, 7], [2.0, 8]], 1, None, 2).at
    (1,)
    """
    if named is None and passed is None:
        return None
    if named is None:
        columns = as_columns(passed, ARGUMENT)
        check_lengths(n_rows, **{ARGUMENT: columns[0]})
        return Labels(ARGUMENT, columns, ())
    table = open_table(X)
    at = resolve_columns(ARGUMENT, named, table)
    names = listed([column_name(table, j) for j in at])
    if passed is not None:
        raise ValueError(
            f"{ARGUMENT} was given twice: in the constructor (column {names} of X) and "
            "as an array to the method. Give one of them."
        )
    argument = f"{ARGUMENT} (column {names} of X)"
    return Labels(argument, [table.column(j) for j in at], at)


def find_groups(labels: Labels) -> tuple[Codes, NDArray[Any]]:
    """Return the group of each row and the labels of two or more groups.

    Examples
    --------
    >>> codes, groups = find_groups(read_labels(None, None, [*"baccab"], 6))
    >>> codes.tolist(), groups.tolist()
    ([1, 0, 2, 2, 0, 1], ['a', 'b', 'c'])
    """
    codes, groups = find_labels(labels.columns, labels.argument)
    if len(groups) == 1:
        raise ValueError(
            f"{labels.argument} has one group only ({shown(groups.tolist()[0])}, "
            f"{len(codes)} rows): there is nothing to balance"
        )
    if len(groups) > 2 and 2 * len(groups) > len(codes):
        raise ValueError(
            f"{labels.argument} has {len(groups)} groups in {len(codes)} rows: labels "
            "of a few groups are expected. Cut a numeric attribute into classes first."
        )
    return codes, groups


def known_groups(labels: Labels, groups: NDArray[Any]) -> Codes:
    """Return the group of each new row; refuse groups not seen in training.

    Examples
    --------
    >>> import numpy as np
    >>> known_groups(read_labels(None, None, ["b", "b"], 2), np.array(["a", "b"]))
    array([1, 1])
    """
    codes, others = encode(labels.columns, groups, labels.argument)
    if others:
        raise ValueError(
            f"{labels.argument} has groups not seen in training: {listed(others)} "
            f"({int((codes < 0).sum())} rows); training had {listed(groups.tolist())}."
        )
    return codes


def without(X: Any, columns: tuple[int, ...]) -> Any:
    """Return X without some columns, in its own type.

    Examples
    --------
    >>> without([[1.0, 7], [2.0, 8]], (1,)).tolist()
    [[1.0], [2.0]]
    """
    if not columns:
        return X
    table = open_table(X)
    kept = [j for j in range(table.shape[1]) if j not in columns]
    if not kept:
        raise ValueError(
            "X has no column left for the estimator: with blind=True the protected "
            "one is left out."
        )
    if isinstance(table, ArrayTable):
        return np.asarray(table.values[:, kept])
    return _safe_indexing(X, kept, axis=1)
