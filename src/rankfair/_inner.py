"""The estimator inside a meta-estimator: its weights, its predictions, its refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from rankfair._frames import Floats, counted
from rankfair._validation import read_target

__all__ = ["explained", "read_predictions", "weight_argument"]


def weight_argument(estimator: Any) -> str | None:
    """Return how ``fit`` of this estimator calls its weights, None if it takes none.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_argument(make_pipeline(Ridge()))
    'ridge__sample_weight'
    >>> weight_argument(KNeighborsRegressor()) is None
    True
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def read_predictions(predicted: Any, n_rows: int) -> Floats:
    """Return what an estimator predicts as new floats, one a row, all finite.

    Examples
    --------
    >>> read_predictions([[1], [2]], 2).tolist()
    [1.0, 2.0]
    """
    values = np.asarray(predicted)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise ValueError(
            f"estimator must predict one number a row; got shape {values.shape} for "
            f"{n_rows} rows."
        )
    return read_target(values, "the estimator's prediction").copy()


@contextmanager
def explained(n_unknown: int) -> Iterator[None]:
    """Say, where an estimator refuses rows, that so many miss a label that it sees.

    Examples
    --------
    >>> with explained(0):
    ...     pass
    """
    try:
        yield
    except ValueError as error:
        if n_unknown:
            error.add_note(
                f"{counted(n_unknown, 'row misses', 'rows miss')} a label of "
                "sensitive_features, whose column of X the estimator sees as it is. "
                "Let it take missing values, in a pipeline for instance; or set "
                "blind=True; or pass groups to fit as an array."
            )
        if "could not convert string to float" in str(error):
            error.add_note(
                "A column of X holds text, which the estimator does not take. If it is "
                "the protected one, blind=True hides it; else encode it in a pipeline, "
                "with a ColumnTransformer for instance."
            )
        raise
