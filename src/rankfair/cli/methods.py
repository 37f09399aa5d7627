"""The methods that `rankfair compare` and `rankfair demo` try.

Each is made of the linear model that is asked for: its task and sensitive columns, its
ε, its penalty.  To add one, write a function from that model to an estimator and enter
it in `METHODS` with what it cannot do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

FREE = 0.5  # the band that asks for nothing


class Method(NamedTuple):
    """How an estimator is made of the linear model, and what it cannot deal with."""

    make: Callable[[Any], Any]
    bins: bool = True  # whether it cuts numbers into groups


def changed(model: Any, **settings: Any) -> Any:
    """Return a copy of the model with other settings, not fitted."""
    from sklearn.base import clone

    return clone(model).set_params(**settings)


def without_constraint(model: Any) -> Any:
    """Return the same model with a band that asks for nothing."""
    return changed(model, epsilon=FREE, constraints="rank", scope="global")


def _tilt(**settings: Any) -> Callable[[Any], Any]:
    return lambda model: changed(model, **{"constraints": "rank", **settings})


def _map(constraint: Any, way: Any) -> Method:
    def method(model: Any) -> Any:
        from rankfair.estimators.postprocess import RankFairPostprocessor

        return RankFairPostprocessor(
            without_constraint(model),
            model.epsilon,
            constraints=constraint,
            method=way,
            sensitive_features=model.sensitive_features,
        )

    return Method(method, bins=False)


def _baseline(name: str) -> Method:
    def method(model: Any) -> Any:
        from rankfair.estimators import baselines

        return getattr(baselines, name)(
            tasks=model.tasks,
            sensitive_features=model.sensitive_features,
            blind=model.blind,
            penalty=model.penalty,
            beta=model.beta,
        )

    return Method(method, bins=False)


METHODS: dict[str, Method] = {
    "unconstrained": Method(without_constraint),
    "constant shift": _map("rank", "shift"),
    "map of ranks": _map("rank", "least"),
    "map of distributions": _map("distribution", "least"),
    "tilt": Method(_tilt()),
    "tilt, ranks and means": Method(_tilt(constraints=["rank", "mean"])),
    "NC-ADMM": Method(_tilt(solver="ncadmm")),
    "equal means in strata": _baseline("StratifiedEqualMeans"),
    "balanced residuals in strata": _baseline("StratifiedBalancedResiduals"),
    "covariance": _baseline("DecisionBoundaryCovariance"),
}
