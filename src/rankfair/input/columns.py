"""Columns of X: names to positions, what each is for, and where labels come from."""

from __future__ import annotations

import inspect
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
from rankfair.input.errors import (
    CUT,
    Argument,
    InputError,
    Words,
    as_given,
    counted,
    listed,
    nearest,
    shown,
)
from rankfair.input.frames import (
    FrameTable,
    Table,
    as_columns,
    check_lengths,
    open_table,
)
from rankfair.input.labels import Source

GROUPS = "sensitive_features"


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
class Columns:
    """Columns of X named in the constructor of an estimator, and how groups are read.

    ``several``: there may be more than two groups, several attributes, and rows of
    unknown group.  ``bins`` and ``intersect`` are for such estimators only, and
    ``cure`` is what to do about too many numbers.
    """

    tasks: Any = None
    sensitive_features: Any = None
    blind: bool = False
    several: bool = False
    bins: int | None = None
    intersect: bool = False
    cure: Words = CUT


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
        raise InputError(
            "X",
            f"has several columns called {listed(again)}",
            cure="Give each a name of its own, or pass X as an array.",
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
        raise InputError(
            argument,
            "in the constructor names columns of X (a name, a position, or a list of "
            "them)",
            as_given(wanted),
            f"Labels of the rows go to fit(X, y, {argument}=...).",
        )
    found = tuple(_position(Argument(argument, ref), table) for ref in refs)
    if len(set(found)) < len(found):
        expected = f"names a column twice: {listed(refs)}"
        raise InputError(argument, expected, cure="Name each once.")
    return found


def is_reference(ref: Any) -> bool:
    """Tell whether this can name a column: text or a position."""
    return isinstance(ref, str | Integral) and not isinstance(ref, bool)


def _position(argument: Argument, table: Table) -> int:
    """Return the position of the column that an argument names."""
    ref, n = argument.value, table.shape[1]
    if not isinstance(ref, str):
        if -n <= int(ref) < n:
            return int(ref) % n
        cure = f"It has {counted(n, 'column')} (0 to {n - 1})."
        raise InputError(argument, "is no column of X", cure=cure)
    if not isinstance(table, FrameTable):
        raise InputError(
            argument,
            "names a column, but X is an array without column names",
            cure="Give a position, or pass a data frame: a ColumnTransformer makes one "
            'after set_output(transform="pandas").',
        )
    names = [str(name) for name in table.names]
    if ref not in table.names:  # a ColumnTransformer puts its step and __ in front
        names = [name.rpartition("__")[2] for name in names]
    count = names.count(ref)
    if count > 1:
        expected = f"names {count} columns of X"
        raise InputError(argument, expected, cure="Give a position, or rename them.")
    if not count:
        raise InputError(argument, "is no column of X", cure=_hint(ref, table.names))
    return names.index(ref)


def _hint(ref: str, names: tuple[Any, ...]) -> str:
    """What may have become of a column that is not there."""
    own = [str(it) for it in names if str(it).rpartition("__")[2].startswith(f"{ref}_")]
    if own and any("__" in str(name) for name in names):
        return (
            f"It has {listed(own)}: let the ColumnTransformer pass {shown(ref)} "
            'through as it is, with set_output(transform="pandas") and '
            "verbose_feature_names_out=False."
        )
    return nearest(ref, names) or f"It has {listed(names)}."


def column_name(table: Table, j: int) -> str:
    """Return the name of column ``j`` as text; ``x3`` where X has no names."""
    return f"x{j}" if table.names is None else str(table.names[j])


def refuse_same_columns(tasks: Source | None, groups: Source | None) -> None:
    """Raise if the tasks are the groups: no task would have two of them."""
    if tasks is None or groups is None or not tasks.at:
        return
    if set(tasks.at) <= set(groups.at):
        column = f"column {listed(tasks.names)}"
        raise InputError(
            "tasks",
            (
                "and ",
                Argument(GROUPS),
                f" both name {column}: each group would be a task of its own",
            ),
            cure="Name other tasks, or leave them out.",
        )


def passed_columns(passed: Any, argument: str) -> tuple[list[Column], tuple[str, ...]]:
    """Return columns given as an array, a series, a frame or a dict, and their names.

    A column without a name is called group, several are group 1, group 2 and so on.

    Examples
    --------
    >>> passed_columns({"sex": [0, 1], "age": [30, 40]}, "sensitive_features")[1]
    ('sex', 'age')
    """
    if not isinstance(passed, dict):
        columns = as_columns(passed, argument)
        names = [getattr(column, "name", None) for column in columns]
        rest = [f"group {j + 1}" if names[1:] else "group" for j in range(len(names))]
        return columns, tuple(
            other if name in (None, "") else str(name)
            for name, other in zip(names, rest, strict=True)
        )
    if not passed:
        raise InputError(argument, "is an empty dict: at least one column is expected")
    columns = []
    for name, values in passed.items():
        place = f"{argument} ({shown(name)})"
        made = getattr(values, "is_groups", False) is True
        found = [values] if made else as_columns(values, place)
        if len(found) > 1:
            expected = f"has {len(found)} columns: one is expected for each name"
            raise InputError(place, expected)
        columns += found
    return columns, tuple(map(str, passed))


def labels_of_rows(labels: Any, n_rows: int, argument: str = GROUPS) -> Source:
    """Return labels given as an array, a column for each feature."""
    columns, names = passed_columns(labels, argument)
    source = Source(argument, columns, (), names)
    for part in source.parts():
        check_lengths(n_rows, **{part.argument: part.columns[0]})
    return source


def label_source(argument: str, named: Any, passed: Any, table: Table) -> Source | None:
    """Return where labels come from: columns of X, or an array; None for neither."""
    if named is None:
        if passed is None:
            return None
        return labels_of_rows(passed, table.shape[0], argument)
    at = resolve_columns(argument, named, table)
    names = tuple(column_name(table, j) for j in at)
    place = f"column {listed(names)}"
    if passed is not None:
        raise InputError(
            argument,
            f"was given twice: in the constructor ({place} of X) and as an array to "
            "the method",
            cure="Give one of them.",
        )
    columns = [table.column(j) for j in at]
    return Source(f"{argument} ({place})", columns, at, names)


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


def refuse_several(source: Source, cure: Words) -> None:
    """Refuse more than one sensitive feature."""
    if len(source.columns) > 1:
        expected = f"has {len(source.columns)} columns: one feature is expected"
        raise InputError(source.argument, expected, cure=cure)


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
