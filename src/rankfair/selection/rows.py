"""The rows that settings are chosen on, with what is needed to split and fit them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import (
    Codes,
    Column,
    Floats,
    find_known,
    find_labels,
    open_table,
)
from rankfair._groups import Protected, label_table
from rankfair._validation import (
    check_lengths,
    label_source,
    read_target,
    read_weights,
)
from rankfair.certificate import read_labels
from rankfair.estimators import RankFairRegressor
from rankfair.path import Folds, make_folds, take_rows

__all__ = ["Rows"]


@dataclass(frozen=True)
class Rows:
    """The rows, with what is needed to split and to fit them."""

    X: Any
    y: Floats
    weights: Floats | None
    tasks: Codes
    groups: Codes  # of which folds hold equal parts
    attributes: Codes | None  # groups that each fold leaves rows of, a column each
    passed: dict[str, NDArray[Any]]  # labels that came as arrays

    @classmethod
    def of(
        cls, model: Any, X: Any, y: Any, tasks: Any, groups: Any, sample_weight: Any
    ) -> Rows:
        """Check what was passed to `fit`."""
        n_rows = open_table(X).shape[0]
        target = read_target(y)
        check_lengths(n_rows, y=target)
        of_tasks = read_labels("tasks", tasks, model, X)
        of_groups = read_labels("sensitive_features", groups, model, X)
        codes = _codes("tasks", of_tasks, n_rows)
        passed = {} if tasks is None else {"tasks": codes}
        if groups is not None and of_groups is not None:
            passed["sensitive_features"] = label_table(of_groups)
        weights = read_weights(sample_weight, n_rows)
        attributes = _attributes(model, X, groups, weights)
        cells = _cells(of_groups, n_rows)
        return cls(X, target, weights, codes, cells, attributes, passed)

    def folds(self, cv: Any, rng: np.random.Generator) -> Folds:
        """Split the rows."""
        return make_folds(
            cv,
            self.tasks,
            self.groups,
            rng,
            weights=self.weights,
            X=self.X,
            y=self.y,
            attributes=self.attributes,
        )

    def errors(self, model: RankFairRegressor, folds: Folds) -> list[float]:
        """Return the mean squared error on the rows that each fold holds out."""
        return [self._error(model, train, test) for train, test in folds]

    def _error(self, model: RankFairRegressor, train: Codes, test: Codes) -> float:
        labels = {name: values[train] for name, values in self.passed.items()}
        weights = None if self.weights is None else self.weights[train]
        model.fit(
            take_rows(self.X, train), self.y[train], sample_weight=weights, **labels
        )
        tasks = self.tasks[test] if "tasks" in self.passed else None
        predicted = model.predict(take_rows(self.X, test), tasks=tasks)
        weights = None if self.weights is None else self.weights[test]
        return float(np.average((self.y[test] - predicted) ** 2, weights=weights))

    def fold_weights(self, folds: Folds) -> Floats:
        """Return how much the rows of each fold weigh together."""
        w = np.ones(len(self.y)) if self.weights is None else self.weights
        return np.array([w[test].sum() for _, test in folds])


def _codes(name: str, columns: list[Column] | None, n_rows: int) -> Codes:
    if columns is None:
        return np.zeros(n_rows, np.intp)
    return find_labels(columns, name)[0]


def _cells(columns: list[Column] | None, n_rows: int) -> Codes:
    """Return the combination of groups that each row is of, one more if unknown."""
    cells: Codes = np.zeros(n_rows, np.intp)
    for column in columns or ():
        codes, labels = find_known(column, "sensitive_features")
        cells = cells * (len(labels) + 1) + codes + 1
    return cells


def _attributes(
    model: Any, X: Any, groups: Any, weights: Floats | None
) -> Codes | None:
    """Return the groups of each attribute as the fit will read them, −1 if unknown."""
    named = model.sensitive_features
    source = label_source("sensitive_features", named, groups, open_table(X))
    if source is None:
        return None
    found = Protected.of(source, weights, model.bins, bool(model.intersect))
    return np.column_stack([each.codes for each in found.attributes])
