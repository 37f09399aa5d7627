"""Who reads labels: a model, the last step of a pipeline, a model inside others."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn import get_config
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

__all__ = ["naming", "reader_of"]


def reader_of(model: Any, name: str) -> Any:
    """Return who reads labels that ``model.predict`` is given by name, None if nobody.

    Of a pipeline it is the last step.  With metadata routing enabled a step gets only
    what it asked for.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> reader_of(make_pipeline(Ridge()), "sensitive_features") is None
    True
    """
    if not isinstance(model, Pipeline):
        takes = inspect.signature(model.predict).parameters
        return model if name in takes else None
    last = model.steps[-1][1]
    reader = reader_of(last, name)
    if reader is not last or not get_config()["enable_metadata_routing"]:
        return reader
    asked = last.get_metadata_routing().consumes("predict", [name])
    return reader if name in asked else None


def naming(model: Any, X: Any, name: str) -> tuple[Any, Any]:
    """Return the fitted model that names columns of X by an argument, and its X.

    It may be inside others: pipelines, whose other steps make its X, searches,
    transformed targets, and those of ours that have an ``_inside``.  The model and X
    themselves if none names any.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MaxAbsScaler
    >>> from rankfair import MultiTaskRegressor
    >>> X, y = [[2.0, 5], [4.0, 5], [6.0, 10], [8.0, 10]], [0.0, 1.0, 3.0, 4.0]
    >>> model = make_pipeline(MaxAbsScaler(), MultiTaskRegressor(tasks=1)).fit(X, y)
    >>> naming(model, X, "tasks")[1][:, 1].tolist()
    [0.5, 0.5, 1.0, 1.0]
    """
    part: tuple[Any, Any] | None = model, X
    while part is not None:
        if getattr(part[0], name, None) is not None:
            return part
        part = _inside(*part)
    return model, X


def _inside(model: Any, X: Any) -> tuple[Any, Any] | None:
    """The model inside a fitted one, and the X that it sees; None if there is none."""
    if isinstance(model, Pipeline):
        steps = model[:-1]
        return model.steps[-1][1], steps.transform(X) if len(steps) else X
    if isinstance(model, TransformedTargetRegressor):
        return model.regressor_, X
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_, X
    own = getattr(model, "_inside", None)
    found: tuple[Any, Any] | None = None if own is None else own(X)
    return found
