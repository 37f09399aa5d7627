"""Rows to fit and new rows: targets, weights, tasks and groups, checked once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import validate_data

from rankfair.input.arrays import Bools, Codes, Column, Floats
from rankfair.input.errors import Argument, InputError, listed, shown
from rankfair.input.frames import (
    InputTable,
    column_numbers,
    find_labels,
    known_codes,
    open_table,
    read_target,
    read_weights,
    recode,
    refuse_infinite,
    refuse_unseen,
)
from rankfair.input.groups import (
    GROUPS,
    SensitiveGroups,
    Source,
    label_source,
    read_balanced,
    refuse_more_than_two,
    refuse_same_columns,
    refuse_several,
)

# Arrays this small are toys: scikit-learn's own checks fit y = X[:, 0] on ten rows.
TOY_ROWS = 10
SHARED = (
    "Fit with rows of these tasks, or set ",
    *(Argument("penalty", "pool"), ", ", Argument("unseen", "shared"), "."),
)


# Columns


@dataclass(frozen=True)
class GroupEncoder:
    """How a sensitive column of X becomes predictors.

    Two groups are 0 and 1, of more each but the first is a column of 0 and 1, and a
    number that was cut for the constraint is itself.  What is not known is ``fill``:
    the share of each group, or the mean.
    """

    column: int
    name: str
    labels: NDArray[Any] | None  # None for a number
    fill: Floats

    @classmethod
    def of(
        cls,
        groups: SensitiveGroups,
        column: int,
        values: Column,
        weights: Floats | None,
    ) -> GroupEncoder:
        """Return how this column of X is read, from the rows of training."""
        if groups.edges is None:
            sizes = groups.sizes(weights)
            return cls(column, groups.name, groups.labels, sizes[1:] / sizes.sum())
        numbers = column_numbers(values, groups.name)
        known = ~np.isnan(numbers)
        mass = None if weights is None else weights[known]
        mean = np.average(numbers[known], weights=mass)
        return cls(column, groups.name, None, np.array([mean]))

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

    def columns_of(self, values: NDArray[Any]) -> Floats:
        """Return the predictors of rows of these groups, or numbers: a row each."""
        if self.labels is None:
            found, unknown = values[:, None], np.isnan(values)
        else:
            later = np.arange(1, len(self.labels))
            found, unknown = (values[:, None] == later).astype(np.float64), values < 0
        return np.where(unknown[:, None], self.fill, found)


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
    protected : tuple of GroupEncoder
        How sensitive columns among the predictors are read: two groups as 0/1, three
        or more as a column for each but the first, after the others.
    groups : ndarray or None
        The labels of groups B and A, or of all groups; of the first feature, where
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
    def plain(self) -> tuple[int, ...]:
        """Predictors that are one column each; those of several groups come behind."""
        behind = {each.column for each in self.protected if each.apart}
        return tuple(j for j in self.predictors if j not in behind)


@dataclass(frozen=True)
class Columns:
    """Columns of X named in the constructor of an estimator, and how groups are read.

    ``several``: there may be more than two groups, several sensitive features, and
    rows of unknown group.  ``bins`` and ``intersect`` are for such estimators only.
    """

    tasks: Any = None
    sensitive_features: Any = None
    blind: bool = False
    several: bool = False
    bins: int | None = None
    intersect: bool = False


@dataclass(frozen=True)
class Named:
    """Columns of rows that are not in memory."""

    columns: tuple[str, ...]


def feature_record(X: Any) -> dict[str, Any]:
    """Return scikit-learn's ``n_features_in_`` and, for frames, ``feature_names_in_``.

    Examples
    --------
    >>> feature_record([[1.0, 2.0]])
    {'n_features_in_': 2}
    """
    if names := text_names(X):
        named = np.array(names, dtype=object)
        return {"n_features_in_": len(names), "feature_names_in_": named}
    probe = BaseEstimator()
    validate_data(probe, X, skip_check_array=True)
    return dict(vars(probe))


def text_names(X: Any) -> list[str]:
    """Return the names of the columns of a frame; none if some are no text.

    Scikit-learn below 1.9 asks frames that are not of pandas for them in a way that
    polars is about to drop.

    Examples
    --------
    >>> text_names(Named(("a", "b"))), text_names([[1.0]])
    (['a', 'b'], [])
    """
    names = [*getattr(nw.from_native(X, pass_through=True), "columns", ())]
    return names if all(isinstance(name, str) for name in names) else []


def refuse_other_names(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise, in the words of scikit-learn, if new rows have other columns."""
    if [*names] == [*known]:
        return
    found = "The feature names should match those that were passed during fit.\n"
    others = {
        "unseen at fit time": sorted({*names} - {*known}),
        "seen at fit time, yet now missing": sorted({*known} - {*names}),
    }
    for what, those in others.items():
        if those:
            lines = [*those[:5], "..."] if len(those) > 5 else those
            found += "\n- ".join([f"Feature names {what}:", *lines]) + "\n"
    if not any(others.values()):
        found += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(found)


