"""The estimator, fitted, and the predictions that the maps are learnt on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import _num_samples, check_is_fitted

from rankfair._folds import Folds, deal_folds, gives_folds, split_folds
from rankfair._frames import Floats
from rankfair._inner import read_predictions, weight_argument
from rankfair.postprocess.readings import Given

__all__ = ["fit_and_predict", "predictions_of"]


def fit_and_predict(model: Any, X: Any, given: Given) -> tuple[Any, Floats]:
    """Return the fitted estimator, and predictions of the training rows.

    They are its own, or with ``cv`` those of fits that did not see the row.
    """
    if model.prefit:
        _check_fitted(model.estimator)
        return model.estimator, predictions_of(model.estimator, X)
    params = _weight_params(model.estimator, given.weights)
    estimator = clone(model.estimator).fit(X, given.target, **params)
    if model.cv is None:
        return estimator, predictions_of(estimator, X)
    n_rows = _num_samples(X)
    if gives_folds(model.cv):
        folds = split_folds(model.cv, X, given.target)
    else:
        folds = _dealt(model, given, n_rows)
    m = cross_val_predict(
        clone(model.estimator), X, given.target, cv=folds, params=params
    )
    return estimator, read_predictions(m, n_rows)


def _dealt(model: Any, given: Given, n_rows: int) -> Folds:
    """Deal rows out by group, so that a rare one is in as many folds as can be."""
    cells = np.zeros(n_rows, np.intp) if given.codes is None else given.codes + 1
    if given.weights is not None:
        # Rows of weight zero count as absent: they must not stand in for others.
        cells = 2 * cells + (given.weights > 0)
    if n_rows < model.cv:
        raise ValueError(
            f"cv={model.cv} folds need as many rows; there are {n_rows}. Use fewer "
            "folds."
        )
    return deal_folds(cells, model.cv, np.random.default_rng(model.random_state))


def predictions_of(estimator: Any, X: Any) -> Floats:
    """Return what an estimator predicts as new floats, one a row, all finite."""
    return read_predictions(estimator.predict(X), _num_samples(X))


def _check_fitted(estimator: Any) -> None:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"prefit=True, but this {type(estimator).__name__} is not fitted. Fit it "
            "first, or leave prefit=False. What clones models, as cross-validation and "
            "fairness_path do, forgets the fit of all but sklearn.frozen."
            "FrozenEstimator(estimator)."
        ) from None


def _weight_params(estimator: Any, weights: Floats | None) -> dict[str, Any]:
    if weights is None:
        return {}
    name = weight_argument(estimator)
    if name is not None:
        return {name: weights}
    warnings.warn(
        f"{type(estimator).__name__}.fit takes no sample_weight: it is fitted "
        "without weights, and only the maps are weighted.",
        UserWarning,
        stacklevel=4,
    )
    return {}
