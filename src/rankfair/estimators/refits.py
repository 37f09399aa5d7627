"""Estimators of others: the rows they see, how they are fitted, what they predict.

What ``fit`` hands on to the estimator inside are values by row, and validation rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import Parameter, signature
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import narwhals as nw
import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import (
    _check_method_params,
    _num_samples,
    has_fit_parameter,
)

from rankfair.estimators.base import GroupLabels, new_table
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import (
    CUT,
    Argument,
    InputError,
    InputWarning,
    Words,
    listed,
)
from rankfair.input.folds import (
    Folds,
    make_folds,
    out_of_fold,
)
from rankfair.input.frames import (
    ArrayTable,
    FrameTable,
    Table,
    check_lengths,
    known_codes,
    open_table,
    read_target,
)
from rankfair.input.groups import GROUPS, SensitiveGroups, group_labels, label_source
from rankfair.input.training import (
    Layout,
    TrainingRows,
    feature_record,
    read_training,
)

WEIGHTS = "sample_weight"
LARGE = 1e140  # squares of sums of larger numbers overflow; one over it, they vanish
PAIRS = {"X_val": "y_val", "eval_X": "eval_y"}
SETS = ("eval_set", *PAIRS, *PAIRS.values())
POSITIONS = ("categorical_feature", "cat_features")

Models: TypeAlias = list[Any]


class MetaRegressor(MetaEstimatorMixin, GroupLabels):
    """A regressor around one that the user chose, which sees some columns of X."""

    estimator_: Any
    cure: ClassVar[Words] = CUT  # of too many numbers

    def _read_rows(self, X: Any, y: Any, **passed: Any) -> TrainingRows:
        """Check what was passed to ``fit``; X stays what it is, for the estimator."""
        named = self._columns(self.cure)
        rows = read_training(X, y, named, **passed, seen=columns_seen)
        check_unit(rows.y)
        return rows

    def _read_new(self, X: Any) -> tuple[Table, Any]:
        """New rows: as a table, and as the estimator sees them."""
        layout = self._layout
        table = new_table(self, X, layout.unused)
        return table, columns_seen(X, table, layout)

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """An estimator, which may know the task columns of X, and what it sees."""
        models = self.estimator_
        first = models[0] if isinstance(models, list) else models
        return first, self._read_new(X)[1]

    def _refits(
        self, X: Any, rows: TrainingRows, fit_params: dict[str, Any], tilts: bool
    ) -> EstimatorRefits:
        """What is needed to fit the estimator to any target, alike each time."""
        rng = np.random.default_rng(self.random_state)
        template = seeded(self.estimator, rng) if tilts else self.estimator
        groups = self.sensitive_features if tilts and rows.attributes else None
        passed = read_fit_params(template, fit_params, X, rows, groups, tilts)
        folds = folds_of(rows, self.cv, rng)
        return EstimatorRefits(template, rows, folds, passed, self.n_jobs)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say, where the estimator refuses rows, what in X it may not take."""
        try:
            yield
        except ValueError as error:
            seen = self.sensitive_features is not None and not self.blind
            if seen and any(it in str(error) for it in ("NaN", "string to float")):
                error.add_note(
                    "The estimator sees the column of sensitive_features as it is, "
                    "text and missing labels too. blind=True hides it; else encode it "
                    "in a pipeline, with a ColumnTransformer for instance, or pass "
                    "groups to fit as an array."
                )
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = (
                inner.allow_nan,
                inner.sparse,
            )
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")


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


