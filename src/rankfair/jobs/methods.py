"""The methods that `rankfair compare` tries: each is an estimator for a frame.

To add one, write a function of `Asked` that returns an estimator which reads the task
and protected columns of X by name, and enter it in `METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rankfair.jobs.columns import Roles
from rankfair.jobs.fits import FREE, Settings

__all__ = ["METHODS", "Asked"]


@dataclass(frozen=True)
class Asked:
    """What a method has to know: columns and settings."""

    roles: Roles
    settings: Settings

    @property
    def sensitive(self) -> Any:
        """The protected column or columns."""
        names = self.roles.sensitive
        return names[0] if len(names) == 1 else list(names)

    @property
    def tasks(self) -> Any:
        """The task column or columns, or None."""
        names = self.roles.tasks
        return (names[0] if len(names) == 1 else list(names)) if names else None

    def linear(self, **changed: Any) -> Any:
        """The linear model with some settings changed."""
        return replace(self.settings, **changed).model(self.roles)


def _free(asked: Asked) -> Any:
    return asked.linear(epsilon=FREE, balance=("rank",), scope="global")


def _mapped(balance: str) -> Callable[[Asked], Any]:
    def method(asked: Asked) -> Any:
        from rankfair.postprocess import RankFairPostprocessor

        return RankFairPostprocessor(
            _free(asked),
            asked.settings.epsilon,
            balance=balance,
            sensitive_features=asked.sensitive,
        )

    return method


def _tilt(asked: Asked) -> Any:
    return asked.linear(balance=("rank",))


def _tilt_and_mean(asked: Asked) -> Any:
    return asked.linear(balance=("rank", "mean"))


def _ncadmm(asked: Asked) -> Any:
    return asked.linear(balance=("rank",)).set_params(solver="ncadmm")


def _baseline(name: str) -> Callable[[Asked], Any]:
    def method(asked: Asked) -> Any:
        from rankfair import baselines

        return getattr(baselines, name)(
            tasks=asked.tasks,
            sensitive_features=asked.sensitive,
            blind=asked.settings.blind,
            penalty=asked.settings.penalty,
            beta=asked.settings.beta,
        )

    return method


METHODS: dict[str, Callable[[Asked], Any]] = {
    "unconstrained": _free,
    "constant shift": _mapped("shift"),
    "map of ranks": _mapped("rank"),
    "map of distributions": _mapped("distribution"),
    "tilt": _tilt,
    "tilt, ranks and means": _tilt_and_mean,
    "NC-ADMM": _ncadmm,
    "equal means in strata": _baseline("StratifiedEqualMeans"),
    "balanced residuals in strata": _baseline("StratifiedBalancedResiduals"),
    "covariance": _baseline("DecisionBoundaryCovariance"),
}
