"""Rows to fit: targets, weights, tasks and groups, checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import column_or_1d

from rankfair.input.arrays import Codes, Column, Floats
from rankfair.input.columns import (
    Columns,
    GroupEncoder,
    Layout,
    TrainingRows,
    column_name,
    encoder_of,
    feature_record,
    is_pair,
    label_source,
    refuse_same_columns,
)
from rankfair.input.errors import counted, shown
from rankfair.input.frames import (
    ArrayTable,
    Table,
    as_columns,
    column_numbers,
    exact_order,
    open_table,
    unmasked,
    values_shape,
)
from rankfair.input.groups import Bools, Protected, Source, read_groups
from rankfair.input.labels import find_labels
from rankfair.input.settings import check_lengths

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


def read_predictors(
    table: Table, layout: Layout, of_columns: Mapping[int, Codes]
) -> Floats:
    """Return the predictors as numbers; protected ones as indicators of groups.

    ``of_columns`` holds the group of each row by column of X.
    """
    encoders = {
        each.column: each
        for each in layout.protected
        if not _is_coded(table, each, of_columns.get(each.column))
    }
    if not encoders:
        X = table.numbers(layout.predictors)
    else:
        X = _encoded(table, layout, encoders, of_columns)
    refuse_infinite(X, layout.names)
    return X


def _encoded(
    table: Table,
    layout: Layout,
    encoders: Mapping[int, GroupEncoder],
    of_columns: Mapping[int, Codes],
) -> Floats:
    X = np.empty((table.shape[0], len(layout.names)))
    behind = [j for j, each in encoders.items() if each.apart]
    at = {j: i for i, j in enumerate(j for j in layout.predictors if j not in behind)}
    plain = [j for j in at if j not in encoders]
    X[:, [at[j] for j in plain]] = table.numbers(plain)
    end = len(at)
    for j, each in encoders.items():
        if each.labels is None:
            X[:, at[j]] = each.filled(table.numbers([j])[:, 0])
        elif not each.apart:
            X[:, at[j]] = each.columns_of(of_columns[j])[:, 0]
        else:
            X[:, end : end + len(each.names)] = each.columns_of(of_columns[j])
            end += len(each.names)
    return X


def _is_coded(table: Table, each: GroupEncoder, codes: Codes | None) -> bool:
    """Tell whether the protected column can stay what it is: 0 for B and 1 for A."""
    if not isinstance(table, ArrayTable) or table.values.dtype.kind not in "biuf":
        return False
    if codes is None or each.labels is None:
        return False
    return each.labels.tolist() == [0, 1] and bool((codes >= 0).all())


def read_training(
    X: Any,
    y: Any,
    named: Columns,
    *,
    tasks: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
) -> TrainingRows:
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
    rows = TrainingRows(
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


def _weighted(rows: TrainingRows, keep: Bools) -> TrainingRows:
    """Leave out the rows of weight zero, and tasks that no other row has."""
    codes, present = find_labels([rows.codes[keep]], "tasks")
    attributes = tuple(each.take(keep) for each in rows.attributes)
    return TrainingRows(
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
