"""The door: what users pass becomes plain, checked arrays, or a sentence says why not.

Everything is checked here, once; inside, the arrays are trusted.  A row of weight zero
counts as absent: it is checked like the others and then left out, with its task if no
other row is of that task.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from rankfair._frames import (
    ArrayTable,
    Codes,
    Floats,
    FrameTable,
    Table,
    as_columns,
    column_numbers,
    encode,
    find_known,
    find_labels,
    listed,
    match,
    open_table,
    shown,
    values_shape,
)
from rankfair._groups import (
    Bools,
    Encoder,
    Groups,
    Protected,
    Source,
    encoder_of,
    passed_columns,
    read_attributes,
    read_groups,
)

# Arrays this small are toys: scikit-learn's own checks fit y = X[:, 0] on ten rows.
TOY_ROWS = 10


def check_choice(argument: str, value: Any, valid: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``valid``; else list them and the nearest.

    Examples
    --------
    >>> check_choice("side", "upper", ("both", "upper"))
    'upper'
    """
    names = list(valid)
    if isinstance(value, str) and value in names:
        return value
    hint = nearest(value, names)
    raise ValueError(
        f"{argument} must be one of {listed(names, 20)}; got {_repr(value)}.{hint}"
    )


def nearest(value: Any, names: Sequence[Any]) -> str:
    """Return `` Did you mean …?`` for names close to ``value``, or nothing.

    Examples
    --------
    >>> nearest("rigde", ["task", "ridge"])
    ' Did you mean "ridge"?'
    """
    by_case = {str(name).lower(): str(name) for name in names}
    close = difflib.get_close_matches(str(value).lower(), by_case, n=3)
    if not close:
        return ""
    return f" Did you mean {' or '.join(shown(by_case[name]) for name in close)}?"


def check_number(
    argument: str, value: Any, low: float, high: float = math.inf
) -> float:
    """Return ``value`` as a float if it is a number in ``[low, high]``.

    Examples
    --------
    >>> check_number("epsilon", 0, 0.0, 0.5)
    0.0
    """
    wanted = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"≥ {low:g}"
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not low <= float(value) <= high or math.isinf(float(value)):
        raise ValueError(f"{argument} must be a number {wanted}; got {_repr(value)}.")
    return float(value)


