"""The door of the reduction: features stay what the estimator takes, labels are read.

Unlike the linear estimators, X is not turned into numbers: a pipeline may take text,
missing values or categories, and says itself what it cannot take.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from rankfair._folds import Folds, deal_folds, gives_folds, split_folds
from rankfair._frames import (
    ArrayTable,
    Codes,
    Floats,
    PartTable,
    Table,
    counted,
    encode,
    find_labels,
    listed,
    open_table,
)
from rankfair._groups import Bools, Groups, Protected, Source
from rankfair._inner import check_unit
from rankfair._validation import (
    SORTED_ROWS,
    Columns,
    check_same_source,
    feature_record,
    has_names,
    label_source,
    read_given,
    refuse_retyped,
    task_labels,
)

__all__ = ["Layout", "Rows", "read_rows", "task_codes"]


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
    edges: dict[str, Floats] = field(default_factory=dict)  # where bins were cut
    intersect: bool = False
    names: tuple[str, ...] = ()  # of the columns that hold groups
    by_name: bool = False  # whether these came as a dict or a frame

    def select(self, X: Any, table: Table) -> Any:
        """The columns that the estimator is to see."""
        whole = table.values if isinstance(table, ArrayTable) else X
        if self.features is None:
            return whole
        if isinstance(table, PartTable):
            names = [table.names[j] for j in self.features]
            return nw.from_native(X).select(names).to_native()
        return _safe_indexing(whole, list(self.features), axis=1)


@dataclass(frozen=True)
class Rows:
    """Checked training rows; those of weight zero are left out.

    Attributes
    ----------
    X : the columns that the estimator is to see
    y : ndarray of shape (N,), float64
    codes : ndarray of shape (N,), places in ``layout.tasks``
    groups : Groups, or None if there are none
    weights : positive ndarray of shape (N,), or None if all weigh one
    layout : Layout
    note : str or None, a warning
    kept : ndarray of bool, or None if all rows that were given weigh something
    """

    X: Any
    y: Floats
    codes: Codes
    groups: Groups | None
    weights: Floats | None
    layout: Layout
    note: str | None = None
    kept: Bools | None = None

    def folds(self, cv: Any, rng: np.random.Generator) -> Folds | None:
        """Rows to learn from and to count on; None without ``cv``, or groups."""
        if cv is None or self.groups is None:
            return None
        if gives_folds(cv):
            folds = split_folds(cv, self.X, self.y, "rows that weigh more than zero")
            self._check_tasks(folds)
            return folds
        sizes = np.bincount(self.codes)
        if len(self.y) < cv or sizes.min() < 2:
            raise ValueError(
                f"cv={cv} needs as many rows, and two of each task; there are "
                f"{len(self.y)} rows, {sizes.min()} of the smallest task."
            )
        groups = self.groups
        cells = (len(groups.labels) + 1) * self.codes + groups.codes + 1
        return deal_folds(cells, cv, rng)

    def _check_tasks(self, folds: Folds) -> None:
        """Refuse folds that leave no row of a task to learn from."""
        labels = self.layout.tasks
        for train, _ in folds:
            rows = np.bincount(self.codes[train], minlength=len(labels))
            if not rows.all():
                raise ValueError(
                    "cv holds out all rows of tasks at once: "
                    f"{listed(labels[rows == 0].tolist())}. Each task has a model of "
                    "its own: hold out a part of each, cv=5 for instance."
                )


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
    >>> rows.X.tolist(), rows.groups.codes.tolist()
    ([[1.0], [2.0]], [0, 1])
    """
    table = open_table(X)
    feature_record(X)  # what could not be stored is not fitted either
    target, weights, of_tasks, of_groups = read_given(
        table, y, named, tasks, sensitive_features, sample_weight
    )
    check_unit(target)
    found = None if of_groups is None else _read_groups(of_groups, weights, named)
    codes, labels = task_labels(of_tasks, table.shape[0])
    layout = Layout(
        _features(table, of_tasks, of_groups if named.blind else None),
        None if of_tasks is None else of_tasks.at,
        labels,
        None if of_groups is None else of_groups.at,
        None if found is None else found.attributes[0].labels,
        {} if found is None else _edges(found),
        named.intersect,
        () if of_groups is None else of_groups.names,
        has_names(sensitive_features),
    )
    groups, note = (None, None) if found is None else (found.attributes[0], found.note)
    rows = Rows(layout.select(X, table), target, codes, groups, weights, layout, note)
    return rows if weights is None or weights.all() else _weighted(rows, weights > 0)


def _read_groups(source: Source, weights: Floats | None, named: Columns) -> Protected:
    """Return the groups of one attribute, or the combinations of several."""
    if len(source.columns) > 1 and not named.intersect:
        raise ValueError(
            f"{source.argument} has {len(source.columns)} columns: one protected "
            "attribute is expected. Set intersect=True to balance their combinations; "
            "RankFairRegressor constraints each of several attributes."
        )
    return Protected.of(source, weights, named.bins, named.intersect)


def _edges(found: Protected) -> dict[str, Floats]:
    return {it.name: it.edges for it in found.columns if it.edges is not None}


def _features(table: Table, *apart: Source | None) -> tuple[int, ...] | None:
    """The columns beside those of tasks and of a hidden group; None for all."""
    away = {j for source in apart if source is not None for j in source.at}
    if not away:
        return None
    features = tuple(j for j in range(table.shape[1]) if j not in away)
    if not features:
        raise ValueError(
            "X has no feature left: every column names tasks or the protected group. "
            "Add a column to predict from."
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
        None if rows.groups is None else rows.groups.take(keep),
        rows.weights[keep],
        replace(rows.layout, tasks=rows.layout.tasks[present]),
        rows.note,
        keep,
    )


def task_codes(table: Table, tasks: Any, layout: Layout) -> Codes:
    """The task of each new row; refuse one that training did not have."""
    source = label_source("tasks", layout.task_columns or None, tasks, table)
    check_same_source(source, layout.task_columns)
    if source is None:
        return np.zeros(table.shape[0], np.intp)
    codes, others = encode(source.columns, layout.tasks, source.argument)
    _refuse_others(others, int((codes < 0).sum()), layout.tasks, source)
    return codes


def _refuse_others(
    others: list[Any], n_rows: int, labels: NDArray[Any], source: Source
) -> None:
    argument = source.argument
    refuse_retyped(argument, others, labels)
    if others:
        raise ValueError(
            f"{argument} has labels not seen in training: {listed(others)} "
            f"({counted(n_rows, 'row')}); training had {listed(labels.tolist())}. "
            f"Use the labels of training, or fit with rows of these too. {SORTED_ROWS}"
        )
