"""What is compared: a base model as it is, and what makes it fair.

All read the same predictors, never the group; tasks are columns of 0 and 1 for base
models.  Ours are made with their default settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankfair import (
    DecisionBoundaryCovariance,
    RankFairPostprocessor,
    RankFairRegressor,
    StratifiedBalancedResiduals,
    StratifiedEqualMeans,
    TiltedRegressor,
)

from .cases import Rows

Predict = Callable[[Rows], np.ndarray]
Base = Callable[[], Any]
RIDGE, BOOSTING = "ridge", "LightGBM"
FOLDS = KFold(5, shuffle=True, random_state=0)


@dataclass(frozen=True)
class Method:
    """A method on a base model; `by_group` if it reads the group of new rows."""

    base: str
    name: str
    fit: Callable[[Rows], Predict]
    by_group: bool = False
    ours: bool = False
    fair: bool = True  # whether it asks for fairness at all


def ridge() -> Any:
    """Ridge regression of standardised predictors, its weight chosen."""
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13)))


def boosting() -> Any:
    """LightGBM as it is; one thread, and a seed."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)


def table(rows: Rows, known: np.ndarray) -> pd.DataFrame:
    """Predictors, and a column of 0 and 1 for each task of training."""
    columns = rows.tasks[:, None] == known
    names = [f"task{j}" for j in range(len(known))]
    return pd.concat([rows.X, pd.DataFrame(columns * 1.0, columns=names)], axis=1)


def plain(base: Base) -> Callable[[Rows], Predict]:
    def fit(rows: Rows) -> Predict:
        known = np.unique(rows.tasks)
        model = base().fit(table(rows, known), rows.y)
        return lambda new: model.predict(table(new, known))

    return fit


def moved(base: Base, learn: Callable[..., Any]) -> Callable[[Rows], Predict]:
    """Predictions moved by what is learnt from those out of fold."""

    def fit(rows: Rows) -> Predict:
        known = np.unique(rows.tasks)
        X = table(rows, known)
        model = base().fit(X, rows.y)
        m = cross_val_predict(base(), X, rows.y, cv=FOLDS)
        move = learn(m, rows.in_a)
        return lambda new: move(model.predict(table(new, known)), new.in_a)

    return fit


def shift(m: np.ndarray, in_a: np.ndarray) -> Callable[..., np.ndarray]:
    """Move both groups by a constant each: as many pairs one way as the other."""
    off = np.median(np.subtract.outer(m[in_a], m[~in_a]))
    share = in_a.mean()
    return lambda new, of_a: new - off * np.where(of_a, 1 - share, -share)


def equipy(m: np.ndarray, in_a: np.ndarray) -> Callable[..., np.ndarray]:
    from equipy.fairness import FairWasserstein

    mover = FairWasserstein()
    mover.fit(m, in_a.astype(int))
    return lambda new, of_a: np.ravel(mover.transform(new, of_a.astype(int)))


def without_correlation(base: Base) -> Callable[[Rows], Predict]:
    def fit(rows: Rows) -> Predict:
        from fairlearn.preprocessing import CorrelationRemover

        known = np.unique(rows.tasks)

        def seen(new: Rows) -> pd.DataFrame:
            return table(new, known).assign(group=new.in_a * 1.0)

        remover = CorrelationRemover(sensitive_feature_ids=["group"]).fit(seen(rows))
        model = base().fit(remover.transform(seen(rows)), rows.y)
        return lambda new: model.predict(remover.transform(seen(new)))

    return fit


def by_task(model: Callable[[], Any]) -> Callable[[Rows], Predict]:
    """Our linear models, which have a line for each task."""

    def fit(rows: Rows) -> Predict:
        groups = {"sensitive_features": rows.in_a}
        made = model().fit(rows.X, rows.y, tasks=rows.tasks, **groups)
        return lambda new: made.predict(new.X, tasks=new.tasks)

    return fit


def around(wrapper: Any, base: Base, by_group: bool) -> Callable[[Rows], Predict]:
    """Ours around a base model."""

    def fit(rows: Rows) -> Predict:
        known = np.unique(rows.tasks)
        made = wrapper(base())
        made.fit(table(rows, known), rows.y, sensitive_features=rows.in_a)

        def predict(new: Rows) -> np.ndarray:
            more = {"sensitive_features": new.in_a} if by_group else {}
            return made.predict(table(new, known), **more)

        return predict

    return fit


def methods() -> Iterator[Method]:
    for name, base in ((RIDGE, ridge), (BOOSTING, boosting)):
        yield Method(name, "plain", plain(base), fair=False)
        yield Method(name, "constant shift", moved(base, shift), True)
        yield Method(name, "EquiPy", moved(base, equipy), True)
        removed = without_correlation(base)
        yield Method(name, "CorrelationRemover", removed, True)
        if name == RIDGE:
            for own in (
                RankFairRegressor,
                DecisionBoundaryCovariance,
                StratifiedEqualMeans,
                StratifiedBalancedResiduals,
            ):
                yield Method(name, own.__name__, by_task(own), ours=True)
        tilted = around(TiltedRegressor, base, False)
        yield Method(name, "TiltedRegressor", tilted, ours=True)
        mapped = around(RankFairPostprocessor, base, True)
        yield Method(name, "RankFairPostprocessor", mapped, True, ours=True)


METHODS = tuple(methods())