# Rows to fit


@dataclass(frozen=True)
class TrainingRows:
    """Checked training rows.  They may share memory with the user's arrays: read only.

    Attributes
    ----------
    X : ndarray or CSR array of shape (N, n), float64, C-ordered, or what another
        estimator sees
    y : ndarray of shape (N,), float64
    codes : ndarray of shape (N,), places in ``layout.tasks``
    weights : positive ndarray of shape (N,), or None if all weigh one
    layout : Layout
    attributes : tuple of SensitiveGroups
        The groups of each sensitive feature, to be balanced at once.
    edges : tuple of (str, ndarray)
        Names of features that were cut into bins, and where.
    kept : ndarray of bool, or None if all rows that were given weigh something
    """

    X: Any
    y: Floats
    codes: Codes
    weights: Floats | None
    layout: Layout
    attributes: tuple[SensitiveGroups, ...] = ()
    edges: tuple[tuple[str, Floats], ...] = ()
    kept: Bools | None = None

    @cached_property
    def in_a(self) -> Bools | None:
        """Which rows are in group A of the first feature; None if there is none."""
        return self.attributes[0].in_a if self.attributes else None

    @property
    def group_predictors(self) -> tuple[int, ...]:
        """The columns of X here that hold the group."""
        plain = self.layout.plain
        own = {each.column for each in self.layout.protected}
        behind = range(len(plain), len(self.layout.names))
        return *(i for i, j in enumerate(plain) if j in own), *behind

    @cached_property
    def _by_column(self) -> Any:
        return self.X.tocsc() if issparse(self.X) else self.X

    def predictor(self, j: int) -> Floats:
        """Return a predictor of all rows."""
        if issparse(self.X):
            found: Floats = self._by_column[:, [j]].toarray().ravel()
        else:
            found = self.X[:, j]
        return found

    def that_weigh(self) -> TrainingRows:
        """Leave out the rows of weight zero, and tasks that no other row has."""
        if self.weights is None or self.weights.all():
            return self
        keep = self.weights > 0
        codes, present = find_labels([self.codes[keep]], "tasks")
        return replace(
            self,
            X=_safe_indexing(self.X, np.flatnonzero(keep)),
            y=self.y[keep],
            codes=codes,
            weights=self.weights[keep],
            layout=replace(self.layout, tasks=self.layout.tasks[present]),
            attributes=tuple(each.take(keep) for each in self.attributes),
            kept=keep,
        )


def is_pair(attributes: Sequence[SensitiveGroups]) -> bool:
    """Tell whether these are but two groups, known for all rows, or none at all."""
    return len(attributes) < 2 and all(
        len(each.labels) == 2 and each.known is None for each in attributes
    )


