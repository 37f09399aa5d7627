"""What `fit` is given, checked: target, weights, and the group of each row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from scipy.sparse import issparse

from rankfair._frames import Codes, Floats, open_table
from rankfair._inner import check_unit
from rankfair._validation import (
    check_lengths,
    feature_record,
    has_names,
    read_target,
    read_weights,
)
from rankfair.constraints.rank import deviation
from rankfair.postprocess.demands import Demand
from rankfair.postprocess.groups import find_groups, read_labels

__all__ = ["Given", "count_rows", "read_given"]


@dataclass(frozen=True)
class Given:
    """Checked training rows, beside what the estimator sees of them.

    Attributes
    ----------
    target : ndarray of shape (N,), or None if it is not needed
    weights : ndarray of shape (N,), or None if all weigh one
    columns : tuple of the columns of X that hold groups, empty for groups passed as an
        array; None if there are no groups, as then `codes` and `groups` are
    codes : ndarray of shape (N,), places in `groups`, −1 for rows of unknown group
    groups : ndarray of shape (n_groups,)
    names : tuple of the names under which groups were passed, None if not by name
    """

    target: Floats | None
    weights: Floats | None
    columns: tuple[int, ...] | None = None
    codes: Codes | None = None
    groups: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None

    @property
    def n_unknown(self) -> int:
        """How many rows are of no group; those of weight zero count as absent."""
        if self.codes is None:
            return 0
        unknown = self.codes < 0
        return int(
            (unknown if self.weights is None else unknown & (self.weights > 0)).sum()
        )

    @property
    def spread(self) -> float:
        """The standard deviation of the target, NaN without one."""
        if self.target is None:
            return math.nan
        return deviation(self.target, self.weights)


def read_given(
    model: Any, demand: Demand, X: Any, y: Any, labels: Any, sample_weight: Any
) -> Given:
    """Check what was passed to ``fit`` of a `RankFairPostprocessor`."""
    n_rows = count_rows(X)
    feature_record(X)  # what could not be stored is not fitted either
    target = None if y is None and model.prefit else read_target(y)
    if target is None and (model.calibrate or "mean" in demand.epsilons):
        raise ValueError(
            "y is missing: calibrate=True fits lines to it, and the epsilon of "
            '"mean" is in its standard deviations. Pass y, or leave them out.'
        )
    check_lengths(n_rows, y=target)
    if target is not None:
        check_unit(target)
    weights = read_weights(sample_weight, n_rows)
    source = read_labels(X, model.sensitive_features, labels, n_rows)
    if source is None:
        return Given(target, weights)
    codes, groups = find_groups(source, weights)
    if "mean" in demand.epsilons and len(groups) > 2:
        raise ValueError(
            f'constraints="mean" compares two groups; sensitive_features has '
            f"{len(groups)}. Leave out the mean, or merge groups."
        )
    names = source.names if has_names(labels) else None
    return Given(target, weights, source.at, codes, groups, names)


def count_rows(X: Any) -> int:
    """Return how many rows a table has, sparse or not."""
    return X.shape[0] if issparse(X) else open_table(X).shape[0]
