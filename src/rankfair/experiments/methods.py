"""The methods that are compared: each gives predictions and nothing else.

To add one, write a function of the training rows, the held-out rows and ε that returns
`Predictions`, and enter it in `METHODS` with whether it needs the group to predict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfair.constraints import Rank
from rankfair.core.problem import Groups
from rankfair.datasets.base import Dataset
from rankfair.estimators import RankFairRegressor
from rankfair.estimators.postprocess import RankFairPostprocessor
from rankfair.projections import shift

__all__ = ["DEFAULT", "METHODS", "Method", "Predictions", "Rows", "fit_linear"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FREE = 0.5  # the ε that asks for nothing
# What cross-validation chooses for the paper's solver: docs/reproduction.md.
BETA_PAPER = 0.01


@dataclass(frozen=True)
class Rows:
    """Rows of a dataset as the methods see them: the group is the last feature.

    `fair` is the true fair score, where whoever drew the rows knows it.

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
    fair: Floats | None = None

    @classmethod
    def of(cls, data: Dataset) -> Rows:
        """All rows of a dataset."""
        in_a = data.sensitive == data.group_a
        X = np.column_stack((data.X, in_a))
        return cls(X, data.target, data.tasks, in_a, data.fair_score)

    @property
    def group_column(self) -> int:
        """Where in X the group is."""
        return int(self.X.shape[1]) - 1

    def take(self, chosen: Bools) -> Rows:
        """The chosen rows."""
        return Rows(
            self.X[chosen],
            self.y[chosen],
            self.tasks[chosen],
            self.in_a[chosen],
            None if self.fair is None else self.fair[chosen],
        )


class Predictions(NamedTuple):
    """What a method predicts for the rows it learnt from and for the others."""

    train: Floats
    held_out: Floats


class Method(NamedTuple):
    """What gives predictions, and whether new rows must come with their group."""

    predict: Callable[[Rows, Rows, float], Predictions]
    needs_group: str  # "yes" or "no"; of what nobody can compute "-"


def fit_linear(train: Rows, epsilon: float, **settings: Any) -> RankFairRegressor:
    """Return a `RankFairRegressor`, with its defaults but for some settings.

    Parameters
    ----------
    train : Rows
        The rows to learn from.
    epsilon : float
        Half width of the band.
    **settings
        Other settings of the estimator.

    Returns
    -------
    RankFairRegressor

    Examples
    --------
    >>> from rankfair.datasets import make_biased_tasks
    >>> rows = Rows.of(make_biased_tasks(4, 20, random_state=0))
    >>> fit_linear(rows, 0.1).status_
    'satisfied'
    """
    model = RankFairRegressor(
        epsilon, sensitive_features=train.group_column, **settings
    )
    return model.fit(train.X, train.y, tasks=train.tasks)


def _predictions(model: Any, train: Rows, held_out: Rows) -> Predictions:
    return Predictions(
        model.predict(train.X, tasks=train.tasks),
        model.predict(held_out.X, tasks=held_out.tasks),
    )


def _linear(**settings: Any) -> Callable[[Rows, Rows, float], Predictions]:
    """`RankFairRegressor` with some settings; an ε among them is not that asked for."""

    def method(train: Rows, held_out: Rows, epsilon: float) -> Predictions:
        model = fit_linear(train, **{"epsilon": epsilon, **settings})
        return _predictions(model, train, held_out)

    return method


def _constant_shift(train: Rows, held_out: Rows, epsilon: float) -> Predictions:
    """The unconstrained fit; one number is added to the predictions of each group.

    The numbers put left-out predictions into the band.
    """
    model = fit_linear(train, FREE, blind=False)
    plain = _predictions(model, train, held_out)
    left_out = model.loo_predictions_
    moved = shift(left_out, train.in_a, Rank(epsilon).band(Groups(train.in_a)))
    step = moved - left_out
    # All rows of a group move by the same step but for rounding.
    up, down = np.median(step[train.in_a]), np.median(step[~train.in_a])
    return Predictions(
        plain.train + np.where(train.in_a, up, down),
        plain.held_out + np.where(held_out.in_a, up, down),
    )


def _post_processor(train: Rows, held_out: Rows, epsilon: float) -> Predictions:
    """The unconstrained fit, and a monotone map of the predictions of each group."""
    group, names = train.group_column, np.unique(train.tasks)
    free = RankFairRegressor(
        FREE, tasks=group + 1, sensitive_features=group, blind=False
    )
    model = RankFairPostprocessor(free, epsilon, sensitive_features=group)

    def with_tasks(rows: Rows) -> Floats:
        return np.column_stack((rows.X, np.searchsorted(names, rows.tasks)))

    model.fit(with_tasks(train), train.y)
    return Predictions(
        model.predict(with_tasks(train)), model.predict(with_tasks(held_out))
    )


def _fair_score(train: Rows, held_out: Rows, epsilon: float) -> Predictions:
    """What no method can know: the target without the gap and without noise."""
    assert train.fair is not None and held_out.fair is not None
    return Predictions(train.fair, held_out.fair)


DEFAULT = "tilt (default)"
METHODS: dict[str, Method] = {
    "unconstrained": Method(_linear(epsilon=FREE, blind=False), "yes"),
    "unconstrained, blind": Method(_linear(epsilon=FREE), "no"),
    "paper's solver": Method(
        _linear(
            blind=False, solver="paper", penalty="task", beta=BETA_PAPER, random_state=0
        ),
        "yes",
    ),
    "constant shift": Method(_constant_shift, "yes"),
    "post-processor": Method(_post_processor, "yes"),
    "tilt, with group": Method(_linear(blind=False), "yes"),
    DEFAULT: Method(_linear(), "no"),
    "true fair score": Method(_fair_score, "-"),
}
