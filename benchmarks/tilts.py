"""What is fitted by bench_any and bench_groups alike: tilted refits, folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from rankfair import TiltedRegressor

EPSILON, FOLDS = 0.005, 5
TILTED: dict[str, dict[str, Any]] = {
    "tilted": {"cv": None},
    "tilted, cv=5": {"cv": FOLDS},
}
Made = tuple[str, np.ndarray, int, float]  # name, predictions, refits, seconds


def out_of_fold(
    plain: Any, X: np.ndarray, y: np.ndarray, groups: np.ndarray, seed: int
) -> np.ndarray:
    """Predictions of training rows by models that did not see them."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, groups)
    return cross_val_predict(plain, X, y, cv=list(folds))


def level_steps(m: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """What to add to each of the groups 0, 1, … so that none ranks above the rest.

    Each in turn is moved to AUC 1/2 against the rest, until steps are small.
    """
    steps, spread = np.zeros(int(groups.max()) + 1), float(np.ptp(m)) or 1.0
    for _ in range(100):
        before = steps.copy()
        for g in range(len(steps)):
            own = groups == g
            rest = m[~own] + steps[groups[~own]]
            ends = [-spread - np.abs(steps).max(), spread + np.abs(steps).max()]
            for _ in range(40):
                middle = sum(ends) / 2
                above = _auc(m[own] + middle, rest) > 0.5
                ends[int(above)] = middle
            steps[g] = sum(ends) / 2
        steps -= steps[groups].mean()
        if np.abs(steps - before).max() <= 1e-9 * spread:
            break
    return steps


def _auc(own: np.ndarray, rest: np.ndarray) -> float:
    ranks = np.sort(rest)
    below = np.searchsorted(ranks, own) + np.searchsorted(ranks, own, side="right")
    return float(below.mean() / (2 * len(rest)))


def tilted(
    plain: Any,
    X: np.ndarray,
    y: np.ndarray,
    groups: np.ndarray,
    new: np.ndarray,
    seed: int,
    clock: Callable[[], float],
) -> Iterator[Made]:
    """Refits that do not see the group: predictions of new rows, and the cost."""
    for name, settings in TILTED.items():
        start = clock()
        fair = TiltedRegressor(plain, EPSILON, random_state=seed, **settings)
        fair.fit(X, y, sensitive_features=groups)
        seconds = clock() - start
        yield name, fair.predict(new), fair.n_refits_, seconds
