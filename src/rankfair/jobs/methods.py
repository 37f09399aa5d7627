"""The methods that `rankfair compare` tries: each is an estimator for a frame.

To add one, write a function of `Asked` that returns an estimator which reads the task
and protected columns of X by name, and enter it in `METHODS` with what it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rankfair.jobs.columns import Roles
from rankfair.jobs.rows import FREE, Settings, one_or_all

__all__ = ["GROUPLESS", "METHODS", "Asked", "Facts", "Method"]

GROUPLESS = (
    "it needs the group of every row; --drop-missing leaves out rows without one."
)


@dataclass(frozen=True)
class Asked:
    """What a method has to know: columns and settings."""

    roles: Roles
    settings: Settings

    @property
    def sensitive(self) -> Any:
        """The protected column or columns."""
        return one_or_all(self.roles.sensitive)

    @property
    def tasks(self) -> Any:
        """The task column or columns, or None."""
        return one_or_all(self.roles.tasks)

    def linear(self, **changed: Any) -> Any:
        """The linear model with some settings changed."""
        return replace(self.settings, **changed).model(self.roles)


def _free(asked: Asked) -> Any:
    return asked.linear(epsilon=FREE, constraints=("rank",), scope="global")


def _mapped(constraint: str, way: str) -> Callable[[Asked], Any]:
    def method(asked: Asked) -> Any:
        from rankfair.estimators.postprocess import RankFairPostprocessor

        return RankFairPostprocessor(
            _free(asked),
            asked.settings.epsilon,
            constraints=constraint,
            method=way,
            sensitive_features=asked.sensitive,
        )

    return method


def _tilt(asked: Asked) -> Any:
    return asked.linear(constraints=("rank",))


def _tilt_and_mean(asked: Asked) -> Any:
    return asked.linear(constraints=("rank", "mean"))


def _ncadmm(asked: Asked) -> Any:
    return asked.linear(constraints=("rank",)).set_params(solver="ncadmm")


def _baseline(name: str) -> Callable[[Asked], Any]:
    def method(asked: Asked) -> Any:
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
class Facts:
    """What of the protected columns decides which methods can be run."""

    n_columns: int
    n_groups: int  # of the column that has the most
    binned: bool
    any_unknown: bool


@dataclass(frozen=True)
class Method:
    """How an estimator is made, and what it cannot deal with."""

    make: Callable[[Asked], Any]
    two_groups: bool = False  # of one column
    bins: bool = True
    unknown: bool = True
    widest: float = math.inf  # the largest ε it takes; without one it has no band

    def why_not(self, facts: Facts) -> str:
        """Return why it cannot be run; empty if it can.

        Examples
        --------
        >>> METHODS["NC-ADMM"].why_not(Facts(1, 3, binned=False, any_unknown=False))
        'it knows two groups only.'
        """
        if self.two_groups and facts.n_columns > 1:
            return "it knows one protected column only."
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
