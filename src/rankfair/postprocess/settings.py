"""Settings of a `RankFairPostprocessor`, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rankfair._validation import check_count, check_flag
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
    if not hasattr(model.cv, "split") and not isinstance(model.cv, Iterable | None):
        check_count("cv", model.cv, low=2)
    return demand
