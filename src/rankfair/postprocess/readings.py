"""What `fit` is given, checked: settings, target, weights, the group of each row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rankfair._folds import check_cv
from rankfair._frames import Codes, Floats, open_table
from rankfair._inner import check_unit
from rankfair._validation import (
    check_choice,
    check_flag,
    check_lengths,
    check_number,
    check_seed,
    feature_record,
    has_names,
    read_target,
    read_weights,
)
from rankfair.constraints.rank import deviation
from rankfair.postprocess.groups import find_groups, read_labels
from rankfair.postprocess.maps import CONSTRAINTS_OF
from rankfair.postprocess.standing import GAPS

__all__ = ["Given", "MapSettings", "check_settings", "count_rows", "read_given"]

MOST = {"rank": 0.5, "distribution": 1.0}  # of ε; of the others it has no end


class MapSettings(NamedTuple):
    """The method, the constraint and its ε."""

    method: str
    constraint: str
    epsilon: float


def check_settings(model: Any) -> MapSettings:
    """Check the settings of a `RankFairPostprocessor`, and settle on a method."""
    constraint, method = model.constraints, model.method
    check_choice("constraints", constraint, tuple(GAPS))
    check_choice("method", method, ("auto", *CONSTRAINTS_OF))
    if method == "auto":
        method = "least" if constraint in CONSTRAINTS_OF["least"] else "line"
    if constraint not in CONSTRAINTS_OF[method]:
        known = " or ".join(f'"{name}"' for name in CONSTRAINTS_OF[method])
        raise ValueError(
            f'method="{method}" knows constraints={known}; got "{constraint}". Use '
            'method="line", which knows all.'
        )
    epsilon = check_number("epsilon", model.epsilon, 0.0, MOST.get(constraint, np.inf))
    for flag in ("blind", "prefit"):
        check_flag(flag, getattr(model, flag))
    needed = ("predict",) if model.prefit else ("fit", "predict")
    if isinstance(model.estimator, type) or not all(
        hasattr(model.estimator, name) for name in needed
    ):
        raise TypeError(
            f"estimator must be a regressor with {' and '.join(needed)}; got "
            f"{model.estimator!r:.60}."
        )
    if not model.prefit and not hasattr(model.estimator, "get_params"):
        raise TypeError(
            f"estimator ({type(model.estimator).__name__}) cannot be cloned: it has no "
            "get_params as scikit-learn's have. Fit it yourself and set prefit=True."
        )
    if model.cv is not None and model.prefit:
        raise ValueError(
            "cv refits the estimator on folds, which prefit=True rules out. Leave "
            "cv=None and pass rows that it has not seen."
        )
    check_cv(model.cv)
    check_seed("random_state", model.random_state)
    return MapSettings(method, constraint, epsilon)


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
    model: Any, constraint: str, X: Any, y: Any, labels: Any, sample_weight: Any
) -> Given:
    """Check what was passed to ``fit`` of a `RankFairPostprocessor`."""
    n_rows = count_rows(X)
    feature_record(X)  # what could not be stored is not fitted either
    target = None if y is None and model.prefit else read_target(y)
    if target is None and constraint not in MOST:
        raise ValueError(
            f'y is missing: with constraints="{constraint}" epsilon is in its standard '
            "deviations. Pass y."
        )
    check_lengths(n_rows, y=target)
    if target is not None:
        check_unit(target)
    weights = read_weights(sample_weight, n_rows)
    source = read_labels(X, model.sensitive_features, labels, n_rows)
    if source is None:
        return Given(target, weights)
    codes, groups = find_groups(source, weights)
    names = source.names if has_names(labels) else None
    return Given(target, weights, source.at, codes, groups, names)


def count_rows(X: Any) -> int:
    """Return how many rows a table has, sparse or not."""
    return X.shape[0] if issparse(X) else open_table(X).shape[0]
