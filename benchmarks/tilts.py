"""What is fitted by bench_any and bench_groups alike: tilted refits, folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from rankfair import TiltedRegressor

EPSILON, FOLDS = 0.005, 5
TILTED: dict[str, dict[str, Any]] = {"tilted": {}, "tilted, cv=5": {"cv": FOLDS}}
Made = tuple[str, np.ndarray, int, float]  # name, predictions, refits, seconds


def out_of_fold(
    plain: Any, X: np.ndarray, y: np.ndarray, groups: np.ndarray, seed: int
) -> np.ndarray:
    """Predictions of training rows by models that did not see them."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, groups)
    return cross_val_predict(plain, X, y, cv=list(folds))


def tilted(
    plain: Any,
    X: np.ndarray,
    y: np.ndarray,
    new: np.ndarray,
    seed: int,
    clock: Callable[[], float],
) -> Iterator[Made]:
    """Refits, the group in the last column: predictions of new rows, and the cost."""
    for name, settings in TILTED.items():
        start = clock()
        fair = TiltedRegressor(
            plain, EPSILON, sensitive_features=-1, random_state=seed, **settings
        ).fit(X, y)
        seconds = clock() - start
        yield name, fair.predict(new), fair.n_refits_, seconds
