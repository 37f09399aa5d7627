"""The door of the metrics: checked predictions with groups and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfair._frames import Floats
from rankfair._groups import CUT_FIRST, Bools, Groups, read_attributes
from rankfair._validation import (
    check_lengths,
    group_mask,
    label_source_of_rows,
    read_ranked,
    read_target,
    read_weights,
)
from rankfair.core.ranks import Duels, counts_of, split, twice_u

__all__ = [
    "Rows",
    "duels_of",
    "one_attribute",
    "read_rows",
    "read_several",
    "read_true",
]


class Rows:
    """Checked predictions of rows whose group is known, with groups and weights."""

    def __init__(
        self,
        predicted: Floats,
        ranked: Floats,
        in_a: Bools,
        known: Bools | None,
        weights: Floats | None,
    ):
        self.n_rows = len(predicted)
        self.known = known
        self.predicted = self.kept(predicted)
        # Of the same order and ties, exactly.
        self.ranked = self.predicted if ranked is predicted else self.kept(ranked)
        self.in_a = self.kept(in_a)
        self.weights = None if weights is None else counts_of(self.kept(weights))
        self.size_a = self._size(self.in_a)
        self.size_b = self._size(~self.in_a)

    def kept(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what belongs to rows whose group is known."""
        return values if self.known is None else values[self.known]

    def _size(self, member: Bools) -> int | float:
        if self.weights is None:
            return int(np.count_nonzero(member))
        size: int | float = self.weights[member].sum().item()
        return size

    def gap(self, values: Floats) -> float:
        """Return the mean of ``values`` in A less that in B."""
        weights = self.weights
        means = [
            np.average(values[m], weights=None if weights is None else weights[m])
            for m in (self.in_a, ~self.in_a)
        ]
        return float(means[0] - means[1])

    def twice_u(self) -> int | float:
        """Return twice U of A over B; an integer where weights are whole."""
        a, b = split(self.ranked, self.in_a)
        if self.weights is None:
            return twice_u(a, b)
        return twice_u(a, b, *split(self.weights, self.in_a))


def read_rows(y_true: Any, y_pred: Any, groups: Any, sample_weight: Any) -> Rows:
    """Check what a metric of two groups was given."""
    predicted, ranked, weights = _read(y_true, y_pred, sample_weight)
    in_a, known = group_mask(groups, len(predicted), weights)
    return Rows(predicted, ranked, in_a, known, weights)


def _read(
    y_true: Any, y_pred: Any, sample_weight: Any
) -> tuple[Floats, Floats, Floats | None]:
    predicted, ranked = read_ranked(y_pred, "y_pred")
    weights = read_weights(sample_weight, len(predicted))
    check_lengths(len(predicted), y_true=y_true)
    return predicted, ranked, weights


def read_several(
    y_true: Any, y_pred: Any, groups: Any, sample_weight: Any
) -> tuple[Floats, list[Groups], NDArray[Any] | None]:
    """Check what a metric of several groups was given: a `Groups` an attribute."""
    _, ranked, weights = _read(y_true, y_pred, sample_weight)
    source = label_source_of_rows(groups, len(ranked))
    counts = None if weights is None else counts_of(weights)
    return ranked, read_attributes(source, weights, cure=CUT_FIRST), counts


def one_attribute(
    y_true: Any, y_pred: Any, groups: Any, sample_weight: Any
) -> tuple[list[Any], Duels]:
    """Return the labels of the only attribute, and how its groups compare."""
    predicted, attributes, weights = read_several(y_true, y_pred, groups, sample_weight)
    if len(attributes) > 1:
        raise ValueError(
            f"sensitive_features has {len(attributes)} columns: groups of one "
            "attribute are compared. rank_gap takes several."
        )
    (groups,) = attributes
    return groups.labels.tolist(), duels_of(predicted, groups, weights)


def duels_of(predicted: Floats, groups: Groups, weights: NDArray[Any] | None) -> Duels:
    """Compare every two groups of an attribute."""
    return Duels.of(predicted, groups.codes, len(groups.labels), weights)


def read_true(y_true: Any, n_rows: int) -> Floats:
    """Check what was observed."""
    observed = read_target(y_true, "y_true")
    check_lengths(n_rows, y_true=observed)
    return observed
