"""Settings of a `RankFairPostprocessor`, checked."""

from __future__ import annotations

from typing import Any

from rankfair._folds import check_cv
from rankfair._validation import check_flag, check_seed
from rankfair.postprocess.demands import Demand

__all__ = ["check_settings"]


def check_settings(model: Any) -> Demand:
    """Check the settings, and return what is asked of the maps."""
    demand = Demand.of(model.constraints, model.epsilon)
    for flag in ("blind", "prefit", "calibrate"):
        check_flag(flag, getattr(model, flag))
    needed = ("predict",) if model.prefit else ("fit", "predict")
    if isinstance(model.estimator, type) or not all(
        hasattr(model.estimator, method) for method in needed
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
    return demand
