"""Training rows: what was passed to ``fit`` as plain arrays, and their layout."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Floats, Table, find_labels, open_table
from rankfair._groups import Bools, Protected, Source, encoder_of, read_groups
from rankfair._validation.checks import check_lengths
from rankfair._validation.columns import (
    column_name,
    label_source,
    refuse_same_columns,
)
from rankfair._validation.predictors import read_predictors
from rankfair._validation.records import (
    Columns,
    Layout,
    Rows,
    feature_record,
    is_pair,
)
from rankfair._validation.values import read_target, read_weights, refuse_target

__all__ = ["Given", "read_given", "read_training", "task_labels"]


def read_training(
    X: Any,
    y: Any,
    named: Columns,
    *,
    tasks: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
) -> Rows:
    """Check what was passed to ``fit`` and return it as plain arrays.

    Examples
    --------
    >>> rows = read_training([[1.0, 0], [2.0, 1]], [3.0, 5.0], Columns(tasks=1))
    >>> rows.X.tolist(), rows.codes.tolist(), rows.layout.names
    ([[1.0], [2.0]], [0, 1], ('x0',))
    """
    table = open_table(X)
    feature_record(X)  # what could not be stored is not fitted either
    given = read_given(table, y, named, tasks, sensitive_features, sample_weight)
    target, weights = given.target, given.weights
    groups = _read_protected(given.groups, weights, named)
    codes, layout = _lay_out(table, given, groups, named.blind)
    at = () if given.groups is None else given.groups.at
    of_columns = dict(zip(at, (each.codes for each in groups.columns), strict=False))
    predictors = read_predictors(table, layout, of_columns)
    refuse_target(predictors, target, layout.names)
    attributes = groups.attributes
    in_a = attributes[0].in_a if attributes else None
    if in_a is not None and is_pair(attributes):
        # A byte a row says as much as a code of eight.
        attributes = (replace(attributes[0], codes=in_a.view(np.int8)),)
    rows = Rows(
        predictors,
        target,
        codes,
        in_a,
        weights,
        layout,
        None if is_pair(attributes) else attributes[0].codes,
        attributes,
        () if groups.note is None else (groups.note,),
        tuple((it.name, it.edges) for it in groups.columns if it.edges is not None),
    )
    return rows if weights is None or weights.all() else _weighted(rows, weights > 0)


class Given(NamedTuple):
    """What was passed to ``fit``, checked; where tasks and groups come from."""

    target: Floats
    weights: Floats | None
    tasks: Source | None
    groups: Source | None


def read_given(
    table: Table,
    y: Any,
    named: Columns,
    tasks: Any,
    sensitive_features: Any,
    sample_weight: Any,
) -> Given:
    """Check what was passed to ``fit`` beside X.

    Examples
    --------
    >>> table = open_table([[1.0, 0], [2.0, 1]])
    >>> given = read_given(table, [3, 5], Columns(tasks=1), None, ["F", "M"], None)
    >>> given.target.tolist(), given.tasks.at, given.groups.at
    ([3.0, 5.0], (1,), ())
    """
    n_rows = table.shape[0]
    target = read_target(y)
    weights = read_weights(sample_weight, n_rows)
    of_tasks = label_source("tasks", named.tasks, tasks, table)
    of_groups = label_source(
        "sensitive_features", named.sensitive_features, sensitive_features, table
    )
    check_lengths(n_rows, y=target)
    refuse_same_columns(of_tasks, of_groups)
    return Given(target, weights, of_tasks, of_groups)


def _read_protected(
    source: Source | None, weights: Floats | None, named: Columns
) -> Protected:
    if source is None:
        return Protected()
    if named.several:
        return Protected.of(source, weights, named.bins, named.intersect)
    groups = read_groups(source, weights)
    return Protected((groups,), (groups,))


def task_labels(source: Source | None, n_rows: int) -> tuple[Codes, NDArray[Any]]:
    """Return the task of each row and the labels; one task if none were named."""
    if source is None:
        return np.zeros(n_rows, np.intp), np.zeros(1, np.intp)
    return source.labels()


def _lay_out(
    table: Table, given: Given, groups: Protected, blind: bool
) -> tuple[Codes, Layout]:
    """Return the task of each row and what each column of X is for."""
    tasks = given.tasks
    codes, labels = task_labels(tasks, table.shape[0])
    group_at = given.groups.at if given.groups is not None else ()
    apart = {*(tasks.at if tasks is not None else ()), *(group_at if blind else ())}
    predictors = tuple(j for j in range(table.shape[1]) if j not in apart)
    if not predictors:
        raise ValueError(
            "X has no predictor left: every column names tasks or the protected group. "
            "Add a column to predict from."
        )
    protected = tuple(
        encoder_of(each, j, table.column(j), given.weights)
        for each, j in zip(groups.columns, group_at, strict=False)
        if j in predictors
    )
    behind = {each.column for each in protected if each.apart}
    names = [column_name(table, j) for j in predictors if j not in behind]
    names += [name for each in protected if each.apart for name in each.names]
    return codes, Layout(
        predictors=predictors,
        names=tuple(names),
        task_columns=None if tasks is None else tasks.at,
        tasks=labels,
        protected=protected,
        groups=groups.attributes[0].labels if groups.attributes else None,
        unused=tuple(group_at) if blind else (),
    )


def _weighted(rows: Rows, keep: Bools) -> Rows:
    """Leave out the rows of weight zero, and tasks that no other row has."""
    codes, present = find_labels([rows.codes[keep]], "tasks")
    attributes = tuple(each.take(keep) for each in rows.attributes)
    return Rows(
        rows.X[keep],
        rows.y[keep],
        codes,
        None if rows.in_a is None else rows.in_a[keep],
        None if rows.weights is None else rows.weights[keep],
        replace(rows.layout, tasks=rows.layout.tasks[present]),
        None if is_pair(attributes) else attributes[0].codes,
        attributes,
        rows.notes,
        rows.edges,
        keep,
    )
