"""Settings of a `TiltedRegressor`, checked."""

from __future__ import annotations

import math
from typing import Any

from rankfair._folds import check_cv
from rankfair._frames import shown
from rankfair._groups import MOST_GROUPS
from rankfair._validation import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    check_verbose,
)
from rankfair.balances import Balance, Distribution, Rank

__all__ = ["check_settings"]

FINISHES = ("auto", "map", "shift", "none")


def check_settings(model: Any) -> None:
    """Check the settings of a `TiltedRegressor`."""
    for method in ("fit", "predict", "get_params"):
        if not hasattr(model.estimator, method) or isinstance(model.estimator, type):
            raise ValueError(
                "estimator must be a regressor like scikit-learn's, an object with "
                f"fit, predict and get_params; got {shown(model.estimator)}."
            )
    check_flag("blind", model.blind)
    check_flag("intersect", model.intersect)
    if model.bins is not None and check_count("bins", model.bins, 2) > MOST_GROUPS:
        raise ValueError(f"bins must be at most {MOST_GROUPS}; got {model.bins}.")
    check_choice("finish", model.finish, FINISHES)
    check_count("max_refits", model.max_refits)
    check_verbose(model.verbose)
    check_seed("random_state", model.random_state)
    check_cv(model.cv)
    if isinstance(model.balance, list | tuple):
        raise ValueError(
            "balance must be one name or object here; got "
            f"{shown(list(model.balance))}. RankFairRegressor takes several at once."
        )
    if isinstance(model.balance, Distribution) or model.balance == "distribution":
        raise ValueError(
            'balance="distribution" is not one refit away: put '
            "RankFairPostprocessor on the unconstrained estimator instead."
        )
    if not isinstance(model.balance, Balance):
        check_choice("balance", model.balance, ("rank", "mean", "residual"))
    ranks = model.balance == "rank" or isinstance(model.balance, Rank)
    check_number("epsilon", model.epsilon, 0.0, 0.5 if ranks else math.inf)