def check_count(argument: str, value: Any, low: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``low``.

    Examples
    --------
    >>> check_count("max_iter", 50)
    50
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not whole or int(value) < low:
        raise ValueError(
            f"{argument} must be a whole number ≥ {low}; got {_repr(value)}."
        )
    return int(value)


def check_seed(argument: str, value: Any) -> None:
    """Refuse what NumPy cannot make a random generator of.

    Examples
    --------
    >>> check_seed("random_state", 3)
    """
    try:
        np.random.default_rng(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{argument} must be None, a whole number ≥ 0 or a numpy Generator; "
            f"got {_repr(value)}."
        ) from None


def check_flag(argument: str, value: Any) -> bool:
    """Return ``value`` if it is True or False.

    Examples
    --------
    >>> check_flag("blind", True)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{argument} must be True or False; got {_repr(value)}.")
    return bool(value)


def _repr(value: Any) -> str:
    if isinstance(value, str):
        return shown(value)
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def resolve_columns(argument: str, wanted: Any, table: Table) -> tuple[int, ...]:
    """Return positions of the columns that ``wanted`` names: one or several.

    Text is a name, an integer is a position (negative ones count from the end).

    Examples
    --------
    >>> from rankfair._frames import open_table
    >>> resolve_columns("tasks", [0, -1], open_table([[1.0, 2.0, 3.0]]))
    (0, 2)
    """
    several = isinstance(wanted, list | tuple)
    refs = list(wanted) if several else [wanted]
    if not refs or not all(map(is_reference, refs)):
        raise ValueError(
            f"{argument} in the constructor names columns of X (a name, a position, or "
            f"a list of them); got {_repr(wanted)}. "
            f"Labels of the rows go to fit(X, y, {argument}=...)."
        )
    found = tuple(_position(argument, ref, table) for ref in refs)
    if len(set(found)) < len(found):
        raise ValueError(f"{argument} names a column twice: {listed(refs)}.")
    return found


def is_reference(ref: Any) -> bool:
    """Tell whether this can name a column: text or a position."""
    return isinstance(ref, str | Integral) and not isinstance(ref, bool)


def _position(argument: str, ref: Any, table: Table) -> int:
    n_columns = table.shape[1]
    if isinstance(ref, str):
        return _position_of_name(argument, ref, table)
    if not -n_columns <= int(ref) < n_columns:
        raise ValueError(
            f"{argument}={ref} is no column of X, which has {n_columns} columns "
            f"(0 to {n_columns - 1})."
        )
    return int(ref) % n_columns


def _position_of_name(argument: str, name: str, table: Table) -> int:
    if not isinstance(table, FrameTable):
        raise ValueError(
            f"{argument}={shown(name)} names a column, but X is an array without "
            "column names: give a position, or pass a data frame."
        )
    count = table.names.count(name)
    if count == 1:
        return table.names.index(name)
    if count:
        raise ValueError(f"{argument}={shown(name)} names {count} columns of X.")
    hint = nearest(name, table.names) or f" It has {listed(table.names)}."
    raise ValueError(f"{argument}={shown(name)} is no column of X.{hint}")


def column_name(table: Table, j: int) -> str:
    """Return the name of column ``j`` as text; ``x3`` where X has no names."""
    return f"x{j}" if table.names is None else str(table.names[j])


@dataclass(frozen=True)
class Layout:
    """What each column of X is for: decided by fit, reused by predict.

    Attributes
    ----------
    predictors : tuple of int
        Columns behind ``coef_``, in order.
    names : tuple of str
        Their names.
    task_columns : tuple of int or None
        Columns that name the task; empty if tasks came as an array, None if there are
        no tasks.
    tasks : ndarray
        Sorted labels of the tasks.
    protected : tuple of Encoder
        How protected columns among the predictors are read: two groups as 0/1, three
        or more as a column for each but the first, after the others.
    groups : ndarray or None
        The labels of groups B and A, or of all groups; of the first attribute, where
        there are several.
    """

    predictors: tuple[int, ...]
    names: tuple[str, ...]
    task_columns: tuple[int, ...] | None
    tasks: NDArray[Any]
    protected: tuple[Encoder, ...]
    groups: NDArray[Any] | None

    @property
    def group_column(self) -> int | None:
        """The predictor that is the protected attribute, where there is one."""
        return self.protected[0].column if self.protected else None


@dataclass(frozen=True)
class Rows:
    """Checked training rows.  They may share memory with the user's arrays: read only.

    Attributes
    ----------
    X : ndarray of shape (N, n), float64, C-ordered
    y : ndarray of shape (N,), float64
    codes : ndarray of shape (N,), places in ``layout.tasks``
    in_a : ndarray of bool of shape (N,), or None if there are no groups
    weights : positive ndarray of shape (N,), or None if all weigh one
    layout : Layout
    groups : ndarray of shape (N,), places in ``layout.groups`` or −1, or None if there
        is nothing but two groups that are known for all rows
    attributes : tuple of Groups
        The groups of each protected attribute, to be balanced at once.
    notes : tuple of str
        Warnings.
    edges : tuple of (str, ndarray)
        Names of attributes that were cut into bins, and where.
    """

    X: Floats
    y: Floats
    codes: Codes
    in_a: Bools | None
    weights: Floats | None
    layout: Layout
    groups: Codes | None = None
    attributes: tuple[Groups, ...] = ()
    notes: tuple[str, ...] = ()
    edges: tuple[tuple[str, Floats], ...] = ()


@dataclass(frozen=True)
class Columns:
    """Columns of X named in the constructor of an estimator, and how groups are read.

    ``several``: there may be more than two groups, several attributes, and rows of
    unknown group.  ``bins`` and ``intersect`` are for such estimators only.
    """

    tasks: Any = None
    sensitive_features: Any = None
    blind: bool = False
    several: bool = False
    bins: int | None = None
    intersect: bool = False


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
    n_rows = table.shape[0]
    target = read_target(y)
    weights = read_weights(sample_weight, n_rows)
    task_source = label_source("tasks", named.tasks, tasks, table)
    group_source = label_source(
        "sensitive_features", named.sensitive_features, sensitive_features, table
    )
    check_lengths(n_rows, y=target)
    refuse_same_columns(task_source, group_source)
    groups = _read_protected(group_source, weights, named)
    codes, layout = _lay_out(
        table, task_source, group_source, groups, named.blind, weights
    )
    at = () if group_source is None else group_source.at
    of_columns = dict(zip(at, (each.codes for each in groups.columns), strict=False))
    predictors = _read_predictors(table, layout, of_columns)
    _refuse_target(predictors, target, layout.names)
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


def is_pair(attributes: Sequence[Groups]) -> bool:
    """Tell whether these are but two groups, known for all rows, or none at all."""
    return len(attributes) < 2 and all(
        len(each.labels) == 2 and each.known is None for each in attributes
    )


def _read_protected(
    source: Source | None, weights: Floats | None, named: Columns
) -> Protected:
    if source is None:
        return Protected()
    if named.several:
        return Protected.of(source, weights, named.bins, named.intersect)
    groups = read_groups(source, weights)
    return Protected((groups,), (groups,))


def refuse_same_columns(tasks: Source | None, groups: Source | None) -> None:
    """Raise if the tasks are the groups: no task would have two of them."""
    if tasks is None or groups is None or not tasks.at:
        return
    if set(tasks.at) <= set(groups.at):
        names = listed(tasks.names)
        raise ValueError(
            f"tasks and sensitive_features both name column {names} of X: each group "
            "would be a task of its own. Name other tasks, or leave them out."
        )


def label_source(argument: str, named: Any, passed: Any, table: Table) -> Source | None:
    if named is None and passed is None:
        return None
    if named is None:
        columns, names = passed_columns(passed, argument)
        for column in columns:
            check_lengths(table.shape[0], **{argument: column})
        return Source(argument, columns, (), names)
    at = resolve_columns(argument, named, table)
    names = tuple(column_name(table, j) for j in at)
    if passed is not None:
        raise ValueError(
            f"{argument} was given twice: in the constructor (column {listed(names)} "
            "of X) and as an array to the method. Give one of them."
        )
    columns = [table.column(j) for j in at]
    return Source(f"{argument} (column {listed(names)} of X)", columns, at, names)


def _lay_out(
    table: Table,
    tasks: Source | None,
    source: Source | None,
    groups: Protected,
    blind: bool,
    weights: Floats | None,
) -> tuple[Codes, Layout]:
    """Return the task of each row and what each column of X is for."""
    if tasks is None:
        codes, labels = np.zeros(table.shape[0], np.intp), np.zeros(1, np.intp)
    else:
        codes, labels = tasks.labels()
    group_at = source.at if source is not None else ()
    apart = {*(tasks.at if tasks is not None else ()), *(group_at if blind else ())}
    predictors = tuple(j for j in range(table.shape[1]) if j not in apart)
    if not predictors:
        raise ValueError(
            "X has no predictor left: every column names tasks or the protected group."
        )
    protected = tuple(
        encoder_of(each, j, table.column(j), weights)
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
    )


def _read_predictors(
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
    _refuse_infinite(X, layout.names)
    return X


def _encoded(
    table: Table,
    layout: Layout,
    encoders: Mapping[int, Encoder],
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


def _is_coded(table: Table, each: Encoder, codes: Codes | None) -> bool:
    """Tell whether the protected column can stay what it is: 0 for B and 1 for A."""
    if not isinstance(table, ArrayTable) or table.values.dtype.kind not in "biuf":
        return False
    if codes is None or each.labels is None:
        return False
    return each.labels.tolist() == [0, 1] and bool((codes >= 0).all())


def read_new(
    table: Table, tasks: Any, layout: Layout
) -> tuple[Floats, Codes, list[Any]]:
    """Return predictors and task codes of new rows, and tasks not seen in training.

    Rows of tasks not seen have code -1.  The caller has checked that the table has the
    columns of training.

    Examples
    --------
    >>> from rankfair._frames import open_table
    >>> rows = read_training([[1.0, 7], [2.0, 8]], [3.0, 5.0], Columns(tasks=1))
    >>> X, codes, others = read_new(open_table([[4.0, 8], [5.0, 9]]), None, rows.layout)
    >>> codes.tolist(), others
    ([1, -1], [9])
    """
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout)
    others: list[Any] = []
    if source is None:
        codes = np.zeros(table.shape[0], np.intp)
    else:
        codes, others = encode(source.columns, layout.tasks, source.argument)
        refuse_retyped(source.argument, others, layout.tasks)
    of_columns = {
        each.column: _known_groups(table, each)
        for each in layout.protected
        if each.labels is not None
    }
    return _read_predictors(table, layout, of_columns), codes, others


def check_same_source(source: Source | None, layout: Layout) -> None:
    if source is None and layout.task_columns is not None:
        raise ValueError(
            "tasks is missing: the model was fitted with tasks as an array, so each "
            "new row needs its task as well, predict(X, tasks=...)."
        )
    if source is not None and layout.task_columns is None:
        raise ValueError(
            "tasks was passed, but the model was fitted without tasks. "
            "Fit with tasks, or leave them out."
        )


def _known_groups(table: Table, each: Encoder) -> Codes:
    """Return the group of each new row, −1 if it is not known; refuse others."""
    assert each.labels is not None
    argument = f"sensitive_features (column {shown(each.name)} of X)"
    codes, here = find_known(table.column(each.column), argument)
    table_of, others = match(here, each.labels)
    refuse_retyped(argument, others, each.labels)
    if others:
        raise ValueError(
            f"{argument} has groups not seen in training: {listed(others)}; "
            f"training had {listed(each.labels.tolist())}."
        )
    places: Codes = np.append(table_of, -1)[codes]
    return places


def refuse_unseen(others: Sequence[Any], codes: Codes) -> None:
    """Raise if some rows are of a task not seen in training."""
    if others:
        raise ValueError(
            f"tasks has labels not seen in training: {listed(others)} "
            f"({int((codes < 0).sum())} rows). Fit with rows of these tasks, or use "
            'penalty="shared" with unseen="shared".'
        )


def refuse_retyped(argument: str, others: Sequence[Any], known: NDArray[Any]) -> None:
    """Raise if unknown labels are known ones of another type: 101 is not "101"."""
    if not others:
        return
    texts = {str(label): label for label in known.tolist()}
    twins = [label for label in others if str(label) in texts]
    if twins:
        here, there = twins[0], texts[str(twins[0])]
        raise ValueError(
            f"{argument} has labels of another type than in training: {shown(here)} "
            f"({type(here).__name__}) here, {shown(there)} ({type(there).__name__}) "
            f"there; {len(twins)} labels differ so. Convert them as in training, for "
            f"example with .astype({type(there).__name__})."
        )


def group_mask(
    sensitive_features: Any, n_rows: int, weights: Floats | None
) -> tuple[Bools, Bools | None]:
    """Return which rows are in group A, and which have a group (None if all do).

    Examples
    --------
    >>> in_a, known = group_mask([0, 1, None], 3, None)
    >>> in_a.tolist(), known.tolist()
    ([False, True, False], [True, True, False])
    """
    source = label_source_of_rows(sensitive_features, n_rows)
    if len(source.columns) > 1:
        read_groups(source)  # says that one attribute is expected
    (groups,) = read_attributes(source, weights, several=False)
    return groups.in_a, groups.known


def label_source_of_rows(sensitive_features: Any, n_rows: int) -> Source:
    """Return protected attributes given as an array, one column each."""
    columns, names = passed_columns(sensitive_features, "sensitive_features")
    for column in columns:
        check_lengths(n_rows, sensitive_features=column)
    return Source("sensitive_features", columns, (), names)


def read_target(y: Any, argument: str = "y") -> Floats:
    """Return a target as one finite float a row.

    Examples
    --------
    >>> read_target([1, 2]).tolist()
    [1.0, 2.0]
    """
    if y is None and argument == "y":  # scikit-learn's own words
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None."
        )
    if y is None:
        raise ValueError(f"{argument} is None: one number a row is expected.")
    values = _one_column(y, argument)
    if not len(values):
        raise ValueError(f"{argument} is empty: at least one row is expected.")
    _refuse_infinite(values, (), argument)
    return values


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
    weights = _one_column(sample_weight, "sample_weight", warn=False)
    _refuse_infinite(weights, (), "sample_weight")
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


def _one_column(values: Any, argument: str, warn: bool = True) -> Floats:
    if issparse(values):
        raise TypeError(f"{argument} is sparse: dense data is required.")
    shape = values_shape(values)
    if len(shape) == 1:
        (column,) = as_columns(values, argument)
    elif warn:
        # scikit-learn's words for (N, 1), which it accepts, and for all else.
        column = column_or_1d(np.asarray(values), warn=True)
    else:
        raise ValueError(f"{argument} must be 1D, got shape {shape}.")
    return np.ascontiguousarray(column_numbers(column, argument))


def _refuse_infinite(values: Floats, names: Sequence[str], argument: str = "X") -> None:
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
        more = f" and {len(bad) - 5} more columns" if len(bad) > 5 else ""
        raise ValueError(
            f"{argument} must be finite, but has {'; '.join(bad[:5])}{more}. "
            "Drop or impute these rows."
        )


def _describe_bad(column: Floats, name: str) -> str:
    nan, infinite = int(np.isnan(column).sum()), int(np.isinf(column).sum())
    counts = [f"{n} {what}" for n, what in ((nan, "NaN"), (infinite, "inf")) if n]
    where = f" in column {shown(name)}" if name else ""
    return f"{' and '.join(counts)}{where}"


def _refuse_target(X: Floats, y: Floats, names: Sequence[str]) -> None:
    """Raise if a column of X is the target itself; a glance at eight rows first."""
    if len(y) <= TOY_ROWS:
        return  # a few rows may be equal by chance
    for j in np.flatnonzero((X[:8] == y[:8, None]).all(axis=0)).tolist():
        if np.array_equal(X[:, j], y) and (y != y[0]).any():
            raise ValueError(
                f"column {shown(names[j])} of X equals y in all {len(y)} rows: the "
                "target is among the features. Leave it out of X."
            )


def check_lengths(n_rows: int, **columns: Any) -> None:
    """Raise if a column has not one value for each row of X.

    Examples
    --------
    >>> check_lengths(2, y=[1.0, 2.0], sample_weight=None)
    """
    for argument, column in columns.items():
        if column is not None and len(column) != n_rows:
            raise ValueError(
                f"Found inconsistent numbers of samples: {argument} has {len(column)} "
                f"values, but there are {n_rows} rows."
            )


@dataclass(frozen=True)
class Named:
    """Columns of rows that are not in memory."""

    names: tuple[str, ...]


def feature_record(X: Any) -> dict[str, Any]:
    """Return scikit-learn's ``n_features_in_`` and, for frames, ``feature_names_in_``.

    Examples
    --------
    >>> feature_record([[1.0, 2.0]])
    {'n_features_in_': 2}
    """
    if isinstance(X, Named):
        names = np.array(X.names, dtype=object)
        return {"n_features_in_": len(names), "feature_names_in_": names}
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True)
    return dict(vars(probe))
