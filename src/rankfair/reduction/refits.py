"""``fit(target) → predictions`` for any estimator: one model, one a task, or by folds.

All fits start from one template whose seeds are set, so that refits differ by their
targets only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from rankfair._folds import Folds, Rows
from rankfair._frames import Codes, Floats
from rankfair._inner import (
    fitted_to,
    is_pairwise,
    predictions_of,
    taken,
    weight_argument,
)

Models: TypeAlias = list[Any]


@dataclass(frozen=True)
class Refits:
    """Fits of one template to any target, on all rows or fold by fold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0])
    >>> refits = Refits(LinearRegression(), X, np.zeros(3, np.intp), 1)
    >>> models, m = refits.fit(y)
    >>> m.round(6).tolist()
    [1.0, 3.0, 5.0]
    """

    template: Any
    X: Any
    codes: Codes  # the task of each row
    n_tasks: int
    weights: Floats | None = None
    folds: Folds | None = None  # train and test rows of each fold

    def fit(self, target: Floats) -> tuple[Models, Floats]:
        """The models of all rows and their predictions; by folds, predictions only."""
        if self.folds is None:
            models = self.whole(target)
            return models, predict(models, self.X, self.codes)
        m = np.empty(len(target))
        for train, test in self.folds:
            held = taken(self.template, self.X, test, train)
            m[test] = predict(self._models(target, train), held, self.codes[test])
        return [], m

    def whole(self, target: Floats) -> Models:
        """The models of all rows."""
        return self._models(target, np.arange(len(target)))

    def _models(self, target: Floats, rows: Rows) -> Models:
        return [
            self._model(target, of_task)
            for of_task in _by_task(self.codes, self.n_tasks, rows)
        ]

    def _model(self, target: Floats, rows: Rows) -> Any:
        whole = len(rows) == len(target)
        X = self.X if whole else taken(self.template, self.X, rows)
        weights = None if self.weights is None else self.weights[rows]
        return fitted_to(self.template, X, target[rows], weights)


def _by_task(codes: Codes, n_tasks: int, rows: Rows) -> Iterator[Rows]:
    """These rows, those of each task in turn."""
    if n_tasks == 1:
        return iter((rows,))
    order = rows[np.argsort(codes[rows], kind="stable")]
    ends = np.searchsorted(codes[order], np.arange(1, n_tasks))
    return iter(np.split(order, ends))


def predict(models: Models, X: Any, codes: Codes) -> Floats:
    """The prediction of each row by the model of its task."""
    if len(models) == 1:
        return predictions_of(models[0], X)
    m = np.empty(len(codes))
    for j in np.unique(codes).tolist():
        rows = np.flatnonzero(codes == j)
        m[rows] = predictions_of(models[j], _safe_indexing(X, rows))
    return m


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A clone in which every ``random_state`` that is None has a seed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> seeded(Ridge(), np.random.default_rng(0)).random_state is None
    False
    """
    template = clone(estimator)
    open_seeds = [
        name
        for name, value in sorted(template.get_params(deep=True).items())
        if value is None and name.split("__")[-1] == "random_state"
    ]
    seeds = {name: int(rng.integers(1 << 31)) for name in open_seeds}
    return template.set_params(**seeds) if seeds else template


def refuse_parts(estimator: Any, n_models: int, absent: bool) -> None:
    """Raise if X is a matrix of kernels, and models are fitted to parts of its rows.

    New rows come with a column for every row of training, of which such a model knows
    but some: those of its task, or those of positive weight if some are ``absent``.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> refuse_parts(Ridge(), 3, absent=True)
    """
    if is_pairwise(estimator) and (n_models > 1 or absent):
        what = "tasks, each with a model of its own" if n_models > 1 else "weights of 0"
        raise ValueError(
            f"estimator ({type(estimator).__name__}) learns from a matrix of kernels "
            f"or distances of all rows, which {what} would cut. Leave them out, or "
            "give it features."
        )


def refuse_weightless(estimator: Any) -> None:
    """Raise if ``fit`` of this estimator takes no weights.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> refuse_weightless(Ridge())
    """
    if weight_argument(estimator) is None:
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        raise ValueError(
            "sample_weight was passed, but the fit of estimator "
            f"({type(last).__name__}) takes none. Leave it out, or take another "
            "estimator."
        )
