"""The door: labels of any number of groups, from columns of X or from an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from rankfair._frames import (
    ArrayTable,
    Codes,
    Floats,
    counted,
    find_known,
    find_labels,
    label_array,
    listed,
    open_table,
    recode,
)
from rankfair._groups import CUT_FIRST, Groups, Source, check_groups, refuse_quantity
from rankfair._validation import (
    SORTED_ROWS,
    label_source,
    label_source_of_rows,
    refuse_retyped,
)

ARGUMENT = "sensitive_features"


def read_labels(X: Any, named: Any, passed: Any, n_rows: int) -> Source | None:
    """Return the labels of the rows; None if neither X nor an array has any.

    Entries of a dict are columns in the order of their names, so that a dict of new
    rows may have them in any order.

    Examples
    --------
    >>> read_labels([[1.0, 7], [2.0, 8]], 1, None, 2).at
    (1,)
    """
    if isinstance(passed, dict):
        passed = {name: passed[name] for name in sorted(passed, key=str)}
    if named is not None:
        return label_source(ARGUMENT, named, passed, open_table(X))
    return None if passed is None else label_source_of_rows(passed, n_rows)


def find_groups(
    source: Source, weights: Floats | None = None
) -> tuple[Codes, NDArray[Any]]:
    """Return the group of each row and the labels of two or more groups.

    Groups of several columns are their combinations, as tuples.  A row that misses a
    label is of unknown group, code −1.

    Examples
    --------
    >>> codes, groups = find_groups(read_labels(None, None, [*"bacca", None], 6))
    >>> codes.tolist(), groups.tolist()
    ([1, 0, 2, 2, 0, -1], ['a', 'b', 'c'])
    """
    for part in source.parts():
        own = Groups(*find_known(part.columns[0], part.argument), part.name)
        refuse_quantity(own, part.argument, CUT_FIRST)
    codes, labels = _known_labels(source)
    if not len(labels):
        raise ValueError(
            f"{source.argument} is unknown in all {len(codes)} rows: there is nothing "
            "to balance"
        )
    if len(labels) > 2 and 2 * len(labels) > len(codes):
        raise ValueError(
            f"{source.argument} has {len(labels)} groups in {len(codes)} rows: labels "
            "of a few groups are expected. Cut a numeric attribute into classes first."
        )
    check_groups(Groups(codes, labels, source.name), source.argument, weights, True)
    return codes, labels


def known_groups(source: Source, groups: NDArray[Any]) -> Codes:
    """Return the group of each new row; refuse groups not seen in training.

    Rows of unknown group have code −1.

    Examples
    --------
    >>> import numpy as np
    >>> known_groups(read_labels(None, None, ["b", None], 2), np.array(["a", "b"]))
    array([ 1, -1])
    """
    here, labels = _known_labels(source)
    codes, others = recode(here, labels, groups)
    if others:
        _refuse_other_labels(source, others, groups)
        n_rows = int((codes[here >= 0] < 0).sum())
        raise ValueError(
            f"{source.argument} has groups not seen in training: {listed(others)} "
            f"({counted(n_rows, 'row')}); training had "
            f"{listed(groups.tolist())}. Use the labels of training, or fit with rows "
            f"of these too. {SORTED_ROWS}"
        )
    return codes


def _refuse_other_labels(
    source: Source, others: list[Any], groups: NDArray[Any]
) -> None:
    """Refuse labels of other columns, and those that differ by their type only."""
    first = groups.tolist()[0]
    width = len(first) if isinstance(first, tuple) else 1
    if len(source.columns) != width:
        raise ValueError(
            f"{source.argument} has {len(source.columns)} columns; training had "
            f"{width}. Pass labels of the same columns as to fit."
        )
    if width == 1:
        refuse_retyped(source.argument, others, groups)
        return
    for here, there in zip(
        zip(*others, strict=True), zip(*groups.tolist(), strict=True), strict=True
    ):
        new = [label for label in dict.fromkeys(here) if label not in there]
        refuse_retyped(source.argument, new, label_array(list(dict.fromkeys(there))))


def _known_labels(source: Source) -> tuple[Codes, NDArray[Any]]:
    """Return codes and sorted labels, −1 where one of the labels is missing."""
    found = [find_known(column, source.argument) for column in source.columns]
    if len(found) == 1:
        return found[0]
    known = np.all([codes >= 0 for codes, _ in found], axis=0)
    cells, present = find_labels([codes[known] for codes, _ in found], source.argument)
    labels = [
        tuple(own.tolist()[place] for (_, own), place in zip(found, cell, strict=True))
        for cell in present.tolist()
    ]
    codes = np.full(len(known), -1, np.intp)
    codes[known] = cells
    return codes, label_array(labels)


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
