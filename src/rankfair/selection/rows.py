"""The rows that settings are chosen on, with what is needed to split and fit them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Codes, Floats, find_known, open_table
from rankfair._groups import Protected, Source, label_table
from rankfair._validation import Columns, read_given, task_labels
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
        table, named = open_table(X), Columns(model.tasks, model.sensitive_features)
        given = read_given(table, y, named, tasks, groups, sample_weight)
        codes, _ = task_labels(given.tasks, len(given.target))
        passed = {} if tasks is None else {"tasks": codes}
        if groups is not None and given.groups is not None:
            passed["sensitive_features"] = label_table(given.groups.columns)
        cells = _cells(given.groups, len(given.target))
        attributes = _attributes(model, given.groups, given.weights)
        return cls(X, given.target, given.weights, codes, cells, attributes, passed)

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

    @cached_property
    def unit(self) -> float:
        """What errors are in, that none overflows or vanishes: a power of two."""
        return 2.0 ** (math.frexp(float(np.abs(self.y).max()))[1] - 1)

    def errors(self, model: RankFairRegressor, folds: Folds) -> list[float]:
        """Return the mean squared error on the rows that each fold holds out.

        It is in the square of `unit`.
        """
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
        error = (self.y[test] - predicted) / self.unit
        return float(np.average(error**2, weights=weights))

    def fold_weights(self, folds: Folds) -> Floats:
        """Return how much the rows of each fold weigh together."""
        w = np.ones(len(self.y)) if self.weights is None else self.weights
        return np.array([w[test].sum() for _, test in folds])


def _cells(source: Source | None, n_rows: int) -> Codes:
    """Return the combination of groups that each row is of, one more if unknown."""
    cells: Codes = np.zeros(n_rows, np.intp)
    for column in () if source is None else source.columns:
        codes, labels = find_known(column, "sensitive_features")
        cells = cells * (len(labels) + 1) + codes + 1
    return cells


def _attributes(
    model: Any, source: Source | None, weights: Floats | None
) -> Codes | None:
    """Return the groups of each attribute as the fit will read them, −1 if unknown."""
    if source is None:
        return None
    found = Protected.of(source, weights, model.bins, bool(model.intersect))
    return np.column_stack([each.codes for each in found.attributes])
