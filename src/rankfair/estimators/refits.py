"""Estimators of others: how they are fitted, weighted and asked out of fold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples, has_fit_parameter

from rankfair.input.arrays import Codes, Floats
from rankfair.input.errors import counted
from rankfair.input.training import read_target

WEIGHTS = "sample_weight"
LARGE = 1e140  # squares of sums of larger numbers overflow; one over it, they vanish


def check_unit(y: Floats, argument: str = "y") -> None:
    """Refuse numbers of which errors cannot be squared, by no estimator either.

    Examples
    --------
    >>> import numpy as np
    >>> check_unit(np.array([1e100, -1e100]))
    """
    size, apart = float(np.abs(y).max()), float(np.ptp(y / 2)) * 2
    what = f"{argument} has values of up to {size:.3g}: their squares overflow"
    if size <= LARGE:
        what = (
            f"{argument} has values at most {apart:.3g} apart: squares of that vanish"
        )
    if size > LARGE or 0.0 < apart < 1 / LARGE:
        raise ValueError(f"{what}. Give y in another unit.")


def weight_argument(estimator: Any) -> str | None:
    """Return how ``fit`` of this estimator calls its weights, None if it takes none.

    Of pipelines these are the weights of the last step.  Searches, transformed targets
    and the like hand on what they are given.

    Examples
    --------
    >>> from sklearn.compose import TransformedTargetRegressor
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_argument(make_pipeline(Ridge()))
    'ridge__sample_weight'
    >>> weight_argument(TransformedTargetRegressor(Ridge()))
    'sample_weight'
    >>> weight_argument(KNeighborsRegressor()) is None
    True
    """
    name = _weight_argument(estimator)
    if name is not None and get_config()["enable_metadata_routing"]:
        return WEIGHTS  # it finds its way by what the steps request
    return name


def _weight_argument(estimator: Any) -> str | None:
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = _weight_argument(last)
        return None if inner is None else f"{step}__{inner}"
    if has_fit_parameter(estimator, WEIGHTS):
        return WEIGHTS
    parameters = signature(estimator.fit).parameters.values()
    if not any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        return None
    several = getattr(estimator, "estimators", None)
    if several is not None:  # all get them under one name
        each = [own for _, own in several if not isinstance(own, str)]
        each.append(getattr(estimator, "final_estimator", None))
        names = {_weight_argument(own) for own in each if own is not None}
        return WEIGHTS if names == {WEIGHTS} else None
    if isinstance(estimator, TransformedTargetRegressor):
        own = estimator.regressor
        return WEIGHTS if own is None else _weight_argument(own)
    own = getattr(estimator, "estimator", None)
    return None if own is None else _weight_argument(own)


def fitted_to(template: Any, X: Any, y: Any, weights: Floats | None) -> Any:
    """Return a clone fitted to a target, with weights if it takes them.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> fitted_to(DummyRegressor(), [[0], [0]], [1.0, 4.0], [2.0, 1.0]).predict([[0]])
    array([2.])
    """
    name = None if weights is None else weight_argument(template)
    more = {} if name is None else {name: weights}
    return clone(template).fit(X, y, **more)


def is_pairwise(estimator: Any) -> bool:
    """Whether X is a matrix of kernels or distances: a column for each row learnt from.

    Examples
    --------
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> is_pairwise(KernelRidge(kernel="precomputed")), is_pairwise(KernelRidge())
    (True, False)
    """
    known = hasattr(estimator, "__sklearn_tags__")
    return known and bool(get_tags(estimator).input_tags.pairwise)


def taken(estimator: Any, X: Any, rows: Codes, train: Codes | None = None) -> Any:
    """Some rows; of a matrix of kernels also the columns that were learnt from.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> taken(Ridge(), np.eye(3), np.array([2])).tolist()
    [[0.0, 0.0, 1.0]]
    """
    if not is_pairwise(estimator):
        return _safe_indexing(X, rows)
    return _safe_split(estimator, X, None, rows, train)[0]


def predictions_of(estimator: Any, X: Any) -> Floats:
    """Return what an estimator predicts as new floats, one a row, all finite.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> predictions_of(DummyRegressor().fit([[0], [0]], [1, 3]), [[0], [1]]).tolist()
    [2.0, 2.0]
    """
    values, n_rows = np.asarray(estimator.predict(X)), _num_samples(X)
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
