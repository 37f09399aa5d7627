"""The methods that `rankfair compare` and `rankfair demo` try.

Each is made of the linear model that is asked for: its task and sensitive columns, its
ε, its penalty.  To add one, write a function from that model to an estimator, which
raises where it cannot, and enter it in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

FREE = 0.5  # the band that asks for nothing
Method: TypeAlias = Callable[[Any], Any]


def changed(model: Any, **settings: Any) -> Any:
    """Return a copy of the model with other settings, not fitted."""
    from sklearn.base import clone

    return clone(model).set_params(**settings)


def without_constraint(model: Any) -> Any:
    """Return the same model with a band that asks for nothing."""
    return changed(model, epsilon=FREE, constraints="rank", scope="global")


def _refuse_bins(model: Any) -> None:
    if model.bins is not None:
        raise ValueError("numbers are not cut into groups.")


def _mapped(model: Any, constraint: Any, way: Any) -> Any:
    from rankfair.estimators.postprocess import RankFairPostprocessor

    _refuse_bins(model)
    return RankFairPostprocessor(
        without_constraint(model),
        model.epsilon,
        constraints=constraint,
        method=way,
        sensitive_features=model.sensitive_features,
    )


def _baseline(model: Any, name: str) -> Any:
    from rankfair.estimators import baselines

    _refuse_bins(model)
    return getattr(baselines, name)(
        tasks=model.tasks,
        sensitive_features=model.sensitive_features,
        blind=model.blind,
        penalty=model.penalty,
        beta=model.beta,
    )


METHODS: dict[str, Method] = {
    "unconstrained": without_constraint,
    "constant shift": partial(_mapped, constraint="rank", way="shift"),
    "map of ranks": partial(_mapped, constraint="rank", way="least"),
    "map of distributions": partial(_mapped, constraint="distribution", way="least"),
    "tilt": changed,
    "tilt, ranks and means": partial(changed, constraints=["rank", "mean"]),
    "NC-ADMM": partial(changed, solver="ncadmm"),
    "equal means in strata": partial(_baseline, name="StratifiedEqualMeans"),
    "balanced residuals in strata": partial(
        _baseline, name="StratifiedBalancedResiduals"
    ),
    "covariance": partial(_baseline, name="DecisionBoundaryCovariance"),
}
