"""What a fit hands on to the estimator inside: values by row, and validation rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from rankfair.estimators.base import new_table
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import Argument, InputError, listed
from rankfair.input.frames import (
    ArrayTable,
    FrameTable,
    Table,
    check_lengths,
    find_known,
    open_table,
    read_target,
    recode,
    refuse_unseen,
)
from rankfair.input.groups import GROUPS, SensitiveGroups, group_labels, label_source
from rankfair.input.training import Layout, TrainingRows, feature_record, read_new

PAIRS = {"X_val": "y_val", "eval_X": "eval_y"}
SETS = ("eval_set", *PAIRS, *PAIRS.values())
# Values of validation rows, which are not told apart by task.
BESIDE_SETS = (
    "eval_sample_weight",
    "eval_init_score",
    "sample_weight_val",
    "sample_weight_eval_set",
    "base_margin_eval_set",
)
POSITIONS = ("categorical_feature", "cat_features")


@dataclass(frozen=True)
class ValidationRows:
    """Rows that tell an estimator when to stop: as it sees them, by task and group."""

    X: Any
    y: Floats
    codes: Codes
    attributes: tuple[SensitiveGroups, ...]

    def of_task(self, y: Floats, task: int, name: str) -> tuple[Any, Floats]:
        """The rows of a task, and their part of ``y``."""
        rows = np.flatnonzero(self.codes == task)
        if not len(rows):
            raise InputError(
                name,
                "has no row of some task, whose model could not tell when to stop",
                cure="Give rows of each task, or fit one model of all of them.",
            )
        if len(rows) == len(y):
            return self.X, y
        return _safe_indexing(self.X, rows), y[rows]


@dataclass(frozen=True)
class FitParams:
    """Arguments of ``fit`` of the estimator inside, and its validation rows.

    Targets of all validation rows are kept in one array, set after set, behind those
    of the training rows: what tilts these tilts those.
    """

    values: dict[str, Any]
    sets: dict[str, list[ValidationRows]]
    single: bool = False  # whether it was one set, not a list of them

    @property
    def validation(self) -> list[ValidationRows]:
        """All sets of validation rows."""
        return [rows for several in self.sets.values() for rows in several]

    @property
    def y(self) -> Floats:
        """The target of all validation rows."""
        return np.concatenate([np.empty(0), *(rows.y for rows in self.validation)])

    def of_fit(self, X: Any, target: Floats, rows: Codes, task: int) -> dict[str, Any]:
        """Return the arguments of a fit to some training rows, all of one task.

        ``target`` is that of all training rows ``X``, and behind them of validation.
        """
        found = dict(_check_method_params(X, self.values, rows))
        if not self.sets:
            return found
        starts = np.cumsum([len(each.y) for each in self.validation])[:-1]
        parts = iter(np.split(target[len(target) - len(self.y) :], starts))
        for name, several in self.sets.items():
            pairs = [each.of_task(next(parts), task, name) for each in several]
            prefix, last = _split(name)
            if last == "eval_set":
                found[name] = pairs[0] if self.single else pairs
            else:
                both = pairs[0] if self.single else zip(*pairs, strict=True)
                found[name], found[prefix + PAIRS[last]] = both
        return found


def columns_seen(X: Any, table: Table, layout: Layout) -> Any:
    """Return the columns that the estimator is to see, in the type of X."""
    whole = table.values if isinstance(table, ArrayTable) and not issparse(X) else X
    if issparse(X) and X.format not in ("csr", "csc"):
        whole = X.tocsr()  # of the others no rows can be taken
    if len(layout.predictors) == table.shape[1]:
        return whole
    if isinstance(table, FrameTable) and table.is_part:
        names = [table.names[j] for j in layout.predictors]
        return nw.from_native(X).select(names).to_native()
    return _safe_indexing(whole, list(layout.predictors), axis=1)


def read_fit_params(
    template: Any,
    passed: dict[str, Any],
    X: Any,
    rows: TrainingRows,
    group_column: Any,
    tilts: bool,
) -> FitParams:
    """Check what is handed on to ``template``; read validation rows as new ones.

    ``tilts``: the model is refitted to tilted targets, so validation rows need groups.
    """
    table = open_table(X, sparse=True)
    values = {
        name: _placed(name, value, table, rows.layout)
        for name, value in passed.items()
        if _split(name)[1] not in SETS
    }
    kept = None if rows.kept is None else np.flatnonzero(rows.kept)
    if kept is not None:
        values = _check_method_params(X, values, kept)
    groups = group_column if tilts and rows.attributes else None
    if len(values) == len(passed):
        return FitParams(values, {})
    _refuse_sets(template, values, rows, tilts and groups is None)
    known = BaseEstimator()
    vars(known).update(feature_record(X))
    sets, single = {}, False
    for name, pairs in _sets(passed):
        single = isinstance(passed[name], tuple) == (_split(name)[1] == "eval_set")
        sets[name] = [_read_set(name, known, pair, rows, groups) for pair in pairs]
    return FitParams(values, sets, single)


def _split(name: str) -> tuple[str, str]:
    """The steps of a pipeline that an argument goes through, and its own name."""
    prefix, between, last = name.rpartition("__")
    return prefix + between, last


def _sets(passed: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Return the pairs of rows and target by the name of the rows."""
    for name, value in passed.items():
        prefix, last = _split(name)
        if last == "eval_set":
            pairs = [value] if isinstance(value, tuple) else value
            if not (isinstance(pairs, list) and pairs and all(map(_is_pair, pairs))):
                came = type(value).__name__
                raise InputError(name, "must be (X, y) or a list of such pairs", came)
            yield name, pairs
        elif last in PAIRS:
            y: Any = passed.get(prefix + PAIRS[last])
            several = isinstance(value, tuple) and isinstance(y, tuple)
            yield name, [*zip(value, y, strict=True)] if several else [(value, y)]


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _refuse_sets(
    template: Any, values: dict[str, Any], rows: TrainingRows, unknown: bool
) -> None:
    """Refuse validation rows that would not be read as those of training are."""
    if unknown and rows.attributes:
        raise InputError(
            "eval_set",
            "needs the group of each of its rows, to tilt their targets like those of "
            "training, which came as an array",
            cure=("Name the groups as a column of X: ", Argument(GROUPS), "."),
        )
    many_steps = isinstance(template, Pipeline) and len(template.steps) > 1
    if many_steps and getattr(template, "transform_input", None) is None:
        raise InputError(
            "eval_set",
            "would reach the last step of a pipeline without the steps before it",
            cure="Let the last step hold out rows by itself (early_stopping=True for "
            "instance), or transform X before this model.",
        )
    several = [name for name in values if _split(name)[1] in BESIDE_SETS]
    if several and len(rows.layout.tasks) > 1:
        raise InputError(
            several[0],
            "is of validation rows, which go to a model for each task",
            cure="Leave it out, or fit one model of all tasks.",
        )


