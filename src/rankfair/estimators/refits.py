"""Estimators of others: the rows they see, how they are fitted, what they predict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples, has_fit_parameter

from rankfair.estimators.base import FittedRegressor, GroupLabels
from rankfair.input.arrays import Codes, Floats
from rankfair.input.columns import Columns, Layout, TrainingRows, feature_record
from rankfair.input.errors import Argument, InputError, counted, listed
from rankfair.input.folds import Folds, deal_folds, gives_folds, split_folds
from rankfair.input.frames import ArrayTable, PartTable, Table, open_table
from rankfair.input.groups import (
    CUT,
    CUT_FIRST,
    Protected,
    check_cells,
    crossed,
    read_attributes,
)
from rankfair.input.labels import find_labels
from rankfair.input.new_rows import SORTED_ROWS, read_new
from rankfair.input.training import Given, read_given, read_target, task_labels

WEIGHTS = "sample_weight"
LARGE = 1e140  # squares of sums of larger numbers overflow; one over it, they vanish

Models: TypeAlias = list[Any]


class MetaRegressor(GroupLabels, MetaEstimatorMixin, FittedRegressor):
    """A regressor around one that the user chose, which sees some columns of X."""

    estimator: Any

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """An estimator, which may know the task columns of X, and what it sees."""
        models = self.estimator_
        first = models[0] if isinstance(models, list) else models
        return first, columns_seen(X, table_of(X), self._layout)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan = inner.allow_nan
            tags.input_tags.pairwise = inner.pairwise
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")


# Rows


def table_of(X: Any) -> Table:
    """Return X as a table; one that is sparse has rows, and no columns to be named."""
    if issparse(X):
        return ArrayTable(np.broadcast_to(np.nan, X.shape))
    return open_table(X)


def read_seen_rows(
    X: Any,
    y: Any,
    named: Columns,
    *,
    tasks: Any = None,
    sensitive_features: Any = None,
    sample_weight: Any = None,
    without_y: bool = False,
    sparse: bool = False,
) -> TrainingRows:
    """Check what was passed to ``fit``; X stays what it is, for another estimator.

    Rows of weight zero are among them.  Where y may be missing, and is, it is NaN.
    X may be ``sparse`` if nothing names its columns.
    """
    sparse = sparse and named.sensitive_features is None
    table = table_of(X) if sparse else open_table(X)
    feature_record(X)  # what could not be stored is not fitted either
    absent = y is None and without_y
    target = np.zeros(table.shape[0]) if absent else y
    given = read_given(table, target, named, tasks, sensitive_features, sample_weight)
    check_unit(given.target)
    found = _read_protected(given, named)
    codes, layout = _lay_out(table, given, found, named.blind)
    return TrainingRows(
        columns_seen(X, table, layout),
        np.full(table.shape[0], np.nan) if absent else given.target,
        codes,
        None,
        given.weights,
        layout,
        attributes=found.attributes,
        notes=() if found.note is None else (found.note,),
        edges=tuple(
            (it.name, it.edges) for it in found.columns if it.edges is not None
        ),
    )


def _read_protected(given: Given, named: Columns) -> Protected:
    """Return the groups of one attribute, or the combinations of several."""
    source = given.groups
    if source is None:
        return Protected()
    if len(source.columns) > 1 and not named.intersect:
        raise InputError(
            "sensitive_features",
            f"has {len(source.columns)} columns: one attribute is expected",
            cure=(
                "Set ",
                Argument("intersect", True),
                " to balance their combinations; RankFairRegressor balances each of "
                "several attributes.",
            ),
        )
    cure = CUT if named.several else CUT_FIRST
    found = tuple(read_attributes(source, given.weights, named.bins, cure=cure))
    if len(found) == 1:
        return Protected(found, found)
    cells = crossed(found, given.weights)
    return Protected(
        found, (cells,), check_cells(cells, source.argument, given.weights)
    )


def _lay_out(
    table: Table, given: Given, found: Protected, blind: bool
) -> tuple[Codes, Layout]:
    """Return the task of each row, and which columns the estimator is to see."""
    codes, labels = task_labels(given.tasks, table.shape[0])
    task_at = () if given.tasks is None else given.tasks.at
    group_at = () if given.groups is None or not blind else given.groups.at
    away = {*task_at, *group_at}
    seen = tuple(j for j in range(table.shape[1]) if j not in away)
    if not seen:
        raise InputError(
            "X",
            "has no column left for the estimator: every one names tasks or the group",
            cure="Add a column to predict from.",
        )
    layout = Layout(
        seen,
        (),
        None if given.tasks is None else task_at,
        labels,
        (),
        found.attributes[0].labels if found.attributes else None,
        group_at,
    )
    return codes, layout


def columns_seen(X: Any, table: Table, layout: Layout) -> Any:
    """Return the columns that the estimator is to see, in the type of X."""
    whole = table.values if isinstance(table, ArrayTable) and not issparse(X) else X
    if len(layout.predictors) == table.shape[1]:
        return whole
    if isinstance(table, PartTable):
        names = [table.names[j] for j in layout.predictors]
        return nw.from_native(X).select(names).to_native()
    return _safe_indexing(whole, list(layout.predictors), axis=1)


def rows_that_weigh(rows: TrainingRows) -> TrainingRows:
    """Leave out the rows of weight zero, and tasks that no other row has."""
    if rows.weights is None or rows.weights.all():
        return rows
    keep = rows.weights > 0
    codes, present = find_labels([rows.codes[keep]], "tasks")
    return replace(
        rows,
        X=_safe_indexing(rows.X, np.flatnonzero(keep)),
        y=rows.y[keep],
        codes=codes,
        weights=rows.weights[keep],
        layout=replace(rows.layout, tasks=rows.layout.tasks[present]),
        attributes=tuple(each.take(keep) for each in rows.attributes),
        kept=keep,
    )


def task_codes(table: Table, tasks: Any, layout: Layout) -> Codes:
    """Return the task of each new row; refuse one that training did not have."""
    _, codes, others = read_new(table, tasks, replace(layout, predictors=()))
    if others:
        raise InputError(
            "tasks",
            f"has labels not seen in training: {listed(others)} "
            f"({counted(int((codes < 0).sum()), 'row')}); training had "
            f"{listed(layout.tasks.tolist())}",
            cure="Use the labels of training, or fit with rows of these too. "
            f"{SORTED_ROWS}",
        )
    return codes


def folds_of(rows: TrainingRows, cv: Any, rng: np.random.Generator) -> Folds | None:
    """Rows to learn from and to count on; None without ``cv``, or groups."""
    if cv is None or not rows.attributes:
        return None
    if gives_folds(cv):
        what = "rows" if rows.kept is None else "rows that weigh more than zero"
        folds = split_folds(cv, rows.X, rows.y, what)
        _check_tasks(rows, folds)
        return folds
    sizes = np.bincount(rows.codes)
    if len(rows.y) < cv or sizes.min() < 2:
        raise InputError(
            "cv",
            "needs as many rows as folds, and two of each task",
            f"{cv} for {counted(len(rows.y), 'row')}, {sizes.min()} of the smallest "
            "task",
            "Use fewer folds, or join tasks.",
        )
    (groups,) = rows.attributes
    cells = (len(groups.labels) + 1) * rows.codes + groups.codes + 1
    if rows.weights is not None:
        # Rows of weight zero count as absent: they must not stand in for others.
        cells = 2 * cells + (rows.weights > 0)
    return deal_folds(cells, cv, rng)


def _check_tasks(rows: TrainingRows, folds: Folds) -> None:
    """Refuse folds that leave no row of a task to learn from."""
    labels = rows.layout.tasks
    for train, _ in folds:
        sizes = np.bincount(rows.codes[train], minlength=len(labels))
        if not sizes.all():
            raise InputError(
                "cv",
                "holds out all rows of tasks at once: "
                f"{listed(labels[sizes == 0].tolist())}",
                cure=(
                    "Each task has a model of its own: hold out a part of each, ",
                    Argument("cv", 5),
                    " for instance.",
                ),
            )


def check_unit(y: Floats, argument: str = "y") -> None:
    """Refuse numbers of which errors cannot be squared, by no estimator either."""
    size, apart = float(np.abs(y).max()), float(np.ptp(y / 2)) * 2
    wrong = ""
    if size > LARGE:
        wrong = f"has values of up to {size:.3g}: their squares overflow"
    elif 0.0 < apart < 1 / LARGE:
        wrong = f"has values at most {apart:.3g} apart: squares of that vanish"
    if wrong:
        raise InputError(argument, wrong, cure="Give y in another unit.")


# Fits


@dataclass(frozen=True)
class EstimatorRefits:
    """Fits of one template to any target, on all rows or fold by fold."""

    template: Any
    rows: TrainingRows
    folds: Folds | None = None  # train and test rows of each fold

    def fit(self, target: Floats) -> tuple[Models, Floats]:
        """The models of all rows and their predictions; by folds, predictions only."""
        every = np.arange(len(target))
        if self.folds is None:
            models = self.models(target, every)
            return models, self.predict(models, every)
        m = np.empty(len(target))
        for train, test in self.folds:
            m[test] = self.predict(self.models(target, train), test, train)
        return [], m

    def models(self, target: Floats, rows: Codes) -> Models:
        """The model of each task, fitted to some rows."""
        codes, n_tasks = self.rows.codes[rows], len(self.rows.layout.tasks)
        by_task = [rows]
        if n_tasks > 1:
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(1, n_tasks))
            by_task = np.split(rows[order], ends)
        return [self._model(target, of_task) for of_task in by_task]

    def _model(self, target: Floats, rows: Codes) -> Any:
        """A clone fitted to a target, with weights if it takes them."""
        whole, weights = len(rows) == len(target), self.rows.weights
        X = self.rows.X if whole else _taken(self.template, self.rows.X, rows)
        name = None if weights is None else weight_argument(self.template)
        more = {} if name is None or weights is None else {name: weights[rows]}
        return clone(self.template).fit(X, target[rows], **more)

    def predict(
        self, models: Models, rows: Codes, train: Codes | None = None
    ) -> Floats:
        """The predictions of some rows by models of the ``train`` rows."""
        whole = len(rows) == len(self.rows.codes)
        X = self.rows.X if whole else _taken(self.template, self.rows.X, rows, train)
        return predictions_by_task(models, X, self.rows.codes[rows])


def predictions_by_task(models: Models, X: Any, codes: Codes) -> Floats:
    """The prediction of each row by the model of its task."""
    if len(models) == 1:
        return predictions_of(models[0], X)
    m = np.empty(len(codes))
    for j in np.unique(codes).tolist():
        rows = np.flatnonzero(codes == j)
        m[rows] = predictions_of(models[j], _safe_indexing(X, rows))
    return m


def predictions_of(estimator: Any, X: Any) -> Floats:
    """Return what an estimator predicts as new floats, one a row, all finite."""
    values, n_rows = np.asarray(estimator.predict(X)), _num_samples(X)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise InputError(
            "estimator",
            "must predict one number a row",
            f"shape {values.shape} for {n_rows} rows",
        )
    return read_target(values, "the estimator's prediction").copy()


def weight_argument(estimator: Any) -> str | None:
    """Return how ``fit`` of this estimator calls its weights, None if it takes none.

    Of pipelines these are the weights of the last step.  Searches, transformed targets
    and the like hand on what they are given.
    """
    name = _weight_argument(estimator)
    if name is not None and get_config()["enable_metadata_routing"]:
        return WEIGHTS  # it finds its way by what the steps request
    return name


def _weight_argument(estimator: Any) -> str | None:
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = _weight_argument(last)
        return None if inner is None else f"{step}__{inner}"
    if has_fit_parameter(estimator, WEIGHTS):
        return WEIGHTS
    parameters = signature(estimator.fit).parameters.values()
    if not any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        return None
    several = getattr(estimator, "estimators", None)
    if several is not None:  # all get them under one name
        each = [own for _, own in several if not isinstance(own, str)]
        each.append(getattr(estimator, "final_estimator", None))
        names = {_weight_argument(own) for own in each if own is not None}
        return WEIGHTS if names == {WEIGHTS} else None
    if isinstance(estimator, TransformedTargetRegressor):
        own = estimator.regressor
        return WEIGHTS if own is None else _weight_argument(own)
    own = getattr(estimator, "estimator", None)
    return None if own is None else _weight_argument(own)


def is_pairwise(estimator: Any) -> bool:
    """Whether X is a matrix of kernels or distances, a column a training row."""
    known = hasattr(estimator, "__sklearn_tags__")
    return known and bool(get_tags(estimator).input_tags.pairwise)


def _taken(estimator: Any, X: Any, rows: Codes, train: Codes | None = None) -> Any:
    """Some rows; of a matrix of kernels also the columns that were learnt from."""
    if not is_pairwise(estimator):
        return _safe_indexing(X, rows)
    return _safe_split(estimator, X, None, rows, train)[0]


@contextmanager
def explained(n_unknown: int) -> Iterator[None]:
    """Say, where an estimator refuses rows, that so many miss a label that it sees."""
    try:
        yield
    except ValueError as error:
        if n_unknown:
            error.add_note(
                f"{counted(n_unknown, 'row misses', 'rows miss')} a label of "
                "sensitive_features, whose column of X the estimator sees as it is. "
                "Let it take missing values, in a pipeline for instance; or set "
                "blind=True; or pass groups to fit as an array."
            )
        if "could not convert string to float" in str(error):
            error.add_note(
                "A column of X holds text, which the estimator does not take. If it is "
                "the protected one, blind=True hides it; else encode it in a pipeline, "
                "with a ColumnTransformer for instance."
            )
        raise
