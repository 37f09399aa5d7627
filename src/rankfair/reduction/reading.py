"""The door of the reduction: features stay what the estimator takes, labels are read.

Unlike the linear estimators, X is not turned into numbers: a pipeline may take text,
missing values or categories, and says itself what it cannot take.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from rankfair._frames import (
    ArrayTable,
    Codes,
    Column,
    Floats,
    Table,
    encode,
    find_labels,
    listed,
    open_table,
)
from rankfair._groups import Bools, Source, read_groups
from rankfair._validation import (
    Columns,
    check_same_source,
    label_source,
    read_given,
    refuse_retyped,
    task_labels,
)

__all__ = ["Layout", "Rows", "group_codes", "read_rows", "task_codes"]

CURE = (
    "Compare one with the rest, or two of them. RankFairRegressor balances several "
    "groups, and cuts numbers into them with bins=4; RankFairPostprocessor maps the "
    "predictions of any regressor for any number of groups."
)


@dataclass(frozen=True)
class Layout:
    """What each column of X is for: decided by fit, reused by predict.

    Columns are positions; an empty tuple stands for labels passed as an array, None
    for no labels at all.
    """

    features: tuple[int, ...] | None  # None for all columns, as they are
    task_columns: tuple[int, ...] | None
    tasks: NDArray[Any]
    group_columns: tuple[int, ...] | None
    groups: NDArray[Any] | None

    def select(self, X: Any, table: Table) -> Any:
        """The columns that the estimator is to see."""
        whole = table.values if isinstance(table, ArrayTable) else X
        if self.features is None:
            return whole
        return _safe_indexing(whole, list(self.features), axis=1)


@dataclass(frozen=True)
class Rows:
    """Checked training rows; those of weight zero are left out.

    Attributes
    ----------
    X : the columns that the estimator is to see
    y : ndarray of shape (N,), float64
    codes : ndarray of shape (N,), places in ``layout.tasks``
    in_a : ndarray of bool of shape (N,), or None if there are no groups
    weights : positive ndarray of shape (N,), or None if all weigh one
    layout : Layout
    """

    X: Any
    y: Floats
    codes: Codes
    in_a: Bools | None
    weights: Floats | None
    layout: Layout


def read_rows(
    X: Any,
    y: Any,
    named: Columns,
    *,
    tasks: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
) -> Rows:
    """Check what was passed to ``fit``.

    Examples
    --------
    >>> rows = read_rows([[1.0, 0], [2.0, 1]], [3.0, 5.0], Columns(None, 1, blind=True))
    >>> rows.X.tolist(), rows.in_a.tolist()
    ([[1.0], [2.0]], [False, True])
    """
    table = open_table(X)
    target, weights, of_tasks, of_groups = read_given(
        table, y, named, tasks, sensitive_features, sample_weight
    )
    groups = None if of_groups is None else read_groups(of_groups, weights, cure=CURE)
    codes, labels = task_labels(of_tasks, table.shape[0])
    layout = Layout(
        _features(table, of_tasks, of_groups if named.blind else None),
        None if of_tasks is None else of_tasks.at,
        labels,
        None if of_groups is None else of_groups.at,
        None if groups is None else groups.labels,
    )
    in_a = None if groups is None else groups.in_a
    rows = Rows(layout.select(X, table), target, codes, in_a, weights, layout)
    return rows if weights is None or weights.all() else _weighted(rows, weights > 0)


def _features(table: Table, *apart: Source | None) -> tuple[int, ...] | None:
    """The columns beside those of tasks and of a hidden group; None for all."""
    away = {j for source in apart if source is not None for j in source.at}
    if not away:
        return None
    features = tuple(j for j in range(table.shape[1]) if j not in away)
    if not features:
        raise ValueError(
            "X has no feature left: every column names tasks or the protected group."
        )
    return features


def _weighted(rows: Rows, keep: Bools) -> Rows:
    """Leave out the rows of weight zero, and tasks that no other row has."""
    codes, present = find_labels([rows.codes[keep]], "tasks")
    assert rows.weights is not None
    return Rows(
        _safe_indexing(rows.X, np.flatnonzero(keep)),
        rows.y[keep],
        codes,
        None if rows.in_a is None else rows.in_a[keep],
        rows.weights[keep],
        replace(rows.layout, tasks=rows.layout.tasks[present]),
    )


def task_codes(table: Table, tasks: Any, layout: Layout) -> Codes:
    """The task of each new row; refuse one that training did not have."""
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout.task_columns)
    if source is None:
        return np.zeros(table.shape[0], np.intp)
    return _known(source.columns, layout.tasks, source.argument)


def group_codes(table: Table, passed: Any, layout: Layout) -> Codes | None:
    """0 for rows of group B, 1 for A; None where the groups are not told."""
    if passed is not None and layout.group_columns is None:
        raise ValueError(
            "sensitive_features was passed, but the model was fitted without groups. "
            "Fit with sensitive_features, or leave them out."
        )
    named = layout.group_columns or None
    source = label_source("sensitive_features", named, passed, table)
    if source is None or layout.groups is None:
        return None
    return _known(source.columns, layout.groups, source.argument)


def _known(columns: list[Column], labels: NDArray[Any], argument: str) -> Codes:
    codes, others = encode(columns, labels, argument)
    refuse_retyped(argument, others, labels)
    if others:
        raise ValueError(
            f"{argument} has labels not seen in training: {listed(others)} "
            f"({int((codes < 0).sum())} rows); training had {listed(labels.tolist())}."
        )
    return codes
