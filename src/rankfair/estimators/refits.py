"""Estimators of others: the rows they see, how they are fitted, what they predict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples, has_fit_parameter

from rankfair.estimators.base import FittedRegressor, GroupLabels, new_table
from rankfair.estimators.fit_params import FitParams, columns_seen
from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import CUT, InputError, InputWarning, Words, counted, listed
from rankfair.input.folds import (
    Folds,
    deal_folds,
    gives_folds,
    out_of_fold,
    split_folds,
)
from rankfair.input.frames import Table, read_target
from rankfair.input.training import Columns, TrainingRows, read_training

WEIGHTS = "sample_weight"
LARGE = 1e140  # squares of sums of larger numbers overflow; one over it, they vanish

Models: TypeAlias = list[Any]


class MetaRegressor(GroupLabels, MetaEstimatorMixin, FittedRegressor):
    """A regressor around one that the user chose, which sees some columns of X."""

    estimator: Any
    sensitive_features: Any
    blind: bool
    intersect: bool
    tasks: Any = None
    bins: int | None = None
    cure: ClassVar[Words] = CUT  # of too many numbers

    def _read_rows(self, X: Any, y: Any, **passed: Any) -> TrainingRows:
        """Check what was passed to ``fit``; X stays what it is, for the estimator."""
        named = Columns(
            self.tasks,
            self.sensitive_features,
            self.blind,
            several=True,
            bins=self.bins,
            intersect=self.intersect,
            cure=self.cure,
        )
        rows = read_training(X, y, named, **passed, seen=columns_seen)
        check_unit(rows.y)
        return rows

    def _read_new(self, X: Any) -> tuple[Table, Any]:
        """New rows: as a table, and as the estimator sees them."""
        layout = self._layout
        named = self._group_columns is not None or bool(layout.task_columns)
        table = new_table(self, X, layout.unused, sparse=not named)
        return table, columns_seen(X, table, layout)

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """An estimator, which may know the task columns of X, and what it sees."""
        models = self.estimator_
        first = models[0] if isinstance(models, list) else models
        return first, self._read_new(X)[1]

    @contextmanager
    def _explained(self, rows: TrainingRows) -> Iterator[None]:
        """Say, where the estimator refuses rows, what in X it may not take."""
        seen = self.sensitive_features is not None and not self.blind
        n_unknown = max((it.n_unknown for it in rows.attributes), default=0)
        try:
            yield
        except ValueError as error:
            if seen and n_unknown:
                error.add_note(
                    f"{counted(n_unknown, 'row misses', 'rows miss')} a label of "
                    "sensitive_features, whose column of X the estimator sees as it "
                    "is. Let it take missing values, in a pipeline for instance; or "
                    "set blind=True; or pass groups to fit as an array."
                )
            if "could not convert string to float" in str(error):
                error.add_note(
                    "A column of X holds text, which the estimator does not take. If "
                    "it is the protected one, blind=True hides it; else encode it in a "
                    "pipeline, with a ColumnTransformer for instance."
                )
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).input_tags
            for name in ("allow_nan", "pairwise", "sparse"):
                setattr(tags.input_tags, name, getattr(inner, name))
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")


# Rows


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
    """Fits of one template to any target, on all rows or fold by fold.

    A target is that of the training rows and, behind them, of validation rows.
    """

    template: Any
    rows: TrainingRows
    folds: Folds | None  # train and test rows of each fold
    passed: FitParams
    n_jobs: int | None = None  # folds at once

    @classmethod
    def of(
        cls,
        template: Any,
        rows: TrainingRows,
        cv: Any,
        rng: np.random.Generator,
        passed: FitParams,
        n_jobs: int | None,
    ) -> EstimatorRefits:
        """Deal folds; refuse what would cut a matrix of kernels."""
        several = len(rows.layout.tasks) > 1
        if is_pairwise(template) and (several or rows.kept is not None):
            # New rows come with a column for every row of training.
            what = "tasks, each with a model of its own" if several else "weights of 0"
            raise InputError(
                "estimator",
                f"({type(template).__name__}) learns from a matrix of kernels or "
                f"distances of all rows, which {what} would cut",
                cure="Leave them out, or give it features.",
            )
        return cls(template, rows, folds_of(rows, cv, rng), passed, n_jobs)

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
            return self.predict(self.models(target, train), test, train)

        m = out_of_fold(len(self.rows.codes), self.folds, predicted, self.n_jobs)
        return [], m

    def models(self, target: Floats, rows: Codes) -> Models:
        """The model of each task, fitted to some rows."""
        codes, n_tasks = self.rows.codes[rows], len(self.rows.layout.tasks)
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(1, n_tasks))
        parts = np.split(rows[order], ends)
        return [self._model(target, own, task) for task, own in enumerate(parts)]

    def _model(self, target: Floats, rows: Codes, task: int) -> Any:
        """A clone fitted to a target, with weights if it takes them."""
        weights, name = self.rows.weights, weight_argument(self.template)
        more = self.passed.of_fit(self.rows.X, target, rows, task)
        if name is not None and weights is not None:
            more[name] = weights[rows]
        return clone(self.template).fit(self._taken(rows), target[rows], **more)

    def predict(
        self, models: Models, rows: Codes, train: Codes | None = None
    ) -> Floats:
        """The predictions of some rows by models of the ``train`` rows."""
        X = self._taken(rows, train)
        return predictions_by_task(models, X, self.rows.codes[rows])

    def _taken(self, rows: Codes, train: Codes | None = None) -> Any:
        """Some rows; of a matrix of kernels also the columns that were learnt from."""
        X = self.rows.X
        if len(rows) == len(self.rows.codes):
            return X
        if not is_pairwise(self.template):
            return _safe_indexing(X, rows)
        return _safe_split(self.template, X, None, rows, train)[0]


def folds_of(rows: TrainingRows, cv: Any, rng: np.random.Generator) -> Folds | None:
    """Rows to learn from and to count on; None without ``cv``, or groups."""
    if cv is None or not rows.attributes:
        return None
    if gives_folds(cv):
        what = "rows" if rows.kept is None else "rows that weigh more than zero"
        folds = split_folds(cv, rows.X, rows.y, what)
    elif len(rows.y) < cv:
        n_rows = counted(len(rows.y), "row")
        raise InputError("cv", "needs as many rows as folds", f"{cv} for {n_rows}")
    else:
        groups = [each.codes for each in rows.attributes]
        cells = np.unique(np.stack((rows.codes, *groups)), axis=1, return_inverse=True)
        folds = deal_folds(cells[1].ravel(), cv, rng)
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
    if isinstance(estimator, TransformedTargetRegressor):
        own = estimator.regressor
        return WEIGHTS if own is None else _weight_argument(own)
    several = getattr(estimator, "estimators", None)
    if several is None:
        own = getattr(estimator, "estimator", None)
        return None if own is None else _weight_argument(own)
    each = [*dict(several).values(), getattr(estimator, "final_estimator", None)]
    names = {_weight_argument(it) for it in each if it not in (None, "drop")}
    return WEIGHTS if names == {WEIGHTS} else None  # all get them under one name


def is_pairwise(estimator: Any) -> bool:
    """Whether X is a matrix of kernels or distances, a column a training row."""
    known = hasattr(estimator, "__sklearn_tags__")
    return known and bool(get_tags(estimator).input_tags.pairwise)
