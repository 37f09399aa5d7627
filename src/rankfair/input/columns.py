"""Columns of X: names to positions, their roles, and the predictors."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

from rankfair.input.arrays import Codes, Column, Floats
from rankfair.input.errors import counted, listed, shown
from rankfair.input.frames import FrameTable, Table, column_numbers, open_table
from rankfair.input.groups import (
    Bools,
    SensitiveGroups,
    Source,
    passed_columns,
    read_attributes,
    read_groups,
)
from rankfair.input.settings import as_given, check_lengths, nearest


@dataclass(frozen=True)
class GroupEncoder:
    """How a protected column of X becomes predictors.

    Two groups are 0 and 1, of more each but the first is a column of 0 and 1, and a
    number that was cut for the constraint is itself.  What is not known is ``fill``:
    the share of each group, or the mean.
    """

    column: int
    name: str
    labels: NDArray[Any] | None  # None for a number
    fill: Floats

    @property
    def apart(self) -> bool:
        """Whether it is several columns, which stand after all others."""
        return len(self.fill) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors."""
        if self.labels is None or not self.apart:
            return (self.name,)
        return tuple(f"{self.name}={label}" for label in self.labels.tolist()[1:])

    def columns_of(self, codes: Codes) -> Floats:
        """Return the predictors of rows of these groups: a row each."""
        assert self.labels is not None
        later = np.arange(1, len(self.labels))
        found: Floats = (codes[:, None] == later).astype(np.float64)
        unknown = codes < 0
        if unknown.any():
            found[unknown] = self.fill
        return found

    def filled(self, numbers: Floats) -> Floats:
        """Return the numbers, the mean for those that are missing."""
        missing = np.isnan(numbers)
        return np.where(missing, self.fill[0], numbers) if missing.any() else numbers


def encoder_of(
    groups: SensitiveGroups, column: int, values: Column, weights: Floats | None
) -> GroupEncoder:
    """Return how this column of X is read, from the rows of training.

    Examples
    --------
    >>> groups = SensitiveGroups(np.array([0, 1, 1, -1]), np.array(["F", "M"]), "sex")
    >>> encoder_of(groups, 0, np.array([*"FMM", None]), None).fill.round(3).tolist()
    [0.667]
    """
    if groups.edges is None:
        sizes = groups.sizes(weights)
        fill = sizes[1:] / sizes.sum()
        return GroupEncoder(column, groups.name, groups.labels, fill)
    numbers = column_numbers(values, groups.name)
    known = ~np.isnan(numbers)
    w = None if weights is None else weights[known]
    mean = np.average(numbers[known], weights=w)
    return GroupEncoder(column, groups.name, None, np.array([mean]))


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
    unused : tuple of int
        Columns of training that predictions do not need.
    """

    predictors: tuple[int, ...]
    names: tuple[str, ...]
    task_columns: tuple[int, ...] | None
    tasks: NDArray[Any]
    protected: tuple[GroupEncoder, ...]
    groups: NDArray[Any] | None
    unused: tuple[int, ...] = ()

    @property
    def group_column(self) -> int | None:
        """The predictor that is the protected attribute, where there is one."""
        return self.protected[0].column if self.protected else None


@dataclass(frozen=True)
class TrainingRows:
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
    kept : ndarray of bool, or None if all rows that were given weigh something
    """

    X: Floats
    y: Floats
    codes: Codes
    in_a: Bools | None
    weights: Floats | None
    layout: Layout
    groups: Codes | None = None
    attributes: tuple[SensitiveGroups, ...] = ()
    notes: tuple[str, ...] = ()
    edges: tuple[tuple[str, Floats], ...] = ()
    kept: Bools | None = None

    @property
    def group_predictors(self) -> tuple[int, ...]:
        """The columns of X here that hold the group."""
        own, names = {each.column for each in self.layout.protected}, self.layout.names
        behind = {each.column for each in self.layout.protected if each.apart}
        plain = [j for j in self.layout.predictors if j not in behind]
        return (
            *(i for i, j in enumerate(plain) if j in own),
            *range(len(plain), len(names)),
        )


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


