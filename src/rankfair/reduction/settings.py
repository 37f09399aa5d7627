"""Settings of a `TiltedRegressor`, checked, and what they ask for."""

from __future__ import annotations

from typing import Any

from rankfair._folds import check_cv
from rankfair._frames import shown
from rankfair._validation import (
    check_bins,
    check_flag,
    check_seed,
    check_verbose,
)
from rankfair.constraints import Constraint
from rankfair.estimators.settings import read_constraints

__all__ = ["check_settings"]


def check_settings(model: Any) -> tuple[Constraint, ...]:
    """Check the settings of a `TiltedRegressor`; return what is asked for."""
    for method in ("fit", "predict", "get_params"):
        if not hasattr(model.estimator, method) or isinstance(model.estimator, type):
            raise ValueError(
                "estimator must be a regressor like scikit-learn's, an object with "
                f"fit, predict and get_params; got {shown(model.estimator)}."
            )
    check_flag("blind", model.blind)
    check_flag("intersect", model.intersect)
    check_bins(model.bins)
    check_verbose(model.verbose)
    check_seed("random_state", model.random_state)
    check_cv(model.cv)
    return read_constraints(model)
