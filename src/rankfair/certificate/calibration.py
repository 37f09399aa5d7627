"""Calibration: groups moved by a constant each, learnt on half of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankfair._frames import (
    Codes,
    Floats,
    counted,
    find_known,
    label_array,
    listed,
    open_table,
    recode,
    shown,
)
from rankfair._groups import Bools
from rankfair._validation import (
    finite_predictions,
    is_reference,
    resolve_columns,
)
from rankfair.certificate.bounds import certify_rows, completed
from rankfair.certificate.records import Certificate
from rankfair.certificate.rows import Rows, predict, unwrapped
from rankfair.inference import ENOUGH_TASKS, clusters_of
from rankfair.projections import shift

__all__ = ["ShiftedModel", "calibrated"]


@dataclass(frozen=True)
class ShiftedModel:
    """A fitted model whose predictions are moved by a constant for each group.

    Rows of unknown group stay where they are, if the model predicts them at all.

    Attributes
    ----------
    model : fitted regressor
        What predicts first.
    sensitive_features : str or int
        The column of X that holds the group.
    steps : dict of label to float
        What is added to the predictions of each group.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> plain = LinearRegression().fit([[0.0, 0], [1.0, 1]], [0.0, 2.0])
    >>> model = ShiftedModel(plain, 1, {0: 0.5, 1: -0.5})
    >>> (model.predict([[0.0, 0]]) - plain.predict([[0.0, 0]])).tolist()
    [0.5]
    """

    model: Any
    sensitive_features: Any
    steps: dict[Any, float]

    def _inside(self, X: Any) -> tuple[Any, Any]:
        """The model, which knows the task columns of X."""
        return self.model, X

    def predict(self, X: Any, *, tasks: Any = None) -> Floats:
        """Return the model's predictions, moved by group.

        Parameters
        ----------
        X : array-like or data frame of shape (N, n_features_in_)
            Rows, the group among the columns.
        tasks : array-like of shape (N,), optional
            The task of each row, if the model needs them as an array.

        Returns
        -------
        ndarray of shape (N,)
            Predictions.
        """
        table = open_table(X)
        (at,) = resolve_columns("sensitive_features", self.sensitive_features, table)
        labels = label_array(list(self.steps))
        known = find_known(table.column(at), "sensitive_features")
        codes, others = recode(*known, labels)
        if others:
            raise ValueError(
                f"sensitive_features has groups that were not calibrated: "
                f"{listed(others)}; known are {listed(labels.tolist())}. Calibrate on "
                "rows of every group."
            )
        # The last step, for code −1, is that of rows of unknown group.
        steps = np.array([*self.steps.values(), 0.0])
        return finite_predictions(predict(self.model, X, tasks=tasks) + steps[codes])


def calibrated(
    model: Any, given: Any, rows: Rows, confidence: float, rng: np.random.Generator
) -> Certificate:
    """Learn the steps on one half of the rows and certify on the other."""
    column = _column_to_use(model, given, rows)
    first = _half(rows, rng)
    steps = _steps(rows.take(first))
    rest = rows.take(~first)
    m = rest.predicted + steps[rest.groups]
    moved = replace(rest, predicted=m, ranked=m)
    by_label = dict(zip(rows.labels.tolist(), steps.tolist(), strict=True))
    return replace(
        completed(
            certify_rows(moved, confidence),
            replace(moved, notes=()),
            f"Calibrated on {int(first.sum())} rows, certified on the other "
            f"{len(rest.groups)}.",
        ),
        model=ShiftedModel(model, column, by_label),
    )


def _column_to_use(model: Any, given: Any, rows: Rows) -> Any:
    """Return the column that tells the group at prediction, or say there is none."""
    if len(rows.labels) > 2:
        raise ValueError(
            f"calibrate=True moves two groups; there are {len(rows.labels)}. Use "
            "RankFairPostprocessor, or fit again."
        )
    if getattr(model, "blind", False) and not getattr(model, "maps_", None):
        # Maps by group: a post-processor only hides the column from its estimator.
        raise ValueError(
            "calibrate=True moves predictions by group, but the model is blind to the "
            "group. Fit it again on more rows instead."
        )
    column = getattr(model, "sensitive_features", None) if given is None else given
    column = unwrapped(column)
    if not is_reference(column):
        raise ValueError(
            "calibrate=True moves predictions by group, so the group must be a column "
            "of X: name it in sensitive_features, by name or position."
        )
    return column


def _half(rows: Rows, rng: np.random.Generator) -> Bools:
    """Choose half of the rows of each group, in whole units."""
    in_a = rows.groups == 1
    units = _units(rows.tasks, in_a)
    share = np.bincount(units, in_a) / np.bincount(units)
    order = rng.permutation(len(share))
    order = order[np.argsort(share[order] >= 0.5, kind="stable")]
    chosen = np.zeros(len(share), dtype=bool)
    chosen[order[::2]] = True
    half: Bools = chosen[units]
    for part in (half, ~half):
        if len(np.unique(rows.groups[part])) < 2:
            what = "rows" if rows.tasks is None else "rows, or tasks,"
            raise ValueError(
                f"calibrate=True needs two or more {what} of each group to halve; "
                f"got {counted(int((~in_a).sum()), 'row')} of "
                f"{shown(rows.labels[0])} and {int(in_a.sum())} of "
                f"{shown(rows.labels[1])}."
            )
    return half


def _units(tasks: Codes | None, in_a: Bools) -> Codes:
    """What may not be cut in two: tasks that are clusters, in either half; else rows.

    Halves of one task share what is its own, and a step learnt on one of them would
    flatter the other.
    """
    needed, possible, _ = clusters_of(tasks, in_a)
    if needed is not None:
        return needed
    if possible is not None and possible.max() + 1 >= 2 * ENOUGH_TASKS:
        return possible
    return np.arange(len(in_a))


def _steps(rows: Rows) -> Floats:
    """Return what moves the groups B and A so that AUC is 1/2 on these rows."""
    in_a = rows.groups == 1
    pairs = int(in_a.sum()) * int((~in_a).sum())
    moved = shift(rows.predicted, in_a, (pairs, pairs)) - rows.predicted
    # All rows of a group move by the same step but for rounding.
    return np.array([np.median(moved[~in_a]), np.median(moved[in_a])])