def is_pair(attributes: Sequence[SensitiveGroups]) -> bool:
    """Tell whether these are but two groups, known for all rows, or none at all."""
    return len(attributes) < 2 and all(
        len(each.labels) == 2 and each.known is None for each in attributes
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
    try:
        validate_data(probe, X, skip_check_array=True)
    except DuplicateError as error:  # since scikit-learn 1.9
        every = [str(name) for name in X.columns]
        again = [name for name in dict.fromkeys(every) if every.count(name) > 1]
        raise ValueError(
            f"X has several columns called {listed(again)}: give each a name of its "
            "own, or pass X as an array."
        ) from error
    return dict(vars(probe))


def resolve_columns(argument: str, wanted: Any, table: Table) -> tuple[int, ...]:
    """Return positions of the columns that ``wanted`` names: one or several.

    Text is a name, an integer is a position (negative ones count from the end).

    Examples
    --------
    >>> from rankfair.input.frames import open_table
    >>> resolve_columns("tasks", [0, -1], open_table([[1.0, 2.0, 3.0]]))
    (0, 2)
    """
    several = isinstance(wanted, list | tuple)
    refs = list(wanted) if several else [wanted]
    if not refs or not all(map(is_reference, refs)):
        raise ValueError(
            f"{argument} in the constructor names columns of X (a name, a position, or "
            f"a list of them); got {as_given(wanted)}. "
            f"Labels of the rows go to fit(X, y, {argument}=...)."
        )
    found = tuple(_position(argument, ref, table) for ref in refs)
    if len(set(found)) < len(found):
        raise ValueError(
            f"{argument} names a column twice: {listed(refs)}. Name each once."
        )
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
            f"{argument}={ref} is no column of X, which has "
            f"{counted(n_columns, 'column')} (0 to {n_columns - 1})."
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
        raise ValueError(
            f"{argument}={shown(name)} names {count} columns of X: give a position, or "
            "rename them."
        )
    hint = nearest(name, table.names) or f" It has {listed(table.names)}."
    raise ValueError(f"{argument}={shown(name)} is no column of X.{hint}")


def column_name(table: Table, j: int) -> str:
    """Return the name of column ``j`` as text; ``x3`` where X has no names."""
    return f"x{j}" if table.names is None else str(table.names[j])


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
    """Return where labels come from: columns of X, or an array; None for neither."""
    if named is None and passed is None:
        return None
    if named is None:
        return label_source_of_rows(passed, table.shape[0], argument)
    at = resolve_columns(argument, named, table)
    names = tuple(column_name(table, j) for j in at)
    if passed is not None:
        raise ValueError(
            f"{argument} was given twice: in the constructor (column {listed(names)} "
            "of X) and as an array to the method. Give one of them."
        )
    columns = [table.column(j) for j in at]
    return Source(f"{argument} (column {listed(names)} of X)", columns, at, names)


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


def label_source_of_rows(
    labels: Any, n_rows: int, argument: str = "sensitive_features"
) -> Source:
    """Return labels given as an array, one column for each attribute."""
    columns, names = passed_columns(labels, argument)
    for column in columns:
        check_lengths(n_rows, **{argument: column})
    return Source(argument, columns, (), names)


def label_source_of(argument: str, given: Any, model: Any, X: Any) -> Source | None:
    """Return labels given as an array, or as a column of X; else those of the model.

    Its attribute of the name of the argument says which columns of X are meant if none
    were given.  None where neither says anything.

    Examples
    --------
    >>> source = label_source_of("tasks", 1, None, [[0.5, 7.0], [0.1, 8.0]])
    >>> source.columns[0].tolist()
    [7.0, 8.0]
    """
    named = given if is_reference(given) else None
    if given is None:
        named = getattr(model, argument, None)
    passed = given if named is None else None
    return label_source(argument, named, passed, open_table(X))


def reader_of(model: Any, name: str) -> Any:
    """Return who reads labels that ``model.predict`` is given by name, None if nobody.

    Of a pipeline it is the last step.  With metadata routing enabled a step gets only
    what it asked for.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> reader_of(make_pipeline(Ridge()), "sensitive_features") is None
    True
    """
    if not isinstance(model, Pipeline):
        takes = inspect.signature(model.predict).parameters
        return model if name in takes else None
    last = model.steps[-1][1]
    reader = reader_of(last, name)
    if reader is not last or not get_config()["enable_metadata_routing"]:
        return reader
    asked = last.get_metadata_routing().consumes("predict", [name])
    return reader if name in asked else None


def naming(model: Any, X: Any, name: str) -> tuple[Any, Any]:
    """Return the fitted model that names columns of X by an argument, and its X.

    It may be inside others: pipelines, whose other steps make its X, searches,
    transformed targets, and those of ours that have an ``_inside``.  The model and X
    themselves if none names any.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from rankfair import MultiTaskRegressor
    >>> X, y = [[2.0, 5], [4.0, 5], [6.0, 10], [8.0, 10]], [0.0, 1.0, 3.0, 4.0]
    >>> model = make_pipeline(MaxAbsScaler(), MultiTaskRegressor(tasks=1)).fit(X, y)
    >>> naming(model, X, "tasks")[1][:, 1].tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    part: tuple[Any, Any] | None = model, X
    while part is not None:
        if getattr(part[0], name, None) is not None:
            return part
        part = _inside(*part)
    return model, X


def _inside(model: Any, X: Any) -> tuple[Any, Any] | None:
    """The model inside a fitted one, and the X that it sees; None if there is none."""
    if isinstance(model, Pipeline):
        steps = model[:-1]
        return model.steps[-1][1], steps.transform(X) if len(steps) else X
    if isinstance(model, TransformedTargetRegressor):
        return model.regressor_, X
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_, X
    own = getattr(model, "_inside", None)
    found: tuple[Any, Any] | None = None if own is None else own(X)
    return found
