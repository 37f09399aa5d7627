"""The door: what users pass becomes plain, checked arrays, or a sentence says why not.

Everything is checked here, once; inside, the arrays are trusted.  A row of weight zero
counts as absent: it is checked like the others and then left out, with its task if no
other row is of that task.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from rankfair._frames import (
    ArrayTable,
    Codes,
    Column,
    Floats,
    FrameTable,
    Table,
    as_columns,
    column_numbers,
    encode,
    find_labels,
    listed,
    open_table,
    shown,
    values_shape,
)

Bools: TypeAlias = NDArray[np.bool_]

# Arrays this small are toys: scikit-learn's own checks fit y = X[:, 0] on ten rows.
TOY_ROWS = 10
MOST_GROUPS = 50  # more look like numbers, and each is a demand of its own


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
    if not refs or not all(map(_is_reference, refs)):
        raise ValueError(
            f"{argument} in the constructor names columns of X (a name, a position, or "
            f"a list of them); got {_repr(wanted)}. "
            f"Labels of the rows go to fit(X, y, {argument}=...)."
        )
    found = tuple(_position(argument, ref, table) for ref in refs)
    if len(set(found)) < len(found):
        raise ValueError(f"{argument} names a column twice: {listed(refs)}.")
    return found


def _is_reference(ref: Any) -> bool:
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
    group_column : int or None
        The predictor that is read as 0/1, where the protected attribute is one; three
        or more groups are read as a column for each but the first, after the others.
    groups : ndarray or None
        The labels of groups B and A, or of all groups.
    """

    predictors: tuple[int, ...]
    names: tuple[str, ...]
    task_columns: tuple[int, ...] | None
    tasks: NDArray[Any]
    group_column: int | None
    groups: NDArray[Any] | None


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
    groups : ndarray of shape (N,), places in ``layout.groups``, or None if there are
        not more than two
    """

    X: Floats
    y: Floats
    codes: Codes
    in_a: Bools | None
    weights: Floats | None
    layout: Layout
    groups: Codes | None = None


@dataclass(frozen=True)
class Columns:
    """Columns of X named in the constructor of an estimator."""

    tasks: Any = None
    sensitive_features: Any = None
    blind: bool = False
    several: bool = False  # whether there may be more than two groups


@dataclass(frozen=True)
class Source:
    """Where labels come from: columns of X (``at``) or an array passed to fit."""

    argument: str
    columns: list[Column]
    at: tuple[int, ...]

    def labels(self) -> tuple[Codes, NDArray[Any]]:
        """Return codes and sorted labels."""
        return find_labels(self.columns, self.argument)


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
    groups = None
    if group_source is not None:
        groups = read_groups(group_source, weights, named.several)
    codes, layout = _lay_out(table, task_source, group_source, groups, named.blind)
    predictors = _read_predictors(table, layout, groups)
    _refuse_target(predictors, target, layout.names)
    in_a = None if groups is None else groups.in_a
    of = None if groups is None or len(groups.labels) == 2 else groups.codes
    rows = Rows(predictors, target, codes, in_a, weights, layout, of)
    return rows if weights is None or weights.all() else _weighted(rows, weights > 0)


def label_source(argument: str, named: Any, passed: Any, table: Table) -> Source | None:
    if named is None and passed is None:
        return None
    if named is None:
        columns = as_columns(passed, argument)
        check_lengths(table.shape[0], **{argument: columns[0]})
        return Source(argument, columns, ())
    at = resolve_columns(argument, named, table)
    names = listed([column_name(table, j) for j in at])
    if passed is not None:
        raise ValueError(
            f"{argument} was given twice: in the constructor (column {names} of X) and "
            "as an array to the method. Give one of them."
        )
    columns = [table.column(j) for j in at]
    return Source(f"{argument} (column {names} of X)", columns, at)


def _lay_out(
    table: Table,
    tasks: Source | None,
    group: Source | None,
    groups: Groups | None,
    blind: bool,
) -> tuple[Codes, Layout]:
    """Return the task of each row and what each column of X is for."""
    if tasks is None:
        codes, labels = np.zeros(table.shape[0], np.intp), np.zeros(1, np.intp)
    else:
        codes, labels = tasks.labels()
    group_at = group.at if group is not None else ()
    apart = {*(tasks.at if tasks is not None else ()), *(group_at if blind else ())}
    predictors = tuple(j for j in range(table.shape[1]) if j not in apart)
    if not predictors:
        raise ValueError(
            "X has no predictor left: every column names tasks or the protected group."
        )
    names = tuple(column_name(table, j) for j in predictors)
    own = next((j for j in group_at if j in predictors), None)
    if own is not None and groups is not None and len(groups.labels) > 2:
        own_name = column_name(table, own)
        names = tuple(
            name for name, j in zip(names, predictors, strict=True) if j != own
        )
        names += tuple(f"{own_name}={label}" for label in groups.labels.tolist()[1:])
    return codes, Layout(
        predictors=predictors,
        names=names,
        task_columns=None if tasks is None else tasks.at,
        tasks=labels,
        group_column=own,
        groups=None if groups is None else groups.labels,
    )


def _weighted(rows: Rows, keep: Bools) -> Rows:
    """Leave out the rows of weight zero, and tasks that no other row has."""
    codes, present = find_labels([rows.codes[keep]], "tasks")
    return Rows(
        rows.X[keep],
        rows.y[keep],
        codes,
        None if rows.in_a is None else rows.in_a[keep],
        None if rows.weights is None else rows.weights[keep],
        replace(rows.layout, tasks=rows.layout.tasks[present]),
        None if rows.groups is None else rows.groups[keep],
    )


def _read_predictors(table: Table, layout: Layout, groups: Groups | None) -> Floats:
    """Return the predictors as numbers; the protected one as indicators of groups."""
    if layout.group_column is None or groups is None or _is_coded(table, groups):
        X = table.numbers(layout.predictors)
    else:
        others = [j for j in layout.predictors if j != layout.group_column]
        place = layout.predictors.index(layout.group_column)
        X = table.numbers(others)
        if len(groups.labels) == 2:
            X = np.insert(X, place, groups.in_a, axis=1)
        else:
            X = np.ascontiguousarray(np.hstack((X, groups.indicators())))
    _refuse_infinite(X, layout.names)
    return X


def _is_coded(table: Table, groups: Groups) -> bool:
    """Tell whether the protected column holds 0 for B and 1 for A already."""
    plain = isinstance(table, ArrayTable) and table.values.dtype.kind in "biuf"
    return plain and groups.labels.tolist() == [0, 1]


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
    groups = _known_groups(table, layout)
    return _read_predictors(table, layout, groups), codes, others


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


def _known_groups(table: Table, layout: Layout) -> Groups | None:
    if layout.group_column is None or layout.groups is None:
        return None
    name = shown(column_name(table, layout.group_column))
    argument = f"sensitive_features (column {name} of X)"
    column = table.column(layout.group_column)
    codes, others = encode([column], layout.groups, argument)
    refuse_retyped(argument, others, layout.groups)
    if others:
        raise ValueError(
            f"{argument} has groups not seen in training: {listed(others)}; "
            f"training had {listed(layout.groups.tolist())}."
        )
    return Groups(codes, layout.groups)


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


@dataclass(frozen=True)
class Groups:
    """The group of each row as a place in the sorted labels."""

    codes: Codes
    labels: NDArray[Any]

    @property
    def in_a(self) -> Bools:
        """Which rows are in the group whose label sorts last."""
        found: Bools = self.codes == len(self.labels) - 1
        return found

    def indicators(self) -> Floats:
        """A column of 0 and 1 for each group but the first."""
        later = np.arange(1, len(self.labels))
        found: Floats = (self.codes[:, None] == later).astype(np.float64)
        return found


def read_groups(
    source: Source, weights: Floats | None = None, several: bool = False
) -> Groups:
    """Return the groups, two unless there may be several; A is the last one.

    Examples
    --------
    >>> import numpy as np
    >>> source = Source("sensitive_features", [np.array(["M", "F", "M"])], ())
    >>> read_groups(source).in_a.tolist()
    [True, False, True]
    """
    argument = source.argument
    if len(source.columns) > 1:
        raise ValueError(
            f"{argument} has {len(source.columns)} columns: one protected attribute is "
            "expected. Support for several is planned."
        )
    codes, labels = source.labels()
    if len(labels) == 1:
        raise ValueError(
            f"{argument} has one group only ({shown(labels.tolist()[0])}, {len(codes)} "
            "rows): there is nothing to balance"
        )
    if len(labels) > 2 and not several:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels.tolist())}): two are "
            "expected. Compare one with the rest, or two of them."
        )
    if len(labels) > MOST_GROUPS:
        raise ValueError(
            f"{argument} has {len(labels)} groups ({listed(labels.tolist())}): at most "
            f"{MOST_GROUPS} are expected. Is it a number? Cut it into a few bins."
        )
    if weights is not None:
        _refuse_weightless(codes, labels, weights, argument)
    return Groups(codes, labels)


def _refuse_weightless(
    codes: Codes, labels: NDArray[Any], weights: Floats, argument: str
) -> None:
    total = np.bincount(codes, weights, len(labels))
    for g in np.flatnonzero(total == 0).tolist():
        raise ValueError(
            f"sample_weight is zero for all {int((codes == g).sum())} rows of group "
            f"{shown(labels.tolist()[g])} in {argument}: there is nothing to balance"
        )


def group_mask(sensitive_features: Any, n_rows: int, weights: Floats | None) -> Bools:
    """Return which rows are in group A, from labels given as an array.

    Examples
    --------
    >>> group_mask([0, 1, 1], 3, None).tolist()
    [False, True, True]
    """
    columns = as_columns(sensitive_features, "sensitive_features")
    check_lengths(n_rows, sensitive_features=columns[0])
    return read_groups(Source("sensitive_features", columns, ()), weights).in_a


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


def feature_record(X: Any) -> dict[str, Any]:
    """Return scikit-learn's ``n_features_in_`` and, for frames, ``feature_names_in_``.

    Examples
    --------
    >>> feature_record([[1.0, 2.0]])
    {'n_features_in_': 2}
    """
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True)
    return dict(vars(probe))
