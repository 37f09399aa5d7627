"""Settings of a `TiltedRegressor`, checked, and what they ask for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

from rankfair._folds import check_cv
from rankfair._frames import shown
from rankfair._validation import (
    check_bins,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_seed,
    check_verbose,
)
from rankfair.balances import Balance, Distribution, Rank, make_balance
from rankfair.reduction.maps import WIDTH

__all__ = ["balance_of", "check_settings", "finish_of"]

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
    check_bins(model.bins)
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


def finish_of(model: Any, seen: bool) -> str:
    """Return what the last stage is; ``seen`` if the group is known at prediction."""
    if model.finish == "map" and not seen:
        raise ValueError(
            'finish="map" needs the group at prediction: name its column of X in '
            'sensitive_features, with blind=False; or use finish="auto".'
        )
    if model.finish == "auto" and seen:
        return "shift" if model.cv is None else "map"
    return model.finish if seen else "none"


def balance_of(model: Any, finish: str) -> Balance:
    """Return the balance asked for, with a wide kernel where there are maps."""
    balance = make_balance(model.balance, float(model.epsilon))
    if finish == "map" and model.balance == "rank":
        return replace(cast(Rank, balance), bandwidth=WIDTH)
    return balance