def read_training(
    X: Any,
    y: Any,
    named: Columns,
    *,
    tasks: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    seen: Callable[[Any, InputTable, Layout], Any] | None = None,
    every_row: bool = False,
) -> TrainingRows:
    """Check what was passed to ``fit`` and return it as plain arrays.

    With ``seen`` X is what that makes of it, for another estimator.  With ``every_row``
    rows of weight zero are there too.

    Examples
    --------
    >>> rows = read_training([[1.0, 0], [2.0, 1]], [3.0, 5.0], Columns(tasks=1))
    >>> rows.X.tolist(), rows.codes.tolist(), rows.layout.names
    ([[1.0], [2.0]], [0, 1], ('x0',))
    """
    table = open_table(X)
    feature_record(X)  # what could not be stored is not fitted either
    n_rows = table.shape[0]
    target, weights = read_target(y, n_rows=n_rows), read_weights(sample_weight, n_rows)
    of_tasks = label_source("tasks", named.tasks, tasks, table)
    source = label_source(GROUPS, named.sensitive_features, sensitive_features, table)
    refuse_same_columns(of_tasks, source)
    codes, labels = np.zeros(n_rows, np.intp), np.zeros(1, np.intp)
    if of_tasks is not None:
        codes, labels = of_tasks.labels()
    features, balanced = _read_features(source, weights, named)
    layout = Layout(
        predictors=_predictors(table, of_tasks, source, named.blind),
        names=(),
        task_columns=None if of_tasks is None else of_tasks.at,
        tasks=labels,
        protected=(),
        groups=balanced[0].labels if balanced else None,
        unused=source.at if source is not None and named.blind else (),
    )
    if seen is None:
        at = source.at if source is not None else ()
        groups = dict(zip(at, features, strict=False))  # none if they came as an array
        layout = _encoded(table, layout, groups, weights)
        of_columns = {j: each.codes for j, each in groups.items()}
        predictors = read_predictors(table, layout, of_columns)
        _refuse_target(predictors, target, layout.names)
    else:
        predictors = seen(X, table, layout)
    rows = TrainingRows(
        X=predictors,
        y=target,
        codes=codes,
        weights=weights,
        layout=layout,
        attributes=tuple(balanced),
        edges=tuple((e.name, e.edges) for e in features if e.edges is not None),
    )
    return rows if every_row else rows.that_weigh()


def _read_features(
    source: Source | None, weights: Floats | None, named: Columns
) -> tuple[list[SensitiveGroups], list[SensitiveGroups]]:
    if source is None:
        return [], []
    found, balanced = read_balanced(source, weights, named.bins, named.intersect)
    if not named.several:
        refuse_several(source, "RankFairRegressor balances several at once.")
        refuse_more_than_two(source.argument, balanced[0])
        source.labels()  # every row needs one
    if is_pair(balanced):
        # A byte a row says as much as a code of eight.
        balanced = [replace(each, codes=each.in_a.view(np.int8)) for each in balanced]
    return found, balanced


def _predictors(
    table: InputTable, tasks: Source | None, groups: Source | None, blind: bool
) -> tuple[int, ...]:
    """Return the columns of X to predict from."""
    apart = {*(tasks.at if tasks else ()), *(groups.at if groups and blind else ())}
    found = tuple(j for j in range(table.shape[1]) if j not in apart)
    if not found:
        raise InputError(
            "X",
            "has no predictor left: every column names tasks or the group",
            cure="Add a column to predict from.",
        )
    return found


def _encoded(
    table: InputTable,
    layout: Layout,
    groups: Mapping[int, SensitiveGroups],
    weights: Floats | None,
) -> Layout:
    """Return the layout in which groups, by column of X, become predictors."""
    encoders = tuple(
        GroupEncoder.of(each, j, table.column(j), weights)
        for j, each in groups.items()
        if j in layout.predictors
    )
    layout = replace(layout, protected=encoders)
    names = [table.name(j) for j in layout.plain]
    names += [name for each in encoders if each.apart for name in each.names]
    return replace(layout, names=tuple(names))


def _refuse_target(X: Any, y: Floats, names: Sequence[str]) -> None:
    """Raise if a column of X is the target itself; a glance at eight rows first."""
    if len(y) <= TOY_ROWS:
        return  # a few rows may be equal by chance
    first = X[:8].toarray() if issparse(X) else X[:8]
    for j in np.flatnonzero((first == y[:8, None]).all(axis=0)).tolist():
        column = X[:, [j]].toarray() if issparse(X) else X[:, [j]]
        if np.array_equal(column.ravel(), y) and (y != y[0]).any():
            same = f"equals the target in all {len(y)} rows"
            place = f"X (column {shown(names[j])})"
            raise InputError(place, same, cure="Leave this column out.")


