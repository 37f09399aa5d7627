"""Regression whose predictions do not rank one protected group above another."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankfair import datasets as datasets
    from rankfair import metrics as metrics
    from rankfair.audit import Audit as Audit
    from rankfair.audit import audit as audit
    from rankfair.engines.streams import predict_parquet as predict_parquet
    from rankfair.engines.streams import stream as stream
    from rankfair.estimators.baselines import (
        DecisionBoundaryCovariance as DecisionBoundaryCovariance,
    )
    from rankfair.estimators.baselines import (
        StratifiedBalancedResiduals as StratifiedBalancedResiduals,
    )
    from rankfair.estimators.baselines import (
        StratifiedEqualMeans as StratifiedEqualMeans,
    )
    from rankfair.estimators.cross_validated import (
        RankFairRegressorCV as RankFairRegressorCV,
    )
    from rankfair.estimators.linear import MultiTaskRegressor as MultiTaskRegressor
    from rankfair.estimators.linear import RankFairRegressor as RankFairRegressor
    from rankfair.estimators.postprocess import (
        RankFairPostprocessor as RankFairPostprocessor,
    )
    from rankfair.estimators.tilted import TiltedRegressor as TiltedRegressor
    from rankfair.files.model_files import describe_model as describe_model
    from rankfair.files.model_files import load_model as load_model
    from rankfair.files.model_files import save_model as save_model
    from rankfair.files.onnx import export_onnx as export_onnx
    from rankfair.files.read import read_table as read_table
    from rankfair.paths import fairness_path as fairness_path
    from rankfair.stats.certificate import certify as certify
    from rankfair.stats.certificate import certify_predictions as certify_predictions
    from rankfair.stats.independence import independence_test as independence_test

__version__ = "0.2.0"

# Public names load on first use: `rankfair --help` must not wait for scikit-learn.
_HOMES = {
    "Audit": "rankfair.audit",
    "DecisionBoundaryCovariance": "rankfair.estimators.baselines",
    "MultiTaskRegressor": "rankfair.estimators.linear",
    "RankFairPostprocessor": "rankfair.estimators.postprocess",
    "RankFairRegressor": "rankfair.estimators.linear",
    "RankFairRegressorCV": "rankfair.estimators.cross_validated",
    "StratifiedBalancedResiduals": "rankfair.estimators.baselines",
    "StratifiedEqualMeans": "rankfair.estimators.baselines",
    "TiltedRegressor": "rankfair.estimators.tilted",
    "certify": "rankfair.stats.certificate",
    "certify_predictions": "rankfair.stats.certificate",
    "describe_model": "rankfair.files.model_files",
    "export_onnx": "rankfair.files.onnx",
    "fairness_path": "rankfair.paths",
    "independence_test": "rankfair.stats.independence",
    "load_model": "rankfair.files.model_files",
    "predict_parquet": "rankfair.engines.streams",
    "read_table": "rankfair.files.read",
    "save_model": "rankfair.files.model_files",
    "stream": "rankfair.engines.streams",
}
# `rankfair.audit` is a package that can be called: `audit(y, predictions, …)`.
_SUBMODULES = ("audit", "datasets", "metrics")

__all__ = [*_HOMES, *_SUBMODULES]


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
