"""Settings of a `RankFairPostprocessor`, checked."""

from __future__ import annotations

from typing import Any

from rankfair._folds import check_cv
from rankfair._validation import check_flag, check_seed
from rankfair.postprocess.demands import Demand

__all__ = ["check_settings"]


def check_settings(model: Any) -> Demand:
    """Check the settings, and return what is asked of the maps."""
    demand = Demand.of(model.balance, model.epsilon)
    for flag in ("blind", "prefit", "calibrate"):
        check_flag(flag, getattr(model, flag))
    for method in ("fit", "predict"):
        if not hasattr(model.estimator, method) or isinstance(model.estimator, type):
            raise TypeError(
                "estimator must be a regressor with fit and predict; got "
                f"{model.estimator!r:.60}."
            )
    if model.cv is not None and model.prefit:
        raise ValueError(
            "cv refits the estimator on folds, which prefit=True rules out. Leave "
            "cv=None and pass rows that it has not seen."
        )
    check_cv(model.cv)
    check_seed("random_state", model.random_state)
    return demand