def _read_set(
    name: str, known: Any, pair: tuple[Any, Any], rows: TrainingRows, groups: Any
) -> ValidationRows:
    """Read one set: its columns are those of training."""
    layout = rows.layout
    unused = () if groups is not None else layout.unused
    named = groups is not None or bool(layout.task_columns)
    try:
        table = new_table(known, pair[0], unused, sparse=not named)
        y = read_target(pair[1])
        check_lengths(table.shape[0], y=y)
        _, codes, others = read_new(table, None, replace(layout, predictors=()))
        refuse_unseen("tasks", others, layout.tasks, int((codes < 0).sum()))
        attributes = () if groups is None else _groups_of(table, rows, groups)
        seen = columns_seen(pair[0], table, layout)
    except (TypeError, ValueError) as error:
        error.add_note(f"This is said of {name}.")
        raise
    return ValidationRows(seen, y, codes, attributes)


def _groups_of(
    table: Table, rows: TrainingRows, named: Any
) -> tuple[SensitiveGroups, ...]:
    """The groups of validation rows, as those of training were read."""
    source = label_source(GROUPS, named, None, table)
    assert source is not None
    intersect = len(source.columns) > len(rows.attributes)
    labels = group_labels(source, dict(rows.edges), intersect).values()
    found = []
    for own, each in zip(labels, rows.attributes, strict=True):
        here, there = find_known(own, GROUPS)
        codes, others = recode(here, there, each.labels)
        refuse_unseen(GROUPS, others, each.labels, int((codes[here >= 0] < 0).sum()))
        found.append(replace(each, codes=codes))
    return tuple(found)


def _placed(name: str, value: Any, table: Table, layout: Layout) -> Any:
    """Positions of columns of X as positions among those that the estimator sees."""
    whole = len(layout.predictors) == table.shape[1]
    if whole or _split(name)[1] not in POSITIONS or isinstance(value, str):
        return value
    places: list[Any] = np.asarray(value, dtype=object).tolist()
    lost = [j for j in places if isinstance(j, Integral) and j not in layout.predictors]
    if lost:
        raise InputError(
            name,
            f"names columns of X that the estimator does not see: {listed(lost)}",
            cure="Leave out the columns of tasks and groups.",
        )
    return [
        layout.predictors.index(j) if isinstance(j, Integral) else j for j in places
    ]
