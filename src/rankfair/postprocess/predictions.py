"""The estimator, fitted, and the predictions that the maps are learnt on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples, check_is_fitted

from rankfair._folds import Folds, deal_folds, gives_folds, out_of_fold, split_folds
from rankfair._frames import Codes, Floats
from rankfair._inner import fitted_to, predictions_of, taken, weight_argument
from rankfair.postprocess.readings import Given

__all__ = ["fit_and_predict"]


def fit_and_predict(model: Any, X: Any, given: Given) -> tuple[Any, Floats]:
    """Return the fitted estimator, and predictions of the training rows.

    They are its own, or with ``cv`` those of fits that did not see the row.
    """
    if model.prefit:
        _check_fitted(model.estimator)
        return model.estimator, predictions_of(model.estimator, X)
    _warn_weightless(model.estimator, given.weights)
    estimator = fitted_to(model.estimator, X, given.target, given.weights)
    whole = predictions_of(estimator, X)
    if model.cv is None:
        return estimator, whole
    n_rows = _num_samples(X)
    if gives_folds(model.cv):
        folds = split_folds(model.cv, X, given.target)
    else:
        folds = _dealt(model, given, n_rows)
    y, weights = given.target, given.weights
    assert y is not None

    def predicted(train: Codes, test: Codes) -> tuple[Floats, Floats]:
        seen = taken(model.estimator, X, train)
        own = None if weights is None else weights[train]
        fold = fitted_to(model.estimator, seen, y[train], own)
        held = taken(model.estimator, X, test, train)
        return predictions_of(fold, seen), predictions_of(fold, held)

    codes = np.zeros(n_rows, np.intp) if given.codes is None else given.codes
    return estimator, out_of_fold(whole, folds, predicted, codes, weights)


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


def _check_fitted(estimator: Any) -> None:
    if not hasattr(estimator, "__sklearn_tags__"):
        return  # of another library: what it predicts is all there is to know
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        raise NotFittedError(
            f"prefit=True, but this {type(estimator).__name__} is not fitted. Fit it "
            "first, or leave prefit=False. Clones, which searches, cross-validation "
            "and fairness_path make, forget a fit: "
            "sklearn.frozen.FrozenEstimator(estimator) keeps it."
        ) from None


def _warn_weightless(estimator: Any, weights: Floats | None) -> None:
    if weights is not None and weight_argument(estimator) is None:
        warnings.warn(
            f"{type(estimator).__name__}.fit takes no sample_weight: it is fitted "
            "without weights, and only the maps are weighted.",
            UserWarning,
            stacklevel=4,
        )