def read_predictors(
    table: InputTable, layout: Layout, of_columns: Mapping[int, Codes]
) -> Any:
    """Return the predictors as numbers; protected ones as indicators of groups.

    ``of_columns`` holds the group of each row by column of X.
    """
    if not layout.protected:
        X = table.numbers(layout.predictors)
    else:
        protected = {each.column for each in layout.protected}
        at = {j: i for i, j in enumerate(layout.plain)}
        own = [j for j in at if j not in protected]
        parts, end = [([at[j] for j in own], table.numbers(own))], len(at)
        for each in layout.protected:
            j, width = each.column, len(each.names)
            numbers = each.labels is None
            known = column_numbers(table.column(j), "X") if numbers else of_columns[j]
            places = [*range(end, end + width)] if each.apart else [at[j]]
            end += width if each.apart else 0
            parts.append((places, each.columns_of(known)))
        if issparse(parts[0][1]):
            order = np.argsort([place for places, _ in parts for place in places])
            X = hstack([values for _, values in parts], "csr")[:, order]
        else:
            X = np.empty((table.shape[0], len(layout.names)))
            for places, values in parts:
                X[:, places] = values
    refuse_infinite(X, layout.names)
    return X


# New rows


def read_new(
    table: InputTable, tasks: Any, layout: Layout
) -> tuple[Floats, Codes, list[Any]]:
    """Return predictors and task codes of new rows, and tasks not seen in training.

    Rows of tasks not seen have code -1.  The caller has checked that the table has the
    columns of training.

    Examples
    --------
    >>> rows = read_training([[1.0, 7], [2.0, 8]], [3.0, 5.0], Columns(tasks=1))
    >>> X, codes, others = read_new(open_table([[4.0, 8], [5.0, 9]]), None, rows.layout)
    >>> codes.tolist(), others
    ([1, -1], [9])
    """
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout.task_columns)
    codes: Codes = np.zeros(table.shape[0], np.intp)
    others: list[Any] = []
    if source is not None:
        codes, others = recode(*source.labels(), layout.tasks, source.argument)
    of_columns = {}
    for each in layout.protected:
        if each.labels is not None:
            argument = f"{GROUPS} (column {shown(each.name)})"
            column = table.column(each.column)
            of_columns[each.column] = known_codes(column, argument, each.labels)
    return read_predictors(table, layout, of_columns), codes, others


def check_same_source(
    source: Source | None,
    trained: tuple[int, ...] | None,
    argument: str = "tasks",
    of_row: str = "task",
) -> None:
    """Refuse labels that training did not have, and their lack where it had some."""
    if source is None and trained is not None:
        raise InputError(
            argument,
            f"is missing: the model was fitted with {argument} as an array, so each "
            f"new row needs its {of_row} as well, predict(X, {argument}=...)",
        )
    if source is not None and trained is None:
        without = f"was passed, but the model was fitted without {argument}"
        cure = f"Fit with {argument}, or leave them out."
        raise InputError(argument, without, cure=cure)


def refuse_unseen_tasks(others: Sequence[Any], codes: Codes, layout: Layout) -> None:
    """Raise if some rows are of a task not seen in training."""
    refuse_unseen("tasks", others, layout.tasks, int((codes < 0).sum()), SHARED)


def has_names(passed: Any) -> bool:
    """Tell whether labels came by name, as a dict or a frame."""
    return isinstance(passed, dict) or hasattr(passed, "columns")


def as_in_training(source: Source, names: tuple[str, ...]) -> Source:
    """Return columns in the order of training; refuse those of other names.

    Examples
    --------
    >>> new = Source("sensitive_features", [np.ones(2), np.zeros(2)], (), ("b", "a"))
    >>> as_in_training(new, ("a", "b")).columns[0].tolist()
    [0.0, 0.0]
    """
    if {*source.names} != {*names}:
        expected = f"must have the columns of training ({listed(names)}), in any order"
        raise InputError(source.argument, expected, listed(source.names))
    by_name = dict(zip(source.names, source.columns, strict=True))
    return replace(source, columns=[by_name[name] for name in names], names=names)