@dataclass(frozen=True)
class EstimatorRefits:
    """Fits of one template to any target, on all rows or fold by fold.

    A target is that of the training rows and, behind them, of validation rows.
    """

    template: Any
    rows: TrainingRows
    folds: Folds | None  # train and test rows of each fold
    passed: FitParams
    n_jobs: int | None = None  # folds at once

    def whole(self, target: Floats) -> tuple[Models, Floats]:
        """The models of all rows, and their predictions."""
        every = np.arange(len(self.rows.codes))
        models = self.models(target, every)
        return models, self.predict(models, every)

    def counted(self, target: Floats) -> tuple[Models, Floats]:
        """The same, or with folds the predictions out of fold alone."""
        if self.folds is None:
            return self.whole(target)

        def predicted(train: Codes, test: Codes) -> Floats:
            return self.predict(self.models(target, train), test)

        m = out_of_fold(len(self.rows.codes), self.folds, predicted, self.n_jobs)
        return [], m

    def models(self, target: Floats, rows: Codes) -> Models:
        """The model of each task, fitted to some rows."""
        codes, n_tasks = self.rows.codes[rows], len(self.rows.layout.tasks)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(1, n_tasks))
        return [self._model(target, own) for own in np.split(rows[order], ends)]

    def _model(self, target: Floats, rows: Codes) -> Any:
        """A clone fitted to a target, with weights if it takes them."""
        weights, name = self.rows.weights, weight_argument(self.template)
        more = self.passed.of_fit(self.rows.X, target, rows)
        if name is not None and weights is not None:
            more[name] = weights[rows]
        return clone(self.template).fit(self._taken(rows), target[rows], **more)

    def predict(self, models: Models, rows: Codes) -> Floats:
        """The predictions of some rows."""
        return predictions_by_task(models, self._taken(rows), self.rows.codes[rows])

    def _taken(self, rows: Codes) -> Any:
        every = len(rows) == len(self.rows.codes)
        return self.rows.X if every else _safe_indexing(self.rows.X, rows)


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A clone in which every ``random_state`` that is None has a seed."""
    template = clone(estimator)
    open_seeds = [
        name
        for name, value in sorted(template.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    ]
    seeds = {name: int(rng.integers(1 << 31)) for name in open_seeds}
    return template.set_params(**seeds) if seeds else template


def folds_of(rows: TrainingRows, cv: Any, rng: np.random.Generator) -> Folds | None:
    """Rows to learn from and to count on; None without ``cv``, or groups."""
    if cv is None or not rows.attributes:
        return None
    groups = np.column_stack([each.codes for each in rows.attributes])
    folds = make_folds(cv, rows.codes, groups, rng, X=rows.X, y=rows.y, every_row=True)
    labels = rows.layout.tasks
    for train, _ in folds:
        sizes = np.bincount(rows.codes[train], minlength=len(labels))
        if not sizes.all():
            raise InputError(
                "cv",
                "holds out all rows of tasks at once: "
                f"{listed(labels[sizes == 0].tolist())}",
                cure="Each task has a model of its own: hold out a part of each, cv=5 "
                "for instance, and join tasks of one row with others.",
            )
    return folds


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
    if values.shape not in ((n_rows,), (n_rows, 1)):
        came = f"shape {values.shape} for {n_rows} rows"
        raise InputError("estimator", "must predict one number a row", came)
    return read_target(values.ravel(), "the estimator's prediction").copy()


def unweighted(estimator: Any, weights: Floats | None) -> Iterator[Warning]:
    """Say that the estimator takes no weights."""
    if weights is not None and weight_argument(estimator) is None:
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        yield InputWarning(
            WEIGHTS,
            f"is not taken by {type(last).__name__}.fit: it is fitted without weights, "
            "and only the groups are compared with them",
            cure="Leave it out, or take another estimator.",
        )


def weight_argument(estimator: Any) -> str | None:
    """Return how ``fit`` of this estimator calls its weights, None if it takes none.

    Of pipelines these are the weights of the last step.  Searches, transformed targets
    and the like hand on what they are given.
    """
    name = None
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_argument(last)
        name = None if inner is None else f"{step}__{inner}"
    elif has_fit_parameter(estimator, WEIGHTS):
        name = WEIGHTS
    elif any(
        each.kind is Parameter.VAR_KEYWORD
        for each in signature(estimator.fit).parameters.values()
    ):
        several = dict(getattr(estimator, "estimators", None) or {}).values()
        others = ("estimator", "regressor", "final_estimator")
        inside = [*several, *(getattr(estimator, other, None) for other in others)]
        names = {weight_argument(it) for it in inside if it not in (None, "drop")}
        if isinstance(estimator, TransformedTargetRegressor):
            names = names or {WEIGHTS}
        if len(names) == 1 and not (several and names != {WEIGHTS}):
            (name,) = names  # all get them under one
    if name is not None and get_config()["enable_metadata_routing"]:
        return WEIGHTS  # it finds its way by what the steps request
    return name


# Arguments of ``fit`` of the estimator inside


@dataclass(frozen=True)
class ValidationRows:
    """Rows that tell an estimator when to stop, as it sees them; their groups."""

    X: Any
    y: Floats
    attributes: tuple[SensitiveGroups, ...]


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

    @property
    def attributes(self) -> list[SensitiveGroups]:
        """The groups of all validation rows."""
        several = zip(*(rows.attributes for rows in self.validation), strict=True)
        return [
            replace(same[0], codes=np.concatenate([each.codes for each in same]))
            for same in several
        ]

    def of_fit(self, X: Any, target: Floats, rows: Codes) -> dict[str, Any]:
        """Return the arguments of a fit to some training rows.

        ``target`` is that of all training rows ``X``, and behind them of validation.
        """
        found = dict(_check_method_params(X, self.values, rows))
        starts = np.cumsum([len(each.y) for each in self.validation])[:-1]
        parts = iter(np.split(target[len(target) - len(self.y) :], starts))
        for name, several in self.sets.items():
            pairs = [(each.X, next(parts)) for each in several]
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
    groups: Any,
    tilts: bool,
) -> FitParams:
    """Check what is handed on to ``template``; read validation rows as new ones.

    ``tilts``: the model is refitted to tilted targets, so validation rows need
    ``groups``, columns of X.
    """
    table = open_table(X)
    values = {
        name: _placed(name, value, table, rows.layout)
        for name, value in passed.items()
        if _split(name)[1] not in SETS
    }
    kept = None if rows.kept is None else np.flatnonzero(rows.kept)
    if kept is not None:
        values = _check_method_params(X, values, kept)
    if len(values) == len(passed):
        return FitParams(values, {})
    _refuse_sets(template, rows, tilts and groups is None)
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


def _refuse_sets(template: Any, rows: TrainingRows, unknown: bool) -> None:
    """Refuse validation rows that would not be read as those of training are."""
    many_steps = isinstance(template, Pipeline) and len(template.steps) > 1
    wrong: Words = ""
    cure: Words = "Let the estimator hold out training rows by itself."
    if rows.layout.task_columns is not None:
        wrong = "is for one model, and each task has a model of its own"
    elif unknown and rows.attributes:
        wrong = (
            "needs the group of each of its rows, to tilt their targets like those of "
            "training, which came as an array"
        )
        cure = ("Name the groups as a column of X: ", Argument(GROUPS), ".")
    elif many_steps and getattr(template, "transform_input", None) is None:
        wrong = "would reach the last step of a pipeline without the steps before it"
        cure = (
            "Let the last step hold out rows by itself (early_stopping=True for "
            "instance), or transform X before this model."
        )
    if wrong:
        raise InputError("eval_set", wrong, cure=cure)


def _read_set(
    name: str, known: Any, pair: tuple[Any, Any], rows: TrainingRows, groups: Any
) -> ValidationRows:
    """Read one set: its columns are those of training."""
    unused = () if groups is not None else rows.layout.unused
    try:
        table = new_table(known, pair[0], unused)
        y = read_target(pair[1])
        check_lengths(table.shape[0], y=y)
        attributes = () if groups is None else _groups_of(table, rows, groups)
        seen = columns_seen(pair[0], table, rows.layout)
    except (TypeError, ValueError) as error:
        error.add_note(f"This is said of {name}.")
        raise
    return ValidationRows(seen, y, attributes)


def _groups_of(
    table: Table, rows: TrainingRows, named: Any
) -> tuple[SensitiveGroups, ...]:
    """The groups of validation rows, as those of training were read."""
    source = label_source(GROUPS, named, None, table)
    assert source is not None
    intersect = len(source.columns) > len(rows.attributes)
    labels = group_labels(source, dict(rows.edges), intersect).values()
    return tuple(
        replace(each, codes=known_codes(own, GROUPS, each.labels))
        for own, each in zip(labels, rows.attributes, strict=True)
    )


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
