"""The methods that `rankfair compare` tries: each is an estimator for a frame.

To add one, write a function of `MethodRequest` that returns an estimator.  It reads the
task and sensitive columns of X by name.  Enter it in `METHODS` with what it cannot do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

FREE = 0.5  # the band that asks for nothing

if TYPE_CHECKING:
    from rankfair.cli.data import ModelSettings
    from rankfair.files.columns import Roles

__all__ = ["GROUPLESS", "METHODS", "GroupFacts", "Method", "MethodRequest"]

GROUPLESS = (
    "it needs the group of every row; --drop-missing leaves out rows without one."
)


def one_or_all(names: tuple[str, ...]) -> Any:
    """Return names as an estimator takes them: none, the only one, or a list."""
    if not names:
        return None
    return names[0] if len(names) == 1 else list(names)


@dataclass(frozen=True)
class MethodRequest:
    """What a method has to know: columns and settings."""

    roles: Roles
    settings: ModelSettings

    @property
    def sensitive(self) -> Any:
        """The sensitive column or columns."""
        return one_or_all(self.roles.sensitive)

    @property
    def tasks(self) -> Any:
        """The task column or columns, or None."""
        return one_or_all(self.roles.tasks)

    def linear(self, **changed: Any) -> Any:
        """The linear model with some settings changed."""
        return replace(self.settings, **changed).model(self.roles)


def _free(asked: MethodRequest) -> Any:
    return asked.linear(epsilon=FREE, constraints=("rank",), scope="global")


def _mapped(constraint: str, way: str) -> Callable[[MethodRequest], Any]:
    def method(asked: MethodRequest) -> Any:
        from rankfair.estimators.postprocess import RankFairPostprocessor

        return RankFairPostprocessor(
            _free(asked),
            asked.settings.epsilon,
            constraints=constraint,
            method=way,
            sensitive_features=asked.sensitive,
        )

    return method


def _tilt(asked: MethodRequest) -> Any:
    return asked.linear(constraints=("rank",))


def _tilt_and_mean(asked: MethodRequest) -> Any:
    return asked.linear(constraints=("rank", "mean"))


def _ncadmm(asked: MethodRequest) -> Any:
    return asked.linear(constraints=("rank",)).set_params(solver="ncadmm")


def _baseline(name: str) -> Callable[[MethodRequest], Any]:
    def method(asked: MethodRequest) -> Any:
        from rankfair import estimators

        return getattr(estimators, name)(
            tasks=asked.tasks,
            sensitive_features=asked.sensitive,
            blind=asked.settings.blind,
            penalty=asked.settings.penalty,
            beta="auto" if asked.settings.beta is None else asked.settings.beta,
        )

    return method


@dataclass(frozen=True)
class GroupFacts:
    """What of the sensitive columns decides which methods can be run."""

    n_columns: int
    n_groups: int  # of the column that has the most
    binned: bool
    any_unknown: bool


@dataclass(frozen=True)
class Method:
    """How an estimator is made, and what it cannot deal with."""

    make: Callable[[MethodRequest], Any]
    two_groups: bool = False  # of one column
    bins: bool = True
    unknown: bool = True
    widest: float = math.inf  # the largest ε it takes; without one it has no band

    def why_not(self, facts: GroupFacts) -> str:
        """Return why it cannot be run; empty if it can."""
        if self.two_groups and facts.n_columns > 1:
            return "it knows one sensitive column only."
        if self.two_groups and facts.n_groups > 2:
            return "it knows two groups only."
        if facts.binned and not self.bins:
            return "it does not cut numbers into groups."
        if facts.any_unknown and not self.unknown:
            return GROUPLESS
        return ""


def _map(constraint: str, way: str, widest: float = FREE) -> Method:
    return Method(_mapped(constraint, way), bins=False, widest=widest)


def _rival(name: str) -> Method:
    return Method(_baseline(name), two_groups=True, bins=False, unknown=False)


METHODS: dict[str, Method] = {
    "unconstrained": Method(_free),
    "constant shift": _map("rank", "shift"),
    "map of ranks": _map("rank", "least"),
    "map of distributions": _map("distribution", "least", widest=1.0),
    "tilt": Method(_tilt, widest=FREE),
    "tilt, ranks and means": Method(_tilt_and_mean, widest=FREE),
    "NC-ADMM": Method(_ncadmm, two_groups=True, unknown=False, widest=FREE),
    "equal means in strata": _rival("StratifiedEqualMeans"),
    "balanced residuals in strata": _rival("StratifiedBalancedResiduals"),
    "covariance": _rival("DecisionBoundaryCovariance"),
}
