"""Regression whose predictions do not rank one protected group above another."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankfair import datasets as datasets
    from rankfair import metrics as metrics
    from rankfair.audit import Audit as Audit
    from rankfair.audit import audit as audit
    from rankfair.estimators import (
        DecisionBoundaryCovariance as DecisionBoundaryCovariance,
    )
    from rankfair.estimators import MultiTaskRegressor as MultiTaskRegressor
    from rankfair.estimators import RankFairRegressor as RankFairRegressor
    from rankfair.estimators import RankFairRegressorCV as RankFairRegressorCV
    from rankfair.estimators import (
        StratifiedBalancedResiduals as StratifiedBalancedResiduals,
    )
    from rankfair.estimators import StratifiedEqualMeans as StratifiedEqualMeans
    from rankfair.estimators.postprocess import (
        RankFairPostprocessor as RankFairPostprocessor,
    )
    from rankfair.estimators.tilted import TiltedRegressor as TiltedRegressor
    from rankfair.files.model_files import load_model as load_model
    from rankfair.files.model_files import save_model as save_model
    from rankfair.paths import fairness_path as fairness_path
    from rankfair.streams import stream as stream

__version__ = "0.1.0"

# Public names load on first use: `rankfair --help` must not wait for scikit-learn.
_HOMES = {
    "Audit": "rankfair.audit",
    "DecisionBoundaryCovariance": "rankfair.estimators",
    "MultiTaskRegressor": "rankfair.estimators",
    "RankFairPostprocessor": "rankfair.postprocess",
    "RankFairRegressor": "rankfair.estimators",
    "RankFairRegressorCV": "rankfair.estimators",
    "StratifiedBalancedResiduals": "rankfair.estimators",
    "StratifiedEqualMeans": "rankfair.estimators",
    "TiltedRegressor": "rankfair.reduction",
    "fairness_path": "rankfair.path",
    "load_model": "rankfair.models",
    "save_model": "rankfair.models",
    "stream": "rankfair.streams",
}
# `rankfair.audit` is a package that can be called: `audit(y, predictions, …)`.
_SUBMODULES = ("audit", "datasets", "metrics")

__all__ = [
    "Audit",
    "DecisionBoundaryCovariance",
    "MultiTaskRegressor",
    "RankFairPostprocessor",
    "RankFairRegressor",
    "RankFairRegressorCV",
    "StratifiedBalancedResiduals",
    "StratifiedEqualMeans",
    "TiltedRegressor",
    "audit",
    "datasets",
    "fairness_path",
    "load_model",
    "metrics",
    "save_model",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"rankfair.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'rankfair' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Without what the lines above import for themselves.
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
