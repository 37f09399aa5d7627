"""The methods that are compared: each gives predictions and nothing else.

To add one, write a function of the training rows, the held-out rows and ε that returns
`Predictions`, and enter it in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints import Rank
from rankfair.core.problem import Groups
from rankfair.datasets import Dataset
from rankfair.estimators import MultiTaskRegressor, RankFairRegressor
from rankfair.projections import shift
from rankfair.solvers import NCADMM

__all__ = ["METHODS", "Method", "Predictions", "Rows"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rows:
    """Rows of a dataset as the methods see them: the group is the last feature.

    Examples
    --------
    >>> from rankfair.datasets import make_biased_tasks
    >>> rows = Rows.of(make_biased_tasks(2, 6, random_state=0))
    >>> rows.X.shape, rows.group_column
    ((12, 5), 4)
    >>> rows.take(rows.in_a).in_a.all()
    np.True_
    """

    X: Floats
    y: Floats
    tasks: NDArray[Any]
    in_a: Bools

    @classmethod
    def of(cls, data: Dataset) -> Rows:
        """All rows of a dataset."""
        in_a = data.sensitive == data.group_a
        return cls(np.column_stack((data.X, in_a)), data.target, data.tasks, in_a)

    @property
    def group_column(self) -> int:
        """Where in X the group is."""
        return int(self.X.shape[1]) - 1

    def take(self, chosen: Bools) -> Rows:
        """The chosen rows."""
        return Rows(
            self.X[chosen], self.y[chosen], self.tasks[chosen], self.in_a[chosen]
        )


class Predictions(NamedTuple):
    """What a method predicts for the rows it learnt from and for the others."""

    train: Floats
    held_out: Floats


Method = Callable[[Rows, Rows, float], Predictions]


def _predictions(model: Any, train: Rows, held_out: Rows) -> Predictions:
    return Predictions(
        model.predict(train.X, tasks=train.tasks),
        model.predict(held_out.X, tasks=held_out.tasks),
    )


def _unconstrained(train: Rows, held_out: Rows, epsilon: float) -> Predictions:
    """The least error, whatever the ranks."""
    model = MultiTaskRegressor().fit(train.X, train.y, tasks=train.tasks)
    return _predictions(model, train, held_out)


def _constant_shift(train: Rows, held_out: Rows, epsilon: float) -> Predictions:
    """The unconstrained fit, with one number added to each group's predictions."""
    plain = _unconstrained(train, held_out, epsilon)
    band = Rank(epsilon).band(Groups(train.in_a))
    moved = shift(plain.train, train.in_a, band)
    step = moved - plain.train
    # All rows of a group move by the same step but for rounding.
    up, down = np.median(step[train.in_a]), np.median(step[~train.in_a])
    return Predictions(moved, plain.held_out + np.where(held_out.in_a, up, down))


def _rank_fair(solver: Any) -> Method:
    """`RankFairRegressor` with that solver and otherwise its defaults."""

    def method(train: Rows, held_out: Rows, epsilon: float) -> Predictions:
        model = RankFairRegressor(
            epsilon,
            sensitive_features=train.group_column,
            blind=False,
            solver=solver,
        )
        model.fit(train.X, train.y, tasks=train.tasks)
        return _predictions(model, train, held_out)

    return method


METHODS: dict[str, Method] = {
    "unconstrained": _unconstrained,
    "constant shift": _constant_shift,
    "NC-ADMM (shift)": _rank_fair(NCADMM(projection="shift")),
    "NC-ADMM (paper)": _rank_fair(NCADMM(projection="paper")),
    "tilt": _rank_fair("tilt"),
}
